/* feed-worker.js - makes block messages of a large cloud aside from the page's thread: {op: 'rooms'} and {op: 'patches'} */
import * as messages from './messages.js';
import * as rooms from './rooms.js';

const held = [];
let revision = 0;

async function build({w, each, deflated}) {
  for (const b of rooms.room(w, each)) {
    const keys = rooms.wallKeys(b.axis, b.n, b.seed, b.block), block = {...b, keys, revision: ++revision};
    held.push(block);
    const {buffer} = await messages.put({block: b.block, revision}, keys, deflated);
    postMessage({buffer}, [buffer]);
  }
}

/* One round: `changed` points of `blocks` blocks get another confidence and colour, which lie in a row or anywhere. */
async function round({changed, blocks, spread, deflated}, next) {
  const out = [], first = next() % held.length, each = Math.floor(changed / blocks);
  for (let i = 0; i < blocks; i++) {
    const block = held[(first + i) % held.length], n = block.keys.length / 2, from = spread ? 0 : next() % (n - each);
    const chosen = spread ? Uint32Array.from({length: each}, (_, j) => Math.floor(j * n / each)) : Uint32Array.from({length: each}, (_, j) => from + j);
    const added = new Uint32Array(2 * each);
    chosen.forEach((at, j) => {
      added[2 * j] = block.keys[2 * at] & ~0xfff | next() & 0xfff;
      added[2 * j + 1] = block.keys[2 * at + 1];
    });
    const sorted = rooms.sorted(added), base = block.revision;
    block.revision = ++revision;
    out.push((await messages.patch({block: block.block, revision, base, before: n}, chosen, sorted, deflated)).buffer);
    const gone = new Set(chosen), kept = new BigUint64Array(block.keys.buffer).filter((_, j) => !gone.has(j));
    const all = new BigUint64Array(n);
    all.set(kept);
    all.set(new BigUint64Array(sorted.buffer), kept.length);
    block.keys = new Uint32Array(all.sort().buffer);
  }
  postMessage({buffers: out}, out);
}

onmessage = async ({data}) => {
  if (data.op === 'rooms') await build(data);
  const next = messages.random(9);
  if (data.op === 'patches') for (let i = 0; i < data.rounds; i++) await round(data, next);
  postMessage({done: true});
};
