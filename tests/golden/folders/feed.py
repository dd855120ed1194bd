#!/usr/bin/env python3
"""feed.py - a phone for the golden folders, and what a server must tell of them

    feed.py send STREAM_URL PICTURES FIRST_SEQ STEP...   the frames of the steps; prints the seq of the last one
        used:N      N frames, each answered "used" before the next one goes out
        padded:N    the same, each grown by a comment of 24 kB, so that a segment of the journal fills
        bad         a picture that cannot be decoded, answered "refused"
        again       the last frame once more, told what it was told
        burst:N     N frames at once; some must be dropped
    feed.py write FILE PICTURES SEQ     a frame for later: its header and its JPEG
    feed.py next URL SESSION FILE       that frame, behind its predecessor's number, which must be taken already
    feed.py tell URL JOURNAL            sessions and their origins as one JSON object, once all are back
    feed.py sections JOURNAL            what the newest checkpoint of each session holds, as one JSON object
    feed.py judge EXPECT WHEN FILE      does FILE, what was said, hold what EXPECT says of WHEN (recovered, fed, saved)?
    feed.py enrol URL                   the bracket of tests/e2e/things.py
    feed.py draw PICTURES               poses and depth of a camera that goes around it, twice, the second time without it

PICTURES is a folder of NN.jpg, their `camera` (fx fy cx cy width height) and `poses` (tx ty tz qx qy qz qw), and where they have
one: a `position` on the Earth (degrees, degrees, metres, metres), `depth`/NN (planes, deflated), a camera that they `declare`.
"""
import glob
import json
import os
import struct
import sys
import time
import zlib

sys.path.insert(0, os.path.join(os.environ.get('ROOT', '.'), 'tests/e2e'))
import things  # noqa: E402
import ws  # noqa: E402

COMMENT = b'\xff\xfe' + (24000).to_bytes(2, 'big') + bytes(23998)
TOLD = ('name', 'state', 'epoch', 'revision', 'points', 'hash', 'blocks')
COUNTS = ('received', 'used', 'dropped', 'refused', 'keyframes')
DEPTH, POSITION, CAMERA_AT = 2, 6, 88  # CAMERA_AT: of the picture's entry in a frame
ENTRY = struct.Struct('<4sHHQQI')      # of a checkpoint's table: tag version flags bytes, packed bytes, sum


class Pictures:
    def __init__(self, folder):
        self.jpegs = [open(path, 'rb').read() for path in sorted(glob.glob(folder + '/*.jpg'))]
        self.poses = [[float(x) for x in line.split()] for line in open(folder + '/poses')]
        camera = [float(x) for x in open(folder + '/camera').read().split()]
        self.camera, self.width, self.height = camera[:4], int(camera[4]), int(camera[5])
        self.declared = read(folder + '/declare')
        self.depth = [open(path, 'rb').read() for path in sorted(glob.glob(folder + '/depth/*'))]
        self.position = [float(x) for x in read(folder + '/position').split()]

    def frame(self, seq, change=lambda jpeg: jpeg):
        n = (seq - 1) % len(self.jpegs)
        pose, parts = self.poses[n], []
        if self.depth:
            parts.append(((DEPTH, 1, 0, things.W, things.H, 0, 0), self.depth[n]))
        if self.position:
            parts.append(((POSITION, 0, 0, 0, 0, 0, 0), struct.pack('<ddff', *self.position)))
        data = ws.frame(seq, change(self.jpegs[n]), self.width, self.height, camera=self.camera, t=pose[:3], q=pose[3:], parts=parts)
        if not self.declared:
            return data
        return data[:CAMERA_AT] + json.loads(self.declared)['id'].to_bytes(2, 'little') + data[CAMERA_AT + 2:]


def read(path):
    if not os.path.exists(path):
        return ''
    with open(path) as f:
        return f.read()


def connect(url, declared):
    stream = ws.Stream(url)
    if declared:
        stream.text(json.loads(declared))
    return stream


def pad(jpeg):
    return jpeg[:2] + COMMENT + jpeg[2:]


def damage(jpeg):
    return jpeg[:2] + bytes(len(jpeg) - 2)


def expect(good, *what):
    if not good:
        sys.exit('feed.py: ' + ' '.join(str(x) for x in what))


def one(stream, frame, seq, status, reason=None):
    stream.binary(frame)
    ack = stream.wait('ack', seq=seq)
    expect(ack['status'] == status and ack.get('reason') == reason, 'frame', seq, 'was answered', ack, 'not', status)


def once_more(stream, frame, seq):
    stream.binary(frame)
    ack = stream.wait('ack', seq=seq)
    expect(ack.get('again') is True, 'frame', seq, 'was not known:', ack)


def burst(stream, pictures, seq, n):
    for i in range(1, n + 1):
        stream.binary(pictures.frame(seq + i))
    acks = {}
    while len(acks) < n:
        ack = stream.wait('ack')
        acks[ack['seq']] = ack['status']
    expect(set(acks.values()) == {'used', 'dropped'}, 'a burst was answered', acks)


