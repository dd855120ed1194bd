"""Things that move, and how: people walk, cars keep to their lane, doors turn, chairs slide, balls roll.

A motion is a 3x4 matrix M: x' = R x + t takes points of the thing in the world at moment 0 to moment 1,
`Builder.dt` seconds later. Speeds are those of the real thing, so motion grows with dt as the camera's does.
"""
import math

from .build import PERSON, THING, Mat

SKIN = ((0.87, 0.68, 0.56), (0.78, 0.57, 0.44), (0.55, 0.37, 0.26), (0.36, 0.23, 0.16), (0.93, 0.76, 0.66))


def turn(x, y, yaw, dx=0.0, dy=0.0, dz=0.0):
    """Turn by yaw about the upright axis through (x, y), then shift."""
    c, s = math.cos(yaw), math.sin(yaw)
    return (c, -s, 0.0, x - c * x + s * y + dx, s, c, 0.0, y - s * x - c * y + dy, 0.0, 0.0, 1.0, dz)


def roll(c, dx, dy, radius):
    """A ball with its centre at c that rolls by (dx, dy) without slipping."""
    d = math.hypot(dx, dy)
    if d < 1e-9:
        return turn(0, 0, 0)
    a, kx, ky = d / radius, -dy / d, dx / d             # about the axle, level and across the path
    co, si = math.cos(a), math.sin(a)
    v = 1 - co
    r = (co + kx * kx * v, kx * ky * v, ky * si, kx * ky * v, co + ky * ky * v, -kx * si, -ky * si, kx * si,
         co)
    t = [c[i] - sum(r[3 * i + j] * c[j] for j in range(3)) for i in range(3)]
    return (r[0], r[1], r[2], t[0] + dx, r[3], r[4], r[5], t[1] + dy, r[6], r[7], r[8], t[2])


def figure(b, f, pose, yaw=0.0):
    """A procedural person of a pose of figures.POSES, size and clothes by chance. Returns its height over
    1.72 m.
    """
    s = b.u(0.9, 1.1) if b.chance(0.88) else b.u(0.6, 0.85)
    wide = s * b.u(0.9, 1.25)
    skin = b.pick(SKIN)
    g = b.u(0.8, 1.15)
    mats = {'skin': Mat(-1, tuple(c * g for c in skin), 0.15),
            'dark': Mat(-1, b.pick(((0.06, 0.05, 0.05), (0.25, 0.16, 0.09), (0.6, 0.5, 0.3),
                                    (0.4, 0.4, 0.4))), 0.2),
            'top': b.mat('fabric', 'stripes', gloss=0.0) if b.chance(0.35) else b.plain('any', 0.05),
            'low': b.plain('dark' if b.chance(0.6) else 'any', 0.05)}
    for part, m in mats.items():
        b.shape(f'{pose}_{part}', f, (0, 0, 0), (wide, s, s), m, yaw=yaw)
    if pose.startswith('walk') and b.chance(0.25):      # a bag at the side
        b.box(f.at(0, 0, 0, yaw), (0.28 * wide, 0.05, 0.95 * s), (0.12, 0.3, 0.28), b.plain('any', 0.2))
    return s


def person(b, f, walks=None, room=None, yaw=None):
    """Someone standing or walking, front to local -y. room(x, y) says whether a place (world) is free to go
    to.

    walks: None lets chance decide. Returns the number of the thing.
    """
    with b.thing(PERSON) as n:
        yaw = b.u(0, 6.28) if yaw is None else yaw
        pack = b.meshes('person', 'standing')
        walks = b.chance(0.6) if walks is None else walks
        if pack and b.chance(0.5):
            m = b.pick(pack)
            s = b.u(0.92, 1.06)
            b.asset(m, f, 0, 0, -m.lo[2] * s, yaw=yaw, scale=s, recolour=0.5)
        else:
            figure(b, f, b.pick(('walk0', 'walk1', 'walk2', 'walk3') if walks
                                else ('stand0', 'stand1', 'stand2', 'stand3')), yaw)
    b.take(f, -0.3, -0.3, 0.3, 0.3, 1.8)
    b.watch(f, b.u(0.8, 1.6))
    a = f.yaw + yaw
    if walks:
        d = b.u(0.3, 1.5) * b.dt
        for _ in range(4):
            dx, dy = d * math.sin(a), -d * math.cos(a)
            if room is None or room(f.x + 2 * dx, f.y + 2 * dy):
                b.move(n, turn(f.x, f.y, b.r.gauss(0, 0.35) * b.dt, dx, dy))
                return n
            d = -d if d > 0 else -0.4 * d               # a step back, then shorter ones
    elif b.chance(0.5):                                 # sways and turns where it stands
        v = 0.08 * b.dt
        b.move(n, turn(f.x, f.y, b.r.gauss(0, 0.8) * b.dt, b.r.gauss(0, v), b.r.gauss(0, v)))
    return n


