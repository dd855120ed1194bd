"""Fitments: what workshops, shops, halls and homes hold beside furniture; much of it thin.

Frames as in things.py: the front of a thing looks along local -y, its back is at local +y.
"""
import math

from . import moving
from .build import THING, Frame, Mat, Surface
from .things import clutter, small_box, thin_top


def pot_plant(b, f, h=None):
    """A plant in its pot, leaves thin; h metres over all."""
    h = h or b.u(0.25, 1.5)
    pot = h * b.u(0.2, 0.3)
    b.shape('shade', f, (0, 0, pot / 2), (pot, pot, pot), b.plain('warm' if b.chance(0.5) else 'white', 0.3),
            tilt=math.pi)
    leaf = b.mat('foliage', tint=0.1) if b.chance(0.5) else Mat(-1, (b.u(0.1, 0.35), b.u(0.3, 0.6),
                                                                     b.u(0.05, 0.25)), 0.25)
    s = (h - pot) * b.u(0.9, 1.1)
    b.shape(f'plant{b.r.randint(0, 3)}', f, (0, 0, pot), (s, s, s), leaf, yaw=b.u(0, 6.28), box_uv=False)


def hang_cable(b, f, x0, x1, z):
    """A cable that sags along a wall or drops from it; now and then to a socket."""
    m = b.plain('dark', 0.3) if b.chance(0.6) else b.plain('white', 0.3)
    if b.chance(0.4) and x1 - x0 > 0.3:
        b.shape(f'sag{b.r.randint(0, 3)}', f, ((x0 + x1) / 2, -0.02, z), (x1 - x0, 1, b.u(0.05, 0.4)), m)
        return
    x, d = b.u(x0, x1), b.u(0.3, max(0.35, z - 0.1))
    b.shape(f'drop{b.r.randint(0, 3)}', f, (x, -0.015, z), (b.u(0.6, 3), 1, d), m)
    if b.chance(0.5):
        b.box(f, (x, -0.015, z - d), (0.08, 0.03, 0.08), b.plain('white', 0.3))


def railing(b, f, length, h=None):
    """A railing along local x from the frame on, metre by metre."""
    h, name, m = h or b.u(0.85, 1.1), f'railing{b.r.randint(0, 2)}', b.plain('grey' if b.chance(0.6)
                                                                             else 'any', b.u(0.2, 0.9))
    n = max(1, int(length))
    for k in range(n):
        b.shape(name, f, ((k + 0.5) * length / n, 0, 0), (length / n, 1, h), m)
    b.shape('cyl', f, (0, 0, h / 2), (0.04, 0.04, h), m)


def pendant(b, x, y, h, drop):
    """A lamp on a cable from the ceiling at height h; hangs into the picture."""
    b.shape('cyl', Frame(), (x, y, h - drop / 2), (0.012, 0.012, drop),
            b.plain('dark' if b.chance(0.6) else 'white'))
    d = b.u(0.15, 0.5)
    b.shape('shade', Frame(), (x, y, h - drop - d * 0.3), (d, d, d * b.u(0.4, 0.9)), b.plain('any', 0.4))
    b.shape('sphere', Frame(), (x, y, h - drop - d * 0.35), (0.08, 0.08, 0.1),
            Mat(-1, (1, 1, 0.9), 0.0, emit=b.u(4, 15)), shadow=False)


ONLY = {'urinal': 'bath', 'washbasin': 'bath', 'towelrack': 'bath', 'toiletpaper': 'bath',
        'kitchencabinet': 'kitchen', 'hood': 'kitchen',
        'kitchentools': 'kitchen', 'mailbox': 'hall', 'hanger': 'hall'}


