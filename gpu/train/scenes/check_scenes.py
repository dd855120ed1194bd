"""Builds many scenes of every kind and proves what training relies on.

    python3 -m scenes.check_scenes [--assets .assets] [--n 200]

  same bytes     a scene depends on its seed and the library alone: each is built twice, in another
                 order the second time
  records        indices inside the library, numbers finite, no thing without a number
  motions        rigid, row 0 the identity; people and things stay upright on their floor and keep to their
                 speeds, vehicles go along their own length
  standing       the lowest point of every movable thing has a surface right below it (rays against all
                 triangles)
  people         in lively scenes nobody's trunk is in somebody else or in furniture
  cameras        no triangle within 5 cm of a camera at either moment, no camera inside a box, rotations
                 orthonormal, intrinsics as a phone's or wider
  sensor         JPEG as Pillow writes it; rolling shutter as strips drawn from the poses in between
  speed          milliseconds of one core a scene, for every kind

Needs no GPU. Exit status 1 and the scenes' seeds if anything does not hold.
"""
import argparse
import io
import sys
import time

import numpy as np
import torch

from . import assets, build, sensor
from .sample import KINDS, make_scene

SPEED = {1: 9.0, 2: 42.0,
         3: 3.0}           # metres a second that a person (a cyclist), vehicle, thing may reach
FIELDS = ('insts', 'lights', 'shadows', 'scene', 'cams', 'objects', 'kinds')


def bytes_of(s):
    return b''.join(np.ascontiguousarray(getattr(s, k)).tobytes()
                    for k in FIELDS) + repr((s.kind, s.dt)).encode()


class Meshes:
    """Triangles of the library, in world coordinates for one instance at a time."""

    def __init__(self, arrays):
        self.mesh = arrays['mesh']
        self.vert, self.tri = arrays['vert'].reshape(-1, 3).astype(np.float64), arrays['tri'].reshape(-1, 3)

    def corners(self, inst, motion=None):
        """[T, 3, 3] corners of an instance's triangles."""
        g = self.mesh[inst['mesh']]
        t = self.tri[g['tri0']:g['tri0'] + g['n_tri']]
        m = inst['m'].reshape(3, 4).astype(np.float64)
        p = self.vert[t] @ m[:, :3].T + m[:, 3]
        return p if motion is None else p @ motion[:, :3].T + motion[:, 3]


def world_boxes(meshes, insts):
    """lo, hi [N, 3] of all instances at moment 0, from their meshes' spheres."""
    g, m = meshes.mesh[insts['mesh']], insts['m'].reshape(-1, 3, 4)
    c = np.einsum('nij,nj->ni', m[:, :, :3], g['c']) + m[:, :, 3]
    ext = np.sqrt((m[:, :, :3] ** 2).sum(1)).max(1) * g['r']
    return c - ext[:, None], c + ext[:, None]


def height_below(tri, xy):
    """Heights at which the upright line through xy meets triangles [T,3,3]."""
    a, b, c = tri[:, 0], tri[:, 1], tri[:, 2]
    d = (b[:, 0] - a[:, 0]) * (c[:, 1] - a[:, 1]) - (c[:, 0] - a[:, 0]) * (b[:, 1] - a[:, 1])
    ok = np.abs(d) > 1e-12
    d = np.where(ok, d, 1.0)
    x, y = xy[0] - a[:, 0], xy[1] - a[:, 1]
    u = (x * (c[:, 1] - a[:, 1]) - (c[:, 0] - a[:, 0]) * y) / d
    v = ((b[:, 0] - a[:, 0]) * y - x * (b[:, 1] - a[:, 1])) / d
    hit = ok & (u >= -1e-6) & (v >= -1e-6) & (u + v <= 1 + 1e-6)
    return (a[:, 2] + u * (b[:, 2] - a[:, 2]) + v * (c[:, 2] - a[:, 2]))[hit]


def point_triangle(p, tri):
    """Smallest distance of a point to triangles [T,3,3]."""
    a, b, c = tri[:, 0], tri[:, 1], tri[:, 2]
    best = np.inf
    for s, e in ((a, b), (b, c), (c, a)):
        d = e - s
        k = np.clip(((p - s) * d).sum(1) / np.maximum((d * d).sum(1), 1e-18), 0, 1)
        best = min(best, np.linalg.norm(s + k[:, None] * d - p, axis=1).min())
    n = np.cross(b - a, c - a)
    area = np.linalg.norm(n, axis=1)
    ok = area > 1e-12
    n = n[ok] / area[ok, None]
    h = ((p - a[ok]) * n).sum(1)
    q = p - h[:, None] * n
    inside = np.ones(len(q), bool)
    for s, e in ((a, b), (b, c), (c, a)):
        inside &= (np.cross(e[ok] - s[ok], q - s[ok]) * n).sum(1) >= 0
    return min(best, np.abs(h[inside]).min()) if inside.any() else best


