"""bundle.py none|feed|close|corrected SEQUENCE WORK URL - the steps of 69-bundle: a session without keyframes; a walk of a sequence there and
back, whose poses drift by 6 % of the way, into WORK/id; its end, up to the moment in which its points begin to move; its path afterwards
"""
import glob
import json
import math
import sys
import time
import urllib.request

import ws

how, sequence, work, url = sys.argv[1:5]
DRIFT = 0.06
EACH = 4  # of the pictures one is sent


def tum(text):
    """Rows of x y z and a quaternion, without the time or number before them."""
    return [[float(v) for v in line.split()[1:]] for line in text.splitlines() if line and line[0] != '#']


def walk():
    """Pictures, true places, and the poses that are said of them."""
    poses = tum(open(sequence + '/poses.txt').read())[::EACH]
    pictures = sorted(glob.glob(sequence + '/frames/*.jpg'))[::EACH]
    there = list(zip(pictures, poses))
    way, last, all_frames = 0.0, poses[0], []
    for picture, pose in there + there[::-1]:
        way += math.dist(pose[:3], last[:3])
        last = pose
        all_frames.append((picture, pose[:3], [pose[0] + DRIFT * way, *pose[1:3]], pose[3:]))
    return all_frames


def session(wanted):
    status, s = ws.rest(url, 'GET', f'/v1/sessions/{wanted}')
    return s if status == 200 else {}


def create(options):
    status, s = ws.rest(url, 'POST', '/v1/sessions', {'mode': 'lossless', 'retention_s': -1, 'views': 'off', **options})
    assert status == 201, s
    return s


def close(wanted):
    status, s = ws.rest(url, 'POST', f'/v1/sessions/{wanted}/close')
    assert status == 202, s


def feed():
    info = json.load(open(sequence + '/sequence.json'))
    camera = tuple(float(info[k]) for k in ('fx', 'fy', 'cx', 'cy'))
    s = create({'bundle': 'on', 'net': {'width': 192, 'height': 160}})
    stream = ws.Stream(s['stream_url'], start=False, timeout=60)
    stream.text({'op': 'start', 'role': 'ingest', 'codecs': ['raw'], 'pose': 'cv'})
    stream.wait('ready')
    for i, (picture, _, t, q) in enumerate(walk()):
        stream.binary(ws.frame(i, open(picture, 'rb').read(), info['width'], info['height'], camera=camera, t=t, q=q))
        verdict = stream.wait('ack', seq=i)
        assert verdict['status'] == 'used', verdict
    open(work + '/id', 'w').write(s['id'])


def main():
    if how == 'none':
        s = create({})
        close(s['id'])
        open(work + '/none', 'w').write(s['id'])
        return
    if how == 'feed':
        feed()
        return
    own = open(work + '/id').read()
    if how == 'close':
        before = session(own)['revision']
        close(own)
        for _ in range(20000):  # killed in the middle, or, on a machine that sleeps, behind it
            s = session(own)
            if s['revision'] > before or s['state'] == 'closed':
                break
            time.sleep(0.005)
        print(s['state'], s['revision'] - before)
        return
    for _ in range(1000):
        s = session(own)
        if s.get('state') == 'closed':
            break
        time.sleep(0.1)
    assert s.get('state') == 'closed', s
    with urllib.request.urlopen(f'{url}/v1/sessions/{own}/trajectory', timeout=60) as answer:
        got = tum(answer.read().decode())
    frames = walk()
    assert len(got) == len(frames), (len(got), len(frames))
    said, is_now = math.dist(frames[-1][2], frames[-1][1]), math.dist(got[-1][:3], frames[-1][1])
    print(f'{said:.3f} m off as it was said, {is_now:.3f} m now; {s.get("bundle")}')
    assert is_now < 0.5 * said


main()
