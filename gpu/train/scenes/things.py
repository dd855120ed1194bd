"""Composed things: tables, chairs, kitchen runs, desks with monitors, clutter, shelves, lamps."""
import math

from . import moving, people, surfaces
from .build import THING, Frame, Mat, Surface


def thin_top(b):
    if b.chance(b.odds(0.0, 0.15)):
        return surfaces.sleek(b)
    return b.mat('wood', 'wood', 'wood', 'stone',
                 'granite') if b.chance(0.65) else b.plain('any', b.u(0.1, 0.9))


def slat_chair(b, f, mat=None, ident=None):
    """A wooden chair: four legs, seat, back of slats, front to -y."""
    m = mat or (b.mat('wood') if b.chance(0.7) else b.plain('any'))
    w, d, h, back = b.u(0.38, 0.5), b.u(0.38, 0.5), b.u(0.42, 0.5), b.u(0.36, 0.6)
    t = b.u(0.025, 0.05)
    seat = b.plain('any', 0.3) if b.chance(0.4) else m
    b.box(f, (0, 0, h), (w, d, b.u(0.02, 0.07)), seat)
    for sx in (-1, 1):
        b.box(f, (sx * (w - t) / 2, -(d - t) / 2, h / 2), (t, t, h), m)
        b.box(f, (sx * (w - t) / 2, (d - t) / 2, (h + back) / 2), (t, t, h + back), m)
    n, style = b.r.randint(2, 6), b.r.random()
    if style < 0.55:
        for k in range(n):
            z = h + back * (0.25 + 0.7 * k / max(1, n - 1)) - 0.02
            b.box(f, (0, (d - t) / 2, z), (w - 2 * t, t * 0.5, min(0.09, back * 0.45 / n)), m)
    elif style < 0.8:
        b.box(f, (0, (d - t) / 2, h + back - 0.04), (w - 2 * t, t * 0.6, 0.08), m)
        for k in range(n + 1):
            b.box(f, ((k / n - 0.5) * (w - 3 * t), (d - t) / 2, h + back / 2), (0.02, 0.015, back), m)
    else:
        b.box(f, (0, (d - t) / 2, h + back * 0.65), (w - 2 * t, 0.02, back * 0.6), m)
    if b.chance(0.5):
        for sx in (-1, 1):
            b.box(f, (sx * (w - t) / 2, 0, h * 0.4), (t * 0.6, d - t, t * 0.6), m)
    return w, d, h + back


def chair(b, f, mat=None):
    """Some chair at a frame; now and then one that somebody pushes."""
    if b.chance(0.1 + 0.2 * b.lively):
        with b.thing(THING) as n:
            _chair(b, f, mat)
        moving.slide(b, f, n)
    else:
        _chair(b, f, mat)
    b.solid(f, -0.25, -0.25, 0, 0.25, 0.25, 0.9)
    for x in (-0.22, 0.22):
        q = f.at(x, 0.2)
        b.edges.append((q.x, q.y, 0.5, 0.95))


def _chair(b, f, mat):
    pack = b.meshes('floor', 'chair', 'officechair')
    if pack and b.chance(0.5):
        m = b.pick(pack)
        b.asset(m, f, 0, 0, -m.lo[2])
    else:
        slat_chair(b, f, mat)


