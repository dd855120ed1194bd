"""Procedural meshes: (xyz [V,3], uv [V,2], tri [T,3]) in metres or unit size, z up.

Unit shapes span -0.5..0.5 and are scaled by their instance; composed shapes have real sizes.
"""
import numpy as np


def box():
    """Unit cube; every face has its own four vertices and uv 0..1."""
    v, uv, t = [], [], []
    for axis in range(3):
        for s in (-0.5, 0.5):
            b = len(v)
            for i, j in ((0, 0), (1, 0), (1, 1), (0, 1)):
                p = np.zeros(3)
                p[axis] = s
                o = [k for k in range(3) if k != axis]
                p[o[0]], p[o[1]] = i - 0.5, j - 0.5
                v.append(p)
                uv.append((i, j))
            t += [(b, b + 1, b + 2), (b, b + 2, b + 3)]
    return np.array(v), np.array(uv, float), np.array(t)


def quad():
    """Upright picture in the plane y = 0, facing -y, x and z -0.5..0.5."""
    v = [(-0.5, 0, -0.5), (0.5, 0, -0.5), (0.5, 0, 0.5), (-0.5, 0, 0.5)]
    return np.array(v, float), np.array([(0, 0), (1, 0), (1, 1), (0, 1)],
                                        float), np.array([(0, 1, 2), (0, 2, 3)])


def lathe(profile, n=20, cap=True):
    """Turn (radius, z) points about z."""
    prof = [(0.0, profile[0][1])] * cap + list(profile) + [(0.0, profile[-1][1])] * cap
    a = np.linspace(0, 2 * np.pi, n + 1)
    v = np.array([(r * np.cos(x), r * np.sin(x), z) for r, z in prof for x in a])
    uv = np.array([(x / (2 * np.pi), k / max(1, len(prof) - 1)) for k in range(len(prof)) for x in a])
    t = []
    for k in range(len(prof) - 1):
        for i in range(n):
            p, q = k * (n + 1) + i, (k + 1) * (n + 1) + i
            if prof[k][0] > 0:
                t.append((p, p + 1, q + 1))
            if prof[k + 1][0] > 0:
                t.append((p, q + 1, q))
    return v, uv, np.array(t)


def merge(parts):
    """One mesh of many; uv kept."""
    v, uv, t, n = [], [], [], 0
    for a, b, c in parts:
        v.append(a)
        uv.append(b)
        t.append(c + n)
        n += len(a)
    return np.concatenate(v), np.concatenate(uv), np.concatenate(t)


def placed(mesh, scale, at):
    v, uv, t = mesh
    return v * np.asarray(scale, float) + np.asarray(at, float), uv, t


def foliage(rng, n=140, size=0.16, shape='ball'):
    """A crown of leaf patches, unit size: crossed small quads on and in an ellipsoid or on the ground."""
    parts = []
    for _ in range(n):
        d = rng.normal(size=3)
        d /= np.linalg.norm(d)
        p = d * 0.5 * rng.uniform(0.35, 1.0) ** 0.4
        a, b = rng.normal(size=3), rng.normal(size=3)
        a /= np.linalg.norm(a)
        b = b - a * (a @ b)
        b /= np.linalg.norm(b)
        s = size * rng.uniform(0.5, 1.2)
        q = np.array([p - a * s - b * s * .6, p + a * s - b * s * .6, p + a * s + b * s * .6,
                      p - a * s + b * s * .6])
        parts.append((q * [1, 1, 1 if shape == 'ball' else 0.6],
                      np.array([(0, 0), (1, 0), (1, 1), (0, 1)], float),
                      np.array([(0, 1, 2), (0, 2, 3)])))
    return merge(parts)


def blob(rng, n=14, rough=0.25):
    """A lumpy ball: bags, stones, cushions, crumpled cloth."""
    v, uv, t = lathe([(0.5 * np.sin(a), -0.5 * np.cos(a)) for a in np.linspace(0.15, np.pi - 0.15, n)], 18)
    k = rng.normal(size=(6, 3)) * 4
    ph = rng.uniform(0, 6.28, 6)
    f = 1 + rough * np.mean([np.sin(v @ k[i] + ph[i]) for i in range(6)], 0)
    return v * f[:, None], uv, t


