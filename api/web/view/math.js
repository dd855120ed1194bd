/* math.js - vectors, quaternions [x, y, z, w] and matrices (columns first), as far as a view needs them */

export const add = (a, b) => [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
export const sub = (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
export const scale = (a, s) => [a[0] * s, a[1] * s, a[2] * s];
export const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
export const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
export const length = a => Math.hypot(a[0], a[1], a[2]);
export const mix = (a, b, s) => a.map((x, i) => x + (b[i] - x) * s);

/** A vector of length 1, or `or` where a has none. */
export function unit(a, or = [0, 0, 1]) {
  const n = length(a);
  return n > 1e-12 ? scale(a, 1 / n) : or;
}

/** R(q) p */
export function rotate(q, p) {
  const t = scale(cross(q, p), 2);
  return add(add(p, scale(t, q[3])), cross(q, t));
}

/** The rotation that is b, then a. */
export function turned([ax, ay, az, aw], [bx, by, bz, bw]) {
  return [aw * bx + ax * bw + ay * bz - az * by, aw * by - ax * bz + ay * bw + az * bx, aw * bz + ax * by - ay * bx + az * bw,
    aw * bw - ax * bx - ay * by - az * bz];
}

/** R(q)^-1 p */
export function unrotate(q, p) {
  return rotate([-q[0], -q[1], -q[2], q[3]], p);
}

/** Two unit vectors that are square to up: where yaw 0 looks, and what is to its right. */
export function ground(up) {
  const other = Math.abs(up[2]) < 0.9 ? [0, 0, 1] : [0, -1, 0];
  const right = unit(cross(up, other));
  return {right, front: cross(up, right)};
}

/** World to clip space: an eye that looks along `forward`, which is square to `up`. */
export function lens(eye, right, up, forward, fov, aspect, near, far) {
  const f = 1 / Math.tan(fov / 2), a = f / aspect, c = (far + near) / (near - far), d = 2 * far * near / (near - far);
  const e = [-dot(right, eye), -dot(up, eye), dot(forward, eye)];
  const rows = [[...right, e[0]], [...up, e[1]], [...scale(forward, -1), e[2]]];
  const out = new Float32Array(16);
  for (let i = 0; i < 4; i++) {
    out[4 * i] = a * rows[0][i];
    out[4 * i + 1] = f * rows[1][i];
    out[4 * i + 2] = c * rows[2][i] + (i === 3 ? d : 0);
    out[4 * i + 3] = -rows[2][i];
  }
  return out;
}

/** A point in clip space: [x, y, z, w]. */
export function project(m, p) {
  return [0, 1, 2, 3].map(i => m[i] * p[0] + m[4 + i] * p[1] + m[8 + i] * p[2] + m[12 + i]);
}

/** The smallest box around boxes that were moved: [{box: {min, max} in metres, q, t}]. */
export function boxAround(list) {
  const min = [Infinity, Infinity, Infinity], max = [-Infinity, -Infinity, -Infinity];
  for (const item of list)
    for (const corner of corners(item.box)) {
      const p = add(rotate(item.q, corner), item.t);
      for (let i = 0; i < 3; i++) {
        min[i] = Math.min(min[i], p[i]);
        max[i] = Math.max(max[i], p[i]);
      }
    }
  return min[0] <= max[0] ? {min, max} : null;
}

/** The eight corners of a box; bit i of a corner's number says min or max of axis i. */
export function corners(box) {
  return Array.from({length: 8}, (_, n) => [0, 1, 2].map(i => (n >> i & 1 ? box.max : box.min)[i]));
}

/** The twelve edges of a box as pairs of corners' numbers. */
export const EDGES = [0, 1, 2, 3, 4, 5, 6, 7].flatMap(n => [1, 2, 4].filter(bit => !(n & bit)).map(bit => [n, n | bit]));
