"""Model card of a network out of the record of its own training.

    python3 card.py depth OUT/record.jsonl ../models/depth.onnx --assets .assets >> card

Prints Markdown: data with licences and credits (read from the asset pack's own lists and from the record of
what video was used), commands, how the loss and the held-out measures went, accuracy on sequences, where
pictures of the failures are.
"""
import argparse
import collections
import json
import os

import onnx

import curves

# options that say how a network was made; the rest (places, how often to save) does not belong in a card
SHOWN = ('task', 'minutes', 'steps', 'total_minutes', 'total_steps', 'lr', 'seed', 'freeze_bn', 'scenes', 'samples',
         'compile')


def command(args):
    words = ['train.py']
    for k in SHOWN:
        v = args.get(k)
        if v is True:
            words.append('--' + k.replace('_', '-'))
        elif v not in (None, False) and not (k == 'minutes' and args.get('steps')):
            words.append(f'--{k.replace("_", "-")} {v}')
    return ' '.join(words)


def pieces(records):
    """One row a piece: what it started from and how far it came."""
    rows, at = [], None
    for r in records:
        if r['kind'] == 'start':
            at = {'start': r, 'end': None, 'train': None}
            rows.append(at)
        elif at is not None and r['kind'] in ('end', 'train'):
            at[r['kind']] = r
    return rows


def training(records):
    yield '| piece | command | from | steps | samples | loss at its end | device |'
    yield '|---|---|---|---|---|---|---|'
    for p in pieces(records):
        s, last = p['start'], p['end'] or p['train'] or p['start']
        begin = ', '.join(f'{i["file"]} ({i["sha256"][:12]})' for i in s['init'])
        begin = begin or (f'step {s["step"]}' if s['step'] else 'random numbers')
        loss = f'{p["train"]["loss"]:.3f}' if p['train'] else ''
        end = '' if p['end'] else ' (cut short)'
        yield f'| {s["piece"]} | `{command(s["args"])}` | {begin} | {last["step"]}{end} | ' \
              f'{p["end"]["samples"] if p["end"] else ""} | {loss} | {s["device"]}, torch {s["torch"]} |'


def measures(records, net):
    """Held-out measures of the first and the last evaluation."""
    evals = [r for r in records if r['kind'] == 'eval']
    if not evals:
        yield 'No measures on held-out scenes were taken.'
        return
    table = collections.defaultdict(dict)
    for r in (evals[0], evals[-1]):
        for name, v in r['measures'].items():
            n, kind, m = name.split('/')
            if n == net:
                table[kind, m].setdefault('v', []).append(v)
    steps = [e['step'] for e in (evals[0], evals[-1])]
    yield f'Scenes drawn from seeds that training never uses; steps {steps[0]} and {steps[1]}:'
    yield ''
    yield '| scenes | measure | first | last |'
    yield '|---|---|---|---|'
    for (kind, m), c in sorted(table.items()):
        yield f'| {kind} | {m} | {c["v"][0]:.4g} | {c["v"][-1]:.4g} |'


def credits(folder):
    """What was rendered, by source and licence, with authors, out of the pack's JSON lists."""
    if not folder or not os.path.exists(os.path.join(folder, 'objects/objects.json')):
        yield '- Procedural shapes and textures alone.'
        return
    for part in ('objects', 'textures', 'photos'):
        groups = collections.defaultdict(lambda: [0, collections.Counter()])
        for e in json.load(open(os.path.join(folder, part, part + '.json'))):
            source = e.get('source', 'unknown').split(':')[0]
            g = groups[source, e.get('licence', 'unknown')]
            g[0] += 1
            g[1].update({a.strip() for a in (e.get('author') or '').split(',')} - {''})
        yield f'- {part.capitalize()}:'
        for (source, licence), (n, authors) in sorted(groups.items()):
            names = ', '.join(a for a, _ in authors.most_common())
            yield f'  - {source} ({licence}): {n}' + (f'; {names}' if names else '')


def video(records):
    seen = {v['name']: v for r in records if r['kind'] == 'start' for v in r['video']}
    for v in seen.values():
        yield f'- Video without truth: {v["name"]}, {v["frames"]} frames, {v["licence"]}; {v["source"]}'
    if not seen:
        yield '- No recorded picture was used.'


def accuracy(rows, trained_on):
    keys = list(dict.fromkeys(k for r in rows.values() for k in r))
    yield '| sequence | ' + ' | '.join(keys) + ' |'
    yield '|---' * (1 + len(keys)) + '|'
    for name, r in rows.items():
        note = ' (its pictures were trained on)' if name in trained_on else ''
        yield f'| {name}{note} | ' + ' | '.join(f'{r[k]:.4g}' if k in r else '-' for k in keys) + ' |'


def main():
    a = argparse.ArgumentParser()
    a.add_argument('net')
    a.add_argument('record')
    a.add_argument('onnx')
    a.add_argument('--assets', default='.assets')
    a.add_argument('--failures', default='worst.png and failures.png beside the record')
    a = a.parse_args()
    records = curves.read(a.record)
    packs = {r['pack']['sha256'] for r in records if r['kind'] == 'start' and r['pack']}
    bits = '8-bit weights' if any(n.op_type == 'DequantizeLinear' for n in onnx.load(a.onnx).graph.node) else 'fp16'
    out = [f'# {os.path.basename(a.onnx)}', '', f'{os.path.getsize(a.onnx):,} bytes, {bits}.', '']
    out += ['## Training', '', *training(records), '', '## Accuracy on drawn scenes', '', *measures(records, a.net), '']
    real = [r for r in records if r['kind'] == 'sequences' and r['net'] == a.net and r['measures']]
    if real:
        trained = {v['name'] for r in records if r['kind'] == 'start' for v in r['video']}
        out += ['## Accuracy on real sequences', '', *accuracy(real[-1]['measures'], trained), '']
    out += [f'Failures: {a.failures}.', '', '## Data, licences and credits', '']
    out += [*video(records), *credits(a.assets if packs else None)]
    if len(packs) > 1:
        out.append(f'- {len(packs)} versions of the asset pack were used; the credits are those of one.')
    print('\n'.join(out))


if __name__ == '__main__':
    main()
