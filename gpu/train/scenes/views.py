"""Cameras: where people hold a phone and where cars carry one, how they move, and where none may stand.

A camera is a pair: its pose at moment 0 and at moment 1, `Builder.dt` seconds later, with the same
intrinsics. Hand-held ones drift, shake and turn (up to 90 degrees a second), driven ones go along the road at
a car's speed.
"""
import math

import numpy as np

CLEAR = 0.12        # metres between a camera and the box round anything


def look(p, target, roll=0.0):
    """Camera-to-world rotation (columns x right, y down, z forward) that looks from p at target."""
    z0, z1, z2 = target[0] - p[0], target[1] - p[1], target[2] - p[2]
    n = math.sqrt(z0 * z0 + z1 * z1 + z2 * z2) + 1e-9
    z0, z1, z2 = z0 / n, z1 / n, z2 / n
    n = math.hypot(z0, z1)
    x0, x1 = (z1 / n, -z0 / n) if n > 1e-3 else (1.0, 0.0)          # level: x = z cross up
    y0, y1, y2 = -z2 * x1, z2 * x0, z0 * x1 - z1 * x0               # z cross x
    c, s = math.cos(roll), math.sin(roll)
    return np.array([[c * x0 + s * y0, -s * x0 + c * y0, z0], [c * x1 + s * y1, -s * x1 + c * y1, z1],
                     [s * y2, c * y2, z2]])


def axis_angle(w):
    """Rotation matrix of an axis-angle vector, radians."""
    a = math.sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2])
    if a < 1e-9:
        return np.eye(3)
    x, y, z, c, s = w[0] / a, w[1] / a, w[2] / a, math.cos(a), math.sin(a)
    v = 1 - c
    return np.array([[c + x * x * v, x * y * v - z * s, x * z * v + y * s],
                     [x * y * v + z * s, c + y * y * v, y * z * v - x * s],
                     [x * z * v - y * s, y * z * v + x * s, c + z * z * v]])


def mesh_boxes(cat):
    """lo, hi [n_mesh, 3] of all meshes of a catalogue, in their own frames."""
    if 'boxes' not in cat.__dict__:
        ms = sorted(cat.by_name.values(), key=lambda m: m.index)
        cat.boxes = np.array([m.lo for m in ms], np.float32), np.array([m.hi for m in ms], np.float32)
    return cat.boxes


def clear(cat, insts, motions, cams, gap=CLEAR):
    """Which camera pairs [K, 2] keep `gap` metres to the box of every instance, at both moments: bool [K].

    A box is the mesh's own, turned and scaled with the instance (whose axes are at right angles), so for a
    table of the pack the space below the top counts as full.
    """
    lo, hi = mesh_boxes(cat)
    lo, hi = lo[insts['mesh']], hi[insts['mesh']]
    m = insts['m'].reshape(-1, 3, 4)
    col, t = m[:, :, :3], m[:, :, 3]
    size = np.sqrt((col * col).sum(1))                          # [N, 3] lengths of the axes
    mid = np.einsum('nij,nj->ni', col, 0.5 * (lo + hi)) + t
    reach = np.sqrt(((0.5 * size * (hi - lo)) ** 2).sum(1)) + gap * 1.8
    reach = reach * reach + 1e-3
    # rows: camera 0 at moment 0, at moment 1, camera 1...
    p, obj = cams['p'].reshape(-1, 3), insts['object']
    near = (p * p).sum(1)[:, None] - 2 * p @ mid.T + (mid * mid).sum(1) < reach
    R, s = motions[:, :, :3], motions[:, :, 3]
    q = np.einsum('oji,okj->oki', R,
                  p[None, 1::2] - s[:, None])    # [n_objects + 1, K, 3]: as the thing at rest would see them
    moving = np.flatnonzero(obj)
    if len(moving):
        d = q[obj[moving]] - mid[moving, None]
        near[1::2, moving] = ((d * d).sum(2) < reach[moving, None]).T
    k, n = np.nonzero(near)
    x = np.where((k & 1)[:, None] == 1, q[obj[n], k >> 1], p[k])
    local = np.einsum('pj,pji->pi', x - t[n],
                      col[n]) / np.maximum(size[n], 1e-9)       # metres along the axes
    inside = ((local > lo[n] * size[n] - gap) & (local < hi[n] * size[n] + gap)).all(1)
    ok = np.ones(len(cams), bool)
    ok[k[inside] >> 1] = False
    return ok


def focal(r):
    """Focal length over the longer side: phones 0.6-1.1, wide lenses down to 0.42, some long ones."""
    k = r.random()
    if k < 0.62:
        return min(1.1, max(0.6, r.gauss(0.8, 0.12)))
    return r.uniform(0.42, 0.62) if k < 0.85 else r.uniform(1.0, 1.4)


