"""Rooms, corridors and desks from near.

A room is a box with openings, recesses and pillars; its walls are filled from left to right with what
its kind asks for, its floor with tables, chairs and loose furniture. Cameras then stand where people
hold a phone: walking, sitting, low over a table, close to a wall, beside an obstacle that cuts the view.
"""
import math

from . import things
from .build import POINT, SUN, Frame, Mat, Surface

KINDS = {   # what stands along the walls, with weights
    'kitchen': {'run': 6, 'tall': 2, 'gap': 2, 'door': 1, 'shelf': 2, 'tv': 1, 'board': 1, 'window': 1, 'pictures': 2},
    'living': {'sofa': 4, 'case': 3, 'pack': 4, 'gap': 2, 'door': 1, 'window': 2, 'tv': 1, 'pictures': 3, 'plant': 2},
    'office': {'desk': 6, 'case': 3, 'pack': 2, 'gap': 2, 'door': 1, 'window': 2, 'board': 2, 'pictures': 2, 'radiator': 1, 'shelf': 1},
    'meeting': {'gap': 4, 'board': 3, 'tv': 2, 'window': 3, 'door': 1, 'pack': 2, 'pictures': 3, 'radiator': 1},
    'store': {'case': 5, 'rack': 4, 'pack': 4, 'pile': 4, 'gap': 1, 'door': 1, 'shelf': 2},
    'bath': {'bath': 5, 'gap': 2, 'door': 1, 'window': 1, 'shelf': 1, 'pictures': 1, 'radiator': 1},
    'bed': {'bed': 4, 'pack': 5, 'gap': 2, 'door': 1, 'window': 2, 'pictures': 2, 'case': 1},
}
PACK = {'living': ('sideboard', 'armchair', 'bookcase', 'piano', 'fireplace', 'console', 'floorlamp', 'radiator', 'aquarium', 'bin'),
        'office': ('filingcabinet', 'bookcase', 'watercooler', 'bin', 'wardrobe', 'whiteboard', 'sideboard', 'plant'),
        'meeting': ('sideboard', 'whiteboard', 'screen', 'watercooler', 'plant', 'bin'),
        'store': ('box', 'boxes', 'crate', 'barrel', 'pallet', 'shelving', 'bin', 'workbench', 'ladder', 'bucket', 'freezer', 'washingmachine'),
        'bed': ('wardrobe', 'nightstand', 'armchair', 'sideboard', 'toy', 'bookcase', 'bag', 'clotheshorse'),
        'kitchen': ('fridge', 'cooker', 'oven', 'freezer', 'washingmachine', 'sideboard', 'kitchencabinet', 'bin', 'kitchensink'),
        'bath': ('bathtub', 'shower', 'toilet', 'washbasin', 'washingmachine', 'bin', 'basket')}


def wall_plane(b, f, length, h, m, openings):
    """A wall from its left end along local x, 0.12 m thick behind y = 0, with openings (x0, x1, z0, z1)."""
    x = 0.0
    for x0, x1, z0, z1 in sorted(openings):
        b.box(f, ((x + x0) / 2, 0.06, h / 2), (x0 - x, 0.12, h), m)
        if z0 > 0:
            b.box(f, ((x0 + x1) / 2, 0.06, z0 / 2), (x1 - x0, 0.12, z0), m)
        if z1 < h:
            b.box(f, ((x0 + x1) / 2, 0.06, (z1 + h) / 2), (x1 - x0, 0.12, h - z1), m)
        x = x1
    b.box(f, ((x + length) / 2, 0.06, h / 2), (length - x, 0.12, h), m)


def window(b, f, x0, x1, z0, z1):
    """Frame, bars, sill and what lies outside."""
    m, w, h = b.plain('white' if b.chance(0.7) else 'any'), x1 - x0, z1 - z0
    cx, cz = (x0 + x1) / 2, (z0 + z1) / 2
    for z in (z0, z1):
        b.box(f, (cx, 0.04, z), (w, 0.08, 0.05), m)
    n = b.r.randint(1, 3)
    for k in range(n + 1):
        b.box(f, (x0 + w * k / n, 0.04, cz), (0.05, 0.07, h), m)
    b.box(f, (cx, -0.06, z0 - 0.01), (w + 0.1, 0.2, 0.03), m)
    if b.chance(0.3):
        curtain = b.mat('fabric')
        for s in (x0 - 0.1, x1 + 0.1):
            for k in range(6):
                b.shape('cyl', f, (s + (k - 2.5) * 0.06, -0.1, (z1 + 0.1) / 2 + 0.05), (0.07, 0.05, z1), curtain)
    tex, _ = b.picture('photo_outdoor', 'photo_picture')
    d = b.u(2, 9)
    b.quad(f, (cx, d, cz + 0.5), w + 2.2 * d, 0.7 * (w + 2.2 * d), tex, emit=b.u(0.8, 5.0))


