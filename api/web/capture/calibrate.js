/* calibrate.js - a camera's focal length from pictures of a checkerboard that is held aslant
 *
 * Each picture gives the homography from the board to the picture (Zhang 2000). Its first two columns are turned axes of equal length seen
 * through the camera: with square pixels and the centre in the middle, each picture gives two equations that are linear in 1 / f^2. */

const RESIDUAL_PX = 0.4, FAR_PX = 0.6, CORNERS_LEAST = 16, VIEWS_LEAST = 5, ROUNDS = 4;
const INVERSE_LEAST = Math.tan(10 * Math.PI / 180) ** 2, INVERSE_MOST = Math.tan(75 * Math.PI / 180) ** 2; /* of 20 and 150 degrees */

/** Solve A x = b by elimination with pivots; null where it has no answer. */
function solve(A, b) {
  const n = b.length, M = A.map((row, i) => [...row, b[i]]);
  for (let c = 0; c < n; c++) {
    let pivot = c;
    for (let r = c + 1; r < n; r++) if (Math.abs(M[r][c]) > Math.abs(M[pivot][c])) pivot = r;
    if (Math.abs(M[pivot][c]) < 1e-12) return null;
    [M[c], M[pivot]] = [M[pivot], M[c]];
    for (let r = 0; r < n; r++) {
      if (r === c) continue;
      const factor = M[r][c] / M[c][c];
      for (let k = c; k <= n; k++) M[r][k] -= factor * M[c][k];
    }
  }
  return M.map((row, i) => row[n] / row[i]);
}

/** The homography of corners without those that lie off it, as corners at the board's edge may; null where too few are left. */
export function homography(corners, far) {
  let left = [...corners];
  while (left.length >= CORNERS_LEAST) {
    const fit = fitAll(left);
    if (!fit) return null;
    const misses = left.map(fit.miss), worst = Math.max(...misses);
    if (worst <= far) return { H: fit.H, residual: Math.sqrt(misses.reduce((s, m) => s + m * m, 0) / left.length) };
    left = left.filter((_, k) => misses[k] < 0.7 * worst);
  }
  return null;
}

function fitAll(corners) {
  const rows = Array.from({ length: 8 }, () => new Float64Array(8)), right = new Float64Array(8);
  const n = corners.length, mi = corners.reduce((s, c) => s + c.i, 0) / n, mj = corners.reduce((s, c) => s + c.j, 0) / n;
  for (const c of corners) {
    const [i, j] = [c.i - mi, c.j - mj];
    for (const [row, value] of [[[i, j, 1, 0, 0, 0, -c.x * i, -c.x * j], c.x], [[0, 0, 0, i, j, 1, -c.y * i, -c.y * j], c.y]])
      for (let a = 0; a < 8; a++) {
        right[a] += row[a] * value;
        for (let k = 0; k < 8; k++) rows[a][k] += row[a] * row[k];
      }
  }
  const H = solve(rows, [...right]);
  if (!H) return null;
  H.push(1);
  const miss = c => {
    const [i, j] = [c.i - mi, c.j - mj], w = H[6] * i + H[7] * j + 1;
    return Math.hypot((H[0] * i + H[1] * j + H[2]) / w - c.x, (H[3] * i + H[4] * j + H[5]) / w - c.y);
  };
  return { H, miss };
}

/** 1 / f^2 by least squares over views, whose columns are brought to the length of the board's axes first. */
function inverseSquare(views) {
  let inverse = 0.5;
  for (let round = 0; round < ROUNDS; round++) {
    let above = 0, below = 0;
    for (const H of views) {
      const length = inverse * (H[0] * H[0] + H[3] * H[3]) + H[6] * H[6];
      for (const [a, b] of [[H[0] * H[1] + H[3] * H[4], H[6] * H[7]],
        [H[0] * H[0] + H[3] * H[3] - H[1] * H[1] - H[4] * H[4], H[6] * H[6] - H[7] * H[7]]]) {
        above -= a * b / length ** 2;
        below += a * a / length ** 2;
      }
    }
    if (!(above > 0) || !(below > 0)) return null;
    inverse = above / below;
  }
  return inverse;
}

/**
 * Views in, focal length out. Coordinates are centred and divided by half of the longer side.
 */
export class Calibration {
  constructor(width, height) {
    Object.assign(this, { width, height, views: [] });
    this.half = Math.max(width, height) / 2;
  }

  /** Take the corners of a picture: 'none', 'blurred', 'flat' (not aslant enough), 'alike' (as one before), 'taken'. */
  add(corners) {
    if (!corners) return 'none';
    const centred = corners.map(({ i, j, x, y }) => ({ i, j, x: (x - (this.width - 1) / 2) / this.half, y: (y - (this.height - 1) / 2) / this.half }));
    const fit = homography(centred, FAR_PX / this.half);
    if (!fit || fit.residual * this.half > RESIDUAL_PX) return 'blurred';
    const { H } = fit, alone = inverseSquare([H]), tilt = Math.hypot(H[6], H[7]) / Math.hypot(H[0], H[3]);
    if (tilt < 0.12) return 'flat';
    const way = Math.atan2(H[7], H[6]), place = [H[2], H[5]];
    if (this.views.some(v => Math.hypot(v.place[0] - place[0], v.place[1] - place[1]) < 0.1 && Math.abs(Math.sin((v.way - way) / 2)) < 0.2 && Math.abs(v.tilt - tilt) < 0.1))
      return 'alike';
    if (!alone || alone > INVERSE_MOST || alone < INVERSE_LEAST) return 'blurred'; /* no camera sees a board so: the lattice is wrong */
    this.views.push({ H, alone, tilt, way, place });
    return 'taken';
  }

  /**
   * The field of view along the longer side, and by how much it may be wrong: the spread when each view is left out in turn.
   * @returns {{ degrees: number, error: number, views: number } | null} null while too little is known
   */
  get result() {
    const middle = this.views.map(v => v.alone).sort((a, b) => a - b)[this.views.length >> 1];
    const views = this.views.filter(v => v.alone < 2.2 * middle && v.alone > middle / 2.2); /* one alone is rough, not wild */
    if (views.length < VIEWS_LEAST) return null;
    const degrees = list => {
      const inverse = inverseSquare(list.map(v => v.H));
      return inverse && 2 * Math.atan(Math.sqrt(inverse)) * 180 / Math.PI;
    };
    const all = degrees(views), n = views.length;
    if (!all) return null;
    const without = views.map((_, k) => degrees(views.filter((__, i) => i !== k)) ?? Infinity);
    const error = Math.sqrt((n - 1) / n * without.reduce((s, d) => s + (d - all) ** 2, 0));
    return { degrees: all, error, views: n };
  }
}