def fixtures(b, f, length, h, kind=''):
    """What hangs on a wall at its own height and in its own size: sockets, switches, clocks, radiators,
    basins.
    """
    for _ in range(b.r.randint(0, 4)):
        x = b.u(0.15, max(0.2, length - 0.15))
        pack = [m for m in b.meshes('wall') if m.elevation + m.size[2] < h and m.size[0] < 0.5 * length
                and ONLY.get(m.cls, kind) == kind]
        if pack and b.chance(0.5):
            m = b.pick(pack)
            deep = m.size[1] > 0.2
            w = 0.5 * m.size[0]
            if not deep or b.free_rect(f, x - w, -m.size[1], x + w, 0):
                b.asset(m, f, x, -m.hi[1] - 0.005, m.elevation - m.lo[2], recolour=0.3)
                if deep:
                    b.take(f, x - w, -m.size[1], x + w, 0, m.elevation + m.size[2])
            continue
        n, z = b.r.randint(1, 3), b.u(0.2, 0.4) if b.chance(0.6) else b.u(1.0, 1.25)
        plate, dot = b.plain('white' if b.chance(0.8) else 'grey', 0.4), b.plain('dark')
        for k in range(n):
            p = x + 0.081 * k
            b.box(f, (p, -0.006, z), (0.08, 0.012, 0.08), plate)
            if z < 0.5:
                for s in (-0.01, 0.01):
                    b.box(f, (p + s, -0.0125, z), (0.006, 0.001, 0.006), dot, shadow=False)
            else:
                b.box(f, (p, -0.013, z), (0.055, 0.006, 0.055), plate)


def coats(b, f, x, w):
    """Hooks with coats and bags."""
    b.box(f, (x + w / 2, -0.015, 1.65), (w, 0.03, 0.1), b.mat('wood'))
    for k in range(int(w / 0.18)):
        p = x + 0.1 + 0.18 * k
        b.shape('cyl', f, (p, -0.05, 1.65), (0.015, 0.015, 0.08), b.plain('grey', 0.8), tilt=math.pi / 2)
        if b.chance(0.5):
            h = b.u(0.5, 1.1)
            b.shape(f'blob{b.r.randint(0, 3)}', f, (p, -0.12, 1.62 - h / 2),
                    (b.u(0.25, 0.45), b.u(0.12, 0.25), h), b.mat('fabric') if b.chance(0.6) else b.plain())


def drying_rack(b, f):
    """A clothes horse with washing: wires and cloth."""
    m, n = b.plain('grey' if b.chance(0.5) else 'white', 0.7), b.r.randint(5, 9)
    w, d, h = b.u(0.9, 1.3), b.u(0.5, 0.7), b.u(0.85, 1.05)
    for k in range(n):
        y = (k / (n - 1) - 0.5) * d
        b.shape('cyl', f, (0, y, h), (0.008, 0.008, w), m, roll=math.pi / 2)
        if b.chance(0.3):
            hh = b.u(0.2, 0.6)
            b.box(f, (b.u(-0.3, 0.3) * w, y, h - hh / 2), (b.u(0.15, 0.5), 0.012, hh),
                  b.mat('fabric') if b.chance(0.5) else b.plain())
    for s in (-1, 1):
        for e in (-1, 1):
            b.shape('cyl', f, (s * w / 2, e * d * 0.25, h / 2), (0.015, 0.015, math.hypot(h, d / 2)), m,
                    tilt=e * math.atan2(d / 2, h))
    b.take(f, -w / 2, -d / 2, w / 2, d / 2, h)


def ladder(b, f):
    """A step ladder leaning at nothing: two pairs of legs and rungs."""
    m, h, a = b.plain('grey' if b.chance(0.6) else 'vivid', 0.5), b.u(1.1, 2.1), 0.22
    for side in (-1, 1):
        for s in (-1, 1):
            b.box(f, (s * 0.22, side * 0.5 * h * math.tan(a), h / 2), (0.03, 0.05, h / math.cos(a)), m,
                  tilt=side * a)
    for k in range(1, int(h / 0.25)):
        z = 0.25 * k
        b.box(f, (0, -(h - z) * math.tan(a), z), (0.42, 0.08, 0.025), m)
    b.take(f, -0.3, -0.5, 0.3, 0.5, h)


