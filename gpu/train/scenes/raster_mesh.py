"""Makes the library's meshes quick to draw: neighbouring triangles together, closed ones known as such.

    arrays = prepare(arrays)        # of assets.load

Triangles of a mesh are put in the order of a space-filling curve and cut into clusters of CLUSTER with a
bounding sphere each, so that what lies outside a view is left out early. Meshes whose every edge joins
two triangles are closed: their triangles are turned to be counter-clockwise seen from outside, and their
back faces need no drawing.
"""
import numpy as np

CLUSTER, CLOSED = 32, 1         # as raster_types.h has them
MESH = np.dtype([('tri0', 'i4'), ('n_tri', 'i4'), ('mat0', 'i4'), ('cluster0', 'i4'), ('c', 'f4', 3),
                 ('r', 'f4'), ('flags', 'i4'), ('pad', 'i4')])
SPHERE = np.dtype([('c', 'f4', 3), ('r', 'f4')])
WELD_M = 1e-5                   # corners nearer than this are one


def _spread(x):
    """Bits of 10-bit numbers, two zeros between neighbours."""
    x = x.astype(np.int64)
    for shift, mask in ((16, 0x030000FF), (8, 0x0300F00F), (4, 0x030C30C3), (2, 0x09249249)):
        x = (x | x << shift) & mask
    return x


def curve_order(corners, owner, lo, hi):
    """Order of triangles along a Z curve inside each mesh. corners [T,3,3], owner [T] mesh, lo, hi [M,3]."""
    c = (corners.mean(1) - lo[owner]) / np.maximum(hi - lo, 1e-9)[owner]
    q = np.clip(c * 1023, 0, 1023)
    return np.lexsort((_spread(q[:, 0]) | _spread(q[:, 1]) << 1 | _spread(q[:, 2]) << 2, owner))


def _edges(tri, owner, n_vert):
    """Sorted undirected edges: code [E], whether it runs upwards [E], triangle [E]."""
    a = tri[:, (0, 1, 2)].reshape(-1)
    b = tri[:, (1, 2, 0)].reshape(-1)
    code = np.minimum(a, b) * n_vert + np.maximum(a, b)
    at = np.argsort(code, kind='stable')
    return code[at], (a < b)[at], at // 3


def _turn(n_tri, twin, same, start):
    """Walk over neighbours: which triangles must be turned to agree, and the component of each.

    twin [T,3] neighbour or -1, same [T,3] whether it runs the shared edge the same way (one must turn);
    start [S] first triangle of each mesh, used as seeds together, so that all meshes are walked at once.
    """
    flip, part = np.zeros(n_tri, bool), np.full(n_tri, -1)
    bound, at, n_part = np.append(start[1:], n_tri), start.copy(), 0
    while True:
        for _ in range(64):                         # seeds move on to the next triangle not yet seen
            busy = (at < bound) & (part[np.minimum(at, n_tri - 1)] >= 0)
            if not busy.any():
                break
            at[busy] += 1
        seed = at[at < bound]
        seed = seed[part[seed] < 0]
        if not len(seed):
            if (at >= bound).all():
                return flip, part
            continue
        part[seed] = n_part + np.arange(len(seed))
        n_part += len(seed)
        front = seed
        while len(front):
            to, turn = twin[front].reshape(-1), (same[front] ^ flip[front][:, None]).reshape(-1)
            frm = np.repeat(front, 3)
            new = (to >= 0) & (part[np.maximum(to, 0)] < 0)
            to, first = np.unique(to[new], return_index=True)
            flip[to], part[to] = turn[new][first], part[frm[new][first]]
            front = to


