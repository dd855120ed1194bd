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
    feed.py judge EXPECT WHEN FILE      does FILE, what `tell` said, hold what EXPECT says of WHEN (recovered, fed)?

PICTURES is a folder of NN.jpg, their `camera` (fx fy cx cy width height) and `poses` (tx ty tz qx qy qz qw).
"""
import glob
import json
import os
import sys
import time

sys.path.insert(0, os.path.join(os.environ.get('ROOT', '.'), 'tests/e2e'))
import ws  # noqa: E402

COMMENT = b'\xff\xfe' + (24000).to_bytes(2, 'big') + bytes(23998)
TOLD = ('name', 'state', 'epoch', 'revision', 'points', 'hash', 'blocks')
COUNTS = ('received', 'used', 'dropped', 'refused', 'keyframes')


class Pictures:
    def __init__(self, folder):
        self.jpegs = [open(path, 'rb').read() for path in sorted(glob.glob(folder + '/*.jpg'))]
        self.poses = [[float(x) for x in line.split()] for line in open(folder + '/poses')]
        camera = [float(x) for x in open(folder + '/camera').read().split()]
        self.camera, self.width, self.height = camera[:4], int(camera[4]), int(camera[5])

    def frame(self, seq, change=lambda jpeg: jpeg):
        n = (seq - 1) % len(self.jpegs)
        pose = self.poses[n]
        return ws.frame(seq, change(self.jpegs[n]), self.width, self.height, camera=self.camera, t=pose[:3], q=pose[3:])


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
    stream, pictures, seq = ws.Stream(url), Pictures(folder), int(first) - 1
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
    with open(path, 'wb') as f:
        f.write(Pictures(folder).frame(int(seq)))


def next_frame(url, session, path):
    with open(path, 'rb') as f:
        data = f.read()
    seq = int.from_bytes(data[8:16], 'little')
    stream = ws.Stream(ws.rest(url, 'GET', '/v1/sessions/' + session)[1]['stream_url'])
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


def tell(url, journal):
    out = {}
    for s in settled(url):
        with open('%s/sessions/%s/meta.json' % (journal, s['id'])) as f:
            meta = json.load(f)
        out[s['id']] = {**{k: s[k] for k in TOLD}, 'counts': {k: s['counts'][k] for k in COUNTS},
                        'origin': meta['origin'], 'finalized': meta['finalized']}
    print(json.dumps(out, indent=1, sort_keys=True))


def judge(expected, when, told):
    """The origin may be another: then, and only then, the epoch is the second next."""
    with open(expected) as f:
        want = json.load(f)[when]
    with open(told) as f:
        got = json.load(f)
    wrong = [] if sorted(want) == sorted(got) else ['sessions %s instead of %s' % (sorted(got), sorted(want))]
    for name in sorted(set(want) & set(got)):
        moved = got[name].pop('origin') != want[name].pop('origin')
        want[name]['epoch'] += 2 * moved
        wrong += ['%s %s: %s is %s instead of %s' % (when, name[:6], k, got[name].get(k), v)
                  for k, v in sorted(want[name].items()) if got[name].get(k) != v]
    if wrong:
        sys.exit('\n'.join(wrong))


COMMANDS = {'send': send, 'write': write, 'next': next_frame, 'tell': tell, 'judge': judge}
if __name__ == '__main__':
    if len(sys.argv) < 2 or sys.argv[1] not in COMMANDS:
        sys.exit(__doc__)
    COMMANDS[sys.argv[1]](*sys.argv[2:])
