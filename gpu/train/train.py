"""Train networks on pictures drawn as they learn.

    python3 train.py --task depth --minutes 8 --out OUT [--init depth.onnx | --resume OUT/state.pt]
                     [--total-minutes 60]

A run may come in pieces: --minutes (or --steps) is this piece, --total-minutes (or --total-steps) the whole run,
over which the learning rate follows a cosine. --resume goes on with everything and draws scenes that were not seen
before; --init starts from weights alone (NAME.pt or an exported NAME.onnx, one for each network) with a fresh
optimiser.
SIGTERM and SIGINT end the piece after the step in hand, with its state written. Left in OUT:
    state.pt      everything, for --resume            NAME.pt     averaged weights of each network
    record.jsonl  what was run and how it went        curves.png  the same as a picture
    worst.png     the worst pictures of held-out scenes
Every number drawn at random depends on --seed and the step alone. With --workers 0 scenes do too, so that a run
on the CPU in two pieces ends where the same run in one piece does; otherwise the order of scenes depends on the
workers' speed.
"""
import argparse
import hashlib
import json
import math
import os
import platform
import signal
import time

import numpy as np
import torch

import curves
import heldout
import model
import state
import stepper
import tasks
from joint import Joint
from scenes import assets, render, sample

# of sample.Pool: seeds of runs lie 100 million scenes apart, those of a run's pieces 2 million
POOL_SEEDS, PIECE_SEEDS = 1000, 20

INPUT = {'depth': 'image', 'mask': 'image', 'motion': 'pair', 'objmotion': 'cut'}    # a network's buffer

TASKS = {t.name: t for t in (tasks.Depth, tasks.Motion, tasks.Mask, tasks.ObjMotion, Joint)}


def load_weights(net, path, warm):
    """Averaged weights of a run, or an exported network (batch norms restored on the batch `warm`)."""
    if path.endswith('.onnx'):
        import export       # a host that only trains from random numbers need not have onnx
        net.load_folded({k: torch.from_numpy(v).to(warm.device) for k, v in export.weights(path).items()}, warm)
    else:
        net.load_state_dict(state.read(path))


class Direct:
    """Scenes without worker processes: what `take` returns depends on the seed and the step alone."""

    def __init__(self, cat, seed, lively=0.0, hard=0.0):
        self.cat, self.seed, self.step, self.made, self.lively, self.hard = cat, seed, 0, 0, lively, hard

    def at(self, step):
        self.step, self.count = step, 0

    def take(self, kind, n):
        first = self.seed + self.step * 64 + self.count
        self.count += n
        self.made += n
        return [sample.make_scene(self.cat, s, kind, lively=sample.liveliness(s, self.lively),
                                  hard=sample.hardness(s, self.hard)) for s in range(first, first + n)]

    def refill(self):
        pass

    def close(self):
        pass


def arguments(argv=None):
    a = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    a.add_argument('--task', choices=list(TASKS), default='depth')
    a.add_argument('--minutes', type=float, default=8)
    a.add_argument('--steps', type=int, help='this piece in steps, not minutes')
    a.add_argument('--total-minutes', type=float, help='the whole run (default: this piece, or what the state says)')
    a.add_argument('--total-steps', type=int)
    a.add_argument('--out', default='/tmp/run')
    a.add_argument('--assets', default='.assets')
    a.add_argument('--init', nargs='+', default=[], metavar='FILE', help='NAME.pt or NAME.onnx, NAME a network')
    a.add_argument('--resume')
    a.add_argument('--video', nargs='+', default=[], metavar='FOLDER', help='real frames without truth (task joint)')
    a.add_argument('--video-masks', help='mask network (mask.pt) that finds movable things in the video')
    a.add_argument('--seed', type=int, default=1)
    a.add_argument('--lr', type=float, default=5e-4)
    a.add_argument('--warmup', type=int, default=400, help='steps, where the optimiser starts fresh')
    a.add_argument('--freeze-bn', type=float, default=0.85, metavar='PART',
                   help='of the run; then batch norms rest (0 with --init: the network goes on as it was exported)')
    a.add_argument('--workers', type=int, default=12)
    a.add_argument('--save', type=float, default=60, help='seconds')
    a.add_argument('--evaluate', type=float, default=150, help='seconds between held-out measures, 0 = at the end')
    a.add_argument('--held-out', type=int, default=8, help='scenes of a kind (three times as many for mask and objmotion)')
    a.add_argument('--log', type=int, default=200, help='steps')
    a.add_argument('--compile', action='store_true', help='torch.compile: 1-2 minutes of set-up')
    a.add_argument('--shapes', type=int, help='use the first N picture shapes only (for trials)')
    a.add_argument('--scenes', type=int, help='scenes in a batch (default: the task says)')
    a.add_argument('--hard', type=float, help='share of hard scenes (default: the task says)')
    a.add_argument('--style', type=float, default=0.0,
                   help='share of pictures with other light, half of it with other texture (task depth)')
    a.add_argument('--shape', type=float, default=0.0,
                   help='weight of what surfaces are bent or turned by, whatever their distance (task depth)')
    a.add_argument('--samples', type=int, choices=(1, 2), default=2, help='per pixel side, when drawing')
    a.add_argument('--device', choices=('cuda', 'cpu'), default='cuda' if torch.cuda.is_available() else 'cpu')
    a.add_argument('--tiny', action='store_true', help='64x64 pictures, 2 scenes: does it run?')
    return a.parse_args(argv)


