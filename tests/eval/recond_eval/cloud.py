"""How far a point cloud A is from the true one, B: Fathy et al. 2021, "Evaluation metrics".

All distances are Euclidean and from a point to the exactly nearest one of the other cloud, in metres.

    found        true points with some point of A nearer than r: N_C of N_B
    L_E          mean and root mean square of the distance over the found points (the paper prints
                 sqrt(1 / N_C) sum, which grows with the number of points)
    FNE(r)       1 - N_C / N_B;  the paper's fitness is N_C / N_B, its RMSE the root mean square L_E
    FPE(r)       share of A without a true point nearer than r
    CD           chamfer_sum: mean distance of A to B + mean distance of B to A
    completeness, accuracy   shares of B and of A with a point of the other nearer than a threshold; F: their harmonic mean
    registration fitness     share of A with a point of B nearer than a radius, RMSE of these distances

ICP is point to point (Besl and McKay 1992); global registration is Open3D's of Zhou, Park and Koltun 2016 by FPFH
(Rusu 2009). Walls: where true points of a cube of 20 cm lie in a plane within 1 cm, the range of heights above it of
the points of A whose nearest true point lies in the cube, without the lowest and the highest tenth.
"""
import numpy as np
from scipy.spatial import cKDTree

from . import Failure, open3d
from .path import align

REACH_M = 1e6                # coordinates beyond are damage
RADII_MAX = 63
THIN_MAX, THIN_CELLS, THIN_GROW = 60000, 128, 1.25
WALL_CUBE_M, WALL_FLAT_M, WALL_REACH_M, WALL_LEAST = 0.2, 0.01, 0.3, 20


def check(name, xyz):
    if not len(xyz):
        raise Failure(f'{name} holds no points')
    bad = np.nonzero(~(np.abs(xyz) <= REACH_M).all(1))[0]
    if len(bad):
        raise Failure(f'{name}: point {bad[0]} is at {xyz[bad[0], 0]:g}, {xyz[bad[0], 1]:g}, {xyz[bad[0], 2]:g}')


def radii(first, last, step):
    if not (first > 0 and last >= first and step > 0):
        raise Failure('radii and thresholds are lengths above 0', 2)
    n = 1 + int((last - first) / step + 1e-6)
    if n > RADII_MAX:
        raise Failure(f'more than {RADII_MAX} radii', 2)
    return first + step * np.arange(n)


def tree_of(xyz):
    """Nearest points; without the tree's own balancing a query is ten times as fast where clouds lie apart."""
    return cKDTree(xyz, balanced_tree=False, compact_nodes=False)