def sitter(b, f, seat=True):
    """Someone sitting, front to local -y; seat draws a stool or office chair below. They turn and lean a
    little.
    """
    with b.thing(PERSON) as n:
        pack = b.meshes('person', 'sitting')
        if pack and b.chance(0.4):
            m = b.pick(pack)
            b.asset(m, f, 0, 0, -m.lo[2])
        else:
            figure(b, f, b.pick(('sit0', 'sit1')))
        if seat:
            m = b.plain('dark' if b.chance(0.6) else 'any', 0.3)
            b.box(f, (0, 0.08, 0.37), (0.44, 0.44, 0.07), m)
            b.box(f, (0, 0.33, 0.72), (0.42, 0.05, 0.5), m, tilt=-0.1)
            b.shape('cyl', f, (0, 0.08, 0.2), (0.05, 0.05, 0.3), b.plain('grey', 0.8))
            b.shape('cyl', f, (0, 0.08, 0.025), (0.52, 0.52, 0.05), b.plain('dark', 0.4))
    b.solid(f, -0.35, -0.65, 0, 0.35, 0.4, 1.4)
    b.watch(f, b.u(0.6, 1.2))
    if b.chance(0.7):
        v = 0.06 * b.dt
        b.move(n, turn(f.x, f.y, b.r.gauss(0, 0.7) * b.dt, b.r.gauss(0, v), b.r.gauss(0, v)))
    return n


def slide(b, f, n, pushed=0.7):
    """A chair, trolley or stool that somebody pushes: up to 0.8 m/s along the floor, turning as it goes."""
    if b.chance(pushed):
        b.watch(f, 0.5)
        a, v = b.u(0, 6.28), b.u(0.05, 0.8) * b.dt
        b.move(n, turn(f.x, f.y, b.r.gauss(0, 0.8) * b.dt, v * math.cos(a), v * math.sin(a)))


def swing(b, hinge, n, opens=0.6):
    """A door leaf whose hinge is the upright axis at a frame: up to 2 rad/s."""
    b.watch(hinge, 1.0)
    if b.chance(opens):
        b.move(n, turn(hinge.x, hinge.y, b.u(0.2, 2.0) * b.dt * b.pick((-1, 1))))


def ball(b, f):
    """A ball on the floor or a table top: lies, rolls, or bounces (a shift alone)."""
    d = b.u(0.06, 0.28)
    c = f.at(0, 0, d / 2)
    with b.thing(THING) as n:
        b.shape('sphere', f, (0, 0, d / 2), (d, d, d), b.plain('vivid' if b.chance(0.6) else 'any', 0.3)
                if b.chance(0.6) else b.mat('stripes', 'cover'),
                yaw=b.u(0, 6.28), tilt=b.u(0, 3))
    b.watch(f, d / 2)
    if b.chance(0.75):
        a, v = b.u(0, 6.28), b.u(0.1, 2.0) * b.dt
        b.move(n, roll((c.x, c.y, c.z), v * math.cos(a), v * math.sin(a), d / 2))
    return n


def animal(b, f):
    """A dog or cat of the pack, else nothing; walks as it looks."""
    pack = b.meshes('floor', 'animal')
    if not pack:
        return 0
    m = b.pick(pack)
    with b.thing(THING) as n:
        b.asset(m, f, 0, 0, -m.lo[2], recolour=0.4)
    b.take(f, m.lo[0], m.lo[1], m.hi[0], m.hi[1], m.size[2])
    if b.chance(0.6):
        v = b.u(0.1, 1.2) * b.dt
        b.move(n, turn(f.x, f.y, b.r.gauss(0, 0.5) * b.dt, v * math.sin(f.yaw), -v * math.cos(f.yaw)))
    return n


def trolley(b, f):
    """A two-shelf trolley or box on castors, being pushed."""
    w, d, h = b.u(0.4, 0.7), b.u(0.35, 0.5), b.u(0.6, 0.95)
    with b.thing(THING) as n:
        frame = b.plain('grey', 0.7)
        for sx in (-1, 1):
            for sy in (-1, 1):
                b.box(f, (sx * (w / 2 - 0.015), sy * (d / 2 - 0.015), h / 2 + 0.03), (0.025, 0.025, h - 0.06),
                      frame)
                b.shape('cyl', f, (sx * (w / 2 - 0.015), sy * (d / 2 - 0.015), 0.03), (0.06, 0.03, 0.06),
                        b.plain('dark'), tilt=math.pi / 2)
        for z in (0.15, h):
            b.box(f, (0, 0, z), (w, d, 0.03), b.plain('any', 0.4))
        for _ in range(b.r.randint(1, 4)):
            s = (b.u(0.1, 0.3), b.u(0.1, 0.25), b.u(0.08, 0.3))
            z = b.pick((0.165, h + 0.015))
            b.box(f, (b.u(-0.25, 0.25) * w, b.u(-0.2, 0.2) * d, z + s[2] / 2), s,
                  b.plain('warm') if b.chance(0.5) else b.mat('cover', 'label', 'cardboard'),
                  yaw=b.u(0, 6.28))
    b.take(f, -w / 2, -d / 2, w / 2, d / 2, h + 0.3)
    b.watch(f, 0.5)
    slide(b, f, n)
    return n


def drive(b, n, f, speed, bend=0.0):
    """A vehicle that goes along its own front (local -y) at a speed in m/s; bend in rad/s."""
    v, a = speed * b.dt, bend * b.dt
    b.move(n, turn(f.x, f.y, a, v * math.sin(f.yaw + a / 2), -v * math.cos(f.yaw + a / 2)))


def cyclist(b, f, speed):
    """A bicycle and who rides it, one thing, front to local -y."""
    with b.thing(PERSON) as n:
        b.shape('bicycle', f, (0, 0, 0), (1, 1, 1), b.plain('any', 0.5))
        figure(b, f.at(0, 0.24, 0.3), 'ride0')
    drive(b, n, f, speed, speed * b.r.gauss(0, 0.01))
    return n
