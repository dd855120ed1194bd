/* messages.js - block messages for tests, written the other way round: keys become planes (docs/PROTOCOL.md, "Planes") */

/** Number of 64 bits: place in the block, colours of 63, confidence, normal's code. */
export function makeKey(x, y, z, r, g, b, confidence, normal = 0) {
  let m = 0n;
  for (let i = 0n; i < 10n; i++)
    m |= (BigInt(x) >> i & 1n) << 3n * i | (BigInt(y) >> i & 1n) << 3n * i + 1n | (BigInt(z) >> i & 1n) << 3n * i + 2n;
  return m << 34n | BigInt(normal) << 22n | BigInt(r) << 16n | BigInt(g) << 10n | BigInt(b) << 4n | BigInt(confidence);
}

function columns(out, at, n, values) { /* differences of 32 bits, bytes of equal rank together */
  let before = 0;
  for (let i = 0; i < n; i++) {
    const step = values(i) - before;
    before += step;
    for (let rank = 0; rank < 4; rank++) out[at + rank * n + i] = step >>> 8 * rank;
  }
}

/**
 * Planes of removed indices and added keys.
 * @param {ArrayLike<number>} removed
 * @param {Uint32Array} keys halves, low first
 */
export function planes(removed, keys) {
  const nR = removed.length, n = keys.length / 2, out = new Uint8Array(4 * nR + 10 * n);
  columns(out, 0, nR, i => removed[i]);
  const at = 4 * nR;
  columns(out, at, n, i => keys[2 * i + 1] >>> 2);
  let u = 0, v = 0, g = 0, d = 0, e = 0, c = 0;
  for (let i = 0; i < n; i++) {
    const low = keys[2 * i], high = keys[2 * i + 1];
    const u1 = (high & 3) << 4 | low >>> 28, v1 = low >>> 22 & 63, g1 = low >>> 10 & 63;
    const d1 = (low >>> 16 & 63) - g1, e1 = (low >>> 4 & 63) - g1, c1 = low & 15;
    const du = u1 - u & 63, dv = v1 - v & 63;
    [du & 3, g1 - g & 63, d1 - d & 63, e1 - e & 63, c1 - c & 15, du >> 2].forEach((value, plane) => {
      out[at + (4 + plane) * n + i] = plane === 0 ? value << 2 | dv & 3 : plane === 5 ? value << 4 | dv >> 2 : value;
    });
    [u, v, g, d, e, c] = [u1, v1, g1, d1, e1, c1];
  }
  return out;
}

export async function deflate(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new CompressionStream('deflate-raw'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

function header(op, length, {epoch = 1, revision = 0}) {
  const bytes = new Uint8Array(length), v = new DataView(bytes.buffer);
  bytes.set([op, 1]);
  v.setUint32(4, epoch, true);
  v.setBigUint64(8, BigInt(revision), true);
  return [bytes, v];
}

/** The 56 bytes in front of planes; `about` has submap, block: [x, y, z], points, removed, added, base, epoch, revision. */
export function pointsHeader(op, about) {
  const [bytes, v] = header(op, 56, about);
  v.setUint32(16, about.submap ?? 0, true);
  about.block.forEach((c, i) => v.setInt32(20 + 4 * i, c, true));
  [about.points, about.removed ?? 0, about.added].forEach((n, i) => v.setUint32(32 + 4 * i, n, true));
  v.setBigUint64(44, BigInt(about.base ?? 0), true);
  v.setUint32(52, 4 * (about.removed ?? 0) + 10 * about.added, true);
  return bytes;
}

async function withPlanes(head, plain, deflated) {
  head[2] = deflated ? 1 : 0;
  return new Uint8Array(await new Blob([head, deflated ? await deflate(plain) : plain]).arrayBuffer());
}

export function put(about, keys, deflated = false) {
  return withPlanes(pointsHeader(0x10, {...about, points: keys.length / 2, added: keys.length / 2}), planes([], keys), deflated);
}

/** about.before: points before it. */
export function patch(about, removed, keys, deflated = false) {
  const n = keys.length / 2;
  return withPlanes(pointsHeader(0x11, {...about, points: about.before - removed.length + n, removed: removed.length, added: n}),
    planes(removed, keys), deflated);
}

export function remove(about) {
  return pointsHeader(0x12, {...about, points: 0, added: 0}).slice(0, 32);
}

export function clear(epoch) {
  return header(0x13, 16, {epoch})[0];
}

export function transform(id, q, t, {epoch = 1, unplaced = false, op = 0x14} = {}) {
  const [bytes, v] = header(op, 48, {epoch});
  bytes[3] = unplaced ? 1 : 0;
  v.setUint32(16, id, true);
  [...q, ...t].forEach((x, i) => v.setFloat32(20 + 4 * i, x, true));
  return bytes;
}

/** Numbers that are the same each time: 32 bits without sign. */
export function random(seed) {
  return () => {
    seed = seed + 0x6d2b79f5 | 0;
    let t = Math.imul(seed ^ seed >>> 15, seed | 1);
    t ^= t + Math.imul(t ^ t >>> 7, t | 61);
    return (t ^ t >>> 14) >>> 0;
  };
}
