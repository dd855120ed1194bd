"""Draws the same views on the GPU and on the CPU and compares them: python3 -m scenes.check [--assets .assets]

Depth may differ by rounding on surfaces (1e-4 of it) and by a whole surface on a few edge samples; the
pictures by what follows from that. Exit status 1 if more than 0.5 % of the pixels differ. Also times the GPU.
"""
import argparse
import sys
import time

import numpy as np
import torch

from . import assets
from .render import Renderer, random_effects
from .sample import make_scene


def main():
    a = argparse.ArgumentParser()
    a.add_argument('--assets', default='.assets')
    a = a.parse_args()
    arrays, cat = assets.load(a.assets)
    gpu, cpu = Renderer(arrays, 'cuda'), Renderer(arrays, 'cpu')
    scenes = [make_scene(cat, 500 + k, kind) for k, kind in enumerate(('room', 'corridor', 'desks', 'street'))]
    picks = [(s, c, 0) for s in range(4) for c in range(2)]
    fx = random_effects(np.random.default_rng(1), len(picks), 256)
    g, c = gpu.draw(scenes, picks, 256, 192, fx), cpu.draw(scenes, picks, 256, 192, fx)
    dz, dc = (g['depth'].cpu() - c['depth']).abs(), (g['rgb'].cpu() - c['rgb']).abs().amax(1)
    bad_z = (dz > 1e-4 * c['depth'] + 1e-5).float().mean().item()
    bad_c = (dc > 0.05).float().mean().item()
    print(f'depth differs in {100 * bad_z:.3f} % of the pixels, colour by over 0.05 in {100 * bad_c:.3f} %')
    scenes = [make_scene(cat, 900 + k) for k in range(16)]
    picks = [(s, k, 0) for s in range(16) for k in range(2)]
    for W, H in ((256, 192), (320, 256), (416, 128)):
        fx = random_effects(np.random.default_rng(1), 32, W)
        for _ in range(3):
            gpu.draw(scenes, picks, W, H, fx)
        torch.cuda.synchronize()
        t = time.time()
        for _ in range(20):
            gpu.draw(scenes, picks, W, H, fx)
        host = (time.time() - t) / 20
        torch.cuda.synchronize()
        t = (time.time() - t) / 20
        print(f'{W}x{H}: {t * 1e3:.2f} ms for 32 pictures, {32 / t:.0f} pictures/s, host {host * 1e3:.2f} ms, chunks, large, dropped, bands {gpu.work[:16].view(torch.int32).tolist()}')
    sys.exit(bad_z > 0.005 or bad_c > 0.02)


if __name__ == '__main__':
    main()
