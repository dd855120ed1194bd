"""Procedural meshes with limbs and thin parts: people, bicycles, plants, railings, hanging cables, rows of
goods.

Same conventions as shapes.py: (xyz [V,3], uv [V,2], tri [T,3]), z up, metres unless called unit, the front of
a thing looks to -y. A person is four meshes (skin, top, legs, dark: hair and shoes), so that each has its own
colour.
"""
import math

import numpy as np

from .shapes import box, lathe, merge, placed


def across(d):
    """Two unit vectors at right angles to d and to each other."""
    d = d / (np.linalg.norm(d) + 1e-12)
    a = np.cross(d, (0, 0, 1.0) if abs(d[2]) < 0.9 else (1.0, 0, 0))
    a /= np.linalg.norm(a)
    return a, np.cross(d, a)


def limb(a, b, r0, r1=None, n=8):
    """A tapering tube from a to b with round ends."""
    a, b = np.asarray(a, float), np.asarray(b, float)
    r1 = r0 if r1 is None else r1
    d = b - a
    length = np.linalg.norm(d)
    v, uv, t = lathe([(0, -r0), (0.75 * r0, -0.66 * r0), (r0, 0), (r1, length),
                      (0.75 * r1, length + 0.66 * r1), (0, length + r1)], n, cap=False)
    x, y = across(d)
    return a + v @ np.stack([x, y, d / length]), uv, t


def tube(pts, r, n=5, closed=False):
    """A tube of one radius along points."""
    pts = np.asarray(pts, float)
    m = len(pts)
    rings, ang = [], np.arange(n) * 2 * np.pi / n
    for i in range(m):
        nxt, prv = (pts[(i + 1) % m], pts[i - 1]) if closed else (pts[min(i + 1, m - 1)], pts[max(i - 1, 0)])
        x, y = across(nxt - prv)
        rings.append(pts[i] + r * (np.cos(ang)[:, None] * x + np.sin(ang)[:, None] * y))
    t = []
    for i in range(m if closed else m - 1):
        p, q = i * n, (i + 1) % m * n
        for k in range(n):
            j = (k + 1) % n
            t += [(p + k, p + j, q + j), (p + k, q + j, q + k)]
    v = np.concatenate(rings)
    uv = np.stack([np.tile(ang / 6.2832, m), np.repeat(np.arange(m) / max(1, m - 1), n)], 1)
    return v, uv, np.array(t)


def ring(c, radius, r, n=20, m=5, axis='x'):
    """A torus: a wheel or hoop whose axle points along axis."""
    a = np.arange(n) * 2 * np.pi / n
    p = np.stack([np.zeros(n), radius * np.cos(a), radius * np.sin(a)], 1)
    if axis == 'z':
        p = p[:, [1, 2, 0]]
    return tube(p + np.asarray(c, float), r, m, closed=True)


