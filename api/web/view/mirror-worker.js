/* mirror-worker.js - the mirror of the cloud in a thread of its own, so that no message of any size holds a picture up
 *
 * In (op):  message {buffer}             a block message
 *           sync {revision, points, hash}  compared with what all messages before it have made
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
const CORE = 0.97, CORE_BLOCKS = 200, STATE_MS = 250;
/* After so long messages that wait let the page's questions be answered. */
const SLICE_MS = 8;
const mirror = new Mirror();
const queue = [];
const later = new MessageChannel();
let running = false, broken = false, stateTimer = null, toldPoints = 0, asked = null, equal = null, spent = 0, changed = 0;

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
  toldPoints = mirror.points;
  const boxes = mirror.boxes(), submaps = mirror.slots.map(s => ({
    id: s.id, slot: s.slot, placed: s.placed, q: s.q, t: s.t, points: s.points, before: s.before, box: boxes.get(s.id) ?? null,
  }));
  tell({
    op: 'state', points: mirror.points, blocks: mirror.blocks.size, revision: mirror.revision, epoch: mirror.epoch, hash: mirror.hash, equal,
    bytes: mirror.bytes, generation: mirror.generation, submaps, core: mirror.core(CORE, CORE_BLOCKS), objects: [...mirror.objects].map(([id, pose]) => ({id, ...pose})), spent, changed,
  });
}

function touched() {
  stateTimer ??= setTimeout(tellState, toldPoints ? STATE_MS : 0);
  answerPull();
}

function breakOff(why) {
  broken = true;
  equal = false;
  queue.length = 0;
  tell({op: 'broken', why});
  touched();
}

function apply({buffer}) {
  const start = performance.now(), bytes = new Uint8Array(buffer), head = readHeader(bytes);
  if (!head) return;
  mirror.apply(head, 'plainLength' in head ? readPlanes(bytes, head) : null);
  spent += performance.now() - start;
  changed += Math.max(head.nRemoved ?? 0, head.nAdded ?? 0);
  equal = null;
}

function compare({revision, points, hash}) {
  equal = points === mirror.points && hash === mirror.hash;
  if (equal) tell({op: 'held', epoch: mirror.epoch, revision});
  else breakOff(`the mirror has ${mirror.points} points and hash ${mirror.hash}, the server ${points} and ${hash}`);
}

/* Applies what waits. Messages that came meanwhile, with the page's questions among them, are read before it goes on. */
function run() {
  const end = performance.now() + SLICE_MS;
  running = false;
  try {
    while (queue.length && performance.now() < end) {
      const message = queue.shift();
      if (message.op === 'sync') compare(message);
      else apply(message);
    }
    touched();
  } catch (error) {
    if (!(error instanceof WireError)) console.error(error);
    breakOff(error.message);
  }
  if (queue.length) goOn();
}

function goOn() {
  if (running) return;
  running = true;
  later.port2.postMessage(null);
}

/* What comes behind a message that is wrong is of no use until `reset`. */
function wait(message) {
  if (broken) return;
  queue.push(message);
  goOn();
}

const on = {
  message: wait,
  sync: wait,
  reset() {
    queue.length = 0;
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

later.port1.onmessage = run;
onmessage = ({data}) => on[data.op]?.(data);
