#!/usr/bin/env python3
"""bracket.py FOLDER - a thing of four boxes, 20 cm large, as what it can be enrolled from and found in

Writes:
  bracket.obj, bracket.ply  its mesh, in centimetres and, binary, in metres
  view0.png ... view4.png   depth pictures of it alone, all around; poses.txt: where they were taken (TUM)
  scene.png                 depth of it on a table, turned by 40 degrees, with a ball beside it
  pose.txt                  where it is in scene.png: qx qy qz qw tx ty tz, object to camera
  table.png                 the same place without it
  flat.obj, nan.obj, broken.ply, thin.obj, empty.png, wall.png   what must be refused, and why it is says the name
"""
import math
import struct
import sys
import zlib

W, H = 320, 240
F = 262.5
BOXES = [((-10, -7, -5), (10, -1, 0)), ((-10, -1, -5), (-5, 7, 0)), ((3, -6, 0), (9, -1, 7)), ((-9, -7, 0), (-6, 2, 3))]  # centimetres


def corners(low, high):
    return [[(high if i >> k & 1 else low)[k] for k in range(3)] for i in range(8)]


FACES = [(0, 2, 3, 1), (4, 5, 7, 6), (0, 1, 5, 4), (2, 6, 7, 3), (0, 4, 6, 2), (1, 3, 7, 5)]


def write_obj(path, scale=1):
    with open(path, "w", encoding="ascii") as f:
        for low, high in BOXES:
            for p in corners(low, high):
                f.write("v %g %g %g\n" % tuple(scale * x for x in p))
        for b in range(len(BOXES)):
            for face in FACES:
                f.write("f " + " ".join(f"{8 * b + i + 1}/1/1" for i in face) + "\n")


def write_ply(path):
    points = [p for low, high in BOXES for p in corners(low, high)]
    with open(path, "wb") as f:
        f.write(b"ply\nformat binary_little_endian 1.0\nelement vertex %d\nproperty float x\nproperty float y\n"
                b"property float z\nelement face %d\nproperty list uchar int vertex_indices\nend_header\n"
                % (len(points), 6 * len(BOXES)))
        for p in points:
            f.write(struct.pack("<3f", *(0.01 * x for x in p)))
        for b in range(len(BOXES)):
            for face in FACES:
                f.write(struct.pack("<B4i", 4, *(8 * b + i for i in face)))


def write_png(path, depth):
    rows = b"".join(b"\0" + struct.pack(f">{W}H", *depth[v * W:v * W + W]) for v in range(H))

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    with open(path, "wb") as f:
        f.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">2I5B", W, H, 16, 0, 0, 0, 0)) +
                chunk(b"IDAT", zlib.compress(rows, 1)) + chunk(b"IEND", b""))


def cross(a, b):
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def unit(a):
    n = math.sqrt(sum(x * x for x in a))
    return [x / n for x in a]


def look(at, azimuth, elevation, far):
    """Axes of a camera (columns x right, y down, z ahead) and its place."""
    a, e = math.radians(azimuth), math.radians(elevation)
    place = [at[0] + far * math.cos(e) * math.cos(a), at[1] + far * math.cos(e) * math.sin(a), at[2] + far * math.sin(e)]
    z = unit([q - p for p, q in zip(place, at)])
    x = unit(cross(z, [0, 0, 1]))
    y = cross(z, x)
    return [[x[k], y[k], z[k]] for k in range(3)], place


def turn(r, p):
    return [sum(r[i][k] * p[k] for k in range(3)) for i in range(3)]


def back(r, p):
    return [sum(r[k][i] * p[k] for k in range(3)) for i in range(3)]


def quaternion(r):
    w = math.sqrt(max(0.0, 1 + r[0][0] + r[1][1] + r[2][2])) / 2
    if w > 0.1:
        return [(r[2][1] - r[1][2]) / (4 * w), (r[0][2] - r[2][0]) / (4 * w), (r[1][0] - r[0][1]) / (4 * w), w]
    i = max(range(3), key=lambda k: r[k][k])
    j, k = (i + 1) % 3, (i + 2) % 3
    s = math.sqrt(max(0.0, 1 + r[i][i] - r[j][j] - r[k][k])) * 2
    q = [0.0, 0.0, 0.0, (r[k][j] - r[j][k]) / s]
    q[i], q[j], q[k] = s / 4, (r[j][i] + r[i][j]) / s, (r[k][i] + r[i][k]) / s
    return q


def hit_boxes(o, d):
    best = math.inf
    for low, high in BOXES:
        near, far = -math.inf, math.inf
        for k in range(3):
            if abs(d[k]) < 1e-12:
                if not 0.01 * low[k] <= o[k] <= 0.01 * high[k]:
                    far = -math.inf
                continue
            a, b = sorted(((0.01 * low[k] - o[k]) / d[k], (0.01 * high[k] - o[k]) / d[k]))
            near, far = max(near, a), min(far, b)
        if 0 < near <= far:
            best = min(best, near)
    return best