def stretch(r):
    """Focal length along y over that along x. Pictures of a network's size are stretched: 3:2 to 4:3 is 1.125."""
    return r.uniform(0.95, 1.06) if r.random() < 0.7 else r.uniform(0.85, 1.18)


def roll(r):
    """Radians that a hand turns a phone about its view: little, or up to 45 degrees; more is turned back before."""
    return r.gauss(0, 0.08) if r.random() < 0.6 else r.uniform(-0.8, 0.8)


def add(b, p, target, roll=0.0, f_rel=None, heading=None, speed=0.0, top=(90.0, 1.3)):
    """A camera pair at p looking at target; with a heading (unit vector, world) it drives at speed m/s, else
    it is held in a hand that turns and shifts at up to `top` degrees and metres a second.
    """
    r, dt = b.r, b.dt
    R, p = look(p, target, roll), np.array(p, float)
    if heading is not None:
        w = np.array([r.gauss(0, 1.2), r.gauss(0, 5.0), r.gauss(0, 0.8)]) * min(1.0, 0.15 + speed / 4)
        q = p + np.asarray(heading, float) * speed * dt + np.array([0, 0, r.gauss(0, 0.004)])
        q[:2] += np.array([r.gauss(0, 0.006), 0]) * min(1.0, speed)
    else:
        a = math.exp(r.uniform(math.log(1.5), math.log(top[0])))          # degrees and metres a second
        v = math.exp(r.uniform(math.log(0.03), math.log(top[1])))
        w = np.array([r.gauss(0, 0.6), r.gauss(0, 0.8), r.gauss(0, 0.45)]) * a
        q = p + R @ np.clip(np.array([r.gauss(0, 0.6), r.gauss(0, 0.4), r.gauss(0, 0.6)]) * v * dt, -0.15,
                            0.15)
    S = R @ axis_angle(np.radians(w * dt))
    k = (f_rel or focal(r), stretch(r), r.gauss(0, 0.02), r.gauss(0, 0.02))
    b.cams.append(((R.reshape(-1), p) + k, (S.reshape(-1), q) + k))


def _over_top(b, s, mode):
    """Position and target near a table top or worktop."""
    if mode == 'low':                                   # phone low over the top
        a, r = b.u(0, 6.28), b.u(0.0, 0.5) + 0.5 * max(s.w, s.d)
        q = s.frame.at(r * math.cos(a) * b.u(0.4, 1.1), r * math.sin(a) * b.u(0.4, 1.1))
        t = s.frame.at(b.u(-0.6, 0.6) * s.w, b.u(-0.6, 0.6) * s.d)
        return (q.x, q.y, q.z + b.u(0.15, 0.75)), (t.x, t.y, t.z + b.u(-0.3, 0.35))
    if mode == 'near':                                  # looking down on a desk or worktop
        q = s.frame.at(b.u(-0.6, 0.6) * s.w, -0.5 * s.d - b.u(-0.1, 0.7))
        t = s.frame.at(b.u(-0.5, 0.5) * s.w, b.u(-0.3, 0.6) * s.d)
        return (q.x, q.y, q.z + b.u(0.3, 0.95)), (t.x, t.y, t.z + b.u(-0.1, 0.4))
    q = s.frame.at(b.u(-1.2, 1.2) * s.w, b.u(-1.4, 1.4) * (s.d + 0.5))      # sitting at it
    t = s.frame.at(b.u(-1, 1) * s.w, b.u(-1, 1) * s.d)
    return (q.x, q.y, b.u(0.95, 1.5)), (t.x, t.y, t.z + b.u(-0.2, 0.5))


def past_edge(b, f):
    """Position and target so that an upright edge close by is cut by the picture's left or right border."""
    x, y, z0, z1 = b.pick(b.edges)
    a, d = b.u(0, 6.28), b.u(0.3, 1.1)
    p = (x - d * math.cos(a), y - d * math.sin(a), b.u(max(0.35, z0 + 0.05), max(0.6, min(1.7, z1 + 0.15))))
    half = math.atan(0.5 / f)
    a += b.pick((-1, 1)) * half * b.u(0.45, 1.1)
    return p, (p[0] + 3 * math.cos(a), p[1] + 3 * math.sin(a), p[2] + b.r.gauss(-0.5, 0.6))


