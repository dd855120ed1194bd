#!/usr/bin/env python3
"""client.py - feeds recond with the pictures of a folder and keeps its cloud; written from docs/PROTOCOL.md alone

    client.py STREAM_URL FOLDER [--source NAME] [--first N] [--last N] [--world N] [--depth] [--token TOKEN]

FOLDER holds sequence.json (width, height, fx, fy, cx, cy, fps), frames/NNNNNN.jpg, poses.txt (frame tx ty tz qx qy qz qw, camera
to world, x right, y down, z forward) and, for --depth, depth/NNNNNN.png (16 bits, millimetres). A frame's seq is its number in the
folder + 1: this program, run again, goes on where `ready` says that the source stands. It needs python3-websockets.
"""
import argparse
import asyncio
import base64
import itertools
import json
import pathlib
import struct
import sys
import zlib
import websockets

FRAME = struct.Struct('<BBHIQQIHH4f4f3fI')
PART = struct.Struct('<BBHHHHHI')
COLOUR, DEPTH, JPEG, PNG = 1, 2, 3, 4
PUT, PATCH, DELETE, CLEAR, SUBMAP = 0x10, 0x11, 0x12, 0x13, 0x14
U64 = (1 << 64) - 1


def mix64(v):
    v = v + 0x9e3779b97f4a7c15 & U64
    v = (v ^ v >> 30) * 0xbf58476d1ce4e5b9 & U64
    v = (v ^ v >> 27) * 0x94d049bb133111eb & U64
    return v ^ v >> 31


def unpack_planes(data, n_removed, n_added):
    """Section "Planes": the removed indices and the added keys."""
    at = 0

    def column(n):
        nonlocal at
        at += n
        return data[at - n:at]

    def numbers(n):
        return itertools.accumulate(a | b << 8 | c << 16 | d << 24 for a, b, c, d in zip(*(column(n) for _ in range(4))))

    def sums(differences, largest=63):
        return itertools.accumulate(differences, lambda a, b: a + b & largest)

    removed, codes = list(numbers(n_removed)), numbers(n_added)
    low, green, d, e, confidence, high = (column(n_added) for _ in range(6))
    u = sums(h >> 4 << 2 | w >> 2 for h, w in zip(high, low))
    v = sums((h & 15) << 2 | w & 3 for h, w in zip(high, low))
    keys = [m << 34 | nu << 28 | nv << 22 | (dr + g & 63) << 16 | g << 10 | (db + g & 63) << 4 | c for m, nu, nv, g, dr, db, c
            in zip(codes, u, v, sums(green), sums(d), sums(e), sums(confidence, 15))]
    if at != len(data):
        raise ValueError('planes of another length')
    return removed, keys


class Mirror:
    """A copy of the cloud: of each block its revision and keys, and the hash of them all."""

    def __init__(self, epoch=None):
        self.epoch, self.hash, self.blocks, self.submaps = epoch, 0, {}, {}
        self.synced = None      # the revision of the last sync

    def points(self, submap=None):
        return sum(len(keys) for name, (_, keys) in self.blocks.items() if submap in (None, name[0]))

    def apply(self, message):
        op, _, codec, flags, epoch, revision = struct.unpack_from('<BBBBIQ', message)
        if op == CLEAR:
            self.__init__(epoch)
        elif epoch != (self.epoch or epoch):
            raise ValueError('another epoch')
        elif op == SUBMAP:
            number, *transform = struct.unpack_from('<I7f', message, 16)
            self.submaps[number] = {'placed': not flags & 1, 'q': transform[:4], 't': transform[4:]}
        elif op in (PUT, PATCH, DELETE):
            self.epoch = epoch
            self._change(op, codec, revision, message)

    def _change(self, op, codec, revision, message):
        removed, added, name = [], [], struct.unpack_from('<I3i', message, 16)
        held, keys = self.blocks.get(name, (0, []))
        if revision <= held:
            return
        if op != DELETE:
            _, n_removed, n_added, base, plain_len = struct.unpack_from('<IIIQI', message, 32)
            planes = message[56:] if codec == 0 else zlib.decompress(message[56:], wbits=-15, bufsize=plain_len)
            removed, added = unpack_planes(planes, n_removed, n_added)
            if op == PATCH and base != held:
                raise ValueError('a patch of another revision')
        out = set(removed if op == PATCH else range(len(keys)))
        submap, x, y, z = (v & 0xffffffff for v in name)
        salt = mix64(mix64(submap | x << 32) ^ (y | z << 32))
        self.hash = self.hash + sum(mix64(k ^ salt) for k in added) - sum(mix64(keys[i] ^ salt) for i in out) & U64
        self.blocks[name] = revision, sorted([k for i, k in enumerate(keys) if i not in out] + added)


