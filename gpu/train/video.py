"""Real video without truth: folders of frames with intrinsics, for the photometric losses.

    <folder>/sequence.json   fx fy cx cy (pixels, centres at integers), licence, and `use`
    <folder>/frames/*.jpg    consecutive frames
    python3 video.py extract VIDEO.mp4 FOLDER --fx 868 --fy 864 --cx 499.5 --cy 292 --licence MIT --source ...
                                                        (needs ffmpeg)

A folder whose `use` says evaluation only, or never training, is refused. Frames stay in the device's memory as
bytes, at most TOP_PX wide or high; a batch takes windows of three frames and cuts each to the picture's shape.
"""
import argparse
import glob
import json
import os
import subprocess

import numpy as np
import torch
import torch.nn.functional as F
from PIL import Image

import geometry as g

TOP_PX, TOP_FRAMES = 480, 4000


def check_use(folder):
    """sequence.json of a folder that may be trained on; SystemExit for one that may not."""
    meta = json.load(open(os.path.join(folder, 'sequence.json')))
    said = ' '.join(str(meta.get(k, '')) for k in ('use', 'licence')).lower()
    for path in glob.glob(os.path.join(folder, 'README*')):
        said += ' ' + open(path, errors='replace').read(20000).lower()
    for no in ('evaluation only', 'never training', 'not for training', 'no training'):
        if no in said:
            raise SystemExit(f'{folder}: may not be trained on ("{no}" in its sequence.json or README)')
    if not meta.get('licence'):
        raise SystemExit(f'{folder}: sequence.json names no licence')
    return meta


class Folder:
    def __init__(self, folder, device):
        self.meta = check_use(folder)
        names = sorted(glob.glob(os.path.join(folder, 'frames', '*.jpg')))[:TOP_FRAMES]
        if len(names) < 3:
            raise SystemExit(f'{folder}: {len(names)} frames, three are needed')
        frames = []
        for p in names:
            im = Image.open(p).convert('RGB')
            s = min(1.0, TOP_PX / max(im.size))
            w, h = round(im.width * s), round(im.height * s)
            frames.append(np.asarray(im.resize((w, h), Image.BOX)).transpose(2, 0, 1))
            if frames[-1].shape != frames[0].shape:
                raise SystemExit(f'{p}: another size than the frames before it')
        self.frames = torch.from_numpy(np.stack(frames)).to(device)
        m, (h, w) = self.meta, frames[0].shape[1:]
        self.K = g.scaled_K(torch.tensor([m['fx'], m['fy'], m['cx'], m['cy']]), w / m.get('width', im.width),
                            h / m.get('height', im.height))
        self.name = m.get('name', os.path.basename(folder.rstrip('/')))
        self.things = None      # [F,h,w] bool: the largest movable thing, where a mask network looked


