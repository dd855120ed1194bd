#!/usr/bin/env python3
"""card.py OUT PART... - the table of `make card`: logs of parts beside the last accepted run

Reads OUT/PART.log and OUT/PART.status, writes OUT/card.tsv, prints the table and what is wrong: a part that failed, a figure
that is missing without a reason, one that is worse than in tests/bench/card.tsv by more than its band (5 %; what is the
slowest of many may be 25 % worse), one that has to be zero. ACCEPT=1 puts the table in the place of tests/bench/card.tsv.

    card.py --load NAME FILE | --walk N FILE | --latency FILE    figures of what a load generator printed
"""
import json
import os
import re
import socket
import subprocess
import sys

import results

ACCEPTED = os.environ.get('CARD_ACCEPTED', 'tests/bench/card.tsv')
HEAD = ['What a GPU host shows (tests/bench/results.py says what columns are): make card ACCEPT=1.']
BAND, TAIL_BAND = 0.05, 0.25
WALKS = (32, 64, 96, 128, 192, 256)
PHONE_MS = 33.4  # an answer that comes before the next frame of 30 a second is due
TORCH = ('eager', 'graph', 'compile')


def spec():
    """Part, figure, better, peers (the smallest that is there counts), whose, limit."""
    rows = []

    def add(part, figure, better, peers=(), whose='', limit=None):
        rows.append((part, figure, better, peers, whose, limit))

    for part, name in (('twins', 'twins'), ('e2e', 'e2e'), ('e2e', 'tenants'), ('e2e', 'beside')):
        add(part, f'{name}.passed', '')
        add(part, f'{name}.failed', 'zero')
        add(part, f'{name}.skipped', 'zero' if name == 'twins' else 'lower')
    for n in (1, 8, 32):
        add('benches', f'net.depth.b{n}', 'lower', [f'torch.depth.b{n}_{way}' for way in TORCH], 'PyTorch', f'net.limit.b{n}')
    for n in (1, 32):
        add('benches', f'net.motion.b{n}', 'lower')
    for n in (1, 8, 32):
        add('benches', f'fuse.b{n}.frame', 'lower', ['paper.resident.frame'], "the paper's kernels", f'fuse.b{n}.limit')
        add('benches', f'cells.b{n}.frame', 'lower', [f'fuse.b{n}.frame'], 'ours, fusion = paper')
    for rules in ('fuse', 'cells'):
        add('benches', f'{rules}.points_100k', 'lower')
        add('benches', f'{rules}.points_10m', 'lower')
        add('benches', f'{rules}.points_ratio', 'lower')
    for n in (2, 5, 9):
        add('benches', f'fuse.keyframes_{n}.rmse', 'lower', [f'paper.keyframes_{n}.rmse'], "the paper's kernels")
    for way in ('resident', 'kernels', 'kernel1', 'serial'):
        add('benches', f'paper.{way}.frame', '')
    for figure in ('stages.swept', 'stages.views_others', 'stages.path_keyframes', 'stages.path_others',
                   'views.swept_1', 'views.frame_1', 'views.frame_32', 'recognise.step1.chain', 'recognise.step2.chain', 'recognise.match_64000',
                   'panorama.500x500x200', 'panorama.250x250x250'):
        add('benches', figure, 'lower')
    for n in (15, 1000):
        add('benches', f'track.paper{n}', 'lower', [f'ceres.paper{n}.squares'], 'Ceres, all cores', f'track.paper{n}.limit')
        add('benches', f'track.rounds{n}', 'lower', [f'ceres.paper{n}.squares'], 'Ceres, all cores', f'track.rounds{n}.limit')
    add('phones', 'phones.fresh_32.longest', 'lower')
    add('phones', 'phones.fresh_32.dropped', 'lower')
    for n in WALKS:
        for key, better in (('p50', 'lower'), ('p95', 'lower'), ('p99', 'lower'), ('used', 'higher'), ('left_out', '')):
            add('phones', f'phones.walk_{n}.{key}', better)
    add('phones', 'phones.walk_most', 'higher')
    for key in ('p50', 'p95', 'p99', 'answer_p50'):
        add('latency', f'latency.{key}', 'lower')
    for n in (1, 32):
        for way in TORCH:
            add('peers', f'torch.depth.b{n}_{way}', '')
    for n in (15, 1000):
        add('peers', f'ceres.paper{n}.squares', '')
    return rows


