#!/usr/bin/env python3
"""circles.py [FOLDER...] - circles among the modules of a tree, by what their files include

A module is a header with its sources and its parts, which begin with its name: session.h, session.c,
session_info.c are one. A circle is a set of modules each of which needs, in the end, all others.
Prints one line "file:line: what" for each module of a circle, nothing where there is none.
"""
import os
import re
import sys

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.M)


def sources(folders):
    for folder in folders:
        for at, below, names in os.walk(folder):
            below[:] = [b for b in below if b != "train"]
            for name in names:
                if name.endswith((".c", ".h", ".cu", ".cuh")):
                    yield os.path.join(at, name)


def module_of(path, headers):
    """The module that a file belongs to: the header with the shortest name that its own begins with."""
    folder, name = os.path.split(path)
    words = name.split(".")[0].split("_")
    for n in range(1, len(words) + 1):
        stem = os.path.join(folder, "_".join(words[:n]))
        if stem + ".h" in headers:
            return stem
    return os.path.join(folder, "_".join(words))


def arrows_of(files):
    headers = {f for f in files if f.endswith(".h")}
    arrows = {}
    for f in sorted(files):
        own = module_of(f, headers)
        to_all = arrows.setdefault(own, {})
        with open(f, encoding="utf8") as text:
            code = text.read()
        for m in INCLUDE.finditer(code):
            if m.group(1) in files:
                to = module_of(m.group(1), headers)
                if to != own:
                    to_all.setdefault(to, (f, code.count("\n", 0, m.start()) + 1))
    return arrows


def circles(arrows):
    """Tarjan's strongly connected components, those of more than one module."""
    index, low, stack, on, found = {}, {}, [], set(), []

    def visit(v):
        index[v] = low[v] = len(index)
        stack.append(v)
        on.add(v)
        for w in sorted(arrows.get(v, {})):
            if w not in index:
                visit(w)
                low[v] = min(low[v], low[w])
            elif w in on:
                low[v] = min(low[v], index[w])
        if low[v] == index[v]:
            members = []
            while not members or members[-1] != v:
                members.append(stack.pop())
                on.discard(members[-1])
            if len(members) > 1:
                found.append(sorted(members))

    sys.setrecursionlimit(10000)
    for v in sorted(arrows):
        if v not in index:
            visit(v)
    return found


def main():
    files = set(sources(sys.argv[1:] or ["daemon", "api", "gpu", "proto"]))
    arrows = arrows_of(files)
    for members in circles(arrows):
        for v in members:
            inside = [w for w in sorted(arrows[v]) if w in members]
            f, line = arrows[v][inside[0]]
            print(f"{f}:{line}: {v} is in a circle of {len(members)} modules through {' '.join(inside)}")


if __name__ == "__main__":
    main()