def hit_ball(o, d, middle, radius):
    p = [x - m for x, m in zip(o, middle)]
    a, b, c = sum(x * x for x in d), sum(x * y for x, y in zip(p, d)), sum(x * x for x in p) - radius * radius
    return (-b - math.sqrt(b * b - a * c)) / a if b * b > a * c else math.inf


def draw(camera, thing=None, table=False):
    """Millimetres; thing: (r, t), world to the thing."""
    (r, place), depth = camera, [0] * (W * H)
    ball = [-0.02 - place[0], 0.2 - place[1], 0.05 - place[2]]
    if thing:  # the camera's axes and place as the thing has them
        o = [a + b for a, b in zip(turn(thing[0], place), thing[1])]
        axes = [[sum(thing[0][i][k] * r[k][j] for k in range(3)) for j in range(3)] for i in range(3)]
    for v in range(H):
        y = (v - (H - 1) / 2) / F
        for u in range(W):
            x, z = (u - (W - 1) / 2) / F, math.inf
            if thing:
                d = [a * x + b * y + c for a, b, c in axes]
                along = -(o[0] * d[0] + o[1] * d[1] + o[2] * d[2]) / (x * x + y * y + 1)
                if sum((p + along * q) ** 2 for p, q in zip(o, d)) < 0.15 ** 2:  # near its middle
                    z = hit_boxes(o, d)
            if table:
                d = [a * x + b * y + c for a, b, c in r]
                if d[2] < 0:
                    z = min(z, -place[2] / d[2])
                along = (ball[0] * d[0] + ball[1] * d[1] + ball[2] * d[2]) / (x * x + y * y + 1)
                if sum((p - along * q) ** 2 for p, q in zip(ball, d)) < 0.05 ** 2:
                    z = min(z, hit_ball(place, d, (-0.02, 0.2, 0.05), 0.05))
            if z < 4:
                depth[v * W + u] = round(1000 * z)
    return depth


def main():
    folder = sys.argv[1]
    here = ([[1, 0, 0], [0, 1, 0], [0, 0, 1]], [0, 0, 0])
    write_obj(f"{folder}/bracket.obj")
    write_ply(f"{folder}/bracket.ply")
    with open(f"{folder}/poses.txt", "w", encoding="ascii") as f:
        f.write("# seconds tx ty tz qx qy qz qw\n")
        for i in range(5):
            camera = look((0, 0, 0), 72 * i, 30, 0.7)
            write_png(f"{folder}/view{i}.png", draw(camera, here))
            f.write(" ".join(f"{x:.8f}" for x in [i, *camera[1], *quaternion(camera[0])]) + "\n")
    a = math.radians(40)
    r_wo, t_wo = [[math.cos(a), -math.sin(a), 0], [math.sin(a), math.cos(a), 0], [0, 0, 1]], [0.03, -0.04, 0.05]
    thing = ([list(row) for row in zip(*r_wo)], [-x for x in back(r_wo, t_wo)])
    camera = look((0, 0, 0.05), 25, 38, 0.75)
    write_png(f"{folder}/scene.png", draw(camera, thing, True))
    write_png(f"{folder}/table.png", draw(camera, None, True))
    r_co = [[sum(camera[0][k][i] * r_wo[k][j] for k in range(3)) for j in range(3)] for i in range(3)]
    t_co = back(camera[0], [x - y for x, y in zip(t_wo, camera[1])])
    with open(f"{folder}/pose.txt", "w", encoding="ascii") as f:
        f.write(" ".join(f"{x:.8f}" for x in quaternion(r_co) + t_co) + "\n")
    write_png(f"{folder}/empty.png", [0] * (W * H))
    write_png(f"{folder}/wall.png", [1000] * (W * H))
    write_obj(f"{folder}/thin.obj", 0.0001)
    for name, text in (("flat.obj", "v 0 0 0\nv 0.1 0 0\nv 0.1 0.1 0\nf 1 2 3\n"),
                       ("nan.obj", "v 0 0 0\nv nan 0 0\nv 1 1 0\nf 1 2 3\n"),
                       ("line.obj", "v 0 0 0\nv 1 0 0\nv 2 0 0\n" + "f 1 2 3\n" * 1000)):
        with open(f"{folder}/{name}", "w", encoding="ascii") as f:
            f.write(text)
    with open(f"{folder}/bracket.ply", "rb") as f, open(f"{folder}/broken.ply", "wb") as to:
        to.write(f.read()[:-40])


main()
