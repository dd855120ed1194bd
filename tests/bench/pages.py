#!/usr/bin/env python3
"""pages.py [--check] [PAGE...] - figures in pages are those of committed results (tests/bench/*.tsv), never typed

In a page (default: all of docs/ and README.md)

    <!-- table: NAME -->                       everything to the end is made by the function table_NAME below
    <!-- end -->
    <!-- figure: NAME UNIT -->...<!-- end -->  within a sentence: one figure, in this unit
    <!-- quoted: SOURCE -->                    figures of others, as their papers'
    <!-- end -->

Without --check the pages are written anew. With it nothing is written: a line "page:line: what" says where a page differs
from the results, and where a page of HELD has a figure outside of these marks. A figure is a decimal number before a unit, a decimal
number that fills a table's cell, or any number of ms, us, ns, mm, cm or %. What stands between `backquotes`, or in a block of
code, is no figure: settings and parameters are written so.
"""
import glob
import os
import re
import sys

import results

# pages whose every figure must come from the results
HELD = ('README.md', 'docs/MODELS.md', 'docs/PERFORMANCE.md')

MARK = re.compile(r'(?<!`)<!-- (table|figure|quoted): (.*?) -->')
END = '<!-- end -->'
UNIT = r'(?:%|×|ns|[µu]s|ms|s|min|h|mm|cm|m|km|px|[kMGT]?i?B|bytes?|bits?|(?:frames|points|pictures)/s|fps|Hz|°|degrees?|[GT]FLOP/s|GB/s|million|times)'
NUMBER = r'(?<![\w.,-])[+-]?\d[\d,]*'
FIGURE = re.compile(rf'{NUMBER}(?:\.\d+[  ]?{UNIT}|[  ]?(?:ms|[µu]s|ns|mm|cm|%))(?![\w/])')
CELL = re.compile(rf'(?<=\|)[ *]*{NUMBER}\.\d+[ *]*(?=\|)')


def rows(name):
    return results.read(f'tests/bench/{name}.tsv')


def grid(head, body):
    lines = ['| ' + ' | '.join(head) + ' |', '|---' * len(head) + '|']
    return lines + ['| ' + ' | '.join(cells) + ' |' for cells in body]


def made(some):
    """What a table says below itself: commits and commands of its rows."""
    where = sorted({(row['commit'], row.get('command') or row.get('host', '')) for row in some})
    return ['', '; '.join(f'commit {commit}, `{how}`' for commit, how in where) + '.'] if where else []


def cell(table, name, unit=None):
    row = table.get(name)
    return results.text(results.number(row, unit)) if row and row['value'] else ''


# ---------------------------------------------------------------- quality.tsv
def sequences(table, kind):
    """Names in figures KIND.NAME.*, in the file's order."""
    return list(dict.fromkeys(name.split('.')[1] for name in table if name.startswith(kind + '.')))


def of(table, kind):
    return [row for name, row in table.items() if name.startswith(kind + '.')]


def table_paths():
    """ATE after the best similarity of a session without poses, and of what needs no pictures, for README."""
    q = rows('quality')
    head = ['sequence', 'path off by, cm', 'truth over its length', 'standing still, cm', 'motion that never changes, cm']
    return grid(head, [[name, cell(q, f'path.{name}.ate_sim3', 'cm'), cell(q, f'path.{name}.scale'),
                        cell(q, f'path.{name}.still.ate', 'cm'), cell(q, f'path.{name}.constant.ate', 'cm')]
                       for name in sequences(q, 'path')]) + made(of(q, 'path'))


def table_path_errors():
    q = rows('quality')
    head = ['path without poses']
    body = [[name] for name in sequences(q, 'path')]
    for key, what, unit in (('ate', 'ATE', 'cm'), ('rpe_frame', 'a frame', 'mm'), ('rpe_metre', 'a metre', 'mm')):
        head += [f'{what}, {unit}', 'standing still', 'constant motion']
        for line in body:
            line += [cell(q, f'path.{line[0]}.{way}{key}', unit) for way in ('', 'still.', 'constant.')]
    return grid(head, body) + made(of(q, 'path'))


def table_clouds():
    q = rows('quality')
    head = ['sequence', 'points', 'complete', 'accurate']
    for way in ('session', 'average', 'TSDF'):
        head += [f'{way}: F 3 cm', 'F 5 cm', 'walls, mm']
    body = []
    for name in sequences(q, 'cloud'):
        line = [name] + [cell(q, f'cloud.{name}.session.{key}') for key in ('points', 'complete', 'accurate')]
        for way in ('session', 'average', 'tsdf'):
            line += [cell(q, f'cloud.{name}.{way}.{key}', unit) for key, unit in (('f3', None), ('f5', None), ('wall', 'mm'))]
        body.append(line)
    return grid(head, body) + made(of(q, 'cloud'))


