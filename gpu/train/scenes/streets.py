"""What streets are made of: vehicles, houses, trees, bridges, markings, sky. roads.py puts them together."""
import math

from .build import SUN, VEHICLE, Frame, Mat


def vehicle(b, f, big=0.2, kind=None):
    """A vehicle standing on a frame, front to local -y: (its number, width, length before and behind the
    frame).
    """
    k = b.r.random()
    kind = kind or ('tanker' if k < big * 0.3 else 'bus' if k < big * 0.45 else 'lorry' if k < big
                    else 'bike' if k < big + 0.03 else 'car')
    with b.thing(VEHICLE) as n:
        pack = b.meshes('vehicle', *{'bus': ('bus',), 'lorry': ('truck', 'van'), 'bike': ('motorbike',),
                                     'car': ('car',)}.get(kind, ('none',)))
        if pack and b.chance({'bus': 0.8, 'lorry': 0.4, 'car': 0.7}.get(kind, 1.0)):
            m = b.pick(pack)
            b.asset(m, f, 0, 0, -m.lo[2], recolour=0.7)
            size = m.size[0], -m.lo[1], m.hi[1]
        else:
            size = {'tanker': tanker, 'lorry': lorry, 'bus': bus}.get(kind, car)(b, f)
        if kind == 'car' and b.chance(0.5):             # brake lights, plate
            for s in (-1, 1):
                b.box(f, (s * size[0] * 0.36, size[2] - 0.02, 0.8), (0.25, 0.08, 0.14),
                      Mat(-1, (0.9, 0.05, 0.03), 0.4, emit=b.u(0.2, 5)))
            b.box(f, (0, size[2] + 0.01, 0.6), (0.5, 0.02, 0.11), Mat(-1, (0.95, 0.95, 0.9), 0.2))
    return n, *size


def tanker(b, f):
    tank = b.plain('white', b.u(0.4, 0.95)) if b.chance(0.7) else b.plain('any', 0.8)
    b.shape('tanker', f, (0, 3.6, 0), (1, 1, 1), tank)
    tex, _ = b.picture('label', 'cover', 'sign')
    for s in (-1, 1):
        b.quad(f, (s * 1.27, 3.6, 2.6), b.u(2, 6), b.u(0.5, 1.2), tex, yaw=s * math.pi / 2)
        for y in (5.8, 7.1, 8.4, -0.8, -4.0):
            b.shape('wheel', f, (s * 1.06, y, 0.525), (1.05, 1.05, 0.37), b.plain('dark', 0.2),
                    roll=math.pi / 2)
    cab(b, f, -3.2)
    return 2.5, 4.3, 9.2


def cab(b, f, y):
    """A lorry's cab with its centre at y."""
    b.box(f, (0, y, 2.1), (2.45, 2.0, 2.7), b.plain('any', 0.5))
    b.box(f, (0, y + 0.3, 0.7), (2.3, 2.4, 0.6), b.plain('dark', 0.3))
    b.box(f, (0, y - 1.02, 2.5), (2.2, 0.05, 0.9), b.plain('dark', 0.9))
    for s in (-1, 1):
        b.box(f, (s * 1.24, y - 0.3, 2.5), (0.03, 0.9, 0.8), b.plain('dark', 0.9))
        b.box(f, (s * 1.4, y - 0.95, 2.4), (0.2, 0.12, 0.5), b.plain('dark', 0.4))
        b.box(f, (s * 0.9, y - 1.03, 0.95), (0.4, 0.05, 0.25), Mat(-1, (1, 1, 0.9), 0.6, emit=b.u(0, 6)))
    b.box(f, (0, y - 1.03, 1.5), (1.6, 0.04, 0.7), b.plain('dark', 0.5))


