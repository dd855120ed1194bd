"""Rooms, corridors and desks from near.

A room is a box with openings, recesses and pillars; its walls are filled from left to right with what
its kind asks for, its floor with tables, chairs, loose furniture, people and what they push about. Cameras
then stand where people hold a phone (views.py).
"""
import math

from . import fitments, moving, people, surfaces, things, views
from .build import POINT, SUN, THING, Frame, Mat, Surface

KINDS = {   # what stands along the walls, with weights
    'kitchen': {'run': 6, 'tall': 2, 'gap': 2, 'door': 1, 'shelf': 2, 'tv': 1, 'board': 1, 'window': 1,
                'pictures': 2, 'sleek': 2},
    'living': {'sofa': 4, 'case': 3, 'pack': 4, 'gap': 2, 'door': 1, 'window': 2, 'tv': 1, 'pictures': 3,
               'plant': 3, 'sleek': 1.5, 'cloth': 1.5},
    'office': {'desk': 6, 'case': 3, 'pack': 2, 'gap': 2, 'door': 1, 'window': 2, 'board': 2, 'pictures': 2,
               'radiator': 1, 'shelf': 1, 'sleek': 1, 'plant': 1},
    'meeting': {'gap': 4, 'board': 3, 'tv': 2, 'window': 3, 'door': 1, 'pack': 2, 'pictures': 3,
                'radiator': 1, 'sleek': 1, 'plant': 1},
    'store': {'case': 5, 'rack': 4, 'pack': 4, 'pile': 4, 'gap': 1, 'door': 1, 'shelf': 2},
    'bath': {'bath': 5, 'gap': 2, 'door': 1, 'window': 1, 'shelf': 1, 'pictures': 1, 'radiator': 1},
    'bed': {'bed': 4, 'pack': 5, 'gap': 2, 'door': 1, 'window': 2, 'pictures': 2, 'case': 1, 'coats': 1, 'sleek': 1.5,
            'cloth': 2},
    'workshop': {'bench': 6, 'peg': 2, 'rack': 3, 'pack': 3, 'pile': 3, 'shelf': 2, 'gap': 2, 'cable': 2,
                 'radiator': 1},
    'shop': {'gondola': 6, 'cold': 3, 'rail': 2, 'pack': 1, 'gap': 1, 'pictures': 1, 'pile': 1},
    'hall': {'coats': 4, 'pack': 3, 'case': 2, 'gap': 2, 'pictures': 3, 'plant': 3, 'board': 1, 'railing': 2,
             'radiator': 1},
}
HARD = ('sleek', 'cloth')   # in hard scenes alone
OPEN = ('kitchen', 'living', 'office', 'meeting', 'hall')     # kinds of which wide rooms are made
WEIGHTS = {'kitchen': 6, 'living': 4, 'office': 5, 'meeting': 3, 'store': 2, 'bath': 1.5, 'bed': 2,
           'workshop': 2.5, 'shop': 2.5, 'hall': 1.5}
PACK = {'living': ('sideboard', 'armchair', 'bookcase', 'piano', 'fireplace', 'console', 'floorlamp',
                   'radiator', 'aquarium', 'bin'),
        'office': ('filingcabinet', 'bookcase', 'watercooler', 'bin', 'wardrobe', 'whiteboard', 'sideboard',
                   'plant'),
        'meeting': ('sideboard', 'whiteboard', 'screen', 'watercooler', 'plant', 'bin'),
        'store': ('box', 'boxes', 'crate', 'barrel', 'pallet', 'shelving', 'bin', 'workbench', 'ladder',
                  'bucket', 'freezer', 'washingmachine'),
        'bed': ('wardrobe', 'nightstand', 'armchair', 'sideboard', 'toy', 'bookcase', 'bag', 'clotheshorse'),
        'kitchen': ('fridge', 'cooker', 'oven', 'freezer', 'washingmachine', 'sideboard', 'kitchencabinet',
                    'bin', 'kitchensink'),
        'bath': ('bathtub', 'shower', 'toilet', 'washbasin', 'washingmachine', 'bin', 'basket'),
        'workshop': ('workbench', 'shelving', 'ladder', 'barrel', 'crate', 'box', 'filingcabinet', 'bucket',
                     'mower', 'palletjack'),
        'shop': ('counter', 'display', 'freezer', 'fridge', 'shelving', 'bin'),
        'hall': ('wardrobe', 'shoerack', 'sideboard', 'bin', 'stroller', 'bag', 'shoes', 'radiator')}


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
                b.shape('cyl', f, (s + (k - 2.5) * 0.06, -0.1, (z1 + 0.1) / 2 + 0.05), (0.07, 0.05, z1),
                        curtain)
    tex, _ = b.picture('photo_outdoor', 'photo_picture')
    d = b.u(2, 9)
    b.quad(f, (cx, d, cz + 0.5), w + 2.2 * d, 0.7 * (w + 2.2 * d), tex,
           emit=b.u(0.8, 5.0) if b.chance(0.8) else b.u(6, 20))


