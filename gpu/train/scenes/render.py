"""Draws batches of views on the GPU (or, as specification and preview, on the CPU).

    lib = assets.load('.assets'); r = Renderer(lib[0], 'cuda')
    out = r.draw(scenes, picks, W, H, effects, ss=1, want=('rgb', 'depth', 'normal', 'object'))

`picks` lists (scene, camera, moment) per picture: moment 0 is the camera's first picture, 1 its
neighbour's, for which movable things have made their motion (Scene.objects). `ss`: samples along a
pixel's side, 1 is quick, 2 is smooth (surfaces are shaded once a pixel and triangle; edges and thin
things gain). Result: tensors on the renderer's device, those that `want` names and always the last line:
    rgb [N,3,H,W] 0..1 developed picture     depth [N,H,W] metres along z, 0 = sky
    normal [N,3,H,W] unit, camera frame (x right, y down, z forward), towards the camera, sky 0
    object [N,H,W] uint8 movable thing of its scene, 0 = static      id [N,H,W] int32 numbers of all things
    K [N,4] fx fy cx cy in pixels, centres at integers               R [N,3,3], p [N,3] camera-to-world pose
They are valid until the second draw of the same shape that follows. Without 'rgb' nothing is lit.
The shared library is built on first use (nvcc, or g++ for the CPU) into build/train.
"""
import ctypes
import os
import re
import subprocess

import numpy as np
import torch

from .build import LIGHT, SCENE, SHADOW_PX, VIEW
from .raster_mesh import prepare

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.join(HERE, '../../../build/train')
EFFECTS = np.dtype([('exposure', 'f4'), ('wb', 'f4', 3), ('contrast', 'f4'), ('saturation', 'f4'),
                    ('gamma', 'f4'), ('black', 'f4'), ('vignette', 'f4'), ('blur_x', 'f4'),
                    ('blur_y', 'f4'), ('roll_blur', 'f4'), ('defocus', 'f4'), ('shot', 'f4'),
                    ('read', 'f4'), ('haze', 'f4'), ('seed', 'u4'), ('glow', 'f4'), ('pad', 'f4', 2)])
# struct frame, in its order
POINTERS = ('vert', 'uv', 'tri', 'tri_mat', 'mesh', 'cluster', 'mat', 'tex', 'texel', 'inst', 'scene',
            'light', 'view', 'shadow', 'fx', 'motion', 'key', 'shadow_key', 'hdr', 'hdr2', 'lum_part',
            'mean_lum', 'rgb', 'depth', 'normal', 'id', 'object')
SIZES = ('n_view', 'n_shadow', 'w', 'h', 'ss', 'sn')
PHASES = ('cull', 'shadow', 'visibility', 'shade', 'camera')
WANT = ('rgb', 'depth', 'object')
LUM_W, LUM_H, MAX_SS = 32, 8, 4


class Frame(ctypes.Structure):
    _fields_ = [(k, ctypes.c_void_p) for k in POINTERS] + [(k, ctypes.c_int32) for k in SIZES]


def emulated(source):
    """raster_cuda.cu as C++ whose launches are calls of raster_emu.h."""
    head, *rest = source.replace('#include <cuda_runtime.h>', '#include "raster_emu.h"').split('<<<')
    for piece in rest:
        sizes, call = piece.split('>>>', 1)
        depth, commas = 0, []
        for i, c in enumerate(sizes):
            depth += (c == '(') - (c == ')')
            if c == ',' and not depth:
                commas.append(i)
        args, tail = call.split(';', 1)
        at = re.search(r'\w+(<\w+>)?\s*$', head).start()
        head = f'{head[:at]}emu_launch({sizes[:commas[1]]}, [&] {{ {head[at:]}{args}; }});{tail}'
    return head