def check_records(s, n_mesh, n_tex):
    i = s.insts
    yield 'mesh index', ((i['mesh'] >= 0) & (i['mesh'] < n_mesh)).all()
    yield 'texture index', ((i['tex'] >= -1) & (i['tex'] < n_tex)).all()
    yield 'finite', all(np.isfinite(a).all() for a in (i['m'], i['su'], i['sv'], i['emit'], s.objects,
                                                       s.cams['p'], s.cams['R_wc']))
    n = len(s.kinds)
    yield 'object numbers', i['object'].max(initial=0) < len(s.objects) == n <= build.MAX_THINGS + 1
    yield 'kinds', s.kinds[0] == 0 and ((s.kinds[1:] >= 1) & (s.kinds[1:] <= 3)).all()
    yield 'things are seen', set(range(1, len(s.kinds))) <= set(i['object'].tolist())
    yield 'instances fit the key', len(i) < 65536


def check_motions(s, meshes):
    M = s.objects.astype(np.float64)
    R = M[:, :, :3]
    yield 'object 0 rests', (M[0] == np.eye(3, 4)).all()
    yield 'rigid', np.abs(R.transpose(0, 2, 1) @ R
                          - np.eye(3)).max() < 1e-5 and (np.linalg.det(R) > 0.999).all()
    for n in range(1, len(M)):
        mine = s.insts[s.insts['object'] == n]
        if not len(mine) or (M[n] == np.eye(3, 4)).all():
            continue
        p = np.concatenate([meshes.corners(i).reshape(-1, 3) for i in mine])
        c = 0.5 * (p.min(0) + p.max(0))
        d = M[n, :, :3] @ c + M[n, :, 3] - c
        yield f'speed of thing {n}', np.linalg.norm(d) <= SPEED[int(s.kinds[n])] * s.dt
        if abs(M[n, 2, 2] - 1) < 1e-6:
            yield f'thing {n} stays on its floor', abs(d[2]) < 1e-4
        else:
            yield f'thing {n} rolls', abs(d[2]) < 1e-3 and s.kinds[n] == 3
        if s.kinds[n] == 2 and np.linalg.norm(d) > 0.02:
            y = mine[0]['m'].reshape(3, 4)[:, 1]
            cos = abs(d @ y) / np.linalg.norm(y) / np.linalg.norm(d)
            yield f'vehicle {n} goes along its length', cos > 0.99


def check_standing(s, meshes):
    lo, hi = world_boxes(meshes, s.insts)
    for n in range(1, len(s.objects)):
        mine = np.flatnonzero(s.insts['object'] == n)
        p = np.concatenate([meshes.corners(s.insts[k]).reshape(-1, 3) for k in mine])
        z = p[:, 2].min()
        foot = np.unique(p[p[:, 2] < z + 0.01].round(4), axis=0)
        held = False
        for q in foot[np.linspace(0, len(foot) - 1, min(len(foot), 6)).astype(int)]:
            near = (lo[:, :2] <= q[:2]).all(1) & (hi[:, :2] >= q[:2]).all(1) & (s.insts['object'] != n)
            near = np.flatnonzero(near & (lo[:, 2] < z + 0.05) & (hi[:, 2] > z - 0.05))
            for k in near:
                h = height_below(meshes.corners(s.insts[k]), q)
                held = held or bool(((h > z - 0.02) & (h < z + 0.03)).any())
            if held:
                break
        yield f'thing {n} (kind {s.kinds[n]}) stands at {z:.3f} m', held


def check_people(s, meshes):
    """Lively scenes: nobody's trunk is in another's, or in furniture, at either moment."""
    trunks = {}
    for n in np.flatnonzero(s.kinds == build.PERSON):
        mine = s.insts[s.insts['object'] == n]
        tall = mine[meshes.mesh[mine['mesh']]['n_tri'] > 40]            # the body, not what it holds or sits on
        p = np.concatenate([meshes.corners(i).reshape(-1, 3) for i in (tall if len(tall) else mine)])
        low, high = p[:, 2].min(), p[:, 2].max()
        p = p[(p[:, 2] > low + 0.5 * (high - low)) & (p[:, 2] < low + 0.75 * (high - low))]
        c = 0.5 * (p.min(0) + p.max(0)) if len(p) else np.array([1e6 * n, 0, 0])
        c[:2] = np.median(p[:, :2], 0) if len(p) else c[:2]
        trunks[n] = c, s.objects[n, :, :3] @ c + s.objects[n, :, 3]
    for moment in (0, 1):
        for n, c in trunks.items():
            for k, d in trunks.items():
                if k > n:
                    yield f'people {n} and {k} apart', np.linalg.norm((c[moment] - d[moment])[:2]) > 0.28
            for i in s.insts[(s.insts['object'] != n)]:
                if i['object'] == 0 or moment == 0:
                    yield f'person {n} clear of boxes', not inside_box(meshes, i, c[moment])