def table_depth():
    q = rows('quality')
    keys = ('frames', 'abs_rel', 'abs_rel_scaled', 'delta1_scaled', 'scale', 'constant')
    head = ['sequence', 'frames', 'AbsRel', 'own scale removed', 'δ < 1.25', 'truth over answer', "AbsRel of the frame's median"]
    return grid(head, [[name] + [cell(q, f'depth.{name}.{key}') for key in keys] for name in sequences(q, 'depth')]) + made(of(q, 'depth'))


def table_quality_gate():
    q = rows('quality')
    body = [[name[5:], results.text(row['value'], 4), row['unit'], f'{100 * float(row["band"]):g} %'] for name, row in q.items() if name.startswith('gate.')]
    return grid(['figure', 'value', 'unit', 'may move by'], body) + made(of(q, 'gate'))


# ---------------------------------------------------------------- card.tsv
WORDS = [(re.compile(pattern + '$'), words) for pattern, words in (
    (r'net\.(\w+)\.b(\d+)', r'\1 network, batch \2'),
    (r'torch\.depth\.b(\d+)_(\w+)', r'PyTorch \2, batch \1'),
    (r'fuse\.b(\d+)\.frame', r'fusion = paper, a frame, batch \1'),
    (r'cells\.b(\d+)\.frame', r'fusion = cells, a frame, batch \1'),
    (r'fuse\.points_(\w+)', r'fusion = paper, points: \1'),
    (r'cells\.points_(\w+)', r'fusion = cells, points: \1'),
    (r'fuse\.keyframes_(\d+)\.rmse', r'RMSE of \1 keyframes'),
    (r'paper\.resident\.frame', "the paper's kernels, data on the device"),
    (r'paper\.kernels\.frame', "the paper's kernels, copies as its Algorithm 2"),
    (r'paper\.kernel1\.frame', "the paper's kernel 1, the rest serial"),
    (r'paper\.serial\.frame', "the paper's serial form"),
    (r'stages\.(\w+)', r'one session, kernel by kernel: \1'),
    (r'views\.swept_(\d+)', r'views, a keyframe that is swept, sessions: \1'),
    (r'views\.frame_(\d+)', r'views, a frame, sessions: \1'),
    (r'recognise\.step(\d)\.chain', r'recognition, every pixel of \1 each way'),
    (r'recognise\.match_(\d+)', r'200 tensors against \1'),
    (r'panorama\.(\w+)', r'a pair carves \1 voxels'),
    (r'track\.paper(\d+)', r"landmarks: \1, the paper's round"),
    (r'track\.rounds(\d+)', r'landmarks: \1, our rounds'),
    (r'latency\.answer_(\w+)', r'one session, last byte in to its answer, \1'),
    (r'latency\.(\w+)', r'one session, last byte in to first change out, \1'),
    (r'phones\.fresh_32\.(\w+)', r'32 phones in a fresh process: \1'),
    (r'phones\.walk_most', r'phones of a walk with p99 in 33 ms and no frame left out'))]


def in_words(name):
    return next((pattern.sub(words, name) for pattern, words in WORDS if pattern.match(name)), name.replace('.', ', '))


def card_rows(*kinds):
    return [row for name, row in rows('card').items() if name.split('.')[0] in kinds]


def with_unit(row, key):
    """A cell of a row of card.tsv; what was not measured says why in place of its value."""
    return f"{results.text(row[key])} {row['unit']}" if row[key] else row['why'] if key == 'value' else ''


def times(row):
    if not (row['value'] and row['peer'] and float(row['value'])):
        return ''
    ratio = float(row['peer']) / float(row['value'])
    return results.text(1 / ratio if row['better'] == 'higher' else ratio)


def card_table(mine):
    """Ours beside a peer; below it what has none."""
    if not mine:
        return ['No run is accepted yet: `make card-accept` on a GPU host writes tests/bench/card.tsv.']
    lines = []
    if beside := [row for row in mine if row['peer'] or row['limit']]:
        lines += grid(['', 'ours', 'peer', 'whose', 'times better', 'limit'],
                      [[in_words(row['figure']), with_unit(row, 'value'), with_unit(row, 'peer'), row['whose'], times(row), with_unit(row, 'limit')]
                       for row in beside]) + ['']
    if alone := [row for row in mine if row not in beside]:
        lines += grid(['', 'ours'], [[in_words(row['figure']), with_unit(row, 'value')] for row in alone]) + ['']
    return lines[:-1] + made(mine)


def table_card_fusion():
    return card_table(card_rows('fuse', 'cells', 'paper'))


