/* client.js - feeds recond with the pictures of a folder and keeps its cloud; written from docs/PROTOCOL.md alone
 *
 *   client.html#stream=STREAM_URL&folder=URL/[&source=NAME][&first=N][&last=N][&world=N][&depth=1][&token=TOKEN]
 *
 * The folder holds sequence.json, frames/NNNNNN.jpg, poses.txt and, for depth, depth/NNNNNN.png (see client.py beside this). A frame's
 * seq is its number in the folder + 1: a page that was reloaded goes on where the server's `ready` says that its source stands. The
 * cloud is drawn from above. At the end the page's title is "done" and what was counted stands below the picture. */
const args = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
const [PUT, PATCH, DELETE, CLEAR, SUBMAP] = [0x10, 0x11, 0x12, 0x13, 0x14];
const [COLOUR, DEPTH, JPEG, PNG] = [1, 2, 3, 4];
const say = line => { document.getElementById('log').textContent += line + '\n'; };
const u64 = v => BigInt.asUintN(64, v);

function mix64(v) {
  v = u64(v + 0x9e3779b97f4a7c15n);
  v = u64((v ^ v >> 30n) * 0xbf58476d1ce4e5b9n);
  v = u64((v ^ v >> 27n) * 0x94d049bb133111ebn);
  return v ^ v >> 31n;
}

/* Section "Planes": the removed indices and the added keys. */
function unpackPlanes(data, nRemoved, nAdded) {
  let at = 0;
  const column = n => data.subarray(at, at += n);
  const numbers = n => {
    const b = [column(n), column(n), column(n), column(n)];
    let sum = 0;
    return Uint32Array.from(b[0], (_, i) => sum += b[0][i] | b[1][i] << 8 | b[2][i] << 16 | b[3][i] << 24);
  };
  const sums = (deltas, largest = 63) => { let sum = 0; return deltas.map(x => sum = sum + x & largest); };
  const removed = numbers(nRemoved), m = numbers(nAdded);
  const [low, green, dr, db, confidence, high] = Array.from({length: 6}, () => column(nAdded));
  const [g, d, e, c] = [sums(green), sums(dr), sums(db), sums(confidence, 15)];
  const u = sums(high.map((h, i) => h >> 4 << 2 | low[i] >> 2)), v = sums(high.map((h, i) => (h & 15) << 2 | low[i] & 3));
  if (at !== data.length) throw new Error('planes of another length');
  return [removed, Array.from(m, (_, i) => BigInt(m[i]) << 34n | BigInt(u[i] << 6 | v[i]) << 22n
    | BigInt((d[i] + g[i] & 63) << 16 | g[i] << 10 | (e[i] + g[i] & 63) << 4 | c[i]))];
}

async function inflate(data) {
  const out = new Response(new Blob([data]).stream().pipeThrough(new DecompressionStream('deflate-raw')));
  return new Uint8Array(await out.arrayBuffer());
}

/* A copy of the cloud: of each block its revision and keys, and the hash of them all. */
class Mirror {
  synced = null;                     /* the revision of the last sync */
  constructor() { this.clear(null); }
  clear(epoch) { Object.assign(this, {epoch, hash: 0n, points: 0, blocks: new Map(), submaps: {}}); }

  count(name, keys, sign) {
    const [submap, x, y, z] = name.map(v => BigInt.asUintN(32, BigInt(v)));
    const salt = mix64(mix64(submap | x << 32n) ^ (y | z << 32n));
    for (const k of keys) this.hash = u64(this.hash + sign * mix64(k ^ salt));
    this.points += Number(sign) * keys.length;
  }

