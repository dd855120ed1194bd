"""What a run leaves behind: everything for --resume, written so that a kill never spoils it, and small parts of it.

    python3 state.py split OUT/state.pt FOLDER [--mode weights|moments]    pieces of at most 15 MiB
    python3 state.py join FOLDER state.pt
    python3 state.py net state.pt mask.pt                          averaged weights of the network that the file is named for

A piece NAME-KK.part is one line of JSON (piece, pieces, the whole's length and SHA-256) and bytes; the whole is one
line of JSON (what the bytes are) and tensors one after the other. `weights` keeps the averaged weights as fp16;
`moments` also AdamW's second moments as 8-bit logarithms, so that the next piece needs no warm-up of the optimiser.
"""
import argparse
import glob
import hashlib
import json
import os

import numpy as np
import torch

META = ('task', 'step', 'spent', 'total', 'piece', 'made', 'seed', 'frozen')
PIECE_BYTES = 15 << 20
TOP_BYTES = 1 << 31         # join refuses more


def write(path, obj):
    """torch.save that either happened or did not. What is no tensor or dictionary goes in as JSON."""
    meta = {k: v for k, v in obj.items() if k in META}
    if meta:        # PyTorch 1.13 reads no numbers without running what is in the file
        raw = np.frombuffer(json.dumps(meta).encode(), np.uint8)
        obj = {**{k: v for k, v in obj.items() if k not in META}, 'meta': torch.from_numpy(raw.copy())}
    tmp = f'{path}.{os.getpid()}'
    with open(tmp, 'wb') as f:
        torch.save(obj, f)
        f.flush()
        os.fsync(f.fileno())
    os.replace(tmp, path)


def read(path, device='cpu'):
    """Tensors and names only: a file from elsewhere runs no code here."""
    obj = torch.load(path, map_location=device, weights_only=True)
    if 'meta' in obj:
        obj.update(json.loads(obj.pop('meta').cpu().numpy().tobytes()))
    return obj


def log8(x):
    """Non-negative floats to bytes: 0, then 255 steps of 2^0.25 (19 %) below the largest."""
    top = float(x.max()) if x.numel() else 0.0
    if top <= 0:
        return np.zeros(x.numel(), np.uint8), 0.0
    steps = torch.round(255 + 4 * torch.log2((x.double() / top).clamp_min(1e-300)))
    return steps.clamp(0, 255).to(torch.uint8).cpu().numpy().reshape(-1), top


def unlog8(raw, top):
    b = torch.from_numpy(raw.astype(np.float64))
    return torch.where(b > 0, top * torch.exp2((b - 255) / 4), torch.zeros_like(b)).float()


