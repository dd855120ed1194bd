"""A camera's path against the true one.

Poses take camera points to world. Each pose of the estimate is paired with the nearest of the truth in time; where
several are nearest to the same one, the closest is paired.

Alignment: the similarity (s, R, t) that minimises sum |q_i - (s R p_i + t)|^2 over camera centres p (estimate) and q
(truth) (Umeyama 1991); s is 1 for a rigid one.

    ATE  |q_i - (s R p_i + t)|, metres
    RPE  of pairs i and j the motion error (Q_i^-1 Q_j)^-1 (P_i^-1 P_j), P and Q the poses: length of its translation,
         angle of its rotation in degrees. A frame: j is the next pair. A metre: j is the first pair whose true way
         from i is 1 m or more, errors divided by that way. `scaled` multiplies the estimate's translations m_p by one
         number for all pairs, sum m_q.m_p / sum |m_p|^2.

Beside them stand two paths that any estimate must beat: `still`, a camera that never moves, and `constant`, one that
goes on from each pair as the true one came there, and for ATE straight from the first true place to the last.
`online` is the estimate whose motions are multiplied by that number over the motions before, their weight halved
every `half` pairs; it is 1 until the estimate has moved.
"""
import numpy as np
from scipy.spatial.transform import Rotation

from . import Failure


class Path:
    """Poses in the order of time: t [n] seconds, p [n, 3], R (scipy's rotations)."""

    def __init__(self, t, p, q):
        self.t, self.p, self.R = np.asarray(t, float), np.asarray(p, float), Rotation.from_quat(q)

    def __getitem__(self, at):
        return Path(self.t[at], self.p[at], self.R[at].as_quat())

    def __len__(self):
        return len(self.t)


def parse(text, name, rate_hz=0):
    """Lines "seconds tx ty tz qx qy qz qw" (TUM); with rate_hz the first number counts frames."""
    rows = []
    for number, line in enumerate(text.split('\n'), 1):
        if not line.strip() or line.lstrip().startswith('#'):
            continue
        try:
            row = [float(v) for v in line.split()]
        except ValueError:
            row = []
        if len(row) != 8 or not np.isfinite(row).all():
            raise Failure(f'{name}:{number}: a line is eight numbers: t tx ty tz qx qy qz qw')
        if not np.linalg.norm(row[4:]) > 1e-6:
            raise Failure(f'{name}:{number}: the quaternion of a pose has no length')
        rows.append(row)
    if not rows:
        raise Failure(f'{name}: holds no pose')
    rows = np.array(rows)
    rows = rows[np.argsort(rows[:, 0], kind='stable')]
    same = np.nonzero(np.diff(rows[:, 0]) == 0)[0]
    if len(same):
        raise Failure(f'{name}: holds two poses of the moment {rows[same[0], 0]:.9g}')
    return Path(rows[:, 0] / rate_hz if rate_hz else rows[:, 0], rows[:, 1:4], rows[:, 4:])


def associate(estimate, truth, max_gap_s):
    """The pairs: two paths of one length."""
    at = np.searchsorted(truth.t, estimate.t)
    before, after = np.maximum(at - 1, 0), np.minimum(at, len(truth) - 1)
    at = np.where(estimate.t - truth.t[before] <= truth.t[after] - estimate.t, before, after)
    gap = np.abs(estimate.t - truth.t[at])
    best = {}
    for i in np.nonzero(gap <= max_gap_s)[0]:
        if at[i] not in best or gap[i] < gap[best[at[i]]]:
            best[at[i]] = i
    n, shorter = len(best), min(len(estimate), len(truth))
    if n < 3:
        raise Failure(f'only {n} poses are of the same moments: the estimate is of {estimate.t[0]:.3f}...'
                      f'{estimate.t[-1]:.3f} s, the truth of {truth.t[0]:.3f}...{truth.t[-1]:.3f} s, and they may be '
                      f'{max_gap_s:.3g} s apart')
    if 2 * n < shorter:
        raise Failure(f'only {n} of {shorter} poses are within {max_gap_s:g} s of one of the other path: where the truth '
                      'counts frames, --truth-fps says how many a second; --max-gap allows more')
    return estimate[list(best.values())], truth[list(best)]


