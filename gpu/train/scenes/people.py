"""People of lively scenes: how they stand, walk, sit, carry and push, and what they set in motion.

A lively scene (`Builder.lively` 0..1) is for networks that learn what moves: there is somebody in view more
often than not. Frames look to local -y, as everywhere; whoever sits has a seat of the right height below.
"""
import math

from . import figures, moving
from .build import PERSON, THING, Frame, Mat

POSES = {k: tuple(p for p in figures.FINE_POSES if p.startswith(k))
         for k in ('stand', 'walk', 'sit', 'carry', 'push', 'crouch')}
HAIR = ((0.04, 0.03, 0.03), (0.1, 0.06, 0.04), (0.25, 0.16, 0.09), (0.5, 0.38, 0.2), (0.4, 0.39, 0.38))


def figure(b, f, pose, size=None, yaw=0.0):
    """A fine figure in one of figures.FINE_POSES, size and clothes by chance. Returns its height over
    1.72 m.
    """
    s = b.u(0.9, 1.1) if size is None else size
    wide, deep = s * b.u(0.9, 1.12), s * b.u(0.97, 1.1)
    g = b.u(0.8, 1.1)
    skin = Mat(-1, tuple(min(0.95, c * g) for c in b.pick(moving.SKIN)), 0.15)
    cloth = b.mat('fabric', 'stripes', gloss=0.0) if b.chance(0.35) else b.plain('any', 0.05)
    mats = {'skin': skin, 'dark': Mat(-1, b.pick(HAIR), 0.2), 'top': cloth,
            'low': b.plain('dark' if b.chance(0.6) else 'any', 0.05)}
    for part, m in mats.items():
        b.shape(f'{pose}_{part}', f, (0, 0, 0), (wide, deep, s), m, yaw=yaw)
    return s


def upright(b, f, pose):
    """Someone on their feet: of the pack (any that stands), or a fine figure."""
    pack = b.meshes('person', 'standing')
    if pack and pose in ('stand', 'walk') and b.chance(0.5 if pose == 'stand' else 0.35):
        m, s = b.pick(pack), b.u(0.92, 1.06)
        b.asset(m, f, 0, 0, -m.lo[2] * s, scale=s, recolour=0.5)
    else:
        figure(b, f, b.pick(POSES[pose]))


def goes(b, f, n, room, speed):
    """Thing n goes forward at up to `speed` m/s if there is room, else a step back or shorter; returns the
    motion. Before it takes its place: nobody stands in their own way.
    """
    d = b.u(0.35, 1.0) * speed * b.dt
    for k in (1.0, -0.6, 0.4, -0.3, 0.15):
        dx, dy = k * d * math.sin(f.yaw), -k * d * math.cos(f.yaw)
        if room is None or room(f.x + 2 * dx, f.y + 2 * dy):
            M = moving.turn(f.x, f.y, b.r.gauss(0, 0.3) * b.dt, dx, dy)
            b.move(n, M)
            return M
    return None


def fidgets(b, f, n, turns=0.9, steps=0.15):
    """Turns and shifts where it is, up to about `turns` rad/s and `steps` m/s."""
    v = steps * b.dt
    b.move(n, moving.turn(f.x, f.y, b.r.gauss(0, turns) * b.dt, b.r.gauss(0, v), b.r.gauss(0, v)))


def notice(b, f, low, high):
    """Cameras look at some height of a person more than at anything else."""
    for _ in range(3):
        b.watch(f, b.u(low, high))


def stands(b, f, room):
    with b.thing(PERSON) as n:
        upright(b, f, 'stand')
    b.take(f, -0.3, -0.3, 0.3, 0.3, 1.8)
    notice(b, f, 0.9, 1.6)
    if b.chance(0.7):
        fidgets(b, f, n)


def walks(b, f, room):
    with b.thing(PERSON) as n:
        upright(b, f, 'walk')
    goes(b, f, n, room, 1.5)
    b.take(f, -0.3, -0.4, 0.3, 0.4, 1.8)
    notice(b, f, 0.8, 1.6)


def crouches(b, f, room):
    with b.thing(PERSON) as n:
        figure(b, f, b.pick(POSES['crouch']))
    b.take(f, -0.35, -0.5, 0.35, 0.3, 1.1)
    notice(b, f, 0.4, 0.9)
    fidgets(b, f, n)


def carries(b, f, room):
    """Someone with a box, basket or ball in both hands; one thing."""
    with b.thing(PERSON) as n:
        s = figure(b, f, b.pick(POSES['carry']))
        w, d, h = b.u(0.25, 0.5), b.u(0.2, 0.36), b.u(0.12, 0.4)
        at = (0, -0.2 * s - d / 2, 1.04 * s + h / 2)
        if b.chance(0.15):
            b.shape('sphere', f, (0, at[1], 1.15 * s), (0.25, 0.25, 0.25), b.plain('vivid', 0.2))
        else:
            b.box(f, at, (w, d, h), b.mat('cardboard', 'label', 'cover') if b.chance(0.6) else b.plain('any'))
    goes(b, f, n, room, 1.2)
    b.take(f, -0.3, -0.6, 0.3, 0.3, 1.8)
    notice(b, f, 0.9, 1.5)


