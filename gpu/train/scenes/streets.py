"""Streets: open roads, narrow ones, jams with lorries beside the camera, bridges, hard sun.

The road runs along +y, the camera drives on the right in one of the lanes or walks on a pavement.
"""
import math

from .build import POINT, SUN, Frame, Mat


def vehicle(b, f, big=0.2):
    """A vehicle at a frame, front to local -y. Returns (width, length, height)."""
    k = b.r.random()
    if k < big * 0.35:
        tank = b.plain('white', b.u(0.4, 0.95)) if b.chance(0.7) else b.plain('any', 0.8)
        b.shape('tanker', f, (0, 3.6, 0), (1, 1, 1), tank, ident=b.new_id())
        tex, _ = b.picture('label', 'cover', 'sign')
        for s in (-1, 1):
            b.quad(f, (s * 1.27, 3.6, 2.6), b.u(2, 6), b.u(0.5, 1.2), tex, yaw=s * math.pi / 2)
        b.box(f, (0, -3.2, 2.1), (2.45, 2.0, 2.7), b.plain('any', 0.5), ident=b.next_id)
        b.box(f, (0, -2.9, 0.7), (2.3, 2.4, 0.6), b.plain('dark', 0.3))
        b.box(f, (0, -4.22, 2.5), (2.2, 0.05, 0.9), b.plain('dark', 0.9))
        return 2.5, 14.0, 3.6
    if k < big:
        pack = b.meshes('vehicle', 'truck', 'bus', 'van')
        if pack and b.chance(0.5):
            m = b.pick(pack)
            b.asset(m, f, 0, 0, 0)
            return m.size
        lorry = b.plain('any', 0.4)
        b.shape('lorry', f, (0, 0, 0), (1, 1, 1), lorry, ident=b.new_id())
        b.box(f, (0, -4.02, 2.2), (2.1, 0.03, 0.8), b.plain('dark', 0.9))
        h = b.u(1.9, 2.7)
        if b.chance(0.75):                              # box or tarpaulin body
            m = b.plain('any', b.u(0.1, 0.4)) if b.chance(0.7) else b.mat('metal', 'fabric', 'stripes')
            if b.chance(0.35):                          # open at the back: dark inside
                b.box(f, (0, 1.2, 1.02 + h), (2.45, 5.8, 0.05), m)
                for s in (-1, 1):
                    b.box(f, (s * 1.2, 1.2, 1.02 + h / 2), (0.05, 5.8, h), m)
                b.box(f, (0, -1.7, 1.02 + h / 2), (2.45, 0.05, h), b.plain('dark'))
            else:
                b.box(f, (0, 1.2, 1.02 + h / 2), (2.45, 5.8, h), m)
                if b.chance(0.5):
                    tex, _ = b.picture('poster', 'cover', 'label', 'photo_picture')
                    for s in (-1, 1):
                        b.quad(f, (s * 1.235, 1.2, 1.02 + h / 2), 3.5, h * 0.6, tex, yaw=s * math.pi / 2)
        b.box(f, (0, 1.2, 1.25), (2.5, 5.8, 0.4), b.plain('grey', 0.4))
        tex, _ = b.picture('stripes')
        b.quad(f, (0, 4.13, 0.95), 2.4, 0.3, tex, yaw=math.pi)
        for s in (-1, 1):
            b.box(f, (s * 0.95, 4.08, 0.75), (0.35, 0.06, 0.15), Mat(-1, (0.8, 0.05, 0.03), 0.5, emit=b.u(0, 2)))
        return 2.5, 8.2, h + 1
    pack = b.meshes('vehicle', 'car')
    if pack:
        m = b.pick(pack)
        b.asset(m, f, 0, 0, 0, recolour=0.7)
        size = m.size
    else:
        b.shape('car', f, (0, 0, 0), (1, 1, b.u(0.95, 1.25)), b.plain('any', 0.6), ident=b.new_id())
        size = (1.7, 4.3, 1.45)
    if b.chance(0.5):                                   # brake lights, plate
        for s in (-1, 1):
            b.box(f, (s * size[0] * 0.36, size[1] / 2 - 0.02, 0.8), (0.25, 0.08, 0.14), Mat(-1, (0.9, 0.05, 0.03), 0.4, emit=b.u(0.2, 5)))
        b.box(f, (0, size[1] / 2 + 0.01, 0.6), (0.5, 0.02, 0.11), Mat(-1, (0.95, 0.95, 0.9), 0.2))
    return size