def cable(rng, n=26, r=0.003, length=0.8):
    """A cable lying on z = 0: a square tube along a wandering line."""
    ang, p, pts = rng.uniform(0, 6.28), np.zeros(2), []
    for _ in range(n):
        pts.append(p.copy())
        ang += rng.normal() * 0.45
        p = p + length / n * np.array([np.cos(ang), np.sin(ang)])
    pts = np.array(pts) - np.mean(pts, 0)
    v, t = [], []
    for i, q in enumerate(pts):
        d = pts[min(i + 1, n - 1)] - pts[max(i - 1, 0)]
        s = np.array([-d[1], d[0]]) / (np.linalg.norm(d) + 1e-9) * r
        v += [(q[0] + s[0], q[1] + s[1], r), (q[0], q[1], 2.2 * r), (q[0] - s[0], q[1] - s[1], r)]
        if i:
            a, b = 3 * (i - 1), 3 * i
            t += [(a, a + 1, b + 1), (a, b + 1, b), (a + 1, a + 2, b + 2), (a + 1, b + 2, b + 1)]
    return np.array(v), np.zeros((len(v), 2)), np.array(t)


def vessel(rng, kind):
    """Cups, bottles, bowls, jars by turning a profile; real sizes, standing on z = 0."""
    if kind == 'cup':
        r, h = rng.uniform(0.035, 0.045), rng.uniform(0.08, 0.11)
        body = lathe([(r * 0.85, 0), (r, h), (r * 0.92, h), (r * 0.8, 0.012)], 20)
        a = np.linspace(-1.4, 1.4, 7)
        ring = [placed(box(), (0.012, 0.008, 0.016), (r + 0.02 * np.cos(x), 0, h * 0.5 + 0.03 * np.sin(x)))
                for x in a]
        return merge([body] + ring)
    if kind == 'bottle':
        r, h = rng.uniform(0.03, 0.045), rng.uniform(0.2, 0.32)
        return lathe([(r, 0), (r, h * 0.62), (r * 0.4, h * 0.78), (r * 0.36, h), (0.001, h)], 16)
    if kind == 'bowl':
        r = rng.uniform(0.07, 0.16)
        return lathe([(r * 0.4, 0), (r * 0.8, r * 0.25), (r, r * 0.6), (r * 0.95, r * 0.6), (r * 0.3, 0.015)],
                     22)
    r, h = rng.uniform(0.035, 0.06), rng.uniform(0.08, 0.2)
    return lathe([(r, 0), (r, h * 0.85), (r * 0.9, h * 0.86), (r * 0.9, h)], 18)


def tanker():
    """Tank trailer: 11 m along y, 2.5 m wide, 3.6 m high: elliptic tank, frame, rails, wheels, ladder."""
    tank = lathe([(0.3, -0.5), (0.46, -0.485), (0.5, -0.46), (0.5, 0.46), (0.46, 0.485), (0.3, 0.5)], 32)
    v, uv, t = tank
    v = np.stack([v[:, 0] * 2.5, v[:, 2] * 10.5, v[:, 1] * 2.1 + 2.45], 1)
    uv = np.stack([uv[:, 1], uv[:, 0]], 1)
    parts = [(v, uv, t), placed(box(), (0.9, 10.4, 0.3), (0, 0, 1.2))]
    wheel = lathe([(0.5, -0.5), (0.5, 0.5)], 20)
    wv = np.stack([wheel[0][:, 2], wheel[0][:, 0], wheel[0][:, 1]], 1)
    for y in (2.2, 3.5, 4.8, -4.4):
        for x in (-1.05, 1.05):
            parts.append(placed((wv, wheel[1], wheel[2]), (0.35, 1.0, 1.0), (x, y, 0.5)))
    rail = np.stack([wheel[0][:, 0], wheel[0][:, 2], wheel[0][:, 1]], 1)
    for x in (-1.2, 1.2):
        parts.append(placed((rail, wheel[1], wheel[2]), (0.25, 6.5, 0.25), (x, 0.2, 1.25)))
        parts.append(placed(box(), (0.05, 3.5, 0.5), (x, -2.0, 0.75)))
    for k in range(9):
        parts.append(placed(box(), (0.5, 0.04, 0.04), (0, 5.35, 0.9 + 0.3 * k)))
    parts += [placed(box(), (0.05, 0.05, 2.9), (s, 5.35, 2.2)) for s in (-0.25, 0.25)]
    parts += [placed(box(), (2.5, 0.1, 0.25), (0, 5.4, 0.75)), placed(box(), (0.8, 9, 0.08), (0, 0, 3.52))]
    return merge(parts)