def body(thigh, knee, arm, elbow, lean=0.0, spread=0.03, fine=False):
    """A person 1.72 m tall: angles in radians, forward positive, (left, right); feet on z = 0, front to -y.

    fine: with pelvis, round shoulders, hands, ears, nose, eyes, and hair that leaves the face free.
    Returns {'skin', 'top', 'low', 'dark'} meshes.
    """
    skin, top, low, dark = [], [], [], []

    def down(a):
        return np.array([0, -math.sin(a), -math.cos(a)])

    for k, s in enumerate((-1, 1)):
        hip = np.array([s * 0.09, 0, 0.0])
        kn = hip + 0.43 * down(thigh[k]) + [s * spread * 0.5, 0, 0]
        an = kn + 0.42 * down(thigh[k] - knee[k])
        low += [limb(hip, kn, 0.085, 0.06), limb(kn, an, 0.058, 0.045)]
        toe = an + 0.17 * down(thigh[k] - knee[k] + 1.5) + [s * 0.02, 0, 0]
        dark.append(limb(an + [0, 0.03, -0.02], toe, 0.045, 0.035))
    rad = [(0.0, -0.09), (0.15, -0.07), (0.165, 0.0), (0.145, 0.17), (0.175, 0.36), (0.185, 0.45),
           (0.13, 0.51), (0.06, 0.545), (0.0, 0.55)]
    v, uv, t = lathe(rad, 12, cap=False)
    v = v * [1, 0.62, 1]
    c, sn = math.cos(lean), math.sin(lean)
    turn = np.array([[1, 0, 0], [0, c, -sn], [0, sn, c]])          # forward is -y
    top.append((v @ turn.T, uv, t))
    for k, s in enumerate((-1, 1)):
        sh = turn @ np.array([s * 0.195, 0, 0.45])
        el = sh + 0.27 * down(arm[k]) + [s * 0.05, 0, 0]
        wr = el + 0.24 * down(arm[k] + elbow[k]) - [s * 0.03 * min(1, elbow[k]), 0, 0]
        top += [limb(sh, el, 0.052, 0.042), limb(el, el + 0.5 * (wr - el), 0.042, 0.04)]
        skin += [limb(el + 0.5 * (wr - el), wr, 0.036, 0.027),
                 limb(wr, wr + 0.08 * down(arm[k] + elbow[k]), 0.034, 0.028, 6)]
    neck, head = turn @ np.array([0, 0, 0.53]), turn @ np.array([0, -0.02, 0.70])
    skin.append(limb(neck, head - [0, 0, 0.05], 0.05, 0.048, 8))
    ball = lathe([(0.5 * np.sin(x), -0.5 * np.cos(x)) for x in np.linspace(0.05, np.pi - 0.05, 9)], 12)
    skin.append(placed(ball, (0.155, 0.19, 0.23), head))
    if fine:
        finish(skin, top, low, dark, ball, head, turn)
    else:
        dark.append(placed(ball, (0.172, 0.2, 0.21), head + [0, 0.02, 0.035]))
    parts = {'skin': merge(skin), 'top': merge(top), 'low': merge(low), 'dark': merge(dark)}
    z = min(p[0][:, 2].min() for p in parts.values())
    return {k: (v - [0, 0, z], uv, t) for k, (v, uv, t) in parts.items()}


def finish(skin, top, low, dark, ball, head, turn):
    """What makes a fine figure of a plain one: parts added to the four lists."""
    low.append(placed(ball, (0.3, 0.19, 0.15), (0, 0, -0.045)))
    for s in (-1, 1):
        top.append(placed(ball, (0.115, 0.12, 0.115), turn @ np.array([s * 0.185, 0, 0.45])))
        skin.append(placed(ball, (0.03, 0.045, 0.065), head + [s * 0.078, 0.01, 0]))
        dark.append(placed(ball, (0.026, 0.012, 0.016), head + [s * 0.032, -0.085, 0.022]))
        dark.append(placed(ball, (0.04, 0.012, 0.01), head + [s * 0.03, -0.08, 0.045]))
    skin.append(placed(ball, (0.028, 0.04, 0.045), head + [0, -0.092, -0.01]))
    dark.append(placed(ball, (0.05, 0.012, 0.012), head + [0, -0.083, -0.055]))
    a = np.linspace(0.05, 1.75, 7)              # a cap from the crown down, tipped back off the forehead
    cap = lathe([(0.5 * math.sin(x), 0.5 * math.cos(x)) for x in a[::-1]], 14, cap=False)
    v = cap[0] * [0.18, 0.215, 0.25]
    c, s = math.cos(-0.55), math.sin(-0.55)
    v = v @ np.array([[1, 0, 0], [0, c, -s], [0, s, c]]).T
    dark.append((v + head + [0, 0.004, 0.006], cap[1], cap[2]))


