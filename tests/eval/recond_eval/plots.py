"""Diagrams, by matplotlib, and pictures of clouds, by `reconctl render`."""
import numpy as np
from PIL import Image
from scipy.spatial.transform import Rotation

from . import Failure
from .ply import Cloud, write
from .server import run

SUFFIXES = ('.svg', '.png', '.pdf')


def check(path):
    if path and not path.endswith(SUFFIXES):
        raise Failure(f"a diagram's name ends in {', '.join(SUFFIXES)}, unlike '{path[:60]}'", 2)


def draw(path, title, x_label, y_label, series, *, equal=False, zero=True):
    """series: [(name, x, y)]; values that are not finite are left out."""
    if not any(np.isfinite(np.asarray(y, float)).any() for _, _, y in series):
        raise Failure(f'{path}: there is no value to show')
    import matplotlib
    matplotlib.use('agg')
    matplotlib.rcParams['svg.fonttype'] = 'none'
    from matplotlib import pyplot
    figure, axes = pyplot.subplots(figsize=(9.6, 5.4))
    for name, x, y in series:
        axes.plot(x, y, label=name, marker='.' if len(x) < 60 else None)
    axes.set(title=title, xlabel=x_label, ylabel=y_label)
    axes.grid(color='0.88')
    axes.legend()
    if equal:
        axes.axis('equal')
    elif zero:
        axes.set_ylim(bottom=0)
    try:
        figure.savefig(path)
    except OSError as error:
        raise Failure(f'{path}: cannot be written: {error.strerror}') from None
    pyplot.close(figure)


def depth_frames(path, r):
    shown = (('network alone', 'abs_rel'), ('median-scaled', 'abs_rel_scaled'), ('with many views', 'abs_rel_views'),
             ('constant: own median', 'abs_rel_median'))
    frames = r['per_frame']
    draw(path, 'Depth error of each frame', 'frame', 'AbsRel',
         [(name, np.arange(len(frames)), [f.get(key, np.nan) for f in frames]) for name, key in shown
          if any(key in f for f in frames)])


def depth_ranges(path, r, least):
    shown = (('network alone', 'raw'), ('median-scaled', 'scaled'), ('with many views', 'views'),
             ('constant: own median', 'frame_median'))
    ranges = [b for b in r['by_depth'] if b['pixels'] >= least]
    x = [np.sqrt(b['from_m'] * b['to_m']) for b in ranges]
    draw(path, 'Depth error by true depth', 'true depth, m', 'AbsRel',
         [(name, x, [b[key] for b in ranges]) for name, key in shown if key in r['measured']])


def paths(path, estimate, truth, motion):
    """Both paths along the two axes in which the true one is widest."""
    s, R, t = motion
    moved, start = s * estimate.p @ R.T + t, truth.p[0]
    a, b = sorted(np.argsort(np.abs(truth.p - start).max(0))[1:])
    draw(path, 'True path, and estimate after Sim(3)', f'{"xyz"[a]} from the start, m', f'{"xyz"[b]} from the start, m',
         [(name, (p - start)[:, a], (p - start)[:, b]) for name, p in (('truth', truth.p), ('estimate', moved))], equal=True)


def cloud_distances(path, distance, threshold):
    edges = np.arange(61) * threshold / 20
    share = 100 * np.histogram(np.minimum(distance, edges[-1] - 1e-12), edges)[0] / len(distance)
    draw(path, 'Points by distance from the truth', 'distance, m; the last column holds all beyond', '% of the points',
         [('cloud', np.repeat(edges, 2)[1:-1], np.repeat(share, 2)), ('threshold', [threshold] * 2, [0, share.max()])])


def cloud_radii(path, r):
    x = [a['r'] for a in r['radii']]
    draw(path, 'Errors by tolerance', 'tolerance r, m', 'share; L_E in metres',
         [(name, x, [a[key] for a in r['radii']]) for name, key in (
             ('FNE: truth not found', 'fne'), ('FPE: points of nothing', 'fpe'), ('L_E: mean of the found', 'l_e_mean'))])


def scene_radii(path, r):
    draw(path, 'Truth that is not found, by tolerance', 'r, m', 'FNE',
         [(k, [a['r'] for a in row['radii']], [a['fne'] for a in row['radii']]) for k, row in r['rows'].items() if row])


# ------------------------------------------------------------------------------------------------ pictures of clouds

def cloud(path, c, distance, threshold, work):
    """The cloud, blue on the truth, green at the threshold, red from twice that on."""
    x = np.minimum(distance / threshold, 2)[:, None]
    rgb = 40 + np.hstack([200 * np.maximum(0, x - 1), 180 * np.minimum(x, 2 - x), 200 * np.maximum(0, 1 - x)])
    file = f'{work}/coloured.ply'
    write(file, Cloud(c.xyz, rgb.astype(np.uint8), up=c.up))
    run('render', file, '-O', path)


def scene(path, picture, T_wc, K, clouds, work):
    """A frame, and clouds from half a metre behind its camera, side by side; K of the picture."""
    h = 480
    w, by = picture.shape[1] * h // picture.shape[0], h / picture.shape[0]
    p, q = T_wc[:3, 3] - 0.5 * T_wc[:3, 2], Rotation.from_matrix(T_wc[:3, :3]).as_quat()
    panels = [Image.fromarray(picture).resize((w, h))]
    for k, c in enumerate(clouds):
        file = f'{work}/panel{k}'
        write(file + '.ply', c)
        run('render', file + '.ply', '-O', file + '.png', '--size', f'{w}x{h}', '--view=' + ','.join(f'{v:.9g}' for v in (*p, *q)),
            '--camera', ','.join(f'{v:.9g}' for v in (0.8 * K[0] * by, 0.8 * K[1] * by, K[2] * by, K[3] * by)))
        with Image.open(file + '.png') as panel:
            panels.append(panel.convert('RGB'))
    Image.fromarray(np.hstack([np.asarray(p) for p in panels])).save(path, 'PNG')
