"""Streets: city, narrow, jams with lorries beside the camera, residential, motorways; bridges, hard sun.

The road runs along +y, the camera drives on the right in one of the lanes or walks on a pavement. Traffic of
a lane keeps one speed, so what drives does not run into what drives ahead of it.
"""
import math

from . import fitments, moving, views
from .build import Frame, Mat
from .streets import bridge, house, markings, sky, tree, vehicle

Y0, Y1 = -15.0, 130.0
GROUND = -0.02      # top of the land beside the road
KERB = 0.13         # top of the pavements
FRONTS = {'city': (6, 2, 1, 1), 'narrow': (7, 1, 2, 0), 'jam': (4, 3, 1, 2),
          'residential': (4, 4, 1, 1)}    # houses, trees, wall, open


class Road:
    """What chance says of a road; x of its edges, its lanes, how fast it flows (m/s)."""

    def __init__(self, b):
        self.style = b.r.choices(('city', 'narrow', 'jam', 'residential', 'motorway'),
                                 (30, 18, 27, 10, 15))[0]
        s = self.style
        self.lane = b.u(3.4, 3.8) if s == 'motorway' else b.u(2.8, 3.6)
        self.n_r = {'narrow': 1, 'residential': 1,
                    'motorway': b.r.randint(2, 4)}.get(s) or b.r.choices((1, 2, 3, 4), (3, 4, 3, 1))[0]
        self.n_l = {'narrow': b.r.randint(0, 1), 'residential': 1,
                    'motorway': b.r.choices((0, 2, 3), (2, 2, 1))[0]}.get(s, b.r.choices((0, 1, 2, 3),
                                                                                         (2, 4, 3, 1))[0])
        self.gap = b.u(1.0, 6.0) if s == 'motorway' and self.n_l else 0.0
        self.right = self.n_r * self.lane + (b.u(1.5, 3.0) if s == 'motorway' else 0.0)
        self.left = -self.n_l * self.lane - self.gap - b.u(0, 0.6)
        self.flow = {'city': b.u(3, 14), 'narrow': b.u(1, 8), 'jam': 0.0 if b.chance(0.4) else b.u(0.3, 3.5),
                     'residential': b.u(2, 9), 'motorway': b.u(16, 34)}[s]
        b.dt = min(b.dt, 2.5 / max(self.flow, 1.0))
        self.mine = b.r.randint(0, self.n_r - 1)


def ground(b, r):
    road = b.mat('asphalt', scale=(0.8, 2.0), tint=0.08)
    road.gloss = b.u(0, 0.35)
    land = b.mat('grass', 'ground', 'ground', 'concrete', tint=0.08)
    b.box(Frame(), (0, (Y0 + Y1) / 2, GROUND - 0.35), (300, 400, 0.7), land)
    b.box(Frame(), ((r.right + r.left) / 2, 60, -0.05), (r.right - r.left, 260, 0.1), road)
    for k in range(1, r.n_r):
        markings(b, k * r.lane, Y0, Y1, b.u(2, 4), b.u(3, 9))
    for k in range(1, r.n_l):
        markings(b, -r.gap - k * r.lane, Y0, Y1, b.u(2, 4), b.u(3, 7))
    if r.n_l and not r.gap:
        markings(b, 0, Y0, Y1, 3, 0 if b.chance(0.5) else 4)
    for x in (r.n_r * r.lane, r.left + 0.2) + ((0.15,) if r.gap else ()):
        if b.chance(0.6 if r.style != 'motorway' else 0.95):
            markings(b, x - 0.15, Y0, Y1, 1, 0)
    for _ in range(b.r.randint(0, 4)):                  # repairs, manholes, stains
        x, y = b.u(r.left + 0.8, r.right - 0.8), b.u(1, 40)
        if b.chance(0.5):
            b.shape('cyl', Frame(), (x, y, 0.002), (0.65, 0.65, 0.012), b.plain('dark', 0.5), shadow=False)
        else:
            b.box(Frame(), (x, y, 0.001), (b.u(0.4, 2.5), b.u(0.6, 9), 0.008),
                  b.plain('dark', 0.1) if b.chance(0.6) else b.mat('asphalt'), shadow=False)
    if r.style != 'motorway' and b.chance(0.3):
        crossing(b, r, b.u(5, 35))