def door(b, f, x, w, h):
    """A closed or open door leaf with its frame; x is the left edge."""
    m, leaf = b.plain('any'), b.plain('any', b.u(0, 0.5)) if b.chance(0.5) else b.mat('door', 'wood')
    for s in (x - 0.03, x + w + 0.03):
        b.box(f, (s, 0.02, h / 2), (0.07, 0.22, h), m)
    b.box(f, (x + w / 2, 0.02, h + 0.03), (w + 0.13, 0.22, 0.07), m)
    pack, k = b.meshes('door', 'door'), b.r.random()
    if k < 0.3 and pack:
        d = b.pick(pack)
        b.asset(d, f, x + w / 2, 0.05, 0, stretch=(w / d.size[0], 1, h / d.size[2]))
    elif k < 0.75:
        b.box(f, (x + w / 2, b.u(0.0, 0.09), h / 2), (w, 0.04, h), leaf)
        b.shape('cyl', f, (x + 0.08 * w, -0.03, 1.02), (0.02, 0.02, 0.13), b.plain('grey', 0.9), tilt=math.pi / 2)
        if b.chance(0.3):
            b.box(f, (x + w * 0.5, -0.005, h * 0.72), (w * 0.3, 0.03, h * 0.3), b.plain('dark', 0.9))
    else:                                               # leaf swung into the room: a near edge
        a, s = b.u(0.5, 2.4), b.pick((-1, 1))
        g = f.at(x + w / 2 - s * w / 2, -0.02, 0, -s * a)
        b.box(g, (s * w / 2, 0, h / 2), (w, 0.04, h), leaf)
        b.solid(g, 0 if s > 0 else -w, -0.1, 0, w if s > 0 else 0, 0.1, h)
        hallway(b, f, x, w, h)


def hallway(b, f, x, w, h):
    """What is seen through an open doorway: a plain passage."""
    m, d = b.plain('white'), b.u(1.2, 5.0)
    for s in (-1, 1):
        b.box(f, (x + w / 2 + s * (w / 2 + 0.5), 0.12 + d / 2, 1.3), (0.1, d, 2.6), m)
    b.box(f, (x + w / 2, 0.12 + d, 1.3), (w + 1.2, 0.1, 2.6), b.plain())
    b.box(f, (x + w / 2, 0.12 + d / 2, -0.05), (w + 1.2, d, 0.1), b.mat('floor', 'carpet', 'tile'))
    b.box(f, (x + w / 2, 0.12 + d / 2, 2.65), (w + 1.2, d, 0.1), m)


def pictures(b, f, x0, x1, z_lo=0.9, z_hi=2.0):
    """Framed pictures, posters, sheets on a stretch of wall."""
    for _ in range(b.r.randint(1, 6)):
        w = b.u(0.15, 1.1)
        tex, a = b.picture('photo_picture', 'poster', 'paper', 'cover', 'photo_outdoor', 'sign')
        h = w / max(0.5, min(2.0, a)) if b.chance(0.6) else w * b.u(0.6, 1.5)
        x, z = b.u(x0, x1), b.u(z_lo, z_hi)
        if b.chance(0.5):
            b.box(f, (x, -0.012, z), (w + 0.05, 0.025, h + 0.05), b.plain('any', 0.4))
        b.quad(f, (x, -0.03, z), w, h, tex, gloss=b.u(0, 0.6))


def notice_board(b, f, x, w):
    h, z = b.u(0.8, 1.3), b.u(1.3, 1.6)
    face = b.plain('vivid' if b.chance(0.4) else 'warm', 0.05) if b.chance(0.6) else b.plain('white', 0.8)
    b.box(f, (x + w / 2, -0.015, z), (w, 0.03, h), b.plain('any', 0.4))
    b.box(f, (x + w / 2, -0.025, z), (w - 0.08, 0.02, h - 0.08), face)
    for _ in range(b.r.randint(0, 14)):
        tex, _ = b.picture('paper', 'cover', 'poster')
        b.quad(f, (x + b.u(0.15, w - 0.15), -0.037, z + b.u(-0.35, 0.35) * h), b.u(0.12, 0.4), b.u(0.15, 0.45), tex)


