"""Train a network on pictures drawn as it learns.

    python3 train.py --task depth --minutes 8 --out /tmp/depth [--init depth.onnx | --resume /tmp/depth/state.pt]

The length is given in minutes, not steps: the learning rate follows a cosine over that time, so a run
ends well whatever the machine does. `state.pt` (everything, for --resume) and `ema.pt` (averaged weights,
what eval.py and export.py read) are written every --save seconds and at the end; `log.txt` has one line
per 200 steps. --init starts from weights alone (.pt or an exported .onnx) with a fresh optimiser.
With the same seed the scenes are the same; their order in the batches depends on the speed of the worker
processes.
"""
import argparse
import copy
import json
import math
import os
import time

import numpy as np
import torch

import model
from scenes import assets, render, sample
from tasks import TASKS, draw


def load_weights(net, path, warm):
    """Averaged weights of a run, or an exported network (batch norms restored on the batch `warm`)."""
    if path.endswith('.onnx'):
        import onnx
        from onnx import numpy_helper
        g = onnx.load(path).graph
        net.load_folded({i.name: torch.from_numpy(numpy_helper.to_array(i).astype(np.float32)).to(warm.device) for i in g.initializer}, warm)
    else:
        net.load_state_dict(torch.load(path, map_location='cpu'))


class Stepper:
    """The whole step (forward, backward, clip, AdamW, average) as one CUDA graph per picture shape."""

    def __init__(self, task, net, ema, lr, compile_net):
        self.task, self.net, self.ema = task, net, ema
        self.lr = torch.tensor(lr, device='cuda')
        decay = [p for p in net.parameters() if p.ndim > 1]
        rest = [p for p in net.parameters() if p.ndim <= 1]
        self.opt = torch.optim.AdamW([{'params': decay, 'weight_decay': 0.02}, {'params': rest, 'weight_decay': 0.0}],
                                     lr=self.lr, betas=(0.9, 0.99), fused=True, capturable=True)
        self.keep = torch.tensor(0.99, device='cuda')           # how much of the average stays
        self.fn = torch.compile(net, dynamic=False) if compile_net else net
        self.src = list(net.parameters()) + [b for b in net.buffers() if b.is_floating_point()]
        self.dst = list(ema.parameters()) + [b for b in ema.buffers() if b.is_floating_point()]
        self.graphs, self.bufs, self.total, self.mempool = {}, {}, torch.zeros(2, device='cuda'), None

    def step(self, buf):
        self.opt.zero_grad(set_to_none=True)
        with torch.autocast('cuda', torch.bfloat16, cache_enabled=False):
            loss, shown = self.task.loss(self.fn, buf)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.net.parameters(), 1.0, foreach=True)
        self.opt.step()
        with torch.no_grad():
            torch._foreach_mul_(self.dst, self.keep)
            torch._foreach_add_(self.dst, torch._foreach_mul(self.src, 1.0 - self.keep))
            self.total += torch.stack([loss.detach(), shown])

    def prepare(self, shape, first):
        """Warm up and capture the graph of one shape. `first` fills its buffers with a real batch."""
        W, H = shape[:2]
        buf = self.bufs[W, H] = self.task.buffers(W, H, 'cuda')
        first(buf)
        s = torch.cuda.Stream()
        s.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(s):
            for _ in range(3):
                self.step(buf)
        torch.cuda.current_stream().wait_stream(s)
        g = torch.cuda.CUDAGraph()
        with torch.cuda.graph(g, pool=self.mempool):
            self.step(buf)
        self.mempool = self.mempool or g.pool()
        self.graphs[W, H] = g
        torch.cuda.synchronize()                # how long the step takes by itself; the learning rate is still ~0
        t = time.time()
        for _ in range(5):
            g.replay()
        torch.cuda.synchronize()
        return (time.time() - t) / 5 * 1e3