def table_card_networks():
    """The peer in the table is the fastest way of PyTorch; all of them below."""
    return card_table(card_rows('net', 'torch'))


def table_card_stages():
    return card_table(card_rows('stages', 'views', 'track', 'panorama', 'recognise'))


def table_card_latency():
    return card_table(card_rows('latency') + [row for row in card_rows('phones') if '.walk_' not in row['figure'] or row['figure'].endswith('_most')])


def table_card_phones():
    """A row a number of phones that walk."""
    table, keys = rows('card'), ('p50', 'p95', 'p99', 'used', 'left_out')
    walks = list(dict.fromkeys(name.split('.')[1] for name in table if name.startswith('phones.walk_') and not name.endswith('_most')))
    if not walks:
        return card_table([])
    return grid(['phones at 30 frames/s', 'p50, ms', 'p95, ms', 'p99, ms', 'frames used a second', 'frames left out'],
                [[walk[5:]] + [cell(table, f'phones.{walk}.{key}') for key in keys] for walk in walks]) + made(card_rows('phones'))


def table_card_tests():
    """A row a group of tests."""
    table, keys = rows('card'), ('passed', 'failed', 'skipped')
    groups = list(dict.fromkeys(name.split('.')[0] for name in table if name.endswith('.passed')))
    if not groups:
        return card_table([])
    return grid(['tests', *keys], [[group] + [cell(table, f'{group}.{key}') for key in keys] for group in groups]) + made(card_rows(*groups))


# ---------------------------------------------------------------- pages
def content(kind, what):
    """The lines between the marks; None: they stay as they are."""
    if kind == 'quoted':
        return None
    if kind == 'table':
        function = globals().get('table_' + what.replace('-', '_'))
        if not function:
            raise ValueError(f'no table {what}')
        return function()
    name, _, unit = what.partition(' ')
    for file in ('quality', 'card'):
        row = rows(file).get(name)
        if row and row['value']:
            shown = unit or ('' if row['unit'] in ('ratio', 'share') else row['unit'])
            return [results.text(results.number(row, unit or None)) + (' ' + shown if shown else '')]
    raise ValueError(f'no figure {name} in tests/bench')


def renew(page, text, tell):
    """The page with everything between marks made anew; what is wrong goes to tell(line, what)."""
    out, at = [], 0
    while match := MARK.search(text, at):
        line = text.count('\n', 0, match.start()) + 1
        end = text.find(END, match.end())
        if end < 0:
            tell(line, f'<!-- {match[1]}: {match[2]} --> has no {END}')
            break
        old = text[match.end():end]
        try:
            new = content(match[1], match[2])
        except (KeyError, ValueError) as error:
            tell(line, str(error))
            new = None
        if new is not None:
            new = new[0] if match[1] == 'figure' else '\n' + '\n'.join(new) + '\n'
            if new != old:
                tell(line, f'differs from what the results say of "{match[2]}": make pages')
        out += [text[at:match.end()], old if new is None else new, END]
        at = end + len(END)
    return ''.join(out) + text[at:]


def blank(match):
    return re.sub(r'[^\n]', ' ', match[0])


def typed(text):
    """Line and text of each figure outside of marks and code."""
    text = re.sub(r'<!-- (?:table|figure|quoted): .+? -->.*?<!-- end -->', blank, text, flags=re.S)
    text = re.sub(r'^```.*?^```', blank, text, flags=re.S | re.M)
    text = re.sub(r'^(?: {4}|\t)(?! *[-*|]).*', blank, text, flags=re.M)
    text = re.sub(r'`[^`\n]*`', blank, text)
    for number, line in enumerate(text.split('\n'), 1):
        for match in [*FIGURE.finditer(line), *(CELL.finditer(line) if line.startswith('|') else ())]:
            yield number, match[0].strip(' *')


def main():
    check = '--check' in sys.argv[1:]
    pages = [a for a in sys.argv[1:] if a != '--check'] or sorted(p for p in [*glob.glob('docs/*.md'), 'README.md'] if os.path.exists(p))
    wrong = []
    for page in pages:
        with open(page, encoding='utf-8') as file:
            text = file.read()
        new = renew(page, text, lambda line, what: wrong.append(f'{page}:{line}: {what}'))
        if check and page in HELD:
            wrong += [f'{page}:{line}: "{what}" is typed: a command makes it (tests/bench/pages.py)' for line, what in typed(text)]
        if not check and new != text:
            with open(page, 'w', encoding='utf-8') as file:
                file.write(new)
            print(f'{page}: written')
    if not check:
        wrong = [line for line in wrong if ': differs ' not in line]
    print('\n'.join(wrong), end='\n' if wrong else '')
    sys.exit(bool(wrong))


if __name__ == '__main__':
    main()
