"""Depth maps against true ones.

Each pixel of the true map with a reading g up to a limit is compared with the estimate d there, bilinear between
the estimate's pixels. With n pixels in a frame, in metres:

    abs_rel  = mean |d - g| / g      sq_rel   = mean (d - g)^2 / g             delta_k = share with
    rmse     = sqrt mean (d - g)^2   rmse_log = sqrt mean (ln d - ln g)^2      max(d / g, g / d) < 1.25^k

`scaled`: d is first multiplied by median(g) / median(d) of its frame (upper middle). A pixel without estimate counts
as 1 mm. `frame_mean` is the mean of the frames' measures, as tables of depth networks have it; in `pixel_mean` each
reading counts alike, and its abs_rel of the network alone is the MRE of Fathy et al. 2021.

Baselines are fitted to the same truth: one depth for the sequence, one for each row of the picture times the frame's
median. Both minimise abs_rel: the median of the truth weighted by 1 / g, from a histogram of its logarithm.
"""
import numpy as np

from . import Failure

MAX_M, NONE_M = 80.0, 1e-3
KEYS = ('abs_rel', 'sq_rel', 'rmse', 'rmse_log', 'delta1', 'delta2', 'delta3')
ROOTS = (2, 3)                     # of KEYS: their squares are what is averaged over pixels
BINS, BINS_FROM, BINS_SPAN = 2048, np.log(0.01), np.log(1e5)
RANGES, RANGES_FROM_M = 27, 0.25   # three an octave; the first and the last hold all beyond, too
RANGE_LEAST = 100                  # pixels of a range that is drawn
MEASURED = {
    'raw': 'network alone', 'scaled': 'network alone, median-scaled',
    'views': 'with many views', 'views_scaled': 'with many views, median-scaled',
    'frame_median': "each frame's own median", 'constant': 'one depth for all frames', 'row': 'depth of the row, scaled'}


def sample(z, x, y):
    """Map z [h, w] at places x, y, bilinear; what is outside has the nearest pixel's value. NaN places give NaN."""
    h, w = z.shape
    known = np.isfinite(x)
    x, y = np.clip(np.where(known, x, 0), 0, w - 1), np.clip(np.where(known, y, 0), 0, h - 1)
    x0, y0 = x.astype(int), y.astype(int)
    x1, y1 = np.minimum(x0 + 1, w - 1), np.minimum(y0 + 1, h - 1)
    fx, fy = (x - x0).astype(np.float32), (y - y0).astype(np.float32)
    top, low = z[y0, x0] * (1 - fx) + z[y0, x1] * fx, z[y1, x0] * (1 - fx) + z[y1, x1] * fx
    return np.where(known, top * (1 - fy) + low * fy, np.nan)


def pairs(z, truth, at, max_m=MAX_M):
    """Estimates, truths and rows of the pixels that can be compared; at: where they lie in z (Maps.places)."""
    mask = (truth > 0) & (truth <= max_m) & np.isfinite(at[0])
    return (np.maximum(sample(z, at[0][mask], at[1][mask]), NONE_M), truth[mask], np.nonzero(mask)[0])