def wall_item(b, f, x, room, item, h):
    """Put one item at x along a wall; returns the width it took."""
    if item == 'run':
        w = b.u(1.2, 3.6)
        if b.free_rect(f, x, -0.7, x + w, 0):
            things.kitchen_run(b, f.at(x, 0), w)
        return w
    if item in ('pack', 'sofa', 'bed', 'tall', 'bath', 'plant'):
        cls = {'sofa': ('sofa',), 'bed': ('bed',), 'tall': ('fridge', 'wardrobe'), 'plant': ('plant',)}.get(item, PACK.get(room, ()))
        pack = [m for m in b.meshes('floor', *cls) if m.size[0] < 3.6 and m.size[1] < 2.6]
        if not pack:
            w, d, hh = b.u(0.5, 1.6), b.u(0.35, 0.65), b.u(0.5, 2.0)
            if b.free_rect(f, x, -d, x + w, 0):
                b.box(f, (x + w / 2, -d / 2, hh / 2), (w, d, hh), b.mat('wood') if b.chance(0.6) else b.plain())
                b.take(f, x, -d, x + w, 0, hh)
                things.clutter(b, Surface(f.at(x + w / 2, -d / 2, hh), w, d), b.r.randint(0, 5))
            return w
        m = b.pick(pack)
        w, d, hh = m.size
        if b.free_rect(f, x, -d, x + w, 0):
            b.asset(m, f, x + w / 2, -d / 2 - 0.02, 0, yaw=b.r.gauss(0, 0.05))
            b.take(f, x, -d, x + w, 0, hh)
            if item == 'pack' and hh < 1.3 and b.chance(0.6):
                things.clutter(b, Surface(f.at(x + w / 2, -d / 2, hh), w * 0.8, d * 0.7), b.r.randint(1, 6))
        return w
    if item == 'desk':
        w = b.u(1.1, 2.0)
        if b.free_rect(f, x, -1.0, x + w, 0):
            things.office_desk(b, f.at(x + w / 2, -0.02), w)
            if b.chance(0.5):
                pictures(b, f, x, x + w, 1.1, 1.8)
        return w
    if item in ('case', 'rack'):
        w = b.u(0.6, 1.8)
        if b.free_rect(f, x, -0.5, x + w, 0):
            things.bookcase(b, f.at(x + w / 2, 0), w, b.u(0.8, min(2.3, h - 0.1)))
        return w
    if item == 'pile':
        w = b.u(0.6, 1.8)
        for _ in range(b.r.randint(2, 7)):
            s = (b.u(0.2, 0.6), b.u(0.2, 0.5), b.u(0.15, 0.5))
            z = 0.0 if b.chance(0.6) else b.u(0.3, 0.7)
            b.box(f, (x + b.u(0, w), -b.u(0.3, 0.7), z + s[2] / 2), s, b.plain('warm') if b.chance(0.6) else b.mat('cover', 'label', 'wood'), yaw=b.u(0, 3))
        b.take(f, x, -0.9, x + w, 0, 0.9)
        return w
    if item == 'shelf':
        w = b.u(0.6, 2.0)
        for k in range(b.r.randint(1, 3)):
            things.board(b, f.at(x, 0, b.u(0.9, 1.2) + 0.4 * k), w, b.u(0.15, 0.35))
        return w
    if item == 'tv':
        w = b.u(0.8, 1.5)
        z, ww = b.u(1.1, 1.8), w * 0.95
        b.box(f, (x + w / 2, -0.05, z), (ww, b.u(0.04, 0.12), ww * 0.58), b.plain('dark', 0.6))
        tex, _ = b.picture('screen', 'photo_outdoor')
        lit = b.chance(0.6)
        b.quad(f, (x + w / 2, -0.115, z), ww - 0.05, ww * 0.54, tex if lit else -1, rgb=(1, 1, 1) if lit else (0.02, 0.02, 0.03), gloss=0.7,
               emit=b.u(0.5, 3) if lit else 0.0)
        return w
    if item == 'board':
        w = b.u(1.0, 2.6)
        notice_board(b, f, x, w)
        return w
    if item == 'radiator':
        w, n = b.u(0.6, 1.6), 0
        m = b.plain('white', 0.3)
        for k in range(int(w / 0.06)):
            b.box(f, (x + 0.06 * k, -0.07, 0.42), (0.045, 0.09, 0.55), m)
        return w
    if item == 'pictures':
        w = b.u(0.8, 2.2)
        pictures(b, f, x, x + w)
        return w
    return b.u(0.3, 1.4)