def pegboard(b, f, x, w):
    """A board with tools on a wall."""
    b.box(f, (x + w / 2, -0.01, 1.5), (w, 0.02, 0.9), b.mat('pegboard') if b.chance(0.7)
          else b.plain('any', 0.1))
    for k in range(int(w * b.u(4, 14))):
        m = b.plain('grey', 0.8) if b.chance(0.5) else b.plain('any', 0.4)
        b.shape(f'tool{b.r.randint(0, 4)}', f, (x + b.u(0.08, w - 0.08), -0.035, b.u(1.35, 1.9)),
                (1, 1, b.u(0.8, 1.3)), m, yaw=b.r.gauss(0, 0.1))


def workbench(b, f, x, w):
    """A heavy bench with vice, drawers, tools and swarf, often a pegboard above; x is its left end."""
    d, h, t = b.u(0.55, 0.8), b.u(0.8, 0.95), b.u(0.04, 0.09)
    top, legs = thin_top(b), b.plain('any', 0.3) if b.chance(0.6) else b.mat('wood')
    b.box(f, (x + w / 2, -d / 2, h - t / 2), (w, d, t), top)
    for s in (0.06, w - 0.06):
        for y in (0.06, d - 0.06):
            b.box(f, (x + s, -y, (h - t) / 2), (0.08, 0.08, h - t), legs)
    b.box(f, (x + w / 2, -d / 2, 0.2), (w - 0.1, d - 0.1, 0.03), legs)
    for k in range(b.r.randint(1, 5)):
        s = (b.u(0.15, 0.45), b.u(0.2, 0.45), b.u(0.12, 0.4))
        b.box(f, (x + b.u(0.25, w - 0.25), -d / 2, 0.215 + s[2] / 2), s,
              b.plain('any', 0.3) if b.chance(0.5) else b.mat('cardboard', 'wood'))
    if b.chance(0.5):
        g = f.at(x + b.u(0.2, w - 0.2), -d + 0.08, h)
        b.box(g, (0, 0, 0.07), (0.12, 0.25, 0.14), b.plain('vivid', 0.5))
        b.shape('cyl', g, (0, -0.2, 0.08), (0.02, 0.02, 0.2), b.plain('grey', 0.9), tilt=math.pi / 2)
        b.shape('cyl', g, (0, -0.29, 0.08), (0.015, 0.015, 0.2), b.plain('grey', 0.9), roll=math.pi / 2)
    s = Surface(f.at(x + w / 2, -d / 2, h), w, d)
    for _ in range(b.r.randint(2, 9)):                  # tools lying about
        q = s.frame.at(b.u(-0.45, 0.45) * w, b.u(-0.4, 0.4) * d, 0.025, b.u(0, 6.28))
        b.shape(f'tool{b.r.randint(0, 4)}', q, (0, 0, 0), (1, 1, 1),
                b.plain('grey', 0.8) if b.chance(0.6) else b.plain('vivid', 0.4), tilt=math.pi / 2)
    clutter(b, s, b.r.randint(2, 12), ('box', 'vessel', 'pack', 'cable', 'blob', 'paper'))
    b.take(f, x, -d, x + w, 0, h)
    b.tops.append(s)
    if b.chance(0.7):
        pegboard(b, f, x, w)


def goods_row(b, f, length, depth, room):
    """Rows of articles on a shelf board; frame at the board's left end, its back at local +y, room metres of
    height.
    """
    x = 0.0
    while x < length - 0.1:
        w = min(length - x, b.u(0.25, 1.2))
        if b.chance(0.1):
            x += w
            continue
        kind, h = b.pick(('box', 'box', 'can', 'bottle')), room * b.u(0.4, 0.92)
        mat = b.plain('any', 0.3) if b.chance(0.25) else Mat(b.picture('cover', 'label', 'cover',
                                                                       'poster')[0], (1, 1, 1), b.u(0, 0.5))
        for k in range(2 if depth > 0.35 and b.chance(0.5) else 1):
            b.shape(f'goods{b.r.randint(0, 3)}_{kind}', f, (x + w / 2, -depth * (0.3 + 0.4 * k), 0),
                    (w * 0.97, depth * b.u(0.25, 0.4), h), mat, box_uv=False)
        x += w


