"""Corridors: long and narrow, doors on both sides, lamps in a row, glossy floors, people who pass."""
import math

from . import fitments, moving, people, surfaces, views
from .build import THING, Frame, Mat
from .interiors import hallway, lights, notice_board, pictures, wall_plane, window

PASSING = ((people.walks, 8), (people.stands, 3), (people.carries, 3), (people.pushes, 3), (people.rolls, 2),
           (people.sits_free, 1))


def corridor(b, n_cams):
    W, L, H = b.u(1.3, 3.2), b.u(6, 32), b.u(2.2, 3.0)
    floor = b.mat('floor', 'tile', 'carpet', 'granite', 'floor', 'stone' if b.chance(0.25) else 'tile',
                  tint=0.2) if b.chance(b.odds(0.75, 0.65)) else surfaces.carpet(b) if b.chance(b.odds(0.1, 0.6)) \
        else b.plain('white')
    if floor.tex >= 0 and b.chance(0.65):
        floor.gloss = b.u(0.35, 0.95)
    b.box(Frame(), (W / 2, L / 2, -0.05), (W + 8, L + 8, 0.1), floor)
    if b.chance(b.odds(0.0, 0.3)):
        b.size = (W, L, H)
        for _ in range(b.r.randint(1, 4)):
            surfaces.floor_patches(b, W, L, floor)
    b.box(Frame(), (W / 2, L / 2, H + 0.05), (W + 8, L + 8, 0.1),
          b.mat('ceiling', tint=0.1) if b.chance(0.5) else b.plain('white', 0.0))
    skirt, skirt_h = b.plain('dark' if b.chance(0.5) else 'any', 0.3), b.u(0.07, 0.18)
    windows, leaf_col = [], b.plain('any', b.u(0.1, 0.5))
    for f, length in ((Frame(W, L, 0, -math.pi / 2), L), (Frame(0, 0, 0, math.pi / 2), L)):
        m = b.plain('white' if b.chance(0.6) else 'any',
                    b.u(0, 0.3)) if b.chance(0.75) else b.mat('wall', 'concrete', 'brick', 'tile')
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
            if c - a > 0.4 and b.chance(0.4):
                fitments.fixtures(b, f.at(a, 0), c - a, H)
            if c - a > 0.8:
                for _ in range(int((c - a) * b.u(0, 0.8)) + 1):
                    corridor_item(b, f, a + 0.1, c - 0.1, W)
        for x0, x1, z0, z1, what in opens:
            if what == 'door':
                recess = b.u(0.0, 0.2)
                pack = b.meshes('door', 'door', 'doubledoor', 'elevator')
                if pack and b.chance(0.25):
                    d = b.pick(pack)
                    b.asset(d, f, (x0 + x1) / 2, 0.06, -d.lo[2],
                            stretch=((x1 - x0) / d.size[0], 1, z1 / d.size[2]))
                else:
                    leaf(b, f, x0, x1, z1, recess, leaf_col if b.chance(0.7) else b.mat('door', 'wood'))
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
        b.box(Frame(), (w / 2 if s else W - w / 2, y, H / 2), (w, d, H),
              b.plain('white') if b.chance(0.6) else b.mat('wall', 'concrete', 'brick'))
        b.solid(Frame(), 0 if s else W - w, y - d / 2, 0, w if s else W, y + d / 2, H)
        b.edges += [(w if s else W - w, y + e * d / 2, 0.0, H) for e in (-1, 1)]
        if b.chance(0.5):
            b.box(Frame(), (W / 2, y, H - 0.15), (W, d, 0.3), b.plain('white'))
    n_l = max(1, int(L / b.u(2.0, 5.0)))
    lights(b, W, L, H, windows, [(W / 2, L * (k + 0.5) / n_l) for k in range(n_l)])
    if b.lively:
        b.size = (W, L, H)
        people.crowd(b, W, L, 6, 0.0, PASSING if W > 1.7 else PASSING[:3])
    passers(b, W, L)
    corridor_cameras(b, W, L, n_cams)
    views.lively(b, n_cams)
    return b.finish('corridor', n_cams)


