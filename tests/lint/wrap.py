#!/usr/bin/env python3
"""wrap.py FILE... - break comments of C sources at 100 columns, in place

clang-format leaves comments alone (ReflowComments: false), since it would run the tables and keyed
paragraphs of our headers into each other. This touches only lines that are too long: their end goes to the
next line where that goes on in the same paragraph, else to a line of its own; a comment behind code that
does not fit goes above it.
"""
import re
import sys

COLUMNS = 100
KEYED = re.compile(r"[A-Z][A-Za-z/]{1,9}(?: [a-z]+)?: +")
ITEM = re.compile(r"[-*{|(\d\"]|[A-Z][A-Za-z/]{1,9}(?: [a-z]+)?: ")
INSIDE = re.compile(r"(\s*)\*( *)(.*)$")


def cut(line, indent):
    """Two parts of a line, the first at most COLUMNS long; None if no blank is right of indent."""
    at = line.rfind(" ", indent + 1, COLUMNS + 1)
    if at > 0 and line[at:].strip() == "*/":
        at = line.rfind(" ", indent + 1, at)
    return None if at <= indent else (line[:at].rstrip(), line[at:].strip())


def hanging(line, start, following):
    """Column where the lines after this one begin: as they do, else under the text behind a key."""
    m = INSIDE.match(following)
    text = line[start:]
    key = KEYED.match(text) or re.match(r"\S.{0,30}?  +(?=\S)", text)
    if m and m.group(3) and not m.group(3).startswith("/") and key:
        begins = len(m.group(1)) + 1 + len(m.group(2))
        if begins > start and not ITEM.match(m.group(3)):
            return begins
    return start + len(key.group(0)) if key else start


def goes_on(line, margin, indent):
    """Is this line of a comment more of a paragraph whose text starts at column indent?"""
    m = INSIDE.match(line)
    if not m or not m.group(3) or m.group(3).startswith("/") or len(m.group(1)) != margin:
        return False
    text = m.group(3)
    return margin + 1 + len(m.group(2)) == indent and not ITEM.match(text) and "   " not in text


def wrap(lines):
    out, i, block = [], 0, False
    while i < len(lines):
        line = lines[i]
        i += 1
        opens = re.match(r"(\s*)/\*+ ?", line)
        alone = opens and ("*/" not in line or line.rstrip().endswith("*/"))
        was, closes = block, "*/" in line
        if not was and opens and not closes:
            block = True
        elif was and closes:
            block = False
        ruler = re.match(r"\s*/\* (-{20,})", line)
        if len(line) > COLUMNS and ruler:
            line = line.replace(ruler.group(1), ruler.group(1)[: len(ruler.group(1)) - len(line) + COLUMNS], 1)
        if len(line) <= COLUMNS:
            out.append(line)
            continue
        inside = INSIDE.match(line) if was else None
        if inside and inside.group(3):
            margin = len(inside.group(1))
            start = margin + 1 + len(inside.group(2))
            indent = hanging(line, start, lines[i] if i < len(lines) else "")
        elif not was and alone:
            margin = len(opens.group(1)) + 1
            start = indent = margin + 2
        else:
            behind = re.match(r"(\s*)(\S.*?)\s*(/\*.*\*/)$", line)
            if was or not behind or '"' in behind.group(2) or behind.group(2).startswith("#"):
                out.append(line)
            else:
                lines[i:i] = [behind.group(1) + behind.group(3), behind.group(1) + behind.group(2)]
            continue
        parts = cut(line, indent)
        if not parts:
            out.append(line)
            continue
        out.append(parts[0])
        ended = "*/" in parts[1]
        if not ended and i < len(lines) and goes_on(lines[i], margin, indent):
            lines[i] = lines[i][:indent] + parts[1] + " " + lines[i][indent:]
        else:
            lines.insert(i, " " * margin + "*" + " " * (indent - margin - 1) + parts[1])
        # what was carried over is inside a comment, whatever the line before was
        block = True
    return out


def main():
    for name in sys.argv[1:]:
        with open(name, encoding="utf-8") as f:
            before = f.read()
        after = "\n".join(wrap(before.split("\n")))
        if after != before:
            with open(name, "w", encoding="utf-8") as f:
                f.write(after)


main()