def lorry():
    """Flatbed or box lorry chassis with cab and wheels, 8 m along y, front to -y; load is added by the scene.
    """
    wheel = lathe([(0.5, -0.5), (0.5, 0.5)], 20)
    wv = np.stack([wheel[0][:, 2], wheel[0][:, 0], wheel[0][:, 1]], 1)
    parts = [placed(box(), (2.3, 2.0, 2.0), (0, -3.0, 1.75)), placed(box(), (2.1, 1.6, 0.6), (0, -2.9, 2.9)),
             placed(box(), (0.9, 7.8, 0.3), (0, 0.1, 0.85)), placed(box(), (2.4, 0.12, 0.25), (0, 4.0, 0.6)),
             placed(box(), (2.35, 0.2, 0.4), (0, -4.05, 0.6))]
    for y in (-3.0, 2.4, 3.5):
        for x in (-1.0, 1.0):
            parts.append(placed((wv, wheel[1], wheel[2]), (0.32, 1.0, 1.0), (x, y, 0.5)))
    return merge(parts)


CARS = {    # side outline of body and of glasshouse (y, z), front at -y
    'sedan': ([(-2.2, .3), (-2.25, .62), (-2.1, .75), (-1.05, .92), (1.5, .97), (2.2, .93), (2.25, .55),
               (2.2, .3)], [(-1.15, .9), (-.45, 1.38), (.75, 1.42), (1.55, .95)]),
    'hatch': ([(-1.9, .3), (-1.95, .65), (-1.8, .8), (-1.0, .95), (1.8, 1.0), (1.95, .7), (1.9, .3)],
              [(-1.15, .93), (-.5, 1.43), (1.1, 1.47), (1.85, .98)]),
    'estate': ([(-2.25, .32), (-2.3, .65), (-2.1, .8), (-1.1, .95), (2.25, 1.0), (2.3, .6), (2.25, .32)],
               [(-1.2, .93), (-.55, 1.45), (1.75, 1.45), (2.22, .98)]),
    'suv': ([(-2.25, .42), (-2.3, .85), (-2.1, 1.0), (-1.1, 1.12), (2.25, 1.15), (2.3, .7), (2.25, .42)],
            [(-1.2, 1.1), (-.6, 1.68), (1.9, 1.72), (2.22, 1.12)]),
    'van': ([(-2.6, .35), (-2.65, .85), (-2.5, 1.1), (-2.0, 1.25), (2.6, 2.2), (2.65, .7), (2.6, .35)],
            [(-2.05, 1.2), (-1.3, 2.1), (2.5, 2.25), (2.58, 1.3)]),
}


def prism(outline, w0, w1, z0, z1):
    """An outline (y, z) of a thing 2 w0 wide at height z0 and 2 w1 at z1."""
    o = np.array(outline)
    w = w0 + (w1 - w0) * np.clip((o[:, 1] - z0) / (z1 - z0), 0, 1)
    v = np.concatenate([np.stack([s * w, o[:, 0], o[:, 1]], 1) for s in (-1, 1)])
    n, t = len(o), []
    for i in range(1, n - 1):
        t += [(0, i, i + 1), (n, n + i, n + i + 1)]
    for i in range(n):
        j = (i + 1) % n
        t += [(i, j, n + j), (i, n + j, n + i)]
    return v, v[:, 1:] * 0.25, np.array(t)


def car(kind):
    """(paint, glass, dark) meshes of a plain car, standing on z = 0, front to -y."""
    body, house = CARS[kind]
    half, top = (0.88, 0.7) if kind != 'van' else (0.98, 0.86), max(z for _, z in house)
    sill = max(z for _, z in body if z < 1.3)
    paint = [prism(body, half[0], half[0] * 0.97, 0.3, sill)]
    inner = [(y * 0.985, z - 0.012) for y, z in house]
    roof = [(house[1][0] + 0.12, top - 0.06), (house[1][0] + 0.2, top + 0.012),
            (house[2][0] - 0.05, top + 0.012), (house[2][0] + 0.03, top - 0.06)]
    paint.append(prism(roof, half[1] + 0.02, half[1] + 0.01, top - 0.06, top))
    y0, y1, y2, y3 = house[0][0], house[1][0], house[2][0], house[3][0]
    for y, e in ((y1, y0), ((y1 + y2) * 0.5, (y0 + y3) * 0.5 + 0.1), (y2, y3)):      # pillars
        for s in (-1, 1):
            post = placed(box(), (0.06, 0.08, 1.0), (0, 0, 0.5))[0]
            z0 = house[0][1]
            post = np.stack([post[:, 0] + s * (half[0] * 0.96 + (half[1] - half[0] * 0.96) * post[:, 2]),
                             post[:, 1] + e + (y - e) * post[:, 2], z0 + (top - z0) * post[:, 2]], 1)
            paint.append((post, *box()[1:]))
    glass = [prism(inner, half[0] * 0.95, half[1] - 0.02, house[0][1], top)]
    wheel = lathe([(0.25, -0.5), (0.46, -0.5), (0.5, -0.4), (0.5, 0.4), (0.46, 0.5), (0.25, 0.5)], 16)
    wv = np.stack([wheel[0][:, 2], wheel[0][:, 0], wheel[0][:, 1]], 1)
    axle = max(y for y, _ in body) * 0.62
    r = 0.32 if kind in ('sedan', 'hatch', 'estate') else 0.37
    dark = [placed((wv, wheel[1], wheel[2]), (0.21, 2 * r, 2 * r), (x, y, r)) for x in (-.8, .8)
            for y in (-axle, axle)]
    dark += [placed(box(), (1.5, 0.06, 0.22), (0, min(y for y, _ in body) - 0.01, 0.5)),
             placed(box(), (1.6, 2 * abs(body[0][0]) - 0.6, 0.12), (0, 0, 0.3))]
    return merge(paint), merge(glass), merge(dark)