def band(figure):
    return TAIL_BAND if re.search(r'[.](p95|p99|longest|dropped)$', figure) else BAND


def read_logs(out, parts):
    """Figures (name -> value, unit), reasons (beginning of names -> why), how each part ended."""
    figures, reasons, ends = {}, {}, {}
    for part in parts:
        path = os.path.join(out, part + '.log')
        for line in open(path, encoding='utf-8', errors='replace') if os.path.exists(path) else ():
            if match := re.match(r'@ ([\w.-]+) (-?[\d.]+(?:e[-+]?\d+)?) (\S+)$', line):
                figures[match[1]] = (float(match[2]), match[3])
            elif match := re.match(r'left out: ([\w.-]+): (.+)$', line):
                reasons[match[1]] = match[2]
        path = os.path.join(out, part + '.status')
        ends[part] = int(open(path, encoding='utf-8').read().split()[0]) if os.path.exists(path) else 127
    return figures, reasons, ends


def derive(figures):
    """What is made of other figures: the limit of a network, and how many phones are served."""
    def value(name):
        return figures[name][0] if name in figures else None

    for n in (1, 8, 32):
        gflop, rate, weights = value('net.depth.gflop'), value('torch.matmul_fp16'), value('net.depth.weights')
        if gflop and rate and weights:
            figures[f'net.limit.b{n}'] = (max(1e3 * n * gflop / rate, weights), 'ms')
    served = [n for n in WALKS if f'phones.walk_{n}.p99' in figures and value(f'phones.walk_{n}.p99') <= PHONE_MS and value(f'phones.walk_{n}.left_out') == 0]
    if any(f'phones.walk_{n}.p99' in figures for n in WALKS):
        figures['phones.walk_most'] = (max(served, default=0), 'phones')


def make_rows(figures, reasons, ends, parts, commit, host):
    rows = {}
    for part, figure, better, peers, whose, limit in spec():
        if part not in parts:
            continue
        row = {'figure': figure, 'better': better, 'commit': commit, 'host': host}
        if figure in figures:
            row['value'], row['unit'] = f'{figures[figure][0]:.6g}', figures[figure][1]
        else:
            why = [text for name, text in reasons.items() if (figure + '.').startswith(name + '.')]
            row['why'] = why[0] if why else 'the part ran out of time' if ends[part] in (124, 137) and figure.startswith('torch.') else ''
        there = sorted((figures[p][0], p) for p in peers if p in figures)
        if there:
            row['peer'] = f'{there[0][0]:.6g}'
            row['whose'] = whose + (', ' + there[0][1].rsplit('_', 1)[1] if whose == 'PyTorch' else '')
        if limit in figures:
            row['limit'] = f'{figures[limit][0]:.6g}'
        rows[figure] = row
    return rows


def verdict(row, old):
    """What is wrong with a figure, or ''."""
    if not row.get('value'):
        return '' if row['why'] else 'missing, and nothing says why'
    value = float(row['value'])
    if row['better'] == 'zero':
        return f'{value:g}, which has to be 0' if value else ''
    if not row['better'] or not old or not old['value'] or old['host'] != row['host']:
        return ''
    was, allowed = float(old['value']), 1 + band(row['figure'])
    worse = value > was * allowed if row['better'] == 'lower' else value < was / allowed
    return f'{value:g} {row["unit"]} was {was:g} at {old["commit"]}: {100 * (value / was - 1) if was else 100:+.1f} %' if worse else ''