def side(d):
    s = np.sort(d)
    n = len(s)
    return {'mean': s.mean(), 'rms': np.sqrt(np.mean(s ** 2)), 'median': s[(n - 1) // 2],
            'p90': s[int(np.ceil(0.9 * n)) - 1], 'max': s[-1]}


def at_radius(r, to_b, to_a):
    found = to_a[to_a < r]
    return {'r': r, 'found': len(found), 'l_e_mean': found.mean() if len(found) else np.nan,
            'l_e_rms': np.sqrt(np.mean(found ** 2)) if len(found) else np.nan,
            'fne': 1 - len(found) / len(to_a), 'fpe': np.mean(to_b >= r)}


def harmonic(a, b):
    return 2 * a * b / (a + b) if a + b > 0 else 0.0


def measure(a, b, tolerances, threshold, tree=None):
    """The report on cloud a by truth b, and the distance of each point of a; tree: of b."""
    to_b, to_a = (t.query(xyz, workers=-1)[0] for t, xyz in ((tree or tree_of(b), a), (tree_of(a), b)))
    one, other = side(to_b), side(to_a)
    complete, accurate = np.mean(to_a < threshold), np.mean(to_b < threshold)
    return {'points': len(a), 'truth_points': len(b), 'cloud_to_truth': one, 'truth_to_cloud': other,
            'chamfer_sum': one['mean'] + other['mean'], 'chamfer_mean': (one['mean'] + other['mean']) / 2,
            'chamfer_squared': one['rms'] ** 2 + other['rms'] ** 2, 'threshold': threshold, 'completeness': complete,
            'accuracy': accurate, 'f': harmonic(complete, accurate),
            'radii': [at_radius(r, to_b, to_a) for r in tolerances]}, to_b


def mean(reports):
    """Means over frames, each with a cloud and a truth of its own; L_E over those where a true point is found."""
    first = reports[0]
    if isinstance(first, dict):
        return {k: mean([r[k] for r in reports]) for k in first}
    if isinstance(first, list):
        return [mean(list(r)) for r in zip(*reports)]
    known = np.array(reports, float)
    known = known[np.isfinite(known)]
    value = known.mean() if len(known) else np.nan
    return int(value) if isinstance(first, int) else value


# ---------------------------------------------------------------------------------------------------- registration

def moved(xyz, motion):
    s, R, t = motion
    return s * np.asarray(xyz, float) @ R.T + t


IDENTITY = 1.0, np.eye(3), np.zeros(3)


def score(a, tree, motion, radius):
    d, _ = tree.query(moved(a, motion), distance_upper_bound=radius, workers=-1)
    d = d[np.isfinite(d)]
    return {'motion': motion, 'inliers': len(d), 'fitness': len(d) / len(a),
            'rmse': np.sqrt(np.mean(d ** 2)) if len(d) else np.nan, 'iterations': 0, 'converged': False}


def icp(a, b, tree, start=IDENTITY, *, radius=0.1, iterations=30, scale=False, most=0, tolerance=1e-7):
    """Pairs each point with its nearest, fits the motion of the unmoved points, and again."""
    some = np.asarray(a[::(len(a) - 1) // most + 1] if most and len(a) > most else a, float)
    now, converged, n = start, False, 0
    while not converged and n < iterations:
        d, at = tree.query(moved(some, now), distance_upper_bound=radius, workers=-1)
        near = np.isfinite(d)
        if near.sum() < 3:
            raise Failure(f'{near.sum()} of {len(a)} points lie within {radius:g} m of the other cloud')
        last, now = now, align(some[near], np.asarray(b[at[near]], float), scale)
        change = max(np.abs(last[0] * last[1] - now[0] * now[1]).max(), np.abs(last[2] - now[2]).max())
        converged, n = change <= tolerance, n + 1
    return score(a, tree, now, radius) | {'iterations': n, 'converged': bool(converged)}


def described(o3d, xyz, voxel, centre):
    """A thinned cloud with normals that face its middle, as a cloud does not say from where it was seen, and FPFH."""
    cloud = o3d.geometry.PointCloud(o3d.utility.Vector3dVector(np.asarray(xyz, float))).voxel_down_sample(voxel)
    if len(cloud.points) > THIN_MAX:
        return None
    cloud.estimate_normals(o3d.geometry.KDTreeSearchParamHybrid(2 * voxel, 30))
    cloud.orient_normals_towards_camera_location(centre)
    return cloud, o3d.pipelines.registration.compute_fpfh_feature(
        cloud, o3d.geometry.KDTreeSearchParamHybrid(5 * voxel, 100))


def register(a, b, tree, voxel=0):
    """Fast global registration of a onto b; voxel 0: the truth's diagonal / 128, or what THIN_MAX allows."""
    o3d = open3d()
    asked, voxel = voxel > 0, voxel or float(np.linalg.norm(np.ptp(np.asarray(b, float), 0))) / THIN_CELLS
    if not voxel > 0:
        raise Failure('global registration of a cloud without extent')
    while not all(both := [described(o3d, c, voxel, np.mean(c, 0, float)) for c in (a, b)]):
        if asked:
            raise Failure(f'cells of {voxel:g} m leave more than {THIN_MAX} points: larger ones')
        voxel *= THIN_GROW
    o3d.utility.random.seed(0x5eed)
    options = o3d.pipelines.registration.FastGlobalRegistrationOption(
        use_absolute_scale=True, maximum_correspondence_distance=voxel, iteration_number=64, tuple_scale=0.9,
        maximum_tuple_count=1000)
    found = o3d.pipelines.registration.registration_fgr_based_on_feature_matching(
        both[0][0], both[1][0], both[0][1], both[1][1], options).transformation
    return score(a, tree, (1.0, found[:3, :3], found[:3, 3]), 2 * voxel)


def registration(r, n_truth):
    """For a report: the motion as a 4 x 4 matrix, row by row, with the scale in its upper left part."""
    s, R, t = r['motion']
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = s * R, t
    return {'motion': T.ravel(), 'scale': s, 'inliers': r['inliers'], 'fitness': r['fitness'],
            'inliers_per_truth': r['inliers'] / n_truth, 'rmse': r['rmse'], 'iterations': r['iterations'],
            'converged': r['converged']}


# ---------------------------------------------------------------------------------------------------- walls, ranks

def cubes_of(xyz, side_m):
    """A number for the cube that each point is in, 21 bits a side; -1 beyond."""
    at = np.floor(np.asarray(xyz, float) / side_m)
    inside = (np.abs(at) < 1 << 20).all(1)
    at = np.where(inside[:, None], at, 0).astype(np.int64) + (1 << 20)
    return np.where(inside, at[:, 0] << 42 | at[:, 1] << 21 | at[:, 2], -1)


def walls(a, b, tree=None):
    """Thickness of the flat places of b in cloud a: how many, the median, what nine of ten stay below."""
    b = np.asarray(b, float)
    _, cube = np.unique(cubes_of(b, WALL_CUBE_M), return_inverse=True)
    n = np.bincount(cube)

    def mean_of(v):
        return np.bincount(cube, v) / n

    middle = np.stack([mean_of(b[:, k]) for k in range(3)], 1)
    off = b - middle[cube]
    spread = np.stack([mean_of(off[:, k] * off[:, m]) for k in range(3) for m in range(3)], 1).reshape(-1, 3, 3)
    value, vector = np.linalg.eigh(spread)
    flat = (n >= WALL_LEAST) & (value[:, 0] <= WALL_FLAT_M ** 2) & (value[:, 1] > 4 * value[:, 0])
    d, nearest = (tree or tree_of(b)).query(a, distance_upper_bound=WALL_REACH_M, workers=-1)
    near = np.isfinite(d)
    own = cube[nearest[near]]
    height = np.einsum('ij,ij->i', np.asarray(a, float)[near] - middle[own], vector[own, :, 0])
    order = np.lexsort((height, own))
    own, height = own[order], height[order]
    patch, first, count = np.unique(own, return_index=True, return_counts=True)
    use = flat[patch] & (count >= WALL_LEAST)
    first, count = first[use], count[use]
    thick = np.sort(height[first + count - 1 - count // 10] - height[first + count // 10])
    if not len(thick):
        return {'patches': 0, 'median': np.nan, 'p90': np.nan}
    return {'patches': len(thick), 'median': thick[(len(thick) - 1) // 2], 'p90': thick[int(np.ceil(0.9 * len(thick))) - 1]}


def ranks(v):
    """Mean rank of each value; equal ones share theirs."""
    _, at, count = np.unique(v, return_inverse=True, return_counts=True)
    return (np.cumsum(count) - (count - 1) / 2)[at]


def rank_correlation(a, b):
    """Spearman's; NaN where one does not vary."""
    x, y = ranks(a), ranks(b)
    x, y = x - x.mean(), y - y.mean()
    by = np.sqrt((x @ x) * (y @ y))
    return x @ y / by if by > 0 else np.nan


# ---------------------------------------------------------------------------------------------------- text

def text(r):
    lines = [f"{'distance, m':16}" + ''.join(f' {h:>9}' for h in ('mean', 'rms', 'median', '90 %', 'max'))]
    lines += [f'{name:16}' + ''.join(f' {v:9.4f}' for v in r[key].values())
              for name, key in (('cloud to truth', 'cloud_to_truth'), ('truth to cloud', 'truth_to_cloud'))]
    lines += ['', f"chamfer          {r['chamfer_sum']:.4f} m sum of means, {r['chamfer_mean']:.4f} m mean of means, "
                  f"{r['chamfer_squared']:.6f} m2 sum of squares",
              f"at {r['threshold']:g} m: completeness {r['completeness']:.4f}, accuracy {r['accuracy']:.4f}, F {r['f']:.4f}", '']
    return '\n'.join(lines + [text_radii(r)])


def text_radii(r):
    lines = [f"{'r, m':>8} {'L_E mean':>10} {'L_E rms':>10} {'FNE':>8} {'FPE':>8}"]
    lines += [f"{a['r']:8.4f} {a['l_e_mean']:10.4f} {a['l_e_rms']:10.4f} {a['fne']:8.4f} {a['fpe']:8.4f}" for a in r['radii']]
    return '\n'.join(lines)


def text_motion(name, r):
    s, R, t = r['motion']
    angle = np.degrees(2 * np.arcsin(min(np.linalg.norm(R - np.eye(3)) / np.sqrt(8), 1)))
    rounds = f"{r['iterations']} iterations, {'converged' if r['converged'] else 'NOT converged'}: " if r['iterations'] else ''
    return f'{name:16} {rounds}{angle:.3f} degrees, shift {t[0]:.4f} {t[1]:.4f} {t[2]:.4f} m, scale {s:.5f}'
