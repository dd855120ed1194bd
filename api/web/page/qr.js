/* qr.js - a text as a QR code (ISO/IEC 18004): bytes, error correction M, versions 1 to 10, up to 213 bytes */

const TOTAL = [26, 44, 70, 100, 134, 172, 196, 242, 292, 346];       /* codewords of each version */
const CHECKS = [10, 16, 26, 18, 24, 16, 18, 22, 22, 26];             /* of a block, at M */
const BLOCKS = [1, 1, 1, 2, 2, 4, 4, 4, 5, 5];
const ALIGN = [[], [6, 18], [6, 22], [6, 26], [6, 30], [6, 34], [6, 22, 38], [6, 24, 42], [6, 26, 46], [6, 28, 50]];

/* The field of 256 elements over x^8 + x^4 + x^3 + x^2 + 1. */
const EXP = new Uint8Array(512), LOG = new Uint8Array(256);
for (let i = 0, x = 1; i < 255; i++, x = x << 1 ^ (x & 0x80 ? 0x11d : 0)) {
  EXP[i] = EXP[i + 255] = x;
  LOG[x] = i;
}
const times = (a, b) => a && b ? EXP[LOG[a] + LOG[b]] : 0;

/** The remainder of data * x^n by the generator of degree n: Reed and Solomon's check symbols. */
function checks(data, n) {
  let generator = [1];
  for (let i = 0; i < n; i++) {
    const next = [...generator, 0];
    generator.forEach((g, k) => { next[k + 1] ^= times(g, EXP[i]); });
    generator = next;
  }
  const rest = new Uint8Array(n);
  for (const byte of data) {
    const factor = byte ^ rest[0];
    rest.copyWithin(0, 1);
    rest[n - 1] = 0;
    for (let k = 0; k < n; k++) rest[k] ^= times(generator[k + 1], factor);
  }
  return rest;
}

function versionFor(length) {
  for (let v = 1; v <= 10; v++) {
    const room = TOTAL[v - 1] - CHECKS[v - 1] * BLOCKS[v - 1];
    if (length + (v < 10 ? 2 : 3) <= room) return v;
  }
  throw new RangeError('the text is too long for this code');
}

/** Mode, length, bytes, padding; then blocks, their checks, interleaved. */
function codewords(bytes, version) {
  const room = TOTAL[version - 1] - CHECKS[version - 1] * BLOCKS[version - 1], bits = [];
  const put = (value, n) => { for (let i = n - 1; i >= 0; i--) bits.push(value >> i & 1); };
  put(4, 4);
  put(bytes.length, version < 10 ? 8 : 16);
  for (const b of bytes) put(b, 8);
  put(0, Math.min(4, 8 * room - bits.length));
  while (bits.length % 8) bits.push(0);
  const data = [];
  for (let i = 0; i < bits.length; i += 8) data.push(bits.slice(i, i + 8).reduce((v, bit) => v << 1 | bit, 0));
  for (let pad = 0xec; data.length < room; pad ^= 0xec ^ 0x11) data.push(pad);
  const n = BLOCKS[version - 1], short = Math.floor(room / n), nShort = n - room % n, blocks = [];
  for (let i = 0, at = 0; i < n; i++) {
    const length = short + (i >= nShort ? 1 : 0);
    blocks.push(data.slice(at, at += length));
  }
  const sums = blocks.map(b => checks(b, CHECKS[version - 1])), out = [];
  for (let i = 0; i <= short; i++) for (const b of blocks) if (i < b.length) out.push(b[i]);
  for (let i = 0; i < CHECKS[version - 1]; i++) for (const s of sums) out.push(s[i]);
  return out;
}

const MASKS = [
  (y, x) => (y + x) % 2, y => y % 2, (y, x) => x % 3, (y, x) => (y + x) % 3, (y, x) => (Math.floor(y / 2) + Math.floor(x / 3)) % 2,
  (y, x) => y * x % 2 + y * x % 3, (y, x) => (y * x % 2 + y * x % 3) % 2, (y, x) => ((y + x) % 2 + y * x % 3) % 2,
];

class Matrix {
  constructor(version) {
    this.version = version;
    this.size = 17 + 4 * version;
    this.dark = Array.from({ length: this.size }, () => new Uint8Array(this.size));
    this.fixed = Array.from({ length: this.size }, () => new Uint8Array(this.size));
    this.draw();
  }

  set(y, x, dark) {
    if (y < 0 || x < 0 || y >= this.size || x >= this.size) return;
    this.dark[y][x] = dark ? 1 : 0;
    this.fixed[y][x] = 1;
  }

