#!/usr/bin/env python3
"""gate.py FOLDER - figures of quality of what tests/e2e/63-quality-gate pushed, a line "NAME UNIT VALUE" each

FOLDER has clip.ply, clip.maps and clip.tum (the demo clip: its cloud, the depth of its first frame, its path without
poses), room, a drawn place with truth, room.ply and room.maps, and paper.ply (fusion = paper, views = off).

F at 5 cm: harmonic mean of the share of points within 5 cm of the truth and the share of the truth within 5 cm of a
point. Of the clip the first frame alone has truth, so its cloud is what lies in that picture and no more than 10 cm behind
its surfaces. AbsRel: mean of |d - g| / g over pixels, of frames by themselves. Scale: median of truth over answer. ATE: camera
centres after the similarity that fits best.
"""
import json
import os
import sys

import numpy as np
from PIL import Image
from scipy.spatial import cKDTree

CLIP = 'tests/golden/clip'
RADIUS_M, BEHIND_M, VOXEL_M, STRIDE = 0.05, 0.10, 0.01, 4


def camera(folder):
    with open(folder + '/sequence.json', encoding='utf-8') as file:
        return json.load(file)


def depth(folder, index):
    """Metres; 0 where nothing is known."""
    with Image.open(f'{folder}/{index:06d}.png') as picture:
        return np.asarray(picture, np.float64) / 1000


def turns(q):
    """Rotations of quaternions x y z w."""
    x, y, z, w = (q / np.linalg.norm(q, axis=1, keepdims=True)).T
    return np.stack([1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w),
                     2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w),
                     2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)], 1).reshape(-1, 3, 3)


def seen(d, c, stride):
    """Points of a depth picture in its camera's frame."""
    v, u = np.mgrid[0:d.shape[0]:stride, 0:d.shape[1]:stride]
    z = d[::stride, ::stride]
    return np.stack([(u - c['cx']) / c['fx'] * z, (v - c['cy']) / c['fy'] * z, z], 2)[z > 0]


def cloud(path):
    with open(path, 'rb') as file:
        head, body = file.read().split(b'end_header\n', 1)
    size = {b'float': 4, b'uchar': 1}
    kinds = [line.split()[1] for line in head.split(b'\n') if line.startswith(b'property')]
    assert kinds[:3] == [b'float'] * 3, kinds
    return np.frombuffer(body, np.dtype([('p', '<f4', 3), ('', f'V{sum(size[k] for k in kinds) - 12}')]))['p'].astype(np.float64)


def thin(points):
    """One point a cube of space, the first."""
    return points[np.unique(np.floor(points / VOXEL_M).astype(np.int64), axis=0, return_index=True)[1]]


def f_score(points, truth):
    right = (cKDTree(truth).query(points)[0] <= RADIUS_M).mean()
    found = (cKDTree(points).query(truth)[0] <= RADIUS_M).mean()
    return 2 * right * found / (right + found)


def room_truth(folder):
    c, poses = camera(folder), np.loadtxt(folder + '/poses.txt')
    R, every = turns(poses[:, 4:8]), []
    for i, pose in enumerate(poses):
        every.append(seen(depth(folder + '/depth', i), c, STRIDE) @ R[i].T + pose[1:4])
    return thin(np.concatenate(every))


def depth_errors(maps, truth):
    """AbsRel and scale over all pixels of all frames, the truth taken at the answer's pixels."""
    rel, ratio = [], []
    for name in sorted(n for n in os.listdir(maps) if n.endswith('.png')):
        d, g = depth(maps, int(name[:6])), depth(truth + '/depth', int(name[:6]))
        x, y = ((np.arange(n) + 0.5) * m / n for n, m in ((d.shape[1], g.shape[1]), (d.shape[0], g.shape[0])))
        g = g[y.astype(int)[:, None], x.astype(int)]
        known = (d > 0) & (g > 0)
        rel.append(np.mean(np.abs(d - g)[known] / g[known]))
        ratio.append(np.median(g[known] / d[known]))
    return np.mean(rel), np.median(ratio)


def first_frame(points):
    """Truth of the clip's first frame, and of the cloud what that could have seen."""
    c, d, pose = camera(CLIP), depth(CLIP + '/depth', 0), np.loadtxt(CLIP + '/poses.txt')[:1]
    R = turns(pose[:, 4:8])[0]
    p = (points - pose[0, 1:4]) @ R
    p = p[p[:, 2] > 0.1]
    u, v = (np.rint(p[:, i] / p[:, 2] * c['f' + 'xy'[i]] + c['c' + 'xy'[i]]).astype(int) for i in (0, 1))
    inside = (u >= 0) & (u < d.shape[1]) & (v >= 0) & (v < d.shape[0])
    p, g = p[inside], d[v[inside], u[inside]]
    return p[(g > 0) & (p[:, 2] < g + BEHIND_M)], thin(seen(d, c, STRIDE))


def path(estimate, folder):
    """ATE in metres and the scale of the similarity that takes the estimate to the truth (Umeyama 1991)."""
    rows, poses = np.loadtxt(estimate), np.loadtxt(folder + '/poses.txt')
    a, b = rows[:, 1:4], poses[np.rint(rows[:, 0] * camera(folder)['fps']).astype(int), 1:4]
    da, db = a - a.mean(0), b - b.mean(0)
    U, D, Vt = np.linalg.svd(db.T @ da)
    S = np.diag([1, 1, np.sign(np.linalg.det(U @ Vt))])
    scale = np.trace(np.diag(D) @ S) / (da ** 2).sum()
    return np.sqrt(((db - scale * da @ (U @ S @ Vt).T) ** 2).sum(1).mean()), scale


def main(work):
    def say(name, unit, value):
        print(name, unit, f'{value:.6g}')

    clip, room, paper = (cloud(f'{work}/{name}.ply') for name in ('clip', 'room', 'paper'))
    truth = room_truth(work + '/room')
    say('clip.points', 'points', len(clip))
    say('clip.f5', 'share', f_score(*first_frame(clip)))
    off, scale = path(work + '/clip.tum', CLIP)
    say('clip.path', 'm', off)
    say('clip.path_scale', 'ratio', scale)
    say('clip.abs_rel', 'share', depth_errors(work + '/clip.maps', CLIP)[0])
    say('room.f5', 'share', f_score(room, truth))
    off, scale = depth_errors(work + '/room.maps', work + '/room')
    say('room.abs_rel', 'share', off)
    say('room.depth_scale', 'ratio', scale)
    say('room.paper_rmse', 'm', np.sqrt((cKDTree(truth).query(paper)[0] ** 2).mean()))


main(sys.argv[1])
