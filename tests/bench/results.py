"""Committed figures: tests/bench/*.tsv, read by pages.py, the quality gate and `make card`.

A file has comments (#), a row of column names, and a row a figure, all separated by tabs. Columns: figure (its
name), unit, value (empty where nothing was measured: then `why` says why), and what the file adds:

    quality.tsv  band (a share by which the gate allows it to move), commit, command
    card.tsv     peer, whose, limit (what the card could do), better (lower, higher, zero, or empty for what is only told),
                 commit, host, why
"""
import math
import os

COLUMNS = {
    'quality.tsv': ['figure', 'unit', 'value', 'band', 'commit', 'command'],
    'card.tsv': ['figure', 'unit', 'value', 'peer', 'whose', 'limit', 'better', 'commit', 'host', 'why'],
}
# what a value is divided by to be in another unit
UNITS = {('m', 'cm'): 0.01, ('m', 'mm'): 0.001, ('ms', 'us'): 0.001, ('ms', 's'): 1000, ('us', 'ms'): 1000, ('share', '%'): 0.01}


def read(path):
    """Figure -> row, in the file's order; nothing where there is no file."""
    rows = {}
    if not os.path.exists(path):
        return rows
    with open(path, encoding='utf-8') as file:
        lines = [line.rstrip('\n') for line in file if line.strip() and line[0] != '#']
    names = lines[0].split('\t') if lines else []
    for line in lines[1:]:
        cells = line.split('\t')
        if len(cells) != len(names) or cells[0] in rows:
            raise ValueError(f'{path}: {line!r}: {len(cells)} columns of {len(names)}, or named twice')
        rows[cells[0]] = dict(zip(names, cells))
    return rows


def write(path, rows, head):
    """head: lines of the comment that says how the file is made."""
    names = COLUMNS[os.path.basename(path)]
    with open(path + '.new', 'w', encoding='utf-8') as file:
        file.writelines(f'# {line}\n' for line in head)
        file.write('\t'.join(names) + '\n')
        for row in rows.values():
            file.write('\t'.join(str(row.get(name, '')) for name in names) + '\n')
    os.replace(path + '.new', path)


def text(value, digits=3):
    """A number with so many significant digits, never with an exponent; counts as they are."""
    value = float(value)
    if not math.isfinite(value) or value.is_integer():
        return f'{value:,.0f}'
    places = digits - 1 - math.floor(math.log10(abs(value)))
    return f'{round(value, places):,.{max(places, 0)}f}'


def number(row, unit=None):
    """A row's value, in another unit if one is asked for."""
    value = float(row['value'])
    if unit in (None, row['unit']):
        return value
    return value / UNITS[row['unit'], unit]
