/* page.test.js - parts of the page without a browser's devices: picture codes, intrinsics, rates, frames' bytes, and the client on a
 * socket that the test holds */
import { bearer, encodeFrame, StoreFull } from '../../api/web/client/recond.js';
import { Calibration } from '../../api/web/capture/calibrate.js';
import { findBoard } from '../../api/web/capture/corners.js';
import { degreesOf, intrinsicsOf, sizeFor } from '../../api/web/capture/intrinsics.js';
import { OFFLINE_RATE, rateFor } from '../../api/web/capture/thrift.js';
import { intrinsicsOfProjection, XrScanner } from '../../api/web/capture/xr.js';
import { clockWrong } from '../../api/web/page/sentences.js';
import { placed } from '../../api/web/page/session.js';
import { qrCode } from '../../api/web/page/qr.js';
import { boardPicture, turned } from './board.js';
import { again, frame, READY, withClient } from './socket.js';
import { near, same } from './tap.js';

const digest = async text => [...new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)))]
  .map(b => b.toString(16).padStart(2, '0')).join('');

export const tests = {
  'a board tells the field of view': () => {
    const views = [[35, 0, 0], [-35, 5, 10], [5, 35, 0], [0, -38, -8], [25, 25, 20], [-25, 28, 5], [28, -25, -15], [40, 10, 90]];
    for (const [width, height, degrees, noise] of [[640, 480, 67, 0], [480, 640, 60, 6], [640, 360, 80, 15]]) {
      const f = intrinsicsOf(degrees, width, height)[0], calibration = new Calibration(width, height), far = 9.8 * f / Math.min(width, height);
      const said = views.map((v, k) => calibration.add(findBoard(
        boardPicture(width, height, f, turned(...v), [0.6 * (k % 3 - 1), 0.6 * (k % 2) - 0.3, far], noise, k + 1))));
      near(calibration.result?.degrees ?? NaN, degrees, `${width} x ${height}, noise ${noise}: ${said}`, 0.3);
    }
  },
  'what is no board, or tells nothing, is not taken': () => {
    const flat = findBoard(boardPicture(640, 480, 480, turned(0, 0, 5), [0, 0, 10], 3, 1));
    same(new Calibration(640, 480).add(flat), 'flat', 'seen from the front');
    const noise = boardPicture(320, 240, 240, turned(0, 0, 0), [0, 0, 1000], 60, 7);
    same(new Calibration(320, 240).add(findBoard(noise)), 'none', 'noise');
    const calibration = new Calibration(640, 480), view = () => findBoard(boardPicture(640, 480, 480, turned(35, 10, 0), [0, 0, 10], 3, 1));
    same(calibration.add(view()) + calibration.add(view()), 'takenalike', 'twice');
    same(calibration.result, null, 'one is too few');
  },
  'a picture code is the one that was read back': async () => {
    for (const [text, size, hash] of [
      ['recond', 21, 'c3b43a3930fc768f41748911fcf24426a2d5fc1b7e67a134551668d23847e863'],
      ['https://scan.example.org:8700/#t=L-VD108PrWreFC7J6Dy92g', 33, 'd6c7b04fbc8ab0c9fbcdf3a91328cb465eaa7b2cbef54a5bad24fb79ced3870c'],
      ['x'.repeat(200), 57, '64e9db0f7dcfa486be63739a1efef2c8324387cf233f7686c75d9b4e079a8873'],
    ]) {
      const rows = qrCode(text);
      same(rows.length, size, 'modules');
      same(await digest(rows.map(r => r.join('')).join('\n')), hash, text.slice(0, 20));
    }
  },
  'a text that no code holds is refused': () => {
    let refused = false;
    try { qrCode('x'.repeat(214)); } catch { refused = true; }
    same(refused, true, 'refused');
  },
  'intrinsics follow the longer side': () => {
    const [fx, fy, cx, cy] = intrinsicsOf(90, 640, 480);
    near(fx, 320, 'fx');
    near(fy, 320, 'fy');
    same(cx, 319.5, 'cx');
    same(cy, 239.5, 'cy');
    near(intrinsicsOf(90, 480, 640)[0], 320, 'turned');
    near(degreesOf(intrinsicsOf(67, 1280, 720)[0], 1280, 720), 67, 'and back');
  },
  'a picture is made smaller, never larger': () => {
    same(sizeFor(1920, 1080, 640).join(), '640,360', 'smaller');
    same(sizeFor(1080, 1920, 640).join(), '360,640', 'turned');
    same(sizeFor(320, 240, 640).join(), '320,240', 'as it is');
  },
  'rates fall with heat, battery, a slow encoder and no line': () => {
    same(rateFor({ server: 12, most: 30, encodeMs: 5, online: true }), 12, 'the server says');
    same(rateFor({ server: 30, encodeMs: 90, online: true }), 10, 'the encoder bounds');
    same(rateFor({ server: 20, battery: { level: 0.1, charging: false }, online: true }), 10, 'battery');
    same(rateFor({ server: 20, battery: { level: 0.1, charging: true }, online: true }), 20, 'on the charger');
    same(rateFor({ server: 20, pressure: 'critical', online: true }), 5, 'heat');
    same(rateFor({ server: 20, online: false }), OFFLINE_RATE, 'no line');
  },
  'a wrong clock is said, and how far it is off': () => {
    same(clockWrong(null) + clockWrong(90_000) + clockWrong(-90_000), '', 'a right one');
    for (const [ms, words] of [[-5 * 3600_000, '5 hours behind'], [10 * 60_000, '10 minutes ahead of'], [40 * 86400_000, '40 days ahead of']])
      same(clockWrong(ms).includes(`is ${words} the server`) && clockWrong(ms).includes('by itself'), true, words);
  },
  'intrinsics of a projection are those of its frustum': () => {
    /* a frustum from -0.4 to 0.6 and from -0.3 to 0.2 at distance 1: its axis lies at 0.4 of the width and 0.4 of the height from the top */
    const p = new Float32Array([2 / 1, 0, 0, 0, 0, 2 / 0.5, 0, 0, 0.2 / 1, -0.1 / 0.5, -1, -1, 0, 0, -0.2, 0]);
    const [fx, fy, cx, cy] = intrinsicsOfProjection(p, 640, 480);
    near(fx, 640, 'fx', 1e-3);
    near(fy, 960, 'fy', 1e-3);
    near(cx, 0.4 * 640 - 0.5, 'cx', 1e-3);
    near(cy, 0.4 * 480 - 0.5, 'cy', 1e-3);
  },
  'a tracked picture goes with its pose, world and intrinsics': async () => {
    const fed = [], client = { state: 'open', roomy: true, rate: 10, jpeg: 80, feed: f => fed.push(f) };
    let world = 4;
    const scanner = new XrScanner(client, { onfull() {}, onlost() {}, world: () => ++world });
    scanner.read = (view, width, height) => new ImageData(width, height);
    Object.assign(scanner, { running: true, world: scanner.nextWorld() });
    const view = {
      camera: { width: 1280, height: 960 }, projectionMatrix: [2, 0, 0, 0, 0, 2, 0, 0, 0, 0, -1, -1, 0, 0, -0.2, 0],
      transform: { position: { x: 1, y: 2, z: 3 }, orientation: { x: 0, y: 0, z: 0, w: 1 } },
    };
    const seen = pose => ({ getViewerPose: () => pose });
    await scanner.take(1000, seen({ views: [view], emulatedPosition: false }));
    same(fed.length, 1, 'fed');
    same([fed[0].width, fed[0].height, fed[0].world, fed[0].tracking].join(), '640,480,5,3', 'about');
    same(fed[0].intrinsics.join(), '640,480,319.5,239.5', 'intrinsics');
    same(fed[0].pose.t.join(), '1,2,3', 'position');
    same(new Uint8Array(fed[0].jpeg)[0], 0xff, 'a JPEG');
    same(scanner.take(1050, seen({ views: [view] })), null, 'not due');
    same(scanner.take(2000, seen(null)), null, 'no pose');
    same(scanner.tracking, 'lost', 'lost');
    client.roomy = false;
    same(scanner.take(3000, seen({ views: [view] })), null, 'no room');
    scanner.close();
  },
  'a frame is the example of the page': async golden => {
    const bytes = new Uint8Array(encodeFrame({
      seq: 7, tNs: 1000000000n, world: 2, tracking: 3, width: 640, height: 480, jpeg: new Uint8Array([0xff, 0xd8, 0xff, 0xd9]),
      intrinsics: [500, 500, 319.5, 239.5], pose: { q: [0, 0, 0, 1], t: [1, 1.5, -2] },
    }));
    const expected = await golden('frame');
    same(bytes.length, expected.length, 'length');
    bytes.forEach((b, i) => same(b, expected[i], 'byte ' + i));
  },
  'a token travels as base64url': () => same(bearer('a?>~ü'), 'bearer.recon.YT8-fsO8', 'protocol'),
  'a pose of opengl is turned, and one of cv is not': () => {
    const turn = ([x, y, z, w], [a, b, c]) => {  /* v + 2 u x (u x v + w v) */
      const [d, e, f] = [y * c - z * b + w * a, z * a - x * c + w * b, x * b - y * a + w * c];
      return [a + 2 * (y * f - z * e), b + 2 * (z * d - x * f), c + 2 * (x * e - y * d)];
    };
    const q = [0.18, -0.37, 0.55, 0.7271176].map((x, _, all) => x / Math.hypot(...all)), of = placed({ pose: [...q, 1, 2, 3] }, 'opengl');
    for (const [a, b, c] of [[1, 0, 0], [0, 1, 0], [0, 0, 1]])
      turn(of.q, [a, b, c]).forEach((x, i) => near(x, turn(q, [a, -b, -c])[i], 'axis', 1e-9));
    same(of.t.join(), '1,2,3', 'position');
    same(placed({ pose: [0.1, 0.2, 0.3, 0.9, 1, 2, 3], submap: 2 }, 'cv').q.join(), '0.1,0.2,0.3,0.9', 'as it is');
  },
  'no more than the window goes out': () => withClient({}, async (client, ws) => {
    for (let i = 0; i < 4; i++) client.feed(frame());
    ws().open();
    same(ws().said('start')[0].role, 'ingest', 'start');
    same(ws().seqs.join(), '', 'before ready');
    ws().tell(READY);
    same(ws().seqs.join(), '1,2', 'the window');
    same(client.roomy, false, 'no room');
    ws().tell({ op: 'ack', seq: 1, status: 'used' });
    same(ws().seqs.join(), '1,2,3', 'and on');
  }),
  'frames without an answer go again, in their order, under their numbers': () => withClient({}, async (client, ws) => {
    for (let i = 0; i < 3; i++) client.feed(frame());
    ws().open();
    ws().tell(READY);
    ws().tell({ op: 'ack', seq: 2, status: 'used' });
    ws().end();
    same(client.state, 'waiting', 'state');
    await again(client);
    ws().open();
    ws().tell({ ...READY, last_seq: 2 });
    same(ws().seqs.join(), '1,3', 'again');
    same(client.feed(frame()), 4, 'the next number');
  }),
  'later: nothing goes before the others are answered, then from that frame on': () => withClient({}, async (client, ws) => {
    for (let i = 0; i < 3; i++) client.feed(frame());
    ws().open();
    ws().tell({ ...READY, limits: { window: 3 } });
    ws().tell({ op: 'ack', seq: 2, status: 'later', retry_ms: 0 });
    same(ws().seqs.join(), '1,2,3', 'held');
    ws().tell({ op: 'ack', seq: 3, status: 'later', retry_ms: 0 });
    ws().tell({ op: 'ack', seq: 1, status: 'used' });
    await new Promise(then => setTimeout(then, 20));
    same(ws().seqs.join(), '1,2,3,2,3', 'then again');
  }),
  'what is full is said, and what is kept stays': () => withClient({ maxWaiting: 2 }, async client => {
    client.feed(frame());
    client.feed(frame());
    let why = null;
    try { client.feed(frame()); } catch (error) { why = error; }
    same(why instanceof StoreFull, true, 'class');
    same(client.backlog, 2, 'kept');
  }),
  'an end that is final stays one, others come back': () => withClient({}, async (client, ws) => {
    ws().open();
    ws().tell(READY);
    ws().tell({ op: 'error', type: 'busy', status: 503, title: 'No room now', detail: '', retry_ms: 5000 });
    ws().end(1013);
    same(client.state + client.retryMs, 'waiting5000', 'busy');
    await again(client);
    ws().open();
    ws().tell(READY);
    ws().tell({ op: 'bye', action: 'disconnect', reason: 'replaced' });
    ws().end(1000);
    same(client.state, 'over', 'disconnect');
    same(client.why.final, true, 'why');
  }),
  'broken framing and a revoked token are final': async () => {
    for (const [code, message] of [[1002], [1007], [1009], [1008, { op: 'error', type: 'unauthorized', status: 401, title: 'x', detail: '' }]])
      await withClient({}, async (client, ws) => {
        ws().open();
        ws().tell(READY);
        if (message) ws().tell(message);
        ws().end(code);
        same(client.state, 'over', `after ${code}`);
      });
  },
  'after its end a client comes back as a viewer': () => withClient({}, async (client, ws) => {
    client.feed(frame());
    ws().open();
    ws().tell(READY);
    client.end();
    same(ws().said('end').length, 0, 'not before the answers');
    ws().tell({ op: 'ack', seq: 1, status: 'used' });
    same(ws().said('end').length, 1, 'then');
    ws().end();
    await again(client);
    ws().open();
    same(ws().said('start')[0].role, 'view', 'role');
  }),
  'resume names the sync that the mirror held, and nothing after it broke': async () => {
    const mirror = { resets: 0, begin() {}, message() {}, sync() {}, reset() { this.resets++; } };
    await withClient({ mirror }, async (client, ws) => {
      ws().open();
      same(ws().said('start')[0].resume, undefined, 'at first');
      ws().tell(READY);
      client.held({ epoch: 1, revision: 42 });
      ws().end();
      await again(client);
      ws().open();
      same(JSON.stringify(ws().said('start')[0].resume), '{"epoch":1,"revision":42}', 'resume');
      const resets = mirror.resets;
      client.broken('a patch of another revision');
      await again(client);
      ws().open();
      same(ws().said('start')[0].resume, undefined, 'after it broke');
      same(mirror.resets, resets + 1, 'reset');
    });
  },
  'resume names the block that the line broke behind': async () => {
    const mirror = { begin() {}, message() {}, sync() {}, reset() {} };
    const block = (op, revision, x) => {
      const v = new DataView(new ArrayBuffer(op === 0x13 ? 16 : 32));
      v.setUint8(0, op);
      v.setUint8(1, 1);
      v.setUint32(4, 1, true);
      v.setUint32(8, revision, true);
      if (op !== 0x13) v.setInt32(20, x, true);
      return v.buffer;
    };
    await withClient({ mirror }, async (client, ws) => {
      const start = async (messages, ready) => {
        ws().open();
        const { resume } = ws().said('start')[0];
        ws().tell({ ...READY, revision: 40, ...ready });
        for (const m of messages) ws().onmessage({ data: m });
        ws().end();
        await again(client);
        return JSON.stringify(resume);
      };
      same(await start([block(0x12, 39, 1)]), undefined, 'at first');
      same(await start([block(0x12, 39, 5), block(0x12, 40, -3), block(0x12, 41, 7)], { features: ['order'] }), undefined, 'nobody promised an order');
      same(await start([block(0x13, 0)], { features: ['order'] }), '{"epoch":1,"revision":40,"block":[0,-3,0,0]}', 'behind the last that did not change');
      same(await start([]), undefined, 'a clear begins anew');
    });
  },
  'a line on which nothing moves is left': () => withClient({}, async (client, ws) => {
    const clock = performance.now.bind(performance);
    let ahead = 0;
    performance.now = () => clock() + ahead;
    try {
      ws().open();
      ws().tell(READY);
      const pings = ws().said('ping').length;
      client.look();
      same(ws().said('ping').length, pings, 'not yet');
      ahead = 3100;
      client.look();
      same(ws().said('ping').length, pings + 1, 'a ping');
      ahead += 8100;
      client.look();
      same(client.state, 'waiting', 'left');
    } finally {
      performance.now = clock;
    }
  }),
};
