#!/usr/bin/env python3
"""peer_torch.py [--model FILE] [--batches 1,32] [--ways eager,graph,compile] - the depth network in PyTorch

The peer of bench_cuda_net: the same weights (out of the ONNX file, into the folded DepthNet of gpu/train/model.py),
fp16, channels-last, 416x128, on the same card. Three ways: called as it is, as one CUDA graph, and through
torch.compile(mode="max-autotune"), which records graphs itself. Medians of whole calls by events, the input
already on the device. Before them what the card can do: an fp16 product of 8192x8192 matrices of random
numbers, and a copy within its memory. Lines "@ NAME VALUE UNIT" as tests/bench/run reads them; the slowest way to
start comes last, so that what was measured is kept if the time allowed ends.
"""
import argparse
import os
import statistics
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..')
sys.path.insert(0, os.path.join(ROOT, 'gpu', 'train'))

try:
    import torch

    import export
    import model
except ImportError as e:
    print(f'peer_torch: {e}')
    sys.exit(77)

WIDTH, HEIGHT = 416, 128
RUNS, WARM = 200, 20


def out(name, value, unit):
    print(f'@ torch.{name} {value:.5f} {unit}', flush=True)


def median_ms(call, runs=RUNS, warm=WARM):
    """Median of runs between events; the device is kept busy while the host fills the queue."""
    for _ in range(warm):
        call()
    torch.cuda.synchronize()
    marks = [torch.cuda.Event(enable_timing=True) for _ in range(runs + 1)]
    torch.cuda._sleep(40_000_000)
    for i in range(runs):
        marks[i].record()
        call()
    marks[runs].record()
    torch.cuda.synchronize()
    return statistics.median(a.elapsed_time(b) for a, b in zip(marks, marks[1:]))


def measure_card():
    n = 8192
    a, b = (torch.randn(n, n, device='cuda', dtype=torch.float16) for _ in 'ab')
    c = torch.empty_like(a)
    ms = median_ms(lambda: torch.matmul(a, b, out=c), 20, 5)
    print(f'matmul {n}^3 fp16: {ms:.3f} ms, {2e-9 * n ** 3 / ms:.0f} TFLOP/s')
    out('matmul_fp16', 2e-6 * n ** 3 / ms, 'GFLOP/s')
    a, b = (torch.empty(1 << 30, device='cuda', dtype=torch.uint8) for _ in 'ab')
    ms = median_ms(lambda: b.copy_(a), 20, 5)
    print(f'copy of 1 GiB within the device: {ms:.3f} ms, {2e-6 * (1 << 30) / ms:.0f} GB/s read and written')
    out('copy_rate', 2e-6 * (1 << 30) / ms, 'GB/s')


def load(path):
    weights = export.weights(path)  # of 8 or 16 bits in the file, here as an executor sees them
    net = model.DepthNet().fold()
    names = net.state_dict().keys()
    missing = [n for n in names if n not in weights]
    if missing:
        raise SystemExit(f'peer_torch: {path} has no {missing[:5]}')
    net.load_state_dict({n: torch.from_numpy(weights[n]) for n in names})
    return net.eval().cuda().half().to(memory_format=torch.channels_last)


def as_graph(net, x):
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(5):
            net(x)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = net(x)
    return graph.replay, y


def picture(batch):
    g = torch.Generator(device='cuda').manual_seed(1)
    x = torch.randn(batch, 3, HEIGHT, WIDTH, device='cuda', generator=g)
    return x.half().contiguous(memory_format=torch.channels_last)


def measure(net, way, batch):
    x = picture(batch)
    want = net(x).float()
    if way == 'eager':
        call, y = (lambda: net(x)), None
    elif way == 'graph':
        call, y = as_graph(net, x)
    else:
        torch._dynamo.reset()
        compiled = torch.compile(net, mode='max-autotune', dynamic=False)
        call, y = (lambda: compiled(x)), None
    for _ in range(3):
        got = call()
    y = got if y is None else y
    wrong = ((y.float() - want).abs().max() / want.abs().max()).item()
    ms = median_ms(call)
    print(f'depth, batch {batch:2d}, {way:8s} {ms:9.4f} ms  {ms / batch:9.4f} ms a picture  (off by {wrong:.1e})')
    out(f'depth.b{batch}_{way}', ms, 'ms')


def main():
    a = argparse.ArgumentParser()
    a.add_argument('--model', default=os.path.join(ROOT, 'gpu', 'models', 'depth.onnx'))
    a.add_argument('--batches', default='1,32')
    a.add_argument('--ways', default='eager,graph,compile')
    a = a.parse_args()
    if not torch.cuda.is_available():
        print('peer_torch: PyTorch sees no CUDA device')
        sys.exit(77)
    torch.backends.cudnn.benchmark = True
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = True
    print(f'PyTorch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}, {torch.cuda.get_device_name()}')
    with torch.inference_mode():
        measure_card()
        net = load(a.model)
        for way in a.ways.split(','):
            for batch in a.batches.split(','):
                measure(net, way, int(batch))


if __name__ == '__main__':
    main()