def crossing(b, r, y):
    """A zebra crossing and who walks over it."""
    m, x = Mat(-1, (0.85, 0.85, 0.82), 0.05), r.left + 0.3
    while x < r.right - 0.5:
        b.box(Frame(), (x + 0.25, y, 0.006), (0.5, 3.0, 0.013), m, shadow=False)
        x += 1.0
    if r.flow < 6 and y > 8:
        for _ in range(b.r.randint(0, 3)):
            s = b.pick((-1, 1))
            f = Frame(b.u(r.left + 0.7, r.right - 0.7), y + b.u(-1.2, 1.2))
            moving.person(b, f, True, None, s * math.pi / 2)


def fronts(b, r, s, edge, walk):
    """What lies beside the road on side s (1 right, -1 left), from its edge outwards."""
    narrow = r.style == 'narrow'
    front = edge + s * (walk + (b.u(0, 1) if narrow else b.u(2, 8) if r.style == 'residential'
                                else b.u(0, 14) if b.chance(0.6) else b.u(5, 40)))
    kind, y = b.r.choices(('houses', 'trees', 'wall', 'open'), FRONTS[r.style])[0], Y0
    while y < Y1:
        f = Frame(front, y, GROUND, -s * math.pi / 2)
        if kind == 'houses' and b.chance(0.85):
            w, h = b.u(7, 25), b.u(4, 18) if r.style != 'residential' else b.u(3.5, 8)
            pack = b.meshes('outdoor', 'house')
            if pack and not narrow and b.chance(0.2):
                m = b.pick(pack)
                b.asset(m, f, 0, m.size[1] / 2, -m.lo[2], recolour=0.3)
                w = m.size[0]
            else:
                house(b, f, w, b.u(6, 14), h)
            y += w + (0 if narrow else b.u(0, 8))
        elif kind == 'trees' or (kind == 'houses' and b.chance(0.5)):
            tree(b, f.at(b.u(-1, 1), b.u(0, 5)))
            y += b.u(2, 7)
        elif kind == 'wall':
            w, h = b.u(10, 40), b.u(1, 5)
            b.box(f, (0, 0.2, h / 2), (w, 0.3, h), b.mat('concrete', 'brick', 'stone', 'wall'))
            y += w
        else:
            if b.chance(0.3):
                b.shape(f'bush{b.r.randint(0, 3)}', f, (0, b.u(0, 4), 0.6),
                        (b.u(1, 3), b.u(1, 3), b.u(0.8, 2.5)), b.mat('foliage', tint=0.1), box_uv=False)
            y += b.u(3, 12)
    if r.style == 'residential' and b.chance(0.6):      # hedge or fence before the gardens
        x = edge + s * walk
        if b.chance(0.5):
            b.box(Frame(), (x + s * 0.3, 60, 0.6), (0.6, 240, 1.2), b.mat('foliage', tint=0.1))
        else:
            fence(b, x + s * 0.1, 45)


def fence(b, x, far, h=1.0):
    """A railing along the road, thin, as far as it can be told from a wall."""
    y, name, m = -6.0, f'railing{b.r.randint(0, 2)}', b.plain('grey' if b.chance(0.6) else 'dark', 0.5)
    while y < far:
        b.shape(name, Frame(x, y, 0, math.pi / 2), (0, 0, 0), (2.0, 1, h), m)
        y += 2.0