def library(kind):
    """Compile (if stale) and load the renderer: cuda, cpu, or emu (cuda's kernels on the CPU, for checks)."""
    os.makedirs(BUILD, exist_ok=True)
    src = os.path.join(HERE, 'raster_cpu.cpp' if kind == 'cpu' else 'raster_cuda.cu')
    out = os.path.join(BUILD, f'raster_{kind}.so')
    headers = ('raster_point.h', 'raster_shade.h', 'raster_types.h', 'raster_emu.h')
    newest = max(os.path.getmtime(p) for p in (src, __file__, *(os.path.join(HERE, h) for h in headers)))
    if not os.path.exists(out) or os.path.getmtime(out) < newest:
        tmp = f'{out}.{os.getpid()}'
        cmd = ['g++', '-O2', '-fopenmp', '-fPIC', '-shared', '-I', HERE]
        if kind == 'cuda':
            cmd = ['nvcc', '-O3', '-gencode', 'arch=compute_90,code=sm_90', '-Xcompiler', '-fPIC', '-shared']
        if kind == 'emu':
            with open(src) as f, open(tmp + '.cpp', 'w') as g:
                g.write(emulated(f.read()))
            src = tmp + '.cpp'
        subprocess.run(cmd + ['-o', tmp, src], check=True)
        os.replace(tmp, out)
        if kind == 'emu':
            os.remove(src)
    lib = ctypes.CDLL(out)
    lib.raster_work_bytes.restype = ctypes.c_size_t
    lib.raster_draw.argtypes = [ctypes.POINTER(Frame), *[ctypes.c_void_p] * 2, *[ctypes.c_int] * 2]
    return lib


def random_effects(rng, n, width, calm=False):
    """Camera effects of n pictures, lengths scaled to the width; calm: a good camera in good light."""
    e, s = np.zeros(n, EFFECTS), width / 256.0

    def u(a, b):
        return rng.uniform(a, b, n)

    e['exposure'] = np.exp(rng.normal(0.25, 0.4, n)) * np.where(rng.random(n) < 0.1, u(1.5, 3.5), 1.0)
    warm, tint = rng.normal(0, 0.09, n), rng.normal(0, 0.04, n)
    e['wb'] = np.stack([1 + warm, 1 + tint, 1 - warm], 1)
    e['contrast'], e['saturation'] = u(0.85, 1.3), u(0.55, 1.5)
    e['gamma'], e['black'] = u(0.38, 0.52), u(0.0, 0.06)
    e['vignette'] = u(0, 0.45) * (rng.random(n) < 0.6)
    mag = np.where(rng.random(n) < 0.45, 0, rng.exponential(1.6, n).clip(0, 9)) * s
    ang = u(0, 2 * np.pi)
    e['blur_x'], e['blur_y'] = mag * np.cos(ang), mag * np.sin(ang)
    e['roll_blur'] = rng.normal(0, 0.01, n) * (rng.random(n) < 0.3)
    e['defocus'] = (u(0.1, 0.7) + (rng.random(n) < 0.15) * u(0, 1.6)) * s
    e['shot'], e['read'] = np.exp(u(np.log(0.003), np.log(0.03))), np.exp(u(np.log(0.001), np.log(0.01)))
    e['haze'] = u(0, 0.05) * (rng.random(n) < 0.3)
    e['glow'] = u(1.2, 5.0)
    # a few in the dark, and a few moved or out of focus far beyond that; each pulls an untrained eye nearer
    dark, shaken, soft = rng.random(n) < 0.05, rng.random(n) < 0.04, rng.random(n) < 0.03
    e['exposure'] = np.where(dark, u(0.06, 0.4), e['exposure'])
    e['shot'], e['read'] = e['shot'] * np.where(dark, u(1, 3), 1), e['read'] * np.where(dark, u(1, 3), 1)
    far = np.where(shaken, u(6, 16), 0) * s
    e['blur_x'], e['blur_y'] = e['blur_x'] + far * np.cos(ang), e['blur_y'] + far * np.sin(ang)
    e['defocus'] += np.where(soft, u(1.0, 3.5), 0) * s
    e['seed'] = rng.integers(0, 2 ** 32, n, dtype=np.uint32)
    if calm:
        e['exposure'], e['wb'], e['contrast'], e['saturation'], e['gamma'] = 1.3, 1.0, 1.1, 1.1, 0.45
        for k in ('black', 'vignette', 'blur_x', 'blur_y', 'roll_blur', 'haze'):
            e[k] = 0
        e['defocus'], e['shot'], e['read'], e['glow'] = 0.3, 0.004, 0.001, 2.5
    return e