def align(p, q, with_scale):
    """(s, R [3, 3], t) from points p to q [n, 3]."""
    a, b = p - p.mean(0), q - q.mean(0)
    U, S, V = np.linalg.svd(b.T @ a)
    sign = np.array([1, 1, np.sign(np.linalg.det(U) * np.linalg.det(V))])
    R = (U * sign) @ V
    spread = (a ** 2).sum()
    s = (S * sign).sum() / spread if with_scale and spread > 0 else 1.0
    return s, R, q.mean(0) - s * R @ p.mean(0)


def stats(v):
    if not len(v):
        return None
    return {'n': len(v), 'rmse': np.sqrt(np.mean(v ** 2)), 'mean': np.mean(v), 'median': np.median(v), 'max': np.max(v)}


def ate(p, q, motion):
    s, R, t = motion
    return stats(np.linalg.norm(q - (s * p @ R.T + t), axis=1))


def legs(truth, metres):
    """First and last pair of each leg, and its length; metres 0: from pair to pair, of length 1."""
    if not metres:
        i = np.arange(len(truth) - 1)
        return i, i + 1, np.ones(len(i))
    way = np.concatenate([[0], np.cumsum(np.linalg.norm(np.diff(truth.p, axis=0), axis=1))])
    i = np.arange(len(way))
    j = np.searchsorted(way, way + metres)
    i, j = i[j < len(way)], j[j < len(way)]
    return i, j, way[j] - way[i]


def motions(path, i, j):
    """Translations and rotations from pose i to pose j in the camera of i."""
    return path.R[i].inv().apply(path.p[j] - path.p[i]), path.R[i].inv() * path.R[j]


def rpe(estimate, truth, metres):
    i, j, length = legs(truth, metres)
    if not len(i):
        return rpe_of(np.zeros((0, 3)), np.zeros((0, 3)), [], length)
    (m, turn), (m_true, turn_true) = motions(estimate, i, j), motions(truth, i, j)
    return rpe_of(m, m_true, (turn_true.inv() * turn).magnitude(), length)


def rpe_of(m, m_true, angle, length):
    own = np.sum(m ** 2 / length[:, None] ** 2)
    scale = np.sum(m * m_true / length[:, None] ** 2) / own if own > 0 else 1.0
    return {'scale': scale, 'translation_m': stats(np.linalg.norm(m - m_true, axis=1) / length),
            'translation_scaled_m': stats(np.linalg.norm(scale * m - m_true, axis=1) / length),
            'rotation_deg': stats(np.degrees(angle) / length)}


def constant_rpe(truth, metres):
    """rpe() of a path that goes on from pair i, to the end of the leg, as the true one came there from pair i - 1."""
    i, j, length = legs(truth, metres)
    i, j, length = i[i > 0], j[i > 0], length[i > 0]
    if not len(i):
        return rpe_of(np.zeros((0, 3)), np.zeros((0, 3)), [], length) | {'translation_scaled_m': None}
    step, turn = motions(truth, i - 1, i)
    m_true, turn_true = motions(truth, i, j)
    m, turned = np.zeros_like(step), Rotation.from_quat(np.tile([0, 0, 0, 1.0], (len(i), 1)))
    for k in range(int((j - i).max())):
        goes = (k < j - i)[:, None]
        m = m + np.where(goes, turned.apply(step), 0)
        turned = Rotation.from_quat(np.where(goes, (turned * turn).as_quat(), turned.as_quat()))
    return rpe_of(m, m_true, (turn_true.inv() * turned).magnitude(), length) | {'scale': 1.0, 'translation_scaled_m': None}


def online(estimate, truth, half):
    """Places [n, 3] of the estimate with the scale that was known before each motion, and the last scale."""
    i = np.arange(len(truth) - 1)
    (m, _), (m_true, _) = motions(estimate, i, i + 1), motions(truth, i, i + 1)
    fade, along, own, p, scale = 2 ** (-1 / half), 0.0, 0.0, [estimate.p[0]], 1.0
    for k in i:
        scale = max(along / own, 0) if own > 0 else 1.0
        p.append(p[-1] + scale * (estimate.p[k + 1] - estimate.p[k]))
        along, own = fade * along + m[k] @ m_true[k], fade * own + m[k] @ m[k]
    return np.array(p), scale


