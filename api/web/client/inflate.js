/* inflate.js - raw deflate (RFC 1951) into a buffer whose length is known, in one step
 *
 * DecompressionStream does the same in the browser's own code, but makes a stream and some promises for each message: for a patch
 * of 85 points that takes ten times as long as inflating it here, and nothing could be applied in the step in which it came.
 */

/** Bits that a look at a table decodes; longer codes are read bit by bit. */
const LITERAL_BITS = 10, DISTANCE_BITS = 7, CODE_MOST = 15;
const LENGTHS = Uint16Array.of(3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258);
const LENGTH_EXTRA = Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0);
const DISTANCES = Uint16Array.of(1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145,
  8193, 12289, 16385, 24577);
const DISTANCE_EXTRA = Uint8Array.of(0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13);
const ORDER = Uint8Array.of(16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15);
const END = 256;

/** What cannot be inflated. */
export class InflateError extends Error {}

function check(good, why) {
  if (!good) throw new InflateError(why);
}

/* A Huffman code: symbols by the bits that stand for them. Entries are symbol << 4 | length of the code. */
class Code {
  constructor(bits) {
    this.bits = bits;
    this.table = new Uint16Array(1 << bits);
    this.counts = new Uint16Array(CODE_MOST + 1);
    this.next = new Uint16Array(CODE_MOST + 2);
    this.symbols = new Uint16Array(288);
  }

  /** Makes the code whose symbols have lengths[from] ... lengths[to - 1]. */
  build(lengths, from, to) {
    const {bits, table, counts, next, symbols} = this;
    counts.fill(0);
    table.fill(0);
    for (let i = from; i < to; i++) counts[lengths[i]]++;
    const used = to - from - counts[0];
    counts[0] = 0;
    let left = 1;
    next[1] = 0;
    for (let n = 1; n <= CODE_MOST; n++) {
      left = 2 * left - counts[n];
      check(left >= 0, 'a code with too many symbols');
      next[n + 1] = next[n] + counts[n];
    }
    check(left === 0 || used === 0 || used === 1 && counts[1] === 1, 'a code with symbols missing');
    for (let i = from; i < to; i++) if (lengths[i]) symbols[next[lengths[i]]++] = i - from;
    for (let n = 1, code = 0, at = 0; n <= bits; n++) {
      for (let k = counts[n]; k > 0; k--) {
        const entry = symbols[at++] << 4 | n;
        for (let i = code; i < table.length; i += 1 << n) table[i] = entry;
        code = following(code, n);
      }
    }
  }

  /** The entry of the code that `hold` begins with, where the table has none. */
  longer(hold) {
    let code = 0, first = 0, at = 0;
    for (let n = 1; n <= CODE_MOST; n++, hold >>>= 1) {
      code |= hold & 1;
      const count = this.counts[n];
      if (code - first < count) return this.symbols[at + code - first] << 4 | n;
      at += count;
      first = first + count << 1;
      code <<= 1;
    }
    throw new InflateError('bits that are no code');
  }
}

/* The code behind one of so many bits, where the first bit is the lowest: one is added at the upper end. */
function following(code, bits) {
  let bit = 1 << bits - 1;
  while (code & bit) bit >>= 1;
  return bit ? code & bit - 1 | bit : 0;
}

const literals = new Code(LITERAL_BITS), distances = new Code(DISTANCE_BITS), lengths = new Uint8Array(288 + 32);

/* What is being inflated. Bits come from the lower end of `hold`. */
let input, at, hold, bits, out, n;

/* 16 bits at least; behind the end of the input come zeros, which inflate() finds. */
function fill() {
  while (bits < 16) {
    hold |= (at < input.length ? input[at] : 0) << bits;
    at++;
    bits += 8;
  }
}

function take(count) {
  fill();
  const value = hold & (1 << count) - 1;
  hold >>>= count;
  bits -= count;
  return value;
}

function stored() {
  at -= bits >> 3;
  hold = bits = 0;
  const length = take(16);
  check((take(16) ^ length) === 0xffff, 'a stored block whose length is in doubt');
  at -= bits >> 3;
  hold = bits = 0;
  check(at + length <= input.length, 'it ends too early');
  check(n + length <= out.length, 'more than was said');
  out.set(input.subarray(at, at + length), n);
  at += length;
  n += length;
}

