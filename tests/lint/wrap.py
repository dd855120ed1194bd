#!/usr/bin/env python3
"""wrap.py FILE... - break comments of C sources at 100 columns, in place

clang-format leaves comments alone (ReflowComments: false), since it would run the tables and keyed
paragraphs of our headers into each other. This looks for comment lines that are too long. The whole
paragraph of such a line is joined and filled again; all other paragraphs stay as they are. A comment
behind code that does not fit goes above the whole declaration or statement; where that would leave it
in the middle of one, the line stays too long, and `make lint` shows it to the author.

A paragraph is a run of lines whose text begins at one column. It may begin with a key ("Returns: "), a
list mark ("- ", "1. ") or a name and a gap ("net_load()  file"); then the lines after the first begin
under the text. A line that is much shorter than it could be and ends a sentence ends its paragraph.
"""
import re
import sys

COLUMNS = 100
KEY = re.compile(r"[A-Z][A-Za-z/]{1,9}(?: [a-z]+)?: +(?=\S)")
MARK = re.compile(r"(?:[-*]|\d{1,2}[.)]|\(\w\)) +(?=\S)")
GAP = re.compile(r"\S.{0,30}?  +(?=\S)")
DRAWN = re.compile(r"[|{}]|\"\w+\":|-{3}")


def head(text):
    """How many characters of a paragraph's first line stand before the column of its other lines."""
    m = MARK.match(text) or KEY.match(text) or GAP.match(text)
    return m.end() if m else 0


class Paragraph:
    def __init__(self, column, text, opens):
        """opens: the text stands behind the mark that opens the comment, where no key does"""
        self.column, self.lines = column, [text]
        self.begin = 0 if opens else head(text)
        self.hang = column + self.begin
        self.settled = False

    def takes(self, column, text):
        """Is this line, whose text is at column, more of the paragraph?"""
        last = self.lines[-1]
        if not text or DRAWN.match(text) or DRAWN.match(self.lines[0]) or "   " in text or head(text):
            return False
        room = COLUMNS - (self.hang if self.settled else self.column) - len(last) - 1 - len(text.split(" ", 1)[0])
        if room > 20 and (last[-1] in ".:;" or re.match(r"[A-Z][A-Z_]{2}", text)):
            return False
        if not self.settled and self.begin and KEY.match(last) and column == self.column:
            # a key whose sentence goes on at the margin
            if not re.match(r"[a-z(]", text):
                return False
            self.hang = column
        if column != self.hang:
            return False
        self.settled = True
        return True

    def fill(self, tail):
        """The paragraph's lines as (column, text), with room for tail characters after the last."""
        text, begin = " ".join(self.lines), self.begin
        words = re.findall(r"\s*\S+", text[begin:])
        out, line, column = [], text[:begin] + words[0], self.column
        for i, word in enumerate(words[1:], 2):
            room = COLUMNS - column - (tail if i == len(words) else 0)
            if len(line) + len(word) <= room:
                line += word
            else:
                out.append((column, line))
                line, column = word.strip(), self.hang
        return out + [(column, line)]


def wrap_comment(block):
    """A comment that begins and ends with a line of its own, wrapped if a line of it is too long."""
    if all(len(line) <= COLUMNS for line in block):
        return block
    margin = len(block[0]) - len(block[0].lstrip())
    ruler = re.match(r"\s*/\* (-{20,})", block[0])
    if ruler:
        dashes = ruler.group(1)
        return [block[0].replace(dashes, dashes[: len(dashes) - len(block[0]) + COLUMNS], 1)] + block[1:]
    texts, tail, edge = [], 0, margin + 2
    for i, line in enumerate(block):
        if i == len(block) - 1 and line.strip() == "*/":
            texts.append(None)
            continue
        if i == len(block) - 1:
            line, tail = line.rstrip()[:-2].rstrip(), 3
        m = re.match(r"\s{%d}/\*( *)(.*)$" % margin if i == 0 else r"\s{%d} \*( *)(.*)$" % margin, line)
        if not m:
            return block
        texts.append((edge + len(m.group(1)), m.group(2)))
    paragraphs = []
    for entry in texts:
        if entry and paragraphs and paragraphs[-1] and paragraphs[-1].takes(*entry):
            paragraphs[-1].lines.append(entry[1])
        else:
            paragraphs.append(Paragraph(*entry, not paragraphs) if entry and entry[1] else None)
    out, at = [], 0
    for p in paragraphs:
        old = block[at : at + (len(p.lines) if p else 1)]
        at += len(old)
        if not p or all(len(line) <= COLUMNS for line in old):
            out += old
            continue
        closes = tail if at == len(block) else 0
        for column, text in p.fill(closes):
            out.append(" " * margin + (" *" if out else "/*") + " " * (column - edge) + text)
        if closes:
            out[-1] += " */"
    return out


def comment_at(line):
    """Where a comment begins in a line of code, -1 if nowhere: not in a string, not after a slash."""
    quote, i = "", 0
    while i < len(line):
        c = line[i]
        if quote:
            if c == "\\":
                i += 1
            elif c == quote:
                quote = ""
        elif c in "\"'":
            quote = c
        elif line.startswith("/*", i):
            return i
        elif line.startswith("//", i):
            return -1
        i += 1
    return -1


def code_of(line):
    """A line without the comment behind it."""
    at = comment_at(line)
    return (line if at < 0 else line[:at]).strip()


def start_of(out, code):
    """The index in out where the declaration or statement begins that this code ends; -1: not known."""
    if code.startswith(("}", "#")) or '"' in code:
        return -1
    if re.match(r"[A-Z][A-Z0-9_]*(?: = [^,]*)?,?$", code) or re.match(r"[{.\[].*,$", code):
        return len(out) # a row of an enumeration or of a table
    if code[-1] not in ";{:":
        return -1
    at, text = len(out), code
    while at > 0:
        above = code_of(out[at - 1])
        if text.count(")") <= text.count("("):
            if not above or above.startswith("#") or above[-1] in ";{}:":
                return at
        if not above or above.startswith(("*", "/*")):
            return -1
        text = above + " " + text
        at -= 1
    return 0


def wrap(lines):
    out, i = [], 0
    while i < len(lines):
        line = lines[i]
        at = comment_at(line)
        end = i
        while at >= 0 and end < len(lines) and "*/" not in lines[end][at + 2 if end == i else 0 :]:
            end += 1
        end = min(end, len(lines) - 1)
        block = lines[i : end + 1]
        i = end + 1
        if at >= 0 and not line[:at].strip() and block[-1].rstrip().endswith("*/"):
            out += wrap_comment(block)
        elif len(line) > COLUMNS and at > 0 and len(block) == 1 and line.rstrip().endswith("*/"):
            begin = start_of(out, line[:at].strip())
            if begin < 0:
                out.append(line)
                continue
            first = (out + [line])[begin]
            margin = first[: len(first) - len(first.lstrip())]
            out[begin:begin] = wrap_comment([margin + line[at:].rstrip()])
            out.append(line[:at].rstrip())
        else:
            out += block
    return out


def main():
    for name in sys.argv[1:]:
        with open(name, encoding="utf-8") as f:
            before = f.read()
        after = "\n".join(wrap(before.split("\n")))
        if after != before:
            with open(name, "w", encoding="utf-8") as f:
                f.write(after)


if __name__ == "__main__":
    main()
