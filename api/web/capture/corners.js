/* corners.js - the inner corners of a checkerboard in a picture, with their places on the board
 *
 * A corner of four squares is a saddle of the brightness: there the second derivatives' determinant is most negative. Corners are
 * joined to a lattice from one in the middle outwards, each found where its neighbours say that it should be. How many squares the
 * board has, and whether all of it is seen, does not matter. */

const LEAST_SHARE = 0.06, APART = 4, CANDIDATES = 400, LEAST_CORNERS = 20;

/** Brightness of RGBA pixels, made smooth twice by the binomial of five. */
function smooth({ data, width, height }) {
  let from = new Float32Array(width * height), to = new Float32Array(width * height);
  for (let i = 0; i < from.length; i++) from[i] = 0.299 * data[4 * i] + 0.587 * data[4 * i + 1] + 0.114 * data[4 * i + 2];
  for (let round = 0; round < 2; round++)
    for (const [step, n, lines, line] of [[1, width, height, width], [width, height, width, 1]]) {
      for (let k = 0; k < lines; k++)
        for (let i = 0; i < n; i++) {
          const at = d => from[k * line + Math.min(Math.max(i + d, 0), n - 1) * step];
          to[k * line + i * step] = (at(-2) + at(2) + 4 * (at(-1) + at(1)) + 6 * at(0)) / 16;
        }
      [from, to] = [to, from];
    }
  return from;
}

/** Saddles of the brightness, the strongest first: { x, y, s }, to a fraction of a pixel. */
export function saddles(image) {
  const { width: w, height: h } = image, b = smooth(image), strength = new Float32Array(w * h), found = [];
  let most = 0;
  const at = i => {
    const xx = b[i - 2] - 2 * b[i] + b[i + 2], yy = b[i - 2 * w] - 2 * b[i] + b[i + 2 * w];
    return [xx / 4, yy / 4, (b[i + w + 1] - b[i + w - 1] - b[i - w + 1] + b[i - w - 1]) / 4];
  };
  for (let y = 3; y < h - 3; y++)
    for (let x = 3; x < w - 3; x++) {
      const [xx, yy, xy] = at(y * w + x);
      most = Math.max(most, strength[y * w + x] = xy * xy - xx * yy);
    }
  for (let y = 3 + APART; y < h - 3 - APART; y++)
    for (let x = 3 + APART; x < w - 3 - APART; x++) {
      const i = y * w + x, s = strength[i];
      if (s < LEAST_SHARE * most || s <= 0 || !isPeak(strength, w, i)) continue;
      const [xx, yy, xy] = at(i), gx = (b[i + 1] - b[i - 1]) / 2, gy = (b[i + w] - b[i - w]) / 2, det = xx * yy - xy * xy;
      const dx = (xy * gy - yy * gx) / det, dy = (xy * gx - xx * gy) / det;
      if (Math.abs(dx) <= 2 && Math.abs(dy) <= 2) found.push({ x: x + dx, y: y + dy, s });
    }
  return found.sort((a, c) => c.s - a.s).slice(0, CANDIDATES);
}

function isPeak(strength, w, i) {
  for (let dy = -APART; dy <= APART; dy++)
    for (let dx = -APART; dx <= APART; dx++) {
      const other = strength[i + dy * w + dx];
      if (other > strength[i] || other === strength[i] && (dy < 0 || dy === 0 && dx < 0)) return false;
    }
  return true;
}

/** The candidate nearest to a place, if it is within `reach`. */
function nearest(points, x, y, reach, but = null) {
  let best = null, least = reach * reach;
  for (const p of points) {
    const d = (p.x - x) ** 2 + (p.y - y) ** 2;
    if (p !== but && d <= least) [best, least] = [p, d];
  }
  return best;
}

/** Two steps of the lattice at a corner: to its nearest neighbour, and to the nearest across; both ways must be there. At the board's edge
 * that may be a diagonal: the shortest of it and what it makes with the first step is the board's other axis. */
function stepsAt(points, p) {
  const near = points.filter(q => q !== p).sort((a, b) => Math.hypot(a.x - p.x, a.y - p.y) - Math.hypot(b.x - p.x, b.y - p.y)).slice(0, 8);
  const both = q => nearest(points, 2 * p.x - q.x, 2 * p.y - q.y, 0.3 * Math.hypot(q.x - p.x, q.y - p.y), p);
  const first = near.find(both);
  if (!first) return null;
  const [ux, uy] = [first.x - p.x, first.y - p.y];
  const second = near.find(q => {
    const [vx, vy] = [q.x - p.x, q.y - p.y], sine = Math.abs(ux * vy - uy * vx) / Math.hypot(ux, uy) / Math.hypot(vx, vy);
    return sine > 0.6 && both(q);
  });
  if (!second) return null;
  const [vx, vy] = [second.x - p.x, second.y - p.y];
  const across = [[vx, vy], [vx + ux, vy + uy], [vx - ux, vy - uy]].sort((a, b) => Math.hypot(...a) - Math.hypot(...b))[0];
  return [[ux, uy], across];
}

function grow(points, seed) {
  const steps = stepsAt(points, seed);
  if (!steps) return [];
  const lattice = new Map([['0,0', { i: 0, j: 0, p: seed, u: steps[0], v: steps[1] }]]), taken = new Set([seed]), queue = [...lattice.values()];
  while (queue.length) {
    const c = queue.shift();
    for (const [di, dj] of [[1, 0], [-1, 0], [0, 1], [0, -1]]) {
      const name = `${c.i + di},${c.j + dj}`;
      if (lattice.has(name)) continue;
      const along = di ? c.u : c.v, sign = di || dj, step = [sign * along[0], sign * along[1]];
      const p = nearest(points, c.p.x + step[0], c.p.y + step[1], 0.3 * Math.hypot(...step));
      if (!p || taken.has(p)) continue;
      const seen = [sign * (p.x - c.p.x), sign * (p.y - c.p.y)];
      const corner = { i: c.i + di, j: c.j + dj, p, u: di ? seen : c.u, v: di ? c.v : seen };
      lattice.set(name, corner);
      taken.add(p);
      queue.push(corner);
    }
  }
  return [...lattice.values()].map(({ i, j, p }) => ({ i, j, x: p.x, y: p.y }));
}

/**
 * The board's corners: { i, j } on the board, { x, y } in the picture; null where there is no board.
 * @param {ImageData} image
 */
export function findBoard(image) {
  const points = saddles(image), seeds = points.slice(0, 12);
  let best = [];
  for (const seed of seeds) {
    const lattice = grow(points, seed);
    if (lattice.length > best.length) best = lattice;
    if (best.length > points.length / 2) break;
  }
  return best.length >= LEAST_CORNERS ? best : null;
}
