"""The library of meshes and textures that scenes are made of.

`load(folder)` reads the asset pack (objects/, textures/, photos/ with their JSON lists) and adds the
procedural meshes and textures; without the pack it uses the procedural things alone and says so.
The result has two halves: `arrays` for the renderer (numpy, layouts of raster_point.h) and `catalogue`
for scene building (small, picklable).
"""
import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np
from PIL import Image

from . import figures, shapes, textures

MESH = np.dtype([('tri0', 'i4'), ('n_tri', 'i4'), ('mat0', 'i4'), ('pad', 'i4'), ('c', 'f4', 3), ('r', 'f4')])
MAT = np.dtype([('tex', 'i4'), ('rgb', 'u1', 3), ('gloss', 'u1')])
TEX = np.dtype([('offset', 'i4'), ('log_w', 'i4'), ('log_h', 'i4'), ('pad', 'i4')])


@dataclass
class Mesh:
    """What scene building knows of a mesh. lo, hi: its box in its own frame, metres."""
    index: int
    name: str
    cls: str
    placement: str
    lo: tuple
    hi: tuple
    licence: str = 'procedural'
    elevation: float = 0.0
    plain: bool = False         # no picture texture of its own: may be recoloured
    flat: bool = False          # its top is a level surface: things may stand on it
    seat: tuple = ()            # of someone sitting on a chair: where it is, y and z
    size: tuple = ()            # of the box

    def __post_init__(self):
        self.size = tuple(h - l for l, h in zip(self.lo, self.hi))


@dataclass
class Catalogue:
    by_name: dict = field(default_factory=dict)      # name -> Mesh
    by_class: dict = field(default_factory=dict)     # (placement, class) -> [Mesh]
    tex: dict = field(default_factory=dict)          # class -> [(index, metres, aspect)]
    free_tex: dict = field(default_factory=dict)     # the same, CC0, MIT-0 and procedural only
    pack: bool = False

    def meshes(self, placement, *classes, free=False):
        out = [m for (p, c), ms in self.by_class.items() if p == placement and (not classes or c in classes)
               for m in ms]
        return [m for m in out if m.licence in ('CC0 1.0', 'MIT-0', 'procedural')] if free else out


def _mips(img):
    """Mip chain of an RGB picture with power-of-two sides, as RGBA texels [n, 4] uint8."""
    out, a = [], img.astype(np.float32)
    while True:
        out.append(a.reshape(-1, 3))
        h, w = a.shape[:2]
        if h == 1 and w == 1:
            break
        if h > 1:
            a = 0.5 * (a[0::2] + a[1::2])
        if w > 1:
            a = 0.5 * (a[:, 0::2] + a[:, 1::2])
    flat = np.concatenate(out)
    rgba = np.full((len(flat), 4), 255, np.uint8)
    rgba[:, :3] = flat + 0.5
    return rgba


def _pow2(n, top):
    return int(min(top, 1 << max(2, int(round(np.log2(max(n, 4)))))))


def _picture(path, top=512):
    with Image.open(path) as im:
        im = im.convert('RGB')
        w, h = _pow2(im.width, top), _pow2(im.height, top)
        return _mips(np.asarray(im.resize((w, h), Image.BILINEAR))), w, h


def flat_top(xyz, tri):
    """Is there a level surface at the top of a mesh, under nine tenths of a grid over its box?"""
    lo, hi = xyz.min(0), xyz.max(0)
    t = xyz[tri]
    t = t[t[:, :, 2].min(1) > hi[2] - 0.015]
    if not len(t):
        return False
    g = np.linspace(0.12, 0.88, 5)
    p = np.array([lo[:2] + (u, v) * (hi - lo)[:2] for u in g for v in g])[:, None]          # [25, 1, 2]
    a, b, c = t[None, :, 0, :2], t[None, :, 1, :2], t[None, :, 2, :2]

    def side(q, r):
        return (r[..., 0] - q[..., 0]) * (p[..., 1] - q[..., 1]) - (r[..., 1] - q[..., 1]) * (p[..., 0]
                                                                                              - q[..., 0])

    s, u, v = side(a, b), side(b, c), side(c, a)
    hit = ((s >= 0) & (u >= 0) & (v >= 0)) | ((s <= 0) & (u <= 0) & (v <= 0))
    area = (b - a)[..., 0] * (c - a)[..., 1] - (b - a)[..., 1] * (c - a)[..., 0]
    return bool((hit & (np.abs(area) > 1e-12)).any(1).mean() >= 0.9)


def seat_of(xyz):
    """Where the seat below a sitting person is, (y, z); () for one who sits on the floor."""
    z, top = xyz[:, 2] - xyz[:, 2].min(), np.ptp(xyz[:, 2])
    spine = np.median(xyz[z > 0.7 * top, 1])
    trunk = (z > 0.3) & (z < 0.6) & (xyz[:, 1] > spine - 0.1)
    if top < 1.1 or trunk.sum() < 8:
        return ()
    return float(np.median(xyz[trunk, 1])), float(np.percentile(z[trunk], 2))


