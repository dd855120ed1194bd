#!/usr/bin/env python3
"""shape.py clashes MAX | declarations MAX [HEADER=N...] | calls - the shape of the tree in the current folder, stripped of comments

clashes       static functions whose name stands in more than MAX files; twins (x_cpu.c, x_cuda.cu) are one file
declarations  headers that declare more than MAX functions, or more than the N that a row allows
calls         circles of files of one folder, by the functions of each other that they call
Prints one line "file:line: what" a finding.
"""
import os
import re
import sys

from circles import circles, sources

FUNCTION = re.compile(r'^(static )?[A-Za-z_][^;={}()#]*?\b(\w+)\([^;{}]*\)\s*\{', re.M)
PROTOTYPE = re.compile(r'^[A-Za-z_][^;{}=()#]*\([^;{}]*\)[^;{}()]*;', re.M)
CALL = re.compile(r'(?<![\w.>])(\w+)\(')
NOISE = re.compile(r'^[ \t]*#.*(?:\\\n.*)*|__launch_bounds__\([^()]*\)|__attribute__\(\([^()]*(?:\([^()]*\))?[^()]*\)\)', re.M)


def blank(match):
    return re.sub(r'[^\n]', ' ', match[0])


def line_of(text, at):
    return text.count('\n', 0, at) + 1


def clashes(code, most):
    where = {}
    for name, text in sorted(code.items()):
        for m in FUNCTION.finditer(text):
            if m[1]:
                where.setdefault(m[2], {}).setdefault(re.sub(r'_(cpu|cuda)\.\w+$', '', name), f'{name}:{line_of(text, m.start(2))}')
    for function, files in sorted(where.items()):
        if len(files) > int(most):
            yield f'{min(files.values())}: {len(files)} files have a static {function}(), {most} may: {" ".join(sorted(files.values()))}'


def declarations(code, most, *rows):
    allowed = dict(row.split('=') for row in rows)
    for name, text in sorted(code.items()):
        found = list(PROTOTYPE.finditer(text)) if name.endswith('.h') else []
        limit = int(allowed.get(name, most))
        if len(found) > limit:
            yield f'{name}:{line_of(text, found[limit].start())}: declares {len(found)} functions, {limit} are allowed'


def calls(code):
    home, arrows = {}, {}
    for name, text in code.items():
        for m in FUNCTION.finditer(text):
            if not m[1] and not name.endswith('h'):
                home.setdefault(m[2], set()).add(name)
    for name, text in sorted(code.items()):
        arrows[name] = {}
        for m in CALL.finditer(text):
            to = home.get(m[1], set())
            if len(to) == 1 and name not in to and {os.path.dirname(f) for f in to} == {os.path.dirname(name)}:
                arrows[name].setdefault(*to, f'{name}:{line_of(text, m.start())}: calls {m[1]}() of {min(to)}')
    for members in circles(arrows):
        for name in members:
            yield next(arrows[name][to] for to in sorted(arrows[name]) if to in members) + f', in a circle of {len(members)} files'


def main():
    code = {}
    for name in sources(['api', 'daemon', 'gpu', 'proto']):
        with open(name, encoding='utf8') as text:
            code[name] = NOISE.sub(blank, text.read())
    for finding in {'clashes': clashes, 'declarations': declarations, 'calls': calls}[sys.argv[1]](code, *sys.argv[2:]):
        print(finding)


main()