def pavement(b, r, s, edge, walk):
    """Poles, lamps, signs, trees, parked cars, people, rails."""
    tall, y = b.chance(0.5), Y0 + b.u(0, 10)
    step, pole = b.u(9, 30), b.plain('grey' if b.chance(0.7) else 'dark', 0.4)
    while y < Y1 and b.chance(0.97):
        x, k = edge + s * b.u(0.3, 0.8), b.r.random()
        if k < 0.45:
            h = b.u(5, 9) if tall else b.u(3, 4)
            b.shape('cyl', Frame(), (x, y, h / 2), (0.14, 0.14, h), pole)
            b.box(Frame(), (x - s * 0.8, y, h), (1.8, 0.15, 0.1), pole)
        elif k < 0.62:
            b.shape('cyl', Frame(), (x, y, 1.3), (0.07, 0.07, 2.6), pole)
            tex, _ = b.picture('sign', 'cover')
            b.quad(Frame(x, y - 0.05, 2.4, 0), (0, 0, 0), 0.6, 0.6, tex, shadow=True)
        elif k < 0.8:
            tree(b, Frame(x + s * 0.3, y))
        elif k < 0.86:                                  # bollards
            for j in range(b.r.randint(3, 8)):
                b.shape('cyl', Frame(), (x, y + 1.4 * j, 0.5), (0.1, 0.1, 1.0), pole)
        else:
            pack = [m for m in b.meshes('outdoor', 'bench', 'bin', 'hydrant', 'mailbox', 'barrier', 'cone',
                                        'trafficlight', 'lamppost', 'sign', 'dumpster', 'bush')
                    if m.size[2] < 8]
            if pack:
                m = b.pick(pack)
                b.asset(m, Frame(x + s * 0.4, y, KERB, b.pick((0, math.pi / 2, -math.pi / 2))), 0, 0,
                        -m.lo[2])
        y += step * b.u(0.5, 1.5)
    if b.chance(0.45):                                  # parked cars
        y = Y0 + b.u(0, 6)
        while y < 70:
            if b.chance(0.7):
                vehicle(b, Frame(edge - s * b.u(0.95, 1.2), y, 0, math.pi * (s > 0)), 0.05)
            y += b.u(5.2, 8)
    if b.chance(0.15):                                  # guard rail
        b.box(Frame(), (edge, 60, 0.6), (0.06, 240, 0.3), b.plain('grey', 0.7))
    elif b.chance(0.15):
        fence(b, edge + s * 0.15, 40)
    for _ in range(b.r.randint(0, 6) + round(4 * b.lively)):
        f = Frame(edge + s * b.u(0.4, max(0.5, walk - 0.2)), b.u(-5, 40), KERB)
        moving.person(b, f, b.chance(0.75), None, b.pick((0, math.pi)) + b.r.gauss(0, 0.15))
    if b.chance(0.2):
        fitments.bike(b, Frame(edge + s * 0.6, b.u(1, 25), KERB, b.r.gauss(0, 0.2)))


def motorway(b, r, s, edge):
    """Rails with posts, embankments, noise walls, bushes, a wire fence far out."""
    rail, x = b.plain('grey', 0.7), edge + s * 0.4
    if b.chance(0.7):
        b.box(Frame(), (x, 60, 0.62), (0.05, 260, 0.28), rail)
        for k in range(30):
            b.box(Frame(), (x + s * 0.08, -8 + 2.6 * k, 0.35), (0.1, 0.06, 0.75), rail)
    elif b.chance(0.5):
        b.box(Frame(), (x, 60, 0.4), (0.35, 260, 0.85), b.mat('concrete'))
    k, land = b.r.random(), b.mat('grass', 'ground', 'grass', tint=0.2)
    if k < 0.4:                                         # a bank up, flat above
        w, h = b.u(4, 16), b.u(1.0, 6.0)
        b.shape('wedge', Frame(x + s * (1 + w), 60, h / 2 + GROUND, math.pi / 2), (0, 0, 0), (260, 2 * w, h),
                land)
    elif k < 0.55:
        b.box(Frame(), (x + s * b.u(1.0, 4.0), 60, 1.5), (0.2, 260, b.u(2.5, 5.0)),
              b.mat('concrete', 'wood', 'metal', 'brick'))
    elif k < 0.75:
        fence(b, x + s * b.u(4, 12), 50, 1.8)
    y, dense = -5.0, b.u(2, 14)
    while y < 150:
        f = Frame(x + s * b.u(5, 30), y, GROUND)
        if b.chance(0.5):
            tree(b, f)
        else:
            b.shape(f'bush{b.r.randint(0, 3)}', f, (0, 0, 0.7), (b.u(1, 5), b.u(1, 5), b.u(0.8, 3)),
                    b.mat('foliage', tint=0.1), box_uv=False)
        y += dense * b.u(0.4, 1.6)


