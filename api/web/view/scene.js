/* scene.js - what stands in the world beside the points: the phone's way and its frustum, boxes, what is measured */
import {EDGES, add, corners, length, rotate, sub, turned} from './math.js';

const TRAIL_STEP_M = 0.02, TRAIL_MOST = 20000, FRUSTUM_M = 0.25;
/* Red, green, blue, and how much of what is behind is covered: 255 is seen through the cloud, too. */
const PAINT = {trail: [255, 160, 40, 250], old: [150, 150, 150, 200], frustum: [255, 80, 60, 250], box: [90, 170, 255, 250],
  object: [120, 220, 120, 250], clip: [255, 220, 60, 250], measure: [255, 60, 180, 255]};

/** R(q) with the axes of `opengl` as a rotation with those of `cv`. */
export function fromOpengl(q) {
  const [x, y, z, w] = q;
  return [w, z, -y, -x];
}

const HERE = {q: [0, 0, 0, 1], t: [0, 0, 0]};

export class Scene {
  constructor() {
    this.clear();
    this.intrinsics = {fx: 1, fy: 1, cx: 0.5, cy: 0.5, width: 1, height: 1};
  }

  clear() {
    /** @type {Map<string, {seq: number, t: number[], submap: number, was: number[]|null}[]>} by source */
    this.trails = new Map();
    this.phone = null;
    this.measured = [];
  }

  /** A phone's pose, camera to its submap, axes of `cv`. */
  camera({source = 'main', seq = 0, submap = 0, q, t, inWorld = false}) {
    const trail = this.trails.get(source) ?? this.trails.set(source, []).get(source), last = trail[trail.length - 1];
    if (![...q, ...t].every(Number.isFinite)) return;
    if (!last || last.submap !== submap || length(sub(last.t, t)) > TRAIL_STEP_M) trail.push({seq, t, submap, inWorld, was: null});
    if (trail.length > TRAIL_MOST) this.trails.set(source, trail.filter((_, i) => i % 2 === 0));
    this.phone = {q, t, submap, inWorld};
  }

  /** Poses that were corrected: where each had been is kept. */
  corrected(poses, source = 'main') {
    const bySeq = new Map(this.trails.get(source)?.map(p => [p.seq, p]));
    for (const {seq, t} of poses) {
      const point = bySeq.get(seq);
      if (!point) continue;
      point.was ??= point.t;
      point.t = t;
    }
  }

  /** TUM text of a session's trajectory: `seconds tx ty tz qx qy qz qw`, comments `# source NAME, submap N`; its rows are in the session's world. */
  trajectory(text) {
    let source = 'main', submap = 0;
    this.trails.clear();
    for (const line of text.split('\n')) {
      const where = line.match(/^# source (\S+), submap (\d+)/);
      if (where) [source, submap] = [where[1], Number(where[2])];
      const n = line.startsWith('#') ? [] : line.trim().split(/\s+/).map(Number);
      if (n.length === 8) this.camera({source, seq: -1, submap, q: n.slice(4), t: n.slice(1, 4), inWorld: true});
    }
  }

  get hasBefore() {
    return [...this.trails.values()].some(trail => trail.some(p => p.was));
  }

  /**
   * All lines.
   * @param {{place: (submap: number) => {q: number[], t: number[]}|null, boxes: {box: object, q: number[], t: number[], object: boolean}[],
   *   tracked: {box: object, q: number[], t: number[]}[], clip: object|null, show: {trail: boolean, boxes: boolean, before: boolean}}} about
   */
  segments({place, boxes, tracked = [], clip, show}) {
    const out = [], line = (a, b, colour) => out.push({a, b, colour});
    const cage = (box, q, t, colour) => {
      const p = corners(box).map(c => add(rotate(q, c), t));
      for (const [a, b] of EDGES) line(p[a], p[b], colour);
    };
    if (show.trail) {
      for (const trail of this.trails.values()) this.trailLines(trail, place, show.before, line);
      this.frustumLines(place, line);
    }
    if (show.boxes) for (const b of boxes) cage(b.box, b.q, b.t, b.object ? PAINT.object : PAINT.box);
    for (const b of tracked) cage(b.box, b.q, b.t, PAINT.object);
    if (clip) cage(clip, [0, 0, 0, 1], [0, 0, 0], PAINT.clip);
    for (const p of this.measured)
      for (const axis of [[1, 0, 0], [0, 1, 0], [0, 0, 1]]) line(sub(p, axis.map(x => 0.02 * x)), add(p, axis.map(x => 0.02 * x)), PAINT.measure);
    if (this.measured.length === 2) line(this.measured[0], this.measured[1], PAINT.measure);
    return out;
  }

  trailLines(trail, place, before, line) {
    for (let i = 1; i < trail.length; i++) {
      const [p, r] = [trail[i - 1], trail[i]];
      if (p.submap !== r.submap || p.inWorld !== r.inWorld || !place(p.submap)) continue;
      const where = p.inWorld ? HERE : place(p.submap), world = t => add(rotate(where.q, t), where.t);
      line(world(p.t), world(r.t), PAINT.trail);
      if (before && (p.was || r.was)) line(world(p.was ?? p.t), world(r.was ?? r.t), PAINT.old);
    }
  }

  frustumLines(place, line) {
    const placed = this.phone && place(this.phone.submap), where = placed && this.phone.inWorld ? HERE : placed;
    if (!where) return;
    const {fx, fy, cx, cy, width, height} = this.intrinsics, {q, t} = this.phone;
    const world = p => add(rotate(where.q, add(rotate(q, p), t)), where.t), eye = world([0, 0, 0]);
    const rim = [[0, 0], [width, 0], [width, height], [0, height]].map(([u, v]) => world([(u - cx) / fx * FRUSTUM_M, (v - cy) / fy * FRUSTUM_M, FRUSTUM_M]));
    rim.forEach((p, i) => {
      line(eye, p, PAINT.frustum);
      line(p, rim[(i + 1) % 4], PAINT.frustum);
    });
  }

  /** Where the phone is in the world, axes of `cv`, or null. */
  phoneInWorld(place) {
    const where = this.phone && place(this.phone.submap);
    if (!where) return null;
    return {q: turned(where.q, this.phone.q), t: add(rotate(where.q, this.phone.t), where.t)};
  }

  /** Metres between the two points that are measured, or null. */
  get metres() {
    return this.measured.length === 2 ? length(sub(this.measured[0], this.measured[1])) : null;
  }

  /** A point that was chosen: the third one begins anew. */
  measure(point) {
    this.measured = this.measured.length === 2 ? [point] : [...this.measured, point];
  }
}
