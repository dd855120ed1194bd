"""What a camera's sensor and file format do to a drawn picture: rolling shutter and JPEG, in torch.

Both work on whole batches on the device that holds them, allocate a fixed number of tensors, never wait for
the device, and so can be captured into a CUDA graph. Random numbers come in as arrays from the caller's
generator.

Rolling shutter moves pixels, so it moves depth, normals and object numbers with them; JPEG touches colour
alone.
"""
import math

import numpy as np
import torch
import torch.nn.functional as F


def shutter_motion(scenes, picks, rng, share=0.6, readout=(0.008, 0.033)):
    """Camera motion during the readout of each picture: [N,6] f4, metres and axis-angle, camera's frame.

    It is the camera's own motion between its two moments, times readout time over their distance `dt`.
    Pictures beyond `share` have a global shutter (zeros). Readout times in seconds are drawn log-uniformly.
    """
    out = np.zeros((len(picks), 6), np.float32)
    cams = np.stack([scenes[s].cams[c] for s, c, _ in picks])
    R0, R1 = cams['R_wc'][:, 0].reshape(-1, 3, 3), cams['R_wc'][:, 1].reshape(-1, 3, 3)
    dt = np.array([scenes[s].dt for s, _, _ in picks])
    k = np.exp(rng.uniform(math.log(readout[0]), math.log(readout[1]),
                           len(picks))) / dt * (rng.random(len(picks)) < share)
    D = np.einsum('nji,njk->nik', R0, R1)                       # camera 0 from camera 1
    w = 0.5 * np.stack([D[:, 2, 1] - D[:, 1, 2], D[:, 0, 2] - D[:, 2, 0], D[:, 1, 0] - D[:, 0, 1]], 1)
    t = np.einsum('nji,nj->ni', R0, cams['p'][:, 1] - cams['p'][:, 0])
    out[:, :3], out[:, 3:] = t * k[:, None], w * k[:, None]
    return out


def rolling_shutter(out, motion):
    """The batch `out` of Renderer.draw as a shutter would see it that rolls from the top row to the bottom.

    motion [N,6] (shutter_motion) on the same device. Row y is seen y/H - 1/2 of the readout away from the
    pose of the picture, which so stays the pose of the middle row. Each pixel looks up where its point stands
    in the picture that was drawn: first with the depth of its own pixel, once more with the depth found there
    (to first order in the motion; a few pixels at most). Colour is interpolated, everything else taken from
    the nearest pixel. What an edge uncovers shows the nearer side. What moves is taken to stand still during
    the readout. Returns a dict with the same keys; rgb, depth, id, normal, object are new tensors.
    """
    z, K = out['depth'], out['K']
    n, H, W = z.shape
    dev = z.device
    v = torch.arange(H, device=dev, dtype=torch.float32)[:, None]
    u = torch.arange(W, device=dev, dtype=torch.float32)[None]
    x = (u - K[:, 2, None, None]) / K[:, 0, None, None] + 0 * v
    y = (v - K[:, 3, None, None]) / K[:, 1, None, None] + 0 * u
    s = ((v + 0.5) / H - 0.5).expand(H, W)
    t, w = motion[:, :3, None, None] * s, motion[:, 3:, None, None] * s
    zz = z
    for _ in range(2):
        inv = torch.where(zz > 0, 1.0 / zz.clamp_min(1e-3), torch.zeros_like(zz))
        # a point X of the moved camera is X + w x X + t in the drawn one; on the ray X = (x, y, 1) z
        px = x + w[:, 1] - w[:, 2] * y + t[:, 0] * inv
        py = y + w[:, 2] * x - w[:, 0] + t[:, 1] * inv
        pz = (1 + w[:, 0] * y - w[:, 1] * x + t[:, 2] * inv).clamp_min(0.1)
        gx = (px / pz * K[:, 0, None, None] + K[:, 2, None, None] + 0.5) * (2.0 / W) - 1
        gy = (py / pz * K[:, 1, None, None] + K[:, 3, None, None] + 0.5) * (2.0 / H) - 1
        grid = torch.stack([gx, gy], -1)
        zz = F.grid_sample(z[:, None], grid, mode='nearest', padding_mode='border', align_corners=False)[:, 0]
    res = dict(out)
    res['rgb'] = F.grid_sample(out['rgb'], grid, mode='bilinear', padding_mode='border', align_corners=False)
    # the drawn camera's depth, seen from where the moved camera stood
    res['depth'] = torch.where(zz > 0, (zz * (1 - w[:, 0] * y + w[:, 1] * x) - t[:, 2]).clamp_min(1e-3), zz)
    for k in ('id', 'object', 'normal'):
        if k in out and out[k] is not None:
            a = out[k]
            b = a[:, None] if a.dim() == 3 else a
            b = F.grid_sample(b.float(), grid, mode='nearest', padding_mode='border',
                              align_corners=False).to(a.dtype)
            res[k] = b[:, 0] if a.dim() == 3 else b
    return res


