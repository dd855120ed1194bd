"""Draws batches of views on the GPU (or, as specification and preview, on the CPU).

    lib = assets.load('.assets'); r = Renderer(lib[0], 'cuda')
    out = r.draw(scenes, picks, W, H, effects)

`picks` lists (scene, camera, moment) per picture. Result, tensors on the renderer's device:
    rgb [N,3,H,W] 0..1 developed picture     depth [N,H,W] metres along z, 0 = sky
    id [N,H,W] object numbers                K [N,4] fx fy cx cy in pixels, centres at integers
    R [N,3,3], p [N,3] camera-to-world pose
The shared library is built on first use (nvcc, or g++ for the CPU) into build/train.
"""
import ctypes
import os
import subprocess

import numpy as np
import torch

from .build import INST, LIGHT, SCENE, SHADOW_PX, VIEW

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.join(HERE, '../../../build/train')
EFFECTS = np.dtype([('exposure', 'f4'), ('wb', 'f4', 3), ('contrast', 'f4'), ('saturation', 'f4'), ('gamma', 'f4'), ('black', 'f4'),
                    ('vignette', 'f4'), ('blur_x', 'f4'), ('blur_y', 'f4'), ('roll_blur', 'f4'), ('defocus', 'f4'), ('shot', 'f4'),
                    ('read', 'f4'), ('haze', 'f4'), ('seed', 'u4'), ('glow', 'f4'), ('pad', 'f4', 2)])
POINTERS = ('vert', 'uv', 'tri', 'tri_mat', 'mesh', 'mat', 'tex', 'texel', 'inst', 'scene', 'light', 'view', 'shadow', 'fx',
            'motion', 'key', 'shadow_key', 'hdr', 'hdr2', 'rgb', 'depth', 'id', 'mean_lum')


class Frame(ctypes.Structure):
    _fields_ = [(k, ctypes.c_void_p) for k in POINTERS] + [(k, ctypes.c_int32) for k in ('n_view', 'n_shadow', 'w', 'h', 'ss', 'sn')]


def library(cuda):
    """Compile (if stale) and load the renderer for one back end."""
    os.makedirs(BUILD, exist_ok=True)
    src = os.path.join(HERE, 'raster_cuda.cu' if cuda else 'raster_cpu.cpp')
    out = os.path.join(BUILD, 'raster_cuda.so' if cuda else 'raster_cpu.so')
    newest = max(os.path.getmtime(p) for p in (src, *(os.path.join(HERE, h) for h in ('raster_point.h', 'raster_types.h'))))
    if not os.path.exists(out) or os.path.getmtime(out) < newest:
        tmp = f'{out}.{os.getpid()}'
        cmd = (['nvcc', '-O3', '-gencode', 'arch=compute_90,code=sm_90', '-Xcompiler', '-fPIC', '-shared'] if cuda
               else ['g++', '-O2', '-fopenmp', '-fPIC', '-shared'])
        subprocess.run(cmd + ['-o', tmp, src], check=True)
        os.replace(tmp, out)
    lib = ctypes.CDLL(out)
    lib.raster_work_bytes.restype = ctypes.c_size_t
    lib.raster_draw.argtypes = [ctypes.POINTER(Frame), ctypes.c_void_p, ctypes.c_void_p]
    return lib


def random_effects(rng, n, width, calm=False):
    """Camera effects for n pictures, lengths scaled to the picture's width; calm: a good camera in good light."""
    e, s = np.zeros(n, EFFECTS), width / 256.0

    def u(a, b):
        return rng.uniform(a, b, n)

    e['exposure'] = np.exp(rng.normal(0.25, 0.4, n)) * np.where(rng.random(n) < 0.1, u(1.5, 3.5), 1.0)
    warm, tint = rng.normal(0, 0.09, n), rng.normal(0, 0.04, n)
    e['wb'] = np.stack([1 + warm, 1 + tint, 1 - warm], 1)
    e['contrast'], e['saturation'], e['gamma'], e['black'] = u(0.85, 1.3), u(0.55, 1.5), u(0.38, 0.52), u(0.0, 0.06)
    e['vignette'] = u(0, 0.45) * (rng.random(n) < 0.6)
    mag = np.where(rng.random(n) < 0.45, 0, rng.exponential(1.6, n).clip(0, 9)) * s
    ang = u(0, 2 * np.pi)
    e['blur_x'], e['blur_y'] = mag * np.cos(ang), mag * np.sin(ang)
    e['roll_blur'] = rng.normal(0, 0.01, n) * (rng.random(n) < 0.3)
    e['defocus'] = (u(0.1, 0.7) + (rng.random(n) < 0.15) * u(0, 1.6)) * s
    e['shot'], e['read'] = np.exp(u(np.log(0.003), np.log(0.03))), np.exp(u(np.log(0.001), np.log(0.01)))
    e['haze'] = u(0, 0.05) * (rng.random(n) < 0.3)
    e['glow'] = u(1.2, 5.0)
    e['seed'] = rng.integers(0, 2 ** 32, n, dtype=np.uint32)
    if calm:
        e['exposure'], e['wb'], e['contrast'], e['saturation'], e['gamma'] = 1.3, 1.0, 1.1, 1.1, 0.45
        for k in ('black', 'vignette', 'blur_x', 'blur_y', 'roll_blur', 'haze'):
            e[k] = 0
        e['defocus'], e['shot'], e['read'], e['glow'] = 0.3, 0.004, 0.001, 2.5
    return e


