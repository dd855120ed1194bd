"""Measures on drawn scenes that training never sees (seeds of their own), the same pictures every time.

Networks are asked as they will be exported: averaged weights, running batch norms. Streets and rooms are told
apart, and how far depth is off as a whole (`scale`: truth over answer), since an error in one of them alone
hides in the mean. The worst pictures become a sheet. Depth: colour, truth, answer, error. Masks: the same.
Ego-motion: both pictures, what true motion leaves between them, what the answer leaves. Things: the two cut-outs.

    python3 heldout.py mask ../models/mask.onnx --assets $ASSETS [--scenes 8] [--keep pictures.pt]
                       [--sheet sheet.png] [--json out.json]

measures a network that is already trained, also on a CPU (768 pictures for mask: minutes; --keep draws them once).
Its sheet shows in the left column what is usual, from the second worst tenth down to the best, in the right the worst.
"""
import argparse
import json
import math
import os

import numpy as np
import torch
from PIL import Image, ImageDraw

import geometry as g
import losses
import model
import photometric as ph
from tasks import ObjMotion, Pairs, movable, normalise, tables
from scenes import render, sample

SEED = 1 << 40              # training seeds stay far below
KINDS = ('room', 'corridor', 'desks', 'street')
LIVELY = {'depth': False, 'motion': False, 'mask': True, 'objmotion': True}      # which pictures measure a network
ASKS = tuple(LIVELY)
FOUND = ('found_people', 'found_vehicles', 'found_moving')      # share of their pixels; by kind 1, 2 and 3 (if it moves)


