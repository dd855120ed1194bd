"""worlds.py feed|place|leave SEQUENCE WORK URL - a phone that loses its world in the middle of a walk

feed    the walk in one world, and in another session in two, the second of which lies elsewhere and turned; writes WORK/alone.ply,
        WORK/two.ply (as it is), WORK/all.ply (?unplaced=1), WORK/id
place   tells where the second world lies; writes WORK/placed.ply
leave   after a restart; writes WORK/back.ply
"""
import glob
import json
import math
import os
import struct
import subprocess
import sys
import time
import urllib.request

import ws

part, sequence, work, url = sys.argv[1:5]
TURN, SHIFT = math.radians(70), (3.0, -0.5, 7.0)  # of the second world in the first: about y, metres


def say(name, good, why=''):
    print(f'ok {name}' if good else f'not ok {name}: {why}', flush=True)


def times(a, b):
    (ax, ay, az, aw), (bx, by, bz, bw) = a, b
    return (aw * bx + ax * bw + ay * bz - az * by, aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw, aw * bw - ax * bx - ay * by - az * bz)


def turned(q, v):
    x, y, z, w = q
    return times(times(q, (*v, 0.0)), (-x, -y, -z, w))[:3]


G = (0.0, math.sin(TURN / 2), 0.0, math.cos(TURN / 2))
BACK = (0.0, -G[1], 0.0, G[3])


def pull(session, name, query=''):
    with urllib.request.urlopen(f'{url}/v1/sessions/{session}/cloud{query}', timeout=60) as answer:
        body = answer.read()
        open(f'{work}/{name}.ply', 'wb').write(body)
        return answer.headers['ETag'], body


def points(ply):
    """Their order means nothing."""
    body = ply.split(b'end_header\n', 1)[1]
    return sorted(body[i:i + 28] for i in range(0, len(body), 28))


class Viewer:
    """Follows a session: which submaps it was told of, in order, and the first block of each."""

    def __init__(self, session):
        status, s = ws.rest(url, 'GET', f'/v1/sessions/{session}')
        assert status == 200, s
        self.stream = ws.Stream(s['stream_url'], role='view')
        self.events = []        # ('place', submap, placed, the seven numbers) and ('block', submap)

    def until(self, done):
        """Returns what was told once done(events) holds; fails with the stream's time."""
        while not done(self.events):
            kind, message = self.stream.receive()
            if kind == 'text' or message[0] not in (0x10, 0x11, 0x14):
                self.events.append(('text', message['op']) if kind == 'text' else ('other', message[0]))
                continue
            number, = struct.unpack_from('<I', message, 16)
            if message[0] == 0x14:
                self.events.append(('place', number, not message[3] & 1, struct.unpack_from('<7f', message, 20)))
            elif ('block', number) not in self.events:
                self.events.append(('block', number))
        return self.events


def near(a, b):
    return all(abs(x - y) < 1e-5 for x, y in zip(a, b))


def same_files(session, name):
    """Does a mirror that reconctl keeps give the server's file, with and without submaps that have no place?"""
    for word, query in (([], ''), (['--unplaced'], '?unplaced=1')):
        file = f'{work}/mirror-{name}.ply'
        subprocess.run([os.environ['O'] + '/reconctl', 'pull', session, '-O', file, '--url', url, *word], check=True, stdout=subprocess.DEVNULL)
        _, theirs = pull(session, 'served', query)
        ours = open(file, 'rb').read()
        if points(ours) != points(theirs) or ours.split(b'end_header')[0] != theirs.split(b'end_header')[0]:
            return False
    return True