def door(b, f, x, w, h):
    """A closed or open door leaf with its frame; x is the left edge."""
    m, leaf = b.plain('any'), b.plain('any', b.u(0, 0.5)) if b.chance(0.5) else b.mat('door', 'wood')
    for s in (x - 0.03, x + w + 0.03):
        b.box(f, (s, 0.02, h / 2), (0.07, 0.22, h), m)
    b.box(f, (x + w / 2, 0.02, h + 0.03), (w + 0.13, 0.22, 0.07), m)
    pack, k = b.meshes('door', 'door'), b.r.random() + 0.3 * b.lively      # in lively scenes more stand open
    if k < 0.3 and pack:
        d = b.pick(pack)
        b.asset(d, f, x + w / 2, 0.05, 0, stretch=(w / d.size[0], 1, h / d.size[2]))
    elif k < 0.75:
        b.box(f, (x + w / 2, b.u(0.0, 0.09), h / 2), (w, 0.04, h), leaf)
        b.shape('cyl', f, (x + 0.08 * w, -0.03, 1.02), (0.02, 0.02, 0.13), b.plain('grey', 0.9),
                tilt=math.pi / 2)
        if b.chance(0.3):
            b.box(f, (x + w * 0.5, -0.005, h * 0.72), (w * 0.3, 0.03, h * 0.3), b.plain('dark', 0.9))
    else:                                               # leaf swung into the room: a near edge
        a, s = b.u(0.5, 2.4), b.pick((-1, 1))
        g = f.at(x + w / 2 - s * w / 2, -0.02, 0, -s * a)
        with b.thing(THING) as n:
            b.box(g, (s * w / 2, 0, h / 2 + 0.004), (w, 0.04, h - 0.01), leaf)
            b.shape('cyl', g, (s * 0.92 * w, -0.05, 1.02), (0.02, 0.02, 0.13), b.plain('grey', 0.9),
                    tilt=math.pi / 2)
        moving.swing(b, g, n, 0.6 + 0.3 * b.lively)
        b.solid(g, 0 if s > 0 else -w, -0.1, 0, w if s > 0 else 0, 0.1, h)
        e = g.at(s * w, 0)
        b.edges += [(e.x, e.y, 0.0, h)] * 2
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
        b.quad(f, (x + b.u(0.15, w - 0.15), -0.037, z + b.u(-0.35, 0.35) * h), b.u(0.12, 0.4),
               b.u(0.15, 0.45), tex)