POSES = {   # name: thighs, knees, arms, elbows, lean
    'stand0': ((0.02, -0.02), (0.02, 0.02), (0.05, -0.05), (0.15, 0.2), 0.0),
    'stand1': ((0.1, -0.05), (0.12, 0.02), (0.2, 0.5), (0.3, 1.9), 0.03),
    'stand2': ((0.03, 0.0), (0.03, 0.0), (0.35, 0.35), (1.3, 1.4), -0.03),
    'stand3': ((0.0, 0.05), (0.0, 0.05), (0.0, 2.5), (0.2, 0.3), 0.0),
    'walk0': ((0.5, -0.3), (0.12, 0.35), (-0.4, 0.45), (0.3, 0.45), 0.06),
    'walk1': ((-0.3, 0.5), (0.35, 0.12), (0.45, -0.4), (0.45, 0.3), 0.06),
    'walk2': ((0.15, -0.1), (0.1, 0.75), (-0.15, 0.2), (0.25, 0.3), 0.04),
    'walk3': ((0.3, -0.22), (0.08, 0.3), (0.6, 0.6), (1.2, 1.1), 0.05),
    'sit0': ((1.5, 1.5), (1.5, 1.45), (0.5, 0.55), (1.0, 0.95), 0.08),
    'sit1': ((1.45, 1.35), (1.35, 1.6), (0.15, 0.1), (1.3, 0.9), -0.12),
    'ride0': ((1.25, 0.75), (1.35, 0.75), (1.0, 1.0), (0.15, 0.15), 0.5),
}


FINE_POSES = {      # of the fine figures, the same numbers
    'stand4': ((0.02, -0.02), (0.03, 0.03), (0.08, -0.02), (0.2, 0.25), 0.0),
    'stand5': ((0.06, -0.08), (0.1, 0.02), (0.25, 0.9), (0.5, 1.9), 0.02),
    'stand6': ((0.0, 0.05), (0.0, 0.05), (0.45, 0.4), (1.6, 1.7), 0.0),
    'stand7': ((0.0, 0.03), (0.02, 0.02), (1.25, 0.1), (0.2, 0.2), 0.08),
    'walk4': ((0.45, -0.3), (0.1, 0.3), (-0.35, 0.4), (0.3, 0.4), 0.05),
    'walk5': ((-0.28, 0.42), (0.35, 0.1), (0.35, -0.35), (0.5, 0.3), 0.05),
    'walk6': ((0.2, -0.15), (0.08, 0.7), (0.9, -0.1), (1.5, 0.3), 0.03),
    'sit2': ((1.48, 1.48), (1.48, 1.48), (0.85, 0.85), (0.8, 0.8), 0.05),
    'sit3': ((1.5, 1.4), (1.35, 1.55), (0.25, 0.3), (1.2, 1.1), -0.15),
    'sit4': ((1.48, 1.45), (1.5, 1.4), (0.8, 0.9), (0.85, 2.1), 0.12),
    'sit5': ((1.45, 1.5), (1.4, 1.5), (0.95, 0.3), (0.75, 1.4), 0.2),
    'carry0': ((0.35, -0.25), (0.1, 0.35), (0.35, 0.35), (1.2, 1.2), -0.05),
    'push0': ((0.4, -0.35), (0.1, 0.3), (0.7, 0.7), (0.75, 0.75), 0.15),
    'crouch0': ((1.75, 1.2), (2.2, 2.1), (0.9, 0.7), (0.5, 0.9), 0.35),
}


def bicycle():
    """A bicycle 1.7 m along y, front to -y, wheels on z = 0."""
    def pipe(a, b, r=0.016):
        return limb(a, b, r, n=5)

    parts = []
    for y in (-0.52, 0.52):
        parts += [ring((0, y, 0.34), 0.32, 0.02, 22), limb((-0.05, y, 0.34), (0.05, y, 0.34), 0.02, n=5)]
        for k in range(8):
            a = k * math.pi / 8
            parts.append(limb((0, y - 0.31 * math.cos(a), 0.34 - 0.31 * math.sin(a)),
                              (0, y + 0.31 * math.cos(a), 0.34 + 0.31 * math.sin(a)), 0.002, n=3))
    crank, seat, head = (0, 0.1, 0.28), (0, 0.26, 0.78), (0, -0.36, 0.8)
    parts += [pipe(crank, seat), pipe(crank, (0, -0.4, 0.7)), pipe((0, 0.23, 0.7), head),
              pipe(head, (0.0, -0.52, 0.34)), pipe(head, (0, -0.34, 0.98)),
              pipe(crank, (0, 0.52, 0.34)), pipe((0, 0.25, 0.72), (0, 0.52, 0.34), 0.01),
              pipe((-0.28, -0.3, 0.99), (0.28, -0.3, 0.99)),
              placed(box(), (0.15, 0.26, 0.06), (0, 0.28, 0.85)), pipe(seat, (0, 0.28, 0.84)),
              pipe((0.1, 0.1, 0.15), (0.1, 0.1, 0.4), 0.01)]
    return merge(parts)


