/* bench-worker.js - how long the mirror takes for what it is sent: {rounds: [[buffer, ...], ...]}, answered by the times of each round */
import {Mirror, readHeader, readPlanes} from '../../api/web/client/mirror.js';

const mirror = new Mirror(), ids = new Uint32Array(1024), rows = new Int32Array(4096), keys = new Uint32Array(256 * 1024);

function take(buffers) {
  let inflate = 0, apply = 0, collect = 0;
  for (const buffer of buffers) {
    const bytes = new Uint8Array(buffer), head = readHeader(bytes);
    let start = performance.now();
    const planes = readPlanes(bytes, head);
    inflate += performance.now() - start;
    start = performance.now();
    mirror.apply(head, planes);
    apply += performance.now() - start;
  }
  let pages = 0;
  const start = performance.now();
  for (let n = mirror.pages.collect(ids, rows, keys); n; n = mirror.pages.collect(ids, rows, keys)) pages += n;
  collect = performance.now() - start;
  return {inflate, apply, collect, pages, points: mirror.points, bytes: mirror.bytes, hash: mirror.hash};
}

onmessage = ({data}) => {
  const times = [];
  for (const buffers of data.rounds) times.push(take(buffers));
  postMessage(times);
};
