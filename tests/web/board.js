/* board.js - pictures of a checkerboard before a camera, drawn by rays */

/** Turns about x, then y, then z, in degrees, by rows. */
export function turned(...degrees) {
  const [a, b, c] = degrees.map(d => d * Math.PI / 180), times = (A, B) => A.map((_, k) =>
    [0, 1, 2].reduce((s, i) => s + A[3 * Math.floor(k / 3) + i] * B[3 * i + k % 3], 0));
  const x = [1, 0, 0, 0, Math.cos(a), -Math.sin(a), 0, Math.sin(a), Math.cos(a)];
  const y = [Math.cos(b), 0, Math.sin(b), 0, 1, 0, -Math.sin(b), 0, Math.cos(b)];
  return times([Math.cos(c), -Math.sin(c), 0, Math.sin(c), Math.cos(c), 0, 0, 0, 1], times(y, x));
}

/** A picture of a board of 8 by 6 unit squares, turned by R, at t, four rays a pixel, with noise. */
export function boardPicture(width, height, f, R, t, noise, seed) {
  const image = new ImageData(width, height), { data } = image, n = [R[2], R[5], R[8]], at = n[0] * t[0] + n[1] * t[1] + n[2] * t[2];
  const random = () => (seed = seed * 1103515245 + 12345 & 0x7fffffff) / 0x7fffffff - 0.5;
  for (let i = 0; i < width * height; i++) {
    let sum = 0;
    for (let k = 0; k < 4; k++) {
      const d = [(i % width + (k & 1 ? 0.25 : -0.25) - (width - 1) / 2) / f, (Math.floor(i / width) + (k & 2 ? 0.25 : -0.25) - (height - 1) / 2) / f, 1];
      const z = at / (n[0] * d[0] + n[1] * d[1] + n[2] * d[2]), p = d.map((x, j) => x * z - t[j]);
      const u = R[0] * p[0] + R[3] * p[1] + R[6] * p[2] + 4, v = R[1] * p[0] + R[4] * p[1] + R[7] * p[2] + 3;
      if (z <= 0 || u < -1 || v < -1 || u > 9 || v > 7) sum += 120;
      else sum += u < 0 || v < 0 || u >= 8 || v >= 6 || Math.floor(u) + Math.floor(v) & 1 ? 230 : 25;
    }
    data.fill(sum / 4 + 2 * noise * random(), 4 * i, 4 * i + 3);
    data[4 * i + 3] = 255;
  }
  return image;
}
