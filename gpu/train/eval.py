"""Measure networks on real sequences (folders with sequence.json, frames/, depth/, poses.txt).

    python3 eval.py depth  WEIGHTS FOLDER... [--size 256x192] [--every 1] [--sheet out.png] [--json out.json]
                           [--record record.jsonl]
    python3 eval.py motion WEIGHTS FOLDER...          needs poses.txt
    python3 eval.py pull   WEIGHTS FOLDER... [--every 5]           needs no truth
    python3 eval.py mask   WEIGHTS FOLDER... [--every 3] [--sheet out.png]            needs no truth: pictures
    python3 eval.py objmotion WEIGHTS FOLDER... --masks mask.pt [--depth depth.onnx] [--gap 1] [--sheet out.png]
    python3 eval.py shrink FOLDER OUT --width 320 [--every 3]     a small copy to carry to a GPU host

WEIGHTS: NAME.pt of a run or an exported .onnx. Depth is compared at the truth's own pixels (prediction
interpolated in log depth): AbsRel and delta<1.25 after each frame's median is matched, AbsRel as it is
(metric), over all pixels with truth up to --far metres. Motion is compared per frame with the poses:
translation after one scale for the sequence (least squares), rotation in degrees; means and root mean squares.
`pull` zooms into each picture's middle and asks again: the same depth should come out, seen through a longer
focal length. 0 says that it does; 1 that the network answers its usual depth whatever it sees, so that its
scale is a habit.
`mask` shows what is called movable, `objmotion` with arrows how the parts of the mask move from a frame to the one
--gap later (green), and where they would be if they rested in the world (blue, where there are poses). Numbers
beside the pictures: `stays`, overlap of neighbouring masks; `moved_m`, how far things go by the network, `seen_m`
by the folder's depth and the masks alone, `off_m` between the two ends, `rests_off_m` the same for the answer that
they rest in the world (medians).
"""
import argparse
import json
import math
import os

import numpy as np
import torch
import torch.nn.functional as F
from PIL import Image

import model
import real_things
import state

SIZES = {'road': (416, 128)}            # network input where it is not 256x192


def load(path, kind):
    net = model.NETS[kind]()
    if path.endswith('.onnx'):
        import export
        net = net.fold()
        own = net.state_dict()
        net.load_state_dict({k: torch.from_numpy(v) for k, v in export.weights(path).items() if k in own})
    else:
        net.load_state_dict(state.read(path))
    dev = 'cuda' if torch.cuda.is_available() else 'cpu'
    return net.eval().to(dev), dev


class Sequence:
    def __init__(self, folder):
        self.folder, self.meta = folder, json.load(open(os.path.join(folder, 'sequence.json')))
        self.names = sorted(f[:-4] for f in os.listdir(os.path.join(folder, 'frames')) if f.endswith('.jpg'))
        self.poses = {}
        path = os.path.join(folder, 'poses.txt')
        if os.path.exists(path):
            for line in open(path):
                v = line.split()
                if len(v) == 8 and not line.startswith('#'):
                    self.poses[int(v[0])] = np.array(v[1:], float)

    def image(self, name, W, H):
        """Network-sized picture [3,H,W] normalised, and its intrinsics fx fy cx cy in pixels."""
        im = Image.open(os.path.join(self.folder, 'frames', name + '.jpg')).convert('RGB')
        sx, sy = W / im.width, H / im.height
        k = self.meta
        K = (k['fx'] * sx, k['fy'] * sy, (k['cx'] + 0.5) * sx - 0.5, (k['cy'] + 0.5) * sy - 0.5)
        a = np.asarray(im.resize((W, H), Image.BOX), np.float32) / 255.0
        return torch.from_numpy(((a - model.MEAN) / model.STD).astype(np.float32).transpose(2, 0, 1)), K

    def depth(self, name):
        path = os.path.join(self.folder, 'depth', name + '.png')
        if not os.path.exists(path):
            return None
        return np.asarray(Image.open(path)).astype(np.float32) * self.meta['depth_unit_m']


