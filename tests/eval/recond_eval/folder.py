"""Folders of pictures in the layout of docs/TESTING.md, and folders of depth maps that reconctl writes."""
import json
import os
import re

import numpy as np
from PIL import Image

from . import Failure
from .lens import rays


def gray16(path):
    """Values [h, w] of a picture of one channel, float32."""
    try:
        with Image.open(path) as image:
            values = np.asarray(image)
    except OSError as error:
        raise Failure(f'{path}: {error}') from None
    if values.ndim != 2:
        raise Failure(f'{path}: is no depth map: it has colours')
    return values.astype(np.float32)


def description(folder):
    path = os.path.join(folder, 'sequence.json')
    if not os.path.exists(path):
        return {}
    try:
        with open(path, encoding='utf-8') as file:
            return json.load(file)
    except ValueError as error:
        raise Failure(f'{path}: {error}') from None


def scaled(K, by_x, by_y):
    """Intrinsics fx fy cx cy of the same picture at another size; pixel centres are at integers."""
    return K[0] * by_x, K[1] * by_y, (K[2] + 0.5) * by_x - 0.5, (K[3] + 0.5) * by_y - 0.5


def matrix(pose):
    """tx ty tz qx qy qz qw -> 4 x 4, camera to world."""
    x, y, z, w = np.asarray(pose[3:], float) / np.linalg.norm(pose[3:])
    T = np.eye(4)
    T[:3, :3] = [[1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
                 [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
                 [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)]]
    T[:3, 3] = pose[:3]
    return T


def number_in(name):
    """The number that a picture's name begins with, else the last one in it."""
    found = re.match(r'\d+', name) or re.search(r'(\d+)\D*$', name)
    return int(found[found.lastindex or 0]) if found else -1


class Folder:
    """Frames of a folder, in the order of their names: names, poses {frame index: 4 x 4}, true depth."""

    def __init__(self, path, poses=None):
        self.path, self.meta, self.place, self.files = path, description(path), '', []
        if not os.access(path, os.R_OK):
            raise Failure(f'{path}: cannot be read')
        self._find_pictures()
        if not self.files:
            raise Failure(f'{path}: has no .jpg and no .png, nor have frames/ or images/ in it')
        self.names = [os.path.splitext(f)[0] for f in self.files]
        self.pose_file = None if poses == 'none' else poses or os.path.join(path, 'poses.txt')
        if self.pose_file and not poses and not os.path.exists(self.pose_file):
            self.pose_file = None
        self.poses = self._read_poses() if self.pose_file else {}

    def _find_pictures(self):
        for place in ('frames', 'images', ''):
            folder = os.path.join(self.path, place)
            for ends in (('.jpg', '.jpeg'), ('.png',)):
                if os.path.isdir(folder) and not self.files:
                    self.place = place
                    self.files = [f for f in os.listdir(folder) if f.lower().endswith(ends) and f[0] != '.']
        self.files.sort(key=lambda f: [int(t) if t.isdigit() else t for t in re.split(r'(\d+)', f)])

    def _read_poses(self):
        by_number = {}
        try:
            with open(self.pose_file, encoding='utf-8') as file:
                for line, text in enumerate(file, 1):
                    values = text.replace(',', ' ').split()
                    if not values or values[0].startswith('#'):
                        continue
                    try:
                        if len(values) != 8:
                            raise ValueError
                        by_number[int(values[0])] = matrix([float(v) for v in values[1:]])
                    except ValueError:
                        raise Failure(f'{self.pose_file}:{line}: a line is a frame and a pose, '
                                      'tx ty tz qx qy qz qw') from None
        except OSError as error:
            raise Failure(f'{self.pose_file}: cannot be read: {error.strerror}') from None
        numbers = [number_in(f) for f in self.files]
        return {i: by_number[n] for i, n in enumerate(numbers) if n in by_number}

    def depth_path(self, i):
        return os.path.join(self.path, 'depth', self.names[i] + '.png')

    def has_depth(self, i):
        return os.path.exists(self.depth_path(i))

    def depth(self, i):
        """True depth [h, w] of frame i in metres, 0 = none; None where there is no map."""
        if not self.has_depth(i):
            return None
        if not self.meta.get('depth_unit_m', 0) > 0:
            raise Failure(f'{self.path}: sequence.json does not say depth_unit_m')
        return gray16(self.depth_path(i)) * np.float32(self.meta['depth_unit_m'])

    def picture(self, i):
        """Colours [h, w, 3] of frame i, uint8."""
        with Image.open(os.path.join(self.path, self.place, self.files[i])) as image:
            return np.asarray(image.convert('RGB'))

    @property
    def has_lens(self):
        return self.meta.get('model', 'pinhole') != 'pinhole'

    def part(self, frames, to):
        """A folder of links to some of the frames, for programs that take all that they find."""
        here = os.path.abspath(self.path)
        for place in (self.place, 'depth'):
            os.makedirs(os.path.join(to, place), exist_ok=True)
        for i in frames:
            os.symlink(os.path.join(here, self.place, self.files[i]), os.path.join(to, self.place, self.files[i]))
            if self.has_depth(i):
                os.symlink(os.path.join(here, 'depth', self.names[i] + '.png'),
                           os.path.join(to, 'depth', self.names[i] + '.png'))
        if self.meta:
            os.symlink(os.path.join(here, 'sequence.json'), os.path.join(to, 'sequence.json'))
        if self.pose_file:
            os.symlink(os.path.abspath(self.pose_file), os.path.join(to, 'poses.txt'))


class Maps:
    """Depth maps that `reconctl push` wrote: NNNNNN.png by the place of the frame in what was sent, sequence.json."""

    def __init__(self, path, frames):
        self.path, self.meta, self.frames = path, description(path), list(frames)
        self.w, self.h = self.meta['width'], self.meta['height']
        self.K = tuple(self.meta[k] for k in ('fx', 'fy', 'cx', 'cy'))
        self._at = {}

    def depth(self, i):
        """Depth [h, w] of frame i of the folder in metres, 0 = none; None where the server did not use the frame."""
        path = os.path.join(self.path, f'{self.frames.index(i):06d}.png')
        if not os.path.exists(path):
            return None
        values = gray16(path)
        if 'inverse_unit' not in self.meta:
            return values * np.float32(self.meta['depth_unit_m'])
        return np.where(values > 0, np.float32(self.meta['inverse_unit']) / np.maximum(values, 1), 0).astype(np.float32)

    def places(self, folder, w, h):
        """Where the pixels of a picture of w x h lie in the map: x, y [h, w]; NaN: the map does not show them."""
        if (w, h) not in self._at:
            u, v = np.meshgrid(np.arange(w), np.arange(h))
            if folder.has_lens:
                by_x, by_y = folder.meta['width'] / w, folder.meta['height'] / h
                x, y = rays(folder.meta, (u + 0.5) * by_x - 0.5, (v + 0.5) * by_y - 0.5)
                x, y = self.K[0] * x + self.K[2], self.K[1] * y + self.K[3]
                out = ~((x >= -0.5) & (y >= -0.5) & (x < self.w - 0.5) & (y < self.h - 0.5))
                x[out] = y[out] = np.nan
            else:
                x, y = (u + 0.5) * (self.w / w) - 0.5, (v + 0.5) * (self.h / h) - 0.5
            self._at[w, h] = x, y
        return self._at[w, h]
