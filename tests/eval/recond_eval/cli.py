"""recond-eval: options, and where a report goes."""
import argparse
import json
import math
import os
import sys
import tempfile
import time

import numpy as np

from . import Failure, cloud, depth, path, plots, scene, server
from .folder import Folder, description
from .ply import read


def plain(v):
    """What JSON can hold: numbers of nine digits, null where a value is not finite; members that begin with _ stay."""
    if isinstance(v, dict):
        return {k: plain(x) for k, x in v.items() if k[0] != '_'}
    if isinstance(v, (list, tuple, np.ndarray)):
        return [plain(x) for x in v]
    if isinstance(v, (float, np.floating)):
        return float(f'{v:.9g}') if math.isfinite(v) else None
    return v.item() if isinstance(v, np.generic) else v


def writable(*files):
    """Says before the work begins which file could not be written after it."""
    for file in files:
        if file and not os.access(os.path.dirname(file) or '.', os.W_OK):
            raise Failure(f'{file}: cannot be written')


def show(args, reports, words):
    """To standard output: words on a terminal or with --text, else JSON Lines, which also go to --report."""
    lines = [json.dumps(plain(r), separators=(',', ':')) for r in reports]
    if args.report:
        part = args.report + '.part'
        with open(part, 'w', encoding='utf-8') as file:
            file.write('\n'.join(lines) + '\n')
        os.replace(part, args.report)
    as_text = args.text or sys.stdout.isatty() and not args.json
    print('\n'.join(map(words, reports) if as_text else lines), flush=True)


def chosen(args, folder):
    """Frames that are measured, each --every-th up to --frames, and those of them that have a truth."""
    frames = list(range(0, len(folder.names), args.every))[:args.frames]
    known = [i for i in frames if folder.has_depth(i)]
    if not known:
        raise Failure(f'{folder.path}: no frame has a true depth within reach ({len(frames)} without)')
    return frames, known


def run_depth(args):
    if (args.plot or args.plot_depth) and len(args.folder) > 1:
        raise Failure('--plot and --plot-depth show one folder', 2)
    plots.check(args.plot), plots.check(args.plot_depth)
    writable(args.report, args.plot, args.plot_depth)
    reports = []
    for folder in [Folder(name, args.poses) for name in args.folder]:
        frames, known = chosen(args, folder)
        with tempfile.TemporaryDirectory(prefix='recond-eval-') as work:
            alone = server.push(folder, known, work, args)
            views = None
            if folder.poses and not args.alone and 'views=off' not in args.option:
                views = server.push(folder, frames, work, args, cloud='')
            r = depth.evaluate(folder, alone, views, args.max_depth)
        r['without_truth'] += len(frames) - len(known)
        reports.append(r)
    if args.plot:
        plots.depth_frames(args.plot, reports[0])
    if args.plot_depth:
        plots.depth_ranges(args.plot_depth, reports[0], depth.RANGE_LEAST)
    show(args, reports, depth.text)


def load_path(file, rate_hz):
    try:
        with open(file, encoding='utf-8') as f:
            return path.parse(f.read(), file, rate_hz)
    except (OSError, UnicodeDecodeError) as error:
        raise Failure(f'{file}: cannot be read: {error}') from None


def rate_of(file):
    """Frames a second of the folder whose poses.txt a file is; 0 where it is none, or does not say."""
    place, name = os.path.split(file)
    return float(description(place or '.').get('fps', 0)) if name == 'poses.txt' else 0.0


def run_trajectory(args):
    if len(args.file) != (1 if args.session else 2):
        raise Failure('with --session TRUTH alone is named' if args.session else 'ESTIMATE and TRUTH are two files', 2)
    plots.check(args.plot)
    writable(args.report, args.plot)
    with tempfile.TemporaryDirectory(prefix='recond-eval-') as work:
        name = args.session or args.file[0]
        file = f'{work}/path.txt' if args.session else args.file[0]
        if args.session:
            server.run('export', args.session, '--trajectory', '-O', file, *server.link(args))
        estimate = load_path(file, 0)
    truth = load_path(args.file[-1], args.truth_fps or rate_of(args.file[-1]))
    r = path.evaluate(estimate, truth, args.max_gap, args.half)
    r = {'type': r['type'], 'estimate': name, 'truth': args.file[-1], **r}
    if args.plot:
        plots.paths(args.plot, *r['_pairs'], (r['sim3']['scale'], r['sim3']['rotation'].reshape(3, 3), r['sim3']['translation_m']))
    show(args, [r], path.text)


