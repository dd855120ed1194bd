"""Plain, folded and glossy surfaces, and edges of colour and light on them that are no edges of shape.

Frames as in things.py: the front of a thing looks along local -y, its back is at local +y.
"""
import math

from .build import Frame, Mat

THIN = 0.004        # metres that a patch of colour stands out


def sleek(b):
    """A smooth glossy surface without texture: lacquer, glass, a screen."""
    return b.plain(b.r.choices(('dark', 'white', 'any'), (6, 3, 2))[0], b.u(0.65, 1.0))


def carpet(b):
    """A floor of one colour, often a strong one, without texture."""
    c, grey, k = b.colour(b.r.choices(('vivid', 'dark', 'grey', 'warm'), (5, 2, 2, 2))[0]), b.u(0.1, 0.5), b.u(0.0, 0.6)
    return Mat(-1, tuple(v + k * (grey - v) for v in c), b.u(0.0, 0.1))


def shaded(m, gain):
    """The same surface under more or less light."""
    return Mat(m.tex, tuple(min(1.9, c * gain) for c in m.rgb), m.gloss, m.metres)


def patch_look(b, m):
    """What an area of a surface m looks like that differs in light (sun, shadow) or in colour."""
    if b.chance(0.25):
        return b.plain(b.r.choices(('vivid', 'any'), (1, 2))[0], m.gloss)
    return shaded(m, b.u(0.3, 0.75) if b.chance(0.5) else b.u(1.3, 2.2))


def bars(b, n):
    """Offsets and widths of n stripes side by side: what a window with bars, a blind or a railing leaves."""
    w = b.u(0.06, 0.5)
    gap = w * b.u(0.1, 1.0)
    return [((k - (n - 1) / 2) * (w + gap), w) for k in range(n)]


def floor_patches(b, W, L, m):
    """Sun patches, shadows and areas of another colour on the floor of a room W x L."""
    for _ in range(b.r.randint(1, 3)):
        f = Frame(b.u(0.1, 0.9) * W, b.u(0.1, 0.9) * L, 0.0, b.u(0, math.pi))
        look, length = patch_look(b, m), b.u(0.3, 2.2)
        for x, w in bars(b, b.r.choices((1, 2, 3, 6), (5, 3, 2, 1))[0]):
            w = w if w > 0.2 or b.chance(0.5) else 2 * w
            if b.indoors(f, x - w / 2, -length / 2, x + w / 2, length / 2):
                b.box(f, (x, 0, THIN / 2), (w, length, THIN), look, shadow=False)


def zone(b, W, L):
    """A part of a room's floor that has a covering of its own, from wall to wall one way."""
    look = carpet(b) if b.chance(0.6) else b.mat('floor', 'wood', 'carpet', 'tile', tint=0.2)
    w, l = (b.u(0.3, 0.7) * W, L) if b.chance(0.5) else (W, b.u(0.3, 0.7) * L)
    x, y = b.pick((w / 2, W - w / 2)), b.pick((l / 2, L - l / 2))
    b.box(Frame(x, y, 0.0), (0, 0, THIN / 2), (w, l, THIN), look, shadow=False)


def wall_patches(b, f, length, h, m, openings):
    """The same on a wall, clear of its openings (x0, x1, z0, z1)."""
    for _ in range(b.r.randint(1, 2)):
        x, z, tilt = b.u(0.3, max(0.4, length - 0.3)), b.u(0.5, h - 0.4), b.r.gauss(0, 0.35)
        look, tall = patch_look(b, m), b.u(0.3, 1.3)
        for dx, w in bars(b, b.r.choices((1, 2, 4), (5, 3, 2))[0]):
            reach = 0.5 * math.hypot(w, tall)
            lo, hi = x + dx - reach, x + dx + reach
            if lo > 0.02 and hi < length - 0.02 and z - reach > 0.15 and z + reach < h - 0.05 \
                    and not any(lo < o[1] and hi > o[0] for o in openings):
                b.box(f, (x + dx, -THIN / 2, z), (w, THIN, tall), look, shadow=False, roll=tilt)


def cloth(b):
    """What folds: plain cloth or paper, seldom with a pattern."""
    k = b.r.random()
    if k < 0.45:
        return b.plain('white', b.u(0.0, 0.15))
    return b.plain('any', b.u(0.0, 0.2)) if k < 0.85 else b.mat('fabric', 'stripes', 'paper')


def spread(b, top):
    """A cloth, a blanket or a creased sheet of paper that lies on a top and may cover all of it."""
    name, k = ('creased', b.u(0.3, 0.9)) if b.chance(0.4) else ('folded', b.u(0.4, 1.0))
    w, d = k * top.w, k * top.d * b.u(0.7, 1.0)
    h = b.u(0.25, 1.0) * min(w, d)
    x, y = b.u(-0.5, 0.5) * (top.w - w), b.u(-0.5, 0.5) * (top.d - d)
    b.shape(f'{name}{b.r.randint(0, 3)}', top.frame, (x, y, 0.002), (w, d, h), cloth(b))


def hanging(b, f, x, w, h):
    """A cloth or curtain that hangs before a wall from height h, its folds upright; x is its left end."""
    drop = h * b.u(0.4, 0.97)
    b.shape(f'folded{b.r.randint(0, 3)}', f, (x + w / 2, -0.02, h - drop / 2), (w, drop, b.u(0.4, 1.2)), cloth(b),
            tilt=math.pi / 2)


def glossy_front(b, f, x, w, h):
    """A cabinet whose doors mirror: no handles, thin gaps, often all of one dark colour; x is its left end."""
    d, m, n = b.u(0.35, 0.65), sleek(b), max(1, round(w / b.u(0.4, 0.9)))
    b.box(f, (x + w / 2, -d / 2 + 0.01, h / 2), (w, d - 0.02, h), b.plain('dark', 0.3) if b.chance(0.5) else m)
    for k in range(n):
        b.box(f, (x + (k + 0.5) * w / n, -d, h / 2 + 0.03), (w / n - 0.006, 0.02, h - 0.07), m)
    b.take(f, x, -d - 0.01, x + w, 0, h)
    return d
