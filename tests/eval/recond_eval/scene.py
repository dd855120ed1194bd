"""The clouds that a folder becomes, against those of its true depth.

A pixel (x, y) with depth d is the point d K^-1 (x y 1) of its camera; depth maps span the whole picture, so K is given
for the map's own size. Fused in cubes, space holds the mean of the points that fell into each and the number of frames
that they came from: the simplest average, the same for truth and estimate. The TSDF is Open3D's of Curless and Levoy
1996: a voxel holds the mean over frames of min(d - z, t) / t, z its own depth, where d - z >= -t; the surface is where
that changes its sign between neighbours that enough frames saw.
"""
import numpy as np

from . import Failure, open3d
from .cloud import IDENTITY, check, cubes_of, icp, mean, measure, moved, rank_correlation, text_radii, tree_of, walls
from .depth import Row, named, pairs, sample, upper_median
from .folder import scaled
from .ply import Cloud, read

FUSED_MAX_M, EACH_MAX_M = 5.0, 80.0  # a structured-light camera errs by centimetres beyond 5 m
FUSED = {'session': "the session's cloud", 'average': 'its depth, plain average', 'tsdf': 'its depth, TSDF',
         'raw': 'its depth, cubes', 'scaled': 'its depth, median-scaled, cubes', 'frame_median': "each frame's median, cubes"}
EACH = {'raw': 'network alone', 'scaled': 'median-scaled', 'icp': 'median-scaled, after icp',
        'at_truth': 'median-scaled, true pixels', 'frame_median': 'own median, true pixels'}
PENDING = 1 << 22  # points that wait to be put into cubes


def points(z, K, max_m):
    """Points [n, 3] of a map in the camera's frame, and which pixels they are (flat)."""
    at = np.nonzero(((z > 0) & (z <= max_m)).ravel())[0]
    d, (y, x) = z.ravel()[at].astype(float), np.divmod(at, z.shape[1])
    return np.stack([d * (x - K[2]) / K[0], d * (y - K[3]) / K[1], d], 1), at


class Cubes:
    """Means of the points in cubes of side_m, with colours, numbers of points and of frames."""

    def __init__(self, side_m):
        self.side_m, self.parts, self.waiting = side_m, [], 0

    def add(self, xyz, rgb=None):
        key = cubes_of(xyz, self.side_m)
        xyz, rgb, key = xyz[key >= 0], rgb[key >= 0] if rgb is not None else np.full((np.sum(key >= 0), 3), 128.0), key[key >= 0]
        values = np.concatenate([xyz, rgb, np.ones((len(key), 1)), np.zeros((len(key), 1))], 1)
        key, values = self._merge(key, values)
        values[:, 7] = 1
        self.parts.append((key, values))
        self.waiting += len(key)
        if self.waiting > PENDING:
            self._settle()

    def _settle(self):
        if len(self.parts) > 1:
            self.parts = [self._merge(*(np.concatenate(v) for v in zip(*self.parts)))]
        self.waiting = 0

    @staticmethod
    def _merge(key, values):
        order = np.argsort(key, kind='stable')
        key, first = np.unique(key[order], return_index=True)
        return key, np.add.reduceat(values[order], first) if len(key) else values

    def cloud(self, least_frames, least_points):
        if not self.parts:
            return Cloud(np.zeros((0, 3)))
        self._settle()
        v = self.parts[0][1]
        v = v[(v[:, 7] >= least_frames) & (v[:, 6] >= least_points)]
        return Cloud(v[:, :3] / v[:, 6:7], (v[:, 3:6] / v[:, 6:7] + 0.5).astype(np.uint8))