def shell(b, W, L, H, sun=True, floor=None):
    """Floor, ceiling and four walls with openings. Returns wall frames and their lengths, and window list."""
    b.size = (W, L, H)
    frames = [(Frame(0, L, 0, 0.0), W), (Frame(W, 0, 0, math.pi), W), (Frame(W, L, 0, -math.pi / 2), L), (Frame(0, 0, 0, math.pi / 2), L)]
    base = b.plain('white' if b.chance(0.6) else 'any', b.u(0, 0.3))
    windows, doors = [], []
    floor = floor or (b.mat('floor', 'wood', 'carpet', 'tile', 'stone', 'floor', 'carpet') if b.chance(0.85) else b.plain('any'))
    if floor.tex >= 0 and b.chance(0.3):
        floor.gloss = b.u(0.3, 0.8)
    b.box(Frame(), (W / 2, L / 2, -0.05), (W + 0.3, L + 0.3, 0.1), floor)
    ceil = b.mat('ceiling', scale=(0.8, 1.2), tint=0.1) if b.chance(0.4) else b.plain('white', 0.0)
    b.box(Frame(), (W / 2, L / 2, H + 0.05), (W + 0.3, L + 0.3, 0.1), ceil)
    skirt = b.plain('any', 0.3)
    for f, length in frames:
        k = b.r.random()
        m = base if k < 0.55 else b.plain('any', b.u(0, 0.4)) if k < 0.68 else b.mat('wall', 'wall', 'brick', 'concrete', 'tile', 'wood', 'stone')
        opens = []
        if b.chance(0.4) and length > 1.6:
            w = b.u(0.7, min(2.6, length - 0.6))
            x0, z0 = b.u(0.3, length - w - 0.3), b.u(0.5, 1.2)
            opens.append((x0, x0 + w, z0, min(H - 0.2, z0 + b.u(0.9, 1.6))))
            windows.append((f, opens[-1]))
        if b.chance(0.45) and length > 1.6:
            x0 = b.u(0.2, length - 1.2)
            o = (x0, x0 + b.u(0.75, 1.0), 0.0, min(H - 0.1, b.u(1.95, 2.2)))
            if not opens or o[1] < opens[0][0] - 0.15 or o[0] > opens[0][1] + 0.15:
                opens.append(o)
                doors.append((f, o))
        wall_plane(b, f, length, H, m, opens)
        if b.chance(0.6) and not any(o[2] == 0 for o in opens):
            b.box(f, (length / 2, -0.01, 0.05), (length, 0.02, b.u(0.06, 0.14)), skirt)
        if b.chance(0.15):                              # dado: lower part of another colour
            b.box(f, (length / 2, 0.0, 0.5), (length if not opens else 0.01, 0.012, 1.0), b.plain('any', 0.3))
    for f, o in windows:
        window(b, f, *o)
    for f, o in doors:
        door(b, f, o[0], o[1] - o[0], o[3])
        b.take(f, o[0] - 0.1, -0.9, o[1] + 0.1, 0)
    return frames, windows


def lights(b, W, L, H, windows, lamps=None):
    """Ceiling lamps, daylight through windows, bounce light. At most two shadow maps."""
    warm = b.u(0.75, 1.05)
    col = (1.0, 0.5 + 0.5 * warm, warm)
    day = b.chance(0.5) and windows
    gain = b.u(0.4, 1.6) if not day else b.u(0.0, 0.7)
    amb = b.u(0.12, 0.5) * (0.6 + 0.4 * gain)
    g = b.colour('white')
    b.scene['amb_up'] = [amb * c * k for c, k in zip(col, g)]
    b.scene['amb_dn'] = [amb * b.u(0.5, 1.0) * c * k for c, k in zip(col, b.colour('warm' if b.chance(0.4) else 'white'))]
    n = 0
    if day:
        f, o = b.pick(windows)
        q = f.at((o[0] + o[1]) / 2, 0.02)
        inward = (math.sin(f.yaw), -math.cos(f.yaw), -0.25)
        blue = b.u(0.85, 1.1)
        b.light(POINT, (q.x, q.y, (o[2] + o[3]) / 2), inward, (blue, 1.0, 1.1), b.u(1.0, 3.0), 0.0, 6.0, shadow=68)
        n += 1
        if b.chance(0.5):
            s = b.u(2, 9)
            d = (inward[0] + b.u(-0.8, 0.8), inward[1] + b.u(-0.8, 0.8), -b.u(0.3, 1.2))
            b.light(SUN, direction=d, col=(s, s * 0.95, s * 0.85), soft=1.5, shadow=((W / 2, L / 2, H / 2), max(W, L) * 0.75))
            n += 1
    lamps = lamps or [(W * (i + 0.5) / nx + b.u(-0.2, 0.2), L * (j + 0.5) / ny) for nx in (1 if W < 4.5 else 2,) for ny in (1 if L < 4.5 else 2 if L < 8 else 3,)
                      for i in range(nx) for j in range(ny)]
    kind, w, d = b.r.random(), b.u(0.15, 1.3), b.u(0.15, 0.7)
    pack = b.meshes('ceiling', 'lamp')
    for i, (x, y) in enumerate(lamps):
        if gain > 0.05 or day:
            if kind < 0.8 or not pack:
                things.lamp_panel(b, x, y, H, w, d, b.u(3, 14) * (gain > 0.1))
            else:
                m = b.pick(pack)
                b.asset(m, Frame(), x, y, H - m.hi[2] - 0.01, recolour=0.2)
        if gain > 0.05 and i < 5:
            sh = 72 if n < 2 else None
            n += sh is not None
            b.light(POINT, (x, y, H - 0.25), (0, 0, -1), tuple(c * gain for c in col), b.u(1.2, 2.4), -0.35, 5.0, shadow=sh)
    b.scene['env_tex'], _ = b.picture('photo_panorama', 'photo_indoor')
    b.scene['env_gain'] = b.u(0.3, 1.0)
    b.scene['sky_gain'] = 2.0
    b.scene['fog_col'] = (0.8, 0.9, 1.0)