def tree(b, f):
    h, r = b.u(3, 14), b.u(0.25, 0.5)
    pack = b.meshes('outdoor', 'tree')
    if pack and b.chance(0.25):
        m = b.pick(pack)
        b.asset(m, f, 0, 0, 0, yaw=b.u(0, 6.28), scale=h / m.size[2] if m.size[2] > 0.5 else 1.0, recolour=0.3)
        return
    bark = b.plain('warm', 0.0) if b.chance(0.4) else b.plain('dark', 0.0)
    b.shape('cyl', f, (0, 0, h * 0.3), (r * h * 0.1, r * h * 0.1, h * 0.62), bark)
    leaf = b.mat('foliage', 'grass', tint=0.1)
    if b.chance(0.2):
        b.shape('cone', f, (0, 0, h * 0.55), (h * 0.35, h * 0.35, h * 0.9), leaf)
    for _ in range(b.r.randint(2, 5)):
        s = h * b.u(0.35, 0.7)
        b.shape(f'crown{b.r.randint(0, 3)}', f, (b.r.gauss(0, 0.1) * h, b.r.gauss(0, 0.1) * h, h * b.u(0.5, 0.85)), (s, s, s * b.u(0.6, 0.9)), leaf,
                yaw=b.u(0, 6.28), box_uv=False)


def house(b, f, w, d, h):
    """A building with its front at local y = 0, standing behind it."""
    i, metres, aspect = b.pick(b.tex.get('facade') or b.tex['brick'])
    kind = b.r.random()
    m = Mat(i, tuple(b.u(0.7, 1.1) for _ in range(3)), 0.15, (metres * b.u(0.7, 1.3),) * 2)
    if kind < 0.2:
        m = b.mat('brick', 'concrete', 'stone', 'wall')
    b.box(f, (0, d / 2, h / 2), (w, d, h), m)
    if kind < 0.35 or b.chance(0.3):                    # real windows and doors in the front
        n, st = max(1, int(w / b.u(1.5, 3))), max(1, int(h / b.u(2.6, 3.4)))
        glass, fr = b.plain('dark', 0.9), b.plain('white')
        for a in range(n):
            for c in range(st):
                x, z = (a + 0.5) / n * w - w / 2, (c + 0.5) / st * h
                b.box(f, (x, 0.0, z), (1.1, 0.1, 1.4), fr, shadow=False)
                b.box(f, (x, -0.04, z), (0.95, 0.04, 1.25), glass, shadow=False)
    if b.chance(0.5):
        b.shape('wedge', f, (0, d / 2, h + w * 0.12), (w + 0.6, d + 0.6, w * 0.25), b.mat('roof'))
    if b.chance(0.3):                                   # awning or balconies
        b.box(f, (b.u(-0.2, 0.2) * w, -0.6, b.u(2.4, 3.2)), (w * b.u(0.3, 0.9), 1.2, 0.12), b.plain('vivid'))


def bridge(b, y, span):
    z, d, t = b.u(4.6, 6.5), b.u(6, 14), b.u(0.8, 1.8)
    m = b.mat('concrete', tint=0.1) if b.chance(0.8) else b.plain('grey')
    f = Frame(0, y, 0, b.r.gauss(0, 0.3))
    b.box(f, (0, 0, z + t / 2), (span * 2 + 60, d, t), m)
    for s in (-1, 1):
        b.box(f, (0, s * d / 2, z + t + 0.5), (span * 2 + 60, 0.1, 1.0), b.plain('grey', 0.4))
        for x in (-span - 1.5, span + 1.5):
            b.box(f, (x, s * d * 0.3, z / 2), (1.2, 1.2, z), m)


def markings(b, x, y0, y1, dash, gap, w=0.14):
    m, y = Mat(-1, (0.85, 0.85, 0.82), 0.05), y0
    if not gap:
        b.box(Frame(), (x, (y0 + y1) / 2, 0.006), (w, y1 - y0, 0.012), m, shadow=False)
        return
    while y < y1:
        b.box(Frame(), (x, y + dash / 2, 0.006), (w, dash, 0.012), m, shadow=False)
        y += dash + gap


