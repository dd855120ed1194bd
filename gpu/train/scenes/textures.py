"""Procedural textures: sRGB uint8 [256, 256, 3], each from its own seed.

They stand beside the asset pack's pictures, and replace them where the pack is absent. Every function
takes a numpy Generator and returns one picture; KINDS says how many of each are made, the texture class
they join and the width of one tile in metres.
"""
import numpy as np

N = 256


def noise(rng, octaves=5, first=2, fall=0.55, stretch=(1, 1)):
    """Tileable value noise, 0..1, [N, N]."""
    out, amp, total = np.zeros((N, N), np.float32), 1.0, 0.0
    for k in range(octaves):
        ny, nx = min(N, first * stretch[0] << k), min(N, first * stretch[1] << k)
        g = rng.random((ny, nx), dtype=np.float32)
        y, x = np.arange(N) * ny / N, np.arange(N) * nx / N
        y0, x0 = y.astype(int), x.astype(int)
        ay, ax = (y - y0)[:, None], (x - x0)[None, :]
        ay, ax = ay * ay * (3 - 2 * ay), ax * ax * (3 - 2 * ax)
        y1, x1 = (y0 + 1) % ny, (x0 + 1) % nx
        out += amp * ((g[y0][:, x0] * (1 - ax) + g[y0][:, x1] * ax) * (1 - ay)
                      + (g[y1][:, x0] * (1 - ax) + g[y1][:, x1] * ax) * ay)
        total += amp
        amp *= fall
    return out / total


def colour(rng, lo=0.15, hi=0.9, sat=0.35):
    """A random colour, 0..1; sat is the largest distance of a channel from grey."""
    g = rng.uniform(lo, hi)
    return np.clip(g + rng.uniform(-sat, sat, 3), 0.02, 0.98).astype(np.float32)


def paint(mask, a, b):
    """Blend colour a to b by mask [N, N]; result [N, N, 3]."""
    m = np.clip(mask, 0, 1)[..., None]
    return a * (1 - m) + b * m


def to8(img):
    return (np.clip(img, 0, 1) * 255 + 0.5).astype(np.uint8)


def mottled(rng):
    c = colour(rng)
    return to8(paint(noise(rng, 6, 4), c * rng.uniform(0.6, 0.9), np.minimum(c * 1.2, 1)))


def earth(rng):
    c = colour(rng, 0.2, 0.6, 0.06) * [1.15, 1.0, 0.75]
    return to8(paint(noise(rng, 6, 4), c * rng.uniform(0.5, 0.9), np.minimum(c * 1.2, 1)))


def cement(rng):
    c = colour(rng, 0.3, 0.8, 0.03)
    return to8(paint(noise(rng, 6, 3), c * rng.uniform(0.7, 0.95), np.minimum(c * 1.1, 1)))


def granite(rng):
    base = paint(noise(rng, 3, 32, 0.9), colour(rng, 0.02, 0.6, 0.1), colour(rng, 0.1, 0.9, 0.15))
    spots = rng.random((N, N)) < 0.04
    base[spots] = colour(rng, 0.5, 1.0, 0.1)
    return to8(base)