class Renderer:
    def __init__(self, arrays, device='cuda', shadow_px=SHADOW_PX):
        self.device, self.cuda, self.sn = torch.device(device), str(device).startswith('cuda'), shadow_px
        self.lib = library(self.cuda)
        self.static = {k: torch.from_numpy(np.ascontiguousarray(v).view(np.uint8).reshape(-1)).to(self.device) for k, v in arrays.items()}
        self.work = torch.empty(self.lib.raster_work_bytes(), dtype=torch.uint8, device=self.device)
        self.buffers, self.ring, self.turn = {}, [], 0

    def _buffers(self, n, w, h, ss, n_shadow):
        """Pictures of one shape; two sets in turn, so that one can be read while the next is drawn."""
        self.turn ^= 1
        key = (n, w, h, ss, self.turn)
        if key not in self.buffers:
            d, px = self.device, n * w * h
            self.buffers[key] = {
                'key': torch.empty(px * ss * ss, dtype=torch.int64, device=d), 'hdr': torch.empty(px * ss * ss * 4, device=d),
                'hdr2': torch.empty(px * ss * ss * 4, device=d), 'rgb': torch.empty(n, 3, h, w, device=d),
                'depth': torch.empty(n, h, w, device=d), 'id': torch.empty(n, h, w, dtype=torch.int32, device=d),
                'mean_lum': torch.empty(n, device=d)}
        if n_shadow * self.sn ** 2 > self.buffers.get('shadow_key', torch.empty(0)).numel():
            self.buffers['shadow_key'] = torch.empty(max(n_shadow, 32) * self.sn ** 2, dtype=torch.int64, device=self.device)
        return self.buffers[key]

    def _upload(self, arrays):
        """One copy for all small arrays; returns their device addresses, what keeps them alive, and the last as bytes."""
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
            self.ring = [(torch.empty(16 << 20, dtype=torch.uint8, pin_memory=True), torch.empty(16 << 20, dtype=torch.uint8, device=self.device),
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

    def draw(self, scenes, picks, W, H, fx, ss=2):
        n = len(picks)
        insts, lights, shadows, recs, i0, l0 = [], [], [], np.zeros(len(scenes), SCENE), 0, 0
        s0 = m0 = 0
        for k, s in enumerate(scenes):
            recs[k] = s.scene
            recs[k]['inst0'], recs[k]['light0'], recs[k]['motion0'] = i0, l0, m0
            li, sh = s.lights.copy(), s.shadows.copy()
            li['shadow'][li['shadow'] >= 0] += s0
            sh['scene'] = k
            insts.append(s.insts)
            lights.append(li)
            shadows.append(sh)
            i0, l0, s0, m0 = i0 + len(s.insts), l0 + len(li), s0 + len(sh), m0 + len(s.objects)
        cams = np.stack([scenes[s].cams[c, m] for s, c, m in picks])
        R = cams['R_wc'].reshape(n, 3, 3)
        v = np.zeros(n, VIEW)
        Rt = np.transpose(R, (0, 2, 1))
        v['R'] = Rt.reshape(n, 9)
        v['t'] = -np.einsum('nij,nj->ni', Rt, cams['p'])
        K = np.stack([cams['f_rel'] * max(W, H), cams['f_rel'] * max(W, H) * cams['ax'],
                      (W - 1) / 2 + cams['ox'] * W, (H - 1) / 2 + cams['oy'] * H], 1).astype(np.float32)
        v['fx'], v['fy'] = K[:, 0] * ss, K[:, 1] * ss
        v['cx'], v['cy'] = K[:, 2] * ss + (ss - 1) / 2, K[:, 3] * ss + (ss - 1) / 2
        v['scene'], v['moment'] = [s for s, _, _ in picks], [m for _, _, m in picks]
        pose = np.concatenate([R.reshape(n, 9), cams['p'], K], 1).astype(np.float32)
        ptrs, keep, p = self._upload([np.concatenate(insts), recs, np.concatenate(lights + [np.zeros(1, LIGHT)]), v,
                                   np.concatenate(shadows + [np.zeros(1, VIEW)]), fx, np.concatenate([s.objects for s in scenes]), pose])
        b = self._buffers(n, W, H, ss, s0)
        f = Frame(**{k: t.data_ptr() for k, t in self.static.items()}, **{k: t.data_ptr() for k, t in b.items()},
                  **dict(zip(('inst', 'scene', 'light', 'view', 'shadow', 'fx', 'motion'), ptrs)),
                  shadow_key=self.buffers['shadow_key'].data_ptr(), n_view=n, n_shadow=s0, w=W * ss, h=H * ss, ss=ss, sn=self.sn)
        stream = torch.cuda.current_stream().cuda_stream if self.cuda else 0
        rc = self.lib.raster_draw(ctypes.byref(f), self.work.data_ptr(), stream)
        if rc:
            raise RuntimeError(f'renderer: CUDA error {rc}')
        p = p.view(torch.float32).view(n, 16)
        if self.cuda:
            keep.record()
        return {'rgb': b['rgb'], 'depth': b['depth'], 'id': b['id'], 'K': p[:, 12:16], 'R': p[:, :9].reshape(n, 3, 3), 'p': p[:, 9:12]}