def gondola(b, f, w, h, sides=1):
    """Shop shelves: back panel, boards, goods, price rails; frame at the middle of the back."""
    d, n = b.u(0.35, 0.5), b.r.randint(3, 6)
    metal, panel = b.plain('white' if b.chance(0.6) else 'any',
                           0.3), b.plain('any', 0.1) if b.chance(0.6) else b.mat('pegboard', 'wood')
    b.box(f, (0, -0.01, h / 2), (w, 0.02, h), panel)
    for s in (-1, 1):
        b.box(f, (s * w / 2, -0.02, h / 2), (0.04, 0.05, h), metal)
    for side in range(sides):
        g = f.at(0, 0, 0, math.pi * side)
        for k in range(n):
            z = 0.12 + (h - 0.2) * k / n
            dd = d if k == 0 else d * b.u(0.75, 1.0)
            b.box(g, (0, -dd / 2 - 0.02, z - 0.015), (w, dd, 0.03), metal)
            b.box(g, (0, -dd - 0.025, z - 0.02), (w, 0.01, 0.045),
                  Mat(b.picture('label', 'paper', 'cover')[0], (1, 1, 1), 0.3, (0.3, 0.05)))
            goods_row(b, g.at(-w / 2 + 0.02, -0.04, z), w - 0.04, dd, (h - 0.2) / n - 0.05)
        b.box(g, (0, -d / 2, 0.05), (w, d, 0.1), metal)
    b.take(f, -w / 2, -d, w / 2, d if sides > 1 else 0.02, h)
    e = f.at(w / 2, -d)
    b.edges.append((e.x, e.y, 0.0, h))


def cold_cabinet(b, f, x, w):
    """An open chilled cabinet: lit inside, glossy bars, goods."""
    d, h = b.u(0.6, 0.8), b.u(1.7, 2.1)
    m = b.plain('white' if b.chance(0.6) else 'dark', 0.5)
    for s in (x, x + w):
        b.box(f, (s, -d / 2, h / 2), (0.05, d, h), m)
    b.box(f, (x + w / 2, -0.03, h / 2), (w, 0.06, h), m)
    b.box(f, (x + w / 2, -d / 2, h), (w, d, 0.16), m)
    b.box(f, (x + w / 2, -d / 2, 0.15), (w, d, 0.3), m)
    b.box(f, (x + w / 2, -d + 0.08, h - 0.1), (w - 0.1, 0.06, 0.03), Mat(-1, (1, 1, 1), 0, emit=b.u(2, 9)),
          shadow=False)
    n = b.r.randint(3, 5)
    for k in range(n):
        z = 0.32 + (h - 0.45) * k / n
        b.box(f, (x + w / 2, -d * 0.45, z), (w - 0.05, d * 0.8, 0.02), b.plain('grey', 0.7))
        goods_row(b, f.at(x + 0.05, -0.1, z + 0.01), w - 0.1, d * 0.75, (h - 0.45) / n - 0.05)
    if b.chance(0.5):
        tex, _ = b.picture('poster', 'sign', 'cover')
        b.quad(f, (x + w / 2, -d - 0.005, h), w * 0.9, 0.14, tex, emit=b.u(0, 2))
    b.take(f, x, -d, x + w, 0, h)