def lorry(b, f):
    paint = b.plain('any', 0.4)
    b.shape('lorry', f, (0, 0, 0), (1, 1, 1), paint)
    b.box(f, (0, -4.02, 2.2), (2.1, 0.03, 0.8), b.plain('dark', 0.9))
    for s in (-1, 1):
        for y in (-3.0, 2.4, 3.5):
            b.shape('wheel', f, (s * 1.01, y, 0.525), (1.05, 1.05, 0.36), b.plain('dark', 0.2),
                    roll=math.pi / 2)
    h = b.u(1.9, 2.7)
    if b.chance(0.75):                                  # box or tarpaulin body
        m = b.plain('any', b.u(0.1, 0.4)) if b.chance(0.7) else b.mat('metal', 'fabric', 'stripes')
        if b.chance(0.35):                              # open at the back: dark inside
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
    else:                                               # flat bed with a load
        for _ in range(b.r.randint(1, 4)):
            s = (b.u(0.8, 2.2), b.u(0.8, 2.5), b.u(0.3, 1.6))
            b.box(f, (0, b.u(-1, 3), 1.45 + s[2] / 2), s, b.mat('wood', 'cardboard', 'fabric', 'metal')
                  if b.chance(0.7) else b.plain())
    b.box(f, (0, 1.2, 1.25), (2.5, 5.8, 0.4), b.plain('grey', 0.4))
    tex, _ = b.picture('stripes')
    b.quad(f, (0, 4.13, 0.95), 2.4, 0.3, tex, yaw=math.pi)
    for s in (-1, 1):
        b.box(f, (s * 0.95, 4.08, 0.75), (0.35, 0.06, 0.15), Mat(-1, (0.8, 0.05, 0.03), 0.5, emit=b.u(0, 2)))
    return 2.5, 4.2, 4.2


def bus(b, f):
    """A bus for use without the pack, and beside its three."""
    w, d, h = 2.5, b.u(9.0, 12.5), b.u(2.8, 3.2)
    paint = b.plain('any', 0.5)
    b.box(f, (0, 0, 0.45 + 0.3 * h), (w, d, 0.6 * h - 0.3), paint)
    b.box(f, (0, 0, h + 0.05), (w, d, 0.3), paint)
    b.box(f, (0, 0, 0.78 * h), (w - 0.06, d - 0.06, 0.45 * h), b.plain('dark', 0.9))
    for k in range(int(d / 1.4) + 1):
        b.box(f, (0, (k / int(d / 1.4) - 0.5) * (d - 0.12), 0.78 * h), (w, 0.1, 0.45 * h), paint)
    for s in (-1, 1):
        for y in (-0.32 * d, 0.28 * d):
            b.shape('wheel', f, (s * 1.1, y, 0.48), (0.96, 0.96, 0.32), b.plain('dark', 0.2),
                    roll=math.pi / 2)
        if b.chance(0.5):
            tex, _ = b.picture('poster', 'cover')
            b.quad(f, (s * (w / 2 + 0.01), b.u(-0.1, 0.1) * d, 0.4 * h), 0.5 * d, 0.3 * h, tex,
                   yaw=s * math.pi / 2)
    return w, d / 2, d / 2


def car(b, f):
    """A procedural car: body, glass, wheels."""
    kind = b.r.choices(('sedan', 'hatch', 'estate', 'suv', 'van'), (4, 4, 3, 3, 2))[0]
    sx, sy, sz = b.u(0.94, 1.04), b.u(0.92, 1.06), b.u(0.96, 1.06)
    for part, m in (('paint', b.plain('any', b.u(0.4, 0.9))), ('glass', Mat(-1, (0.04, 0.045, 0.05), 0.9)),
                    ('dark', b.plain('dark', 0.2))):
        b.shape(f'{kind}_{part}', f, (0, 0, 0), (sx, sy, sz), m)
    m = b.cat.by_name[f'{kind}_paint']
    return 1.8 * sx, -m.lo[1] * sy, m.hi[1] * sy