def small_box(b, f, x, y, z):
    """A packet, book, or case; standing, lying or leaning."""
    k = b.r.random()
    tex, _ = b.picture('cover', 'paper', 'label', 'poster')
    if k < 0.4:                                         # lying book or pile
        w, d = b.u(0.12, 0.24), b.u(0.15, 0.32)
        zz = z
        for _ in range(b.r.randint(1, 4) if b.chance(0.3) else 1):
            h = b.u(0.004, 0.045)
            b.box(f, (x, y, zz + h / 2), (w, d, h), b.plain('any', 0.3), yaw=b.u(-3, 3))
            yaw = b.u(0, 6.28)
            b.box(f, (x, y, zz + h / 2), (w, d, h * 0.98), b.plain('white', 0.1), yaw=yaw)
            b.quad(f, (x, y, zz + h + 0.001), w, d, tex, yaw=yaw, tilt=-math.pi / 2, gloss=0.3)
            zz += h
    elif k < 0.7:                                       # standing packet
        w, d, h = b.u(0.05, 0.25), b.u(0.03, 0.16), b.u(0.06, 0.35)
        yaw = b.u(-0.8, 0.8)
        b.box(f, (x, y, z + h / 2), (w, d, h), b.plain('any'), yaw=yaw)
        c, s = math.cos(yaw), math.sin(yaw)
        b.quad(f, (x + s * (d / 2 + 0.001), y - c * (d / 2 + 0.001), z + h / 2), w, h, tex, yaw=yaw,
               gloss=0.2)
    else:                                               # leaning leaflet or frame
        w, h, lean = b.u(0.12, 0.3), b.u(0.15, 0.42), b.u(0.1, 0.5)
        b.quad(f, (x, y, z + h / 2 * math.cos(lean)), w, h, tex, yaw=b.u(-0.5, 0.5), tilt=-lean, shadow=True)


def clutter(b, s, n, kinds=('box', 'paper', 'vessel', 'pack')):
    """Put n small things on a surface without much overlap."""
    taken = []
    pack = b.meshes('table')
    for _ in range(n):
        x, y = b.u(-0.47, 0.47) * s.w, b.u(-0.47, 0.47) * s.d
        k = b.pick(kinds)
        if k == 'paper':
            # sheets have one size mostly (A4), which tells scale
            w, long = (0.21, 1.414) if b.hard and b.chance(0.6) else (b.u(0.1, 0.32), b.u(1.2, 1.5))
            tex, a = b.picture('paper', 'cover', 'photo_picture', 'paper', 'poster')
            b.quad(s.frame, (x, y, b.u(0.0015, 0.004)), w, w * long, tex, yaw=b.u(0, 6.28),
                   tilt=-math.pi / 2)
            continue
        if any(abs(x - p) + abs(y - q) < 0.13 for p, q in taken):
            continue
        taken.append((x, y))
        if k == 'vessel':
            name = b.pick(('cup', 'bottle', 'bowl', 'jar')) + str(b.r.randint(0, 3))
            sc = b.u(0.8, 1.25)
            b.shape(name, s.frame, (x, y, 0), (sc, sc, sc), b.plain('any', b.u(0.2, 0.9)) if b.chance(0.8)
                    else b.mat('cover', 'stripes'),
                    yaw=b.u(0, 6.28))
        elif k == 'cable':
            m = b.plain('dark', 0.3) if b.chance(0.7) else b.plain('white', 0.3)
            b.shape(f'cable{b.r.randint(0, 3)}', s.frame, (x, y, 0), (1, 1, b.u(0.8, 2)), m, yaw=b.u(0, 6.28))
        elif k == 'blob':
            d = b.u(0.05, 0.3)
            b.shape(f'blob{b.r.randint(0, 3)}', s.frame, (x, y, d * 0.3),
                    (d, d * b.u(0.6, 1.3), d * b.u(0.5, 0.9)),
                    b.mat('fabric', 'cover') if b.chance(0.6) else b.plain(), yaw=b.u(0, 6.28))
        elif k == 'pen':
            b.shape('cyl', s.frame, (x, y, 0.005), (0.009, 0.009, 0.15), b.plain('any', 0.5),
                    yaw=b.u(0, 6.28), tilt=math.pi / 2)
        elif k == 'pack' and pack:
            m = b.pick(pack)
            if max(m.size[:2]) < 0.6 * max(s.w, 0.4) and m.size[2] < 0.75:
                b.asset(m, s.frame, x, y, 0, yaw=b.u(0, 6.28) if b.chance(0.5) else b.u(-0.5, 0.5),
                        recolour=0.4)
        else:
            small_box(b, s.frame, x, y, 0.0)
    if s.w * s.d > 0.3 and b.chance(0.06):
        moving.ball(b, s.frame.at(b.u(-0.4, 0.4) * s.w, b.u(-0.4, 0.4) * s.d))