def carpet(rng):
    """Stripes along x with dashes, as office carpet tiles have; every other one quiet."""
    n, base, quiet = int(rng.integers(12, 48)), colour(rng, 0.1, 0.6, 0.08), rng.random() < 0.6
    cols = np.stack([base + rng.normal() * 0.05 if quiet else colour(rng, 0.1, 0.6, 0.1) for _ in range(4)])
    rows = cols[rng.integers(0, 4, n)]
    img = rows[(np.arange(N) * n // N)][:, None, :].repeat(N, 1)
    img = img * (0.75 + 0.5 * noise(rng, 3, 16, 0.9, (1, 4)))[..., None]
    return to8(img)


def weave(rng):
    x = np.arange(N)
    f = int(rng.integers(24, 64))
    w = 0.5 + 0.25 * np.sin(2 * np.pi * f * x / N)[None] + 0.25 * np.sin(2 * np.pi * f * x / N)[:, None]
    c = colour(rng)
    return to8(paint(w * 0.6 + 0.4 * noise(rng, 4, 8), c * 0.6, c))


def planks(rng):
    n = int(rng.integers(3, 9))
    c0, c1 = colour(rng, 0.2, 0.6, 0.05) * [1.15, 0.9, 0.65], colour(rng, 0.35, 0.85, 0.05) * [1.1, 0.9, 0.7]
    tone = rng.random(n)[np.arange(N) * n // N]
    grain = noise(rng, 5, 2, 0.7, (16, 1))
    img = paint(0.35 * tone[:, None] + 0.65 * grain, c0, c1)
    img[(np.arange(N) * n % N) < n * 2] *= 0.55
    return to8(img)


def wood(rng):
    c0, c1 = colour(rng, 0.15, 0.6, 0.04) * [1.2, 0.9, 0.6], colour(rng, 0.3, 0.8, 0.04) * [1.15, 0.9, 0.65]
    warp = noise(rng, 4, 2, 0.5, (1, 1))
    rings = 0.5 + 0.5 * np.sin((np.arange(N)[:, None] / N * 8 + warp * rng.uniform(2, 6)) * 2 * np.pi)
    k = rng.uniform(0.1, 0.45)
    return to8(paint(k * rings + (1 - k) * noise(rng, 4, 4, 0.7, (16, 1)), c0, c1))


def tiles(rng):
    n = int(rng.choice([2, 4, 8, 16]))
    c, gap = colour(rng, 0.3, 0.95, 0.2), colour(rng, 0.3, 0.8, 0.04)
    i = np.arange(N) * n // N
    tone = rng.random((n, n))[i][:, i]
    img = paint(tone * rng.uniform(0.1, 1.0), c, np.clip(c * rng.uniform(0.6, 1.2), 0, 1))
    img *= (0.9 + 0.2 * noise(rng, 4, 8))[..., None]
    line = (np.arange(N) % (N // n)) < max(1, N // n // 24)
    img[line] = gap
    img[:, line] = gap
    return to8(img)


def bricks(rng):
    rows = int(rng.choice([8, 12, 16]))
    cols = rows // 2
    c, gap = colour(rng, 0.2, 0.6, 0.05) * [1.3, 0.8, 0.65], colour(rng, 0.4, 0.8, 0.03)
    y = np.arange(N) * rows // N
    x = (np.arange(N)[None, :] + (y % 2)[:, None] * (N // cols // 2)) % N
    tone = rng.random((rows, cols))[y[:, None], x * cols // N]
    img = paint(tone, c * 0.6, np.clip(c * 1.2, 0, 1)) * (0.8 + 0.4 * noise(rng, 4, 16))[..., None]
    img[(np.arange(N) % (N // rows)) < 2] = gap
    img[(x % (N // cols)) < 2] = gap
    return to8(img)


def text_block(rng, img, x0, y0, x1, y1, ink, line):
    """Rows of word-like dashes."""
    y = y0
    while y + line < y1:
        x, end = x0, x1 - rng.integers(0, max(1, (x1 - x0) // 3))
        while x < end:
            w = int(rng.integers(line, line * 5))
            img[y:y + max(1, line // 2), x:min(x + w, end)] = ink
            x += w + max(1, line // 2)
        y += line


def paper(rng):
    """A page: white, text, perhaps a picture and a headline."""
    img = np.ones((N, N, 3), np.float32) * rng.uniform(0.82, 1.0)
    ink = colour(rng, 0.0, 0.3, 0.1)
    if rng.random() < 0.5:
        text_block(rng, img, 20, 20, 236, 50, ink, int(rng.integers(12, 22)))
    y = int(rng.integers(40, 120))
    if rng.random() < 0.6:
        img[60:y + 70, 24:int(rng.integers(90, 232))] = paint(noise(rng, 5, 3), colour(rng),
                                                              colour(rng))[60:y + 70, 24:25]
    text_block(rng, img, 20, y, 236, 240, ink, int(rng.integers(4, 10)))
    return to8(img)


def cover(rng):
    """A book cover, leaflet or packet: bands, blocks and large letters."""
    img = np.ones((N, N, 3), np.float32) * colour(rng, 0.1, 0.9, 0.5)
    for _ in range(int(rng.integers(2, 7))):
        x0, y0 = rng.integers(0, 220, 2)
        img[y0:y0 + rng.integers(10, 120), x0:x0 + rng.integers(20, 240)] = colour(rng, 0.1, 0.9, 0.5)
    if rng.random() < 0.6:
        a, b = np.sort(rng.integers(0, N, 2))
        img[a:b] = paint(noise(rng, 5, 3), colour(rng, sat=0.4), colour(rng, sat=0.4))[a:b]
    text_block(rng, img, 20, int(rng.integers(10, 120)), 236, 240, colour(rng, 0, 1, 0.4),
               int(rng.integers(10, 40)))
    return to8(img)


def screen(rng):
    """A monitor's picture: windows with text."""
    img = paint(noise(rng, 4, 2), colour(rng, 0.05, 0.5, 0.3), colour(rng, 0.2, 0.9, 0.3))
    for _ in range(int(rng.integers(1, 5))):
        x0, y0 = rng.integers(0, 150, 2)
        x1, y1 = x0 + rng.integers(60, 200), y0 + rng.integers(50, 180)
        dark = rng.random() < 0.4
        img[y0:y1, x0:x1] = 0.08 if dark else 0.95
        img[y0:y0 + 8, x0:x1] = colour(rng)
        text_block(rng, img, x0 + 5, y0 + 14, min(x1, N) - 5, min(y1, N) - 4,
                   colour(rng, 0.6, 1) if dark else colour(rng, 0, 0.4), 5)
    return to8(img)


def keys(rng):
    """Keyboard: 15 by 5 keys."""
    case, cap = (colour(rng, 0.02, 0.2, 0.02),) * 2 if rng.random() < 0.5 else (colour(rng, 0.6, 0.9, 0.04),
                                                                                ) * 2
    cap = np.clip(cap * rng.uniform(1.05, 1.6) + 0.03, 0, 1)
    img = np.ones((N, N, 3), np.float32) * case * 0.6
    for r in range(6):
        for c in range(17):
            y, x = 8 + r * 40, 6 + c * 14 + (r % 3) * 2
            img[y:y + 33, x:x + 11] = cap
            img[y + 8:y + 14, x + 3:x + 6] = 1 - np.round(cap)
    return to8(img)


def spines(rng):
    """A row of book or file spines."""
    img, x = np.zeros((N, N, 3), np.float32), 0
    while x < N:
        w, top = int(rng.integers(6, 26)), int(rng.integers(0, 60))
        c = colour(rng, 0.1, 0.9, 0.4)
        img[:, x:x + w] = 0.04
        img[top:, x:x + w - 1] = c
        for _ in range(int(rng.integers(0, 4))):
            y = int(rng.integers(top, N))
            img[y:y + rng.integers(3, 30), x + 1:x + w - 2] = colour(rng, 0.1, 0.95, 0.4)
        x += w
    return to8(img)


def facade(rng):
    """Storeys with windows."""
    ny, nx = int(rng.integers(3, 7)), int(rng.integers(3, 9))
    wall = colour(rng, 0.25, 0.9, 0.12)
    img = wall * (0.85 + 0.3 * noise(rng, 5, 8))[..., None]
    hh, ww = N // ny, N // nx
    wy, wx = int(hh * rng.uniform(0.4, 0.8)), int(ww * rng.uniform(0.4, 0.9))
    frame = colour(rng, 0.1, 0.95, 0.08)
    for j in range(ny):
        for i in range(nx):
            y, x = j * hh + (hh - wy) // 2, i * ww + (ww - wx) // 2
            img[y - 2:y + wy + 2, x - 2:x + wx + 2] = frame
            c = colour(rng, 0.03, 0.35, 0.06)
            img[y:y + wy, x:x + wx] = c
            img[y:y + int(wy * rng.uniform(0, 0.6)), x:x + wx] = np.clip(c * 2 + 0.1, 0, 1)
            img[y:y + wy, x + wx // 2:x + wx // 2 + 2] = frame
    return to8(img)


def leaves(rng):
    c0, c1 = colour(rng, 0.02, 0.2, 0.02) * [0.8, 1.2, 0.5], colour(rng, 0.25, 0.6, 0.05) * [0.9, 1.15, 0.4]
    return to8(paint(noise(rng, 4, 24, 0.9) * 1.6 - 0.3, c0, c1))


def asphalt(rng):
    g = rng.uniform(0.2, 0.55)
    return to8((g * (0.7 + 0.4 * noise(rng, 3, 64, 0.9) + 0.25 * noise(rng, 3, 2)))[..., None] * [1, 1, 1.02])


def stripes(rng):
    n = int(rng.integers(2, 14))
    m = (np.arange(N) * n // N) % 2
    img = paint(np.broadcast_to(m[:, None], (N, N)).astype(np.float32), colour(rng, sat=0.4),
                colour(rng, sat=0.4))
    return to8(np.swapaxes(img, 0, 1) if rng.random() < 0.5 else img)


def panel(rng):
    """Acoustic ceiling panel or perforated metal."""
    img = np.ones((N, N, 3), np.float32) * colour(rng, 0.6, 0.98, 0.03)
    img[rng.random((N, N)) < 0.05] *= 0.7
    img[:3], img[:, :3] = img[:3] * 0.6, img[:, :3] * 0.6
    return to8(img)


def cardboard(rng):
    """A carton's side: brown, a seam of tape, print or a label."""
    c = colour(rng, 0.45, 0.65, 0.02) * [1.15, 0.95, 0.7]
    img = paint(noise(rng, 4, 3, 0.6, (1, 8)), c * 0.9, c)
    y = int(rng.integers(100, 150))
    img[y:y + int(rng.integers(10, 30))] = c * 0.8 if rng.random() < 0.5 else colour(rng, 0.5, 0.9, 0.2)
    if rng.random() < 0.6:
        x0, y0 = rng.integers(10, 150, 2)
        img[y0:y0 + 60, x0:x0 + 90] = rng.uniform(0.85, 0.98)
        text_block(rng, img, int(x0) + 5, int(y0) + 6, int(x0) + 85, int(y0) + 56, colour(rng, 0, 0.2, 0.05),
                   7)
    if rng.random() < 0.5:
        text_block(rng, img, 20, int(rng.integers(160, 200)), 236, 250, c * 0.35, int(rng.integers(10, 26)))
    return to8(img)


def pegboard(rng):
    n, c = int(rng.choice([16, 32])), colour(rng, 0.4, 0.9, 0.1)
    d = ((np.arange(N) * n / N) % 1 - 0.5) ** 2
    hole = (d[:, None] + d[None]) < 0.02
    img = np.ones((N, N, 3), np.float32) * c
    img[hole] = c * 0.15
    return to8(img)


def rug(rng):
    """A woven rug: borders, and figures mirrored both ways."""
    q = (noise(rng, 3, 6, 0.8) + 0.3 * noise(rng, 2, 24))[:128, :128]
    q = np.concatenate([q, q[::-1]], 0)
    q = np.concatenate([q, q[:, ::-1]], 1)
    cols = np.stack([colour(rng, 0.05, 0.8, 0.25) for _ in range(5)])
    img = cols[np.clip(((q - q.min()) / (np.ptp(q) + 1e-6) * 5).astype(int), 0, 4)]
    e = np.minimum(np.arange(N), N - 1 - np.arange(N))
    edge = np.minimum(e[:, None], e[None])
    for a, b in ((0, 8), (18, 24), (36, 40)):
        img[(edge >= a) & (edge < b)] = cols[int(rng.integers(5))]
    return to8(img * (0.85 + 0.3 * noise(rng, 2, 64, 0.9))[..., None])


def terrazzo(rng):
    img = np.ones((N, N, 3), np.float32) * colour(rng, 0.55, 0.9, 0.05)
    for f in (24, 40):
        chips = noise(rng, 2, f, 0.5)
        img[chips > 0.72] = colour(rng, 0.15, 0.9, 0.15)
        img[chips < 0.24] = colour(rng, 0.15, 0.9, 0.15)
    return to8(img)


def shopfront(rng):
    """Glass with dark inside and lit goods, a door, a sign above."""
    img = np.ones((N, N, 3), np.float32) * colour(rng, 0.1, 0.8, 0.25)
    dark = colour(rng, 0.02, 0.2, 0.03)
    n = int(rng.integers(2, 5))
    for k in range(n):
        x0, x1 = k * N // n + 5, (k + 1) * N // n - 5
        img[80:238, x0:x1] = paint(noise(rng, 4, 3), dark, np.clip(dark * 3 + 0.1, 0, 1))[80:238, x0:x1]
        for _ in range(int(rng.integers(2, 10))):
            x, y = int(rng.integers(x0, max(x0 + 1, x1 - 10))), int(rng.integers(110, 215))
            img[y:y + int(rng.integers(6, 30)), x:min(x1, x + int(rng.integers(5, 24)))] = colour(rng, 0.2,
                                                                                                  0.9, 0.4)
    sign = colour(rng, 0.1, 0.9, 0.4)
    img[14:64] = sign
    text_block(rng, img, 30, 22, 226, 62, np.round(1 - sign.mean()) * np.ones(3), 30)
    return to8(img)


# function, how many, texture class, metres a tile
KINDS = [
    (mottled, 10, 'wall', 2.0), (granite, 8, 'granite', 0.5), (carpet, 12, 'carpet', 0.8),
    (weave, 8, 'fabric', 0.25),
    (planks, 8, 'floor', 1.0), (wood, 12, 'wood', 0.8), (tiles, 12, 'tile', 0.8), (bricks, 6, 'brick', 1.0),
    (paper, 24, 'paper', 0.21), (cover, 36, 'cover', 0.2), (screen, 16, 'screen', 0.5),
    (keys, 6, 'keys', 0.45),
    (spines, 10, 'spines', 1.0), (facade, 12, 'facade', 12.0), (leaves, 6, 'foliage', 1.0),
    (leaves, 3, 'grass', 1.0),
    (asphalt, 6, 'asphalt', 3.0), (stripes, 8, 'stripes', 0.3), (panel, 4, 'ceiling', 0.6),
    (earth, 6, 'ground', 2.0),
    (cement, 6, 'concrete', 2.0), (mottled, 4, 'metal', 1.0), (cardboard, 8, 'cardboard', 0.4),
    (pegboard, 3, 'pegboard', 0.6),
    (rug, 8, 'rug', 2.0), (terrazzo, 4, 'floor', 1.0), (shopfront, 8, 'shopfront', 5.0),
    (cover, 12, 'label', 0.2),
]


def make_all(seed=1):
    """[(class, metres, uint8 [256,256,3])] in a fixed order."""
    out = []
    for k, (fn, n, cls, metres) in enumerate(KINDS):
        for i in range(n):
            out.append((cls, metres, fn(np.random.default_rng([seed, k, i]))))
    return out