class Tsdf:
    def __init__(self, voxel_m, truncation_m):
        self.o3d = open3d()
        c = self.o3d.core
        self.voxel_m, self.truncation_m = voxel_m, truncation_m
        # colours are there because this version integrates none without
        self.grid = self.o3d.t.geometry.VoxelBlockGrid(('tsdf', 'weight', 'color'), (c.float32,) * 3, ((1), (1), (3)), voxel_m, 8,
                                                       20000, c.Device('CPU:0'))

    def blocks(self, z, K, T_wc, max_m):
        """Blocks of 8 x 8 x 8 voxels along each pixel's ray within the truncation of its depth."""
        xyz, side = points(z, K, max_m)[0], 8 * self.voxel_m
        along = np.linspace(-1, 1, int(np.ceil(4 * self.truncation_m / side)) + 1) * self.truncation_m
        rays = np.concatenate([xyz * (1 + a / xyz[:, 2:]) for a in along])
        return np.unique(np.floor(moved(rays[rays[:, 2] > 0], (1.0, T_wc[:3, :3], T_wc[:3, 3])) / side).astype(np.int32), axis=0)

    def add(self, z, K, T_wc, max_m):
        blocks = self.blocks(z, K, T_wc, max_m)
        if not len(blocks):
            return
        c, image = self.o3d.core, self.o3d.t.geometry.Image
        depth, colour = image(c.Tensor(z)), image(c.Tensor(np.zeros((*z.shape, 3), np.float32)))
        centre = np.eye(4)
        centre[:3, 3] = self.voxel_m / 2        # a voxel is where its middle is
        # Open3D reads the pixel floor(u), and centres of pixels are at integers here
        K = c.Tensor(np.array([[K[0], 0, K[2] + 0.5], [0, K[1], K[3] + 0.5], [0, 0, 1.0]]))
        self.grid.integrate(c.Tensor(blocks), depth, colour, K, K, c.Tensor(np.linalg.inv(T_wc) @ centre), 1.0, max_m,
                            self.truncation_m / self.voxel_m)

    def cloud(self, least_frames):
        """A point wherever the mean changes its sign between neighbours of which neither is truncated."""
        places, at = (t.numpy() for t in self.grid.voxel_coordinates_and_flattened_indices())
        d, n = (self.grid.attribute(k).numpy().reshape(-1)[at] for k in ('tsdf', 'weight'))
        use = (n > max(least_frames, 1) - 0.5) & (np.abs(d) < 1)
        places, d = np.round(places[use] / self.voxel_m).astype(np.int64), d[use]
        key = cubes_of(places + 0.5, 1)
        order = np.argsort(key)
        places, d, key, found = places[order], d[order], key[order], [np.zeros((0, 3))]
        for axis, step in enumerate((1 << 42, 1 << 21, 1)):
            beside = np.minimum(np.searchsorted(key, key + step), max(len(key) - 1, 0))
            here = np.nonzero((key[beside] == key + step) & ((d >= 0) != (d[beside] >= 0)))[0]
            p = places[here] + 0.5
            p[:, axis] += d[here] / (d[here] - d[beside[here]])
            found.append(p * self.voxel_m)
        return Cloud(np.concatenate(found))


def compared(maps, folder, truth, i, max_m):
    """Estimates and truths of the pixels of frame i where both are known, and their share; None: no truth in reach."""
    z = maps.depth(i)
    at = maps.places(folder, *truth.shape[::-1])
    d, g, _ = pairs(z, truth, at, max_m)
    whole, _, _ = pairs((z > 0).astype(np.float32), truth, at, max_m)
    return (d[whole > 0.999], g[whole > 0.999], np.mean(whole > 0.999)) if len(g) else None


def alone_measures(folder, alone, max_m):
    """Depth of the network alone: as it is, and median-scaled."""
    raw, own = Row(), Row()
    for i in alone.frames:
        truth, z = folder.depth(i), alone.depth(i)
        if truth is None or z is None:
            continue
        d, g, _ = pairs(z, truth, alone.places(folder, *truth.shape[::-1]), max_m)
        if len(g):
            raw.add(d, g)
            own.add(d * (upper_median(g) / upper_median(d)), g)
    if not raw.frames:
        raise Failure(f'{folder.path}: no used frame has a true depth within reach')
    return {'frames': len(raw.frames), 'depth': brief(raw), 'depth_scaled': brief(own)}