def close(corners, owner, n_mesh):
    """Which meshes are closed [M], and which triangles to turn [T] so that these show their outside."""
    n = len(corners)
    grid = np.round(corners.reshape(-1, 3).astype(np.float64) / WELD_M).astype(np.int64)
    rows = np.concatenate([np.repeat(owner, 3)[:, None], grid], 1)
    at = np.lexsort(rows.T[::-1])
    new = np.append(True, (rows[at][1:] != rows[at][:-1]).any(1))
    vert = np.empty(3 * n, np.int64)
    vert[at] = np.cumsum(new) - 1
    tri, n_vert = vert.reshape(n, 3), int(new.sum())
    flat = (tri[:, 0] == tri[:, 1]) | (tri[:, 1] == tri[:, 2]) | (tri[:, 2] == tri[:, 0])
    real = np.flatnonzero(~flat)
    code, up, of = _edges(tri[real], owner[real], n_vert)
    of = real[of]
    first = np.flatnonzero(np.append(True, code[1:] != code[:-1]))
    count = np.diff(np.append(first, len(code)))
    closed = np.ones(n_mesh, bool)
    closed[owner[of[np.repeat(count, count) != 2]]] = False
    closed[np.setdiff1d(np.arange(n_mesh), owner[real])] = False
    two = first[count == 2]
    a, b, same = of[two], of[two + 1], up[two] == up[two + 1]
    twin, agree, used = np.full((n, 3), -1), np.zeros((n, 3), bool), np.zeros(n, np.int64)
    for x, y in ((a, b), (b, a)):
        at = np.argsort(x, kind='stable')
        k = used[x[at]] + np.arange(len(x)) - np.searchsorted(x[at], x[at])
        twin[x[at], k], agree[x[at], k] = y[at], same[at]
        used += np.bincount(x, minlength=n)
    keep = closed[owner]
    twin[~keep] = -1
    flip, part = np.zeros(n, bool), np.zeros(n, np.int64)
    idx = np.flatnonzero(keep & ~flat)
    if not len(idx):
        return np.zeros(n_mesh, bool), flip
    place = np.full(n, -1)
    place[idx] = np.arange(len(idx))
    start = np.flatnonzero(np.append(True, owner[idx][1:] != owner[idx][:-1]))
    near = np.where(twin[idx] >= 0, place[np.maximum(twin[idx], 0)], -1)
    flip[idx], part = _turn(len(idx), near, agree[idx], start)
    bad = same ^ flip[a] ^ flip[b]                  # a surface with one side, or a walk that met itself
    closed[owner[a[bad]]] = False
    p = corners[idx].astype(np.float64)
    p = p - p.reshape(-1, 9).min(0).min()
    six = np.einsum('ij,ij->i', p[:, 0], np.cross(p[:, 1], p[:, 2])) * np.where(flip[idx], -1, 1)
    inside_out = np.bincount(part, six) < 0
    flip[idx] ^= inside_out[part]
    return closed, flip & closed[owner]


def prepare(arrays, cull=True):
    """Arrays of assets.load with triangles in drawing order, `mesh` as the renderer has it, and `cluster`.

    cull False: nothing is known to be closed, every bounding sphere is endless: all is drawn (for checks).
    """
    old, n_mesh = arrays['mesh'], len(arrays['mesh'])
    if old['n_tri'].max() > 65536:
        raise ValueError('a mesh of over 65536 triangles does not fit the keys')
    owner = np.repeat(np.arange(n_mesh), old['n_tri'])
    tri, mat = arrays['tri'], arrays['tri_mat']
    corners = arrays['vert'][tri]
    ends = old['tri0'].astype(np.int64)
    lo, hi = np.minimum.reduceat(corners.min(1), ends), np.maximum.reduceat(corners.max(1), ends)
    order = curve_order(corners, owner, lo, hi)
    tri, mat, corners = tri[order].copy(), mat[order], corners[order]
    closed, flip = close(corners, owner, n_mesh)
    tri[flip] = tri[flip][:, (0, 2, 1)]
    n_cluster = -(-old['n_tri'] // CLUSTER)
    mesh = np.zeros(n_mesh, MESH)
    for k in ('tri0', 'n_tri', 'mat0', 'c', 'r'):
        mesh[k] = old[k]
    mesh['cluster0'] = np.cumsum(n_cluster) - n_cluster
    mesh['flags'] = np.where(closed, CLOSED, 0)
    number = np.arange(n_cluster.sum()) - np.repeat(mesh['cluster0'], n_cluster)
    first = np.repeat(old['tri0'], n_cluster) + CLUSTER * number
    ball = np.zeros(len(first), SPHERE)
    c_lo, c_hi = np.minimum.reduceat(corners.min(1), first), np.maximum.reduceat(corners.max(1), first)
    ball['c'] = 0.5 * (c_lo + c_hi)
    of = np.searchsorted(first, np.arange(len(tri)), side='right') - 1
    far = np.linalg.norm(corners - ball['c'][of][:, None], axis=2).max(1)
    ball['r'] = np.maximum.reduceat(far, first) * 1.0001 + 1e-6
    if not cull:
        mesh['flags'], mesh['r'], ball['r'] = 0, 1e6, 1e6
    return {**arrays, 'tri': tri, 'tri_mat': mat, 'mesh': mesh, 'cluster': ball}