  async apply(bytes) {
    const v = new DataView(bytes), op = v.getUint8(0), epoch = v.getUint32(4, true), revision = Number(v.getBigUint64(8, true));
    if (op === CLEAR) return this.clear(epoch);
    if (![PUT, PATCH, DELETE, SUBMAP].includes(op)) return;
    this.epoch ??= epoch;
    if (epoch !== this.epoch) throw new Error('another epoch');
    if (op === SUBMAP) {
      const f = Array.from({length: 7}, (_, i) => v.getFloat32(20 + 4 * i, true));
      this.submaps[v.getUint32(16, true)] = {placed: !(v.getUint8(3) & 1), q: f.slice(0, 4), t: f.slice(4)};
      return;
    }
    const name = [v.getUint32(16, true), v.getInt32(20, true), v.getInt32(24, true), v.getInt32(28, true)];
    const {held, keys} = this.blocks.get(name.join()) ?? {held: 0, keys: new BigUint64Array()};
    if (revision <= held) return;
    let removed = [], added = [];
    if (op !== DELETE) {
      const planes = new Uint8Array(bytes, 56), plain = v.getUint8(2) ? await inflate(planes) : planes;
      [removed, added] = unpackPlanes(plain, v.getUint32(36, true), v.getUint32(40, true));
      if (op === PATCH && Number(v.getBigUint64(44, true)) !== held) throw new Error('a patch of another revision');
    }
    const out = new Set(removed);
    this.count(name, op === PATCH ? keys.filter((_, i) => out.has(i)) : keys, -1n);
    this.count(name, added, 1n);
    const kept = op === PATCH ? keys.filter((_, i) => !out.has(i)) : [];
    this.blocks.set(name.join(), {name, held: revision, keys: BigUint64Array.from([...kept, ...added]).sort()});
  }
}

/* ------------------------------------------------------------------------- frames */

async function readFrame(about, number, pose) {
  const name = String(number).padStart(6, '0'), parts = [];
  for (const [type, codec, path] of [[COLOUR, JPEG, `frames/${name}.jpg`], ...args.depth ? [[DEPTH, PNG, `depth/${name}.png`]] : []]) {
    const answer = await fetch(args.folder + path);
    if (answer.ok) parts.push([type, codec, await answer.arrayBuffer()]);
  }
  const head = new ArrayBuffer(80 + 16 * parts.length), v = new DataView(head);
  const put = (type, at, x) => v['set' + type](at, x, true);
  [['Uint8', 0, 1], ['Uint8', 1, 1], ['Uint16', 2, 80], ['Uint32', 4, 0b1111 /* with pose and camera, tracking normal */],
    ['BigUint64', 8, BigInt(number + 1)], ['BigUint64', 16, BigInt(Math.round(number * 1e9 / about.fps))],
    ['Uint32', 24, Number(args.world ?? 0)], ['Uint16', 28, parts.length], ['Uint16', 30, 16]].forEach(f => put(...f));
  [about.fx, about.fy, about.cx, about.cy, ...pose.slice(3, 7), ...pose.slice(0, 3)].forEach((x, i) => put('Float32', 32 + 4 * i, x));
  parts.forEach(([type, codec, payload], i) => [['Uint8', 0, type], ['Uint8', 1, codec], ['Uint16', 4, about.width],
    ['Uint16', 6, about.height], ['Uint32', 12, payload.byteLength]].forEach(([t, at, x]) => put(t, 80 + 16 * i + at, x)));
  return new Blob([head, ...parts.map(p => p[2])]).arrayBuffer();
}

/* ------------------------------------------------------------------------- the connection */

const mirror = new Mirror();
const waiting = new Map();           /* frames without an answer, by seq */
let begun = 0, used = 0, ended = null, acks = 0, lastPose = null;

function done() {
  const submaps = Object.fromEntries(Object.entries(mirror.submaps).map(([n, s]) => [n, {...s, points:
    [...mirror.blocks.values()].filter(b => b.name[0] === Number(n)).reduce((sum, b) => sum + b.keys.length, 0)}]));
  const result = {points: mirror.points, hash: mirror.hash.toString(16).padStart(16, '0'), used, acks, pose: lastPose, submaps};
  say(JSON.stringify(result));
  document.title = 'done';
  fetch('done', {method: 'POST', body: JSON.stringify(result)}).catch(() => {});
}