  draw() {
    const { size, version } = this, far = size - 7;
    for (const [top, left] of [[0, 0], [0, far], [far, 0]])
      for (let y = -1; y <= 7; y++)
        for (let x = -1; x <= 7; x++) {
          const ring = Math.max(Math.abs(y - 3), Math.abs(x - 3));
          this.set(top + y, left + x, ring !== 2 && ring < 4);
        }
    for (let i = 8; i < size - 8; i++) {
      this.set(6, i, i % 2 === 0);
      this.set(i, 6, i % 2 === 0);
    }
    const centres = ALIGN[version - 1], last = centres.length - 1;
    centres.forEach((cy, i) => centres.forEach((cx, k) => {
      if (i === 0 && k === 0 || i === 0 && k === last || i === last && k === 0) return;
      for (let y = -2; y <= 2; y++) for (let x = -2; x <= 2; x++) this.set(cy + y, cx + x, Math.max(Math.abs(y), Math.abs(x)) !== 1);
    }));
    this.format(0);
    if (version >= 7) {
      let rest = version;
      for (let i = 0; i < 12; i++) rest = rest << 1 ^ (rest >> 11) * 0x1f25;
      const bits = version << 12 | rest;
      for (let i = 0; i < 18; i++) {
        this.set(Math.floor(i / 3), size - 11 + i % 3, bits >> i & 1);
        this.set(size - 11 + i % 3, Math.floor(i / 3), bits >> i & 1);
      }
    }
  }

  /** Error correction M is 00. */
  format(mask) {
    let rest = mask;
    for (let i = 0; i < 10; i++) rest = rest << 1 ^ (rest >> 9) * 0x537;
    const bits = (mask << 10 | rest) ^ 0x5412, { size } = this;
    for (let i = 0; i < 15; i++) {
      const bit = bits >> i & 1;
      this.set(i < 6 ? i : i < 8 ? i + 1 : size - 15 + i, 8, bit);
      this.set(8, i < 8 ? size - 1 - i : i < 9 ? 7 : 14 - i, bit);
    }
    this.set(size - 8, 8, 1);
  }

  fill(words) {
    let at = 0, up = true;
    for (let right = this.size - 1; right > 0; right -= 2, up = !up) {
      if (right === 6) right--;
      for (let i = 0; i < this.size; i++)
        for (const x of [right, right - 1]) {
          const y = up ? this.size - 1 - i : i;
          if (this.fixed[y][x]) continue;
          this.dark[y][x] = at < 8 * words.length ? words[at >> 3] >> (7 - at % 8) & 1 : 0;
          at++;
        }
    }
  }

  mask(number) {
    for (let y = 0; y < this.size; y++)
      for (let x = 0; x < this.size; x++)
        if (!this.fixed[y][x] && MASKS[number](y, x) === 0) this.dark[y][x] ^= 1;
    this.format(number);
  }

  /** How hard it is to read: runs, blocks, patterns like the corners', the share of dark. */
  penalty() {
    const { size, dark } = this;
    let sum = 0, n = 0;
    for (const at of [(i, k) => dark[i][k], (i, k) => dark[k][i]])
      for (let i = 0; i < size; i++) {
        let run = 0, line = '';
        for (let k = 0; k < size; k++) {
          run = k && at(i, k) === at(i, k - 1) ? run + 1 : 1;
          sum += run === 5 ? 3 : run > 5 ? 1 : 0;
          line += at(i, k);
        }
        for (let k = 0; k + 11 <= size; k++)
          if (/^(10111010000|00001011101)$/.test(line.slice(k, k + 11))) sum += 40;
      }
    for (let y = 0; y < size; y++)
      for (let x = 0; x < size; x++) {
        n += dark[y][x];
        if (y && x && dark[y][x] === dark[y - 1][x] && dark[y][x] === dark[y][x - 1] && dark[y][x] === dark[y - 1][x - 1]) sum += 3;
      }
    return sum + 10 * Math.floor(Math.abs(20 * n / (size * size) - 10));
  }
}

/**
 * Rows of 0 (light) and 1 (dark).
 * @param {string} text
 * @returns {Uint8Array[]}
 */
export function qrCode(text) {
  const bytes = new TextEncoder().encode(text), version = versionFor(bytes.length), words = codewords(bytes, version);
  let best = null, least = Infinity;
  for (let mask = 0; mask < 8; mask++) {
    const m = new Matrix(version);
    m.fill(words);
    m.mask(mask);
    const penalty = m.penalty();
    if (penalty < least) [best, least] = [m, penalty];
  }
  return best.dark;
}

/** The same as an SVG element, with the quiet border that readers need. */
export function qrPicture(text, label) {
  const rows = qrCode(text), size = rows.length + 8, svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  svg.setAttribute('viewBox', `0 0 ${size} ${size}`);
  svg.setAttribute('role', 'img');
  svg.setAttribute('aria-label', label);
  svg.setAttribute('class', 'qr');
  const light = document.createElementNS(svg.namespaceURI, 'rect'), dark = document.createElementNS(svg.namespaceURI, 'path');
  for (const [name, value] of [['width', size], ['height', size], ['fill', '#fff']]) light.setAttribute(name, value);
  let d = '';
  rows.forEach((row, y) => row.forEach((on, x) => { if (on) d += `M${x + 4} ${y + 4}h1v1h-1z`; }));
  dark.setAttribute('d', d);
  dark.setAttribute('fill', '#000');
  svg.append(light, dark);
  return svg;
}
