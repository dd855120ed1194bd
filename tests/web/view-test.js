/* view-test.js - a view without the rest of the page, for tests: window.view, and what it is fed with
 *
 *   #stream=URL   follows a session, by the least of a client: its hash must agree at each sync
 */
import {openView} from '/api/web/view/view.js';
import * as messages from './messages.js';
import * as rooms from './rooms.js';

const args = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
const view = window.view = await openView(document.getElementById('view'), {touch: 'touch' in args});
window.held = [];
window.broken = [];
const client = {held: h => window.held.push(h), broken: why => window.broken.push(why)};
view.mirror.begin(client);
Object.assign(window, {messages, rooms});

/** Puts a room into the mirror. */
window.feed = async (w, each, {submap = 0, revision = 1, deflated = false} = {}) => {
  for (const {block, axis, n, seed} of rooms.room(w, each))
    view.mirror.message((await messages.put({submap, block, revision: revision++}, rooms.wallKeys(axis, n, seed, block), deflated)).buffer);
  return revision;
};

/** Until all that came is applied and drawn whole. */
window.settled = async () => {
  await new Promise(resolve => setTimeout(resolve, 350));
  const still = () => view.left === 0 && view.mirror.buffers === null && view.renderer && !view.renderer.partial && !view.renderer.pass && !view.renderer.stale;
  while (!still()) await new Promise(resolve => setTimeout(resolve, 20));
};

/** What the last picture shows, before it is shaded: pixels with points, and their mean colour and place (of 1, from the left and the top). */
window.seen = () => {
  const {gl, front} = view.renderer, {width, height} = front, data = new Uint8Array(4 * width * height), sum = [0, 0, 0, 0, 0];
  gl.bindFramebuffer(gl.FRAMEBUFFER, front.frame);
  gl.readPixels(0, 0, width, height, gl.RGBA, gl.UNSIGNED_BYTE, data);
  let n = 0;
  for (let i = 0; i < width * height; i++) {
    const rgb = data.subarray(4 * i, 4 * i + 3);
    if (!(rgb[0] | rgb[1] | rgb[2])) continue;
    n++;
    [...rgb, i % width / width, 1 - Math.floor(i / width) / height].forEach((x, k) => { sum[k] += x; });
  }
  return {n, share: n / (width * height), mean: sum.slice(0, 3).map(x => x / n), middle: sum.slice(3).map(x => x / n)};
};

function connect() {
  const ws = new WebSocket(args.stream, ['recon.v1']), last = window.held.at(-1);
  ws.binaryType = 'arraybuffer';
  ws.onopen = () => ws.send(JSON.stringify({op: 'start', role: 'view', codecs: ['deflate-raw', 'raw'], pose: 'cv', ...last && {resume: last}}));
  ws.onmessage = ({data}) => {
    if (data instanceof ArrayBuffer) {
      view.mirror.message(data);
      return;
    }
    const m = JSON.parse(data);
    if (m.op === 'sync') view.mirror.sync(m);
    if (m.op === 'ready') view.mirror.onready(m);
    window.last = {...window.last, [m.op]: m};
  };
  ws.onclose = () => setTimeout(connect, 200);
  window.socket = ws;
}
if (args.stream) connect();
window.ready = true;
