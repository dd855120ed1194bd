"""The demonstration clip: a hand-held walk round the middle of a rendered room.

    python3 clip.py OUT [--seed 7 --kind living] [--frames 72] [--assets .assets] [--kbytes 1850]
    python3 clip.py OUT.png --preview 24              first look at seeds

Only procedural and CC0 or MIT-0 things are drawn (Builder(free=True)), so the clip can be given away. Written
in the layout of the evaluation sequences: sequence.json, frames/NNNNNN.jpg, poses.txt (frame tx ty tz qx qy qz qw,
camera-to-world, x right, y down, z forward, metres), and exact depth of every 72nd frame. The JPEG quality is the
highest with which the frames fit the size asked for.
"""
import argparse
import io
import json
import math
import os

import numpy as np
from PIL import Image

from scenes import assets, build, interiors
from scenes.render import Renderer, random_effects

W, H, F_REL = 640, 480, 0.80
FPS = 15.0


def path(b, n):
    """n camera poses (R_wc, p) round the richest table top or the room's middle; None if something is in the way."""
    w, l, h = b.size
    tops = [s for s in b.tops if 0.8 < s.frame.x < w - 0.8 and 0.8 < s.frame.y < l - 0.8]
    c = (tops[0].frame.x, tops[0].frame.y) if tops else (w / 2, l / 2)
    best = None
    for k in range(24):
        a0, out = k * math.pi / 12, []
        for i in range(n):
            s = i / (n - 1)
            a = a0 + 1.5 * (s - 0.5) + 0.05 * math.sin(7 * s)
            r = 1.75 + 0.25 * math.sin(3.1 * s + 1)
            t = i / FPS
            p = np.array([c[0] + r * math.cos(a), c[1] + r * math.sin(a), 1.5 + 0.05 * math.sin(4 * s) + 0.008 * math.sin(11 * t)])
            p[:2] += 0.006 * np.array([math.sin(5.3 * t), math.cos(6.1 * t)])
            q = (c[0] - 0.9 * math.cos(a) + 0.3 * math.sin(5 * s), c[1] - 0.9 * math.sin(a) + 0.3 * math.cos(4 * s), 0.72 + 0.1 * math.sin(6 * s))
            if not (0.25 < p[0] < w - 0.25 and 0.25 < p[1] < l - 0.25) or b.inside_solid(p, 0.2):
                break
            out.append((b.look(p, q, 0.015 * math.sin(7.1 * t) + 0.02 * math.sin(2.2 * t)), p))
        if len(out) == n:
            far = min(w / 2 - abs(c[0] + 1.7 * math.cos(a0) - w / 2), l / 2 - abs(c[1] + 1.7 * math.sin(a0) - l / 2))
            if best is None or far > best[0]:
                best = (far, out)
    return best and best[1]


def make(cat, seed, kind, n):
    b = build.Builder(cat, seed, free=True)
    try:
        scene = interiors.room(b, 1, kind)
    except build.NoView:
        return None, None
    tex, metres, _ = cat.free_tex['floor'][seed % 8]    # a plank floor: stripes would eat the bytes
    scene.insts[0]['tex'], scene.insts[0]['rgb'] = tex, 128
    scene.insts[0]['su'] = scene.insts[0]['sv'] = 1 / (1.6 * metres)
    poses = path(b, n)
    if poses is None:
        return None, None
    cams = np.zeros((n, 2), build.CAM)
    for i, (R, p) in enumerate(poses):
        cams[i, 0] = cams[i, 1] = (R.reshape(-1), p, F_REL, 1.0, 0.0, 0.0)
    scene.cams = cams
    return scene, poses


def effects(n, seed):
    e = random_effects(np.random.default_rng(seed), n, 256, calm=True)
    e['shot'], e['read'], e['defocus'], e['exposure'], e['saturation'] = 0.0008, 0.0003, 0.85, 1.0, 0.95
    return e


def draw(r, scene, frames, w, h, seed):
    """Pictures [n][h,w,3] uint8 and depth [n][h,w] metres; exposure follows each picture, as a phone's does."""
    rgb, depth = [], []
    for i in frames:
        o = r.draw([scene], [(0, i, 0)], w, h, effects(1, seed + i))
        rgb.append((o['rgb'][0].permute(1, 2, 0).cpu().numpy() * 255 + 0.5).astype(np.uint8))
        depth.append(o['depth'][0].cpu().numpy().copy())
    return rgb, depth