def run_cloud(args):
    files = list(args.file)
    if len(files) + bool(args.session) + bool(args.truth_session) != 2:
        raise Failure('a cloud and the truth are needed: files, --session or --truth-session', 2)
    plots.check(args.plot_distances), plots.check(args.plot_radii)
    writable(args.report, args.plot, args.plot_distances, args.plot_radii)
    tolerances = cloud.radii(args.from_, args.to, args.step)
    names, clouds = [], []
    for session in (args.session, args.truth_session):
        with tempfile.TemporaryDirectory(prefix='recond-eval-') as work:
            file = f'{work}/cloud.ply' if session else files.pop(0)
            if session:
                server.export(args, session, file)
            clouds.append(read(file))
        names.append(session or file)
        cloud.check(names[-1], clouds[-1].xyz)
    start, (a, b) = time.monotonic(), clouds
    tree, first, motion = cloud.tree_of(b.xyz), None, cloud.IDENTITY
    if args.align == 'global':
        first = cloud.register(a.xyz, b.xyz, tree, args.voxel)
        motion = first['motion']
    if args.align == 'none':
        found = cloud.score(a.xyz, tree, motion, args.radius)
    else:
        found = cloud.icp(a.xyz, b.xyz, tree, motion, radius=args.radius, iterations=args.iterations, scale=args.scale,
                          most=args.points)
    a.xyz = cloud.moved(a.xyz, found['motion']).astype(np.float32)
    measures, to_truth = cloud.measure(a.xyz, b.xyz, tolerances, args.threshold, tree)
    r = {'type': 'eval_cloud', 'cloud': names[0], 'truth': names[1], 'align': args.align, 'radius': args.radius, **measures,
         **({'global': cloud.registration(first, len(b))} if first else {}), 'registration': cloud.registration(found, len(b)),
         'seconds': time.monotonic() - start}
    if args.plot:
        with tempfile.TemporaryDirectory(prefix='recond-eval-') as work:
            plots.cloud(args.plot, a, to_truth, args.threshold, work)
    if args.plot_distances:
        plots.cloud_distances(args.plot_distances, to_truth, args.threshold)
    if args.plot_radii:
        plots.cloud_radii(args.plot_radii, r)

    def words(r):
        lines = [f"{r['points']} points against {r['truth_points']} true ones, {r['seconds']:.1f} s"]
        lines += [cloud.text_motion('global', first)] if first else []
        lines += [cloud.text_motion('icp', found)] if args.align != 'none' else []
        return '\n'.join(lines + [f"fitness          {found['fitness']:.4f} within {args.radius:g} m, inlier RMSE "
                                  f"{found['rmse']:.4f} m", '', cloud.text(r)])

    show(args, [r], words)