def gather(scenes, shadow_px=SHADOW_PX):
    """Arrays of several scenes as one: inst, scene, light, shadow, motion, with indices into the whole."""
    def first(counts):
        return np.cumsum(counts) - counts

    n_inst, n_light = np.array([len(s.insts) for s in scenes]), np.array([len(s.lights) for s in scenes])
    n_shadow, n_thing = np.array([len(s.shadows) for s in scenes]), np.array([len(s.objects) for s in scenes])
    inst = np.concatenate([s.insts for s in scenes])
    rec = np.array([s.scene for s in scenes], SCENE)
    rec['inst0'], rec['light0'], rec['motion0'] = first(n_inst), first(n_light), first(n_thing)
    some = n_inst > 0
    if (np.maximum.reduceat(inst['object'], rec['inst0'][some]) >= np.minimum(n_thing[some], 256)).any():
        raise ValueError('an instance names an object that its scene does not list')
    light = np.concatenate([s.lights for s in scenes] + [np.zeros(1, LIGHT)])
    shift = np.repeat(first(n_shadow), n_light).astype(np.int32)
    light['shadow'][:-1] += np.where(light['shadow'][:-1] >= 0, shift, 0)
    shadow = np.concatenate([s.shadows for s in scenes] + [np.zeros(1, VIEW)])
    shadow['scene'][:-1] = np.repeat(np.arange(len(scenes)), n_shadow)
    scale = shadow_px / SHADOW_PX                       # scenes speak of maps of SHADOW_PX
    light['size_px'] *= scale
    for k, c in (('fx', 'cx'), ('fy', 'cy')):
        shadow[k] *= scale
        shadow[c] = (shadow[c] + 0.5) * scale - 0.5
    return {'inst': inst, 'scene': rec, 'light': light, 'shadow': shadow,
            'motion': np.concatenate([s.objects for s in scenes]).astype(np.float32)}


def cameras(scenes, picks, W, H, ss):
    """VIEW records of the picks, and [N,16] f32: R, p, K of each picture."""
    n = len(picks)
    cams = np.array([scenes[s].cams[c, m] for s, c, m in picks])
    R = cams['R_wc'].reshape(n, 3, 3)
    v = np.zeros(n, VIEW)
    Rt = np.transpose(R, (0, 2, 1))
    v['R'] = Rt.reshape(n, 9)
    v['t'] = -np.einsum('nij,nj->ni', Rt, cams['p'])
    f = cams['f_rel'] * max(W, H)
    cx, cy = (W - 1) / 2 + cams['ox'] * W, (H - 1) / 2 + cams['oy'] * H
    K = np.stack([f, f * cams['ax'], cx, cy], 1).astype(np.float32)
    v['fx'], v['fy'] = K[:, 0] * ss, K[:, 1] * ss
    v['cx'], v['cy'] = K[:, 2] * ss + (ss - 1) / 2, K[:, 3] * ss + (ss - 1) / 2
    v['scene'], v['moment'] = [s for s, _, _ in picks], [m for _, _, m in picks]
    return v, np.concatenate([R.reshape(n, 9), cams['p'], K], 1).astype(np.float32)


