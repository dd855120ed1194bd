/* rooms.js - the walls of drawn rooms as block messages, of any number of points, the same each time */
import * as messages from './messages.js';

const STEPS = 1024;

/* Ten bits, each followed by two zeros: half of a Morton code, quickly. */
const SPREAD = Uint32Array.from({length: STEPS}, (_, v) => {
  let m = 0;
  for (let i = 0; i < 10; i++) m |= (v >> i & 1) << 3 * i;
  return m;
});

function key(out, i, x, y, z, rgb, normal, confidence) {
  const m = SPREAD[x] | SPREAD[y] << 1 | SPREAD[z] << 2;
  out[2 * i] = ((normal & 0x3ff) << 22 | rgb[0] << 16 | rgb[1] << 10 | rgb[2] << 4 | confidence) >>> 0;
  out[2 * i + 1] = (m << 2 | normal >> 10) >>> 0;
}

/** Halves of keys, sorted. */
export function sorted(keys) {
  return new Uint32Array(new BigUint64Array(keys.buffer, 0, keys.length >> 1).sort().buffer);
}

/**
 * Keys of one block: a wavy floor (y) or wall (x or z), n points.
 * @param {'x'|'y'|'z'} axis
 */
export function wallKeys(axis, n, seed, block) {
  const next = messages.random(seed), keys = new Uint32Array(2 * n), normal = {x: 60 << 6 | 32, y: 32 << 6 | 60, z: 32 << 6 | 32}[axis];
  for (let i = 0; i < n; i++) {
    const a = next() & 1023, b = next() & 1023, wave = 40 + Math.round(12 * Math.sin(a / 90) + 12 * Math.cos(b / 70)) + next() % 4;
    const tile = (a >> 7) + (b >> 7) + block[0] + block[2] & 1, rgb = tile ? [50, 42 - (a >> 6), 20 + (b >> 5)] : [16 + (a >> 6), 30, 44 - (b >> 6)];
    const place = axis === 'x' ? [wave, a, b] : axis === 'y' ? [a, wave, b] : [a, b, wave];
    key(keys, i, ...place, rgb, normal, 1 + next() % 8);
  }
  return sorted(keys);
}

/**
 * Blocks of a floor of w x w metres with walls on two sides, `each` points a block.
 * @returns {{block: number[], axis: string, n: number, seed: number}[]}
 */
export function room(w, each) {
  const blocks = [];
  for (let x = 0; x < w; x++) for (let z = 0; z < w; z++) blocks.push({block: [x, 0, z], axis: 'y'});
  for (let x = 0; x < w; x++) for (let y = 1; y < 3; y++) blocks.push({block: [x, y, -1], axis: 'z'}, {block: [-1, y, x], axis: 'x'});
  return blocks.map((b, i) => ({...b, n: each, seed: i + 1}));
}
