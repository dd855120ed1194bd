"""Golden tensors: what PyTorch, in fp32 on the CPU, says the exported weights compute.

    python3 golden.py ../models ../../tests/golden/net

Writes depth.f32 (20 x 1 x 64 x 64), mask.f32 (5 x 1 x 64 x 64), motion.f32 and objmotion.f32 (20 x 6), of the networks
there are, raw little-endian fp32. Element i (C order over C, H, W) of the input of test t is
    u = splitmix64(t * 2^32 + i),  value = (u >> 40) * 2^-24 * 4 - 2
at 64x64 for depth and mask and H x W = 64 x 96 for the others. Weights are those of the ONNX files, fp16 or
bytes with scales, widened.
"""
import os
import sys

import numpy as np
import torch

from eval import load


def splitmix64(x):
    with np.errstate(over='ignore'):
        z = x + np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def golden_input(t, shape):
    i = np.arange(int(np.prod(shape)), dtype=np.uint64) + np.uint64(t) * np.uint64(1 << 32)
    u = splitmix64(i) >> np.uint64(40)
    return (u.astype(np.float64) * 2.0 ** -24 * 4 - 2).astype(np.float32).reshape(shape)


def golden_output(net, shape, n):
    """n results stacked, fp32; one input at a time, so that no batch effect can enter."""
    with torch.no_grad():
        return np.concatenate([net(torch.from_numpy(golden_input(t, shape))[None]).numpy() for t in range(n)]).astype('<f4')


def main():
    models, out = sys.argv[1:3]
    os.environ['CUDA_VISIBLE_DEVICES'] = ''
    for kind, n, shape in (('depth', 20, (3, 64, 64)), ('motion', 20, (8, 64, 96)), ('mask', 5, (3, 64, 64)),
                           ('objmotion', 20, (8, 64, 96))):
        if not os.path.exists(os.path.join(models, kind + '.onnx')):
            print(f'{kind}: no such network in {models}')
            continue
        net, _ = load(os.path.join(models, kind + '.onnx'), kind)
        y = golden_output(net.cpu(), shape, n)
        y.tofile(os.path.join(out, kind + '.f32'))
        print(kind, y.shape, 'mean', y.mean(), 'std', y.std(), 'range', y.min(), y.max())


if __name__ == '__main__':
    main()
