/* things.test.js - tracked objects: from the stream to boxes in the view */
import { turned } from '../../api/web/view/math.js';
import { Scene } from '../../api/web/view/scene.js';
import { READY, withClient } from './socket.js';
import { near, same } from './tap.js';

const MUG = {
  id: 3, object: 'mug', class: 'cup', state: 'new', submap: 0, pose: [0, 0, Math.SQRT1_2, Math.SQRT1_2, 1, 2, 3], box: [-0.1, -0.2, 0, 0.1, 0.2, 0.3],
  score: 0.9, support: 0.5, seq: 7, revision: 4,
};

export const tests = {
  'objects are told as they come': () => withClient({ mirror: { message() {}, sync() {} } }, async (client, ws) => {
    const told = [];
    client.on('objects', list => told.push(...list));
    ws().open();
    ws().tell(READY);
    ws().tell({ op: 'objects', objects: [MUG, { ...MUG, id: 4, state: 'lost' }] });
    same(told.map(one => `${one.id} ${one.state}`).join(), '3 new,4 lost', 'told');
  }),
  'a box has twelve edges, turned and moved as its object is': () => {
    const scene = new Scene(), show = { trail: false, boxes: false, before: false };
    const mug = { q: MUG.pose.slice(0, 4), t: MUG.pose.slice(4), box: { min: MUG.box.slice(0, 3), max: MUG.box.slice(3) } };
    const lines = scene.segments({ place: () => null, boxes: [], tracked: [mug], clip: null, show });
    same(lines.length, 12, 'edges');
    const xs = lines.flatMap(l => [l.a[0], l.b[0]]), ys = lines.flatMap(l => [l.a[1], l.b[1]]), zs = lines.flatMap(l => [l.a[2], l.b[2]]);
    [[xs, 0.8, 1.2], [ys, 1.9, 2.1], [zs, 3, 3.3]].forEach(([list, low, high], i) => {
      near(Math.min(...list), low, `axis ${i}`, 1e-6);
      near(Math.max(...list), high, `axis ${i}`, 1e-6);
    });
    same(scene.segments({ place: () => null, boxes: [], clip: null, show }).length, 0, 'no objects');
  },
  'two quarter turns are a half one': () => {
    const quarter = MUG.pose.slice(0, 4), half = turned(quarter, quarter);
    [0, 0, 1, 0].forEach((x, i) => near(half[i], x, `number ${i}`, 1e-6));
  },
};