def tree(b, f):
    h, r = b.u(3, 14), b.u(0.25, 0.5)
    pack = b.meshes('outdoor', 'tree')
    if pack and b.chance(0.25):
        m = b.pick(pack)
        s = h / m.size[2] if m.size[2] > 0.5 else 1.0
        b.asset(m, f, 0, 0, -m.lo[2] * s, yaw=b.u(0, 6.28), scale=s, recolour=0.3)
        return
    if b.chance(0.12):                                  # bare
        b.shape(f'twigs{b.r.randint(0, 2)}', f, (0, 0, 0), (h * b.u(0.7, 1.2), h * b.u(0.7, 1.2), h),
                b.plain('dark', 0.0), yaw=b.u(0, 6.28))
        return
    bark = b.plain('warm', 0.0) if b.chance(0.4) else b.plain('dark', 0.0)
    b.shape('cyl', f, (0, 0, h * 0.3), (r * h * 0.1, r * h * 0.1, h * 0.62), bark)
    leaf = b.mat('foliage', 'grass', tint=0.1)
    if b.chance(0.2):
        b.shape('cone', f, (0, 0, h * 0.55), (h * 0.35, h * 0.35, h * 0.9), leaf)
    for _ in range(b.r.randint(2, 5)):
        s = h * b.u(0.35, 0.7)
        b.shape(f'crown{b.r.randint(0, 3)}', f, (b.r.gauss(0, 0.1) * h, b.r.gauss(0, 0.1) * h,
                                                 h * b.u(0.5, 0.85)), (s, s, s * b.u(0.6, 0.9)), leaf,
                yaw=b.u(0, 6.28), box_uv=False)


def house(b, f, w, d, h):
    """A building with its front at local y = 0, standing behind it."""
    i, metres, aspect = b.pick(b.tex.get('facade') or b.tex['brick'])
    kind = b.r.random()
    m = Mat(i, tuple(b.u(0.7, 1.1) for _ in range(3)), 0.15, (metres * b.u(0.7, 1.3),) * 2)
    if kind < 0.2:
        m = b.mat('brick', 'concrete', 'stone', 'wall')
    b.box(f, (0, d / 2, h / 2 - 0.1), (w, d, h), m)
    if b.chance(0.35):                                  # shops below
        i, _, _ = b.pick(b.tex['shopfront'])
        n = max(1, int(w / 5))
        for k in range(n):
            b.quad(f, ((k + 0.5) / n * w - w / 2, -0.03, 1.6), w / n - 0.4, 3.2, i, gloss=b.u(0.2, 0.9))
    if kind < 0.35 or b.chance(0.3):                    # real windows and doors in the front
        n, st = max(1, int(w / b.u(2, 4))), max(1, int(h / b.u(2.8, 3.6)))
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
    # the last: black shadows
    amb = b.u(0.8, 1.3) if not hard else b.u(0.25, 0.8) if b.chance(0.7) else b.u(0.08, 0.25)
    b.scene['amb_up'] = (amb * 0.85, amb * 0.95, amb * blue)
    b.scene['amb_dn'] = tuple(amb * b.u(0.15, 0.45) * (1.0 if not hard else 1.2) for _ in range(3))
    haze = b.u(0.9, 1.4)
    b.scene['fog_col'] = (haze, haze, haze * 1.05)
    b.scene['fog'] = 0.0 if b.chance(0.4) else math.exp(b.u(math.log(0.0008), math.log(0.01)))
    b.scene['sky_gain'] = b.u(1.0, 4.0) if hard else b.u(1.0, 2.0)
    if hard and b.chance(0.25):
        b.scene['sky_gain'] *= b.u(1.5, 3.0)            # burnt out
    if pano and b.chance(0.4):
        b.scene['sky_tex'] = b.pick(pano)[0]
    if 'photo_panorama' in b.tex:
        b.scene['env_tex'] = b.pick(b.tex['photo_panorama'])[0]
    b.scene['env_gain'] = b.u(0.6, 1.5)
    if s > 0.1:
        b.light(SUN, direction=d, col=(s, s * b.u(0.85, 1.0), s * b.u(0.7, 0.95)), soft=1.0,
                shadow=((0, 18, 2), 26))
