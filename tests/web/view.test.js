/* view.test.js - what of the view is arithmetic: cameras, the picked point, the phone's way */
import {Mirror, readHeader} from '../../api/web/client/mirror.js';
import {Camera} from '../../api/web/view/camera.js';
import {boxAround, corners, length, project, rotate, sub, unrotate} from '../../api/web/view/math.js';
import {pick, rayOf} from '../../api/web/view/pick.js';
import {Scene, fromOpengl} from '../../api/web/view/scene.js';
import * as messages from './messages.js';
import {near, same} from './tap.js';

const TURN = [0, Math.SQRT1_2, 0, Math.SQRT1_2]; /* a quarter about y: x becomes -z */
const halves = keys => new Uint32Array(BigUint64Array.from(keys).sort().buffer);

function take(mirror, bytes, planes = bytes.subarray(56)) {
  mirror.apply(readHeader(bytes), planes);
}

async function pillars() { /* three points of submap 0, and the same of submap 2, which lies elsewhere */
  const mirror = new Mirror(), keys = halves([[100, 100, 100], [500, 500, 500], [900, 100, 100]].map(p => messages.makeKey(...p, 1, 2, 3, 4)));
  take(mirror, await messages.put({block: [0, 0, 0], revision: 1}, keys));
  take(mirror, messages.transform(2, [0, 0, 0, 1], [0, 0, 0], {unplaced: true}));
  take(mirror, await messages.put({submap: 2, block: [0, 0, 0], revision: 2}, keys));
  return mirror;
}

const ray = (origin, to, more = {}) => {
  const d = sub(to, origin), n = length(d);
  return {origin, direction: d.map(x => x / n), cone: 0.002, step: 0.001, clip: null, before: false, unplaced: false, ...more};
};

function at(hit, point, what) {
  if (!hit) throw new Error(`${what}: nothing was hit`);
  near(length(sub(hit.point, point)), 0, what, 1e-6);
}

