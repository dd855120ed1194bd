#!/usr/bin/env python3
"""openapi_embed.py YAML OUT.c - the REST contract as JSON inside a C file

Defines `const char openapi_json[]` and `const size_t openapi_json_len` (without the NUL).
"""
import json
import sys

import yaml


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as f:
        text = json.dumps(yaml.safe_load(f), separators=(",", ":"), ensure_ascii=True)
    with open(sys.argv[2], "w", encoding="ascii") as out:
        out.write("#include <stddef.h>\n\n")
        out.write("extern const char openapi_json[];\nextern const size_t openapi_json_len;\n\n")
        out.write("const char openapi_json[] =\n")
        for i in range(0, len(text), 90):
            piece = text[i:i + 90].replace("\\", "\\\\").replace('"', '\\"').replace("?", "\\?")
            out.write(f'    "{piece}"\n')
        out.write(f";\nconst size_t openapi_json_len = {len(text)};\n")


main()