class Videos:
    """Windows of consecutive frames out of all folders, each folder as often as its length's root says."""

    def __init__(self, folders, device):
        self.device = device
        self.folders = [Folder(f, device) for f in folders]
        share = np.sqrt([len(f.frames) for f in self.folders])
        self.share = share / share.sum()

    def record(self):
        return [{'name': f.name, 'frames': len(f.frames), 'licence': f.meta['licence'],
                 'source': f.meta.get('source', '')} for f in self.folders]

    def take(self, n, W, H, rng):
        """n windows: pictures [n,3,3,H,W] 0..1 (before, middle, after), K [n,4], things [n,3,H,W] 0..1."""
        pics, Ks, things = [], [], []
        for _ in range(n):
            f = self.folders[rng.choice(len(self.folders), p=self.share)]
            gap = int(rng.integers(1, 4))
            gap = min(gap, (len(f.frames) - 1) // 2)
            m = int(rng.integers(gap, len(f.frames) - gap))
            at = [m - gap, m, m + gap] if rng.integers(2) else [m + gap, m, m - gap]
            h, w = f.frames.shape[2:]
            # the largest window of the shape, then up to a quarter smaller, anywhere
            s = min(w / W, h / H) * rng.uniform(0.75, 1.0)
            cw, ch = min(w, round(W * s)), min(h, round(H * s))
            x0, y0 = int(rng.integers(0, w - cw + 1)), int(rng.integers(0, h - ch + 1))
            cut = f.frames[at][:, :, y0:y0 + ch, x0:x0 + cw].float() / 255
            pics.append(F.interpolate(cut, (H, W), mode='bilinear', align_corners=False, antialias=ch > H))
            Ks.append(g.scaled_K(f.K, W / cw, H / ch, x0, y0))
            if f.things is None:
                things.append(torch.zeros(3, H, W, device=self.device))
            else:
                t = f.things[at][:, None, y0:y0 + ch, x0:x0 + cw].float()
                things.append(F.interpolate(t, (H, W), mode='nearest')[:, 0])
        return torch.stack(pics), torch.stack(Ks).to(self.device), torch.stack(things)

    def find_things(self, net, normalise, batch=16):
        """Let a mask network mark each frame's largest movable thing, once."""
        with torch.no_grad():
            for f in self.folders:
                h, w = f.frames.shape[2:]
                H, W = -(-h // 32) * 32, -(-w // 32) * 32
                out = []
                for i in range(0, len(f.frames), batch):
                    x = f.frames[i:i + batch].float() / 255
                    x = F.interpolate(x, (H, W), mode='bilinear', align_corners=False)
                    full = net(normalise(x)).float() > 0
                    part = largest_part(F.avg_pool2d(full.float(), 4)[:, 0] > 0.5)[:, None].float()
                    m = full & (F.interpolate(part, (H, W), mode='nearest') > 0.5)
                    out.append(F.interpolate(m.float(), (h, w), mode='nearest')[:, 0] > 0.5)
                f.things = torch.cat(out)


def largest_part(mask, least=8):
    """Largest connected part of each mask [N,H,W] (bool, corners touch), empty if under `least` pixels."""
    n, h, w = mask.shape
    label = (torch.arange(1, h * w + 1, device=mask.device, dtype=torch.float64).view(1, h, w) * mask)
    label = label.float() if h * w < 1 << 24 else label
    for _ in range(2 * (h + w)):                # enough for all but labyrinths
        spread = F.max_pool2d(label[:, None], 3, 1, 1)[:, 0] * mask
        if torch.equal(spread, label):
            break
        label = spread
    flat = label.long().view(n, -1)
    count = torch.zeros(n, h * w + 1, device=mask.device)
    count.scatter_add_(1, flat, torch.ones_like(flat, dtype=torch.float32))
    count[:, 0] = 0
    size, best = count.max(1)
    return (label.long() == best.view(-1, 1, 1)) & mask & (size >= least).view(-1, 1, 1)


def extract(a):
    os.makedirs(os.path.join(a.folder, 'frames'), exist_ok=True)
    subprocess.run(['ffmpeg', '-v', 'error', '-y', '-i', a.video, '-q:v', '3', '-start_number', '0',
                    os.path.join(a.folder, 'frames', '%06d.jpg')], check=True)
    first = Image.open(sorted(glob.glob(os.path.join(a.folder, 'frames', '*.jpg')))[0])
    meta = {'name': os.path.basename(a.folder.rstrip('/')), 'width': first.width, 'height': first.height,
            'fx': a.fx, 'fy': a.fy, 'cx': a.cx, 'cy': a.cy, 'source': a.source, 'licence': a.licence,
            'use': 'training or evaluation'}
    json.dump(meta, open(os.path.join(a.folder, 'sequence.json'), 'w'), indent=1)


def main():
    a = argparse.ArgumentParser()
    a.add_argument('what', choices=('extract',))
    a.add_argument('video')
    a.add_argument('folder')
    for k in ('fx', 'fy', 'cx', 'cy'):
        a.add_argument('--' + k, type=float, required=True)
    a.add_argument('--licence', required=True)
    a.add_argument('--source', required=True)
    extract(a.parse_args())


if __name__ == '__main__':
    main()