def quaternion(R):
    """qx qy qz qw of a rotation matrix."""
    w = math.sqrt(max(0.0, 1 + R[0, 0] + R[1, 1] + R[2, 2])) / 2
    x = math.copysign(math.sqrt(max(0.0, 1 + R[0, 0] - R[1, 1] - R[2, 2])) / 2, R[2, 1] - R[1, 2])
    y = math.copysign(math.sqrt(max(0.0, 1 - R[0, 0] + R[1, 1] - R[2, 2])) / 2, R[0, 2] - R[2, 0])
    z = math.copysign(math.sqrt(max(0.0, 1 - R[0, 0] - R[1, 1] + R[2, 2])) / 2, R[1, 0] - R[0, 1])
    return x, y, z, w


def encode(pictures, quality):
    out = []
    for a in pictures:
        f = io.BytesIO()
        Image.fromarray(a).save(f, 'JPEG', quality=quality, optimize=True)
        out.append(f.getvalue())
    return out


def preview(r, cat, n, out, first, kinds):
    cells, seed = [], first
    while len(cells) < n:
        for kind in kinds:
            scene, poses = make(cat, seed, kind, 75)
            if scene is not None and len(scene.insts) > 180 and len(cells) < n:
                rgb, _ = draw(r, scene, (15, 60), 256, 192, 0)
                cells.append(np.concatenate(rgb, 0))
                print(len(cells) - 1, kind, seed, len(scene.insts))
        seed += 1
    rows = [np.concatenate(cells[i:i + 6], 1) for i in range(0, len(cells), 6)]
    Image.fromarray(np.concatenate(rows, 0)).save(out)


def main():
    a = argparse.ArgumentParser()
    a.add_argument('out')
    a.add_argument('--seed', type=int, default=7)
    a.add_argument('--kind', default='living')
    a.add_argument('--frames', type=int, default=72)
    a.add_argument('--kbytes', type=int, default=1850)
    a.add_argument('--assets', default='.assets')
    a.add_argument('--device', default='cpu')
    a.add_argument('--preview', type=int)
    a = a.parse_args()
    arrays, cat = assets.load(a.assets)
    r = Renderer(arrays, a.device)
    if a.preview:
        return preview(r, cat, a.preview, a.out, a.seed, ('living', 'kitchen', 'office'))
    scene, poses = make(cat, a.seed, a.kind, a.frames)
    if scene is None:
        raise SystemExit('no free way round the room of this seed')
    rgb, depth = draw(r, scene, range(a.frames), W, H, a.seed)
    for d in ('frames', 'depth'):
        os.makedirs(os.path.join(a.out, d), exist_ok=True)
    used = 0
    for i in range(0, a.frames, 72):
        mm = np.clip(np.round(depth[i] * 1000), 0, 65535).astype(np.uint16)
        name = os.path.join(a.out, 'depth', f'{i:06d}.png')
        Image.fromarray(mm).save(name, optimize=True)
        used += os.path.getsize(name)
    for quality in range(90, 20, -2):
        jpg = encode(rgb, quality)
        if sum(map(len, jpg)) + used < a.kbytes * 1000:
            break
    for i, data in enumerate(jpg):
        open(os.path.join(a.out, 'frames', f'{i:06d}.jpg'), 'wb').write(data)
    with open(os.path.join(a.out, 'poses.txt'), 'w') as f:
        for i, (R, p) in enumerate(poses):
            f.write(f'{i} ' + ' '.join(f'{v:.6f}' for v in (*p, *quaternion(R))) + '\n')
    meta = {'name': 'clip', 'width': W, 'height': H, 'fx': F_REL * W, 'fy': F_REL * W, 'cx': (W - 1) / 2, 'cy': (H - 1) / 2, 'fps': FPS,
            'depth_unit_m': 0.001, 'scene': f'rendered room ({a.kind}), hand-held walk', 'source': f'gpu/train/clip.py --seed {a.seed} --kind {a.kind}',
            'licence': 'CC0 1.0 (only procedural, CC0 and MIT-0 things are drawn; see README.md)'}
    json.dump(meta, open(os.path.join(a.out, 'sequence.json'), 'w'), indent=1)
    names = {m.index: m for m in cat.by_name.values()}
    drawn = sorted({(names[i].name, names[i].licence) for i in map(int, np.unique(scene.insts['mesh'])) if names[i].licence != 'procedural'})
    print(f'{a.frames} frames, JPEG quality {quality}, {used + sum(map(len, jpg))} bytes; meshes of the pack: {drawn}')


if __name__ == '__main__':
    main()
