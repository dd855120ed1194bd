"""Building blocks of scenes: instances, materials, movable things, lights, obstacles.

World frame: z up, metres. A `Frame` is a place with a yaw; things are put at coordinates local to it.
By convention (the asset pack's) the front of a thing looks along local -y and its back is at +y, so a
wall's frame has x along the wall and -y into the room.
"""
import math
import random
from array import array
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from . import views
from .views import axis_angle       # noqa: F401 (part of this module's interface)

INST = np.dtype([('m', 'f4', 12), ('mesh', 'i4'), ('tex', 'i4'), ('rgb', 'u1', 3), ('gloss', 'u1'),
                 ('flags', 'i4'),
                 ('su', 'f4'), ('sv', 'f4'), ('emit', 'f4'), ('id', 'i4'), ('object', 'u4')])
SCENE = np.dtype([('inst0', 'i4'), ('n_inst', 'i4'), ('light0', 'i4'), ('n_light', 'i4'), ('amb_up', 'f4', 3),
                  ('amb_dn', 'f4', 3), ('env_tex', 'i4'), ('sky_tex', 'i4'), ('env_gain', 'f4'),
                  ('sky_gain', 'f4'),
                  ('fog', 'f4'), ('ao', 'f4'), ('fog_col', 'f4', 3), ('motion0', 'i4')])
LIGHT = np.dtype([('type', 'i4'), ('shadow', 'i4'), ('size_px', 'f4'), ('range', 'f4'), ('pos', 'f4', 3),
                  ('dir', 'f4', 3),
                  ('col', 'f4', 3), ('cone', 'f4'), ('pad', 'f4', 2)])
VIEW = np.dtype([('R', 'f4', 9), ('t', 'f4', 3), ('fx', 'f4'), ('fy', 'f4'), ('cx', 'f4'), ('cy', 'f4'),
                 ('scene', 'i4'),
                 ('ortho', 'i4'), ('light', 'i4'), ('moment', 'i4')])
# one camera of a scene, before the picture size is chosen: camera-to-world pose, focal length over the
# longer side
CAM = np.dtype([('R_wc', 'f4', 9), ('p', 'f4', 3), ('f_rel', 'f4'), ('ax', 'f4'), ('ox', 'f4'), ('oy', 'f4')])

BOX_UV, ONLY_PLAIN, NO_SHADOW, GLOSS = 1, 2, 4, 8
SUN, POINT = 0, 1
PERSON, VEHICLE, THING = 1, 2, 3
REST = (1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0)
MAX_THINGS = 255
WIDTH = 24          # numbers the builder keeps of an instance
SHADOW_PX = 1024


class NoView(Exception):
    """No camera of a scene stands clear of what is in it."""


@dataclass
class Mat:
    """Surface: texture index or -1, colour 0..1 (white = texture as it is), gloss 0..1, metres a tile."""
    tex: int = -1
    rgb: tuple = (1.0, 1.0, 1.0)
    gloss: float = 0.1
    metres: tuple = (1.0, 1.0)
    emit: float = 0.0


@dataclass
class Frame:
    x: float = 0.0
    y: float = 0.0
    z: float = 0.0
    yaw: float = 0.0

    def at(self, x, y, z=0.0, yaw=0.0):
        c, s = math.cos(self.yaw), math.sin(self.yaw)
        return Frame(self.x + c * x - s * y, self.y + s * x + c * y, self.z + z, self.yaw + yaw)


def at_rest(n=0):
    """Motions of n things that do not move, and of the static rest: identities [n+1, 3, 4]."""
    return np.tile(np.eye(3, 4, dtype=np.float32), (n + 1, 1, 1))