def plant(rng, kind):
    """A pot plant of unit height without its pot: stems with leaves, thin as real ones."""
    parts = []
    for _ in range(int(rng.integers(7, 16))):
        a, reach, h = rng.uniform(0, 6.28), rng.uniform(0.1, 0.42), rng.uniform(0.45, 1.0)
        s = np.linspace(0, 1, 6)
        droop = rng.uniform(0.0, 0.5) if kind else rng.uniform(-0.1, 0.2)
        pts = np.stack([reach * s ** 1.5 * np.cos(a), reach * s ** 1.5 * np.sin(a), h * (s - droop * s ** 3)],
                       1)
        if kind:                                        # long blades: palm, spider plant
            w = rng.uniform(0.02, 0.05) * np.sin(np.pi * np.clip(s * 0.9 + 0.1, 0, 1)) + 0.003
            side = np.array([-math.sin(a), math.cos(a), 0])
            v = np.concatenate([pts - w[:, None] * side, pts + w[:, None] * side])
            t = np.array([x for i in range(5) for x in ((i, i + 1, i + 7), (i, i + 7, i + 6))])
            parts.append((v, np.stack([np.repeat([0.0, 1.0], 6), np.tile(s, 2)], 1), t))
            continue
        parts.append(tube(pts, 0.006, 3))
        for q in pts[2:]:                               # leaves along the stem
            for _ in range(2):
                d = rng.normal(size=3) * [1, 1, 0.5]
                d /= np.linalg.norm(d)
                x = across(d)[0]
                size = rng.uniform(0.06, 0.13)
                v = np.array([q, q + size * (0.5 * d + 0.35 * x), q + size * d,
                              q + size * (0.5 * d - 0.35 * x)])
                parts.append((v, np.array([(0, 0), (1, .5), (0, 1), (0, .5)], float),
                              np.array([(0, 1, 2), (0, 2, 3)])))
    return merge(parts)


def twigs(rng):
    """A bare tree of unit height: trunk, boughs, branches."""
    parts = [limb((0, 0, 0), (0, 0, 0.5), 0.022, 0.014, 6)]

    def grow(p, d, length, r, depth):
        for _ in range(3 if depth else 2):
            e = d + rng.normal(size=3) * 0.55
            e[2] = abs(e[2]) * 0.8 + 0.1
            e /= np.linalg.norm(e)
            q = p + e * length * rng.uniform(0.7, 1.15)
            parts.append(limb(p, q, r, r * 0.6, 4))
            if depth:
                grow(q, e, length * 0.62, r * 0.55, depth - 1)

    for z in (0.32, 0.42, 0.5):
        grow(np.array([0, 0, z]), np.array([0, 0, 0.6]), 0.2, 0.01, 2)
    return merge(parts)


def hanging(rng, kind):
    """A cable in the plane y = 0, unit size: kind 0 sags between (-0.5,0,0) and (0.5,0,0), 1 drops from z 0
    to -1.
    """
    s = np.linspace(0, 1, 14)
    if kind == 0:
        return tube(np.stack([s - 0.5, 0 * s, -4 * rng.uniform(0.5, 1.0) * s * (1 - s)], 1), 0.006, 4)
    x = rng.uniform(0.01, 0.06) * np.sin(s * rng.uniform(4, 14) + rng.uniform(0, 6)) * (0.3 + s)
    return tube(np.stack([x, 0 * s, -s], 1), 0.006, 4)


def railing(kind):
    """One metre of railing along x, unit height: two rails and posts; kind 0 upright bars, 1 level bars, 2
    mesh.
    """
    parts = [limb((-0.5, 0, 1.0), (0.5, 0, 1.0), 0.022, n=6), limb((0.5, 0, 0), (0.5, 0, 1.0), 0.018, n=6)]
    if kind == 0:
        parts += [limb((x, 0, 0.08), (x, 0, 0.97), 0.007, n=4) for x in np.arange(-0.45, 0.46, 0.1)]
        parts.append(limb((-0.5, 0, 0.08), (0.5, 0, 0.08), 0.012, n=4))
    elif kind == 1:
        parts += [limb((-0.5, 0, z), (0.5, 0, z), 0.01, n=4) for z in (0.15, 0.35, 0.55, 0.75)]
    else:
        parts += [limb((x, 0, 0.03), (x, 0, 0.97), 0.003, n=3) for x in np.arange(-0.48, 0.49, 0.08)]
        parts += [limb((-0.5, 0, z), (0.5, 0, z), 0.003, n=3) for z in np.arange(0.05, 0.97, 0.1)]
    return merge(parts)


