"""Rays of cameras that are not pinhole: the models of sequence.json (docs/TESTING.md), turned round."""
import numpy as np

ROUNDS = 20


def radial(x, y, k):
    """Inverse of x_d = x (1 + k1 r^2 + k2 r^4 + k3 r^6) + 2 p1 x y + p2 (r^2 + 2 x^2), and y_d likewise."""
    k1, k2, p1, p2, k3 = k
    xd, yd = x, y
    for _ in range(ROUNDS):
        r2 = x * x + y * y
        by = 1 + r2 * (k1 + r2 * (k2 + r2 * k3))
        x, y = ((xd - 2 * p1 * x * y - p2 * (r2 + 2 * x * x)) / by,
                (yd - 2 * p2 * x * y - p1 * (r2 + 2 * y * y)) / by)
    return x, y


def fisheye(x, y, k):
    """Inverse of theta_d = theta (1 + k1 theta^2 + ... + k4 theta^8), r = tan theta; NaN where nothing is ahead."""
    far = np.hypot(x, y)
    theta = far.copy()
    for _ in range(ROUNDS):
        t2 = theta * theta
        value = theta * (1 + t2 * (k[0] + t2 * (k[1] + t2 * (k[2] + t2 * k[3]))))
        slope = 1 + t2 * (3 * k[0] + t2 * (5 * k[1] + t2 * (7 * k[2] + t2 * 9 * k[3])))
        theta -= (value - far) / slope
    by = np.where(far > 1e-9, np.tan(theta) / np.maximum(far, 1e-9), 1)
    by[~(np.cos(theta) > 0.1)] = np.nan
    return x * by, y * by


def rays(meta, u, v):
    """Directions (x / z, y / z) of pixels; NaN where they do not point forward."""
    model, k = meta['model'], meta.get('distortion', [])
    if model == 'sphere':
        east, down = (u + 0.5) / meta['width'] * 2 * np.pi - np.pi, (v + 0.5) / meta['height'] * np.pi - np.pi / 2
        z = np.cos(down) * np.cos(east)
        z = np.where(z > 0.1, z, np.nan)
        return np.cos(down) * np.sin(east) / z, np.sin(down) / z
    x, y = (u - meta['cx']) / meta['fx'], (v - meta['cy']) / meta['fy']
    return radial(x, y, k) if model == 'radial-tangential' else fisheye(x, y, k)