class HeldOut:
    """Pairs of drawn pictures of every kind: `scenes` scenes with two cameras each for depth and ego-motion, and
    three times as many lively ones with four each for networks of what moves. nets: those to be measured.
    """

    def __init__(self, renderer, cat, scenes=8, size=(256, 192), street=(416, 128), ss=2, nets=ASKS, keep=None,
                 hard=False):
        self.sets = {}              # lively or not -> kind -> pictures
        if keep and os.path.exists(keep):
            self.sets = torch.load(keep, map_location=renderer.device)
            return
        shapes = {k: street if k == 'street' else size for k in KINDS}
        for lively in sorted({LIVELY[n] for n in nets}):
            rng = np.random.default_rng(SEED + lively)
            n, cams = (3 * scenes, 4) if lively else (scenes, 2)
            self.sets[lively] = {k: self.drawn(renderer, cat, rng, SEED + 1000 * i, k, n, cams, shapes[k], ss, lively,
                                               hard) for i, k in enumerate(KINDS)}
        if keep:
            torch.save(self.sets, keep)

    @staticmethod
    def drawn(renderer, cat, rng, seed, kind, scenes, cams, shape, ss, lively, hard):
        """Pictures of scenes of a kind, those of a pair behind each other, as many in a draw as training has."""
        parts, at_once = [], max(1, 16 // cams)
        for first in range(0, scenes, at_once):
            seeds = range(seed + first, seed + min(scenes, first + at_once))
            made = [sample.make_scene(cat, s, kind, cams, lively=float(lively), hard=hard) for s in seeds]
            picks = [(s, c, m) for s in range(len(made)) for c in range(cams) for m in (0, 1)]
            fx = render.random_effects(rng, len(picks), shape[0])
            fx[1::2] = fx[0::2]
            fx['seed'] = rng.integers(0, 2 ** 32, len(picks), dtype=np.uint32)
            out = renderer.draw(made, picks, *shape, fx, ss, ('rgb', 'depth', 'object'))
            out['motion'], out['kind'] = tables(made, picks, renderer.device)
            parts.append({k: v.clone() for k, v in out.items() if torch.is_tensor(v)})
        return {k: torch.cat([p[k] for p in parts]) for k in parts[0]}

    @torch.no_grad()
    def measure(self, nets, cells=None):
        """nets: a ModuleDict; returns {network: {kind: {measure: value}}} and appends (badness, picture) to cells."""
        was = nets.training
        nets.eval()
        result = {}
        for name in ASKS:
            if name in nets:
                ask = getattr(self, name)
                result[name] = {k: ask(nets[name], out, cells) for k, out in self.sets[LIVELY[name]].items()}
                result[name] = {k: v for k, v in result[name].items() if v}
        nets.train(was)
        return result

    @staticmethod
    def ask(net, x, batch=16):
        return torch.cat([net(x[i:i + batch].contiguous(memory_format=torch.channels_last)).float()
                          for i in range(0, len(x), batch)])

    def depth(self, net, out, cells):
        z = out['depth']
        v = self.ask(net, normalise(out['rgb']))[:, 0]
        p = torch.exp(v) * (g.focal(out['K']) / model.FOCAL_PX)[:, None, None]
        p = p.clamp(model.MIN_DEPTH_M, model.MAX_DEPTH_M)
        rows = []
        for i in range(len(z)):
            m = (z[i] > model.MIN_DEPTH_M) & (z[i] < 80)
            if m.float().mean() < 0.1:
                continue
            t, q = z[i][m], p[i][m]
            s = t.median() / q.median()
            r = torch.maximum(q * s / t, t / (q * s))
            rows.append([((q * s - t).abs() / t).mean().item(), ((q - t).abs() / t).mean().item(),
                         (r < 1.25).float().mean().item(), s.item()])
            if cells is not None:
                bad = rows[-1][1]
                cells.append((bad, lambda i=i: depth_cell(out['rgb'][i], z[i], p[i]), f'{bad:.2f}'))
        r = np.array(rows).reshape(-1, 4)
        if not len(r):
            return {}
        return {'abs_rel_scaled': r[:, 0].mean(), 'abs_rel': r[:, 1].mean(), 'delta1_scaled': r[:, 2].mean(),
                'scale': float(np.exp(np.mean(np.log(r[:, 3]))))}

    def motion(self, net, out, cells):
        p = Pairs(out)
        a, b = self.ask(net, p.pair_input()), p.ego()
        dt = (a[:, :3] - b[:, :3]).norm(dim=1)
        A, B = g.to_motion(a), g.to_motion(b)
        turn = g.rotation_log(g.mul3(A[..., :3].transpose(-1, -2), B[..., :3])).norm(dim=1)
        step = b[:, :3].norm(dim=1)
        if cells is not None:
            left = [self.unexplained(p, T) for T in (B, A)]
            rest = losses.motion_loss_each(a, b)
            for i in range(len(a)):
                show = [out['rgb'][2 * i], out['rgb'][2 * i + 1], left[0][i], left[1][i]]
                cells.append((rest[i].item(), lambda s=show: strip(s),
                              f'{dt[i] * 1e3:.0f} of {step[i] * 1e3:.0f} mm, {math.degrees(turn[i]):.1f} deg'))
        return {'translation_m': dt.mean().item(), 'rotation_deg': math.degrees(turn.mean()),
                'true_step_m': step.mean().item(), 'true_turn_deg': math.degrees(b[:, 3:].norm(dim=1).mean()),
                'length': (a[:, :3].norm(dim=1).clamp_min(1e-6) / step.clamp_min(1e-6)).median().item()}

    @staticmethod
    def unexplained(p, T):
        """What is left between the pictures of each pair after warping by true depth and the motion T."""
        pic, inside, *_ = ph.warp(p.x1, p.z0, p.K0, g.inverse(T), p.K1)
        return (ph.difference(p.x0, pic) * inside / 2).clamp(0, 1)

    def mask(self, net, out, cells):
        y = movable(out)
        logit = self.ask(net, normalise(out['rgb']))[:, 0]
        asked = (y - 0.5).abs() > 0.25
        hit, want = (logit > 0) & asked, (y > 0.75)
        both, either = (hit & want).sum((1, 2)).float(), (hit | want).sum((1, 2)).float()
        if cells is not None:
            for i in range(len(y)):
                bad = ((hit[i] != want[i]) & asked[i]).float().mean().item()
                show = [out['rgb'][i], y[i], torch.sigmoid(logit[i]), (hit[i] != want[i]) & asked[i]]
                cells.append((bad, lambda s=show: strip(s), f'{bad:.2f}'))
        result = {'iou': (both.sum() / either.sum().clamp_min(1)).item(),
                  'movable_share': want.float().mean().item(), 'false_share': (hit & ~want).float().mean().item()}
        kind = out['kind'].long().gather(1, out['object'].long().flatten(1)).view(y.shape)
        for k, name in enumerate(FOUND, 1):
            own = want & (kind == k)
            if own.any():
                result[name] = (hit & own).sum().item() / own.sum().item()
        return result

    def objmotion(self, net, out, cells):
        p, task = Pairs(out), ObjMotion()
        task.n_things = 2 * len(p.x0)
        buf = task.thing_buffers(p.x0.device)
        task.fill_things(buf, p, np.random.default_rng(1))
        on = buf['weight'] > 0
        if not on.any():
            return {}
        cut, centre = buf['cut'][on], buf['centre'][on]
        T, pic = buf['T'][on], buf['picture'][on]
        at, turn, moved = losses.object_errors(self.ask(net, cut), T, centre)
        if cells is not None:
            for i in range(len(cut)):
                show = [cut[i, k:k + 3] * model.STD[0] + model.MEAN[0] for k in (0, 3)]
                bad = (at[i] / (0.05 + moved[i])).item()
                cells.append((bad, lambda s=show: strip(s), f'{at[i]:.2f} of {moved[i]:.2f} m at {centre[i].norm():.1f} m'))
        result = {'things': int(on.sum()), 'centre_m': at.mean().item(), 'rotation_deg': math.degrees(turn.mean()),
                  'true_centre_m': moved.mean().item(), 'distance_m': centre.norm(dim=1).mean().item(),
                  **relative(at, moved)}
        # beside it what needs no look at the thing: one answer for all of a kind, or that it rests in the world
        # (the camera's true motion known)
        same = g.to_vector(T).median(0).values[None].expand(len(T), -1)
        for name, answer in (('constant', same), ('world', g.to_vector(p.T[pic, 0]))):
            off, turn, _ = losses.object_errors(answer, T, centre)
            result.update({f'{name}_m': off.mean().item(), f'{name}_deg': math.degrees(turn.mean()), **{f'{name}_{k}': v for k, v in relative(off, moved).items()}})
        shift = on_picture(g.apply(T, centre), p.K1[pic]) - on_picture(centre, p.K0[pic])
        result['moved_px'] = shift.norm(dim=1).median().item()
        return result


def on_picture(x, K):
    """Pixels [n,2] of points [n,3] seen by cameras [n,4]."""
    return K[:, :2] * x[:, :2] / x[:, 2:].clamp_min(1e-3) + K[:, 2:]


def relative(off, moved, least_m=0.005):
    """Errors [n] over true motions [n], metres: their median, and the share within a quarter; of what moved at all."""
    part = off[moved > least_m] / moved[moved > least_m]
    return {'part': part.median().item(), 'within_25': (part < 0.25).float().mean().item()} if len(part) else {}


def flatten(result):
    """{network: {kind: {measure: v}}} -> {'network/kind/measure': v}, for curves and records."""
    return {f'{n}/{k}/{m}': float(v) for n, r in result.items() for k, x in r.items() for m, v in x.items()}


def to_rgb(x):
    return (x.detach().float().cpu().numpy().clip(0, 1) * 255).astype(np.uint8)


def depth_cell(rgb, z, p):
    """Colour, truth and answer as inverse depth on one scale, error (red too far, blue too near, up to a factor of 2)."""
    rgb, z, p = to_rgb(rgb).transpose(1, 2, 0), z.cpu().numpy(), p.cpu().numpy()
    seen = z > 0
    top = np.percentile(1 / z[seen], 97) if seen.any() else 1.0
    e = np.where(seen, np.log(np.maximum(p, 1e-3) / np.maximum(z, 1e-3)), 0)
    err = np.stack([np.clip(e, 0, 0.7), np.zeros_like(e), np.clip(-e, 0, 0.7)], -1) / 0.7
    grey = [np.where(d > 0, 1 / np.maximum(d, 1e-3), 0).clip(0, top) / top for d in (z, p)]
    grey = [np.repeat((d * 255).astype(np.uint8)[..., None], 3, 2) for d in grey]
    return np.concatenate([rgb, *grey, (err * 255).astype(np.uint8)], 1)


def strip(parts):
    """Pictures [3,H,W] and maps [H,W], 0..1, side by side."""
    a = [to_rgb(x) for x in parts]
    return np.concatenate([x.transpose(1, 2, 0) if x.ndim == 3 else np.repeat(x[..., None], 3, 2) for x in a], 1)


def usual(cells, n=12):
    """n cells for a sheet: half of them from the second worst tenth down to the best, then the worst."""
    cells = sorted(cells, key=lambda c: -c[0])
    at = np.linspace(0.1, 1, n // 2) * (len(cells) - 1)
    return [cells[int(i)] for i in at] + cells[:n - n // 2]


def sheet(cells, path, n=12, width=768):
    """The n worst cells, two columns, one under the other. n = 0: all, in their order."""
    rows = []
    for bad, make, text in sorted(cells, key=lambda c: -c[0])[:n] if n else cells:
        im = Image.fromarray(make())
        im = im.resize((width, round(im.height * width / im.width)), Image.BILINEAR)
        ImageDraw.Draw(im).text((4, 2), text, fill=(255, 255, 0))
        rows.append(im)
    if not rows:
        return
    half = (len(rows) + 1) // 2
    columns = [rows[:half], rows[half:]]
    h = max(sum(r.height + 2 for r in c) for c in columns)
    out = Image.new('RGB', (2 * width + 4, h))
    for k, c in enumerate(columns):
        y = 0
        for r in c:
            out.paste(r, (k * (width + 4), y))
            y += r.height + 2
    out.save(path, optimize=True)


def main():
    from eval import load
    from scenes import assets
    a = argparse.ArgumentParser()
    a.add_argument('net', choices=ASKS)
    a.add_argument('weights')
    a.add_argument('--assets', default='.assets')
    a.add_argument('--scenes', type=int, default=8, help='of a kind (three times as many for mask and objmotion)')
    a.add_argument('--hard', action='store_true', help='scenes with surfaces that are hard to see')
    a.add_argument('--keep', metavar='FILE', help='the drawn pictures: taken from there, or left there')
    a.add_argument('--sheet')
    a.add_argument('--json')
    a = a.parse_args()
    net, dev = load(a.weights, a.net)
    arrays, cat = assets.load(a.assets)
    held = HeldOut(render.Renderer(arrays, dev), cat, a.scenes, nets=(a.net,), keep=a.keep, hard=a.hard)
    cells = []
    measures = flatten(held.measure(torch.nn.ModuleDict({a.net: net}), cells))
    print('\n'.join(f'{k} {v:.4f}' for k, v in measures.items()))
    if a.sheet:
        sheet(usual(cells), a.sheet, 0, 384 if a.net == 'objmotion' else 768)       # two squares, or four pictures
    if a.json:
        json.dump(measures, open(a.json, 'w'), indent=1)


if __name__ == '__main__':
    main()
