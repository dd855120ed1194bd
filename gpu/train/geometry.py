"""Rigid motions and pinhole projection on batches of tensors.

K [..., 4] is fx fy cx cy in pixels, pixel centres at integers. A motion is [..., 3, 4] (R | t). Products of
small matrices are written out as sums: a tensor core's TF32 would cost rotations a twentieth of a degree.
"""
import torch
import torch.nn.functional as F


def mul3(a, b):
    """Product of small matrices [..., i, k] and [..., k, j]."""
    return (a[..., :, :, None] * b[..., None, :, :]).sum(-2)


def apply(T, x):
    """Motion [..., 3, 4] of points [..., 3]."""
    return (T[..., :3] * x[..., None, :]).sum(-1) + T[..., 3]


def inverse(T):
    R = T[..., :3].transpose(-1, -2)
    return torch.cat([R, -(R * T[..., None, :, 3]).sum(-1)[..., None]], -1)


def compose(a, b):
    """a after b."""
    return torch.cat([mul3(a[..., :3], b[..., :3]), apply(a, b[..., 3])[..., None]], -1)


def rotation_log(R):
    """Axis-angle vectors [..., 3] of rotation matrices [..., 3, 3] (well away from pi)."""
    w = torch.stack([R[..., 2, 1] - R[..., 1, 2], R[..., 0, 2] - R[..., 2, 0], R[..., 1, 0] - R[..., 0, 1]], -1)
    w = w * 0.5
    s = w.norm(dim=-1, keepdim=True)
    c = ((R.diagonal(dim1=-1, dim2=-2).sum(-1, keepdim=True) - 1) * 0.5).clamp(-1, 1)
    return w * torch.where(s > 1e-6, torch.atan2(s, c) / s.clamp_min(1e-12), torch.ones_like(s))


def rotation_exp(w):
    """Rotation matrices [..., 3, 3] of axis-angle vectors [..., 3]; smooth at 0."""
    a2 = (w * w).sum(-1)[..., None, None]
    a = (a2 + 1e-12).sqrt()
    small = a2 < 1e-6
    s = torch.where(small, 1 - a2 / 6, torch.sin(a) / a)
    c = torch.where(small, 0.5 - a2 / 24, (1 - torch.cos(a)) / (a2 + 1e-12))
    x, y, z = w.unbind(-1)
    o = torch.zeros_like(x)
    k = torch.stack([o, -z, y, z, o, -x, -y, x, o], -1).reshape(*w.shape[:-1], 3, 3)
    return torch.eye(3, device=w.device, dtype=w.dtype) + s * k + c * mul3(k, k)


def to_vector(T):
    """Motion [..., 3, 4] -> [..., 6]: metres, axis-angle."""
    return torch.cat([T[..., 3], rotation_log(T[..., :3])], -1)


def to_motion(v):
    """[..., 6] -> motion [..., 3, 4]."""
    return torch.cat([rotation_exp(v[..., 3:]), v[..., :3, None]], -1)


def pixels(H, W, device):
    """u [1,H,W] and v [1,H,W] as floats."""
    v, u = torch.meshgrid(torch.arange(H, device=device, dtype=torch.float32),
                          torch.arange(W, device=device, dtype=torch.float32), indexing='ij')
    return u[None], v[None]


def focal(K):
    """The focal length that depth is asked by: the mean of those along x and y, since pixels need not be square."""
    return (K[..., 0] * K[..., 1]).sqrt()


def rays(K, H, W):
    """(x - cx) / fx and (y - cy) / fy of every pixel: [N,2,H,W]."""
    u, v = pixels(H, W, K.device)
    k = K[..., None, None]
    return torch.stack([(u - k[:, 2]) / k[:, 0], (v - k[:, 3]) / k[:, 1]], 1)


def backproject(depth, K):
    """Points [N,H,W,3] of depth [N,H,W]."""
    r = rays(K, *depth.shape[1:])
    return torch.stack([r[:, 0] * depth, r[:, 1] * depth, depth], -1)


def project(x, K):
    """Pixels u, v and depth z, each [N,H,W], of points [N,H,W,3]."""
    k, z = K[:, :, None, None], x[..., 2]
    zs = z.clamp_min(1e-3)
    return k[:, 0] * x[..., 0] / zs + k[:, 2], k[:, 1] * x[..., 1] / zs + k[:, 3], z


def look_up(img, u, v, mode='bilinear'):
    """img [N,C,h,w] at pixels u, v [N,H,W]; outside: 0."""
    h, w = img.shape[2:]
    grid = torch.stack([(2 * u + 1) / w - 1, (2 * v + 1) / h - 1], -1).clamp(-4, 4)
    return F.grid_sample(img, grid, mode=mode, padding_mode='zeros', align_corners=False)


def scaled_K(K, sx, sy, x0=0.0, y0=0.0):
    """Intrinsics after the pixels' area [x0, y0, ...] (edges, not centres) was cut out and scaled by sx, sy."""
    return torch.stack([K[..., 0] * sx, K[..., 1] * sy, (K[..., 2] + 0.5 - x0) * sx - 0.5,
                        (K[..., 3] + 0.5 - y0) * sy - 0.5], -1)