def sky(b):
    """Sun or overcast, and what the sky looks like."""
    pano = b.tex.get('photo_sky')
    hard = b.chance(0.6)
    az, el = b.u(0, 6.28), b.u(0.25, 1.2)
    d = (-math.cos(az) * math.cos(el), -math.sin(az) * math.cos(el), -math.sin(el))
    s = b.u(2.5, 7) if hard else b.u(0.0, 0.6)
    blue = b.u(0.9, 1.5) if hard else b.u(0.95, 1.15)
    amb = b.u(0.25, 0.8) if hard else b.u(0.8, 1.3)
    b.scene['amb_up'] = (amb * 0.85, amb * 0.95, amb * blue)
    b.scene['amb_dn'] = tuple(amb * b.u(0.15, 0.45) * (1.0 if not hard else 1.2) for _ in range(3))
    haze = b.u(0.9, 1.4)
    b.scene['fog_col'] = (haze, haze, haze * 1.05)
    b.scene['fog'] = 0.0 if b.chance(0.4) else math.exp(b.u(math.log(0.0008), math.log(0.01)))
    b.scene['sky_gain'] = b.u(1.0, 4.0) if hard else b.u(1.0, 2.0)
    if pano and b.chance(0.4):
        b.scene['sky_tex'] = b.pick(pano)[0]
    if 'photo_panorama' in b.tex:
        b.scene['env_tex'] = b.pick(b.tex['photo_panorama'])[0]
    b.scene['env_gain'] = b.u(0.6, 1.5)
    if s > 0.1:
        b.light(SUN, direction=d, col=(s, s * b.u(0.85, 1.0), s * b.u(0.7, 0.95)), soft=1.0, shadow=((0, 18, 2), 26))


