/* mirror-planes.js - the planes of a put or patch: removed indices and added keys out of bytes
 *
 * The layout is that of docs/PROTOCOL.md, section "Planes". What breaks a rule of that section is told
 * by a WireError; nothing is allocated before lengths agree.
 */

/** A message that breaks the protocol: the client closes the connection and comes back without `resume`. */
export class WireError extends Error {}

/** Bytes of the planes of so many removed and added points. */
export function planesLength(nRemoved, nAdded) {
  return 4 * nRemoved + 10 * nAdded;
}

/**
 * Removed indices, strictly ascending and below limit.
 * @param {Uint8Array} planes
 * @param {number} n
 * @param {number} limit points of the block as it was
 * @param {Uint32Array} out n numbers at least
 */
export function readRemoved(planes, n, limit, out) {
  const second = n, third = 2 * n, fourth = 3 * n;
  let sum = 0;
  for (let i = 0; i < n; i++) {
    const step = (planes[i] | planes[second + i] << 8 | planes[third + i] << 16 | planes[fourth + i] << 24) >>> 0;
    sum += step;
    if (sum >= limit || (i > 0 && step === 0)) throw new WireError('removed indices that do not ascend inside the block');
    out[i] = sum;
  }
}

/**
 * Added keys, ascending, low half first.
 * @param {Uint8Array} planes
 * @param {number} at where the keys' planes begin
 * @param {number} n
 * @param {Uint32Array} out 2 n numbers at least
 */
export function readKeys(planes, at, n, out) {
  const m1 = at + n, m2 = m1 + n, m3 = m2 + n, normalLow = m3 + n, greens = normalLow + n;
  const reds = greens + n, blues = reds + n, confidences = blues + n, normalHigh = confidences + n;
  let m = 0, u = 0, v = 0, g = 0, d = 0, e = 0, c = 0, lowBefore = 0, highBefore = 0;
  for (let i = 0; i < n; i++) {
    const step = planes[m3 + i] * 0x1000000 + (planes[at + i] | planes[m1 + i] << 8 | planes[m2 + i] << 16);
    m += step;
    if (m >= 0x40000000) throw new WireError('a point outside its block');
    const nl = planes[normalLow + i], nh = planes[normalHigh + i];
    u = u + (nh >> 4 << 2 | nl >> 2) & 63;
    v = v + ((nh & 15) << 2 | nl & 3) & 63;
    g = g + planes[greens + i] & 63;
    d = d + planes[reds + i] & 63;
    e = e + planes[blues + i] & 63;
    c = c + planes[confidences + i] & 15;
    const low = ((u << 6 | v) << 22 | (d + g & 63) << 16 | g << 10 | (e + g & 63) << 4 | c) >>> 0;
    const high = (m << 2 | u >> 4) >>> 0;
    if (high < highBefore || (high === highBefore && low < lowBefore)) throw new WireError('keys that do not ascend');
    out[2 * i] = lowBefore = low;
    out[2 * i + 1] = highBefore = high;
  }
}