def show(rows, accepted):
    print(f'{"":28} {"":>8} {"now":>11} {"accepted":>11} {"":>8}  {"peer":>11} {"ratio":>7} {"limit":>11}')
    for name, row in rows.items():
        old = accepted.get(name, {}).get('value')
        if not row.get('value'):
            print(f'{name:28} left out: {row["why"] or "nothing says why"}')
            continue
        value, peer = float(row['value']), row.get('peer')
        moved = f'{100 * (value / float(old) - 1):+7.1f}%' if old and float(old) else ''
        ratio = f'{float(peer) / value:7.4g}' if peer and value else ''
        print(f'{name:28} {row["unit"]:>8} {value:11.5g} {float(old) if old else "-":>11} {moved:>8}  {peer or "":>11} {ratio:>7} {row.get("limit", ""):>11}  {row.get("whose", "")}')


def told(command):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    except OSError:
        return ''


def main(out, parts):
    figures, reasons, ends = read_logs(out, parts)
    derive(figures)
    commit = os.environ.get('COMMIT') or told(['git', 'describe', '--always', '--dirty', '--abbrev=12', '--exclude=*']) or 'unknown'
    card = told(['nvidia-smi', '--query-gpu=name', '--format=csv,noheader']).split('\n')[0] or socket.gethostname()
    rows = make_rows(figures, reasons, ends, parts, commit, f'{card}, {os.cpu_count()} cores')
    accepted = results.read(ACCEPTED)
    results.write(os.path.join(out, 'card.tsv'), rows, HEAD)
    show(rows, accepted)
    wrong = [f'{part}: ended with {end}' for part, end in ends.items() if end and not (part == 'peers' and end in (124, 137))]
    wrong += [f'{name}: {what}' for name, row in rows.items() if (what := verdict(row, accepted.get(name)))]
    wrong += [f'{name}: is in the accepted run and no longer measured' for name in accepted if name not in {row[1] for row in spec()}]
    print('\n'.join(['', *wrong]) if wrong else '\ncard: all is there, and nothing is worse than it was' if accepted else '\ncard: all is there')
    if os.environ.get('ACCEPT') == '1':
        order = [row[1] for row in spec()]
        both = {**accepted, **rows}
        results.write(ACCEPTED, {name: both[name] for name in order if name in both}, HEAD)
        print(f'card: accepted, in {ACCEPTED}; make pages writes what pages say of it')
        wrong = [line for line in wrong if ' was ' not in line and 'no longer measured' not in line]
    elif accepted and (others := {row['host'] for row in accepted.values()} - {row['host'] for row in rows.values()}):
        print(f'card: figures that are accepted of other hosts ({"; ".join(sorted(others))}) were not compared')
    elif not accepted:
        print(f'card: nothing is accepted yet, so nothing was compared: ACCEPT=1 writes {ACCEPTED}')
    return bool(wrong)


# ---------------------------------------------------------------- load generators
def lines_of(path):
    with open(path, encoding='utf-8') as file:
        return [json.loads(line) for line in file if line.startswith('{')]


def say(name, value, unit):
    print(f'@ {name} {value:.6g} {unit}')


def load_figures(name, path):
    run = next(row for row in lines_of(path) if row.get('phase') == 'run')
    say(f'phones.{name}_32.longest', max(run[k]['max_ms'] for k in ('first', 'others')), 'ms')
    say(f'phones.{name}_32.dropped', run['due'] - run['used'], 'frames')


def walk_figures(n, path):
    end = next(row for row in lines_of(path) if row.get('type') == 'summary')
    for key in ('p50', 'p95', 'p99'):
        say(f'phones.walk_{n}.{key}', end[f'latency_{key}_ms'], 'ms')
    say(f'phones.walk_{n}.used', end['used'] / end['seconds'], 'frames/s')
    say(f'phones.walk_{n}.left_out', end['skipped'] + end['dropped'], 'frames')


def latency_figures(path):
    row = lines_of(path)[-1]
    for key in ('p50', 'p95', 'p99'):
        say(f'latency.{key}', row['block'][f'{key}_ms'], 'ms')
    say('latency.answer_p50', row['ack']['p50_ms'], 'ms')


if __name__ == '__main__':
    if sys.argv[1] in ('--load', '--walk'):
        {'--load': load_figures, '--walk': walk_figures}[sys.argv[1]](*sys.argv[2:])
    elif sys.argv[1] == '--latency':
        latency_figures(sys.argv[2])
    else:
        sys.exit(main(sys.argv[1], sys.argv[2:]))