class Renderer:
    """device: cuda, cpu or emu; shadow_px: side of a shadow map; cull False: draws the unseen, too."""

    def __init__(self, arrays, device='cuda', shadow_px=512, cull=True):
        self.cuda, self.sn = str(device).startswith('cuda'), shadow_px
        self.device = torch.device(device if self.cuda else 'cpu')
        self.lib = library('cuda' if self.cuda else str(device))
        self.static = {k: torch.from_numpy(np.ascontiguousarray(v).view(np.uint8).reshape(-1)).to(self.device)
                       for k, v in prepare(arrays, cull).items()}
        self.work = torch.zeros(self.lib.raster_work_bytes(), dtype=torch.uint8, device=self.device)
        self.buffers, self.ring, self.turn = {}, [], 0

    def dropped(self):
        """Clusters and tiles that did not fit the work memory since the start: holes. Waits for the GPU."""
        return int(self.work[64:68].view(torch.int32)) if self.lib.raster_work_bytes() > 256 else 0

    def _buffers(self, n, w, h, ss, n_shadow, want):
        """Pictures of one shape; two sets in turn, so that one can be read while the next is drawn."""
        self.turn ^= 1
        d, px, lit = self.device, n * w * h * ss * ss, 'rgb' in want
        b = self.buffers.setdefault((n, w, h, ss, self.turn), {})
        shapes = {'key': ((px,), torch.int64), 'depth': ((n, h, w), torch.float32),
                  'normal': ((n, 3, h, w), torch.float32), 'object': ((n, h, w), torch.uint8),
                  'id': ((n, h, w), torch.int32), 'rgb': ((n, 3, h, w), torch.float32),
                  'hdr': ((px, 4), torch.float32), 'hdr2': ((px, 4), torch.float32),
                  'mean_lum': ((n,), torch.float32),
                  'lum_part': ((n * -(-w // LUM_W) * -(-h // LUM_H),), torch.float32)}
        names = ['key', *want] + (['hdr', 'hdr2', 'mean_lum', 'lum_part'] if lit else [])
        for k in names:
            if k not in b:
                b[k] = torch.empty(shapes[k][0], dtype=shapes[k][1], device=d)
        shadow = self.buffers.get('shadow_key')
        if shadow is None or n_shadow * self.sn ** 2 > shadow.numel():
            size = max(n_shadow, 32) * self.sn ** 2
            self.buffers['shadow_key'] = torch.empty(size, dtype=torch.int32, device=d)
        return {k: b[k] for k in names}

    def _upload(self, arrays):
        """One copy for all small arrays: device addresses, what keeps them alive, the last as bytes."""
        parts, at, offs = [], 0, []
        for a in arrays:
            raw = np.ascontiguousarray(a).view(np.uint8).reshape(-1)
            offs.append(at)
            parts.append((at, raw))
            at += (len(raw) + 255) // 256 * 256
        if not self.cuda:
            host = torch.empty(max(at, 256), dtype=torch.uint8)
            for o, raw in parts:
                host.numpy()[o:o + len(raw)] = raw
            return [host.data_ptr() + o for o in offs], host, host[offs[-1]:offs[-1] + len(parts[-1][1])]
        if not self.ring:
            self.ring = [(torch.empty(16 << 20, dtype=torch.uint8, pin_memory=True),
                          torch.empty(16 << 20, dtype=torch.uint8, device=self.device),
                          torch.cuda.Event()) for _ in range(4)]
            self.slot = 0
        host, dev, done = self.ring[self.slot]
        self.slot = (self.slot + 1) % 4
        done.synchronize()
        if at > host.numel():
            raise RuntimeError(f'scene batch of {at} bytes does not fit the upload slot')
        view = host.numpy()
        for o, raw in parts:
            view[o:o + len(raw)] = raw
        dev[:at].copy_(host[:at], non_blocking=True)
        return [dev.data_ptr() + o for o in offs], done, dev[offs[-1]:offs[-1] + len(parts[-1][1])]

    def draw(self, scenes, picks, W, H, fx, ss=2, want=WANT, clock=None, before=None):
        """See the module; clock(k) is called after step k of PHASES was enqueued, before() before all."""
        if not set(want) <= {'rgb', 'depth', 'normal', 'object', 'id'}:
            raise ValueError(f'unknown outputs in {want}')
        if not 1 <= ss <= MAX_SS:
            raise ValueError(f'{ss} samples along a pixel: 1 to {MAX_SS} can be had')
        n, parts = len(picks), gather(scenes, self.sn)
        n_shadow = len(parts['shadow']) - 1 if 'rgb' in want else 0
        view, pose = cameras(scenes, picks, W, H, ss)
        parts.update(view=view, fx=fx, pose=pose)
        ptrs, keep, p = self._upload(list(parts.values()))
        ptrs = dict(zip(parts, ptrs))
        ptrs.pop('pose')
        b = self._buffers(n, W, H, ss, n_shadow, want)
        held = {**self.static, **b, 'shadow_key': self.buffers['shadow_key']}
        f = Frame(**{k: t.data_ptr() for k, t in held.items()}, **ptrs,
                  n_view=n, n_shadow=n_shadow, w=W * ss, h=H * ss, ss=ss, sn=self.sn)
        stream = torch.cuda.current_stream().cuda_stream if self.cuda else 0
        if before:
            before()
        step = 1 if clock else len(PHASES)
        for k in range(0, len(PHASES), step):
            rc = self.lib.raster_draw(ctypes.byref(f), self.work.data_ptr(), stream, k, step)
            if rc:
                raise RuntimeError(f'renderer: CUDA error {rc}')
            if clock:
                clock(k)
        p = p.view(torch.float32).view(n, 16)
        if self.cuda:
            keep.record()
        return {**{k: b[k] for k in want}, 'K': p[:, 12:16], 'R': p[:, :9].reshape(n, 3, 3), 'p': p[:, 9:12]}