@dataclass
class Scene:
    """What a worker sends to the renderer: numpy records, indices local to the scene."""
    insts: np.ndarray
    lights: np.ndarray
    shadows: np.ndarray
    scene: np.ndarray
    cams: np.ndarray            # [K, 2] CAM: a camera and its neighbour a moment later
    kind: str = ''
    # movable things; instances name theirs in `object`, 0 = static
    # [n+1, 3, 4] f4: world motion from moment 0 to 1, row 0 identity
    objects: np.ndarray = field(default_factory=at_rest)
    # [n+1] 0 static 1 person 2 vehicle 3 thing
    kinds: np.ndarray = field(default_factory=lambda: np.zeros(1, np.uint8))
    dt: float = 0.1             # seconds between the moments


@dataclass
class Surface:
    """A top where things stand and cameras look: frame at its centre, size along local x and y."""
    frame: Frame
    w: float
    d: float


class Builder:
    def __init__(self, cat, seed, free=False, lively=0.0, hard=False):
        self.cat, self.free = cat, free
        self.lively = lively                # 0..1: how much moves, and how much cameras look at it
        self.hard = hard                    # surfaces without shape, bare rooms, views from close by and above
        self.r = random.Random(seed)
        self.u = self.r.uniform             # a number between two
        self.tex = cat.free_tex if free else cat.tex
        self.lights, self.shadows, self.cams = [], [], []
        self.rows = array('f')              # of instances: WIDTH numbers each (whole ones stay exact to 2^24)
        self.object, self.motions, self.kinds = 0, array('f', REST), bytearray(1)
        self.dt = math.exp(self.r.uniform(math.log(0.03), math.log(0.25)))
        if lively:                          # no shorter than two frames of a video
            self.dt = 0.25 * (self.dt / 0.25) ** (1 - 0.33 * lively)
        self.rects = []             # floor plan already taken: x0 y0 x1 y1
        self.solids = []            # x0 y0 z0 x1 y1 z1: no camera inside
        self.tops, self.targets = [], []    # Surfaces; points worth looking at
        self.stars = []                     # points of what moves or may move
        self.edges = []                     # (x, y, z0, z1): upright edges that may cut a near view
        self.size = (0.0, 0.0, 0.0)         # of the room, where there is one
        self.next_id = 1
        self.scene = np.zeros((), SCENE)
        self.scene['env_tex'] = self.scene['sky_tex'] = -1
        self.scene['env_gain'] = self.scene['sky_gain'] = 1.0
        self.scene['ao'] = self.r.uniform(0.5, 1.0)

    # ---- chance -------------------------------------------------------------------------------
    def chance(self, p):
        return self.r.random() < p

    def odds(self, easy, hard):
        return hard if self.hard else easy

    def pick(self, seq):
        return seq[int(self.r.random() * len(seq))]

    def meshes(self, placement, *classes):
        key = (placement, classes)
        cache = self.cat.__dict__.setdefault('_cache' + str(int(self.free)), {})
        if key not in cache:
            cache[key] = self.cat.meshes(placement, *classes, free=self.free)
        return cache[key]

    # ---- materials ----------------------------------------------------------------------------
    def colour(self, kind='any'):
        """Colours as painted things have them: mostly pale or grey or brown, some saturated."""
        if kind == 'any':
            kind = self.r.choices(('white', 'grey', 'warm', 'dark', 'vivid'), (33, 24, 22, 13, 8))[0]
        if kind == 'white':
            g = self.u(0.72, 0.97)
            return (g, g * self.u(0.95, 1.0), g * self.u(0.86, 1.02))
        if kind == 'grey':
            g = self.u(0.25, 0.75)
            return (g * self.u(0.93, 1.03), g, g * self.u(0.93, 1.08))
        if kind == 'warm':
            g = self.u(0.3, 0.8)
            return (g, g * self.u(0.65, 0.9), g * self.u(0.35, 0.75))
        if kind == 'dark':
            g = self.u(0.03, 0.22)
            return (g * self.u(0.8, 1.2), g, g * self.u(0.8, 1.2))
        c = [self.u(0.02, 0.35), self.u(0.1, 0.6), self.u(0.4, 0.9)]
        self.r.shuffle(c)
        return tuple(c)

    def plain(self, kind='any', gloss=None):
        return Mat(-1, self.colour(kind), self.u(0.0, 0.6) if gloss is None else gloss)

    def mat(self, *classes, scale=(0.7, 1.5), gloss=None, tint=0.35):
        """A textured material of one of the classes; sometimes tinted. Falls back to plain colour."""
        have = [c for c in classes if c in self.tex]
        if not have:
            return self.plain()
        i, metres, aspect = self.pick(self.tex[self.pick(have)])
        rgb = (1.0, 1.0, 1.0)
        if self.chance(tint):
            c = self.colour(self.r.choices(('white', 'grey', 'warm', 'dark', 'vivid'),
                                           (30, 28, 28, 11, 3))[0])
            m = 0.3 + 0.7 * max(c)
            rgb = tuple(min(1.6, (0.35 + 0.65 * v) / m) for v in c)
        w = metres * self.u(*scale)
        return Mat(i, rgb, self.u(0, 0.5) if gloss is None else gloss, (w, w / max(aspect, 0.2)))

    def picture(self, *classes):
        """A texture meant to be shown whole: (index, aspect)."""
        have = [c for c in classes if c in self.tex]
        if not have:
            have = ['cover']
        i, _, aspect = self.pick(self.tex[self.pick(have)])
        return i, aspect

    # ---- instances ----------------------------------------------------------------------------
    def raw(self, mesh, m, tex, rgb, gloss, flags, su, sv, emit=0.0, ident=0):
        self.rows.extend((*m, mesh, tex, *rgb, gloss, flags, su, sv, emit, ident, self.object))

    def mark(self):
        """What undo() goes back to: everything built since is taken away again."""
        return (len(self.rows), len(self.kinds), len(self.rects), len(self.solids), len(self.tops),
                len(self.targets))

    def undo(self, mark):
        n, k, rects, solids, tops, targets = mark
        del self.rows[n:], self.motions[12 * k:], self.kinds[k:]
        del self.rects[rects:], self.solids[solids:], self.tops[tops:], self.targets[targets:]

    @contextmanager
    def thing(self, kind):
        """All that is built inside is one movable thing; yields its number, 0 (static) when numbers have run
        out.

        A thing inside a thing is part of the outer one.
        """
        outer = self.object
        if not outer and len(self.kinds) <= MAX_THINGS:
            self.object = len(self.kinds)
            self.kinds.append(kind)
            self.motions.extend(REST)
        try:
            yield self.object
        finally:
            self.object = outer

    def move(self, n, motion):
        """Thing n makes the motion (12 numbers, rows of a 3x4) from moment 0 to 1; nothing for the static 0.
        """
        if n:
            self.motions[12 * n:12 * n + 12] = array('f', motion)

    def watch(self, f, z):
        """Something that cameras like to look at, z metres above a frame: people, things that move."""
        self.targets += [(f.x, f.y, f.z + z)] * 3
        self.stars.append((f.x, f.y, f.z + z))

    @staticmethod
    def matrix(f, x, y, z, sx, sy, sz, yaw=0.0, tilt=0.0, roll=0.0):
        """Rows of frame * translate * Rz(yaw) * Rx(tilt) * Ry(roll) * scale."""
        c0, s0 = math.cos(f.yaw), math.sin(f.yaw)
        a = f.yaw + yaw
        c, s = math.cos(a), math.sin(a)
        if not tilt and not roll:
            return (c * sx, -s * sy, 0.0, f.x + c0 * x - s0 * y, s * sx, c * sy, 0.0, f.y + s0 * x + c0 * y,
                    0.0, 0.0, sz, f.z + z)
        ct, st, cr, sr = math.cos(tilt), math.sin(tilt), math.cos(roll), math.sin(roll)
        # Rz * Rx * Ry
        r00, r01, r02 = c * cr - s * st * sr, -s * ct, c * sr + s * st * cr
        r10, r11, r12 = s * cr + c * st * sr, c * ct, s * sr - c * st * cr
        r20, r21, r22 = -ct * sr, st, ct * cr
        return (r00 * sx, r01 * sy, r02 * sz, f.x + c0 * x - s0 * y,
                r10 * sx, r11 * sy, r12 * sz, f.y + s0 * x + c0 * y,
                r20 * sx, r21 * sy, r22 * sz, f.z + z)

    def shape(self, name, f, at, size, mat, yaw=0.0, tilt=0.0, roll=0.0, shadow=True, ident=0, box_uv=True):
        """A procedural mesh scaled to size at a local place, its centre at `at`."""
        mesh = self.cat.by_name[name]
        flags = (BOX_UV if box_uv else 0) | GLOSS | (0 if shadow else NO_SHADOW)
        su, sv = (1.0 / mat.metres[0], 1.0 / mat.metres[1]) if box_uv else (1.0, 1.0)
        self.raw(mesh.index, self.matrix(f, *at, *size, yaw, tilt, roll), mat.tex, mat.rgb, mat.gloss, flags,
                 su, sv, mat.emit, ident)

    def box(self, f, at, size, mat, **kw):
        self.shape('box', f, at, size, mat, **kw)

    def quad(self, f, at, w, h, tex, rgb=(1, 1, 1), gloss=0.1, emit=0.0, yaw=0.0, tilt=0.0, roll=0.0,
             shadow=False):
        """A picture, facing local -y; tilt 90 degrees lays it flat, face up."""
        mesh = self.cat.by_name['quad']
        flags = GLOSS | (0 if shadow else NO_SHADOW)
        self.raw(mesh.index, self.matrix(f, *at, w, 1.0, h, yaw, tilt, roll), tex, rgb, gloss, flags, 1.0,
                 1.0, emit)

    def asset(self, mesh, f, x, y, z, yaw=0.0, scale=1.0, stretch=None, recolour=0.5, ident=None, tilt=0.0):
        """A mesh of the pack, standing at a local place. Plain ones are recoloured now and then."""
        sx, sy, sz = stretch or (scale, scale, scale)
        tex, rgb, flags, su, gloss = -1, (1, 1, 1), 0, 1.0, 0.0
        if self.chance(recolour):
            k = self.r.random()
            if mesh.plain and k < 0.45:
                m = self.mat('wood', 'metal', 'fabric', 'wood')
                tex, rgb, flags, su = m.tex, m.rgb, BOX_UV | ONLY_PLAIN, 1.0 / m.metres[0]
            elif mesh.plain:
                c = self.colour()
                rgb = tuple(v * 1.15 for v in c)
            else:
                g = self.u(0.6, 1.25)
                rgb = tuple(g * self.u(0.85, 1.15) for _ in range(3))
            if self.chance(0.3):
                flags, gloss = flags | GLOSS, self.u(0, 0.8)
        ident = self.new_id() if ident is None else ident
        self.raw(mesh.index, self.matrix(f, x, y, z, sx, sy, sz, yaw, tilt), tex, rgb, gloss, flags, su, su,
                 0.0, ident)

    def new_id(self):
        self.next_id += 1
        return self.next_id

    # ---- room on the floor --------------------------------------------------------------------
    def corners(self, f, x0, y0, x1, y1):
        c, s = math.cos(f.yaw), math.sin(f.yaw)
        xs = [f.x + c * x - s * y for x in (x0, x1) for y in (y0, y1)]
        ys = [f.y + s * x + c * y for x in (x0, x1) for y in (y0, y1)]
        return min(xs), min(ys), max(xs), max(ys)

    def free_rect(self, f, x0, y0, x1, y1, gap=0.0):
        a = self.corners(f, x0 - gap, y0 - gap, x1 + gap, y1 + gap)
        return all(a[2] <= r[0] or a[0] >= r[2] or a[3] <= r[1] or a[1] >= r[3] for r in self.rects)

    def indoors(self, f, x0, y0, x1, y1):
        """Does the rectangle lie between the room's walls? True where there is no room."""
        if not self.size[0]:
            return True
        a = self.corners(f, x0, y0, x1, y1)
        return a[0] > 0 and a[1] > 0 and a[2] < self.size[0] and a[3] < self.size[1]

    def take(self, f, x0, y0, x1, y1, h=None):
        a = self.corners(f, x0, y0, x1, y1)
        self.rects.append(a)
        if h:
            self.solids.append((a[0], a[1], f.z - 0.05, a[2], a[3], f.z + h))
            self.targets.append((0.5 * (a[0] + a[2]), 0.5 * (a[1] + a[3]), f.z + 0.6 * h))

    def solid(self, f, x0, y0, z0, x1, y1, z1):
        a = self.corners(f, x0, y0, x1, y1)
        self.solids.append((a[0], a[1], f.z + z0, a[2], a[3], f.z + z1))

    def inside_solid(self, p, gap=0.1):
        return any(s[0] - gap < p[0] < s[3] + gap and s[1] - gap < p[1] < s[4] + gap
                   and s[2] - gap < p[2] < s[5] + gap
                   for s in self.solids)

    # ---- light --------------------------------------------------------------------------------
    def light(self, kind, pos=(0, 0, 0), direction=(0, 0, -1), col=(1, 1, 1), reach=2.0, cone=-1.0, soft=2.0,
              shadow=None):
        """shadow: None, or for a sun (centre, radius metres), for a point light the half angle in degrees."""
        n = math.sqrt(sum(c * c for c in direction))
        d = np.array([c / n for c in direction])
        si = -1
        if shadow is not None:
            up = np.array([0, 0, 1.0]) if abs(d[2]) < 0.9 else np.array([1.0, 0, 0])
            x = np.cross(d, up)
            x /= np.linalg.norm(x)
            R = np.stack([x, np.cross(d, x), d])
            v = np.zeros((), VIEW)
            v['cx'] = v['cy'] = SHADOW_PX / 2 - 0.5
            if kind == SUN:
                c, rad = np.array(shadow[0], float), shadow[1]
                p = c - d * (rad * 2 + 60)
                v['fx'] = v['fy'] = SHADOW_PX / (2 * rad)
                v['ortho'] = 1
            else:
                p = np.array(pos, float)
                v['fx'] = v['fy'] = SHADOW_PX / (2 * math.tan(math.radians(shadow)))
            v['R'], v['t'] = R.reshape(-1), -R @ p
            si = len(self.shadows)
            self.shadows.append(v)
        self.lights.append((kind, si, soft, reach, pos, tuple(d), col, cone, (0, 0)))

    # ---- the result ---------------------------------------------------------------------------
    @staticmethod
    def look(p, target, roll=0.0):
        """Camera-to-world rotation (columns x right, y down, z forward) that looks from p at target."""
        return views.look(p, target, roll)

    def records(self):
        """Instances so far as INST records."""
        w = np.array(self.rows, np.float32).reshape(-1, WIDTH)
        out = np.zeros(len(w), INST)
        out['m'] = w[:, :12]
        out['rgb'], out['gloss'] = np.clip(128 * w[:, 14:17], 0, 255), np.clip(255 * w[:, 17], 0, 255)
        for k, c in (('mesh', 12), ('tex', 13), ('flags', 18), ('su', 19), ('sv', 20), ('emit', 21),
                     ('id', 22), ('object', 23)):
            out[k] = w[:, c]
        return out

    def finish(self, kind, n_cams):
        """The scene, with the first n_cams cameras that stand clear of everything at both moments."""
        insts = self.records()
        motions = np.array(self.motions, np.float32).reshape(-1, 3, 4)
        cams = np.array([c for pair in self.cams for c in pair], CAM).reshape(-1, 2)
        cams = cams[views.clear(self.cat, insts, motions, cams)]
        if not len(cams):
            raise NoView(kind)
        cams = cams[np.arange(n_cams) % len(cams)]
        self.scene['n_inst'], self.scene['n_light'] = len(insts), len(self.lights)
        shadows = np.array(self.shadows, VIEW) if self.shadows else np.zeros(0, VIEW)
        return Scene(insts, np.array(self.lights, LIGHT), shadows, self.scene, cams, kind, motions,
                     np.array(self.kinds, np.uint8), self.dt)