def rotation(q):
    x, y, z, w = q / np.linalg.norm(q)
    return np.array([[1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
                     [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
                     [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)]])


def axis_angle_matrix(w):
    from scenes.build import axis_angle
    return axis_angle(np.asarray(w, float))


def eval_depth(net, dev, seq, W, H, every, far, cells=None):
    """Means over frames of: scaled AbsRel, scaled delta<1.25, metric AbsRel, and the scale itself."""
    rows = []
    for k, name in enumerate(seq.names):
        z = seq.depth(name)
        if z is None or k % every:
            continue
        x, K = seq.image(name, W, H)
        with torch.no_grad():
            v = net(x[None].to(dev)).float()
        p = F.interpolate(v, z.shape, mode='bilinear', align_corners=False)[0, 0].cpu().numpy()
        p = np.clip(np.exp(p) * math.sqrt(K[0] * K[1]) / model.FOCAL_PX, model.MIN_DEPTH_M, model.MAX_DEPTH_M)
        m = (z > 0) & (z < far)
        if m.sum() < 50:
            continue
        t, q = z[m], p[m]
        s = np.median(t) / np.median(q)
        r = np.maximum(q * s / t, t / (q * s))
        rows.append((np.mean(np.abs(q * s - t) / t), np.mean(r < 1.25), np.mean(np.abs(q - t) / t), s))
        if cells is not None and len(rows) % 8 == 1 and len(cells) < 12:
            cells.append(failure_cell(x, z, p * s))
    return np.array(rows)


def eval_pull(net, dev, seq, W, H, every, zooms=(1.25, 1.6, 2.0)):
    """Mean over frames and zooms of how much of log(zoom) is missing in the answer, and its spread."""
    rows = []
    for name in seq.names[::every]:
        x, _ = seq.image(name, 2 * W, 2 * H)        # twice the size, so that a zoom by 2 has real pixels
        x = x[None].to(dev)
        with torch.no_grad():
            whole = net(F.interpolate(x, (H, W), mode='area')).float()
        for s in zooms:
            h, w = round(H / s), round(W / s)
            y, z = H - h, W - w
            cut = x[:, :, y:y + 2 * h, z:z + 2 * w]
            cut = F.interpolate(cut, (H, W), mode='bilinear', align_corners=False)
            with torch.no_grad():
                near = net(cut).float().median().item()
            y, z = (H - h) // 2, (W - w) // 2
            rows.append(1 + (near - whole[..., y:y + h, z:z + w].median().item()) / np.log(s))
    return {'frames': len(seq.names[::every]), 'pull': float(np.mean(rows)), 'pull_std': float(np.std(rows))}


def rests(seq):
    """Function of two names: motion [3,4] of what rests, first camera's frame to second's, or None without poses."""
    def motion(a, b):
        if int(a) not in seq.poses or int(b) not in seq.poses:
            return None
        (pa, Ra), (pb, Rb) = ((seq.poses[int(n)][:3], rotation(seq.poses[int(n)][3:])) for n in (a, b))
        return torch.from_numpy(np.concatenate([Rb.T @ Ra, (Rb.T @ (pa - pb))[:, None]], 1)).float()
    return motion if seq.poses else None


def eval_things(a, net, dev):
    """Masks or object motion over folders: result of each, pictures in one sheet."""
    result, cells = {}, [] if a.sheet else None
    if a.what == 'objmotion':
        if not a.masks:
            raise SystemExit('objmotion needs --masks: the weights of a mask network that finds the things')
        masks, depth = load(a.masks, 'mask')[0], load(a.depth, 'depth')[0] if a.depth else None
    for folder in a.paths[1:]:
        seq = Sequence(folder)
        name = seq.meta['name']
        W, H = map(int, a.size.split('x')) if a.size else SIZES.get(name, (256, 192))
        if a.what == 'mask':
            result[name] = real_things.eval_mask(net, dev, seq, W, H, a.every, cells)
        else:
            result[name] = real_things.eval_objmotion(net, masks, depth, dev, seq, W, H, a.every, a.gap, rests(seq), cells)
        print(name, {k: round(v, 3) for k, v in result[name].items()}, flush=True)
    if cells:
        real_things.sheet(cells, a.sheet)
    return result


def failure_cell(x, z, p):
    """Picture, truth, prediction (inverse depth, same scale) and error side by side, 256 wide each."""
    def grey(d, top):
        return (255 * np.clip(np.where(d > 0, 1 / np.maximum(d, 1e-3), 0) / top, 0, 1)).astype(np.uint8)
    top = np.percentile(1 / z[z > 0], 97)
    e = np.where(z > 0, np.log(np.maximum(p, 1e-3) / np.maximum(z, 1e-3)), 0)
    err = np.stack([np.clip(e, 0, 0.7), np.zeros_like(e), np.clip(-e, 0, 0.7)], -1) / 0.7 * 255   # red: too far, blue: too near
    rgb = ((x.numpy().transpose(1, 2, 0) * model.STD + model.MEAN) * 255).clip(0, 255)
    h = 256 * x.shape[1] // x.shape[2]
    parts = [rgb] + [np.repeat(grey(d, top)[..., None], 3, 2) for d in (z, p)] + [err]
    return np.concatenate([np.asarray(Image.fromarray(a.astype(np.uint8)).resize((256, h))) for a in parts], 1)


def eval_motion(net, dev, seq, W, H):
    est, ref = [], []
    for a, b in zip(seq.names[:-1], seq.names[1:]):
        if int(a) not in seq.poses or int(b) not in seq.poses or int(b) != int(a) + 1:
            continue
        xa, _ = seq.image(a, W, H)
        xb, K = seq.image(b, W, H)
        u, v = torch.arange(W).float(), torch.arange(H).float()
        rays = torch.stack([((u - K[2]) / K[0])[None].expand(H, W), ((v - K[3]) / K[1])[:, None].expand(H, W)])
        with torch.no_grad():
            est.append(net(torch.cat([xa, xb, rays])[None].to(dev))[0].float().cpu().numpy())
        pa, pb = seq.poses[int(a)], seq.poses[int(b)]
        Ra, Rb = rotation(pa[3:]), rotation(pb[3:])
        ref.append((Ra.T @ (pb[:3] - pa[:3]), Ra.T @ Rb))
    est, t = np.array(est), np.array([r[0] for r in ref])
    s = float((est[:, :3] * t).sum() / max((est[:, :3] ** 2).sum(), 1e-12))
    dt = np.linalg.norm(est[:, :3] * s - t, axis=1)
    dr = []
    for e, (_, R) in zip(est, ref):
        c = (np.trace(axis_angle_matrix(e[3:]).T @ R) - 1) / 2
        dr.append(np.degrees(np.arccos(np.clip(c, -1, 1))))
    still = np.degrees([np.arccos(np.clip((np.trace(R) - 1) / 2, -1, 1)) for _, R in ref])
    return {'pairs': len(est), 'scale': s, 'trans_mm_mean': float(dt.mean() * 1e3), 'trans_mm_rms': float((dt ** 2).mean() ** 0.5 * 1e3),
            'rot_deg_mean': float(np.mean(dr)), 'rot_deg_rms': float(np.mean(np.square(dr)) ** 0.5),
            'truth_mm_mean': float(np.linalg.norm(t, axis=1).mean() * 1e3), 'truth_deg_mean': float(still.mean())}


def shrink(src, dst, width, every):
    """Copy with smaller frames (all) and depth (every n-th; sparse truth keeps the nearest reading)."""
    seq = Sequence(src)
    m = dict(seq.meta)
    for d in ('frames', 'depth'):
        os.makedirs(os.path.join(dst, d), exist_ok=True)
    s = width / m['width']
    w, h = width, round(m['height'] * s)
    sx, sy = w / m['width'], h / m['height']
    for k, name in enumerate(seq.names):
        if k % every and not seq.poses:
            continue
        im = Image.open(os.path.join(src, 'frames', name + '.jpg')).convert('RGB')
        im.resize((w, h), Image.BOX).save(os.path.join(dst, 'frames', name + '.jpg'), quality=94)
        z = seq.depth(name)
        if z is None or k % every:
            continue
        raw = np.round(z / m['depth_unit_m']).astype(np.int64)
        y, x = np.nonzero(raw)
        out = np.full((h, w), 1 << 20, np.int64)
        if (raw > 0).mean() > 0.3:
            yy, xx = np.meshgrid(((np.arange(h) + 0.5) / sy).astype(int), ((np.arange(w) + 0.5) / sx).astype(int), indexing='ij')
            out = raw[yy, xx]
        else:
            np.minimum.at(out, ((y * sy).astype(int).clip(0, h - 1), (x * sx).astype(int).clip(0, w - 1)), raw[y, x])
            out[out == 1 << 20] = 0
        Image.fromarray(out.astype(np.uint16)).save(os.path.join(dst, 'depth', name + '.png'))
    for k in ('fx', 'fy'):
        m[k] = m[k] * (sx if k == 'fx' else sy)
    m['cx'], m['cy'], m['width'], m['height'] = (m['cx'] + 0.5) * sx - 0.5, (m['cy'] + 0.5) * sy - 0.5, w, h
    json.dump(m, open(os.path.join(dst, 'sequence.json'), 'w'), indent=1)
    if seq.poses:
        open(os.path.join(dst, 'poses.txt'), 'w').write(open(os.path.join(src, 'poses.txt')).read())


def leave(a, result):
    """Measures go to the run's record and to a file of their own, where the options say so."""
    if a.record:
        with open(a.record, 'a') as f:
            f.write(json.dumps({'kind': 'sequences', 'net': a.what, 'measures': result}) + '\n')
    if a.json:
        json.dump(result, open(a.json, 'w'), indent=1)


def main():
    a = argparse.ArgumentParser()
    a.add_argument('what', choices=('depth', 'motion', 'mask', 'objmotion', 'pull', 'shrink'))
    a.add_argument('paths', nargs='+')
    a.add_argument('--size')
    a.add_argument('--every', type=int, default=1)
    a.add_argument('--far', type=float, default=80.0)
    a.add_argument('--width', type=int, default=320)
    a.add_argument('--sheet')
    a.add_argument('--masks', metavar='WEIGHTS', help='of the mask network that finds things for objmotion')
    a.add_argument('--depth', metavar='WEIGHTS', help='of a depth network, where a folder has no depth')
    a.add_argument('--gap', type=int, default=1, help='frames between the two pictures of objmotion')
    a.add_argument('--json')
    a.add_argument('--record', help='append the result to the record.jsonl of a run')
    a = a.parse_args()
    if a.what == 'shrink':
        return shrink(a.paths[0], a.paths[1], a.width, a.every)
    net, dev = load(a.paths[0], 'depth' if a.what == 'pull' else a.what)
    if a.what in ('mask', 'objmotion'):
        return leave(a, eval_things(a, net, dev))
    result, cells = {}, [] if a.sheet else None
    for folder in a.paths[1:]:
        seq = Sequence(folder)
        name = seq.meta['name']
        W, H = map(int, a.size.split('x')) if a.size else SIZES.get(name, (256, 192))
        if a.what == 'motion':
            if not seq.poses:
                print(f'{name}: no poses, skipped')
                continue
            result[name] = eval_motion(net, dev, seq, W, H)
            print(name, {k: round(v, 3) for k, v in result[name].items()}, flush=True)
            continue
        if a.what == 'pull':
            result[name] = eval_pull(net, dev, seq, W, H, a.every)
            print(name, {k: round(v, 3) for k, v in result[name].items()}, flush=True)
            continue
        n0 = len(cells) if cells is not None else 0
        r = eval_depth(net, dev, seq, W, H, a.every, a.far, cells)
        if cells is not None and len(cells) > n0 and cells:
            cells[n0:] = [np.pad(c, ((0, max(0, 192 - c.shape[0])), (0, 0), (0, 0)))[:192] for c in cells[n0:n0 + 6]]
        m = r.mean(0)
        result[name] = {'frames': len(r), 'abs_rel_scaled': float(m[0]), 'delta1_scaled': float(m[1]), 'abs_rel': float(m[2]),
                        'median_scale': float(np.median(r[:, 3]))}
        print(f'{name:10s} {W}x{H} frames {len(r):4d}  AbsRel {m[0]:.4f}  d<1.25 {m[1]:.4f}  metric AbsRel {m[2]:.4f}  scale {np.median(r[:, 3]):.3f}', flush=True)
        if cells is not None and len(cells) > 20:
            break
    if a.sheet and cells:
        half = (len(cells) + 1) // 2
        cells += [np.zeros_like(cells[0])] * (2 * half - len(cells))
        Image.fromarray(np.concatenate([np.concatenate(cells[:half], 0), np.concatenate(cells[half:], 0)], 1)).save(a.sheet)
    leave(a, result)


if __name__ == '__main__':
    main()
