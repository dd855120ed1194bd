#!/usr/bin/env python3
"""pages.py - what pages and comments name is there; findings as "file:line: what"

Of the pages: relative links, their anchors, and paths and functions of the tree between backticks. Of pages and sources: sections of a page
(`OPERATIONS.md, "Tokens"`) and equations of MATH.md. docs/API.md has to be what the contract says.
"""
import os
import re
import subprocess
import sys

TOPS = ('api', 'daemon', 'deploy', 'docs', 'gpu', 'proto', 'tests')
SOURCES = ('.c', '.h', '.cu', '.cuh', '.md', '.js', '.py', '.yaml', '.yml')


def find(folders, suffixes):
    for folder in folders:
        for path, names, files in os.walk(folder):
            names[:] = [n for n in names if n not in ('__pycache__', 'corpus', 'node_modules')]
            yield from (os.path.join(path, f) for f in files if f.endswith(suffixes))


def read(path):
    with open(path, encoding='utf-8', errors='replace') as f:
        return f.read()


def line_of(text, at):
    return text.count('\n', 0, at) + 1


def without_code(text):
    """The text, with fenced blocks blank; lines keep their numbers."""
    return re.sub(r'^```.*?^```', lambda m: '\n' * m[0].count('\n'), text, flags=re.M | re.S)


def headings(text):
    return [re.sub(r'\[([^]]*)\]\([^)]*\)', r'\1', h).strip() for h in re.findall(r'^#+ (.*)$', without_code(text), flags=re.M)]


def anchors(text):
    return {re.sub(r'[^\w\- ]', '', h.lower()).replace(' ', '-') for h in headings(text)}


def links(path, text):
    for m in re.finditer(r'\[[^]\n]*\]\(([^)\s]+)\)', without_code(text)):
        target, _, anchor = m[1].partition('#')
        if ':' in target:
            continue
        full = os.path.normpath(os.path.join(os.path.dirname(path), target)) if target else path
        if not os.path.exists(full):
            yield line_of(without_code(text), m.start()), f'no {target}'
        elif anchor and full.endswith('.md') and anchor not in anchors(read(full)):
            yield line_of(without_code(text), m.start()), f'{full} has no #{anchor}'


def paths(text):
    for m in re.finditer(r'`((?:%s)/[\w./-]+)`' % '|'.join(TOPS), without_code(text)):
        if not os.path.exists(m[1]) and not any(os.path.exists(m[1] + s) for s in ('.c', '.h', '_point.h', '_cpu.c')):
            yield line_of(without_code(text), m.start()), f'no {m[1]}'


def functions(text, code):
    for m in re.finditer(r'`(\w+)\(\)`', without_code(text)):
        if m[1] not in code:
            yield line_of(text, m.start()), f'no function {m[1]}()'


def sections(path, text, pages):
    flat = re.sub(r'\n[ \t]*(\*|//|#)?[ \t]*', lambda m: ' ' * len(m[0]), text)
    for m in re.finditer(r'\b([A-Z]{3,})\.md\)?, +(?:section +)?"([^"]+)"', flat):
        name = re.sub(r' +', ' ', m[2])
        if m[1] in pages and name not in pages[m[1]]:
            yield line_of(text, m.start()), f'{m[1]}.md has no section "{name}"'
    for m in re.finditer(r'MATH\.md[^\n.;]*', flat):
        for number in re.findall(r'\(([A-Z]\d+)\)', m[0]):
            if f'({number})' not in pages['MATH'][-1]:
                yield line_of(text, m.start()), f'MATH.md has no ({number})'


def main():
    named = [p for p in ['README.md', *find(TOPS, ('.md',))] if os.path.exists(p)]
    texts = {p: read(p) for p in named}
    pages = {os.path.basename(p)[:-3]: headings(t) + re.findall(r'\*\*([^*\n]+?)\.?\*\*', t)
             for p, t in texts.items() if p.startswith('docs/')}
    numbers = re.findall(r'\([A-Z]\d+\)', texts.get('docs/MATH.md', ''))
    pages['MATH'] = pages.get('MATH', []) + [' '.join(numbers)]
    code = set()
    for path in find(TOPS, SOURCES):
        if not path.endswith('.md'):
            code.update(re.findall(r'\b(\w+)\(', read(path)))
    found = []
    for path, text in texts.items():
        found += [(path, *f) for f in links(path, text)]
        if path.startswith('docs/'):
            found += [(path, *f) for f in paths(text)]
            found += [(path, *f) for f in functions(text, code)]
    for path in find(TOPS, SOURCES):
        if not path.startswith('tests/lint'):
            found += [(path, *f) for f in sections(path, texts.get(path) or read(path), pages)]
    for path, line, what in sorted(set(found)):
        print(f'{path}:{line}: {what}')
    if os.path.exists('api/openapi_page.py'):
        told = subprocess.run([sys.executable, 'api/openapi_page.py', 'api/openapi.yaml', 'docs/API.md', '--check'],
                              capture_output=True, text=True, check=False)
        if told.returncode:
            print(told.stderr.strip().splitlines()[-1])


main()