def overhead(b, r):
    for _ in range(b.r.choices((0, 1, 2), (7, 3, 1))[0]):
        bridge(b, b.u(8, 90), max(r.right, -r.left))
    if b.chance(0.3):                                   # gantry with signs or lights over the road
        y, z, grey = b.u(8, 60), b.u(5.2, 7), b.plain('grey')
        b.box(Frame(), ((r.left + r.right) / 2, y, z), (r.right - r.left + 4, 0.3, 0.4), grey)
        for s in (r.left - 1.8, r.right + 1.8):
            b.box(Frame(), (s, y, z / 2), (0.3, 0.3, z), grey)
        for k in range(r.n_r):
            if r.style == 'motorway':
                tex, _ = b.picture('sign', 'cover')
                b.quad(Frame((k + 0.5) * r.lane, y - 0.3, z, 0), (0, 0, 0), 2.6, 1.6, tex, emit=b.u(0, 0.5),
                       shadow=True)
            else:
                b.box(Frame(), ((k + 0.5) * r.lane, y - 0.3, z - 0.3), (0.35, 0.3, 0.95), b.plain('dark'))
    if b.chance(0.25):                                  # wires across or along
        for k in range(b.r.randint(2, 7)):
            y, m = b.u(0, 60), b.plain('dark')
            if b.chance(0.6):
                b.shape(f'sag{b.r.randint(0, 3)}', Frame((r.left + r.right) / 2, y, b.u(5, 8)), (0, 0, 0),
                        (r.right - r.left + 10, 3, b.u(0.3, 1.5)), m)
            else:
                b.shape(f'sag{b.r.randint(0, 3)}', Frame(b.pick((r.left - 1, r.right + 1)), y, b.u(6, 9),
                                                         math.pi / 2), (0, 0, 0), (40, 3, b.u(0.4, 1.5)), m)


def traffic(b, r):
    """Every lane's vehicles; the camera's own lane keeps a gap about y = 0."""
    heavy = b.u(0.05, 0.5)
    for k in range(-r.n_l, r.n_r):
        x, ours, away = (k + 0.5) * r.lane - (r.gap if k < 0 else 0.0), k == r.mine, k >= 0
        speed = r.flow * b.u(0.75, 1.12) if away or r.style != 'jam' else b.u(0, 14)
        if ours:
            r.speed = speed
        y = (b.u(2.6, 18) if r.style != 'motorway' else b.u(8, 60)) if ours else b.u(-8, 12)
        beside = not ours and abs(k - r.mine) == 1 and b.chance(0.45 if r.style == 'jam' else 0.15)
        while y < 110:
            mark = b.mark()
            f = Frame(x + b.r.gauss(0, 0.15), y, 0, (math.pi if away else 0.0) + b.r.gauss(0, 0.008))
            if beside:                                  # something tall right next to the camera
                n, _, front, back = vehicle(b, f, 0.3, b.pick(('tanker', 'lorry', 'bus', 'lorry')))
                beside = False
            elif speed < 8 and b.chance(0.03):
                n = moving.cyclist(b, f.at(0.8 if k == r.n_r - 1 else 0, 0), 0.0)
                front = back = 0.9
            else:
                n, _, front, back = vehicle(b, f, heavy if not ours else heavy * 0.6)
            near = y - (back if away else front)
            if ours and near < 2.4:                     # too close: take it away again
                b.undo(mark)
            elif speed > 0.05:
                v = speed * b.u(0.97, 1.03) if r.style != 'jam' else speed
                moving.drive(b, n, f, v, v * b.r.gauss(0, 0.003))       # bends of 300 m and more
            y += front + back + (b.u(1.0, 5.0) if r.style == 'jam' else b.u(12, 70) if r.style == 'motorway'
                                 else b.u(6, 45)) + abs(speed) * b.dt