def brief(row):
    return {k: v for k, v in named(row.frame_mean()).items() if k in ('abs_rel', 'rmse', 'delta1')}


def each(folder, alone, args, tolerances):
    """Rows of the clouds of single frames, the network's depth alone against the frame's own truth."""
    found = {k: [] for k in EACH}
    for i in alone.frames:
        truth, z = folder.depth(i), alone.depth(i)
        if truth is None or z is None:
            continue
        at = alone.places(folder, *truth.shape[::-1])
        d, g, _ = pairs(z, truth, at, args.max_depth)
        if not len(g):
            continue
        K = scaled(alone.K, truth.shape[1] / alone.w, truth.shape[0] / alone.h)
        b, mask = points(truth, K, args.max_depth)[0], truth > 0
        tree = tree_of(b)
        median = upper_median(g)
        zs = z * (median / upper_median(d))
        a = {'raw': points(z, alone.K, args.max_depth)[0], 'scaled': points(zs, alone.K, args.max_depth)[0],
             'at_truth': points(np.where(mask & (truth <= args.max_depth), sample(zs, *at), 0), K, args.max_depth)[0],
             'frame_median': points(np.where(mask & (truth <= args.max_depth), median, 0), K, args.max_depth)[0]}
        a['icp'] = a['scaled']
        if len(a['icp']):
            try:
                a['icp'] = moved(a['icp'], icp(a['icp'], b, tree, radius=args.radius)['motion'])
            except Failure:
                a['icp'] = moved(a['icp'], IDENTITY)  # too few pairs within the radius: it stays where it is
        for k in EACH:
            if len(a[k]):
                found[k].append(measure(a[k], b, tolerances, args.threshold, tree)[0])
    return {k: mean(found[k]) if found[k] else None for k in EACH}


def fused(folder, maps, session, args, tolerances):
    """Rows of fused clouds, confidence_rank, depth_fused, and the truth's cloud."""
    truth_cubes, cubes = Cubes(args.voxel), {k: Cubes(args.voxel) for k in ('raw', 'scaled', 'frame_median')}
    tsdf, depth, share = Tsdf(args.voxel, args.truncation), Row(), []
    for i in maps.frames:
        truth, z = folder.depth(i), maps.depth(i)
        if truth is None or z is None or i not in folder.poses:
            continue
        both = compared(maps, folder, truth, i, args.max_depth)
        if both is None:
            continue
        d, g, part = both
        if len(g):
            depth.add(d, g)
        share.append(part)
        T, K = folder.poses[i], scaled(maps.K, truth.shape[1] / maps.w, truth.shape[0] / maps.h)
        motion = 1.0, T[:3, :3], T[:3, 3]
        xyz, at = points(truth, K, args.max_depth)
        rgb = colours(folder, i, truth.shape, at) if args.picture else None
        truth_cubes.add(moved(xyz, motion), rgb)
        median = upper_median(truth[(truth > 0) & (truth <= args.max_depth)])
        by = median / upper_median(d) if len(d) else 1.0
        for k, map_ in (('raw', z), ('scaled', z * by), ('frame_median', np.full_like(z, median))):
            cubes[k].add(moved(points(map_, maps.K, args.max_depth)[0], motion))
        tsdf.add(z, maps.K, T, args.max_depth)
    truth = truth_cubes.cloud(args.least, 1)
    if not len(truth):
        raise Failure(f'{folder.path}: no cube of the truth was seen in {args.least} frames')
    clouds = {'session': session, 'average': cubes['raw'].cloud(1, args.observations), 'tsdf': tsdf.cloud(args.observations),
              **{k: c.cloud(args.least, 1) for k, c in cubes.items()}}
    rows, rank, tree = {}, np.nan, tree_of(truth.xyz)
    for k in FUSED:
        xyz = clouds[k].xyz
        rows[k] = None
        if len(xyz):
            check(FUSED[k], xyz)
            rows[k], to_truth = measure(xyz, truth.xyz, tolerances, args.threshold, tree)
            rows[k]['walls'] = walls(xyz, truth.xyz, tree)
            if k == 'session' and session.confidence is not None:
                rank = rank_correlation(session.confidence, to_truth)
    whole = brief(depth) | {'share': np.mean(share)} if depth.frames else None
    return {'depth_fused': whole, 'confidence_rank': rank, 'rows': rows}, truth