def cameras(b, W, L, H, n, modes):
    """n camera pairs; modes: weights of walk, low, near, wall, sit."""
    names, weights = list(modes), list(modes.values())
    tries = 0
    while len(b.cams) < n and tries < 60 * n:
        tries += 1
        mode = b.r.choices(names, weights)[0]
        s = b.pick(b.tops) if b.tops else None
        if mode in ('low', 'near', 'sit') and s is None:
            continue
        if mode == 'low':                               # phone low over a table top
            a, r = b.u(0, 6.28), b.u(0.0, 0.5) + 0.5 * max(s.w, s.d)
            q = s.frame.at(r * math.cos(a) * b.u(0.4, 1.1), r * math.sin(a) * b.u(0.4, 1.1))
            p = (q.x, q.y, q.z + b.u(0.15, 0.75))
            t = s.frame.at(b.u(-0.6, 0.6) * s.w, b.u(-0.6, 0.6) * s.d)
            tgt = (t.x, t.y, t.z + b.u(-0.3, 0.35))
        elif mode == 'near':                            # looking down on a desk or worktop
            q = s.frame.at(b.u(-0.6, 0.6) * s.w, -0.5 * s.d - b.u(-0.1, 0.7))
            p = (q.x, q.y, q.z + b.u(0.3, 0.95))
            t = s.frame.at(b.u(-0.5, 0.5) * s.w, b.u(-0.3, 0.6) * s.d)
            tgt = (t.x, t.y, t.z + b.u(-0.1, 0.4))
        elif mode == 'sit':
            q = s.frame.at(b.u(-1.2, 1.2) * s.w, b.u(-1.4, 1.4) * (s.d + 0.5))
            p = (q.x, q.y, b.u(0.95, 1.5))
            t = s.frame.at(b.u(-1, 1) * s.w, b.u(-1, 1) * s.d)
            tgt = (t.x, t.y, t.z + b.u(-0.2, 0.5))
        else:
            p = (b.u(0.2, W - 0.2), b.u(0.2, L - 0.2), b.u(1.1, 1.75) if b.chance(0.8) else b.u(0.3, 1.1))
            if mode == 'wall':                          # at arm's length or a step from a wall or furniture
                tgt = (b.u(0, W), b.u(0, L), b.u(0.3, 1.8))
                k = b.pick((0, 1, 2, 3))
                tgt = (b.u(0, W), (0, L)[k & 1], b.u(0.4, 1.8)) if k < 2 else ((0, W)[k & 1], b.u(0, L), b.u(0.4, 1.8))
            elif s and b.chance(0.5):
                t = s.frame.at(b.u(-1, 1) * s.w, b.u(-1, 1) * s.d)
                tgt = (t.x, t.y, t.z + b.u(-0.3, 0.5))
            else:
                a, pitch = b.u(0, 6.28), b.r.gauss(-0.28, 0.25)
                tgt = (p[0] + math.cos(a), p[1] + math.sin(a), p[2] + math.tan(max(-1.2, min(0.6, pitch))))
        d = math.dist(p, tgt)
        if mode == 'wall' and d < b.u(0.5, 1.3):
            continue
        if not (0.1 < p[0] < W - 0.1 and 0.1 < p[1] < L - 0.1 and 0.15 < p[2] < H - 0.1) or d < 0.25 or b.inside_solid(p, 0.08):
            continue
        q = [a + 0.55 * (c - a) / d for a, c in zip(p, tgt)]           # what is half a metre ahead
        if b.chance(0.85) and (not (0 < q[0] < W and 0 < q[1] < L and q[2] > 0) or (mode != 'near' and b.inside_solid(q, 0.0))):
            continue
        roll = b.r.gauss(0, 0.1) if b.chance(0.8) else b.u(-1.25, 1.25)
        b.camera(p, tgt, roll)
    if not b.cams:
        b.camera((W / 2, L / 2, H * 0.8), (W, L, 0.5), 0.0)


