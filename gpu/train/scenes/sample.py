"""One scene from a seed, and worker processes that build scenes without end.

A scene depends on its seed and the catalogue alone, so any picture of a run can be drawn again.
"""
import multiprocessing as mp
import random
import threading
import time

import numpy as np

from . import build, corridors, interiors, roads

MAKERS = {'room': interiors.room, 'corridor': corridors.corridor, 'desks': interiors.desks,
          'street': roads.street}
INDOOR = ('room', 'room', 'room', 'room', 'room', 'corridor', 'corridor', 'desks', 'desks')
HARD_INDOOR = (*INDOOR, 'desks', 'desks')      # hard scenes are desks more often
KINDS = (*MAKERS, *interiors.KINDS)


def make_scene(cat, seed, kind=None, n_cams=8, free=False, lively=0.0, hard=False):
    """kind: room, corridor, desks, street, a kind of room (kitchen, shop...), indoor (a mix) or None
    (everything). lively 0..1: people and moving things in view; 0: by chance alone, as depth's scenes are.
    hard: with what is hard to see (surfaces.py) and views of it.

    A seed whose scene leaves no camera room is built again from the next seed of a row of its own.
    """
    pick = random.Random(seed * 7919 + 13)
    if kind in (None, 'indoor'):
        kind = 'street' if kind is None and pick.random() < 0.25 else pick.choice(HARD_INDOOR if hard else INDOOR)
    for k in range(20):
        b = build.Builder(cat, seed + k * 1_000_000_007, free, lively, hard)
        try:
            return MAKERS[kind](b, n_cams) if kind in MAKERS else interiors.room(b, n_cams, kind)
        except build.NoView:
            continue
    raise RuntimeError(f'{kind}, seed {seed}: no camera stands clear in twenty scenes')


def liveliness(seed, share):
    """How lively the scene of a seed is where a share of all scenes is to be: 0, or 0.6 to 1."""
    r = random.Random(seed * 6007 + 5)
    return r.uniform(0.6, 1.0) if r.random() < share else 0.0


def hardness(seed, share):
    """Whether the scene of a seed is hard where a share of all scenes is to be."""
    return random.Random(seed * 5003 + 7).random() < share


def _work(cat, first, stride, kinds, n_cams, lively, hard, queue):
    seed = first
    while True:
        for kind in kinds:
            seeds = [seed + stride * k for k in range(8)]
            queue.put((kind, [make_scene(cat, s, kind, n_cams, lively=liveliness(s, lively),
                                         hard=hardness(s, hard)) for s in seeds]))
            seed += stride * 8


class Pool:
    """Scenes of several kinds, kept fresh by worker processes.

    `take(kind, n)` returns n scenes drawn at random from the newest `keep` of a kind, so training hardly
    ever waits for scenes: when the workers are slower than the network, a scene is seen in more batches, each
    time with other cameras and camera effects. `lively`, `hard`: the shares of such scenes.
    """

    def __init__(self, cat, seed, kinds=('indoor', 'street'), shares=(3, 1), workers=12, n_cams=8, keep=384,
                 lively=0.0, hard=0.0):
        self.keep, self.rng = keep, random.Random(seed)
        self.pool, self.at, self.made = {k: [] for k in kinds}, {k: 0 for k in kinds}, 0
        ctx = mp.get_context('fork')
        self.queue = ctx.Queue(maxsize=48)
        order = [k for k, n in zip(kinds, shares) for _ in range(n)]
        self.procs = [ctx.Process(target=_work, args=(cat, seed * 100003 + i, workers,
                                                      order[i % len(order):] + order[:i % len(order)],
                                                      n_cams, lively, hard, self.queue), daemon=True)
                                                      for i in range(workers)]
        for p in self.procs:
            p.start()

        # messages the pump may fetch: keeps it from crowding out the caller
        self.credit = threading.Semaphore(0)
        self.lock = threading.Lock()
        threading.Thread(target=self._pump, daemon=True).start()

    def _pump(self):
        """Thread: move scenes from the queue into the pool, the oldest make room."""
        while True:
            self.credit.acquire()
            kind, scenes = self.queue.get()
            with self.lock:
                p = self.pool[kind]
                for s in scenes:
                    if len(p) < self.keep:
                        p.append(s)
                    else:
                        p[self.at[kind] % self.keep] = s
                        self.at[kind] += 1
                self.made += len(scenes)

    def refill(self, messages=1):
        """Allow so many more messages (of 8 scenes) to be fetched in the background."""
        if self.credit._value < 8:
            self.credit.release(messages)

    def take(self, kind, n):
        while len(self.pool[kind]) < n:
            self.refill()
            time.sleep(0.002)
        with self.lock:
            return self.rng.sample(self.pool[kind], n)

    def close(self):
        for p in self.procs:
            p.terminate()


def picks(rng: np.random.Generator, n_scenes, per_scene, n_cams, pairs=False):
    """Camera choices for a batch: (scene, camera, moment); with pairs both moments follow each other."""
    out = []
    for s in range(n_scenes):
        for c in rng.choice(n_cams, per_scene, replace=False):
            out += [(s, int(c), 0), (s, int(c), 1)] if pairs else [(s, int(c), int(rng.integers(2)))]
    return out