def read_frames(folder, args):
    """Yields (seq, message) of the frames that were asked for. Their flags: with pose and camera, tracking normal."""
    about = json.loads((folder / 'sequence.json').read_text())
    poses = {int(f[0]): [float(v) for v in f[1:8]] for f in map(str.split, open(folder / 'poses.txt')) if f and f[0] != '#'}
    for path in sorted((folder / 'frames').glob('*.jpg'))[args.first:args.last]:
        number, parts = int(path.stem), [(COLOUR, JPEG, path.read_bytes())]
        parts += [(DEPTH, PNG, p.read_bytes()) for p in [folder / 'depth' / f'{path.stem}.png'] if args.depth and p.exists()]
        header = FRAME.pack(1, 1, FRAME.size, 0b1111, number + 1, int(number * 1e9 / about['fps']), args.world, len(parts), PART.size,
                            *(about[k] for k in ('fx', 'fy', 'cx', 'cy')), *poses[number][3:], *poses[number][:3], 0)
        entries = b''.join(PART.pack(type_, codec, 0, about['width'], about['height'], 0, 0, len(p)) for type_, codec, p in parts)
        yield number + 1, header + entries + b''.join(p for _, _, p in parts)


class Feeder:
    def __init__(self, args):
        self.args, self.mirror, self.waiting = args, Mirror(), {}      # waiting: frames without an answer, by seq
        self.used, self.last_seq, self.ended = 0, None, None

    async def connection(self):
        """One connection. Returns once all frames are answered and the cloud is here."""
        token = base64.urlsafe_b64encode((self.args.token or '').encode()).decode().rstrip('=')
        protocols = ['recon.v1'] + ['bearer.recon.' + token] * bool(token)
        self.unanswered, self.window, self.pause_s = set(), 0, 0     # unanswered: what was sent here
        resume = {'resume': {'epoch': self.mirror.epoch, 'revision': self.mirror.synced}} if self.mirror.synced is not None else {}
        start = {'op': 'start', 'role': 'ingest', 'codecs': ['deflate-raw', 'raw'], 'pose': 'cv', 'source': self.args.source, **resume}
        async with websockets.connect(self.args.url, subprotocols=protocols, compression=None, max_size=1 << 24) as ws:
            await ws.send(json.dumps(start))
            async for message in ws:
                if isinstance(message, bytes):
                    self.mirror.apply(message)
                else:
                    self.on_text(json.loads(message))
                if self.ended is not None and (self.mirror.synced or 0) >= self.ended:
                    return
                await self.send_more(ws)

    async def send_more(self, ws):
        if self.pause_s and self.unanswered:
            return      # what was `later` goes out again in its order
        await asyncio.sleep(self.pause_s)
        self.pause_s = 0
        for seq in sorted(self.waiting.keys() - self.unanswered)[:max(0, self.window - len(self.unanswered))]:
            self.unanswered.add(seq)
            await ws.send(self.waiting[seq])
        if self.window and not self.waiting:
            self.window = 0
            await ws.send('{"op":"end"}')

    def on_text(self, m):
        op = m['op']
        if op == 'ready':
            self.window = m['limits']['window']
            if self.last_seq is None:       # this program has just begun: another one may have sent some
                self.last_seq = m.get('last_seq', -1)
                self.waiting = {s: f for s, f in self.waiting.items() if s > self.last_seq}
        elif op == 'ack':
            self.unanswered.discard(m['seq'])
            if m['status'] == 'later':      # as all behind it: they are sent again, in their order
                self.pause_s = m['retry_ms'] / 1000
            else:
                self.waiting.pop(m['seq'], None)
                self.used += m['status'] == 'used'
                print(json.dumps({k: m[k] for k in ('seq', 'status', 'reason', 'submap', 'pose', 'scale', 'sigma', 'again') if k in m}))
        elif op == 'sync':
            if int(m['hash'], 16) != self.mirror.hash:
                raise ValueError('the hash is another one')
            self.mirror.synced = m['revision']
        elif op == 'ended':
            self.ended = m['revision']
        elif op in ('error', 'bye'):
            print(m, file=sys.stderr)
            self.retry_s = m['retry_ms'] / 1000 if 'retry_ms' in m and m.get('action') != 'disconnect' else None

    async def run(self):
        self.waiting = dict(read_frames(pathlib.Path(self.args.folder), self.args))
        while self.ended is None or (self.mirror.synced or 0) < self.ended:
            self.retry_s = 1
            try:
                await self.connection()
            except websockets.InvalidStatusCode as why:     # before the upgrade: 503 = come back later
                self.retry_s = int(why.headers.get('Retry-After', 1)) if why.status_code == 503 else None
            except (OSError, ValueError, websockets.WebSocketException) as why:
                print(f'the connection ended: {why}', file=sys.stderr)
                self.mirror = Mirror() if isinstance(why, ValueError) else self.mirror      # what the server said cannot be
            if self.retry_s is None:
                sys.exit('the server does not want us back')
            await asyncio.sleep(self.retry_s if self.ended is None else 0)
        print(json.dumps({'points': self.mirror.points(), 'hash': f'{self.mirror.hash:016x}', 'used': self.used, 'submaps':
                          {n: {'points': self.mirror.points(n), **s} for n, s in self.mirror.submaps.items()}}))


if __name__ == '__main__':
    p = argparse.ArgumentParser(description='Feed recond with the pictures of a folder and keep its cloud.')
    p.add_argument('url', help='stream_url of a session')
    p.add_argument('folder', help='sequence.json, frames/, poses.txt, depth/')
    for name, kind, default in ('source', str, 'main'), ('first', int, 0), ('last', int, None), ('world', int, 0), ('token', str, None):
        p.add_argument('--' + name, type=kind, default=default)
    p.add_argument('--depth', action='store_true', help='send the depth pictures, too')
    asyncio.run(Feeder(p.parse_args()).run())