def run_scene(args):
    if args.each and args.picture:
        raise Failure('--picture is of a fused cloud: without --each', 2)
    plots.check(args.plot)
    writable(args.report, args.plot, args.picture)
    tolerances = cloud.radii(args.from_, args.to, args.step)
    args.max_depth = args.max_depth or (scene.EACH_MAX_M if args.each else scene.FUSED_MAX_M)
    folder, start = Folder(args.folder, args.poses), time.monotonic()
    frames, _ = chosen(args, folder)
    with tempfile.TemporaryDirectory(prefix='recond-eval-') as work:
        def push(file):
            most = min(args.max_depth, 1000) if file else 1000
            return server.push(folder, frames, work, args, cloud=file, max_depth_m=most)

        r, truth, session = scene.evaluate(folder, args, tolerances, push, work)
        r['seconds'] = time.monotonic() - start
        if args.picture:
            middle = [i for i in frames if i in folder.poses]
            middle, maps = middle[len(middle) // 2], r['_maps']
            picture = folder.picture(middle)
            K = scene.scaled(maps.K, picture.shape[1] / maps.w, picture.shape[0] / maps.h)
            plots.scene(args.picture, picture, folder.poses[middle], K, (truth, session), work)
    if args.plot:
        plots.scene_radii(args.plot, r)
    show(args, [r], scene.text)


def number(kind, low, high):
    def parse(text):
        value = kind(text)
        if not low <= value <= high:
            raise ValueError
        return value
    parse.__name__ = f'number from {low:g} to {high:g}:'
    return parse


METRES, COUNT = number(float, 1e-6, 1e6), number(int, 1, 1000000)


def add_output(p):
    p.add_argument('--report', metavar='FILE', help='write the measures as JSON')
    p.add_argument('-j', '--json', action='store_true', help='JSON Lines on standard output, also on a terminal')
    p.add_argument('--text', action='store_true', help='tables on standard output, also off a terminal')


def add_server(p):
    p.add_argument('-u', '--url', help='server; default as of reconctl')
    p.add_argument('--token-file', metavar='FILE', help='file with the bearer token')
    p.add_argument('--ca', metavar='FILE', help='PEM file of the authorities to trust')


def add_frames(p):
    p.add_argument('-n', '--frames', type=COUNT, metavar='N', help='stop after this many frames')
    p.add_argument('--every', type=COUNT, default=1, metavar='N', help='take every N-th frame (1)')
    p.add_argument('--net', metavar='WxH', help="size of the networks' input")
    p.add_argument('--poses', metavar='FILE', help='as of reconctl push')
    p.add_argument('-o', '--option', action='append', default=[], metavar='KEY=VALUE',
                   help='any option of POST /v1/sessions (depth_model=NAME)')


def add_tolerances(p):
    p.add_argument('-t', '--threshold', type=METRES, default=0.05, metavar='METRES', help='of completeness, accuracy and F (0.05)')
    p.add_argument('--from', dest='from_', type=METRES, default=0.04, metavar='METRES', help='first tolerance r (0.04)')
    p.add_argument('--to', type=METRES, default=0.16, metavar='METRES', help='last tolerance r (0.16)')
    p.add_argument('--step', type=METRES, default=0.02, metavar='METRES', help='between tolerances (0.02)')


def add_depth(p):
    p.add_argument('folder', nargs='+')
    p.add_argument('--alone', action='store_true', help='the network alone, not with many views too, where there are poses')
    p.add_argument('--max-depth', type=number(float, 0.01, 1e6), default=depth.MAX_M, metavar='METRES', help='leave out farther truth (80)')
    p.add_argument('--plot', metavar='FILE', help="draw each frame's AbsRel; one folder")
    p.add_argument('--plot-depth', metavar='FILE', help='draw AbsRel against true depth; one folder')
    add_frames(p)
    add_server(p)


def add_trajectory(p):
    p.add_argument('file', nargs='*', metavar='[ESTIMATE] TRUTH')
    p.add_argument('--plot', metavar='FILE', help='draw both paths from above, aligned')
    p.add_argument('--session', metavar='ID', help='the estimate is the path of this session')
    p.add_argument('--max-gap', type=number(float, 0, 1e6), default=0.02, metavar='SECONDS',
                   help='poses of one moment are at most so far apart (0.02)')
    p.add_argument('--truth-fps', type=number(float, 0.001, 1e6), default=0, metavar='N',
                   help='TRUTH counts frames at this rate, as poses.txt of a folder does')
    p.add_argument('--half', type=number(float, 0.1, 1e9), default=30, metavar='POSES',
                   help='the online scale halves the weight of a motion in so many (30)')
    add_server(p)


def add_cloud(p):
    p.add_argument('file', nargs='*', metavar='[CLOUD.ply] [TRUTH.ply]')
    p.add_argument('-p', '--plot', metavar='FILE', help='draw the cloud, each point coloured by its distance from the truth (PNG)')
    p.add_argument('--plot-distances', metavar='FILE', help='draw how many points lie how far from the truth')
    p.add_argument('--plot-radii', metavar='FILE', help='draw FNE, FPE and L_E against the tolerance r')
    p.add_argument('-a', '--align', choices=('none', 'icp', 'global'), default='none',
                   help='before measuring: icp (from where it lies) or global (then icp)')
    p.add_argument('-r', '--radius', type=METRES, default=0.1, metavar='METRES',
                   help='pairs farther apart do not count for registration, fitness and RMSE (0.1)')
    p.add_argument('--iterations', type=COUNT, default=30, metavar='N', help='of ICP, at most (30)')
    p.add_argument('--scale', action='store_true', help='ICP finds a scale too')
    p.add_argument('--points', type=number(int, 0, 1 << 30), default=200000, metavar='N', help='of the cloud, that ICP uses; 0 = all (200000)')
    p.add_argument('--voxel', type=number(float, 0, 1e6), default=0, metavar='METRES',
                   help="cells of global registration; 0 = the truth's diagonal / 128 (0)")
    p.add_argument('-s', '--session', metavar='ID', help="the export of a server's session takes the place of CLOUD")
    p.add_argument('--truth-session', metavar='ID', help="the export of a server's session takes the place of TRUTH")
    add_tolerances(p)
    add_server(p)


def add_scene(p):
    p.add_argument('folder')
    p.add_argument('-p', '--plot', metavar='FILE', help='draw FNE against the tolerance r')
    p.add_argument('--picture', metavar='FILE', help="draw a frame, the true cloud and the session's from there, side by side (PNG)")
    p.add_argument('--each', action='store_true', help="each frame's cloud against its own truth, without poses; means over the frames")
    p.add_argument('--max-depth', type=number(float, 0, 1e6), default=0, metavar='METRES', help='leave out farther depth; 0 = 5, with --each 80 (0)')
    p.add_argument('--voxel', type=number(float, 1e-4, 1e6), default=0.02, metavar='METRES', help='cubes in which depth is fused (0.02)')
    p.add_argument('--least', type=COUNT, default=2, metavar='N', help='frames that a cube of the truth was seen in (2)')
    p.add_argument('--observations', type=COUNT, default=5, metavar='N', help='depths in a cube of the plain average, frames of the TSDF (5)')
    p.add_argument('--truncation', type=number(float, 1e-4, 1e6), default=0.08, metavar='METRES', help='of the TSDF (0.08)')
    p.add_argument('-r', '--radius', type=METRES, default=1, metavar='METRES', help='of ICP, with --each; 30 iterations (1)')
    p.add_argument('--sensor-depth', action='store_true', help='as of reconctl push')
    add_tolerances(p)
    add_frames(p)
    add_server(p)


COMMANDS = {
    'depth': (add_depth, run_depth, 'measure depth networks on folders with true depth'),
    'trajectory': (add_trajectory, run_trajectory, 'measure the path of a camera against the true one'),
    'cloud': (add_cloud, run_cloud, 'measure a point cloud against the true one'),
    'scene': (add_scene, run_scene, 'measure the clouds of a folder against its true depth')}


def main():
    parser = argparse.ArgumentParser(prog='recond-eval', description='Measures of depth maps, paths and clouds against the truth.')
    commands = parser.add_subparsers(dest='command', required=True, metavar='COMMAND')
    for name, (add, _, summary) in COMMANDS.items():
        p = commands.add_parser(name, help=summary, description=summary[0].upper() + summary[1:] + '.')
        add(p)
        add_output(p)
    args = parser.parse_args()
    try:
        COMMANDS[args.command][1](args)
    except Failure as failure:
        if str(failure):
            print(f'recond-eval: {failure}', file=sys.stderr)
        return failure.status
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        print(f'recond-eval: {error}', file=sys.stderr)
        return 1
    return 0