function connect() {
  const token = args.token && 'bearer.recon.' + btoa(args.token).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
  const ws = new WebSocket(args.stream, ['recon.v1', ...token ? [token] : []]);
  const sent = new Set();
  let window = 0, later = 0, retry = 1000, order = Promise.resolve();
  ws.binaryType = 'arraybuffer';

  const sendMore = async () => {
    if (later && sent.size) return;
    if (later) await new Promise(then => setTimeout(then, later));
    later = 0;
    for (const [seq, message] of waiting)
      if (!sent.has(seq) && sent.size < window) {
        sent.add(seq);
        ws.send(message);
      }
    if (window && !waiting.size) {
      window = 0;
      ws.send('{"op":"end"}');
    }
  };
  const on = {
    ready: m => {
      window = m.limits.window;      /* what another page has sent is not sent again */
      if (begun++ === 0) for (const seq of waiting.keys()) if (seq <= (m.last_seq ?? -1)) waiting.delete(seq);
    },
    ack: m => {
      sent.delete(m.seq);
      if (m.status === 'later') return later = m.retry_ms; /* as all behind it: they go out again, in their order */
      waiting.delete(m.seq);
      acks++;
      used += m.status === 'used';
      lastPose = m.pose ?? lastPose;
    },
    sync: m => {
      if (BigInt('0x' + m.hash) !== mirror.hash) throw new Error('the hash is another one');
      mirror.synced = m.revision;
      draw();
    },
    ended: m => { ended = m.revision; },
    error: m => { retry = m.retry_ms ?? null; say(m.title + ': ' + m.detail); },
    bye: m => { retry = m.action === 'disconnect' ? null : m.retry_ms; },
  };
  ws.onopen = () => ws.send(JSON.stringify({op: 'start', role: 'ingest', codecs: ['deflate-raw', 'raw'], pose: 'cv',
    source: args.source ?? 'main', ...mirror.synced !== null && {resume: {epoch: mirror.epoch, revision: mirror.synced}}}));
  ws.onmessage = event => {          /* one after the other, although inflating takes its time */
    order = order.then(async () => {
      if (event.data instanceof ArrayBuffer) await mirror.apply(event.data);
      else on[JSON.parse(event.data).op]?.(JSON.parse(event.data));
      await sendMore();
      if (ended !== null && mirror.synced >= ended && document.title !== 'done') done();
    }).catch(why => {                /* the server is wrong: begin anew */
      say(why.message);
      mirror.clear(mirror.synced = null);
      ws.close();
    });
  };
  ws.onclose = () => {
    if (document.title === 'done') return;
    if (retry === null) return say('the server does not want us back');
    setTimeout(connect, retry);
  };
}

/* The cloud from above, a pixel a point. Unplaced submaps are left out. */
function draw() {
  const view = document.getElementById('view').getContext('2d'), picture = view.createImageData(640, 480);
  const squeeze = m => { let v = 0; for (let i = 0; i < 10; i++) v |= (m >> 3 * i & 1) << i; return v; };
  for (const {name, keys} of mirror.blocks.values())
    for (const k of mirror.submaps[name[0]]?.placed === false ? [] : keys) {
      const m = Number(k >> 34n), u = 320 + (name[1] * 1024 + squeeze(m)) / 10 | 0, v = 240 - (name[3] * 1024 + squeeze(m >> 2)) / 10 | 0;
      if (u >= 0 && u < 640 && v >= 0 && v < 480)
        picture.data.set([Number(k >> 14n & 252n), Number(k >> 8n & 252n), Number(k >> 2n & 252n), 255], 4 * (640 * v + u));
    }
  view.putImageData(picture, 0, 0);
}

const about = await (await fetch(args.folder + 'sequence.json')).json();
const rows = (await (await fetch(args.folder + 'poses.txt')).text()).split('\n').filter(l => /^\d/.test(l)).map(l => l.split(/\s+/).map(Number));
for (const [number, ...pose] of rows.slice(args.first ?? 0, args.last)) waiting.set(number + 1, await readFrame(about, number, pose));
connect();
