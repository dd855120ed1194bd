#!/usr/bin/env python3
"""web_embed.py FOLDER OUT.c - the files of the page inside a C file

Each file stands there twice, as it is and as gzip makes it, with its type and an entity tag of its bytes. Defines
`const struct web_file web_files[]`, sorted by path, and `const int n_web_files` (api/server/page.h). What gives no type is left out.
"""
import gzip
import hashlib
import pathlib
import sys

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".webmanifest": "application/manifest+json",
}
PATH_MAX = 95  # HTTP_PATH_CAP


def bytes_of(name, data):
    """A string literal a line; octal escapes of three digits cannot swallow what follows them."""
    lines = ['    "' + "".join(f"\\{b:03o}" for b in data[i:i + 24]) + '"' for i in range(0, len(data), 24)]
    return "\n".join([f"static const char {name}[] =", *(lines or ['    ""'])]) + ";\n"


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    root = pathlib.Path(sys.argv[1])
    out, rows = [], []
    for file in sorted(p for p in root.rglob("*") if p.is_file() and p.suffix in TYPES):
        path = "/" + file.relative_to(root).as_posix()
        if len(path) > PATH_MAX:
            sys.exit(f"{file}: the path is longer than {PATH_MAX} bytes")
        plain = file.read_bytes()
        packed = gzip.compress(plain, 9, mtime=0)
        tag = hashlib.sha256(plain).hexdigest()[:20]
        n = len(rows)
        out += [bytes_of(f"plain_{n}", plain), bytes_of(f"packed_{n}", packed)]
        rows.append(f'    {{"{path}", "{TYPES[file.suffix]}", "{tag}", plain_{n}, {len(plain)}, packed_{n}, {len(packed)}}},\n')
    with open(sys.argv[2], "w", encoding="ascii") as f:
        f.write('#include "api/server/page.h"\n\n')
        f.writelines(out)
        f.write(f"const struct web_file web_files[] = {{\n{''.join(rows)}}};\nconst int n_web_files = {len(rows)};\n")


main()