def room(b, n_cams, kind=None):
    kind = kind or b.r.choices(list(KINDS), (6, 4, 5, 3, 2, 1, 2))[0]
    W, L, H = b.u(2.2, 6.0), b.u(2.6, 8.0), b.u(2.3, 3.1)
    if kind == 'bath':
        W, L = b.u(1.6, 3.0), b.u(1.8, 3.5)
    frames, windows = shell(b, W, L, H)
    items, weights = list(KINDS[kind]), list(KINDS[kind].values())
    for k in range(b.r.choices((0, 1, 2), (6, 3, 1))[0]):       # pillars, chimney breasts, pipes
        f, length = b.pick(frames)
        w, d, x = b.u(0.2, 0.9), b.u(0.1, 0.6), b.u(0.1, max(0.2, length - 1.0))
        if b.free_rect(f, x, -d, x + w, 0):
            b.box(f, (x + w / 2, -d / 2, H / 2), (w, d, H), b.plain('white') if b.chance(0.6) else b.mat('wall', 'brick', 'concrete'))
            b.take(f, x, -d, x + w, 0, H)
    for f, length in frames:
        x = b.u(0.0, 0.5)
        while x < length - 0.4:
            item = b.r.choices(items, weights)[0]
            if item in ('door', 'window'):
                item = 'gap'
            if x + 0.5 > length:
                break
            x += wall_item(b, f, x, kind, item, H) + (b.u(0, 0.35) if b.chance(0.6) else 0.0)
    for _ in range(b.r.randint(1, 3) if kind in ('kitchen', 'living', 'meeting', 'office') else b.r.randint(0, 1)):
        f = Frame(b.u(1.0, W - 1.0), b.u(1.2, L - 1.2), 0, b.pick((0, math.pi / 2)) + b.r.gauss(0, 0.15))
        if b.free_rect(f, -0.8, -0.5, 0.8, 0.5):
            if kind == 'office' and b.chance(0.5):
                things.office_desk(b, f)
            else:
                things.table(b, f, w=b.u(1.6, 3.0) if kind == 'meeting' else None)
    loose = [m for m in b.meshes('floor') if max(m.size[:2]) < 1.0]
    for _ in range(b.r.randint(0, 7)):
        f = Frame(b.u(0.3, W - 0.3), b.u(0.3, L - 0.3), 0, b.u(0, 6.28))
        if b.free_rect(f, -0.3, -0.3, 0.3, 0.3):
            k = b.r.random()
            if k < 0.25:
                things.chair(b, f)
                b.take(f, -0.3, -0.3, 0.3, 0.3)
            elif k < 0.35:
                things.person(b, f)
            elif loose and k < 0.85:
                m = b.pick(loose)
                b.asset(m, f, 0, 0, 0)
                b.take(f, -m.size[0] / 2, -m.size[1] / 2, m.size[0] / 2, m.size[1] / 2, m.size[2])
            else:
                b.shape(f'blob{b.r.randint(0, 3)}', f, (0, 0, 0.15), (b.u(0.2, 0.6), b.u(0.2, 0.5), 0.35), b.mat('fabric'))
    lights(b, W, L, H, windows)
    cameras(b, W, L, H, n_cams, {'walk': 5, 'low': 3, 'near': 2, 'wall': 2, 'sit': 3})
    return b.finish(kind, n_cams)