def distance(b):
    """Hills, a tree line, towers at the end of the view."""
    if b.chance(0.4):
        m = b.mat('foliage', 'facade', 'foliage', tint=0.2)
        for k in range(10):
            b.box(Frame(), (-90 + 20 * k, b.u(125, 170), 4), (b.u(12, 24), 4, b.u(6, 30)), m)
    if b.chance(0.4):
        m = b.mat('foliage', 'grass', 'ground', tint=0.2)
        for k in range(b.r.randint(2, 6)):
            s = b.u(60, 160)
            b.shape('sphere', Frame(), (b.u(-200, 200), b.u(170, 300), -0.1 * s),
                    (s * 1.5, s, b.u(0.3, 0.7) * s), m, shadow=False)


def cameras(b, r, walk, n):
    for _ in range(n + n // 2):
        y = b.r.gauss(0, 1.0)
        if b.chance(0.8 - 0.25 * b.lively) or r.style == 'motorway':
            x = (r.mine + 0.5) * r.lane + b.r.gauss(0, 0.25)
            z = b.u(1.2, 1.8) if b.chance(0.85) else b.u(2, 3)
            yaw = b.r.gauss(0, 0.06) if b.chance(0.8) else b.r.gauss(0, 0.4)
            pitch, roll = b.r.gauss(-0.02, 0.03), b.r.gauss(0, 0.015)
            f_rel = b.u(0.48, 0.75) if b.chance(0.65) else b.u(0.45, 1.2)
            heading = (b.r.gauss(0, 0.015), 1.0, 0.0)
            speed = 0.0 if b.chance(0.1) else max(0.0, r.speed * b.u(0.7, 1.15)
                                                  + (b.u(0, 4) if b.chance(0.3) else 0))
        else:                                           # on the pavement, phone in hand
            s = b.pick((-1, 1))
            x = (r.right + b.u(0.3, walk)) if s > 0 else (r.left - b.u(0.3, walk))
            y, z, f_rel, heading, speed = b.u(-5, 40), b.u(1.4, 1.8), None, None, 0.0
            yaw, pitch, roll = b.u(-3.1, 3.1), b.r.gauss(-0.08, 0.12), views.roll(b.r)
        tgt = (x + math.sin(yaw), y + math.cos(yaw), z + math.tan(pitch))
        views.add(b, (x, y, z), tgt, roll, f_rel, heading, speed)


def street(b, n_cams):
    r = Road(b)
    ground(b, r)
    walk = b.u(1.2, 2.5) if r.style == 'narrow' else b.u(1.5, 6.0)
    if r.style == 'motorway':
        for s, edge in ((1, r.right), (-1, r.left)):
            motorway(b, r, s, edge)
        if r.gap:
            b.box(Frame(), (-r.gap / 2, 60, 0.6), (0.06, 260, 0.3), b.plain('grey', 0.7))
    else:
        kerb = b.mat('stone', 'concrete', tint=0.06) if b.chance(0.7) else b.plain('grey', 0.1)
        for s, edge in ((1, r.right), (-1, r.left)):
            b.box(Frame(), (edge + s * walk / 2, 60, KERB - 0.1), (walk, 260, 0.2), kerb)
            fronts(b, r, s, edge, walk)
            pavement(b, r, s, edge, walk)
    overhead(b, r)
    traffic(b, r)
    distance(b)
    sky(b)
    cameras(b, r, walk, n_cams)
    return b.finish('street', n_cams)
