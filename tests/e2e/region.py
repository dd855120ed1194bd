#!/usr/bin/env python3
"""region.py - the bracket of things.py is scanned, and enrolled as a box of the session's world

    region.py scan URL JPEG OUT          a session that walks around the bracket; OUT: its id, and box.txt and pose.txt beside it, and unseen.png, the
                                         bracket from where no frame was, pose.txt: object to that camera (qx qy qz qw tx ty tz)
    region.py find URL JPEG NAME         another session looks for the object; prints how many degrees and metres off it is told to be
"""
import json
import math
import os
import sys

import things
import ws

MIDDLE, SIZE = (0.10, 0.10, 0.067), (0.24, 0.24, 0.116)  # of the box, in the bracket's axes: from 9 mm above the floor on
AROUND, REPEAT, UNSEEN = [0, 60, 120, 180, 240, 300], 3, 90  # degrees, frames from each side


def turned(p, angle):
    return (math.cos(angle) * p[0] - math.sin(angle) * p[1], math.sin(angle) * p[0] + math.cos(angle) * p[1], p[2])


def centre():
    p = turned(MIDDLE, things.TURN)
    return (p[0] + things.AT[0], p[1] + things.AT[1], p[2])


def truth():
    """Where the object is in the world: the middle of the box, and its turn."""
    return (0, 0, math.sin(things.TURN / 2), math.cos(things.TURN / 2)), centre()


def seen_by(axes, eye):
    """The same in a camera: its axes are the rows of the rotation."""
    c, s = math.cos(things.TURN), math.sin(things.TURN)
    columns = [(c, s, 0), (-s, c, 0), (0, 0, 1)]
    inside = [tuple(sum(a[i] * x[i] for i in range(3)) for a in axes) for x in columns]
    away = [a - b for a, b in zip(centre(), eye)]
    return things.quaternion(inside), tuple(sum(a[i] * away[i] for i in range(3)) for a in axes)


def feed(url, jpeg, options, azimuths):
    status, made = ws.rest(url, 'POST', '/v1/sessions', {
        'name': 'walk', 'depth_source': 'sensor', 'mode': 'lossless', 'up': '+z', 'net': {'width': things.W, 'height': things.H}, **options})
    assert status == 201, made
    s = ws.Stream(made['stream_url'], timeout=60)
    s.text({'op': 'camera', 'id': 3, 'model': 'pinhole', 'width': things.W, 'height': things.H, 'params': [things.F, things.F, (things.W - 1) / 2, (things.H - 1) / 2]})
    picture, f = open(jpeg, 'rb').read(), 2.5 * things.F
    seq = 0
    for azimuth in azimuths:
        axes, eye = things.camera(azimuth)
        part = ((2, 0, 0, things.W, things.H, 3, 0), things.depth_planes(axes, eye, True))
        for _ in range(REPEAT):
            seq += 1
            s.binary(ws.frame(seq, picture, 640, 480, camera=(f, f, 319.5, 239.5), q=things.quaternion(axes), t=eye, parts=[part]))
            ack = s.wait('ack', seq=seq)
            assert ack['status'] == 'used', ack
    return s, made


def scan(url, jpeg, out):
    s, made = feed(url, jpeg, {}, AROUND)
    axes, eye = things.camera(UNSEEN)
    folder = os.path.dirname(out)
    open(folder + '/unseen.png', 'wb').write(things.png(things.depth_planes(axes, eye, True)))
    q, t = seen_by(axes, eye)
    print(*q, *t, file=open(folder + '/pose.txt', 'w'))
    print(','.join(f'{x:.4f}' for x in (*centre(), *SIZE, math.degrees(things.TURN))), file=open(folder + '/box.txt', 'w'))
    print(made['id'], file=open(out, 'w'))


def find(url, jpeg, name):
    s, made = feed(url, jpeg, {'objects': [name], 'recognise_hz': 8}, [100, 260])
    s.text({'op': 'end'})
    s.wait('ended')
    q, t = truth()
    for o in things.known(url, made)['objects']:
        dot = abs(sum(a * b for a, b in zip(q, o['pose'][:4])))
        print(o['object'], o['state'], '%.2f %.4f' % (math.degrees(2 * math.acos(min(1, dot))), math.dist(o['pose'][4:], t)))


if __name__ == '__main__':
    {'scan': scan, 'find': find}[sys.argv[1]](*sys.argv[2:])