def colours(folder, i, shape, at):
    rgb = folder.picture(i)
    y, x = np.divmod(at, shape[1])
    return rgb[y * rgb.shape[0] // shape[0], x * rgb.shape[1] // shape[1]].astype(float)


def evaluate(folder, args, tolerances, push, work):
    """The report; push(cloud) sends the frames and answers Maps. Returns it, the truth's cloud and the session's."""
    if folder.has_lens:
        raise Failure(f'{folder.path}: is of a camera that is {folder.meta["model"]}, and clouds are compared of pinhole '
                      'cameras alone')
    if not args.each and not folder.poses:
        raise Failure(f'{folder.path}: has no poses to fuse by: --each needs none')
    head = {'type': 'eval_scene', 'folder': folder.path, 'clouds': 'each frame' if args.each else 'fused'}
    alone = push(None)
    measures = alone_measures(folder, alone, args.max_depth)
    limits = {'max_depth_m': args.max_depth} | ({'radius': args.radius} if args.each else {'voxel': args.voxel})
    if args.each:
        return head | measures | limits | {'rows': each(folder, alone, args, tolerances)}, None, None
    path = f'{work}/session.ply'
    maps = push(path)
    session = read(path)
    found, truth = fused(folder, maps, session, args, tolerances)
    return head | measures | limits | found | {'_maps': maps}, truth, session


def text(r):
    words, fused_ = (EACH, False) if r['clouds'] == 'each frame' else (FUSED, True)
    depth, own = r['depth'], r['depth_scaled']
    lines = [f"{r['folder']}: {r['frames']} frames, {'fused' if fused_ else 'each against its own truth'}, depth up to "
             f"{r['max_depth_m']:g} m, {r['seconds']:.0f} s",
             f"  depth of the network alone: AbsRel {depth['abs_rel']:.3f} as it is, {own['abs_rel']:.3f} median-scaled"]
    if r.get('depth_fused'):
        whole = r['depth_fused']
        lines.append(f"  as the session fuses it: AbsRel {whole['abs_rel']:.3f}, at {100 * whole['share']:.0f} % of the true pixels")
    heads = ['points', 'truth', 'complete', 'accurate', 'F', 'chamfer'] + ['walls', '90 %'] * fused_
    lines.append(f"  {'':32}" + ''.join(f' {h:>9}' for h in heads))
    there = {k: row for k, row in r['rows'].items() if row}
    for k, m in there.items():
        line = f"  {words[k]:32} {m['points']:9} {m['truth_points']:9} {m['completeness']:9.4f} {m['accuracy']:9.4f} " \
               f"{m['f']:9.4f} {m['chamfer_sum']:9.3f}"
        if fused_ and m['walls']['patches']:
            line += f" {m['walls']['median']:9.3f} {m['walls']['p90']:9.3f}"
        lines.append(line)
    for m in list(there.values())[:1]:
        lines.append(f"  (completeness, accuracy and F at {m['threshold']:g} m; chamfer is the sum of both mean distances"
                     + ('; walls: thickness of flat parts, median and nine of ten)' if fused_ else ')'))
    if np.isfinite(r.get('confidence_rank', np.nan)):
        lines.append("  rank correlation of the session's confidence with the distance to the truth: "
                     f"{r['confidence_rank']:.2f} (-1 is best)")
    for k, m in there.items():
        lines += ['  ' + words[k]] + ['  ' + line for line in text_radii(m).splitlines()]
    return '\n'.join(lines)