_LUMA = [16, 11, 10, 16, 24, 40, 51, 61, 12, 12, 14, 19, 26, 58, 60, 55, 14, 13, 16, 24, 40, 57, 69, 56, 14,
         17, 22, 29, 51, 87, 80, 62,
         18, 22, 37, 56, 68, 109, 103, 77, 24, 35, 55, 64, 81, 104, 113, 92, 49, 64, 78, 87, 103, 121, 120,
         101, 72, 92, 95, 98, 112, 100, 103, 99]
_CHROMA = [17, 18, 24, 47, 99, 99, 99, 99, 18, 21, 26, 66, 99, 99, 99, 99, 24, 26, 56, 99, 99, 99, 99, 99, 47,
           66, 99, 99, 99, 99, 99, 99] + [99] * 32
_tables = {}


def _basis(device):
    """DCT matrix [8,8], quantisation tables [2,8,8] and colour matrices on a device, made once."""
    if device not in _tables:
        k, i = np.arange(8)[:, None], np.arange(8)[None]
        C = 0.5 * np.cos((2 * i + 1) * k * np.pi / 16) * np.where(k == 0, math.sqrt(0.5), 1.0)
        Y = np.array([[0.299, 0.587, 0.114], [-0.168736, -0.331264, 0.5], [0.5, -0.418688, -0.081312]])
        _tables[device] = [torch.tensor(a, dtype=torch.float32, device=device)
                           for a in (C, np.array([_LUMA, _CHROMA]).reshape(2, 8, 8), Y, np.linalg.inv(Y))]
    return _tables[device]


def _coded(p, C, q):
    """One channel [N,H,W], centred on zero, sides multiples of 8, through the quantised DCT; q [N,8,8]."""
    n, H, W = p.shape
    b = p.view(n, H // 8, 8, W // 8, 8).permute(0, 1, 3, 2, 4)
    q = q[:, None, None]
    d = torch.round((C @ b @ C.t()) / q) * q
    return (C.t() @ d @ C).permute(0, 1, 3, 2, 4).reshape(n, H, W)


def random_quality(rng, n):
    """JPEG quality 1..100 of n pictures as [n] f4: mostly what phones and dash cameras write, now and then
    poor; 0 = no JPEG.
    """
    q = np.where(rng.random(n) < 0.2, rng.uniform(15, 50, n), rng.uniform(50, 96, n))
    return np.where(rng.random(n) < 0.25, 0, q).astype(np.float32)


def jpeg(rgb, quality):
    """Pictures [N,3,H,W] 0..1 as they come back from a JPEG file with halved chroma; quality [N], 0 = left
    alone.

    Sides must be multiples of 16. Tables of Annex K scaled as libjpeg does; entropy coding changes nothing,
    so it is left out.
    """
    n, _, H, W = rgb.shape
    if H % 16 or W % 16:
        raise ValueError(f'jpeg: {W}x{H} is not a multiple of 16')
    C, tables, toY, toRGB = _basis(rgb.device)
    k = quality.clamp(1, 100)
    k = torch.where(k < 50, 5000.0 / k, 200.0 - 2 * k) / 100.0
    q = torch.round(tables[None] * k[:, None, None, None]).clamp(1, 255)
    ycc = torch.round(torch.einsum('ij,njhw->nihw', toY, torch.round(rgb.float() * 255.0)))
    luma = _coded(ycc[:, 0] - 128.0, C, q[:, 0]) + 128.0
    small = torch.round(F.avg_pool2d(ycc[:, 1:], 2))
    chroma = torch.stack([_coded(small[:, i], C, q[:, 1]) for i in range(2)], 1)
    chroma = F.interpolate(chroma, scale_factor=2, mode='bilinear', align_corners=False)
    back = torch.einsum('ij,njhw->nihw', toRGB, torch.cat([luma[:, None], chroma], 1))
    back = torch.round(back.clamp(0, 255)) / 255.0
    return torch.where(quality[:, None, None, None] > 0, back.to(rgb.dtype), rgb)