def corridor(b, n_cams):
    W, L, H = b.u(1.3, 3.2), b.u(6, 32), b.u(2.2, 3.0)
    floor = b.mat('floor', 'tile', 'stone', 'carpet', 'granite', 'floor') if b.chance(0.75) else b.plain('white')
    if b.chance(0.6):
        floor.gloss = b.u(0.35, 0.95)
    b.box(Frame(), (W / 2, L / 2, -0.05), (W + 8, L + 8, 0.1), floor)
    b.box(Frame(), (W / 2, L / 2, H + 0.05), (W + 8, L + 8, 0.1), b.mat('ceiling', tint=0.1) if b.chance(0.5) else b.plain('white', 0.0))
    skirt, skirt_h = b.plain('dark' if b.chance(0.5) else 'any', 0.3), b.u(0.07, 0.18)
    windows, leaf_col = [], b.plain('any', b.u(0.1, 0.5))
    for f, length in ((Frame(W, L, 0, -math.pi / 2), L), (Frame(0, 0, 0, math.pi / 2), L)):
        m = b.plain('white' if b.chance(0.6) else 'any', b.u(0, 0.3)) if b.chance(0.75) else b.mat('wall', 'concrete', 'brick', 'tile')
        x, opens = b.u(0.2, 1.5), []
        x_prev = 0.0
        while x < length - 1.3:
            k = b.r.random()
            if k < 0.55:
                w, h = b.u(0.8, 1.0) if b.chance(0.8) else b.u(1.4, 1.8), b.u(2.0, 2.2)
                opens.append((x, x + w, 0.0, min(h, H - 0.05), 'door'))
            elif k < 0.63:
                w = b.u(1.0, 2.4)
                opens.append((x, x + w, 0.0, min(H - 0.03, b.u(2.1, 3.0)), 'gap'))
            elif k < 0.72:
                w, z0 = b.u(0.8, 2.5), b.u(0.5, 1.2)
                opens.append((x, x + w, z0, min(H - 0.15, z0 + b.u(0.8, 1.5)), 'window'))
            else:
                w = 0.0
            x += w + b.u(0.4, 3.5)
        wall_plane(b, f, length, H, m, [o[:4] for o in opens])
        edges = sorted([0.0, length] + [v for o in opens if o[2] == 0 for v in o[:2]])
        for a, c in zip(edges[::2], edges[1::2]):
            b.box(f, ((a + c) / 2, -0.008, skirt_h / 2), (c - a, 0.016, skirt_h), skirt)
            if c - a > 0.8:
                for _ in range(int((c - a) * b.u(0, 0.8)) + 1):
                    corridor_item(b, f, a + 0.1, c - 0.1, W)
        for x0, x1, z0, z1, what in opens:
            if what == 'door':
                recess = b.u(0.0, 0.2)
                pack = b.meshes('door', 'door', 'doubledoor', 'elevator')
                if pack and b.chance(0.25):
                    d = b.pick(pack)
                    b.asset(d, f, (x0 + x1) / 2, 0.06, 0, stretch=((x1 - x0) / d.size[0], 1, z1 / d.size[2]))
                else:
                    b.box(f, ((x0 + x1) / 2, 0.03 + recess / 2, z1 / 2), (x1 - x0, 0.04, z1), leaf_col if b.chance(0.7) else b.mat('door', 'wood'))
                    b.shape('cyl', f, (x0 + 0.1, -0.02, 1.02), (0.02, 0.02, 0.13), b.plain('grey', 0.9), tilt=math.pi / 2)
                for s in (x0 - 0.02, x1 + 0.02):
                    b.box(f, (s, 0.02, z1 / 2), (0.06, 0.17, z1), leaf_col)
                b.box(f, ((x0 + x1) / 2, 0.02, z1 + 0.02), (x1 - x0 + 0.1, 0.17, 0.06), leaf_col)
            elif what == 'gap':
                hallway(b, f, x0, x1 - x0, z1)
            else:
                windows.append((f, (x0, x1, z0, z1)))
                window(b, f, x0, x1, z0, z1)
    for f in (Frame(0, L, 0, 0.0), Frame(W, 0, 0, math.pi)):
        m = b.plain('white' if b.chance(0.7) else 'any')
        if b.chance(0.35):
            wall_plane(b, f, W, H, m, [(W * 0.2, W * 0.8, 0.0, 2.1)])
            hallway(b, f, W * 0.2, W * 0.6, 2.1)
        else:
            wall_plane(b, f, W, H, m, [])
            if b.chance(0.6):
                b.box(f, (W / 2, -0.02, 1.03), (0.9, 0.05, 2.06), leaf_col)
            if b.chance(0.5):
                pictures(b, f, 0.2, W - 0.2)
    for _ in range(b.r.choices((0, 1, 2, 4), (4, 3, 2, 1))[0]):         # beams and pillars that cut the view
        y, d, s = b.u(0.5, L - 0.5), b.u(0.1, 0.5), b.pick((0, 1))
        w = b.u(0.1, 0.4) * W
        b.box(Frame(), (w / 2 if s else W - w / 2, y, H / 2), (w, d, H), b.plain('white') if b.chance(0.6) else b.mat('wall', 'concrete', 'brick'))
        b.solid(Frame(), 0 if s else W - w, y - d / 2, 0, w if s else W, y + d / 2, H)
        if b.chance(0.5):
            b.box(Frame(), (W / 2, y, H - 0.15), (W, d, 0.3), b.plain('white'))
    n_l = max(1, int(L / b.u(2.0, 5.0)))
    lights(b, W, L, H, windows, [(W / 2, L * (k + 0.5) / n_l) for k in range(n_l)])
    tries = 0
    while len(b.cams) < n_cams and tries < 200:
        tries += 1
        p = (b.u(0.3, W - 0.3), b.u(0.4, L - 0.4), b.u(1.0, 1.7))
        if b.inside_solid(p, 0.1):
            continue
        k = b.r.random()
        if k < 0.6:
            y = L if b.chance(0.5) else 0.0
            tgt = (W / 2 + b.u(-1.5, 1.5), p[1] + (1 if y else -1) * b.u(2.5, 8), p[2] + b.r.gauss(-0.3, 0.5))
        else:
            a = b.u(-1.1, 1.1) + b.pick((0, math.pi)) if b.chance(0.75) else b.u(0, 6.28)
            tgt = (p[0] + math.sin(a), p[1] + math.cos(a), p[2] + b.r.gauss(-0.15, 0.2))
            if not 0 < p[0] + 0.7 * math.sin(a) < W:    # a blank wall right before the lens
                continue
        b.camera(p, tgt, b.r.gauss(0, 0.05) if b.chance(0.9) else b.u(-1.2, 1.2))
    return b.finish('corridor', n_cams)