def till(b, f, w):
    """A counter with a till, screens, small racks; front to -y."""
    d, h = b.u(0.5, 0.8), b.u(0.85, 1.1)
    b.box(f, (0, 0, h / 2), (w, d, h), b.plain('any', 0.3) if b.chance(0.5) else b.mat('wood', 'stone'))
    b.box(f, (0, 0, h + 0.015), (w + 0.06, d + 0.06, 0.03), thin_top(b))
    s = Surface(f.at(0, 0, h + 0.03), w, d)
    b.box(s.frame, (0.2 * w, 0, 0.05), (0.35, 0.35, 0.1), b.plain('dark', 0.4))
    b.box(s.frame, (0.2 * w, 0.05, 0.3), (0.32, 0.03, 0.24), b.plain('dark', 0.8), tilt=-0.3)
    b.shape('cyl', s.frame, (0.2 * w, 0.07, 0.16), (0.03, 0.03, 0.2), b.plain('dark'))
    goods_row(b, s.frame.at(-w / 2 + 0.03, -0.0, 0), w * 0.4, d * 0.5, 0.2)
    clutter(b, s, b.r.randint(2, 9))
    b.take(f, -w / 2, -d / 2, w / 2, d / 2, h)
    b.tops.append(s)
    if b.chance(0.6):
        moving.person(b, f.at(b.u(-0.3, 0.3) * w, d / 2 + 0.45), False)


def clothes_rail(b, f, w):
    """A rail of clothes."""
    h, m = b.u(1.3, 1.6), b.plain('grey', 0.8)
    b.shape('cyl', f, (0, 0, h), (0.03, 0.03, w), m, roll=math.pi / 2)
    for s in (-1, 1):
        b.shape('cyl', f, (s * w / 2, 0, h / 2), (0.03, 0.03, h), m)
        b.box(f, (s * w / 2, 0, 0.02), (0.05, 0.5, 0.04), m)
    x = -w / 2 + 0.05
    same = b.mat('fabric', 'stripes') if b.chance(0.5) else None
    while x < w / 2 - 0.05:
        hh = b.u(0.6, 1.0)
        b.box(f, (x, 0, h - 0.06 - hh / 2), (b.u(0.02, 0.05), b.u(0.4, 0.52), hh),
              same or (b.mat('fabric') if b.chance(0.4) else b.plain()), yaw=b.r.gauss(0, 0.12))
        x += b.u(0.05, 0.12)
    b.take(f, -w / 2, -0.27, w / 2, 0.27, h)


def stack(b, f, mat='cardboard'):
    """Boxes on each other, on a pallet now and then; what delivery leaves behind."""
    z, w = 0.0, b.u(0.3, 0.6)
    if b.chance(0.3):
        wood = b.mat('wood')
        for k in range(5):
            b.box(f, ((k - 2) * 0.24, 0, 0.13), (0.14, 0.8, 0.02), wood)
        for k in (-1, 0, 1):
            b.box(f, (0, k * 0.33, 0.06), (1.15, 0.1, 0.12), wood)
        z, w = 0.14, 0.8
    yaw = b.u(-0.3, 0.3)
    while z < 1.5 and b.chance(0.75 if z < 0.4 else 0.5):
        h, s = b.u(0.15, 0.5), w * b.u(0.7, 1.05)
        m = b.mat(mat, 'label', 'cardboard') if b.chance(0.75) else b.plain('warm')
        b.box(f, (0, 0, z + h / 2), (s, s * b.u(0.6, 1.0), h), m, yaw=yaw + b.r.gauss(0, 0.12))
        z += h
    b.take(f, -w * 0.6, -w * 0.6, w * 0.6, w * 0.6, max(z, 0.1))


def bike(b, f):
    """A bicycle on its stand; a thing that may be wheeled along."""
    with b.thing(THING) as n:
        b.shape('bicycle', f, (0, 0, 0), (1, 1, 1), b.plain('any', 0.5), roll=0.05)
    b.take(f, -0.35, -0.9, 0.35, 0.9, 1.0)
    if b.chance(0.3):
        moving.drive(b, n, f, b.u(0.2, 1.2))
    return n


def leaflets(b, f, x, w, z):
    """A row of leaflets and books leaning at the back of a ledge."""
    for _ in range(int(w * b.u(2, 8))):
        small_box(b, f, x + b.u(0.05, max(0.06, w - 0.05)), -b.u(0.03, 0.12), z)
