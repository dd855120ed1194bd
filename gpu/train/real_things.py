"""Pictures of the mask and object-motion networks over real frames, where there is no truth for them.

Masks: what is called movable, in colour over the frame. Object motion: every connected part of the mask that both
frames show, with an arrow from where its middle is to where the network puts it, and one to where it would be if it
rested in the world (where the folder has poses). How far away a thing is comes from the folder's depth, else from a
depth network; arrows are drawn from the picture's K, so a wrong distance changes their length only by perspective.
"""
import math

import numpy as np
import torch
import torch.nn.functional as F
from PIL import Image, ImageDraw

import geometry as g
import model
import video
from tasks import cut_out

CELL_W, LEAST_PX, SIZE = 384, 150, 128
LIT = np.array([255, 60, 30], np.float32)


def shown(seq, every, cells):
    """Indices of frames to look at: every `every`-th for the numbers, `cells` of them, evenly, for the sheet."""
    at = list(range(0, len(seq.names), every))
    return at, {at[k * len(at) // cells] for k in range(min(cells, len(at)))} if at else set()


def picture(x):
    """Normalised [3,H,W] -> [H,W,3] 0..255, a copy."""
    return ((x.cpu().numpy().transpose(1, 2, 0) * model.STD + model.MEAN) * 255).clip(0, 255).astype(np.float32)


def overlay(x, logit):
    """The frame with what is called movable in red, outlined where the network is undecided no more."""
    a, p = picture(x), torch.sigmoid(logit).cpu().numpy()[..., None]
    a = a * (1 - 0.55 * p) + LIT * 0.55 * p
    on = p[..., 0] > 0.5
    edge = on.copy()
    edge[1:-1, 1:-1] &= ~(on[:-2, 1:-1] & on[2:, 1:-1] & on[1:-1, :-2] & on[1:-1, 2:])
    a[edge] = (255, 255, 0)
    return a.astype(np.uint8)


def cell(a, text=''):
    im = Image.fromarray(a).resize((CELL_W, round(CELL_W * a.shape[0] / a.shape[1])), Image.BICUBIC)
    if text:
        ImageDraw.Draw(im).text((4, 2), text, fill=(255, 255, 0))
    return im


def sheet(cells, path, columns=4):
    """Cells of any heights, row by row."""
    rows = [cells[i:i + columns] for i in range(0, len(cells), columns)]
    heights = [max(c.height for c in r) for r in rows]
    out = Image.new('RGB', (columns * CELL_W, max(1, sum(heights))))
    for r, y in zip(rows, np.cumsum([0] + heights)):
        for k, c in enumerate(r):
            out.paste(c, (k * CELL_W, int(y)))
    out.save(path, optimize=True)


@torch.no_grad()
def ask_mask(net, dev, x):
    return net(x[None].to(dev)).float()[0, 0]


def eval_mask(net, dev, seq, W, H, every, cells=None, n_cells=12):
    """Mean share called movable, and how much of it stays between neighbouring frames looked at (IoU)."""
    at, show = shown(seq, every, n_cells)
    share, kept, last = [], [], None
    for k in at:
        x, _ = seq.image(seq.names[k], W, H)
        logit = ask_mask(net, dev, x)
        on = logit > 0
        share.append(on.float().mean().item())
        if last is not None and (on | last).any():
            kept.append(((on & last).sum() / (on | last).sum()).item())
        last = on
        if cells is not None and k in show:
            cells.append(cell(overlay(x, logit), f'{seq.meta["name"]} {seq.names[k]}: {100 * share[-1]:.1f} %'))
    return {'frames': len(at), 'movable_share': float(np.mean(share)), 'frames_with': float(np.mean(np.array(share) > 1e-3)),
            'stays': float(np.mean(kept)) if kept else 0.0}


def parts_of(mask, most=4, least=LEAST_PX):
    """The largest connected parts of a mask [H,W], each [H,W] bool."""
    rest, parts = mask.clone(), []
    while len(parts) < most:
        # on half the size, which is eight times as quick; what is thinner than two pixels comes along
        small = F.avg_pool2d(rest[None, None].float(), 2)[:, 0] >= 0.5
        near = F.max_pool2d(video.largest_part(small)[:, None].float(), 3, 1, 1)
        part = rest & (F.interpolate(near, mask.shape, mode='nearest')[0, 0] > 0.5)
        if part.sum() < least:
            break
        parts.append(part)
        rest &= ~part
    return parts


def matched(a, b):
    """Pairs of parts of two frames, each used once, those that lie over each other most first."""
    scores = sorted(((((p & q).sum() / (p | q).sum()).item(), i, j) for i, p in enumerate(a) for j, q in enumerate(b)),
                    reverse=True)
    pairs, used = [], (set(), set())
    for s, i, j in scores:
        if s > 0.1 and i not in used[0] and j not in used[1]:
            pairs.append((a[i], b[j]))
            used[0].add(i)
            used[1].add(j)
    return pairs


class Distance:
    """Depth [H,W] of a frame at the network's size: the folder's (0 where it has none), else a network's."""

    def __init__(self, seq, net, dev):
        self.seq, self.net, self.dev = seq, net, dev

    def __call__(self, name, x, K):
        H, W = x.shape[1:]
        z = self.seq.depth(name)
        if z is not None:
            y, u = np.nonzero(z)                        # LiDAR is sparse: no reading may be lost
            out = np.zeros((H, W), np.float32)
            out[y * H // z.shape[0], u * W // z.shape[1]] = z[y, u]
            return torch.from_numpy(out)
        if self.net is None:
            return None
        with torch.no_grad():
            v = self.net(x[None].to(self.dev)).float()[0, 0].cpu()
        return (torch.exp(v) * math.sqrt(K[0] * K[1]) / model.FOCAL_PX).clamp(model.MIN_DEPTH_M, model.MAX_DEPTH_M)


def middle(z, part, K):
    """Place [3] of a part's middle, camera frame: its central pixel at its median depth; None without depth."""
    have = z[part]
    have = have[have > 0]
    if len(have) < 5:
        return None
    y, x = [v.float().mean() for v in torch.nonzero(part, as_tuple=True)]
    d = have.median()
    return torch.stack([(x - K[2]) / K[0] * d, (y - K[3]) / K[1] * d, d])


def pixel(p, K):
    return K[0] * p[0].item() / max(p[2].item(), 0.05) + K[2], K[1] * p[1].item() / max(p[2].item(), 0.05) + K[3]


def eval_objmotion(net, mask_net, depth_net, dev, seq, W, H, every, gap=1, rest=None, cells=None, n_cells=12):
    """Medians of how far things went, by the network and by depth and mask alone, of what lies between, and of how
    far off the answer is that they rest in the world.

    rest(name, name): motion [3,4] of what rests, first camera to second, or None.
    """
    at, show = shown(seq, every, n_cells)
    far, rows, empty = Distance(seq, depth_net, dev), [], 0
    for k in at:
        if k + gap >= len(seq.names):
            continue
        names = seq.names[k], seq.names[k + gap]
        (x0, K), (x1, _) = (seq.image(n, W, H) for n in names)
        logits = [ask_mask(mask_net, dev, x).cpu() for x in (x0, x1)]
        found = matched(*(parts_of(m > 0) for m in logits))
        z0, z1 = (far(n, x, K) for n, x in zip(names, (x0, x1)))
        draw = None
        if cells is not None and k in show:
            im = cell(overlay(x0, logits[0]), f'{seq.meta["name"]} {names[0]} +{gap}')
            draw, s = ImageDraw.Draw(im), CELL_W / W
            cells.append(im)
        empty += not found
        for a, b in found:
            c0 = middle(z0, a, K) if z0 is not None else None
            if c0 is None:
                continue
            with torch.no_grad():
                cut = cut_out(x0[None], x1[None], a[None].float(), b[None].float(), torch.tensor([K]), SIZE)
                T = g.to_motion(net(cut.to(dev)).float().cpu())[0]
            to, c1 = g.apply(T[None], c0[None])[0], middle(z1, b, K)
            seen = (c1 - c0).norm().item() if c1 is not None else np.nan
            off = (c1 - to).norm().item() if c1 is not None else np.nan
            R = rest(*names) if rest else None
            stay = g.apply(R[None], c0[None])[0] if R is not None else None
            lies = (c1 - stay).norm().item() if c1 is not None and stay is not None else np.nan
            rows.append(((to - c0).norm().item(), seen, off, lies))
            if draw:
                if stay is not None:
                    arrow(draw, pixel(c0, K), pixel(stay, K), s, (80, 160, 255))
                arrow(draw, pixel(c0, K), pixel(to, K), s, (60, 255, 60))
                u, v = pixel(c0, K)
                draw.text((u * s + 6, v * s + 6), f'{rows[-1][0]:.2f} m at {c0[2]:.1f} m', fill=(60, 255, 60))
    r = np.array(rows).reshape(-1, 4)
    out = {'frames': len(at), 'frames_without': empty, 'things': len(r)}
    for name, v in zip(('moved_m', 'seen_m', 'off_m', 'rests_off_m'), r.T):
        if np.isfinite(v).any():
            out[name] = float(np.nanmedian(v))
    return out


def arrow(draw, a, b, s, colour):
    """From a to b (network's pixels, s times larger here), with a head; a dot where it is shorter than that."""
    (x0, y0), (x1, y1) = ((v[0] * s, v[1] * s) for v in (a, b))
    draw.line((x0, y0, x1, y1), fill=colour, width=2)
    n = np.hypot(x1 - x0, y1 - y0)
    if n < 3:
        draw.ellipse((x0 - 2, y0 - 2, x0 + 2, y0 + 2), outline=colour)
        return
    dx, dy, h = (x1 - x0) / n, (y1 - y0) / n, min(8, 0.5 * n)
    for side in (-1, 1):
        draw.line((x1, y1, x1 - h * (dx + 0.6 * side * dy), y1 - h * (dy - 0.6 * side * dx)), fill=colour, width=2)