def corridor_item(b, f, x0, x1, W):
    k, w = b.r.random(), x1 - x0
    x = b.u(x0, x1)
    if k < 0.3:
        notice_board(b, f, x0, min(w, b.u(0.8, 2.4)))
    elif k < 0.6:
        pictures(b, f, x0, x1)
    elif k < 0.7:
        m = Mat(-1, (0.7, 0.05, 0.04), 0.5)
        b.shape('cyl', f, (x, -0.12, 0.45), (0.16, 0.16, 0.5), m)
        b.shape('cone', f, (x, -0.12, 0.75), (0.14, 0.14, 0.12), b.plain('dark'))
        tex, _ = b.picture('sign', 'cover')
        b.quad(f, (x, -0.01, 1.2), 0.3, 0.2, tex)
    elif k < 0.8 and W > 1.7:
        pack = [m for m in b.meshes('floor', 'sofa', 'armchair', 'plant', 'radiator', 'bookcase', 'shoerack', 'watercooler', 'bin', 'sideboard')
                if m.size[1] < 0.9 and m.size[0] < 2.5]
        if pack:
            m = b.pick(pack)
            b.asset(m, f, min(x, x1 - m.size[0] / 2), -m.size[1] / 2 - 0.02, 0)
            b.solid(f, x - m.size[0] / 2, -m.size[1], 0, x + m.size[0] / 2, 0, m.size[2])
    elif k < 0.9:
        b.box(f, (x, -0.04, b.u(1.1, 1.7)), (b.u(0.1, 0.5), 0.08, b.u(0.1, 0.7)), b.plain('any', 0.6))
    else:
        b.shape('cyl', f, (x, -0.06, 1.4), (0.06, 0.06, 2.8), b.plain('any', 0.5))
        b.box(f, ((x0 + x1) / 2, -0.05, b.u(1.9, 2.2)), (w, 0.08, 0.06), b.plain('white'))


def desks(b, n_cams):
    """An office seen from near: desks in a row or a block, crowded with things, rolling camera."""
    W, L, H = b.u(2.8, 6.0), b.u(2.8, 6.5), b.u(2.4, 3.0)
    frames, windows = shell(b, W, L, H)
    x, y = b.u(0.6, 1.4), b.u(1.2, L - 0.8)
    for k in range(b.r.randint(1, 3)):
        w = b.u(1.2, 1.8)
        if x + w > W - 0.2:
            break
        f = Frame(x + w / 2, y, 0, b.r.gauss(0, 0.05))
        things.office_desk(b, f, w, n_clutter=b.r.randint(8, 30))
        if b.chance(0.6):                               # a second desk back to back, or a partition
            if y + 0.9 < L:
                things.office_desk(b, f.at(0, 0.02, 0, math.pi), w)
        else:
            b.box(f, (0, 0.03, 0.6), (w, 0.04, b.u(1.0, 1.5)), b.mat('fabric') if b.chance(0.6) else b.plain())
        x += w + (0.0 if b.chance(0.6) else 0.4)
    for f, length in frames:
        x = b.u(0, 0.6)
        while x < length - 0.5:
            x += wall_item(b, f, x, 'office', b.r.choices(('case', 'shelf', 'pack', 'board', 'pictures', 'gap', 'rack'), (4, 3, 2, 2, 2, 2, 2))[0], H) + b.u(0, 0.3)
    if b.chance(0.4):
        things.person(b, Frame(b.u(0.5, W - 0.5), b.u(0.5, L - 0.5)))
    lights(b, W, L, H, windows)
    cameras(b, W, L, H, n_cams, {'low': 4, 'near': 6, 'sit': 3, 'walk': 1})
    return b.finish('desks', n_cams)