def close(b):
    """Position and target 0.3 to 0.8 m from what lies on a top or stands about, from any side above."""
    if b.tops and (b.chance(0.7) or not b.targets):
        s = b.pick(b.tops)
        t = s.frame.at(b.u(-0.5, 0.5) * s.w, b.u(-0.5, 0.5) * s.d, b.u(0.0, 0.15))
        t = (t.x, t.y, t.z)
    elif b.targets:
        t = b.pick(b.targets)
    else:
        return None
    d, a, up = b.u(0.3, 0.85), b.u(0, 6.28), b.u(0.15, 1.5)
    return (t[0] + d * math.cos(up) * math.cos(a), t[1] + d * math.cos(up) * math.sin(a), t[2] + d * math.sin(up)), t


def spot(b, tops, things, watched):
    """A point to look down on: on a top (share `tops`), one of `watched` (share `things`), or on the floor."""
    W, L, _ = b.size
    k = b.r.random()
    if k < tops and b.tops:
        s = b.pick(b.tops)
        q = s.frame.at(b.u(-0.55, 0.55) * s.w, b.u(-0.55, 0.55) * s.d)
        return q.x, q.y, q.z
    if k < tops + things and watched:
        return b.pick(watched)
    return b.u(0.2, W - 0.2), b.u(0.2, L - 0.2), 0.0


def above(b):
    """Position and target that look steeply down on a top, a person or the floor, from 0.4 to 2 m over it."""
    t = spot(b, 0.45, 0.3, b.stars)
    a, d = b.u(0, 6.28), b.u(0.05, 0.9)
    z = min(b.size[2] - 0.15, max(t[2] + b.u(0.4, 1.4), b.u(1.0, 2.2)))
    return (t[0] + d * math.cos(a), t[1] + d * math.sin(a), z), t


def blank(b):
    """Position and target 0.3 to 6 m before a wall, nothing of the furniture's bulk between. Often a corner of the
    room or the skirting, which tell how far it is, lies near the picture's border.
    """
    W, L, H = b.size
    side, along = b.pick((0, 1, 2, 3)), b.u(0.02, 0.98) if b.chance(0.6) else b.pick((b.u(0.0, 0.12), b.u(0.88, 1.0)))
    z = b.u(0.05, 0.8) if b.chance(0.5) else b.u(0.3, H - 0.1)
    t = ((along * W, (0.0, L)[side & 1]) if side < 2 else ((0.0, W)[side & 1], along * L)) + (z,)
    d, a = math.exp(b.u(math.log(0.3), math.log(6.0))), b.r.gauss(0, 0.5)
    n = ((0, 1), (0, -1), (1, 0), (-1, 0))[side]        # into the room
    p = (t[0] + d * (n[0] * math.cos(a) - n[1] * math.sin(a)), t[1] + d * (n[1] * math.cos(a) + n[0] * math.sin(a)),
         min(H - 0.15, max(0.25, b.u(0.8, 1.7) if b.chance(0.7) else t[2])))
    seen = all(not b.inside_solid([u + k * (v - u) for u, v in zip(p, t)], 0.02) for k in (0.3, 0.55, 0.8))
    return (p, t) if seen else None


def stand(b):
    """Position and target of one who stands or walks and looks down on tables, things and the floor from eye height,
    0.6 to 4.5 m away.
    """
    t = spot(b, 0.45, 0.25, b.targets)
    a, d = b.u(0, 6.28), math.exp(b.u(math.log(0.6), math.log(4.5)))
    return (t[0] + d * math.cos(a), t[1] + d * math.sin(a), min(b.size[2] - 0.2, b.u(1.4, 1.9))), t


def at_desk(b):
    """Position and target of one who sits or stands at a desk or table: eyes 1.05 to 1.65 m high, from over the top
    to 0.8 m before either long edge. They look down on it as steeply as 75 degrees, across it, or past it.
    """
    if not b.tops:
        return None
    s, side = b.pick(b.tops), b.pick((-1, 1))
    q = s.frame.at(b.u(-0.6, 0.6) * s.w, side * (0.5 * s.d + b.u(-0.5 * s.d, 0.8)))
    p = (q.x, q.y, min(b.size[2] - 0.2, b.u(1.05, 1.65)))
    a = s.frame.yaw - side * math.pi / 2 + b.r.gauss(0, 0.7)
    return p, (p[0] + math.cos(a), p[1] + math.sin(a), p[2] + math.tan(b.u(-1.3, 0.15)))


# modes that choose what they look at, however near
AIMED = {'close': close, 'above': above, 'blank': blank, 'stand': stand, 'desk': at_desk}
TILTED = ('stand', 'desk')      # of these modes, more pictures of hard scenes are rolled by up to 45 degrees


