/* camera.js - from where the cloud is looked at: around a point, behind the phone, or as one flies
 *
 * The camera turns about a pivot, `distance` away from it. Flying moves the pivot with the eye. Yaw 0 looks along ground(up).front.
 */
import {add, boxAround, corners, cross, dot, ground, length, lens, mix, rotate, scale, sub, unit} from './math.js';

const PITCH_MOST = 1.55, FOLLOW_BEHIND_M = 1.2, FOLLOW_ABOVE_M = 0.5, FOLLOW_AHEAD_M = 1.5, MARGIN = 1.1;

export class Camera {
  constructor() {
    this.up = [0, 1, 0];
    this.fov = 60 * Math.PI / 180;
    this.pivot = [0, 0, 0];
    this.distance = 3;
    this.yaw = 0.6;
    this.pitch = -0.5;
    this.mode = 'orbit';
    this.reach = {near: 0.01, far: 100};
    /** Counts changes: a picture of an older number is stale. */
    this.changes = 0;
  }

  /** Right, up and forward of the picture, in the world. */
  basis() {
    const {right, front} = ground(this.up);
    const level = add(scale(front, Math.cos(this.yaw)), scale(right, Math.sin(this.yaw)));
    const forward = add(scale(level, Math.cos(this.pitch)), scale(this.up, Math.sin(this.pitch))), side = unit(cross(forward, this.up));
    return {forward, right: side, up: cross(side, forward)};
  }

  eye() {
    return sub(this.pivot, scale(this.basis().forward, this.distance));
  }

  /** World to clip space for a picture of this shape. */
  lens(aspect) {
    const {forward, right, up} = this.basis(), eye = this.eye();
    return lens(eye, right, up, forward, this.fov, aspect, this.reach.near, this.reach.far);
  }

  /** Near and far so that a box is between them, as tight as depths ask for. */
  reachFor(box) {
    const middle = scale(add(box.min, box.max), 0.5), radius = 0.5 * length(sub(box.max, box.min)) + 0.5;
    const far = Math.max(1, length(sub(this.eye(), middle)) + radius) * 1.1;
    this.reach = {near: Math.max(far / 20000, Math.min(0.05, this.distance / 10)), far};
  }

  /** Turns by angles: around the pivot, or on the spot where one flies. */
  turn(yaw, pitch) {
    const eye = this.eye();
    this.yaw += yaw;
    this.pitch = Math.max(-PITCH_MOST, Math.min(PITCH_MOST, this.pitch + pitch));
    if (this.mode === 'fly') this.pivot = add(eye, scale(this.basis().forward, this.distance));
    this.changes++;
  }

  /** Moves by parts of the picture's height at the pivot. */
  pan(x, y) {
    const {right, up} = this.basis(), size = 2 * this.distance * Math.tan(this.fov / 2);
    this.pivot = add(this.pivot, add(scale(right, -x * size), scale(up, y * size)));
    this.changes++;
  }

  /** Comes nearer (below 1) or goes away; one who flies moves instead. */
  zoom(factor) {
    if (this.mode === 'fly') this.move(0, 0, this.distance * (1 - factor));
    else this.distance = Math.max(0.02, Math.min(5000, this.distance * factor));
    this.changes++;
  }

  /** Moves by metres to the right, up and ahead. */
  move(right, up, ahead) {
    const b = this.basis();
    this.pivot = add(this.pivot, add(add(scale(b.right, right), scale(this.up, up)), scale(b.forward, ahead)));
    this.changes++;
  }

  /** Looks at all of some boxes, in a picture of this shape: from so near that no corner is cut off, with equal borders. */
  fit(boxes, aspect = 1) {
    const {right, up, forward} = this.basis(), high = Math.tan(this.fov / 2), wide = high * aspect, all = boxes.flatMap(corners);
    const around = boxAround(boxes.map(box => ({box, q: [0, 0, 0, 1], t: [0, 0, 0]})));
    this.pivot = scale(add(around.min, around.max), 0.5);
    const away = () => {
      this.distance = 0.3;
      for (const corner of all) {
        const p = sub(corner, this.pivot), off = Math.max(Math.abs(dot(p, right)) / wide, Math.abs(dot(p, up)) / high);
        this.distance = Math.max(this.distance, MARGIN * (off - dot(p, forward)));
      }
    };
    away();
    for (let turn = 0; turn < 3; turn++, away()) {
      for (const axis of [right, up]) {
        const at = all.map(corner => sub(corner, this.pivot)).map(p => dot(p, axis) / (dot(p, forward) + this.distance));
        this.pivot = add(this.pivot, scale(axis, this.distance * (Math.min(...at) + Math.max(...at)) / 2));
      }
    }
    this.changes++;
  }

  lookAt(point) {
    const along = dot(sub(point, this.eye()), this.basis().forward);
    this.distance = Math.max(0.1, along);
    this.pivot = point;
    this.changes++;
  }

  /** Comes nearer to its place behind a phone whose pose is q, t with the axes of `cv`; share 1 is there at once. */
  follow({q, t}, share) {
    const ahead = rotate(q, [0, 0, 1]), level = sub(ahead, scale(this.up, dot(ahead, this.up))), {right, front} = ground(this.up);
    const way = length(level) > 0.05 ? unit(level) : front, target = add(t, scale(ahead, FOLLOW_AHEAD_M));
    const eye = add(sub(t, scale(way, FOLLOW_BEHIND_M)), scale(this.up, FOLLOW_ABOVE_M)), look = sub(target, eye), distance = length(look);
    const yaw = Math.atan2(dot(look, right), dot(look, front)), pitch = Math.asin(Math.max(-1, Math.min(1, dot(look, this.up) / distance)));
    const turn = Math.atan2(Math.sin(yaw - this.yaw), Math.cos(yaw - this.yaw));
    const from = this.eye(), to = mix(from, eye, share);
    if (length(sub(from, eye)) < 1e-4 && Math.abs(turn) < 1e-4 && Math.abs(pitch - this.pitch) < 1e-4) return;
    this.yaw += turn * share;
    this.pitch = Math.max(-PITCH_MOST, Math.min(PITCH_MOST, this.pitch + (pitch - this.pitch) * share));
    this.distance += (distance - this.distance) * share;
    this.pivot = add(to, scale(this.basis().forward, this.distance));
    this.changes++;
  }

  setUp(up) {
    this.up = up;
    this.changes++;
  }
}