export const tests = {
  'a camera looks at its pivot, from its distance, upright'() {
    const camera = new Camera();
    for (const up of [[0, 1, 0], [0, -1, 0], [0, 0, 1], [1, 0, 0]]) {
      camera.setUp(up);
      camera.pivot = [1, 2, 3];
      camera.turn(0.3, 0.1);
      const m = camera.lens(1.5), [x, y, , w] = project(m, camera.pivot);
      near(x / w, 0, 'x of the pivot', 1e-6);
      near(y / w, 0, 'y of the pivot', 1e-6);
      near(w, camera.distance, 'distance', 1e-5);
      const top = project(m, camera.pivot.map((c, i) => c + 0.1 * up[i]));
      near(top[0] / top[3], 0, 'up has no side', 1e-6);
      if (!(top[1] > 0)) throw new Error('up is not up');
      const right = project(m, camera.pivot.map((c, i) => c + 0.1 * camera.basis().right[i]));
      if (!(right[0] > 0.01)) throw new Error('right is not right');
    }
  },

  'a box that is fitted is in the picture, between near and far'() {
    const camera = new Camera(), box = {min: [-3, 0, -1], max: [5, 2, 9]};
    for (const aspect of [1.6, 0.5]) {
      camera.fit([box], aspect);
      camera.reachFor(box);
      for (const corner of [box.min, box.max, [5, 0, -1], [-3, 2, 9]]) {
        const [x, y, z, w] = project(camera.lens(aspect), corner);
        if (!(w > 0 && Math.abs(x) <= w && Math.abs(y) <= w && Math.abs(z) <= w)) throw new Error(`${corner} is outside: ${[x, y, z, w]}`);
      }
    }
  },

  'boxes that are fitted have equal borders, and one far away counts'() {
    const camera = new Camera(), boxes = [{min: [0, 0, 0], max: [1, 1, 1]}, {min: [4, 0, 1], max: [5, 1, 2]}, {min: [2, 2, -3], max: [3, 3, -2]}];
    for (const [aspect, up] of [[2.5, [0, 1, 0]], [0.6, [0, -1, 0]]]) {
      camera.setUp(up);
      camera.fit(boxes, aspect);
      const seen = boxes.flatMap(corners).map(c => project(camera.lens(aspect), c)).map(([x, y, , w]) => [x / w, y / w]);
      const [x, y] = [0, 1].map(i => seen.map(p => p[i])), most = Math.max(...x, ...y, ...x.map(v => -v), ...y.map(v => -v));
      near(Math.max(...x) + Math.min(...x), 0, 'left and right', 0.05);
      near(Math.max(...y) + Math.min(...y), 0, 'above and below', 0.05);
      if (!(most > 0.8 && most <= 1)) throw new Error(`the outermost corner is at ${most} of the picture`);
    }
  },

  'one who flies turns on the spot, and moves ahead'() {
    const camera = new Camera();
    camera.mode = 'fly';
    const before = camera.eye();
    camera.turn(1, 0.2);
    near(length(sub(camera.eye(), before)), 0, 'eye after a turn');
    const {forward} = camera.basis();
    camera.move(0, 0, 2);
    near(length(sub(sub(camera.eye(), before), forward.map(x => 2 * x))), 0, 'eye after a move');
  },

  'following ends behind the phone, which is ahead in the picture'() {
    const camera = new Camera(), phone = {q: TURN, t: [3, 1.5, 2]}, ahead = rotate(TURN, [0, 0, 1]);
    for (let i = 0; i < 200; i++) camera.follow(phone, 0.1);
    const [x, , , w] = project(camera.lens(1), phone.t), changes = camera.changes;
    near(x / w, 0, 'the phone is in the middle', 1e-3);
    if (!(w > 1)) throw new Error('the phone is behind');
    near(camera.basis().forward.reduce((s, c, i) => s + c * ahead[i], 0) > 0.85 ? 1 : 0, 1, 'it looks where the phone looks');
    for (let i = 0; i < 200; i++) camera.follow(phone, 0.1);
    const rest = camera.changes;
    camera.follow(phone, 0.1);
    same(camera.changes, rest, 'a phone that rests changes nothing');
    if (!(rest >= changes)) throw new Error('changes go back');
  },

  'the ray of a pixel goes through what is drawn there'() {
    const camera = new Camera();
    camera.turn(0.7, 0.2);
    for (const p of [[0.3, 0.2, 0.1], [-0.5, 0.4, 0.6]]) {
      const [x, y, , w] = project(camera.lens(800 / 600), p), r = rayOf(camera, (x / w + 1) * 400, (1 - y / w) * 300, 800, 600, 1);
      const to = sub(p, r.origin), along = to.reduce((s, c, i) => s + c * r.direction[i], 0);
      near(length(sub(to, r.direction.map(c => c * along))), 0, 'distance from the ray', 1e-4);
    }
  },

  async 'what is picked: the nearest point of the cone, and none beside it'() {
    const mirror = await pillars();
    at(pick(mirror, ray([0.1, 0.1, -5], [0.1, 0.1, 0.1])), [0.1, 0.1, 0.1], 'first');
    at(pick(mirror, ray([-5, 0.1, 0.1], [0.1, 0.1, 0.1])), [0.1, 0.1, 0.1], 'the nearer of two');
    at(pick(mirror, ray([5, 0.1, 0.1], [0.1, 0.1, 0.1])), [0.9, 0.1, 0.1], 'the nearer from the other side');
    same(pick(mirror, ray([0.1, 0.1, -5], [0.1, 0.16, 0.1])), null, 'beside it');
    same(pick(mirror, ray([0.1, 0.1, -5], [0.1, 0.1, -9])), null, 'behind the eye');
  },

  async 'what is picked: through the clip box, in submaps that are shown where they are shown'() {
    const mirror = await pillars();
    at(pick(mirror, ray([-5, 0.1, 0.1], [0.1, 0.1, 0.1], {clip: {min: [0.5, 0, 0], max: [1, 1, 1]}})), [0.9, 0.1, 0.1], 'behind the clip plane');
    const place = rotate(TURN, [0.5, 0.5, 0.5]).map((c, i) => c + [10, 0, 0][i]), look = ray([10, 3, 0], place);
    same(pick(mirror, look), null, 'no place yet');
    take(mirror, messages.transform(2, TURN, [10, 0, 0]));
    at(pick(mirror, look), place, 'moved');
    take(mirror, messages.transform(2, TURN, [20, 0, 0]));
    same(pick(mirror, look), null, 'it has gone on');
    at(pick(mirror, {...look, before: true}), place, 'where it was before');
  },

  'turning there and back; boxes of what was turned'() {
    const p = [1, 2, 3];
    near(length(sub(unrotate(TURN, rotate(TURN, p)), p)), 0, 'there and back');
    const box = boxAround([{box: {min: [0, 0, 0], max: [1, 2, 3]}, q: TURN, t: [10, 0, 0]}]);
    near(length(sub(box.min, [10, 0, -1])) + length(sub(box.max, [13, 2, 0])), 0, 'box');
    const gl = [0.1, 0.2, 0.3, Math.sqrt(1 - 0.14)], axes = [[1, 0, 0], [0, 1, 0], [0, 0, 1]], flip = [1, -1, -1];
    axes.forEach((axis, i) => near(length(sub(rotate(fromOpengl(gl), axis), rotate(gl, axis).map(c => c * flip[i]))), 0, `axis ${i} of opengl`));
  },

  "the phone's way: small steps are left out, corrections kept beside, TUM text read"() {
    const scene = new Scene(), place = id => (id === 0 ? {q: [0, 0, 0, 1], t: [0, 0, 0]} : null), show = {trail: true, boxes: false, before: true};
    for (let i = 0; i < 10; i++) scene.camera({seq: i, q: [0, 0, 0, 1], t: [0.05 * i, 0, 0]});
    scene.camera({seq: 10, q: [0, 0, 0, 1], t: [0.451, 0, 0]});
    scene.camera({seq: 11, q: [0, 0, 0, 1], t: [NaN, 0, 0]});
    const lines = () => scene.segments({place, boxes: [], clip: null, show});
    same(lines().length, 9 + 8, 'nine steps and a frustum of eight lines');
    scene.corrected([{seq: 9, q: [0, 0, 0, 1], t: [0.45, 1, 0]}, {seq: 99, t: [0, 0, 0]}]);
    same(`${lines().length} ${scene.hasBefore}`, '18 true', 'one step is drawn as it was, too');
    scene.trajectory('# seconds ...\n0 0 0 0 0 0 0 1\n1 1 0 0 0 0 0 1\n# source left, submap 3\n2 0 0 0 0 0 0 1\n3 9 0 0 0 0 0 1\nnonsense\n');
    same(lines().length, 1, 'a submap without a place is left out, its phone as well');
    const moved = scene.segments({place: () => ({q: [0, 0, 0, 1], t: [7, 0, 0]}), boxes: [], clip: null, show});
    same(`${moved[0].a} ${moved[0].b}`, '0,0,0 1,0,0', 'rows of a path are in the session\'s world: no place moves them again');
    [[0, 0, 0], [3, 4, 0]].forEach(p => scene.measure(p));
    near(scene.metres, 5, 'metres');
    scene.measure([1, 1, 1]);
    same(scene.metres, null, 'a third point begins anew');
  },
};