def indoor(b, n, modes):
    """Half as many again as n camera pairs; modes: weights of walk, low, near, wall, sit, edge, AIMED."""
    W, L, H = b.size
    names, weights = list(modes), list(modes.values())
    tries, want = 0, n + n // 2
    while len(b.cams) < want and tries < 60 * n:
        tries += 1
        mode, f = b.r.choices(names, weights)[0], focal(b.r)
        s = b.pick(b.tops) if b.tops else None
        if mode in ('low', 'near', 'sit'):
            if s is None:
                continue
            p, tgt = _over_top(b, s, mode)
        elif mode == 'edge':
            if not b.edges:
                continue
            p, tgt = past_edge(b, f)
        elif mode in AIMED:
            aim = AIMED[mode](b)
            if aim is None:
                continue
            p, tgt = aim
        else:
            p = (b.u(0.2, W - 0.2), b.u(0.2, L - 0.2), b.u(0.95, 1.75) if b.chance(0.8) else b.u(0.3, 1.0))
            if b.targets and b.chance(0.5):             # somebody points a camera at something
                t = b.pick(b.targets)
                tgt = (t[0] + b.u(-0.5, 0.5), t[1] + b.u(-0.5, 0.5), t[2] + b.u(-0.3, 0.3))
            elif mode == 'wall':                        # at arm's length or a step from a wall or furniture
                k = b.pick((0, 1, 2, 3))
                tgt = (b.u(0, W), (0, L)[k & 1], b.u(0.4, 1.8)) if k < 2 else ((0, W)[k & 1], b.u(0, L),
                                                                               b.u(0.4, 1.8))
            elif s and b.chance(0.5):
                t = s.frame.at(b.u(-1, 1) * s.w, b.u(-1, 1) * s.d)
                tgt = (t.x, t.y, t.z + b.u(-0.3, 0.5))
            else:
                a, pitch = b.u(0, 6.28), b.r.gauss(-0.28, 0.25)
                tgt = (p[0] + math.cos(a), p[1] + math.sin(a), p[2] + math.tan(max(-1.2, min(0.6, pitch))))
        d = math.dist(p, tgt)
        if mode == 'wall' and d < b.u(0.5, 1.3):
            continue
        if not (0.15 < p[0] < W - 0.15 and 0.15 < p[1] < L - 0.15
                and 0.15 < p[2] < H - 0.1) or d < 0.25 or b.inside_solid(p, 0.08):
            continue
        q = [a + 0.55 * (c - a) / d for a, c in zip(p, tgt)]           # what is half a metre ahead
        if mode not in AIMED and b.chance(0.85) and (not (0 < q[0] < W and 0 < q[1] < L and q[2] > 0)
                               or (mode != 'near' and b.inside_solid(q, 0.0))):
            continue
        tilted = b.hard and b.chance(0.4 if mode in TILTED else 0.12)
        add(b, p, tgt, b.u(-0.78, 0.78) if tilted else roll(b.r), f)
    if not b.cams:
        add(b, (W / 2, L / 2, H * 0.8), (W, L, 0.5))


def lively(b, n):
    """In a lively scene: cameras that look at what moves, from a step to a room's length away, often so that
    the picture's border cuts it; two of them to one of those made so far.
    """
    if not b.lively or not b.stars:
        return
    W, L, H = b.size
    before, b.cams, tries = b.cams, [], 0
    while len(b.cams) < 2 * n and tries < 120 * n:
        tries += 1
        t, f = b.pick(b.stars), focal(b.r)
        a, d = b.u(0, 6.28), math.exp(b.u(math.log(0.7), math.log(5.0)))
        z = t[2] + b.r.gauss(0.1, 0.25) if b.chance(0.5) else b.u(0.8, 1.75)
        p = (t[0] + d * math.cos(a), t[1] + d * math.sin(a), z)
        if not (0.2 < p[0] < W - 0.2 and 0.2 < p[1] < L - 0.2 and 0.3 < z < H - 0.2) or b.inside_solid(p, 0.1):
            continue
        hidden = any(b.inside_solid([q + k * (v - q) for q, v in zip(p, t)], 0.0)
                     for k in (0.2, 0.35, 0.5, 0.65) if (1 - k) * d > 0.45)
        if hidden and b.chance(0.85):
            continue
        half = math.atan(0.5 / f)                       # of the field of view
        off = b.pick((-1, 1)) * half * (b.u(0.55, 1.0) if b.chance(0.35) else b.u(0, 0.5))
        tgt = (p[0] - d * math.cos(a + off), p[1] - d * math.sin(a + off), t[2] + b.r.gauss(0, 0.12) * d)
        add(b, p, tgt, b.r.gauss(0, 0.06) if b.chance(0.85) else b.u(-1.2, 1.2), f, top=(30.0, 0.8))
    own, b.cams = b.cams, []
    while own or before:
        b.cams += own[:2] + before[:1]
        own, before = own[2:], before[1:]