def split(path, folder, mode='weights', name='state'):
    """Pieces of a run's state; returns their paths."""
    s = read(path)
    entries, raw = [], []
    for k, v in s['ema'].items():
        a = v.half() if v.is_floating_point() else v
        raw.append(a.contiguous().numpy().tobytes())
        entries.append({'name': k, 'shape': list(v.shape), 'type': str(a.numpy().dtype)})
    if mode == 'moments':
        for k, v in s['opt']['state'].items():
            q, top = log8(v['exp_avg_sq'])
            raw.append(q.tobytes())
            entries.append({'moment': int(k), 'shape': list(v['exp_avg_sq'].shape), 'type': 'uint8',
                            'top': top, 'step': float(v['step'])})
    head = {'entries': entries, **{k: s[k] for k in META}}
    whole = json.dumps(head).encode() + b'\n' + b''.join(raw)
    digest, n = hashlib.sha256(whole).hexdigest(), -(-len(whole) // PIECE_BYTES)
    os.makedirs(folder, exist_ok=True)
    out = []
    for old in glob.glob(os.path.join(folder, f'{name}-*.part')):
        os.remove(old)
    for i in range(n):
        out.append(os.path.join(folder, f'{name}-{i:02d}.part'))
        line = json.dumps({'piece': i, 'pieces': n, 'bytes': len(whole), 'sha256': digest}).encode()
        with open(out[-1], 'wb') as f:
            f.write(line + b'\n' + whole[i * PIECE_BYTES:(i + 1) * PIECE_BYTES])
    return out


def gather(folder, name):
    """Bytes of all pieces, checked."""
    heads, parts = [], []
    for p in sorted(glob.glob(os.path.join(folder, f'{name}-*.part'))):
        with open(p, 'rb') as f:
            heads.append(json.loads(f.readline(4096)))
            parts.append(f.read(PIECE_BYTES + 1))
    if not heads:
        raise SystemExit(f'{folder}: no {name}-*.part')
    h = heads[0]
    want = [(i, h['pieces'], h['sha256']) for i in range(h['pieces'])]
    if [(x['piece'], x['pieces'], x['sha256']) for x in heads] != want:
        raise SystemExit(f'{folder}: pieces of {name} are missing or of different runs')
    whole = b''.join(parts)
    if len(whole) != h['bytes'] or len(whole) > TOP_BYTES or hashlib.sha256(whole).hexdigest() != h['sha256']:
        raise SystemExit(f'{folder}: pieces of {name} are damaged')
    return whole


def join(folder, path, name='state'):
    """state.pt from pieces: averaged weights stand for the weights; moments where they were kept."""
    whole = gather(folder, name)
    cut = whole.index(b'\n')
    head, at = json.loads(whole[:cut]), cut + 1
    ema, moments = {}, {}
    for e in head['entries']:
        a = np.frombuffer(whole, np.dtype(e['type']), int(np.prod(e['shape'], dtype=np.int64)), at)
        at += a.nbytes
        if 'moment' in e:
            square = unlog8(a, e['top']).reshape(e['shape'])
            moments[e['moment']] = {'step': torch.tensor(e['step']), 'exp_avg_sq': square}
        else:
            t = torch.from_numpy(a.copy()).reshape(e['shape'])
            ema[e['name']] = t.float() if t.is_floating_point() else t
    if at != len(whole):
        raise SystemExit(f'{folder}: {len(whole) - at} bytes too many in {name}')
    for m in moments.values():
        m['exp_avg'] = torch.zeros_like(m['exp_avg_sq'])
    write(path, {'net': ema, 'ema': ema, 'opt': {'state': moments}, **{k: head[k] for k in META}})


def net(path, target):
    """NAME.pt, as a run leaves it, out of a run's state."""
    name = os.path.basename(target).split('.')[0] + '.'
    own = {k[len(name):]: v for k, v in read(path)['ema'].items() if k.startswith(name)}
    if not own:
        raise SystemExit(f'{path}: no network {name[:-1]}')
    write(target, own)


def restore_optimiser(opt, saved):
    """Put saved moments into an optimiser's own tensors (a captured graph goes on reading those).

    Returns False where nothing was saved: the optimiser starts fresh.
    """
    params = [p for group in opt.param_groups for p in group['params']]
    found = 0
    for i, p in enumerate(params):
        s = saved['state'].get(i)
        if s is None or s['exp_avg_sq'].shape != p.shape:
            continue
        own = opt.state[p]
        for k in ('exp_avg', 'exp_avg_sq', 'step'):
            v = s[k].to(own[k].device if k in own and torch.is_tensor(own[k]) else p.device)
            if k in own and torch.is_tensor(own[k]):
                own[k].copy_(v)
            else:
                own[k] = v.to('cpu').clone() if k == 'step' and p.device.type == 'cpu' else v.clone()
        found += 1
    return found == len(params)


def main():
    a = argparse.ArgumentParser()
    a.add_argument('what', choices=('split', 'join', 'net'))
    a.add_argument('source')
    a.add_argument('target')
    a.add_argument('--mode', choices=('weights', 'moments'), default='weights')
    a.add_argument('--name', default='state')
    a = a.parse_args()
    if a.what == 'join':
        join(a.source, a.target, a.name)
    elif a.what == 'net':
        net(a.source, a.target)
    else:
        for p in split(a.source, a.target, a.mode, a.name):
            print(p, os.path.getsize(p))


if __name__ == '__main__':
    main()