def main():
    a = argparse.ArgumentParser()
    a.add_argument('--task', choices=list(TASKS), default='depth')
    a.add_argument('--minutes', type=float, default=8)
    a.add_argument('--out', default='/tmp/run')
    a.add_argument('--assets', default='.assets')
    a.add_argument('--init')
    a.add_argument('--resume')
    a.add_argument('--seed', type=int, default=1)
    a.add_argument('--lr', type=float, default=5e-4)
    a.add_argument('--workers', type=int, default=12)
    a.add_argument('--save', type=float, default=60)
    a.add_argument('--compile', action='store_true', help='torch.compile: 1-2 minutes of set-up')
    a.add_argument('--shapes', type=int, help='use the first N picture shapes only (for trials)')
    a = a.parse_args()
    os.makedirs(a.out, exist_ok=True)
    log = open(os.path.join(a.out, 'log.txt'), 'a', buffering=1)

    def say(text):
        print(text, flush=True)
        log.write(text + '\n')

    t0 = time.time()
    arrays, cat = assets.load(a.assets)
    pool = sample.Pool(cat, a.seed, workers=a.workers)          # forks before CUDA starts
    torch.manual_seed(a.seed)
    torch.backends.cudnn.benchmark = True
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    rng = np.random.default_rng(a.seed)
    task, renderer = TASKS[a.task](), render.Renderer(arrays, 'cuda')
    task.shapes = task.shapes[:a.shapes]
    net = model.NETS[a.task]().cuda().to(memory_format=torch.channels_last)
    say(f'{a.task}: {model.n_params(net) / 1e6:.2f} M parameters, set up in {time.time() - t0:.0f} s; {json.dumps(vars(a))}')
    if a.init:
        buf = task.buffers(*task.shapes[0][:2], 'cuda')
        task.fill(buf, draw(task, renderer, pool, rng, task.shapes[0]), rng)
        load_weights(net, a.init, next(iter(buf.values())))
    net.train()
    ema = copy.deepcopy(net).requires_grad_(False)
    st = Stepper(task, net, ema, 1e-6, a.compile)
    step, spent = 0, 0.0
    if a.resume:
        s = torch.load(a.resume, map_location='cuda')
        net.load_state_dict(s['net'])
        ema.load_state_dict(s['ema'])
        st.opt.load_state_dict(s['opt'])
        for g in st.opt.param_groups:
            g['lr'] = st.lr
        step, spent = s['step'], s['spent']
    for shape in task.shapes:
        ms = st.prepare(shape, lambda b: task.fill(b, draw(task, renderer, pool, rng, shape), rng))
        say(f'graph {shape[:2]} after {time.time() - t0:.0f} s: {ms:.1f} ms a step of {task.batch_size()}')

    def save():
        torch.save({'net': net.state_dict(), 'ema': ema.state_dict(), 'opt': st.opt.state_dict(), 'step': step, 'spent': spent},
                   os.path.join(a.out, 'state.tmp'))
        os.replace(os.path.join(a.out, 'state.tmp'), os.path.join(a.out, 'state.pt'))
        torch.save(ema.state_dict(), os.path.join(a.out, 'ema.tmp'))
        os.replace(os.path.join(a.out, 'ema.tmp'), os.path.join(a.out, 'ema.pt'))

    side, main_stream = torch.cuda.Stream(), torch.cuda.current_stream()
    shares = np.array([s[2] for s in task.shapes])
    shares = shares / shares.sum()
    free = [torch.cuda.Event(), torch.cuda.Event()]             # a drawn batch has been read

    def draw_next(k):
        shape = task.shapes[rng.choice(len(shares), p=shares)]
        with torch.cuda.stream(side):
            side.wait_event(free[k & 1])
            out = draw(task, renderer, pool, rng, shape)
            done = torch.cuda.Event()
            done.record(side)
        return shape, out, done

    start = last_save = last_log = time.time()
    last_step, first_made, pending = step, pool.made, draw_next(0)
    k = 0
    while True:
        now = time.time()
        part = (spent + now - start) / (a.minutes * 60)
        if part >= 1:
            break
        warm = min(1.0, (k + 1) / 400)
        st.lr.fill_(a.lr * warm * (0.5 + 0.5 * math.cos(math.pi * min(part, 1.0))) + 1e-7)
        st.keep.fill_(min(0.9995, 1 - 8.0 / (step + 16)))
        shape, out, done = pending
        main_stream.wait_event(done)
        task.fill(st.bufs[shape[:2]], out, rng)
        free[k & 1].record(main_stream)
        st.graphs[shape[:2]].replay()
        pool.refill()
        k += 1
        step += 1
        pending = draw_next(k)
        if step % 200 == 0:
            loss = (st.total / 200).tolist()
            st.total.zero_()
            now = time.time()
            say(f'step {step} time {spent + now - start:.0f} s loss {loss[0]:.4f} shown {loss[1]:.4f} '
                f'lr {st.lr.item():.2e} {(step - last_step) * task.batch_size() / (now - last_log):.0f} samples/s '
                f'{(pool.made - first_made) / (now - start):.0f} scenes/s')
            last_log, last_step = now, step
            if not math.isfinite(loss[0]):
                raise SystemExit('loss is not finite')
        if now - last_save > a.save:
            last_save = now
            save()
    torch.cuda.synchronize()
    spent += time.time() - start
    save()
    say(f'done: {step} steps, {step * task.batch_size()} samples, {spent:.0f} s, peak memory {torch.cuda.max_memory_allocated() >> 20} MiB')
    pool.close()


if __name__ == '__main__':
    main()