def table(b, f, w=None, d=None, chairs=None, n_clutter=None):
    """A table with chairs and things on it. Returns its top."""
    pack = [m for m in b.meshes('floor', 'table', 'coffeetable', 'longtable') if m.size[2] < 1.1 and m.flat]
    wood = b.mat('wood') if b.chance(0.75) else b.plain('any')
    m, round_top = b.pick(pack) if pack and b.chance(0.35) else None, False
    if m and b.indoors(f, m.lo[0], m.lo[1], m.hi[0], m.hi[1]):
        b.asset(m, f, 0, 0, -m.lo[2])
        w, d, h = m.size
    else:
        w, d = w or b.u(0.7, 2.2), d or b.u(0.6, 1.1)
        h = b.u(0.68, 0.8) if b.chance(0.85) else b.u(0.35, 0.55)
        while not b.indoors(f, -w / 2, -d / 2, w / 2, d / 2) and w > 0.4:
            w, d = 0.85 * w, 0.85 * d
        t = b.u(0.02, 0.06)
        top = wood if b.chance(0.7) else thin_top(b)
        if b.chance(0.15):
            w = d = min(w, d)
            b.shape('cyl', f, (0, 0, h - t / 2), (w, w, t), top)
            round_top = True
        else:
            b.box(f, (0, 0, h - t / 2), (w, d, t), top)
        if b.chance(0.75):
            leg = b.u(0.03, 0.1)
            metal = wood if b.chance(0.7) else b.plain('grey', 0.6)
            for sx in (-1, 1):
                for sy in (-1, 1):
                    b.box(f, (sx * (w / 2 - leg), sy * (d / 2 - leg), (h - t) / 2), (leg, leg, h - t), metal)
            if b.chance(0.5):
                b.box(f, (0, d / 2 - leg, h - t - 0.05), (w - 2 * leg, 0.02, 0.1), metal)
                b.box(f, (0, -d / 2 + leg, h - t - 0.05), (w - 2 * leg, 0.02, 0.1), metal)
        else:
            b.shape('cyl', f, (0, 0, h / 2), (0.1, 0.1, h), b.plain('dark', 0.5))
            b.shape('cyl', f, (0, 0, 0.02), (0.5, 0.5, 0.03), b.plain('dark', 0.5))
    b.take(f, -w / 2 - 0.3, -d / 2 - 0.45, w / 2 + 0.3, d / 2 + 0.45)
    b.solid(f, -w / 2, -d / 2, 0, w / 2, d / 2, h)
    k = 0.7 if round_top else 1.0
    top = Surface(f.at(0, 0, h), k * w, k * d)
    b.tops.append(top)
    if h > 0.6 and chairs is not False:
        same = wood if b.chance(0.6) else None
        for side, (length, off) in enumerate(((w, d), (w, d), (d, w), (d, w))):
            yaw = (0, math.pi, math.pi / 2, -math.pi / 2)[side]
            for k in range(max(1, int(length / 0.65))):
                if b.chance(0.35):
                    continue
                along = (k + 0.5) / max(1, int(length / 0.65)) - 0.5
                g = f.at(0, 0, 0, yaw).at(along * length + b.u(-0.08, 0.08), off / 2 + b.u(-0.12, 0.45), 0,
                                          b.u(-0.35, 0.35) if b.chance(0.75) else b.u(-3, 3))
                if not b.indoors(g, -0.25, -0.25, 0.25, 0.25):
                    continue
                if b.lively and b.chance(0.5 * b.lively):
                    q = f.at(0, 0, 0, yaw).at(along * length, off / 2 + b.u(0.16, 0.4), 0, b.r.gauss(0, 0.2))
                    if people.room_to_sit(b, q):
                        people.sits(b, q)
                elif b.chance(0.06):
                    moving.sitter(b, g)
                else:
                    chair(b, g, same)
    if b.chance(b.odds(0.0, 0.2)):
        surfaces.spread(b, top)
    clutter(b, top, n_clutter if n_clutter is not None else b.r.randint(0, 9))
    return top