def inside_box(meshes, inst, p):
    """Is a point inside an instance of the unit box?"""
    if meshes.mesh[inst['mesh']]['n_tri'] != 12 or abs(meshes.mesh[inst['mesh']]['r'] - 0.75 ** 0.5) > 1e-5:
        return False
    m = inst['m'].reshape(3, 4).astype(np.float64)
    return bool((np.abs(np.linalg.lstsq(m[:, :3], p - m[:, 3], rcond=None)[0]) < 0.5).all())


def check_cameras(s, meshes):
    R = s.cams['R_wc'].reshape(-1, 3, 3).astype(np.float64)
    yield 'camera rotations', np.abs(R.transpose(0, 2, 1) @ R
                                     - np.eye(3)).max() < 1e-5 and (np.linalg.det(R) > 0).all()
    yield 'focal lengths', ((s.cams['f_rel'] >= 0.4) & (s.cams['f_rel'] <= 1.45)).all()
    yield 'moments share intrinsics', (s.cams['f_rel'][:, 0] == s.cams['f_rel'][:, 1]).all()
    lo, hi = world_boxes(meshes, s.insts)
    obj = s.insts['object']
    shift = np.linalg.norm(s.objects[:, :, 3], axis=1) + 5.0 * np.abs(s.objects[:, :, :3]
                                                                      - np.eye(3)).max((1, 2))
    for moment in (0, 1):
        for p in np.unique(s.cams['p'][:, moment].astype(np.float64), axis=0):
            slack = 0.05 + (shift[obj] if moment else 0.0) * np.ones(len(obj))
            for k in np.flatnonzero(((lo - slack[:, None] < p) & (hi + slack[:, None] > p)).all(1)):
                M = s.objects[obj[k]].astype(np.float64) if moment and obj[k] else None
                d = point_triangle(p, meshes.corners(s.insts[k], M))
                if d < 0.05:
                    yield f'camera at {np.round(p, 2)} is {d:.3f} m from instance {k}', False
                elif inside_box(meshes, s.insts[k], p if M is None else M[:, :3].T @ (p - M[:, 3])):
                    yield f'camera at {np.round(p, 2)} is inside instance {k}', False


def check_sensor(arrays, cat):
    """JPEG against Pillow, rolling shutter against strips drawn from the poses in between."""
    from PIL import Image

    from .render import Renderer, random_effects
    r = Renderer(arrays, 'cpu')
    fx = random_effects(np.random.default_rng(0), 1, 256, True)
    fx['shot'] = fx['read'] = 0
    rgb = r.draw([make_scene(cat, 11, 'room', 2)], [(0, 0, 0)], 256, 192, fx)['rgb'].clone()
    for q in (30, 75, 92):
        f = io.BytesIO()
        Image.fromarray((rgb[0].permute(1, 2, 0).numpy() * 255 + 0.5).astype(np.uint8)).save(f, 'JPEG',
                                                                                             quality=q,
                                                                                             subsampling=2)
        want = np.asarray(Image.open(f)).astype(np.float32) / 255
        got = sensor.jpeg(rgb, torch.tensor([float(q)]))[0].permute(1, 2, 0).numpy()
        err, whole = np.abs(got - want).mean(), np.abs(rgb[0].permute(1, 2, 0).numpy() - want).mean()
        # both round colours, halved chroma and coefficients to whole numbers, each in its own way
        yield f'JPEG quality {q}: {err:.4f} from Pillow, which changes {whole:.4f}', err < 0.3 * whole + 0.001
    yield 'JPEG quality 0 leaves the picture alone', torch.equal(sensor.jpeg(rgb, torch.zeros(1)), rgb)
    wrong = np.array([shutter_errors(r, make_scene(cat, 11 + k, kind, 2), fx) for k,
                      kind in enumerate(('room', 'desks', 'shop', 'kitchen'))]).mean(0) * 100
    what = f'rolling shutter: depth off in {wrong[0]:.2f} % of the pixels, {wrong[1]:.2f} % without it'
    yield what, wrong[0] < 0.3 * wrong[1]
    out = r.draw([make_scene(cat, 11, 'room', 2)], [(0, 0, 0)], 256, 192, fx)
    still = sensor.rolling_shutter(out, torch.zeros(1, 6))
    yield 'no motion, no change', bool((still['rgb'] - out['rgb']).abs().max() < 2e-3
                                       and (still['depth'] - out['depth']).abs().max() < 1e-4)


