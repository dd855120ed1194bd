"""chamfer.py A.ply B.ply - numbers of points, and the Chamfer distance in millimetres

Points lie in a hash of cells of CELL metres; the nearest one is looked for in the 27 cells around. A point with
nothing there counts as CELL away, which is more than any bound that this is held against.
"""
import collections
import math
import struct
import sys

CELL = 0.02
CODES = {'float': 'f', 'float32': 'f', 'double': 'd', 'uchar': 'B', 'uint8': 'B', 'char': 'b', 'int': 'i',
         'int32': 'i', 'uint': 'I', 'uint32': 'I', 'short': 'h', 'ushort': 'H'}


def read(path):
    with open(path, 'rb') as f:
        data = f.read()
    head, body = data.split(b'end_header\n', 1)
    lines = head.decode().split('\n')
    count = next(int(line.split()[2]) for line in lines if line.startswith('element vertex'))
    properties = [line.split()[1:] for line in lines if line.startswith('property')]
    record = struct.Struct('<' + ''.join(CODES[kind] for kind, _ in properties))
    names = [name for _, name in properties]
    at = [names.index(axis) for axis in 'xyz']
    return [tuple(row[i] for i in at) for row in record.iter_unpack(body[:count * record.size])]


def cells(points):
    grid = collections.defaultdict(list)
    for p in points:
        grid[tuple(math.floor(v / CELL) for v in p)].append(p)
    return grid


def mean_nearest(points, grid):
    total = 0.0
    for p in points:
        x, y, z = (math.floor(v / CELL) for v in p)
        best = CELL * CELL
        for i in range(x - 1, x + 2):
            for j in range(y - 1, y + 2):
                for k in range(z - 1, z + 2):
                    for q in grid.get((i, j, k), ()):
                        best = min(best, sum((a - b) ** 2 for a, b in zip(p, q)))
        total += math.sqrt(best)
    return total / max(len(points), 1)


def main():
    a, b = (read(path) for path in sys.argv[1:3])
    grid_a, grid_b = cells(a), cells(b)
    print('counts %d %d %.5f' % (len(a), len(b), abs(len(a) - len(b)) / max(len(a), 1)))
    print('chamfer %.3f mm' % (1000 * (mean_nearest(a, grid_b) + mean_nearest(b, grid_a)) / 2))


main()
