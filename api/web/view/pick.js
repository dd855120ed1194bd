/* pick.js - the point of the cloud that lies under the pointer: a cone along a ray against all points, blocks first
 *
 * A few nanoseconds a point in the worker, where the keys are; reading a picture's depth back would hold the page up.
 */
import {BLOCK_STEPS, gather} from '../client/mirror-keys.js';
import {rotate, unrotate, sub, add, dot, scale} from './math.js';

/* A point beside the ray counts as so many times farther as it is off: a surface that is looked at flatly is hit where it is pointed at,
 * not at the edge of the cone that is nearest. */
const ASIDE = 10;

/* How far along a ray a sphere begins, or NaN where cone and sphere do not meet. */
function meets(origin, direction, cone, centre, radius) {
  const to = sub(centre, origin), along = dot(to, direction);
  if (along < -radius) return NaN;
  const off = Math.sqrt(Math.max(0, dot(to, to) - along * along));
  return off <= radius + cone * Math.max(0, along + radius) ? Math.max(0, along - radius) : NaN;
}

/**
 * @param {import('../client/mirror.js').Mirror} mirror
 * @param {{origin: number[], direction: number[], cone: number, step: number, clip: {min: number[], max: number[]}|null,
 *   before: boolean, unplaced: boolean}} ray in world axes; cone is the tangent of half its angle; hidden submaps are left out
 * @returns {{point: number[], along: number}|null}
 */
export function pick(mirror, ray) {
  const best = {score: Infinity, along: Infinity, point: null}, radius = 0.5 * Math.sqrt(3) * BLOCK_STEPS * ray.step;
  for (const block of mirror.blocks.values()) {
    const {submap} = block;
    if (!block.points || !(submap.placed || ray.unplaced)) continue;
    const place = ray.before && submap.before ? submap.before : submap;
    const origin = unrotate(place.q, sub(ray.origin, place.t)), direction = unrotate(place.q, ray.direction);
    const corner = [block.x, block.y, block.z].map(c => c * BLOCK_STEPS);
    const centre = corner.map(c => (c + BLOCK_STEPS / 2) * ray.step);
    if (meets(origin, direction, ray.cone, centre, radius) < best.score) pickBlock(mirror, block, corner, origin, direction, ray, place, best);
  }
  return best.point && {point: best.point, along: best.along};
}

function pickBlock(mirror, block, corner, origin, direction, ray, place, best) {
  const {step, cone, clip} = ray, [dx, dy, dz] = direction;
  const cx = corner[0] * step - origin[0], cy = corner[1] * step - origin[1], cz = corner[2] * step - origin[2];
  for (const page of block.pages) {
    const {keys} = mirror.pages.chunk(page), at = mirror.pages.at(page), end = at + 2 * mirror.pages.points(page);
    for (let i = at + 1; i < end; i += 2) {
      const m = keys[i] >>> 2;
      const x = cx + gather(m) * step, y = cy + gather(m >>> 1) * step, z = cz + gather(m >>> 2) * step;
      const along = x * dx + y * dy + z * dz, room = cone * along;
      if (along <= 0 || along >= best.score) continue;
      const off = Math.sqrt(Math.max(0, x * x + y * y + z * z - along * along)), score = along + ASIDE * off;
      if (off > room || score >= best.score) continue;
      const point = add(rotate(place.q, add([x, y, z], origin)), place.t);
      if (clip && point.some((c, j) => c < clip.min[j] || c > clip.max[j])) continue;
      best.score = score;
      best.along = along;
      best.point = point;
    }
  }
}

/** The ray through a place of the picture. */
export function rayOf(camera, u, v, width, height, pixels) {
  const {right, up, forward} = camera.basis(), tangent = Math.tan(camera.fov / 2), x = (2 * u / width - 1) * tangent * width / height;
  const y = (1 - 2 * v / height) * tangent, direction = add(forward, add(scale(right, x), scale(up, y)));
  const length = Math.sqrt(dot(direction, direction));
  return {origin: camera.eye(), direction: scale(direction, 1 / length), cone: pixels * 2 * tangent / height};
}