def evaluate(estimate, truth, max_gap_s=0.02, half=30):
    """The report; its pairs stand under `_pairs` for a diagram."""
    n = len(estimate), len(truth)
    estimate, truth = associate(estimate, truth, max_gap_s)
    se3, sim3 = (align(estimate.p, truth.p, scale) for scale in (False, True))
    moved, last = online(estimate, truth, half)
    still = estimate[np.zeros(len(truth), int)]
    straight = np.linspace(truth.p[0], truth.p[-1], len(truth))

    def rigid(p):
        return ate(p, truth.p, align(p, truth.p, False))

    return {
        'type': 'eval_trajectory', 'poses_estimate': n[0], 'poses_truth': n[1], 'pairs': len(truth),
        'ate_se3_m': ate(estimate.p, truth.p, se3), 'ate_sim3_m': ate(estimate.p, truth.p, sim3),
        'rpe_frame': rpe(estimate, truth, 0), 'rpe_metre': rpe(estimate, truth, 1),
        'online': {'last_scale': last, 'ate_se3_m': rigid(moved),
                   'translation_m': rpe(Path(estimate.t, moved, estimate.R.as_quat()), truth, 0)['translation_m']},
        'still': {'ate_m': rigid(still.p), 'rpe_frame': rpe(still, truth, 0), 'rpe_metre': rpe(still, truth, 1)},
        'constant': {'ate_m': rigid(straight), 'rpe_frame': constant_rpe(truth, 0), 'rpe_metre': constant_rpe(truth, 1)},
        **{k: {'scale': s, 'rotation': R.ravel(), 'translation_m': t} for k, (s, R, t) in (('se3', se3), ('sim3', sim3))},
        '_pairs': (estimate, truth)}


def text(r):
    """The report as a table; its last columns are what the trivial paths have for RMSE."""
    lines = [f"{r['pairs']} pairs of {r['poses_estimate']} poses and {r['poses_truth']} true ones",
             f"  {'':36}" + ''.join(f' {h:>10}' for h in ('', '', '', '', 'still:', 'constant:')),
             f"  {'':36}" + ''.join(f' {h:>10}' for h in ('RMSE', 'mean', 'median', 'max', 'RMSE', 'RMSE'))]

    def row(name, unit, by, s, *trivial):
        own = ''.join(f' {by * s[k]:10.4f}' for k in ('rmse', 'mean', 'median', 'max')) if s else f"{'the true way is too short':>44}"
        lines.append(f'  {name:36}{own}' + ''.join(f" {by * t['rmse']:10.4f}" if t else f" {'-':>10}" for t in trivial) + f'  {unit}')

    trivial = [r[k]['ate_m'] for k in ('still', 'constant')]
    row('ATE after SE(3)', 'm', 1, r['ate_se3_m'], *trivial)
    row(f"ATE after Sim(3), scale {r['sim3']['scale']:.4f}", 'm', 1, r['ate_sim3_m'], *trivial)
    row('ATE after SE(3), online scale', 'm', 1, r['online']['ate_se3_m'], *trivial)
    for key, name in (('rpe_frame', 'RPE a frame'), ('rpe_metre', 'RPE a metre')):
        trivial = [r[k][key]['translation_m'] for k in ('still', 'constant')]
        row(name + ', translation', 'mm', 1e3, r[key]['translation_m'], *trivial)
        row(f"  after one scale, {r[key]['scale']:.4f}", 'mm', 1e3, r[key]['translation_scaled_m'], *trivial)
        if key == 'rpe_frame':
            row(f"  after online scale, at last {r['online']['last_scale']:.4f}", 'mm', 1e3, r['online']['translation_m'], *trivial)
        row(name + ', rotation', 'degrees', 1, r[key]['rotation_deg'], *(r[k][key]['rotation_deg'] for k in ('still', 'constant')))
    return '\n'.join(lines + ['still: a camera that never moves; constant: one that goes on as it came, and for ATE straight',
                              'from the first place to the last'])
