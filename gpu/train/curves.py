"""A run's record (record.jsonl) and its picture.

    python3 curves.py OUT/record.jsonl OUT/curves.png

One JSON object a line: {"kind": "start", ...}, {"kind": "train", "step": ..., "loss": ..., part: ...},
{"kind": "eval", "step": ..., "measures": {...}}, {"kind": "end", ...}. Pieces of a run append to one record.
Drawn with Pillow alone: a host that trains need not have a plotting library.
"""
import json
import math
import sys

from PIL import Image, ImageDraw

W, H, PAD = 560, 220, 44
INK = ((31, 119, 180), (214, 39, 40), (44, 160, 44), (255, 127, 14), (148, 103, 189), (140, 86, 75),
       (90, 90, 90))


def read(path):
    out = []
    for line in open(path):
        try:
            out.append(json.loads(line))
        except json.JSONDecodeError:        # the line that a kill cut short
            continue
    return out


def panel(title, lines, log=True):
    """One diagram. lines: {name: [(step, value)]}."""
    im = Image.new('RGB', (W, H), 'white')
    d = ImageDraw.Draw(im)
    d.text((PAD, 4), title, fill='black')
    pts = [(s, v) for line in lines.values() for s, v in line if math.isfinite(v) and (v > 0 or not log)]
    if not pts:
        return im
    f = math.log if log else (lambda v: v)
    x0, x1 = min(p[0] for p in pts), max(p[0] for p in pts)
    y0, y1 = min(f(p[1]) for p in pts), max(f(p[1]) for p in pts)
    x1, y1 = x1 + (x1 == x0), y1 + (1e-6 if y1 - y0 < 1e-6 else 0)

    def at(s, v):
        return PAD + (s - x0) / (x1 - x0) * (W - PAD - 130), H - 20 - (f(v) - y0) / (y1 - y0) * (H - 48)

    for k in range(5):
        y = y0 + (y1 - y0) * k / 4
        py = H - 20 - (H - 48) * k / 4
        d.line((PAD, py, W - 130, py), fill=(225, 225, 225))
        d.text((2, py - 6), f'{math.exp(y) if log else y:.3g}', fill='black')
    d.text((PAD, H - 14), f'{x0}', fill='black')
    d.text((W - 170, H - 14), f'{x1} steps', fill='black')
    for k, (name, line) in enumerate(lines.items()):
        p = [at(s, v) for s, v in line if math.isfinite(v) and (v > 0 or not log)]
        if len(p) > 1:
            d.line(p, fill=INK[k % len(INK)], width=1)
        for q in p[-1:]:
            d.ellipse((q[0] - 2, q[1] - 2, q[0] + 2, q[1] + 2), fill=INK[k % len(INK)])
        d.text((W - 124, 20 + 13 * k), name[:20], fill=INK[k % len(INK)])
    return im


SHARES = ('iou', 'delta1_scaled', 'within_25', 'found_')         # drawn on a linear scale
# of the held-out pictures themselves: the same at every step
FIXED = ('things', 'true_', 'distance_', 'moved_', 'constant_', 'world_', 'movable_')


def draw(records, path):
    """Loss and its parts, speed and learning rate, and one panel for every measure on held-out scenes."""
    train = [r for r in records if r['kind'] == 'train']
    evals = [r for r in records if r['kind'] == 'eval']

    def series(key):
        return [(r['step'], r[key]) for r in train if key in r]

    skip = ('kind', 'step', 'time', 'rate', 'lr', 'loss')
    parts = {k: series(k) for r in train[-1:] for k in r if k not in skip}
    panels = [panel('loss', {'loss': series('loss'), **parts}),
              panel('samples a second', {'rate': series('rate')}, log=False), panel('learning rate', {'lr': series('lr')})]
    groups = {}
    for r in evals:
        for name, v in r['measures'].items():
            net, kind, measure = name.split('/')
            if measure.startswith(FIXED):
                continue
            groups.setdefault((net, measure), {}).setdefault(kind, []).append((r['step'], v))
    for (net, measure), lines in sorted(groups.items()):
        panels.append(panel(f'held out: {net} {measure}', lines, log=not measure.startswith(SHARES)))
    cols = 2
    out = Image.new('RGB', (cols * W, -(-len(panels) // cols) * H), 'white')
    for k, p in enumerate(panels):
        out.paste(p, ((k % cols) * W, (k // cols) * H))
    out.save(path, optimize=True)


if __name__ == '__main__':
    draw(read(sys.argv[1]), sys.argv[2])
