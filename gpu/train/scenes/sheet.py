"""Contact sheet of scenes: python3 -m scenes.sheet OUT.png [--kind room] [--n 24] [--size 256x192] [--show]

Each cell shows the picture and what --show names below it: its inverse depth, normals (x, y, z as red, green,
blue), movable things (a colour each, dim where they rest) and the neighbour's picture. For looking at what
training sees.
"""
import argparse
import time

import numpy as np
from PIL import Image

from . import assets
from .render import Renderer, random_effects
from .sample import make_scene


def inverse_depth_image(depth):
    """[H,W] metres to a grey picture, near = bright; sky black."""
    inv = np.where(depth > 0, 1.0 / np.maximum(depth, 0.05), 0)
    return (255 * np.clip(inv / max(np.percentile(inv, 98), 1e-6), 0, 1) ** 0.7).astype(np.uint8)


def normal_image(n):
    """[3,H,W] unit normals, camera frame, to a picture; sky black."""
    colour = np.clip(0.5 + 0.5 * n * [[[1]], [[-1]], [[-1]]], 0, 1) * 255 * (np.abs(n).sum(0) > 0)
    return colour.transpose(1, 2, 0).astype(np.uint8)


def object_image(ob, objects):
    """[H,W] object numbers to a picture: a colour each, dim where the thing rests."""
    k = np.arange(256)
    colour = np.stack([k * 97 % 200 + 55, k * 57 % 200 + 55, k * 151 % 200 + 55], 1).astype(np.float32)
    colour[:len(objects)] *= np.where(np.abs(objects - np.eye(3, 4)).max((1, 2)) > 1e-6, 1.0, 0.35)[:, None]
    colour[0] = 0
    return colour[ob].astype(np.uint8)


def pictures(out, i, show, objects):
    """The rows of one cell, each [H,W,3] uint8."""
    rows = {'rgb': (out['rgb'][i].transpose(1, 2, 0) * 255).astype(np.uint8),
            'depth': np.repeat(inverse_depth_image(out['depth'][i])[..., None], 3, 2),
            'normal': normal_image(out['normal'][i]), 'object': object_image(out['object'][i], objects),
            'next': (out['rgb'][min(i + 1, len(out['rgb']) - 1)].transpose(1, 2, 0) * 255).astype(np.uint8)}
    return [rows[k] for k in ('rgb', *show)]


def main():
    a = argparse.ArgumentParser()
    a.add_argument('out')
    a.add_argument('--kind', default=None)
    a.add_argument('--lively', type=float, default=0.0, help='0..1: people and moving things in view')
    a.add_argument('--hard', action='store_true', help='surfaces without shape, views from close by and above')
    a.add_argument('--n', type=int, default=24)
    a.add_argument('--seed', type=int, default=0)
    a.add_argument('--size', default='256x192')
    a.add_argument('--device', default='cpu')
    a.add_argument('--assets', default='.assets')
    a.add_argument('--calm', action='store_true')
    a.add_argument('--samples', type=int, default=2, help='along a side of a pixel')
    a.add_argument('--show', default='depth', help='comma list of depth, normal, object, next')
    a = a.parse_args()
    show = a.show.split(',')
    moments = 2 if 'next' in show else 1
    W, H = map(int, a.size.split('x'))
    arrays, cat = assets.load(a.assets)
    r = Renderer(arrays, a.device)
    scenes = [make_scene(cat, a.seed + k, a.kind, 2, lively=a.lively, hard=a.hard) for k in range(a.n)]
    rng, cells, t = np.random.default_rng(a.seed), [], 0.0
    for k in range(0, a.n, 4):
        part = scenes[k:k + 4]
        t0 = time.time()
        picks = [(i, 0, m) for i in range(len(part)) for m in range(moments)]
        fx = random_effects(rng, len(picks), W, a.calm)
        out = r.draw(part, picks, W, H, fx, a.samples, ('rgb', 'depth', 'normal', 'object'))
        out = {k: v.cpu().numpy() for k, v in out.items()}
        t += time.time() - t0
        for i in range(len(part)):
            cells.append(np.concatenate(pictures(out, moments * i, show, part[i].objects), 0))
            depth = out['depth'][::moments]
            d = depth[i][depth[i] > 0]
            print(k + i, part[i].kind, len(part[i].insts), 'depth 5/50/95 %:',
                  np.round(np.percentile(d, (5, 50, 95)), 2) if len(d) else None)
    cols = max(1, 1536 // W)
    cells += [np.zeros_like(cells[0])] * (-len(cells) % cols)
    rows = [np.concatenate(cells[i:i + cols], 1) for i in range(0, len(cells), cols)]
    Image.fromarray(np.concatenate(rows, 0)).save(a.out)
    print(f'{moments * a.n} pictures in {t:.2f} s')


if __name__ == '__main__':
    main()
