"""ties.py HOW SEQUENCE WORK URL [ties=off] - a walk whose poses jump, or that two phones share; writes WORK/HOW.ply, WORK/HOW.json and,
for said and two, WORK/exact-HOW.ply, with the worlds where they truly lie

HOW is clean, said (three jumps of 30 cm, each with a world_epoch of its own), unsaid (the same, and nobody says so), one and then two
(the first half and the second from two sources, each with an origin of its own; they see the same around the middle).
"""
import glob
import json
import math
import sys
import time
import urllib.parse
import urllib.request

import ws

how, sequence, work, url = sys.argv[1:5]
given = dict(word.split('=') for word in sys.argv[5:])
JUMPS = ((0.3, 0.0, 0.0), (0.3, 0.212, 0.212), (0.0, 0.212, 0.212))  # where the first, second and third jump lead to, metres
TURN, SHIFT = math.radians(70), (3.0, -0.5, 7.0)                     # of the second phone's world in the first's: about y, metres


def times(a, b):
    (ax, ay, az, aw), (bx, by, bz, bw) = a, b
    return (aw * bx + ax * bw + ay * bz - az * by, aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw, aw * bw - ax * bx - ay * by - az * bz)


def turned(q, v):
    x, y, z, w = q
    return times(times(q, (*v, 0.0)), (-x, -y, -z, w))[:3]


BACK = (0.0, -math.sin(TURN / 2), 0.0, math.cos(TURN / 2))


def pose_of(i, n, t, q):
    """What the phone says of frame i, and its world_epoch."""
    if how in ('said', 'unsaid'):
        part = 4 * i // n
        if part:
            t = [a + b for a, b in zip(t, JUMPS[part - 1])]
        return t, q, part if how == 'said' else 0
    if how == 'two':
        return turned(BACK, [a - b for a, b in zip(t, SHIFT)]), times(BACK, q), 0
    return t, q, 0


def submaps(session):
    status, told = ws.rest(url, 'GET', f'/v1/sessions/{session}/submaps')
    assert status == 200, told
    return told['submaps']


def exact():
    """Where the worlds truly lie."""
    if how == 'two':
        return [[0.0, math.sin(TURN / 2), 0.0, math.cos(TURN / 2), *SHIFT]]
    return [[0.0, 0.0, 0.0, 1.0, *(-v for v in jump)] for jump in JUMPS]


def pull(session, name):
    with urllib.request.urlopen(f'{url}/v1/sessions/{session}/cloud', timeout=60) as answer:
        open(f'{work}/{name}.ply', 'wb').write(answer.read())


def main():
    info = json.load(open(sequence + '/sequence.json'))
    camera = tuple(float(info[k]) for k in ('fx', 'fy', 'cx', 'cy'))
    poses = [[float(v) for v in line.split()[1:]] for line in open(sequence + '/poses.txt') if line[0] != '#']
    pictures = sorted(glob.glob(sequence + '/frames/*.jpg'))
    n = len(pictures)
    mine = range(n)
    if given.get('ties') == 'off':  # the first jump is enough
        mine = range(n // 4 + 3)
    elif how in ('one', 'two'):
        mine = range((n + 1) // 2) if how == 'one' else range((n + 1) // 2, n)
    if how == 'two':
        s = json.load(open(f'{work}/one.json'))
        s['stream_url'] = given['stream'].rstrip('/') + urllib.parse.urlparse(s['stream_url']).path
    else:
        options = {'mode': 'lossless', 'retention_s': -1, 'ties': 'on', **given}
        status, s = ws.rest(url, 'POST', '/v1/sessions', options)
        assert status == 201, s
    stream = ws.Stream(s['stream_url'], start=False)
    stream.text({'op': 'start', 'role': 'ingest', 'codecs': ['raw'], 'pose': 'cv', 'source': 'phone-2' if how == 'two' else 'phone-1'})
    stream.wait('ready')
    for i in mine:
        t, q, world = pose_of(i, n, poses[i][:3], poses[i][3:])
        stream.binary(ws.frame(i, open(pictures[i], 'rb').read(), info['width'], info['height'], camera=camera, t=t, q=q, world=world))
        verdict = stream.wait('ack', seq=i)
        assert verdict['status'] == 'used', verdict
    if how == 'one':
        json.dump(s, open(f'{work}/one.json', 'w'))
        return
    want = 1 if given.get('ties') == 'off' else {'clean': 1, 'said': 4, 'unsaid': 4, 'two': 2}[how]
    for _ in range(300):  # keyframes are compared in the background
        told = submaps(s['id'])
        if given.get('ties') == 'off' or all(m['placed'] for m in told) and (how != 'unsaid' or settled(told)):
            break
        time.sleep(0.2)
    assert len(told) == want, told
    pull(s['id'], how)
    if how in ('said', 'two'):
        for m, pose in zip(told[1:], exact()):
            status, _ = ws.rest(url, 'PUT', f'/v1/sessions/{s["id"]}/submaps/{m["submap"]}', {'pose': pose})
            assert status == 204, status
        assert not any(m['tied'] for m in submaps(s['id']))
        pull(s['id'], 'exact-' + how)
    json.dump({'id': s['id'], 'submaps': told}, open(f'{work}/{how}.json', 'w'))
    print(how, s['id'], json.dumps(told))


def settled(told):
    """A world that jumped lies at once where its poses have it, 30 cm off; a tie moves it."""
    return len(told) == 4 and all(max(abs(a + b) for a, b in zip(m['pose'][4:], JUMPS[k])) < 0.1 for k, m in enumerate(told[1:]))


main()