def kitchen_run(b, f, length):
    """Base units with worktop and, often, wall units or shelves; frame at the run's left end on the wall."""
    front = b.plain('any', b.u(0.1, 0.9)) if b.chance(0.6) else b.mat('wood')
    if b.chance(b.odds(0.05, 0.25)):
        front = surfaces.sleek(b)
    d, h, plinth = b.u(0.55, 0.65), b.u(0.84, 0.94), b.u(0.06, 0.15)
    top, handle = thin_top(b), b.plain('grey', 0.8)
    b.box(f, (length / 2, -d / 2 + 0.03, (h + plinth) / 2), (length, d - 0.06, h - plinth), front)
    b.box(f, (length / 2, -d / 2 + 0.05, plinth / 2), (length, d - 0.14, plinth), b.plain('grey', 0.5))
    b.box(f, (length / 2, -d / 2, h + 0.015), (length + 0.02, d, b.u(0.02, 0.05)), top)
    w, x = b.u(0.4, 0.65), 0.0
    while x < length - 0.2:
        b.box(f, (x + w / 2, -d + 0.025, (h + plinth) / 2), (w - 0.006, 0.02, h - plinth - 0.02), front)
        if b.chance(0.8):
            b.box(f, (x + w / 2, -d + 0.005, h - 0.1), (min(0.3, w * 0.5), 0.012, 0.012), handle)
        x += w
    if b.chance(0.7):                                   # splashback
        m = b.mat('tile', 'wall', 'metal')
        b.box(f, (length / 2, -0.01, h + 0.3), (length, 0.02, 0.6), m)
    if b.chance(0.5):
        b.box(f, (length * b.u(0.3, 0.7), -d / 2, h + 0.032), (0.55, 0.42, 0.012), b.plain('grey', 0.9))
        b.shape('cyl', f, (length * 0.5, -0.12, h + 0.18), (0.025, 0.025, 0.3), b.plain('grey', 0.95))
    if b.chance(0.6):
        wall_units(b, f, length, front)
    elif b.chance(0.6):
        for k in range(b.r.randint(1, 3)):
            board(b, f.at(0, 0, 1.25 + 0.35 * k), length * b.u(0.5, 1.0), b.u(0.15, 0.3))
    s = Surface(f.at(length / 2, -d / 2, h + 0.035), length, d)
    b.take(f, 0, -d, length, 0, h)
    b.tops.append(s)
    clutter(b, s, int(length * b.u(1, 7)))
    for _ in range(int(length * b.u(0, 3))):            # leaflets leaning at the back
        x = b.u(0.1, length - 0.1)
        small_box(b, f, x, -b.u(0.04, 0.14), h + 0.035)
    for _ in range(b.r.randint(0, 4)):                  # sheets on the splashback
        tex, _ = b.picture('paper', 'cover', 'poster')
        b.quad(f, (b.u(0.2, length), -0.025, h + b.u(0.25, 0.6)), 0.21, 0.29, tex)


def wall_units(b, f, length, front):
    d, h, z = b.u(0.3, 0.4), b.u(0.55, 0.9), b.u(1.35, 1.6)
    b.box(f, (length / 2, -d / 2, z + h / 2), (length, d, h), front)
    w, x = b.u(0.35, 0.65), 0.0
    while x < length - 0.2:
        b.box(f, (x + w / 2, -d - 0.008, z + h / 2), (w - 0.006, 0.018, h - 0.01), front)
        x += w
    b.solid(f, 0, -d, z, length, 0, z + h)