def leaf(b, f, x0, x1, h, recess, m):
    """A door leaf in a wall's opening: shut, or swung into the passage with dark behind."""
    w = x1 - x0
    if b.chance(0.85 - 0.35 * b.lively):
        b.box(f, ((x0 + x1) / 2, 0.03 + recess / 2, h / 2), (w, 0.04, h), m)
        b.shape('cyl', f, (x0 + 0.1, -0.02, 1.02), (0.02, 0.02, 0.13), b.plain('grey', 0.9), tilt=math.pi / 2)
        return
    hallway(b, f, x0, w, h)
    s = b.pick((-1, 1))
    g = f.at((x0 + x1) / 2 - s * w / 2, -0.02, 0, -s * b.u(0.3, 1.7))
    with b.thing(THING) as n:
        b.box(g, (s * w / 2, 0, h / 2 + 0.004), (w, 0.04, h - 0.01), m)
        b.shape('cyl', g, (s * 0.92 * w, -0.05, 1.02), (0.02, 0.02, 0.13), b.plain('grey', 0.9),
                tilt=math.pi / 2)
    moving.swing(b, g, n, 0.6 + 0.3 * b.lively)
    b.solid(g, 0 if s > 0 else -w, -0.1, 0, w if s > 0 else 0, 0.1, h)
    e = g.at(s * w, 0)
    b.edges.append((e.x, e.y, 0.0, h))


def passers(b, W, L):
    """People, trolleys and what else goes along a corridor."""
    def room(x, y):
        return 0.25 < x < W - 0.25 and 0.3 < y < L - 0.3

    for _ in range(b.r.choices((0, 1, 2, 4), (5, 4, 2, 1))[0]):
        f = Frame(b.u(0.35, W - 0.35), b.u(0.5, L - 0.5), 0, b.r.gauss(0, 0.15) + b.pick((0, math.pi)))
        if b.free_rect(f, -0.35, -0.35, 0.35, 0.35) and not b.inside_solid((f.x, f.y, 0.5), 0.3):
            k = b.r.random()
            if k < 0.75:
                moving.person(b, f, None, room)
            elif k < 0.85 and W > 1.7:
                moving.trolley(b, f)
            elif k < 0.93 and W > 1.7:
                fitments.stack(b, f)
            else:
                fitments.ladder(b, f)
    if b.chance(0.15) and W > 1.6:
        fitments.railing(b, Frame(0.07, b.u(0.5, L - 3), 0, math.pi / 2), b.u(1.5, 3.0))


def corridor_cameras(b, W, L, n):
    b.size = b.size if b.size[0] else (W, L, 2.5)
    tries = 0
    while len(b.cams) < n + n // 2 and tries < 300:
        tries += 1
        p, f = (b.u(0.25, W - 0.25), b.u(0.4, L - 0.4), b.u(0.8, 1.7)), views.focal(b.r)
        k = b.r.random()
        if k < 0.6:
            y = L if b.chance(0.5) else 0.0
            tgt = (W / 2 + b.u(-1.5, 1.5), p[1] + (1 if y else -1) * b.u(2.5, 8), p[2] + b.r.gauss(-0.3, 0.5))
        elif k < 0.75 and b.edges:
            p, tgt = views.past_edge(b, f)
            if not (0.2 < p[0] < W - 0.2 and 0.3 < p[1] < L - 0.3):
                continue
        else:
            a = b.u(-1.1, 1.1) + b.pick((0, math.pi)) if b.chance(0.75) else b.u(0, 6.28)
            tgt = (p[0] + math.sin(a), p[1] + math.cos(a), p[2] + b.r.gauss(-0.15, 0.2))
            # a blank wall right before the lens
            if not 0 < p[0] + 0.7 * math.sin(a) < W and b.chance(b.odds(1.0, 0.6)):
                continue
        if not b.inside_solid(p, 0.1):
            views.add(b, p, tgt, views.roll(b.r), f)


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
        pack = [m for m in b.meshes('floor', 'sofa', 'armchair', 'plant', 'radiator', 'bookcase', 'shoerack',
                                    'watercooler', 'bin', 'sideboard')
                if m.size[1] < 0.9 and m.size[0] < 2.5]
        if pack:
            m = b.pick(pack)
            x = min(x, x1 - m.size[0] / 2)
            b.asset(m, f, x, -m.size[1] / 2 - 0.02, -m.lo[2])
            b.take(f, x - m.size[0] / 2, -m.size[1], x + m.size[0] / 2, 0, m.size[2])
    elif k < 0.9:
        b.box(f, (x, -0.04, b.u(1.1, 1.7)), (b.u(0.1, 0.5), 0.08, b.u(0.1, 0.7)), b.plain('any', 0.6))
    else:
        b.shape('cyl', f, (x, -0.06, 1.4), (0.06, 0.06, 2.8), b.plain('any', 0.5))
        b.box(f, ((x0 + x1) / 2, -0.05, b.u(1.9, 2.2)), (w, 0.08, 0.06), b.plain('white'))