def sheet(height, n=28):
    """A unit sheet in x and y that lies on z = 0, lifted by height(x, y) -> metres for arrays of places."""
    a = np.linspace(-0.5, 0.5, n)
    x, y = (g.reshape(-1) for g in np.meshgrid(a, a))
    z = height(x, y)
    i = (np.arange(n - 1)[:, None] * n + np.arange(n - 1)[None]).reshape(-1)
    t = np.concatenate([np.stack([i, i + 1, i + n + 1], 1), np.stack([i, i + n + 1, i + n], 1)])
    return np.stack([x, y, z - z.min()], 1), np.stack([x + 0.5, y + 0.5], 1), t


def folded(rng):
    """Cloth: soft folds that run along y, wander and fade."""
    waves = [(rng.uniform(2, 9), rng.normal(0, 1.2), rng.uniform(0, 6.28), rng.uniform(0.2, 1.0)) for _ in range(4)]

    def height(x, y):
        z = sum(a / k * np.sin(6.28 * k * x + c * np.sin(3 * y + p) + p) for k, c, p, a in waves)
        return 0.25 * z * (0.6 + 0.4 * np.sin(2 * y + waves[0][2]))
    return sheet(height)


def creased(rng):
    """Paper that was folded a few times and crumpled: flat pieces that meet in straight creases."""
    folds = [(rng.uniform(0, 3.14), rng.uniform(-0.4, 0.4), rng.uniform(0.03, 0.25)) for _ in range(5)]
    return sheet(lambda x, y: sum(s * np.abs(x * np.cos(a) + y * np.sin(a) - c) for a, c, s in folds) * 0.4)


def make_late(seed=4):
    """name -> mesh of what has its place after all others, so that their numbers stay as they were."""
    rng, out = np.random.default_rng(seed), {}
    for k in range(4):
        out[f'folded{k}'], out[f'creased{k}'] = folded(rng), creased(rng)
    return out


def make_all(seed=2):
    """name -> mesh; names with a number are variants."""
    rng = np.random.default_rng(seed)
    out = {'box': box(), 'quad': quad(), 'cyl': lathe([(0.5, -0.5), (0.5, 0.5)], 24),
           'cone': lathe([(0.5, -0.5), (0.02, 0.5)], 20),
           'shade': lathe([(0.5, -0.5), (0.3, 0.5)], 20, cap=False), 'tanker': tanker(), 'lorry': lorry(),
           'sphere': lathe([(0.5 * np.sin(a), -0.5 * np.cos(a)) for a in np.linspace(0.05, np.pi - 0.05, 12)],
                           18),
           'wedge': (np.array([(-.5, -.5, -.5), (.5, -.5, -.5), (.5, .5, -.5), (-.5, .5, -.5), (-.5, 0, .5),
                               (.5, 0, .5)]),
                     np.array([(0, 0), (1, 0), (1, 1), (0, 1), (0, .5), (1, .5)], float),
                     np.array([(0, 1, 5), (0, 5, 4), (2, 3, 4), (2, 4, 5), (0, 4, 3), (1, 2, 5)]))}
    for k in range(4):
        out[f'crown{k}'] = foliage(rng, 320, 0.11)
        out[f'bush{k}'] = foliage(rng, 120, 0.16)
        out[f'blob{k}'] = blob(rng, rough=0.15 + 0.12 * k)
        out[f'cable{k}'] = cable(rng)
        for kind in ('cup', 'bottle', 'bowl', 'jar'):
            out[f'{kind}{k}'] = vessel(rng, kind)
    for kind in CARS:
        for part, mesh in zip(('paint', 'glass', 'dark'), car(kind)):
            out[f'{kind}_{part}'] = mesh
    return out