def pushes(b, f, room):
    """Someone behind a trolley or a chair on wheels, both going the same way."""
    with b.thing(PERSON) as n:
        figure(b, f, b.pick(POSES['push']))
    M = goes(b, f, n, room, 1.2)
    g = f.at(0, -0.85, 0, b.r.gauss(0, 0.1))
    with b.thing(THING) as k:
        if b.chance(0.6):
            moving.trolley(b, g)
        else:
            seat(b, g, 0.46)
    if M:
        b.move(k, M)
    b.take(f, -0.35, -1.2, 0.35, 0.3, 1.8)
    notice(b, f, 0.6, 1.5)


def seat(b, f, h):
    """An office chair or plain chair whose seat is h above the floor, the middle of it at the frame."""
    m = b.plain('dark' if b.chance(0.6) else 'any', 0.3) if b.chance(0.7) else b.mat('fabric', 'wood')
    b.box(f, (0, -0.02, h - 0.03), (0.46, 0.44, 0.06), m)
    b.box(f, (0, 0.25, h + b.u(0.28, 0.36)), (0.42, 0.05, b.u(0.35, 0.55)), m, tilt=-0.1)
    frame = b.plain('grey', 0.7) if b.chance(0.6) else b.plain('dark', 0.4)
    b.box(f, (0, 0.24, h + 0.05), (0.06, 0.03, 0.22), frame)
    if b.chance(0.65):                                  # a column on a star of five
        b.shape('cyl', f, (0, 0, h / 2), (0.06, 0.06, h - 0.08), frame)
        for k in range(5):
            a = 2 * math.pi * k / 5
            b.box(f, (0.15 * math.sin(a), 0.15 * math.cos(a), 0.07), (0.05, 0.3, 0.03), frame, yaw=-a)
            b.shape('sphere', f, (0.28 * math.sin(a), 0.28 * math.cos(a), 0.03), (0.06, 0.06, 0.06), frame)
    else:
        for x in (-0.2, 0.2):
            for y in (-0.2, 0.17):
                b.box(f, (x, y, (h - 0.06) / 2), (0.035, 0.035, h - 0.06), frame)


def room_to_sit(b, f):
    """May someone sit here, between the walls and clear of what stands behind?"""
    q = f.at(0, 0.15)
    return b.indoors(f, -0.3, -0.3, 0.3, 0.4) and not b.inside_solid((q.x, q.y, 0.5), 0.2)


def sits(b, f, room=None):
    """Someone on a chair, front to local -y, the trunk above the frame; they turn, lean and roll a little."""
    with b.thing(PERSON) as n:
        pack = [m for m in b.meshes('person', 'sitting') if m.seat]
        if pack and b.chance(0.4):
            m = b.pick(pack)
            b.asset(m, f, 0, -m.seat[0], -m.lo[2], recolour=0.5)
            h = m.seat[1]
        else:
            h = 0.435 * figure(b, f, b.pick(POSES['sit']), b.u(0.92, 1.08))
        seat(b, f, h)
    b.take(f, -0.3, -0.25, 0.3, 0.4)
    b.solid(f, -0.35, -0.55, 0, 0.35, 0.4, 1.4)
    notice(b, f, 0.7, 1.3)
    if b.chance(0.8):
        fidgets(b, f, n, 0.8, 0.2)
    return n


def sits_free(b, f, room):
    sits(b, f)
    b.take(f, -0.4, -0.6, 0.4, 0.45)


def rolls(b, f, room):
    """A ball, an animal, or a chair that was given a push."""
    k = b.r.random()
    if k < 0.35:
        moving.ball(b, f)
    elif k < 0.5 and moving.animal(b, f):
        b.watch(f, 0.3)
    elif k < 0.75:
        with b.thing(THING) as n:
            seat(b, f, b.u(0.42, 0.5))
        moving.slide(b, f, n, 0.9)
        b.take(f, -0.35, -0.35, 0.35, 0.35, 0.9)
    else:
        moving.trolley(b, f)


DOINGS = ((stands, 5), (walks, 7), (carries, 2), (pushes, 2), (crouches, 1), (sits_free, 2), (rolls, 4))


def crowd(b, W, L, most=5, along=None, doings=DOINGS):
    """Put people and what they move on the free floor of a room W x L; along: a yaw they keep to (corridor).
    """
    if not b.chance(0.15 + 0.85 * b.lively):
        return

    def room(x, y):
        return 0.3 < x < W - 0.3 and 0.3 < y < L - 0.3 and not b.inside_solid((x, y, 0.5), 0.25)

    want, tries = b.r.randint(1, max(1, round(most * b.lively))), 0
    while want and tries < 60:
        tries += 1
        yaw = b.u(0, 6.28) if along is None or b.chance(0.2) else along + b.pick((0, math.pi)) + b.r.gauss(0, 0.2)
        f = Frame(b.u(0.4, W - 0.4), b.u(0.4, L - 0.4), 0, yaw)
        do = b.r.choices([d for d, _ in doings], [w for _, w in doings])[0]
        x, front, back = {pushes: (0.4, 1.35, 0.35), carries: (0.3, 0.6, 0.3), sits_free: (0.4, 0.6, 0.45),
                          crouches: (0.35, 0.5, 0.3)}.get(do, (0.34, 0.34, 0.34))
        if not b.free_rect(f, -x, -front, x, back) or not b.indoors(f, -x, -front, x, back) \
                or b.inside_solid((f.x, f.y, 0.5), 0.3):
            continue
        do(b, f, room)
        want -= 1