class _Library:
    def __init__(self):
        self.cat = Catalogue()
        self.vert, self.uv, self.tri, self.tri_mat = [], [], [], []
        self.mesh, self.mat, self.tex, self.texel = [], [], [], []
        self.n_vert = self.n_tri = self.n_texel = 0

    def add_texture(self, rgba, w, h):
        self.tex.append((self.n_texel, int(np.log2(w)), int(np.log2(h)), 0))
        self.texel.append(rgba)
        self.n_texel += len(rgba)
        return len(self.tex) - 1

    def add_mesh(self, name, cls, placement, xyz, uv, tri, tri_mat, mats, **more):
        lo, hi = xyz.min(0), xyz.max(0)
        c = 0.5 * (lo + hi)
        self.mesh.append((self.n_tri, len(tri), len(self.mat), 0, c,
                          float(np.linalg.norm(xyz - c, axis=1).max())))
        self.vert.append(xyz.astype(np.float32))
        self.uv.append(uv.astype(np.float32))
        self.tri.append(tri.astype(np.int32) + self.n_vert)
        self.tri_mat.append(tri_mat.astype(np.int32))
        self.mat += mats
        self.n_vert += len(xyz)
        self.n_tri += len(tri)
        m = Mesh(len(self.mesh) - 1, name, cls, placement, tuple(map(float, lo)), tuple(map(float, hi)),
                 plain=all(x[0] < 0 for x in mats), flat=placement == 'floor' and flat_top(xyz, tri), **more)
        self.cat.by_name[f'{placement}-{cls}-{name}' if placement != 'shape' else name] = m
        self.cat.by_class.setdefault((placement, cls), []).append(m)

    def arrays(self):
        return {'vert': np.concatenate(self.vert), 'uv': np.concatenate(self.uv),
                'tri': np.concatenate(self.tri),
                'tri_mat': np.concatenate(self.tri_mat), 'mesh': np.array(self.mesh, MESH),
                'mat': np.array(self.mat, MAT),
                'tex': np.array(self.tex, TEX), 'texel': np.concatenate(self.texel)}


def _add_pack(lib, folder, pool):
    objects = json.load(open(os.path.join(folder, 'objects/objects.json')))
    pics = json.load(open(os.path.join(folder, 'textures/textures.json')))
    photos = json.load(open(os.path.join(folder, 'photos/photos.json')))
    own = sorted(os.listdir(os.path.join(folder, 'objects/textures')))
    jobs = ([('objects/textures/' + f, 256) for f in own] + [('textures/' + t['file'], 512) for t in pics]
            + [('photos/' + p['file'], 1024 if p['kind'] in ('panorama', 'sky') else 512) for p in photos])
    done = list(pool.map(lambda j: _picture(os.path.join(folder, j[0]), j[1]), jobs))
    index = [lib.add_texture(*d) for d in done]
    own_index = {int(f.split('.')[0]): i for f, i in zip(own, index)}
    entries = [(t['class'], index[len(own) + k], t.get('metres', 1.0), t.get('aspect', 1.0), t['licence'])
               for k, t in enumerate(pics)]
    entries += [('photo_' + p['kind'], index[len(own) + len(pics) + k], 1.0, p['width'] / p['height'],
                 p['licence'])
                for k, p in enumerate(photos) if p['kind'] != 'panorama' or p.get('equirectangular', True)]
    for cls, i, metres, aspect, licence in entries:
        lib.cat.tex.setdefault(cls, []).append((i, metres, aspect))
        if licence in ('CC0', 'CC0-1.0', 'CC0 1.0', 'MIT-0'):
            lib.cat.free_tex.setdefault(cls, []).append((i, metres, aspect))
    for o in objects:
        if max(o['size_m'][:2]) > 8 and o['placement'] == 'floor':
            continue                                     # warehouse racks, a nurses' station
        z = np.load(os.path.join(folder, 'objects', o['file']))
        box = z['box'].astype(np.float64)
        xyz = box[0] + z['xyz'].astype(np.float64) / 65535.0 * (box[1] - box[0])
        mats = [(own_index.get(int(t), -1) if t >= 0 else -1, tuple(int(x) for x in k), int(g))
                for t, k, g in zip(z['tex'], z['kd'], z['gloss'])]
        seat = seat_of(xyz) if o['placement'] == 'person' and o['class'] == 'sitting' else ()
        lib.add_mesh(o['name'], o['class'], o['placement'], xyz, np.nan_to_num(z['uv'].astype(np.float32)),
                     z['tri'], z['mat'],
                     mats, licence=o['licence'], elevation=float(o.get('elevation_m') or 0.0), seat=seat)
    lib.cat.pack = True


def shape(lib, meshes):
    """Add procedural meshes to a library: name -> mesh."""
    for name, (v, uv, t) in meshes.items():
        lib.add_mesh(name, name.rstrip('0123456789'), 'shape', v, uv, t, np.zeros(len(t)),
                     [(-1, (255, 255, 255), 30)])


def load(folder):
    """Library from the asset pack at `folder` (may be missing) and the procedural things."""
    lib = _Library()
    shape(lib, {**shapes.make_all(), **figures.make_all()})
    for cls, metres, img in textures.make_all():
        i = lib.add_texture(_mips(img), textures.N, textures.N)
        for d in (lib.cat.tex, lib.cat.free_tex):
            d.setdefault(cls, []).append((i, metres, 1.0))
    if folder and os.path.exists(os.path.join(folder, 'objects/objects.json')):
        with ThreadPoolExecutor(16) as pool:
            _add_pack(lib, folder, pool)
    else:
        print(f'assets: no pack at {folder!r}: procedural meshes and textures only', file=sys.stderr)
    shape(lib, figures.make_late())
    shape(lib, shapes.make_late())
    return lib.arrays(), lib.cat
