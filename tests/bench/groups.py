#!/usr/bin/env python3
"""groups.py - how large the red and the green thing of a cloud of voxels are

    tests/bench/groups.py CLOUD.ply VOXEL_M

The largest group of voxels that touch, of those whose red or green leads by 30: its box, as the
catadioptric paper tells its sphere, and the median width of its slices, as it tells its column.
"""

import itertools
import statistics
import struct
import sys

POINT_BYTES = 28


def voxels(path, voxel_m):
    """Places of the red and of the green voxels, in voxels."""
    with open(path, 'rb') as file:
        data = file.read()
    at = data.index(b'end_header\n') + len(b'end_header\n')
    found = {'red': set(), 'green': set()}
    for k in range(at, len(data) - POINT_BYTES + 1, POINT_BYTES):
        r, g, b = data[k + 24:k + 27]
        place = tuple(round(x / voxel_m - 0.5) for x in struct.unpack_from('<fff', data, k))
        if r > max(g, b) + 30:
            found['red'].add(place)
        elif g > max(r, b) + 30:
            found['green'].add(place)
    return found


def largest(left):
    """The largest group of places that touch."""
    steps, best = list(itertools.product((-1, 0, 1), repeat=3)), []
    while left:
        group = [left.pop()]
        for x, y, z in group:
            for i, j, k in steps:
                place = (x + i, y + j, z + k)
                if place in left:
                    left.discard(place)
                    group.append(place)
        best = max(best, group, key=len)
    return best


def width(places, axis):
    """How many voxels places reach along an axis."""
    along = [p[axis] for p in places]
    return max(along) - min(along) + 1


def main():
    """Prints a line for each colour."""
    voxel_m = float(sys.argv[2])
    for name, places in voxels(sys.argv[1], voxel_m).items():
        slices, group = {}, largest(places)
        if not group:
            continue
        for p in group:
            slices.setdefault(p[2], []).append(p)
        box = ' x '.join(f'{voxel_m * width(group, i):.2f}' for i in range(3))
        median = ' x '.join(
            f'{voxel_m * statistics.median(width(s, i) for s in slices.values()):.2f}'
            for i in range(2))
        print(f'{name}: {box} m, median slice {median} m, {len(group)} voxels')


main()