class Run:
    def __init__(self, a):
        self.a, self.t0, self.stop = a, time.time(), None
        os.makedirs(a.out, exist_ok=True)
        self.record = open(self.path('record.jsonl'), 'a', buffering=1)
        saved = state.read(a.resume) if a.resume else {}
        if saved and saved['task'] != a.task:
            raise SystemExit(f'{a.resume} is of task {saved["task"]}')
        self.step, self.spent = saved.get('step', 0), saved.get('spent', 0.0)
        self.piece = saved.get('piece', 0) + 1
        self.made_before = saved.get('made', 0)
        self.total = dict(saved.get('total') or {})
        if a.total_steps or a.total_minutes:
            self.total = {'steps': a.total_steps} if a.total_steps else {'seconds': a.total_minutes * 60}
        if not self.total:
            self.total = {'steps': a.steps} if a.steps else {'seconds': a.minutes * 60}
        self.set_up(saved)
        # after the pool's workers were forked: they are to die of a signal
        for s in (signal.SIGTERM, signal.SIGINT):
            signal.signal(s, self.on_signal)
        self.note('start', **self.started)

    def path(self, name):
        return os.path.join(self.a.out, name)

    def on_signal(self, number, frame):
        self.stop = signal.Signals(number).name

    def note(self, kind, **values):
        line = {'kind': kind, 'step': self.step, 'time': round(self.clock(), 1), **values}
        self.record.write(json.dumps(line) + '\n')
        short = {k: (round(v, 5) if isinstance(v, float) else v) for k, v in values.items() if k != 'measures'}
        print(f'{kind} step {self.step} {self.clock():.0f} s {json.dumps(short)}', flush=True)

    def clock(self):
        """Seconds of training so far, earlier pieces too."""
        return self.spent + (time.time() - self.start if hasattr(self, 'start') else 0.0)

    def set_up(self, saved):
        a = self.a
        arrays, cat = assets.load(a.assets)
        first = a.seed * POOL_SEEDS + PIECE_SEEDS * (self.piece - 1)
        self.task = TASKS[a.task]()
        # worker processes fork before CUDA starts
        shares = self.task.lively, self.task.hard if a.hard is None else a.hard
        self.pool = sample.Pool(cat, first, workers=a.workers, lively=shares[0], hard=shares[1]) if a.workers \
            else Direct(cat, a.seed * 1_000_003, *shares)
        torch.manual_seed(a.seed)
        torch.backends.cudnn.benchmark = True
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
        self.renderer = render.Renderer(arrays, a.device)
        self.task.shapes, self.task.style = self.task.shapes[:a.shapes], a.style
        self.task.local_weight = a.shape
        self.task.n_scenes = a.scenes or self.task.n_scenes
        if a.tiny:
            self.task.shapes, self.task.n_scenes = [(64, 64, 1.0, 0.5)], 2
        self.videos = self.open_videos()
        nets = self.task.make().to(a.device).to(memory_format=torch.channels_last)
        rng = self.rng_of(self.step)
        self.init(nets, a.init, rng)
        self.st = stepper.make(a.device, self.task, nets.train(), a.compile)
        if saved.get('frozen') or a.freeze_bn <= 0:
            self.st.rest_norms()
        for shape in self.task.shapes:
            ms = self.st.prepare(shape, lambda b: self.fill(b, rng, shape))
            print(f'{shape[:2]} ready after {time.time() - self.t0:.0f} s: {ms:.1f} ms a step', flush=True)
        warm = not (saved and self.st.load(saved))
        self.warm_from = self.step if warm else -10 ** 9
        sizes = [(64, 64)] * 2 if a.tiny else []
        self.held = heldout.HeldOut(self.renderer, cat, a.held_out, *sizes, ss=a.samples, nets=self.task.nets)
        self.started = {
            'piece': self.piece, 'args': vars(a), 'total': self.total, 'parameters': model.n_params(nets),
            'pack': credits_digest(a.assets) if cat.pack else None, 'optimiser': 'fresh' if warm else 'resumed',
            'torch': torch.__version__, 'video': self.videos.record() if self.videos else [],
            'device': torch.cuda.get_device_name() if a.device == 'cuda' else platform.processor() or 'cpu',
            'init': [file_digest(p) for p in a.init]}

    def init(self, nets, files, rng):
        for path in files:
            name = os.path.basename(path).split('.')[0]
            if name not in nets:
                raise SystemExit(f'--init {path}: must be named after a network of the task: {list(nets)}')
            shape = self.task.shapes[0]
            buf = self.task.buffers(*shape[:2], self.a.device)
            self.fill(buf, rng, shape)
            load_weights(nets[name], path, buf[INPUT[name]])

    def fill(self, buf, rng, shape):
        self.task.fill(buf, self.drawn(rng, shape, self.step), rng, self.videos)

    def open_videos(self):
        if not self.a.video:
            return None
        if self.a.task != 'joint':
            raise SystemExit('--video needs --task joint: depth alone cannot say how the camera moved')
        import video
        videos = video.Videos(self.a.video, self.a.device)
        self.task.video = True
        if self.a.video_masks:
            net = model.MaskNet()
            net.load_state_dict(state.read(self.a.video_masks))
            videos.find_things(net.eval().to(self.a.device), tasks.normalise)
        return videos

    def rng_of(self, step):
        return np.random.default_rng((self.a.seed, step))

    def drawn(self, rng, shape, step):
        if isinstance(self.pool, Direct):
            self.pool.at(step)
        return tasks.draw(self.task, self.renderer, self.pool, rng, shape, self.a.samples)

    def part(self):
        """How much of the whole run is done, 0..1."""
        return self.step / self.total['steps'] if 'steps' in self.total else self.clock() / self.total['seconds']

    def over(self):
        a = self.a
        if self.stop or self.part() >= 1:
            return True
        return self.step - self.first >= a.steps if a.steps else time.time() - self.start >= a.minutes * 60

    def save(self):
        state.write(self.path('state.pt'), {
            **self.st.saved(), 'task': self.a.task, 'step': self.step, 'spent': self.clock(), 'total': self.total,
            'piece': self.piece, 'made': self.made_before + self.pool.made, 'seed': self.a.seed})
        for name in self.task.nets:
            state.write(self.path(name + '.pt'), self.st.ema[name].state_dict())

    def evaluate(self):
        cells = []
        measures = heldout.flatten(self.held.measure(self.st.ema, cells))
        self.note('eval', measures=measures)
        print('  ' + '\n  '.join(f'{k} {v:.4f}' for k, v in measures.items()), flush=True)
        heldout.sheet(cells, self.path('worst.png'))
        curves.draw(curves.read(self.path('record.jsonl')), self.path('curves.png'))

    def report(self, since):
        n, seconds = self.step - since[0], time.time() - since[1]
        mean = (self.st.total / max(n, 1)).tolist()
        self.st.total.zero_()
        rate = n * self.task.batch_size() / seconds
        self.note('train', loss=mean[0], **dict(zip(self.task.parts, mean[1:])), lr=self.lr, rate=rate)
        if not math.isfinite(mean[0]):
            raise SystemExit('loss is not finite')
        return self.step, time.time()

    def advance(self, drawn):
        """One step on pictures that were drawn for it: (shape, pictures, random numbers)."""
        part, (shape, out, rng) = min(self.part(), 1.0), drawn
        if part >= self.a.freeze_bn and not self.st.frozen:
            self.st.freeze()
        warm = min(1.0, (self.step - self.warm_from + 1) / max(self.a.warmup, 1))
        self.lr = self.a.lr * warm * (0.5 + 0.5 * math.cos(math.pi * part)) + 1e-7
        self.st.set(self.lr, min(0.9995, 1 - 8.0 / (self.step + 16)))
        self.task.fill(self.st.bufs[shape[:2]], out, rng, self.videos)

    def train(self):
        feed = Feed(self)
        self.start, self.first = time.time(), self.step
        since, saved, evaluated = (self.step, self.start), self.start, self.start
        while not self.over():
            drawn = feed.take()
            self.advance(drawn)
            feed.copied()
            self.st.run(drawn[0])
            self.pool.refill()
            self.step += 1
            feed.ahead(self.step)
            if self.step % self.a.log == 0:
                since = self.report(since)
            if time.time() - saved > self.a.save:
                self.save()
                saved = time.time()
            if self.a.evaluate and time.time() - evaluated > self.a.evaluate:
                self.evaluate()
                evaluated = time.time()
        if self.a.device == 'cuda':
            torch.cuda.synchronize()
        if self.step > since[0]:
            self.report(since)
        self.save()
        self.evaluate()
        reason = self.stop or ('run complete' if self.part() >= 1 else 'piece complete')
        memory = torch.cuda.max_memory_allocated() >> 20 if self.a.device == 'cuda' else None
        self.note('end', reason=reason, part=round(self.part(), 4), samples=self.step * self.task.batch_size(),
                  scenes=self.made_before + self.pool.made, memory_mib=memory)
        self.pool.close()


