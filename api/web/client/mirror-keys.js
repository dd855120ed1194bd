/* mirror-keys.js - 64-bit keys of points as two halves: their hash, and what they say
 *
 * A key is held as two unsigned 32-bit numbers, low half first, as it lies in a little-endian
 * array of 64-bit numbers. BigInt would be ten times slower. See docs/PROTOCOL.md, "Block messages"
 * for the bits of a key and "Cloud hash" for the arithmetic.
 */

/** Steps of a block's edge. */
export const BLOCK_STEPS = 1024;

/** The upper 32 bits of the product of two unsigned 32-bit numbers. */
function mulHigh(a, b) {
  const al = a & 0xffff, ah = a >>> 16, bl = b & 0xffff, bh = b >>> 16;
  const middle = Math.imul(ah, bl) + (Math.imul(al, bl) >>> 16);
  const cross = Math.imul(al, bh) + (middle & 0xffff) | 0;
  return Math.imul(ah, bh) + (middle >>> 16) + (cross >>> 16) | 0;
}

/* The last mix, low half first. A variable of the module would be a new object with each number above 2^30; an array is none. */
const mixed = new Int32Array(2);

/* mix64() of the page, into `mixed`. */
function mix(low, high) {
  let l = (low >>> 0) + 0x7f4a7c15, h = high + 0x9e3779b9 + (l > 0xffffffff ? 1 : 0) | 0, t;
  l |= 0;
  t = l ^ (l >>> 30 | h << 2);
  h ^= h >>> 30;
  h = Math.imul(t, 0xbf58476d) + Math.imul(h, 0x1ce4e5b9) + mulHigh(t, 0x1ce4e5b9) | 0;
  l = Math.imul(t, 0x1ce4e5b9);
  t = l ^ (l >>> 27 | h << 5);
  h ^= h >>> 27;
  h = Math.imul(t, 0x94d049bb) + Math.imul(h, 0x133111eb) + mulHigh(t, 0x133111eb) | 0;
  l = Math.imul(t, 0x133111eb);
  mixed[0] = l ^ (l >>> 31 | h << 1);
  mixed[1] = h ^ h >>> 31;
}

/**
 * mix64 of docs/PROTOCOL.md.
 * @param {number} low
 * @param {number} high
 * @returns {[number, number]} both halves without sign
 */
export function mix64(low, high) {
  mix(low, high);
  return [mixed[0] >>> 0, mixed[1] >>> 0];
}

/**
 * What a block's name puts into the hash of its keys: mix64(name).
 * @param {number} submap
 * @param {number} x
 * @param {number} y
 * @param {number} z
 * @returns {[number, number]} low and high half
 */
export function blockSalt(submap, x, y, z) {
  mix(submap | 0, x | 0);
  mix(mixed[0] ^ y, mixed[1] ^ z);
  return [mixed[0] >>> 0, mixed[1] >>> 0];
}

/** A sum of 64 bits that wraps. */
export class Sum64 {
  constructor() {
    this.low = 0;
    this.high = 0;
  }

  /** Adds another sum, or takes it away. */
  add(other, sign = 1) {
    if (sign > 0) {
      const low = this.low + other.low;
      this.high = this.high + other.high + (low > 0xffffffff ? 1 : 0) >>> 0;
      this.low = low >>> 0;
    } else {
      const low = this.low - other.low;
      this.high = this.high - other.high - (low < 0 ? 1 : 0) >>> 0;
      this.low = low >>> 0;
    }
  }

  /** Adds the terms of keys[2 * from] ... keys[2 * to - 1] of a block with this salt, or takes them away. */
  addKeys(keys, from, to, saltLow, saltHigh, sign = 1) {
    let low = this.low, high = this.high;
    for (let i = 2 * from; i < 2 * to; i += 2) {
      mix(keys[i] ^ saltLow, keys[i + 1] ^ saltHigh);
      low += sign * (mixed[0] >>> 0);
      const carry = low > 0xffffffff ? 1 : low < 0 ? -1 : 0;
      low -= carry * 0x100000000;
      high = high + sign * mixed[1] + carry | 0;
    }
    this.low = low;
    this.high = high >>> 0;
  }

  /** 16 hexadecimal digits, as servers write a hash. */
  toString() {
    return this.high.toString(16).padStart(8, '0') + this.low.toString(16).padStart(8, '0');
  }
}

/** Every third of 30 bits, from the lowest: a coordinate of a Morton code. */
export function gather(m) {
  m &= 0x09249249;
  m = (m | m >>> 2) & 0x030c30c3;
  m = (m | m >>> 4) & 0x0300f00f;
  m = (m | m >>> 8) & 0x030000ff;
  return (m | m >>> 16) & 0x3ff;
}

/**
 * What a key says.
 * @param {number} low
 * @param {number} high
 * @returns {{x: number, y: number, z: number, r: number, g: number, b: number, confidence: number, normal: number}}
 *   place in steps inside the block, colours of 63, confidence, and the code of the normal
 */
export function keyLook(low, high) {
  const m = high >>> 2;
  return {
    x: gather(m), y: gather(m >>> 1), z: gather(m >>> 2),
    r: low >>> 16 & 63, g: low >>> 10 & 63, b: low >>> 4 & 63,
    confidence: low & 15, normal: (high & 3) << 10 | low >>> 22,
  };
}
