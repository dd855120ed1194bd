"""loop.py FOLDER URL SUBMAP_M HOW - push a drawn loop whose poses drift, watch its cloud beside it, and say what HOW, ties or bundle, made of it (tests/bench/loop)

Prints how far the last camera is from the truth, by the frames' own poses and by the session's path once no submap moves any more, and
the bytes that a viewer got: blocks, and the transforms that came after the loop was closed.
"""
import glob
import json
import math
import sys
import time
import threading
import urllib.request

import ws

folder, url, submap_m, how = sys.argv[1:5]
CALM_S = 5     # nothing has moved for so long: the ties are done
TRANSFORM = 0x14


def tum(text):
    """Rows of x y z and a quaternion, without the time or number before them."""
    return [[float(v) for v in line.split()[1:]] for line in text.splitlines() if line and line[0] != '#']


def rows(name):
    return tum(open(f'{folder}/{name}').read())


class Viewer(threading.Thread):
    """A client that holds the cloud; counts what it is sent, transforms apart."""

    def __init__(self, session):
        super().__init__(daemon=True)
        self.stream = ws.Stream(session['stream_url'], start=False)
        self.stream.text({'op': 'start', 'role': 'view', 'codecs': ['deflate-raw', 'raw']})
        self.blocks = self.transforms = 0
        self.last = time.monotonic()

    def run(self):
        try:
            while True:
                kind, value = self.stream.receive()
                if kind == 'binary' and value[0] == TRANSFORM:
                    self.transforms += len(value)
                    self.last = time.monotonic()
                elif kind == 'binary':
                    self.blocks += len(value)
                    self.last = time.monotonic()
        except (ws.Closed, OSError):
            pass


def path(session):
    with urllib.request.urlopen(f'{url}/v1/sessions/{session}/trajectory', timeout=60) as answer:
        return tum(answer.read().decode())


def main():
    info = json.load(open(folder + '/sequence.json'))
    camera = tuple(float(info[k]) for k in ('fx', 'fy', 'cx', 'cy'))
    drifted, true = rows('poses.txt'), rows('poses_true.txt')
    pictures = sorted(glob.glob(folder + '/frames/*.jpg'))
    status, s = ws.rest(url, 'POST', '/v1/sessions', {'mode': 'lossless', 'retention_s': -1, how: 'on', 'submap_m': float(submap_m)})
    assert status == 201, s
    stream = ws.Stream(s['stream_url'], start=False)
    stream.text({'op': 'start', 'role': 'ingest', 'codecs': ['raw'], 'pose': 'cv'})
    stream.wait('ready')
    viewer = Viewer(s)
    viewer.start()
    before = 0
    for i, name in enumerate(pictures):
        stream.binary(ws.frame(i, open(name, 'rb').read(), info['width'], info['height'], camera=camera, t=drifted[i][0:3], q=drifted[i][3:7]))
        verdict = stream.wait('ack', seq=i)
        assert verdict['status'] == 'used', verdict
        if i < len(pictures) * 3 // 4:  # the walk has not met its beginning yet
            before = viewer.transforms
    if how == 'bundle':
        status, _ = ws.rest(url, 'POST', f'/v1/sessions/{s["id"]}/close')
        assert status == 202, status
        while ws.rest(url, 'GET', f'/v1/sessions/{s["id"]}')[1]['state'] != 'closed':
            time.sleep(0.2)
    while time.monotonic() - viewer.last < CALM_S:
        time.sleep(0.2)
    status, told = ws.rest(url, 'GET', f'/v1/sessions/{s["id"]}/submaps')
    assert status == 200 and all(m['placed'] for m in told['submaps']), told
    got = path(s['id'])
    assert len(got) == len(pictures), (len(got), len(pictures))
    own = math.dist(drifted[-1][:3], true[-1][:3])
    tied = math.dist(got[-1][:3], true[-1][:3])
    closing = viewer.transforms - before
    length = sum(math.dist(a[:3], b[:3]) for a, b in zip(true, true[1:]))
    print(json.dumps({'way_m': round(length, 2), 'submaps': len(told['submaps']), 'end_off_before_m': round(own, 4),
                      'end_off_m': round(tied, 4), 'share': round(tied / own, 4), 'map_bytes': viewer.blocks,
                      'closing_bytes': closing, 'bytes_share': round(closing / viewer.blocks, 5),
                      'end': tied <= 0.1 * own, 'bytes': closing <= 0.01 * viewer.blocks}))


main()