class Feed:
    """Draws the next batch on a stream of its own while the current one is learned from."""

    def __init__(self, run):
        self.run, self.k = run, 0
        self.shares = np.array([s[2] for s in run.task.shapes])
        self.shares = self.shares / self.shares.sum()
        self.cuda = run.a.device == 'cuda'
        if self.cuda:
            self.side = torch.cuda.Stream()
            self.free = [torch.cuda.Event(), torch.cuda.Event()]        # a drawn batch was read
            self.next = self.draw(run.step)

    def draw(self, step):
        rng = self.run.rng_of(step)
        shape = self.run.task.shapes[rng.choice(len(self.shares), p=self.shares)]
        if not self.cuda:
            return shape, self.run.drawn(rng, shape, step), rng
        with torch.cuda.stream(self.side):
            self.side.wait_event(self.free[self.k & 1])
            out, ready = self.run.drawn(rng, shape, step), torch.cuda.Event()
            ready.record(self.side)
        self.ready = ready
        return shape, out, rng

    def take(self):
        if not self.cuda:
            return self.draw(self.run.step)
        torch.cuda.current_stream().wait_event(self.ready)
        return self.next

    def copied(self):
        """The batch is in the network's buffers: the renderer may use its place again."""
        if self.cuda:
            self.free[self.k & 1].record(torch.cuda.current_stream())

    def ahead(self, step):
        """Start to draw the batch of a step."""
        if self.cuda:
            self.k += 1
            self.next = self.draw(step)


def file_digest(path):
    with open(path, 'rb') as f:
        return {'file': os.path.basename(path), 'sha256': hashlib.sha256(f.read()).hexdigest()}


def credits_digest(folder):
    """Which asset pack was rendered: the digest of its three lists."""
    h, n = hashlib.sha256(), {}
    for k in ('objects', 'textures', 'photos'):
        raw = open(os.path.join(folder, k, k + '.json'), 'rb').read()
        h.update(raw)
        n[k] = len(json.loads(raw))
    return {**n, 'sha256': h.hexdigest()}


if __name__ == '__main__':
    Run(arguments()).train()