def board(b, f, length, depth, m=None):
    """A shelf board on a wall, with things on it; frame at its left end, z at the board."""
    b.box(f, (length / 2, -depth / 2, 0), (length, depth, b.u(0.015, 0.04)),
          m or (b.mat('wood') if b.chance(0.5) else b.plain('any', 0.4)))
    s = Surface(f.at(length / 2, -depth / 2, 0.02), length, depth)
    if b.chance(0.5):
        row_of_books(b, f.at(0, -depth * 0.5, 0.02), length)
    for _ in range(int(length * b.u(1, 5))):
        small_box(b, f, b.u(0.05, max(0.06, length - 0.05)), -depth * b.u(0.3, 0.7), 0.02)
    clutter(b, s, int(length * b.u(0, 5)))


def row_of_books(b, f, length):
    x = b.u(0, 0.1)
    while x < length - 0.05:
        if b.chance(0.12):
            x += b.u(0.05, 0.3)
            continue
        w, h, d = b.u(0.015, 0.06), b.u(0.16, 0.33), b.u(0.12, 0.2)
        b.box(f, (x + w / 2, 0, h / 2), (w, d, h), b.plain('any', 0.3), roll=b.r.gauss(0, 0.06))
        x += w + 0.002


def bookcase(b, f, w, h):
    """Open shelves full of books and boxes; frame at the middle of the back."""
    d, m, n = b.u(0.25, 0.4), b.mat('wood') if b.chance(0.6) else b.plain('any', 0.3), b.r.randint(3, 6)
    for sx in (-1, 1):
        b.box(f, (sx * w / 2, -d / 2, h / 2), (0.03, d, h), m)
    b.box(f, (0, -0.01, h / 2), (w, 0.015, h), m)
    tex, _ = b.picture('spines', 'shelf')
    for k in range(n + 1):
        z = 0.05 + (h - 0.07) * k / n
        b.box(f, (0, -d / 2, z), (w, d, 0.025), m)
        if k < n:
            if b.chance(0.4):
                b.quad(f, (0, -d * b.u(0.4, 0.8), z + (h / n) * 0.42), w - 0.04, h / n * 0.8, tex,
                       shadow=True)
            elif b.chance(0.8):
                row_of_books(b, f.at(-w / 2 + 0.03, -d * 0.45, z + 0.013), w - 0.06)
            else:
                clutter(b, Surface(f.at(0, -d / 2, z + 0.015), w * 0.9, d * 0.8), 4)
    b.take(f, -w / 2, -d, w / 2, 0, h)


def monitor(b, f, x, y, yaw=0.0):
    """A flat monitor on its foot, screen to -y: black and glossy, or lit."""
    w = b.u(0.4, 0.65)
    h, g = w * b.u(0.56, 0.8), f.at(x, y, 0, yaw)
    case = b.plain('dark', b.u(0.2, 0.95)) if b.chance(0.75) else b.plain('grey', 0.4)
    lift, tilt = b.u(0.06, 0.2), b.u(-0.2, 0.05)
    b.shape('cyl', g, (0, 0.05, 0.008), (b.u(0.18, 0.28), b.u(0.16, 0.22), 0.016), case)
    b.box(g, (0, 0.05, (lift + h / 2) / 2), (0.06, 0.03, lift + h / 2), case)
    b.box(g, (0, 0, lift + h / 2), (w, b.u(0.03, 0.07), h), case, tilt=tilt)
    face = (0, -0.038 - 0.002, lift + h / 2)
    if b.chance(0.5):
        b.quad(g, face, w - 0.04, h - 0.04, -1, rgb=(0.02, 0.02, 0.025), gloss=b.u(0.3, 0.95), tilt=tilt)
    else:
        tex, _ = b.picture('screen', 'photo_outdoor', 'photo_picture')
        b.quad(g, face, w - 0.04, h - 0.04, tex, gloss=0.4, emit=b.u(0.4, 2.5), tilt=tilt)
    b.solid(g, -w / 2, -0.1, 0, w / 2, 0.1, h + lift)


