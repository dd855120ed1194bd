"""Contact sheet of scenes: python3 -m scenes.sheet OUT.png [--kind room] [--n 24] [--size 256x192] [--device cpu]

Each cell shows the picture and its inverse depth. For looking at what training sees.
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


def main():
    a = argparse.ArgumentParser()
    a.add_argument('out')
    a.add_argument('--kind', default=None)
    a.add_argument('--n', type=int, default=24)
    a.add_argument('--seed', type=int, default=0)
    a.add_argument('--size', default='256x192')
    a.add_argument('--device', default='cpu')
    a.add_argument('--assets', default='.assets')
    a.add_argument('--calm', action='store_true')
    a = a.parse_args()
    W, H = map(int, a.size.split('x'))
    arrays, cat = assets.load(a.assets)
    r = Renderer(arrays, a.device)
    scenes = [make_scene(cat, a.seed + k, a.kind, 2) for k in range(a.n)]
    rng, cells, t = np.random.default_rng(a.seed), [], 0.0
    for k in range(0, a.n, 4):
        part = scenes[k:k + 4]
        t0 = time.time()
        out = r.draw(part, [(i, 0, 0) for i in range(len(part))], W, H, random_effects(rng, len(part), W, a.calm))
        rgb, depth = out['rgb'].cpu().numpy(), out['depth'].cpu().numpy()
        t += time.time() - t0
        for i in range(len(part)):
            cells.append(np.concatenate([(rgb[i].transpose(1, 2, 0) * 255).astype(np.uint8),
                                         np.repeat(inverse_depth_image(depth[i])[..., None], 3, 2)], 0))
            d = depth[i][depth[i] > 0]
            print(k + i, part[i].kind, len(part[i].insts), 'depth 5/50/95 %:', np.round(np.percentile(d, (5, 50, 95)), 2) if len(d) else None)
    cols = max(1, 1536 // W)
    rows = [np.concatenate(cells[i:i + cols] + [np.zeros_like(cells[0])] * (cols - len(cells[i:i + cols])), 1) for i in range(0, len(cells), cols)]
    Image.fromarray(np.concatenate(rows, 0)).save(a.out)
    print(f'{a.n} pictures in {t:.2f} s')


if __name__ == '__main__':
    main()