def goods(rng, kind):
    """A row of one article on a shelf: 1 m along x, unit depth and height standing on z = 0, now and then one
    missing.
    """
    n, parts = int(rng.integers(4, 10)), []
    w = 1.0 / n
    for i in range(n):
        if rng.random() < 0.12 and len(parts) > 1:
            continue
        x, y, k = (i + 0.5) * w - 0.5, rng.normal() * 0.04, rng.uniform(0.95, 1.0)
        if kind == 0:
            parts.append(placed(box(), (w * 0.93, k, k), (x, y, k / 2)))
        elif kind == 1:
            parts.append(placed(lathe([(0.5, -0.5), (0.5, 0.5)], 10), (w * 0.92, k, k), (x, y, k / 2)))
        else:
            parts.append(placed(lathe([(0.5, 0), (0.5, 0.6), (0.2, 0.78), (0.18, 1.0)], 10), (w * 0.92, k, k),
                                (x, y, 0)))
    return merge(parts)


def tool(kind):
    """Hand tools that hang in the plane y = 0 from z = 0: hammer, spanner, screwdriver, saw, pliers; real
    sizes.
    """
    if kind == 0:
        return merge([limb((0, 0, -0.3), (0, 0, 0), 0.014, 0.011, 6),
                      placed(box(), (0.12, 0.03, 0.03), (0, 0, -0.01))])
    if kind == 1:
        return merge([placed(box(), (0.02, 0.008, 0.2), (0, 0, -0.12)),
                      ring((0, 0, -0.01), 0.02, 0.007, 10, 4), ring((0, 0, -0.23), 0.02, 0.007, 10, 4)])
    if kind == 2:
        return merge([limb((0, 0, -0.1), (0, 0, 0), 0.015, n=6),
                      limb((0, 0, -0.24), (0, 0, -0.1), 0.004, n=4)])
    if kind == 3:
        return merge([placed(box(), (0.1, 0.004, 0.42), (0, 0, -0.3)),
                      placed(box(), (0.13, 0.025, 0.1), (0, 0, -0.05))])
    return merge([limb((-0.03, 0, -0.17), (0.0, 0, -0.04), 0.009, n=5),
                  limb((0.03, 0, -0.17), (0.0, 0, -0.04), 0.009, n=5),
                  limb((0, 0, -0.04), (0, 0, 0), 0.013, n=5)])


def make_late():
    """name -> mesh of what has its place after the asset pack: older numbers of meshes stay as they were."""
    return {f'{name}_{part}': mesh for name, pose in FINE_POSES.items()
            for part, mesh in body(*pose, fine=True).items()}


def make_all(seed=3):
    """name -> mesh, in a fixed order."""
    rng, out = np.random.default_rng(seed), {}
    for name, (thigh, knee, arm, elbow, lean) in POSES.items():
        for part, mesh in body(thigh, knee, arm, elbow, lean).items():
            out[f'{name}_{part}'] = mesh
    out['bicycle'] = bicycle()
    out['wheel'] = lathe([(0.2, -0.5), (0.46, -0.5), (0.5, -0.3), (0.5, 0.3), (0.46, 0.5), (0.2, 0.5)], 18)
    for k in range(4):
        out[f'plant{k}'] = plant(rng, k & 1)
        for kind, name in enumerate(('box', 'can', 'bottle')):
            out[f'goods{k}_{name}'] = goods(rng, kind)
        out[f'sag{k}'], out[f'drop{k}'] = hanging(rng, 0), hanging(rng, 1)
    for k in range(3):
        out[f'twigs{k}'], out[f'railing{k}'] = twigs(rng), railing(k)
    for k in range(5):
        out[f'tool{k}'] = tool(k)
    return out