function fixedCodes() {
  lengths.fill(8, 0, 144).fill(9, 144, 256).fill(7, 256, 280).fill(8, 280, 288).fill(5, 288, 320);
  literals.build(lengths, 0, 288);
  distances.build(lengths, 288, 320);
}

function dynamicCodes() {
  const nLiterals = take(5) + 257, nDistances = take(5) + 1, nLengths = take(4) + 4;
  check(nLiterals <= 286 && nDistances <= 30, 'too many codes');
  lengths.fill(0, 0, 19);
  for (let i = 0; i < nLengths; i++) lengths[ORDER[i]] = take(3);
  distances.build(lengths, 0, 19);
  for (let i = 0; i < nLiterals + nDistances;) {
    fill();
    const entry = distances.table[hold & (1 << DISTANCE_BITS) - 1] || distances.longer(hold), symbol = entry >> 4;
    take(entry & 15);
    if (symbol < 16) {
      lengths[i++] = symbol;
      continue;
    }
    check(symbol > 16 || i > 0, 'a length that repeats none');
    const again = symbol === 16 ? lengths[i - 1] : 0, times = symbol === 16 ? 3 + take(2) : symbol === 17 ? 3 + take(3) : 11 + take(7);
    check(i + times <= nLiterals + nDistances, 'too many lengths');
    lengths.fill(again, i, i += times);
  }
  check(lengths[END] > 0, 'a block without an end');
  literals.build(lengths, 0, nLiterals);
  distances.build(lengths, nLiterals, nLiterals + nDistances);
}

/* What a symbol above END stands for: bytes that came before. */
function copy(symbol) {
  check(symbol - 257 < LENGTHS.length, 'a length that is none');
  const length = LENGTHS[symbol - 257] + take(LENGTH_EXTRA[symbol - 257]);
  fill();
  const entry = distances.table[hold & (1 << DISTANCE_BITS) - 1] || distances.longer(hold);
  take(entry & 15);
  check(entry >> 4 < DISTANCES.length, 'a distance that is none');
  const distance = DISTANCES[entry >> 4] + take(DISTANCE_EXTRA[entry >> 4]);
  check(distance <= n, 'a distance from before the beginning');
  check(n + length <= out.length, 'more than was said');
  for (const end = n + length; n < end; n++) out[n] = out[n - distance];
}

/* The symbols of a block. Literals are most of it: what they need lies in variables of this function. */
function block() {
  const {table} = literals, mask = (1 << LITERAL_BITS) - 1, source = input, to = out, safe = input.length - 2;
  for (;;) {
    let h = hold, b = bits, i = at, k = n, entry = 0;
    for (;;) {
      if (b < 16) {
        if (i > safe) break;
        h |= (source[i] | source[i + 1] << 8) << b;
        i += 2;
        b += 16;
      }
      entry = table[h & mask];
      if (entry === 0 || entry >= END << 4 || k >= to.length) break;
      h >>>= entry & 15;
      b -= entry & 15;
      to[k++] = entry >> 4;
    }
    hold = h;
    bits = b;
    at = i;
    n = k;
    fill();
    entry = table[hold & mask] || literals.longer(hold);
    take(entry & 15);
    if (entry >> 4 === END) return;
    if (entry >> 4 > END) {
      copy(entry >> 4);
    } else {
      check(n < out.length, 'more than was said');
      out[n++] = entry >> 4;
    }
    check(at - (bits >> 3) <= input.length, 'it ends too early');
  }
}

/**
 * Inflates all of `from` into all of `to`.
 * @param {Uint8Array} from
 * @param {Uint8Array} to
 * @throws {InflateError} if it is no raw deflate, or of another length
 */
export function inflate(from, to) {
  input = from;
  out = to;
  at = hold = bits = n = 0;
  try {
    for (let last = 0; !last;) {
      last = take(1);
      const kind = take(2);
      check(kind < 3 && at - (bits >> 3) <= input.length, 'a block of no kind');
      if (kind === 0) {
        stored();
        continue;
      }
      if (kind === 1) fixedCodes();
      else dynamicCodes();
      block();
    }
    check(n === to.length, 'less than was said');
    check(at - (bits >> 3) === from.length, 'something behind the end');
  } finally {
    input = out = null;
  }
}
