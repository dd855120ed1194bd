"""figures.py FOLDER NAME... - figures of the reports that tests/bench/quality made: FOLDER/NAME.json, NAME.depth.json, NAME.path.json

Prints the tables of pages (pages.py) of these figures; with ACCEPT=1 they also go to tests/bench/quality.tsv.
"""
import json
import os
import subprocess
import sys

import pages
import results

FILE = 'tests/bench/quality.tsv'
HEAD = ['Figures of quality on the CPU back end (tests/bench/results.py says what columns are).',
        'Rows gate.*: make quality-gate ACCEPT=1; the others: make quality DATA=... ACCEPT=1.']


def load(folder, name):
    path = os.path.join(folder, name)
    return json.load(open(path, encoding='utf-8')) if os.path.exists(path) else None


def f_at(row, r):
    at = next(a for a in row['radii'] if abs(a['r'] - r) < 1e-6)
    found, right = 1 - at['fne'], 1 - at['fpe']
    return 2 * found * right / (found + right) if found + right > 0 else 0


def depth(name, d):
    yield f'depth.{name}.frames', 'frames', d['frames']
    yield f'depth.{name}.abs_rel', 'share', d['frame_mean']['raw']['abs_rel']
    yield f'depth.{name}.abs_rel_scaled', 'share', d['frame_mean']['scaled']['abs_rel']
    yield f'depth.{name}.delta1_scaled', 'share', d['frame_mean']['scaled']['delta1']
    yield f'depth.{name}.constant', 'share', d['frame_mean']['frame_median']['abs_rel']
    yield f'depth.{name}.scale', 'ratio', d['scale_median']


def cloud(name, scene):
    yield f'cloud.{name}.frames', 'frames', scene['frames']
    if fused := scene.get('depth_fused') or scene['depth']:
        yield f'cloud.{name}.abs_rel', 'share', fused['abs_rel']
    for way, row in ((w, scene['rows'][w]) for w in ('session', 'average', 'tsdf')):
        if not row:
            continue
        yield f'cloud.{name}.{way}.points', 'points', row['points']
        yield f'cloud.{name}.{way}.complete', 'share', row['completeness']
        yield f'cloud.{name}.{way}.accurate', 'share', row['accuracy']
        yield f'cloud.{name}.{way}.f3', 'share', f_at(row, 0.03)
        yield f'cloud.{name}.{way}.f5', 'share', row['f']
        if row['walls']['patches']:
            yield f'cloud.{name}.{way}.wall', 'm', row['walls']['median']
            yield f'cloud.{name}.{way}.wall90', 'm', row['walls']['p90']


def path(name, p):
    yield f'path.{name}.ate', 'm', p['ate_se3_m']['rmse']
    yield f'path.{name}.ate_sim3', 'm', p['ate_sim3_m']['rmse']
    yield f'path.{name}.scale', 'ratio', p['sim3']['scale']
    for way in ('still', 'constant'):
        yield f'path.{name}.{way}.ate', 'm', p[way]['ate_m']['rmse']
    for key in ('rpe_frame', 'rpe_metre'):
        for way, of in (('', p), ('still.', p['still']), ('constant.', p['constant'])):
            if of.get(key):
                yield f'path.{name}.{way}{key}', 'm', of[key]['translation_m']['rmse']


def main(folder, names):
    commit = subprocess.run(['git', 'describe', '--always', '--dirty', '--abbrev=12', '--exclude=*'], capture_output=True, text=True,
                            check=False).stdout.strip()
    found = {}
    for make, suffix in ((depth, '.depth'), (cloud, ''), (path, '.path')):
        for name in names:
            for figure, unit, value in make(name, told) if (told := load(folder, f'{name}{suffix}.json')) else ():
                found[figure] = {'figure': figure, 'unit': unit, 'value': f'{value:.6g}', 'band': '', 'commit': os.environ.get('COMMIT', commit),
                                 'command': 'make quality'}
    if os.environ.get('ACCEPT') == '1':
        results.write(FILE, {**results.read(FILE), **found}, HEAD)
    pages.rows = lambda file: found if file == 'quality' else {}
    for table in (pages.table_depth, pages.table_clouds, pages.table_path_errors):
        print('\n'.join(table()) + '\n')


if __name__ == '__main__':
    main(sys.argv[1], sys.argv[2:])