def street(b, n_cams):
    lane, n_r, n_l = b.u(2.9, 3.7), b.r.choices((1, 2, 3, 4), (4, 4, 2, 1))[0], b.r.choices((0, 1, 2, 3), (2, 4, 3, 1))[0]
    jam, narrow = b.chance(0.4), b.chance(0.3)
    right, left = n_r * lane, -n_l * lane - b.u(0, 0.6)
    y0, y1 = -15.0, 130.0
    road = b.mat('asphalt', scale=(0.8, 2.0), tint=0.15)
    road.gloss = b.u(0, 0.35)
    b.box(Frame(), (0, (y0 + y1) / 2, -0.5), (300, 400, 0.7), b.mat('grass', 'ground', 'ground', 'concrete', tint=0.15))
    b.box(Frame(), ((right + left) / 2, 60, -0.05), (right - left, 260, 0.1), road)
    for k in range(1, n_r):
        markings(b, k * lane, y0, y1, b.u(2, 4), b.u(3, 7))
    for k in range(1, n_l):
        markings(b, -k * lane, y0, y1, b.u(2, 4), b.u(3, 7))
    if n_l:
        markings(b, 0, y0, y1, 3, 0 if b.chance(0.5) else 4)
    for x in (right - 0.2, left + 0.2):
        if b.chance(0.6):
            markings(b, x, y0, y1, 1, 0)
    walk = b.u(1.2, 2.5) if narrow else b.u(1.5, 6.0)
    kerb = b.mat('stone', 'concrete', 'tile', tint=0.1)
    for s, edge in ((1, right), (-1, left)):
        b.box(Frame(), (edge + s * walk / 2, 60, 0.03), (walk, 260, 0.2), kerb)
        front = edge + s * (walk + (b.u(0, 1) if narrow else b.u(0, 14) if b.chance(0.6) else b.u(5, 40)))
        kind = b.r.choices(('houses', 'trees', 'wall', 'open'), (5, 2, 1, 2))[0]
        y = y0
        while y < y1:
            f = Frame(front, y, 0, -s * math.pi / 2)
            if kind == 'houses' and b.chance(0.85):
                w, h = b.u(7, 25), b.u(4, 18)
                pack = b.meshes('outdoor', 'house')
                if pack and not narrow and b.chance(0.2):
                    m = b.pick(pack)
                    b.asset(m, f, 0, m.size[1] / 2, 0, recolour=0.3)
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
                    b.shape(f'bush{b.r.randint(0, 3)}', f, (0, b.u(0, 4), 0.6), (b.u(1, 3), b.u(1, 3), b.u(0.8, 2.5)), b.mat('foliage', tint=0.1), box_uv=False)
                y += b.u(3, 12)
        tall = b.chance(0.5)
        y = y0 + b.u(0, 10)
        step, pole = b.u(9, 30), b.plain('grey' if b.chance(0.7) else 'dark', 0.4)
        while y < y1 and b.chance(0.97):                # poles, lamps, signs, trees on the pavement
            x = edge + s * b.u(0.3, 0.8)
            k = b.r.random()
            if k < 0.5:
                h = b.u(5, 9) if tall else b.u(3, 4)
                b.shape('cyl', Frame(), (x, y, h / 2), (0.14, 0.14, h), pole)
                b.box(Frame(), (x - s * 0.8, y, h), (1.8, 0.15, 0.1), pole)
            elif k < 0.65:
                b.shape('cyl', Frame(), (x, y, 1.3), (0.07, 0.07, 2.6), pole)
                tex, _ = b.picture('sign', 'cover')
                b.quad(Frame(x, y - 0.05, 2.4, 0), (0, 0, 0), 0.6, 0.6, tex, shadow=True)
            elif k < 0.85:
                tree(b, Frame(x + s * 0.3, y))
            else:
                pack = b.meshes('outdoor', 'bench', 'bin', 'hydrant', 'mailbox', 'barrier', 'cone', 'trafficlight', 'lamppost', 'sign', 'dumpster', 'bush')
                if pack:
                    m = b.pick(pack)
                    if m.size[2] < 8:
                        b.asset(m, Frame(x + s * 0.4, y, 0, b.pick((0, math.pi / 2, -math.pi / 2))), 0, 0, 0)
            y += step * b.u(0.5, 1.5)
        if b.chance(0.45):                              # parked cars
            y = y0 + b.u(0, 6)
            while y < 70:
                if b.chance(0.7):
                    vehicle(b, Frame(edge - s * b.u(0.9, 1.2), y, 0, math.pi * (s > 0)), 0.05)
                y += b.u(5.2, 8)
        if b.chance(0.15):                              # guard rail
            b.box(Frame(), (edge, 60, 0.6), (0.06, 240, 0.3), b.plain('grey', 0.7))
        for _ in range(b.r.randint(0, 5)):
            pack = b.meshes('person', 'standing')
            if pack:
                b.asset(b.pick(pack), Frame(edge + s * b.u(0.3, walk), b.u(-5, 40)), 0, 0, 0.1, yaw=b.u(0, 6.28))
    for _ in range(b.r.choices((0, 1, 2), (7, 3, 1))[0]):
        bridge(b, b.u(12, 90), max(right, -left))
    if b.chance(0.3):                                   # gantry or wires over the road
        y = b.u(8, 60)
        b.box(Frame(), (0, y, b.u(5, 7)), (right - left + 4, 0.3, 0.4), b.plain('grey'))
        for k in range(n_r):
            b.box(Frame(), ((k + 0.5) * lane, y - 0.3, 5.3), (0.35, 0.3, 0.95), b.plain('dark'))
    my = b.r.randint(0, n_r - 1)
    cam_x = (my + 0.5) * lane + b.r.gauss(0, 0.25)
    for k in range(-n_l, n_r):                          # traffic; our own lane keeps a gap before the camera
        x, ours = (k + 0.5) * lane, k == my
        away = k >= 0
        y = b.u(2.5, 18) if ours else b.u(-8, 12)
        while y < 110:
            big = 0.3 if not ours else 0.15
            n0 = len(b.insts)
            w, length, h = vehicle(b, Frame(x + b.r.gauss(0, 0.15), y, 0, math.pi if away else 0.0), big)
            half = length / 2 + (3.0 if length > 12 else 0.0)
            if ours and y - half < 2.6:                 # too close: take it back
                del b.insts[n0:]
            y += length + (b.u(1.0, 5.0) if jam else b.u(6, 45))
    if b.chance(0.5):                                   # far hills, tree line or towers
        m = b.mat('foliage', 'facade', 'foliage', tint=0.2)
        for k in range(10):
            b.box(Frame(), (-90 + 20 * k, b.u(125, 170), 4), (b.u(12, 24), 4, b.u(6, 30)), m)
    sky(b)
    for _ in range(n_cams):
        y = b.r.gauss(0, 1.0)
        if b.chance(0.8):
            x, drive = cam_x + b.r.gauss(0, 0.3), True
            z = b.u(1.2, 1.8) if b.chance(0.85) else b.u(2, 3)
            yaw, pitch, roll = b.r.gauss(0, 0.06) if b.chance(0.8) else b.r.gauss(0, 0.4), b.r.gauss(-0.02, 0.03), b.r.gauss(0, 0.015)
            f_rel = b.u(0.48, 0.75) if b.chance(0.7) else b.u(0.45, 1.2)
        else:                                           # on the pavement, phone in hand
            s = b.pick((-1, 1))
            x, drive = (right + b.u(0.3, walk)) if s > 0 else (left - b.u(0.3, walk)), False
            y, z = b.u(-5, 40), b.u(1.3, 1.7)
            yaw, pitch, roll, f_rel = b.u(-3.1, 3.1), b.r.gauss(-0.08, 0.12), b.r.gauss(0, 0.08), None
        tgt = (x + math.sin(yaw), y + math.cos(yaw), z + math.tan(pitch))
        b.camera((x, y, z), tgt, roll, f_rel, drive)
    return b.finish('street', n_cams)