def send(url, folder, first, *steps):
    pictures, seq = Pictures(folder), int(first) - 1
    stream = connect(url, pictures.declared)
    for step in steps:
        name, _, n = step.partition(':')
        if name in ('used', 'padded'):
            for _ in range(int(n)):
                seq += 1
                one(stream, pictures.frame(seq, pad if name == 'padded' else lambda jpeg: jpeg), seq, 'used')
        elif name == 'bad':
            seq += 1
            one(stream, pictures.frame(seq, damage), seq, 'refused', 'decode_error')
        elif name == 'again':
            once_more(stream, pictures.frame(seq), seq)
        elif name == 'burst':
            burst(stream, pictures, seq, int(n))
            seq += int(n)
        else:
            expect(False, 'no such step:', step)
    print(seq)


def write(path, folder, seq):
    pictures = Pictures(folder)
    with open(path, 'wb') as f:
        f.write(pictures.frame(int(seq)))
    if pictures.declared:
        with open(path.replace('/next/', '/declare/'), 'w') as f:
            f.write(pictures.declared)


def next_frame(url, session, path):
    with open(path, 'rb') as f:
        data = f.read()
    seq = int.from_bytes(data[8:16], 'little')
    stream = connect(ws.rest(url, 'GET', '/v1/sessions/' + session)[1]['stream_url'], read(path.replace('/next/', '/declare/')))
    before = (seq - 1).to_bytes(8, 'little') + ((seq - 1) * 33_000_000).to_bytes(8, 'little')  # as ws.frame() has them
    once_more(stream, data[:8] + before + data[24:], seq - 1)
    one(stream, data, seq, 'used')


def settled(url):
    """All sessions, as soon as none is recovering, has queued frames or a client."""
    for _ in range(600):
        sessions = ws.rest(url, 'GET', '/v1/sessions?limit=100')[1]['sessions']
        busy = [s for s in sessions if s['state'] in ('recovering', 'streaming') or s['counts']['queued'] or
                s['clients']['ingest']]
        if not busy:
            return sessions
        time.sleep(0.05)
    sys.exit('feed.py: sessions do not settle')


def places(url, session):
    return [(p['submap'], p['placed']) for p in ws.rest(url, 'GET', f'/v1/sessions/{session}/submaps')[1].get('submaps', [])]


def objects(url, session):
    known = ws.rest(url, 'GET', f'/v1/sessions/{session}/objects')[1]
    return [(o['id'], o['object'], o['state'], o['seq']) for o in known.get('objects', []) + known.get('history', [])]


def tell(url, journal):
    out = {}
    for s in settled(url):
        with open('%s/sessions/%s/meta.json' % (journal, s['id'])) as f:
            meta = json.load(f)
        out[s['id']] = {**{k: s[k] for k in TOLD}, 'counts': {k: s['counts'][k] for k in COUNTS},
                        'origin': meta['origin'], 'finalized': meta['finalized'], 'position': s.get('position'),
                        'submaps': places(url, s['id']), 'objects': objects(url, s['id'])}
    print(json.dumps(out, indent=1, sort_keys=True))


def sections(journal):
    out = {}
    for folder in glob.glob(journal + '/sessions/*'):
        with open(max(glob.glob(folder + '/*.ckpt')), 'rb') as f:
            head = f.read(8192)
        n = int.from_bytes(head[80:84], 'little')
        table = [ENTRY.unpack_from(head, 88 + i * ENTRY.size) for i in range(n)]
        out[os.path.basename(folder)] = {'%02d' % i: '%s %d %d %d' % (e[0].decode(), *e[1:4]) for i, e in enumerate(table)}
    print(json.dumps(out, indent=1, sort_keys=True))


def enrol(url):
    status, answer = ws.rest(url, 'POST', '/v1/objects', {'name': 'bracket', 'class': 'part', 'mesh': things.mesh(), 'mesh_scale': 0.01})
    expect(status == 201, answer)


def draw(folder):
    os.makedirs(folder + '/depth')
    with open(folder + '/poses', 'w') as f:
        for k in range(16):
            axes, eye = things.camera(20 + 12 * (k % 8))
            print(*eye, *things.quaternion(axes), file=f)
            deflate = zlib.compressobj(9, wbits=-15)
            with open('%s/depth/%02d' % (folder, k + 1), 'wb') as planes:
                planes.write(deflate.compress(things.depth_planes(axes, eye, k < 8)) + deflate.flush())


def judge(expected, when, told):
    """The origin may be another: then, and only then, the epoch is the second next."""
    with open(expected) as f:
        want = json.load(f)[when]
    with open(told) as f:
        got = json.load(f)
    wrong = [] if sorted(want) == sorted(got) else ['sessions %s instead of %s' % (sorted(got), sorted(want))]
    for name in sorted(set(want) & set(got)):
        if got[name].pop('origin', None) != want[name].pop('origin', None):
            want[name]['epoch'] += 2
        wrong += ['%s %s: %s is %s instead of %s' % (when, name[:6], k, got[name].get(k), v)
                  for k, v in sorted(want[name].items()) if got[name].get(k) != v]
    if wrong:
        sys.exit('\n'.join(wrong))


COMMANDS = {'send': send, 'write': write, 'next': next_frame, 'tell': tell, 'sections': sections, 'judge': judge,
            'enrol': enrol, 'draw': draw}
if __name__ == '__main__':
    if len(sys.argv) < 2 or sys.argv[1] not in COMMANDS:
        sys.exit(__doc__)
    COMMANDS[sys.argv[1]](*sys.argv[2:])
