/* mirror-worker.js - the mirror of the cloud in a thread of its own, so that no message of any size holds a picture up
 *
 * In (op):  message {buffer}             a block message; the next ones are inflated while it is applied
 *           sync {revision, points, hash}  compared when all messages before it are applied
 *           reset                        forget everything
 *           pull {ids, rows, keys}       asks for changed pages, in buffers that go to and fro: nothing is allocated
 *           repeat                       the other side has lost its copy: all pages have changed
 *           pick {number, ray}           see pick.js
 * Out (op): held {epoch, revision}, broken {why}, pages {n, ids, rows, keys, generation, left}, state {...}, picked {number, hit}
 * Pages go out when they are asked for, so a busy page takes the newest state of each and none twice.
 */
import {Mirror, WireError, readHeader, readPlanes} from '../client/mirror.js';
import {pick} from './pick.js';

/* The share of points that a picture of the whole shows: what flies about far away would make it small. */
const CORE = 0.97, AHEAD = 4, STATE_MS = 250;
const mirror = new Mirror();
const queue = [];
let running = false, broken = false, turn = 0, stateTimer = null, asked = null, equal = null, spent = 0, changed = 0;

function tell(message, transfer = []) {
  postMessage(message, transfer);
}

function answerPull() {
  if (!asked || !(mirror.pages.nChanged || asked.generation !== mirror.generation)) return;
  const {ids, rows, keys} = asked;
  asked = null;
  const n = mirror.pages.collect(ids, rows, keys);
  tell({op: 'pages', n, ids, rows, keys, generation: mirror.generation, left: mirror.pages.nChanged}, [ids.buffer, rows.buffer, keys.buffer]);
}

function tellState() {
  stateTimer = null;
  const boxes = mirror.boxes(), cores = mirror.boxes(CORE), submaps = mirror.slots.map(s => ({
    id: s.id, slot: s.slot, placed: s.placed, q: s.q, t: s.t, points: s.points, before: s.before, box: boxes.get(s.id) ?? null, core: cores.get(s.id) ?? null,
  }));
  tell({
    op: 'state', points: mirror.points, blocks: mirror.blocks.size, revision: mirror.revision, epoch: mirror.epoch, hash: mirror.hash, equal,
    bytes: mirror.bytes, generation: mirror.generation, submaps, objects: [...mirror.objects].map(([id, pose]) => ({id, ...pose})), spent, changed,
  });
}

function touched() {
  stateTimer ??= setTimeout(tellState, STATE_MS);
  answerPull();
}

function breakOff(why) {
  broken = true;
  equal = false;
  queue.length = 0;
  tell({op: 'broken', why});
  touched();
}

function begin(item) {
  if (!item.buffer || item.begun) return;
  item.begun = true;
  try {
    const bytes = new Uint8Array(item.buffer);
    item.head = readHeader(bytes);
    if (item.head && 'plainLength' in item.head) item.planes = readPlanes(bytes, item.head);
    item.planes?.catch(() => {});      /* it is awaited in its turn */
  } catch (error) {
    item.error = error;
  }
}

/* Planes are inflated beforehand, so applying is one step that no other message meets half done. */
async function apply(item) {
  if (item.error) throw item.error;
  if (!item.head) return;
  const mine = turn, planes = item.planes ? await item.planes : null;
  if (mine !== turn) return;           /* reset meanwhile */
  const start = performance.now();
  mirror.apply(item.head, planes);
  spent += performance.now() - start;
  changed += Math.max(item.head.nRemoved ?? 0, item.head.nAdded ?? 0);
  equal = null;
}

function compare({revision, points, hash}) {
  equal = points === mirror.points && hash === mirror.hash;
  if (equal) tell({op: 'held', epoch: mirror.epoch, revision});
  else breakOff(`the mirror has ${mirror.points} points and hash ${mirror.hash}, the server ${points} and ${hash}`);
}

async function run() {
  if (running) return;
  running = true;
  while (queue.length && !broken) {
    const item = queue.shift();
    begin(item);
    queue.slice(0, AHEAD).forEach(begin);
    try {
      if (item.op === 'sync') compare(item);
      else await apply(item);
    } catch (error) {
      if (!(error instanceof WireError)) console.error(error);
      breakOff(error.message);
    }
    touched();
  }
  running = false;
}

const on = {
  message: m => queue.push(m),
  sync: m => queue.push(m),
  reset() {
    queue.length = 0;
    turn++;
    broken = false;
    equal = null;
    mirror.clear(null);
    touched();
  },
  pull(m) {
    asked = m;
    answerPull();
  },
  repeat() {
    mirror.pages.changeAll();
    answerPull();
  },
  pick: m => tell({op: 'picked', number: m.number, hit: pick(mirror, m.ray)}),
};

onmessage = ({data}) => {
  if (broken && (data.op === 'message' || data.op === 'sync')) return;
  on[data.op]?.(data);
  run();
};