def wall_item(b, f, x, room, item, h):
    """Put one item at x along a wall; returns the width it took."""
    if item == 'run':
        w = b.u(1.2, 3.6)
        if b.free_rect(f, x, -0.7, x + w, 0):
            things.kitchen_run(b, f.at(x, 0), w)
        return w
    if item in ('pack', 'sofa', 'bed', 'tall', 'bath', 'plant'):
        cls = {'sofa': ('sofa',), 'bed': ('bed',), 'tall': ('fridge', 'wardrobe'),
               'plant': ('plant',)}.get(item, PACK.get(room, ()))
        pack = [m for m in b.meshes('floor', *cls) if m.size[0] < 3.6 and m.size[1] < 2.6]
        if not pack:
            w, d, hh = b.u(0.5, 1.6), b.u(0.35, 0.65), b.u(0.5, 2.0)
            if b.free_rect(f, x, -d, x + w, 0):
                b.box(f, (x + w / 2, -d / 2, hh / 2), (w, d, hh),
                      b.mat('wood') if b.chance(0.6) else b.plain())
                b.take(f, x, -d, x + w, 0, hh)
                things.clutter(b, Surface(f.at(x + w / 2, -d / 2, hh), w, d), b.r.randint(0, 5))
            return w
        m = b.pick(pack)
        w, d, hh = m.size
        if b.free_rect(f, x, -d, x + w, 0):
            b.asset(m, f, x + w / 2, -d / 2 - 0.02, -m.lo[2], yaw=b.r.gauss(0, 0.05))
            b.take(f, x, -d, x + w, 0, hh)
            side_edges(b, f, x, x + w, -d, hh)
            if m.flat and hh < 1.3 and b.chance(0.8):
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
            hh = b.u(0.8, min(2.3, h - 0.1))
            things.bookcase(b, f.at(x + w / 2, 0), w, hh)
            side_edges(b, f, x, x + w, -0.35, hh)
        return w
    if item == 'pile':
        w = b.u(0.6, 1.8)
        if b.free_rect(f, x, -0.9, x + w, 0):
            for k in range(max(1, int(w / 0.6))):
                fitments.stack(b, f.at(x + 0.3 + 0.6 * k, -b.u(0.4, 0.55)))
        return w
    if item in FITTED:
        w, d = FITTED[item]
        w = b.u(*w)
        if b.free_rect(f, x, -d, x + w, 0):
            fitted(b, f, x, w, item, h)
        return w
    if item == 'shelf':
        w = b.u(0.6, 2.0)
        for k in range(b.r.randint(1, 3)):
            things.board(b, f.at(x, 0, b.u(0.9, 1.2) + 0.4 * k), w, b.u(0.15, 0.35))
        return w
    if item == 'sleek':
        w, hh = b.u(0.6, 2.6), b.u(0.7, min(2.4, h - 0.05))
        if b.free_rect(f, x, -0.7, x + w, 0):
            d = surfaces.glossy_front(b, f, x, w, hh)
            side_edges(b, f, x, x + w, -d, hh)
        return w
    if item == 'cloth':
        w = b.u(0.7, 2.4)
        if b.free_rect(f, x, -0.2, x + w, 0):
            surfaces.hanging(b, f, x, w, b.u(1.4, h - 0.05))
            b.take(f, x, -0.2, x + w, 0)
        return w
    if item == 'tv':
        w = b.u(0.8, 1.5)
        z, ww = b.u(1.1, 1.8), w * 0.95
        b.box(f, (x + w / 2, -0.05, z), (ww, b.u(0.04, 0.12), ww * 0.58), b.plain('dark', 0.6))
        tex, _ = b.picture('screen', 'photo_outdoor')
        lit = b.chance(0.6)
        b.quad(f, (x + w / 2, -0.115, z), ww - 0.05, ww * 0.54, tex if lit else -1,
               rgb=(1, 1, 1) if lit else (0.02, 0.02, 0.03), gloss=b.u(0.4, 1.0),
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


FITTED = {  # width and depth of what fitted() puts against a wall
    'bench': ((1.2, 2.6), 0.85), 'peg': ((0.7, 1.8), 0.1), 'gondola': ((0.9, 2.4), 0.6),
    'cold': ((1.2, 2.5), 0.85), 'rail': ((0.9, 1.6), 0.7),
    'coats': ((0.5, 1.3), 0.3), 'cable': ((0.3, 1.2), 0.05), 'railing': ((1.0, 2.0), 0.15)}


def fitted(b, f, x, w, item, h):
    if item == 'bench':
        fitments.workbench(b, f, x, w)
    elif item == 'peg':
        fitments.pegboard(b, f, x, w)
    elif item == 'gondola':
        fitments.gondola(b, f.at(x + w / 2, -0.02), w, b.u(1.2, min(2.2, h - 0.2)))
    elif item == 'cold':
        fitments.cold_cabinet(b, f, x, w)
        side_edges(b, f, x, x + w, -0.7, 1.9)
    elif item == 'rail':
        fitments.clothes_rail(b, f.at(x + w / 2, -0.35), w)
    elif item == 'coats':
        fitments.coats(b, f, x, w)
    elif item == 'cable':
        fitments.hang_cable(b, f, x, x + w, b.u(0.8, h - 0.1))
    else:
        fitments.railing(b, f.at(x, -0.08), w, 0.95)


def side_edges(b, f, x0, x1, y, h):
    """Front corners of something tall against a wall: edges that may cut a near view."""
    if h > 1.1:
        for x in (x0, x1):
            e = f.at(x, y)
            b.edges.append((e.x, e.y, 0.0, h))


def shell(b, W, L, H, sun=True, floor=None):
    """Floor, ceiling and four walls with openings. Returns wall frames and their lengths, and window list."""
    b.size = (W, L, H)
    frames = [(Frame(0, L, 0, 0.0), W), (Frame(W, 0, 0, math.pi), W), (Frame(W, L, 0, -math.pi / 2), L),
              (Frame(0, 0, 0, math.pi / 2), L)]
    base = b.plain('white' if b.chance(0.6) else 'any', b.u(0, 0.3))
    windows, doors = [], []
    floor = floor or (b.mat('floor', 'wood', 'carpet', 'tile', 'floor', 'carpet', 'tile', 'granite',
                            'stone' if b.chance(0.3) else 'floor', tint=0.2) if b.chance(b.odds(0.85, 0.72))
                            else surfaces.carpet(b) if b.chance(b.odds(0.2, 0.65)) else b.plain('any'))
    if floor.tex >= 0 and b.chance(0.3):
        floor.gloss = b.u(0.3, 0.8)
    b.box(Frame(), (W / 2, L / 2, -0.05), (W + 0.3, L + 0.3, 0.1), floor)
    if b.chance(b.odds(0.0, 0.45)):
        surfaces.floor_patches(b, W, L, floor)
    ceil = b.mat('ceiling', scale=(0.8, 1.2), tint=0.1) if b.chance(0.4) else b.plain('white', 0.0)
    b.box(Frame(), (W / 2, L / 2, H + 0.05), (W + 0.3, L + 0.3, 0.1), ceil)
    skirt = b.plain('any', 0.3)
    for f, length in frames:
        k = b.r.random()
        if k < 0.78:                                    # most walls are plain
            m = base if k < 0.6 else b.plain('vivid' if k > b.odds(0.78, 0.75) else 'any', b.u(0, 0.4))
        else:
            m = b.mat('wall', 'wall', 'wall', 'brick', 'concrete', 'tile', 'wood',
                      'stone' if b.chance(0.4) else 'wall')
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
        if b.chance(b.odds(0.0, 0.25)):
            surfaces.wall_patches(b, f, length, H, m, opens)
        if b.chance(0.6) and not any(o[2] == 0 for o in opens):
            b.box(f, (length / 2, -0.01, 0.05), (length, 0.02, b.u(0.06, 0.14)), skirt)
        for o in opens:                                 # ends of the wall
            for x in o[:2]:
                e = f.at(x, -0.01)
                b.edges.append((e.x, e.y, o[2], o[3]))
        if b.chance(0.25):
            x0 = b.u(0.1, max(0.2, length - 1.2))
            fitments.hang_cable(b, f, x0, x0 + b.u(0.2, 1.0), b.u(0.8, H - 0.1))
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
    b.scene['amb_dn'] = [amb * b.u(0.5, 1.0) * c * k for c,
                         k in zip(col, b.colour('warm' if b.chance(0.4) else 'white'))]
    n = 0
    if day:
        f, o = b.pick(windows)
        q = f.at((o[0] + o[1]) / 2, 0.02)
        inward = (math.sin(f.yaw), -math.cos(f.yaw), -0.25)
        blue = b.u(0.85, 1.1)
        b.light(POINT, (q.x, q.y, (o[2] + o[3]) / 2), inward, (blue, 1.0, 1.1), b.u(1.0, 3.0), 0.0, 6.0,
                shadow=68)
        n += 1
        if b.chance(b.odds(0.5, 0.65)):
            s = b.u(2, 9)
            d = (inward[0] + b.u(-0.8, 0.8), inward[1] + b.u(-0.8, 0.8), -b.u(0.3, 1.2))
            b.light(SUN, direction=d, col=(s, s * 0.95, s * 0.85), soft=1.5,
                    shadow=((W / 2, L / 2, H / 2), max(W, L) * 0.75))
            n += 1
    lamps = lamps or [(W * (i + 0.5) / nx + b.u(-0.2, 0.2), L * (j + 0.5) / ny)
                      for nx in (1 if W < 4.5 else 2,) for ny in (1 if L < 4.5 else 2 if L < 8 else 3,)
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
            # a panel shines down and along the ceiling, a bulb all round: neither may draw a ring on the
            # ceiling
            z, cone = (H - 0.06, -0.6) if kind < 0.8 or not pack else (H - b.u(0.25, 0.5), -1.2)
            b.light(POINT, (x, y, z), (0, 0, -1), tuple(c * gain for c in col), b.u(1.2, 2.4), cone, 5.0,
                    shadow=sh)
    b.scene['env_tex'], _ = b.picture('photo_panorama', 'photo_indoor')
    b.scene['env_gain'] = b.u(0.3, 1.0)
    b.scene['sky_gain'] = 2.0
    b.scene['fog_col'] = (0.8, 0.9, 1.0)


def room(b, n_cams, kind=None):
    kind = kind or b.r.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
    W, L, H = b.u(2.2, 6.0), b.u(2.6, 8.0), b.u(2.3, 3.1)
    if kind == 'bath':
        W, L = b.u(1.6, 3.0), b.u(1.8, 3.5)
    elif kind in ('shop', 'workshop'):
        W, L, H = b.u(3.0, 9.0), b.u(4.0, 12.0), b.u(2.5, 4.0)
    wide = b.hard and kind in OPEN and b.chance(0.4)
    if wide:                                            # several rooms' use without walls between them
        W, L, H = b.u(5.0, 11.0), b.u(6.0, 14.0), b.u(2.4, 3.6)
    frames, windows = shell(b, W, L, H)
    if wide and b.chance(0.6):
        surfaces.zone(b, W, L)
    along = {k: n for k, n in KINDS[kind].items() if b.hard or k not in HARD}
    items, weights = list(along), list(along.values())
    bare = b.chance(b.odds(0.05, 0.25))                               # plain walls, hardly anything before them
    if bare:
        items, weights = items + ['gap'], weights + [3 * sum(weights)]
    for k in range(b.r.choices((0, 1, 2), (6, 3, 1))[0]):       # pillars, chimney breasts, pipes
        f, length = b.pick(frames)
        w, d, x = b.u(0.2, 0.9), b.u(0.1, 0.6), b.u(0.1, max(0.2, length - 1.0))
        if b.free_rect(f, x, -d, x + w, 0):
            b.box(f, (x + w / 2, -d / 2, H / 2), (w, d, H), b.plain('white') if b.chance(0.6)
                  else b.mat('wall', 'brick', 'concrete'))
            b.take(f, x, -d, x + w, 0, H)
            side_edges(b, f, x, x + w, -d, H)
    for f, length in frames:
        x = b.u(0.0, 0.5)
        while x < length - 0.4:
            item = b.r.choices(items, weights)[0]
            if item in ('door', 'window'):
                item = 'gap'
            if x + 0.5 > length:
                break
            x += wall_item(b, f, x, kind, item, H) + (b.u(0, 0.35) if b.chance(0.6) else 0.0)
    for f, length in frames:
        fitments.fixtures(b, f, length, H, kind)
    middle(b, W, L, H, kind)
    if wide:
        spread_out(b, W, L, H, kind)
    if b.lively:
        people.crowd(b, W, L)
    loose(b, W, L, b.r.randint(0, 3) if bare else b.r.randint(1, 9))
    lights(b, W, L, H, windows)
    views.indoor(b, n_cams, {'walk': 5, 'low': 3, 'near': 2, 'wall': 2, 'sit': 3, 'edge': 3, 'close': b.odds(0, 2),
                             'above': b.odds(0, 2.5), 'blank': b.odds(0, 7 if bare else 2.5),
                             'stand': b.odds(0, 5), 'desk': b.odds(0, 4)})
    views.lively(b, n_cams)
    return b.finish(kind, n_cams)


def middle(b, W, L, H, kind):
    """What stands free on the floor: tables, desks, a shop's shelves; lamps that hang over them; a rug."""
    if kind == 'shop':
        y = b.u(1.2, 2.0)
        while y < L - 1.8:
            w = b.u(0.4, 0.7) * W
            f = Frame(W * b.u(0.42, 0.58), y, 0, 0.0)
            if b.free_rect(f, -w / 2, -0.55, w / 2, 0.55):
                fitments.gondola(b, f, w, b.u(1.0, 1.9), 2)
            y += b.u(1.9, 2.8)
        f = Frame(b.u(1.0, W - 1.0), b.u(0.9, L - 0.9), 0, b.pick((0, math.pi / 2, math.pi)))
        if b.free_rect(f, -0.9, -0.5, 0.9, 0.9):
            fitments.till(b, f, b.u(1.0, 1.8))
        return
    if b.chance(0.3):
        c, w = b.colour(), b.u(1.0, 2.6)
        tex, _ = b.picture('rug', 'carpet')
        b.quad(Frame(W * b.u(0.3, 0.7), L * b.u(0.3, 0.7), 0.006, b.r.gauss(0, 0.3)), (0, 0, 0), w,
               w * b.u(0.6, 1.5), tex, c if b.chance(0.3) else (1, 1, 1), tilt=-math.pi / 2)
    for _ in range(b.r.randint(1, 3) if kind in ('kitchen', 'living', 'meeting', 'office', 'workshop')
                   else b.r.randint(0, 1)):
        f = Frame(b.u(1.0, W - 1.0), b.u(1.2, L - 1.2), 0, b.pick((0, math.pi / 2)) + b.r.gauss(0, 0.15))
        if b.free_rect(f, -0.8, -0.5, 0.8, 0.5):
            if kind == 'workshop':
                fitments.workbench(b, f.at(0, 0.35), -0.8, 1.6)
            elif kind == 'office' and b.chance(0.5):
                things.office_desk(b, f)
            elif b.chance(b.odds(0.0, 0.2)):            # large, and nearly empty
                things.table(b, f, b.u(1.6, 3.0), b.u(0.9, 1.4), n_clutter=b.r.randint(0, 3))
            else:
                things.table(b, f, w=b.u(1.6, 3.0) if kind == 'meeting' else None)
            if b.chance(0.2) and H > 2.3:
                fitments.pendant(b, f.x, f.y, H, b.u(0.4, min(1.3, H - 1.3)))


def spread_out(b, W, L, H, kind):
    """What a wide room has beside `middle`: more tables, seats that face each other, plants as high as people."""
    middle(b, W, L, H, kind)
    seats = [m for m in b.meshes('floor') if 0.6 < max(m.size[:2]) < 2.6 and m.size[2] < 1.3 and m.cls != 'animal']
    for _ in range(b.r.randint(1, 5)):
        f = Frame(b.u(0.8, W - 0.8), b.u(0.8, L - 0.8), 0,
                  b.pick((0, math.pi / 2, math.pi, -math.pi / 2)) + b.r.gauss(0, 0.2))
        m = b.pick(seats) if seats else None
        if m and b.free_rect(f, -m.size[0] / 2, -m.size[1] / 2, m.size[0] / 2, m.size[1] / 2):
            b.asset(m, f, 0, 0, -m.lo[2])
            b.take(f, -m.size[0] / 2, -m.size[1] / 2, m.size[0] / 2, m.size[1] / 2, m.size[2])
    for _ in range(b.r.randint(0, 4)):
        f = Frame(b.u(0.4, W - 0.4), b.u(0.4, L - 0.4), 0, b.u(0, 6.28))
        if b.free_rect(f, -0.3, -0.3, 0.3, 0.3):
            fitments.pot_plant(b, f, b.u(1.0, 2.2))
            b.take(f, -0.3, -0.3, 0.3, 0.3, 1.0)


def loose(b, W, L, n):
    """Loose things on the floor, people among them; whatever can move may be moving."""
    pack = [m for m in b.meshes('floor') if max(m.size[:2]) < 1.0 and m.cls != 'animal']

    def room(x, y):
        return 0.3 < x < W - 0.3 and 0.3 < y < L - 0.3 and not b.inside_solid((x, y, 0.5), 0.25)

    for _ in range(n):
        f = Frame(b.u(0.4, W - 0.4), b.u(0.4, L - 0.4), 0, b.u(0, 6.28))
        if not b.free_rect(f, -0.35, -0.35, 0.35, 0.35):
            continue
        k = b.r.random()
        if k < 0.18:
            things.chair(b, f)
            b.take(f, -0.3, -0.3, 0.3, 0.3)
        elif k < 0.4:
            moving.person(b, f, None, room)
        elif k < 0.43:
            moving.sitter(b, f)
            b.take(f, -0.4, -0.5, 0.4, 0.5)
        elif k < 0.47:
            moving.trolley(b, f)
        elif k < 0.53:
            moving.ball(b, f)
        elif k < 0.56:
            moving.animal(b, f)
        elif k < 0.61:
            fitments.pot_plant(b, f, b.u(0.4, 2.1))
            b.take(f, -0.3, -0.3, 0.3, 0.3, 1.0)
        elif k < 0.63:
            fitments.ladder(b, f)
        elif k < 0.65 and b.free_rect(f, -0.7, -0.4, 0.7, 0.4):
            fitments.drying_rack(b, f)
        elif k < 0.67 and b.free_rect(f, -0.4, -0.9, 0.4, 0.9):
            fitments.bike(b, f)
        elif k < 0.73:
            fitments.stack(b, f)
        elif pack and k < 0.93:
            m = b.pick(pack)
            b.asset(m, f, 0, 0, -m.lo[2])
            b.take(f, -m.size[0] / 2, -m.size[1] / 2, m.size[0] / 2, m.size[1] / 2, m.size[2])
        else:
            h = b.u(0.2, 0.45)
            b.shape(f'blob{b.r.randint(0, 3)}', f, (0, 0, h * 0.45), (b.u(0.2, 0.6), b.u(0.2, 0.5), h),
                    b.mat('fabric'))


def desk_row(b, W, L, x, y, n, clutter):
    """At most n desks side by side from x on, their backs at y: others behind them, or a partition."""
    for _ in range(n):
        w = b.u(1.2, 1.8)
        if x + w > W - 0.2:
            break
        f = Frame(x + w / 2, y, 0, b.r.gauss(0, 0.05))
        things.office_desk(b, f, w, n_clutter=b.r.randint(*clutter))
        if b.chance(0.6 + 0.25 * b.lively):             # a second desk back to back, or a partition
            if y + 0.9 < L:
                things.office_desk(b, f.at(0, 0.02, 0, math.pi), w)
        else:
            b.box(f, (0, 0.03, 0.6), (w, 0.04, b.u(1.0, 1.5)),
                  b.mat('fabric') if b.chance(0.6) else b.plain())
        x += w + (0.0 if b.chance(0.6) else 0.4)


def desks(b, n_cams):
    """An office seen from near: desks in a row or a block, crowded with things, rolling camera. Half of the hard
    ones stand in a hall with more desks and a far wall, where somebody sits.
    """
    hall = b.hard and b.chance(0.55)
    W, L, H = b.u(2.8, 6.0), b.u(2.8, 6.5), b.u(2.4, 3.0)
    if hall:
        W, L, H = b.u(4.5, 9.0), b.u(5.0, 10.0), b.u(2.5, 4.0)
    frames, windows = shell(b, W, L, H)
    x, y = b.u(0.6, 1.4), b.u(1.2, L - 0.8)
    if hall:
        x, y = b.u(0.6, 0.4 * W), b.u(1.2, 2.8)
    desk_row(b, W, L, x, y, b.r.randint(1, 3), (8, 30))
    while hall and y < L - 4.0:
        y += b.u(2.6, 4.0)
        desk_row(b, W, L, b.u(0.3, 0.6 * W), y, b.r.randint(1, 2), (2, 12))
        g = Frame(b.u(0.8, W - 0.8), y - b.u(1.2, 1.6), 0, b.u(0, 6.28))
        if b.chance(0.5) and b.free_rect(g, -0.4, -0.6, 0.4, 0.5) and people.room_to_sit(b, g):
            people.sits(b, g)
    for f, length in frames:
        x = b.u(0, 0.6)
        while x < length - 0.5:
            x += wall_item(b, f, x, 'office', b.r.choices(('case', 'shelf', 'pack', 'board', 'pictures',
                                                           'gap', 'rack'), (4, 3, 2, 2, 2, 2, 2))[0],
                                                           H) + b.u(0, 0.3)
        fitments.fixtures(b, f, length, H)
    if b.lively:
        people.crowd(b, W, L, 3)
    loose(b, W, L, b.r.randint(0, 4))
    lights(b, W, L, H, windows)
    views.indoor(b, n_cams, {'low': 4, 'near': 6, 'sit': 3, 'walk': 1, 'edge': 1, 'close': b.odds(0, 4),
                             'above': b.odds(0, 3), 'blank': b.odds(0, 1), 'stand': b.odds(0, 2),
                             'desk': b.odds(0, 12)})
    views.lively(b, n_cams)
    return b.finish('desks', n_cams)
