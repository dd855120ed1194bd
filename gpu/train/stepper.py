"""One training step: forward, backward, clip, AdamW, average. On a GPU as one CUDA graph per picture shape."""
import copy
import time

import torch

import state


class Stepper:
    """Subclasses say how a step runs. `parts` are summed in `total` until the caller reads them."""

    def __init__(self, task, nets, lr_tensor, **adam):
        self.task, self.nets = task, nets
        self.ema = copy.deepcopy(nets).requires_grad_(False)
        decay = [p for p in nets.parameters() if p.ndim > 1]
        rest = [p for p in nets.parameters() if p.ndim <= 1]
        groups = [{'params': decay, 'weight_decay': 0.02}, {'params': rest, 'weight_decay': 0.0}]
        self.opt = torch.optim.AdamW(groups, lr=lr_tensor, betas=(0.9, 0.99), **adam)
        self.pairs = self.averaged()
        self.bufs, self.frozen = {}, False

    def averaged(self):
        src = list(self.nets.parameters()) + [b for b in self.nets.buffers() if b.is_floating_point()]
        dst = list(self.ema.parameters()) + [b for b in self.ema.buffers() if b.is_floating_point()]
        return src, dst

    def norms(self):
        return [m for m in self.nets.modules() if isinstance(m, torch.nn.BatchNorm2d)]

    def freeze(self):
        """From now on batch norms use their running averages, the smoothed ones, as the exported network will."""
        for a, b in zip(self.norms(), (m for m in self.ema.modules() if isinstance(m, torch.nn.BatchNorm2d))):
            a.running_mean.copy_(b.running_mean)
            a.running_var.copy_(b.running_var)
        self.rest_norms()

    def rest_norms(self):
        for m in self.norms():
            m.eval()
        self.frozen = True

    def average(self, keep):
        """ema = keep * ema + (1 - keep) * weights."""
        src, dst = self.pairs
        torch._foreach_mul_(dst, keep)
        torch._foreach_add_(dst, torch._foreach_mul(src, 1.0 - keep))

    def load(self, s):
        """A saved state, into the tensors that are in use. True if the optimiser came with it."""
        own = self.nets.state_dict()
        for saved, net in ((s['net'], self.nets), (s['ema'], self.ema)):
            net.load_state_dict({k: v for k, v in saved.items() if k in own})
        return state.restore_optimiser(self.opt, s['opt'])

    def saved(self):
        return {'net': self.nets.state_dict(), 'ema': self.ema.state_dict(),
                'opt': {'state': self.opt.state_dict()['state']}, 'frozen': self.frozen}


class CpuStepper(Stepper):
    """Plain steps in fp32: for trying a command, and for tests."""
    device = 'cpu'

    def __init__(self, task, nets, compile_nets=False):
        super().__init__(task, nets, 1e-6)
        self.total = torch.zeros(1 + len(task.parts))

    def set(self, lr, keep):
        self.keep = keep
        for group in self.opt.param_groups:
            group['lr'] = lr

    def prepare(self, shape, first):
        self.bufs[shape[:2]] = self.task.buffers(*shape[:2], 'cpu')
        return 0.0

    def run(self, shape):
        self.opt.zero_grad(set_to_none=True)
        loss, parts = self.task.loss(self.nets, self.bufs[shape[:2]])
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.nets.parameters(), 1.0)
        self.opt.step()
        with torch.no_grad():
            self.average(self.keep)
            self.total += torch.cat([loss.detach()[None], parts])


class CudaStepper(Stepper):
    device = 'cuda'

    def __init__(self, task, nets, compile_nets=False):
        self.lr = torch.tensor(0.0, device='cuda')
        super().__init__(task, nets, self.lr, fused=True, capturable=True)
        self.keep = torch.tensor(0.99, device='cuda')           # how much of the average stays
        if compile_nets:        # one variant a picture shape, and again when batch norms rest
            for name in ('recompile_limit', 'cache_size_limit'):
                if hasattr(torch._dynamo.config, name):
                    setattr(torch._dynamo.config, name, 64)
        self.fn = {k: torch.compile(m, dynamic=False) if compile_nets and k != 'prior' else m
                   for k, m in nets.items()}
        self.total = torch.zeros(1 + len(task.parts), device='cuda')
        self.graphs, self.mempool = {}, None

    def set(self, lr, keep):
        self.lr.fill_(lr)
        self.keep.fill_(keep)

    def step(self, buf):
        self.opt.zero_grad(set_to_none=True)
        with torch.autocast('cuda', torch.bfloat16, cache_enabled=False):
            loss, parts = self.task.loss(self.fn, buf)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.nets.parameters(), 1.0, foreach=True)
        self.opt.step()
        with torch.no_grad():
            self.average(self.keep)
            self.total += torch.cat([loss.detach()[None], parts])

    def prepare(self, shape, first):
        """Warm up and capture the graph of one shape. `first` fills its buffers with a real batch.

        The steps of the warm-up are real, at learning rate 0: callers load a saved state afterwards.
        """
        W, H = shape[:2]
        if (W, H) not in self.bufs:
            self.bufs[W, H] = self.task.buffers(W, H, 'cuda')
            first(self.bufs[W, H])
        buf, total = self.bufs[W, H], self.total.clone()
        self.set(0.0, 1.0)
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
        torch.cuda.synchronize()                # how long the step takes by itself
        t = time.time()
        for _ in range(5):
            g.replay()
        torch.cuda.synchronize()
        self.total.copy_(total)
        return (time.time() - t) / 5 * 1e3

    def freeze(self):
        super().freeze()
        self.graphs.clear()
        self.mempool = None                     # the pool went with its graphs
        for W, H in self.bufs:
            self.prepare((W, H), None)

    def run(self, shape):
        self.graphs[shape[:2]].replay()


def make(device, *args):
    return (CudaStepper if device == 'cuda' else CpuStepper)(*args)