def ctl(*words):
    done = subprocess.run([os.environ['O'] + '/reconctl', *words, '--url', url], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    return done.returncode, done.stdout


def walk(worlds):
    """A session that was walked through; the second half in a world of its own, if there are two."""
    info = json.load(open(sequence + '/sequence.json'))
    camera = tuple(float(info[k]) for k in ('fx', 'fy', 'cx', 'cy'))
    poses = [[float(v) for v in line.split()[1:]] for line in open(sequence + '/poses.txt') if line[0] != '#']
    pictures = sorted(glob.glob(sequence + '/frames/*.jpg'))
    status, s = ws.rest(url, 'POST', '/v1/sessions', {'mode': 'lossless', 'retention_s': -1, 'ties': 'off'})
    assert status == 201, s
    stream = ws.Stream(s['stream_url'])
    viewer = Viewer(s['id']) if worlds == 2 else None
    for i, name in enumerate(pictures):
        t, q, world = poses[i][:3], poses[i][3:], int(worlds == 2 and 2 * i >= len(pictures))
        if world:
            t, q = turned(BACK, [a - b for a, b in zip(t, SHIFT)]), times(BACK, q)
        stream.binary(ws.frame(i, open(name, 'rb').read(), info['width'], info['height'], camera=camera, t=t, q=q, world=world))
        verdict = stream.wait('ack', seq=i)
        assert verdict['status'] == 'used' and verdict['submap'] == world, verdict
    if viewer:
        told = viewer.until(lambda events: ('block', 1) in events)
        places = [e for e in told if e[0] == 'place']
        say('who follows is told of the second world before its first block, and that it has no place',
            len(places) == 1 and places[0][1:3] == (1, False) and told.index(places[0]) < told.index(('block', 1)), told)
    return s['id']


def feed():
    pull(walk(1), 'alone')
    session = walk(2)
    open(work + '/id', 'w').write(session)
    status, told = ws.rest(url, 'GET', f'/v1/sessions/{session}/submaps')
    say('two worlds are told, the second without a place', status == 200 and told['submaps'] == [
        {'submap': 0, 'source': 'main', 'world_epoch': 0, 'placed': True, 'tied': False, 'pose': [0, 0, 0, 1, 0, 0, 0]},
        {'submap': 1, 'source': 'main', 'world_epoch': 1, 'placed': False, 'tied': False}], told)
    _, two = pull(session, 'two')
    _, every = pull(session, 'all', '?unplaced=1')
    n, half = len(path_of(session, '?unplaced=1')), len(path_of(session))
    say('and out of the path', 0 < half < n, (half, n))
    say('an unplaced one is left out of the file', 0 < len(two) < 0.8 * len(every), (len(two), len(every)))
    say('and of the file that a mirror writes', same_files(session, 'two'))


def place():
    session = open(work + '/id').read()
    path = f'/v1/sessions/{session}/submaps/'
    pose = [*G, *SHIFT]
    before, _ = pull(session, 'two')
    viewer = Viewer(session)
    told = viewer.until(lambda events: ('text', 'sync') in events)
    first = [e[:2] for e in told if e[0] in ('place', 'block')]
    say('who comes later hears of it before all blocks', first[0] == ('place', 1) and ('block', 1) in first, first)
    wrong = [ws.rest(url, 'PUT', path + n, body)[0] for n, body in
             (('2', {'pose': pose}), ('1', {'pose': pose[:6]}), ('1', {'pose': [0] * 7}), ('1', {}), ('x', {'pose': pose}))]
    say('what is no place, and no submap, is refused', wrong == [404, 422, 422, 422, 404], wrong)
    bad = [ctl('session', 'submap', session, *words)[0] for words in
           (('1',), ('1', '--pose', '0,0,0,1,0,0'), ('--pose', '0,0,0,1,0,0,0'), ('256', '--pose', '0,0,0,1,0,0,0'), ('x', '--pose', '0,0,0,1,0,0,0'))]
    say('nor does reconctl send it', bad == [2] * 5, bad)
    code, said = ctl('session', 'submap', session, '1', '--pose', ','.join(map(repr, pose)))
    say('a place is taken', code == 0, said)
    code, shown = ctl('session', 'submap', session, '--json')
    list_1 = json.loads(shown)['submaps'][1]
    say('reconctl shows it', code == 0 and list_1['placed'] and near(list_1['pose'], pose), shown)
    placed = viewer.until(lambda events: len([e for e in events if e[0] == 'place']) == 2)[-1]
    say('and told to who follows', placed[:3] == ('place', 1, True) and near(placed[3], pose), placed)
    after, _ = pull(session, 'placed')
    open(work + '/tag', 'w').write(after)
    say('a mirror writes the same file, points moved and normals turned', same_files(session, 'placed'))
    say('and the file has another tag', before != after, (before, after))
    true = [[float(v) for v in line.split()[1:4]] for line in open(sequence + '/poses.txt') if line[0] != '#']
    rows = path_of(session)
    say('the path of both worlds is one', len(rows) == len(true) and all(abs(a - b) < 1e-4 for row, t in zip(rows, true) for a, b in zip(row, t)), rows[-1:])


def path_of(session, query=''):
    """Where the cameras were, by the session's trajectory."""
    with urllib.request.urlopen(f'{url}/v1/sessions/{session}/trajectory{query}', timeout=60) as answer:
        return [[float(v) for v in line.split()[1:4]] for line in answer.read().decode().splitlines() if line[0] != '#']


def leave():
    session = open(work + '/id').read()
    status = 503
    while status == 503:  # it is coming back
        time.sleep(0.2)
        status, told = ws.rest(url, 'GET', f'/v1/sessions/{session}/submaps')
    second = told['submaps'][1]
    say('a place outlives the process', second['placed'] and all(abs(a - b) < 1e-5 for a, b in zip(second['pose'], [*G, *SHIFT])), told)
    told = Viewer(session).until(lambda events: ('text', 'sync') in events)
    places = [e for e in told if e[0] == 'place']
    say('and is told to who comes then, before blocks', len(places) == 1 and places[0][1:3] == (1, True) and near(places[0][3], [*G, *SHIFT]) and
        told.index(places[0]) < told.index(('block', 0)), told[:9])
    tag, body = pull(session, 'back')
    placed = open(work + '/placed.ply', 'rb').read()
    say('and so does the file, point by point', tag == open(work + '/tag').read() and points(body) == points(placed), tag)


{'feed': feed, 'place': place, 'leave': leave}[part]()