def upper_median(values):
    return float(np.partition(values, len(values) // 2)[len(values) // 2])


def measure(d, g):
    """The measures of KEYS, float64 [7]."""
    d, g = np.asarray(d, float), np.asarray(g, float)
    off, ratio = np.abs(d - g), np.maximum(d / g, g / d)
    return np.array([np.mean(off / g), np.mean(off * off / g), np.sqrt(np.mean(off * off)),
                     np.sqrt(np.mean(np.log(ratio) ** 2)), *(np.mean(ratio < 1.25 ** k) for k in (1, 2, 3))])


def named(values):
    return dict(zip(KEYS, values))


class Row:
    """Measures of one way to know the depth, over the frames of a sequence."""

    def __init__(self):
        self.frames, self.n = [], []
        self.sums, self.counts = np.zeros(RANGES), np.zeros(RANGES)

    def add(self, d, g):
        self.frames.append(measure(d, g))
        self.n.append(len(g))
        at = np.clip(np.floor(3 * np.log2(g / RANGES_FROM_M)), 0, RANGES - 1).astype(int)
        self.sums += np.bincount(at, np.abs(d - g) / g, RANGES)
        self.counts += np.bincount(at, minlength=RANGES)
        return self.frames[-1]

    def frame_mean(self):
        return np.mean(self.frames, 0)

    def pixel_mean(self):
        values = np.array(self.frames)
        values[:, ROOTS] **= 2
        mean = np.average(values, 0, self.n)
        mean[list(ROOTS)] = np.sqrt(mean[list(ROOTS)])
        return mean

    def by_depth(self):
        return self.sums / np.where(self.counts > 0, self.counts, np.nan)


def best_constant(counts):
    """The c that minimises the sum of |c - v| / v over a histogram of ln v; 0 where it is empty."""
    value = np.exp(BINS_FROM + (np.arange(BINS) + 0.5) * BINS_SPAN / BINS)
    up_to = np.cumsum(counts / value)
    return float(value[min(np.searchsorted(up_to, up_to[-1] / 2), BINS - 1)]) if up_to[-1] > 0 else 0.0


class Fit:
    """Histograms of the truth: of all of it, and for each row of g over its frame's median."""

    def __init__(self, rows):
        self.all, self.row = np.zeros(BINS), np.zeros((rows, BINS))

    def add(self, g, row, median):
        def at(v):
            return np.clip((np.log(v) - BINS_FROM) * (BINS / BINS_SPAN), 0, BINS - 1).astype(int)
        self.all += np.bincount(at(g), minlength=BINS)
        np.add.at(self.row, (row, at(g / median)), 1)

    def rows(self):
        """The best share of a frame's median for each row; a row without truth has the nearest one's."""
        v = np.array([best_constant(r) for r in self.row])
        there = np.nonzero(v > 0)[0]
        return v[there[np.argmin(np.abs(np.arange(len(v))[:, None] - there), 1)]]


def evaluate(folder, alone, views=None, max_m=MAX_M):
    """The report on a folder: alone and views are its Maps, of the network and with many views (or None)."""
    rows = {k: Row() for k in MEASURED if views or 'views' not in k}
    frames, without, refused, fit, rows_high = [], 0, 0, None, None

    def compared(maps, i, truth):
        z = maps.depth(i)
        return z if z is None else pairs(z, truth, maps.places(folder, *truth.shape[::-1]), max_m)

    for i in alone.frames:
        truth = folder.depth(i)
        found = compared(alone, i, truth)
        if found is None:
            refused += 1
            continue
        d, g, row = found
        if not len(g):
            without += 1
            continue
        fit, rows_high = fit or Fit(len(truth)), rows_high or truth.shape
        if truth.shape != rows_high:
            raise Failure(f'{folder.path}: its true depths have unlike sizes')
        median = upper_median(g)
        scale = median / upper_median(d)
        raw, scaled = rows['raw'].add(d, g), rows['scaled'].add(d * scale, g)
        own = rows['frame_median'].add(np.full_like(g, median), g)
        fit.add(g, row, median)
        f = {'frame': folder.names[i], 'at': i, 'pixels': len(g), 'scale': scale, 'median_m': median,
             'abs_rel': raw[0], 'abs_rel_scaled': scaled[0], 'delta1': raw[4], 'delta1_scaled': scaled[4],
             'rmse': raw[2], 'rmse_scaled': scaled[2], 'abs_rel_median': own[0]}
        found = compared(views, i, truth) if views else None
        if found is not None:
            d, g, _ = found
            f['scale_views'] = median / upper_median(d)
            f['abs_rel_views'] = rows['views'].add(d, g)[0]
            f['abs_rel_views_scaled'] = rows['views_scaled'].add(d * f['scale_views'], g)[0]
        frames.append(f)
    if not frames:
        raise Failure(f'{folder.path}: ' + (f'the server used no frame ({refused} refused)' if refused else
                                            f'no frame has a true depth within reach ({without} without)'))
    constant, of_row = best_constant(fit.all), fit.rows()
    for f in frames:
        truth = folder.depth(f['at'])
        mask = (truth > 0) & (truth <= max_m) & np.isfinite(alone.places(folder, *truth.shape[::-1])[0])
        g, row = truth[mask], np.nonzero(mask)[0]
        rows['constant'].add(np.full_like(g, constant), g)
        rows['row'].add((of_row[row] * f['median_m']).astype(np.float32), g)
    return report(folder, alone, rows, frames, refused=refused, without=without, constant=constant, max_m=max_m)


def report(folder, alone, rows, frames, *, refused, without, constant, max_m):
    rows = {k: r for k, r in rows.items() if r.frames}
    mean, pixel = ({k: getattr(r, of)() for k, r in rows.items()} for of in ('frame_mean', 'pixel_mean'))
    head = {}
    for key, row in (('', 'raw'), ('_scaled', 'scaled'), ('_views', 'views'), ('_views_scaled', 'views_scaled')):
        if row in mean:
            head['abs_rel' + key], head['delta1' + key] = mean[row][0], mean[row][4]
    ranges = {k: rows[k].by_depth() for k in ('raw', 'scaled', 'views', 'frame_median') if k in rows}
    edge = RANGES_FROM_M * 2 ** (np.arange(RANGES + 1) / 3)
    return {
        'type': 'eval_depth', 'folder': folder.path, 'measured': {k: MEASURED[k] for k in rows}, 'frames': len(frames),
        'refused': refused, 'without_truth': without, 'pixels': sum(rows['raw'].n), 'max_depth_m': max_m,
        'net_width': alone.w, 'net_height': alone.h, **head, 'mre': pixel['raw'][0], 'mre_scaled': pixel['scaled'][0],
        'scale_median': upper_median(np.array([f['scale'] for f in frames])), 'constant_m': constant,
        'frame_mean': {k: named(mean[k]) if k in mean else None for k in MEASURED},
        'pixel_mean': {k: named(pixel[k]) if k in pixel else None for k in MEASURED},
        'by_depth': [{'from_m': edge[k], 'to_m': edge[k + 1], 'pixels': int(rows['raw'].counts[k]),
                      **{name: values[k] for name, values in ranges.items()}}
                     for k in range(RANGES) if rows['raw'].counts[k]],
        'per_frame': [{k: v for k, v in f.items() if k != 'at'} for f in frames]}


def text(r):
    """The report as tables."""
    lines = [f"{r['folder']}: {r['frames']} frames, input {r['net_width']}x{r['net_height']}, {r['pixels']} true pixels "
             f"up to {r['max_depth_m']:g} m" + (f", {r['refused']} frames refused" if r['refused'] else '')
             + (f", {r['without_truth']} without truth" if r['without_truth'] else '')]
    for title, key, heads in (('mean of the frames', 'frame_mean', ('AbsRel', 'SqRel', 'RMSE m', 'RMSElog', '<1.25', '<1.25^2',
                                                                    '<1.25^3')), ('mean of the pixels', 'pixel_mean', ('(MRE)',))):
        lines.append(f'  {title:32}' + ''.join(f' {h:>8}' for h in heads))
        lines += [f'  {MEASURED[k]:32}' + ''.join(f' {v:8.3f}' for v in m.values()) for k, m in r[key].items() if m]
    lines.append(f"  scale of the frames: {r['scale_median']:.3f} (median); best single depth: {r['constant_m']:.2f} m")
    return '\n'.join(lines)