def shutter_errors(r, s, fx, w=(0.004, 0.05, 0.02), t=(0.03, 0.01, 0.02)):
    """Share of pixels whose depth differs from strips drawn along the readout: with the shutter, and without.
    """
    cam, w, t = s.cams[0, 0].copy(), np.array(w), np.array(t)
    R, p = cam['R_wc'].reshape(3, 3).astype(np.float64), cam['p'].astype(np.float64)
    H, strips = 192, []
    s.cams = np.zeros((24, 2), build.CAM)
    for k in range(24):
        a = (k + 0.5) / 24 - 0.5
        c = cam.copy()
        c['R_wc'], c['p'] = (R @ build.axis_angle(w * a)).reshape(-1), p + R @ (t * a)
        s.cams[k] = c
        strips.append(r.draw([s], [(0, k, 0)], 256, H, fx)['depth'][0, k * 8:k * 8 + 8].clone())
    want = torch.cat(strips)
    s.cams[:] = cam
    out = r.draw([s], [(0, 0, 0)], 256, H, fx)
    got = sensor.rolling_shutter(out, torch.tensor(np.concatenate([t, w])[None],
                                                   dtype=torch.float32))['depth'][0]
    return [((z - want).abs() > 0.03 * want + 0.01).float().mean().item() for z in (got, out['depth'][0])]


def main():
    a = argparse.ArgumentParser()
    a.add_argument('--assets', default='.assets')
    a.add_argument('--n', type=int, default=200, help='scenes of every kind')
    a.add_argument('--seed', type=int, default=4000)
    a.add_argument('--kind', choices=KINDS, action='append')
    a.add_argument('--lively', type=float, default=0.0, help='0..1: people and moving things in view')
    a.add_argument('--hard', action='store_true', help='surfaces without shape, views from close by and above')
    a.add_argument('--rays', type=int, default=40, help='of them, scenes whose triangles are tested')
    a = a.parse_args()
    arrays, cat = assets.load(a.assets)
    meshes, bad, n_tex = Meshes(arrays), 0, len(arrays['tex'])

    def look(name, seed, results):
        nonlocal bad
        for what, ok in results:
            if not ok:
                bad += 1
                print(f'FAIL {name} seed {seed}: {what}')

    for kind in a.kind or KINDS:
        t = time.process_time()
        scenes = [make_scene(cat, a.seed + k, kind, lively=a.lively, hard=a.hard) for k in range(a.n)]
        t = (time.process_time() - t) / a.n
        moving = sum(int((s.objects != build.at_rest(len(s.objects) - 1)).any((1, 2)).sum()) for s in scenes)
        first = [bytes_of(s) for s in scenes]
        again = {k: bytes_of(make_scene(cat, a.seed + k, kind, lively=a.lively, hard=a.hard))
                 for k in reversed(range(a.n))}
        look(kind, a.seed, ((f'scene {k} has other bytes when built again', first[k] == again[k])
                            for k in range(a.n)))
        for k, s in enumerate(scenes):
            look(kind, a.seed + k, check_records(s, len(arrays['mesh']), n_tex))
            look(kind, a.seed + k, check_motions(s, meshes))
            if a.lively and k < a.rays and s.kind != 'street':
                look(kind, a.seed + k, check_people(s, meshes))
            if k < a.rays:
                look(kind, a.seed + k, check_standing(s, meshes))
                look(kind, a.seed + k, check_cameras(s, meshes))
        n = [len(s.insts) for s in scenes]
        print(f'{kind}: {a.n} scenes twice, {t * 1e3:.2f} ms each, '
              f'{np.mean(n):.0f} instances (most {max(n)}), '
              f'{np.mean([len(s.kinds) - 1 for s in scenes]):.1f} things, {moving / a.n:.1f} moving',
              flush=True)
    if not a.kind:
        for what, ok in check_sensor(arrays, cat):
            print('sensor:', what)
            look('sensor', 11, [(what, ok)])
    print('all holds' if not bad else f'{bad} failures')
    sys.exit(bad > 0)


if __name__ == '__main__':
    main()