def office_desk(b, f, w=None, n_clutter=None):
    """A desk with monitors, keyboard and office clutter; frame at the middle of its back edge, front -y."""
    w, d, h = w or b.u(1.1, 2.0), b.u(0.6, 0.95), b.u(0.68, 0.78)
    top = b.plain('white', b.u(0.1, 0.6)) if b.chance(0.45) else thin_top(b)
    b.box(f, (0, -d / 2, h - 0.015), (w, d, 0.03), top)
    leg = b.plain('grey', 0.5)
    for sx in (-1, 1):
        b.box(f, (sx * (w / 2 - 0.03), -d / 2, h / 2), (0.04, d * 0.9, h), leg) if b.chance(0.5) else [
            b.box(f, (sx * (w / 2 - 0.04), -d / 2 + sy * (d / 2 - 0.04), h / 2), (0.04, 0.04, h), leg)
            for sy in (-1, 1)]
    if b.chance(0.4):
        b.box(f, (w * 0.3, -d / 2, 0.32), (0.4, d * 0.8, 0.6), b.plain('any', 0.3))
    s = Surface(f.at(0, -d / 2, h), w, d)
    for k in range(b.r.choices((0, 1, 2, 3), (1, 4, 4, 1))[0]):
        monitor(b, f.at(0, 0, h), (k - 0.7) * b.u(0.45, 0.7), -b.u(0.15, 0.4), b.u(-0.5, 0.5))
    if b.chance(0.8):
        tex, _ = b.picture('keys')
        x, y, yaw = b.u(-0.2, 0.2) * w, -d * b.u(0.55, 0.8), b.u(-0.3, 0.3)
        b.box(f, (x, y, h + 0.01), (0.45, 0.16, 0.02), b.plain('dark' if b.chance(0.5) else 'grey'), yaw=yaw)
        b.quad(f, (x, y, h + 0.0205), 0.45, 0.16, tex, yaw=yaw, tilt=-math.pi / 2)
        b.shape('sphere', f, (x + 0.32, y, h + 0.01), (0.06, 0.1, 0.035),
                b.plain('dark' if b.chance(0.6) else 'white'))
    clutter(b, s, n_clutter if n_clutter is not None else b.r.randint(4, 22),
            ('box', 'paper', 'paper', 'vessel', 'pack', 'pack', 'cable', 'pen', 'blob'))
    b.take(f, -w / 2, -d, w / 2, 0)
    b.solid(f, -w / 2, -d, 0, w / 2, 0, h)
    b.tops.append(s)
    if b.lively and b.chance(0.75 * b.lively):
        g = f.at(b.u(-0.25, 0.05) * w, -d - b.u(0.17, 0.4), 0, b.r.gauss(0, 0.25) + math.pi)
        if people.room_to_sit(b, g):
            people.sits(b, g)
    elif b.chance(0.7):
        g = f.at(b.u(-0.2, 0.2) * w, -d - b.u(0.0, 0.5), 0, b.u(-0.8, 0.8) + math.pi)
        if not b.indoors(g, -0.3, -0.3, 0.3, 0.3):
            return s
        if b.chance(0.15):
            moving.sitter(b, g.at(0, -0.1))
        elif b.meshes('floor', 'officechair') and b.chance(0.8):
            with b.thing(THING) as n:
                m = b.pick(b.meshes('floor', 'officechair'))
                b.asset(m, g, 0, 0, -m.lo[2])
            moving.slide(b, g, n, 0.25 + 0.5 * b.lively)
        else:
            slat_chair(b, g)
    return s


def lamp_panel(b, x, y, z, w, d, gain):
    """A lit ceiling panel or tube."""
    b.box(Frame(), (x, y, z - 0.02), (w, d, 0.04), Mat(-1, (1, 1, 1), 0.0, emit=gain), shadow=False)
