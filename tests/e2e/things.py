#!/usr/bin/env python3
"""things.py - a bracket on a floor, drawn as a depth camera sees it, fed to a session that looks for it

    things.py feed URL JPEG OUT     enrols the bracket, feeds three frames with it and two without, writes what is known
    things.py folder JPEG OUT       writes the first frames as a folder that reconctl pushes
    things.py same URL OUT STREAM   does the session of OUT know the same, over REST and to a client that comes now?
"""
import base64
import json
import math
import os
import struct
import sys
import zlib

import ws

W, H, F = 256, 192, 210.0
BOXES = (((0, 0, 0), (20, 6, 5)), ((0, 6, 0), (5, 14, 5)), ((13, 0, 5), (19, 5, 12)))  # centimetres
AT, TURN = (0.05, -0.08), math.radians(40)


def mesh():
    lines = []
    for k, (low, high) in enumerate(BOXES):
        for i in range(8):
            lines.append('v ' + ' '.join(str((high if i >> a & 1 else low)[a]) for a in range(3)))
        for face in ('1 3 4 2', '5 6 8 7', '1 2 6 5', '3 7 8 4', '1 5 7 3', '2 4 8 6'):
            lines.append('f ' + ' '.join(str(8 * k + int(c)) for c in face.split()))
    return base64.b64encode('\n'.join(lines).encode()).decode()


def into(p):
    """A point of the world in the bracket's axes; a direction where `p` has no place."""
    x, y = p[0], p[1]
    return (math.cos(TURN) * x + math.sin(TURN) * y, -math.sin(TURN) * x + math.cos(TURN) * y, p[2])


def hit(eye, ray):
    """How far along the ray the nearest side of a box is, or infinity."""
    least = math.inf
    for low, high in BOXES:
        near, far = 0.0, math.inf
        for a in range(3):
            if abs(ray[a]) < 1e-9:
                if not 0.01 * low[a] <= eye[a] <= 0.01 * high[a]:
                    far = -1
                continue
            one, two = sorted(((0.01 * low[a] - eye[a]) / ray[a], (0.01 * high[a] - eye[a]) / ray[a]))
            near, far = max(near, one), min(far, two)
        if near <= far:
            least = min(least, near)
    return least


def camera(azimuth):
    """R (rows: the camera's axes in the world) and place, 0.7 m away, looking down at the bracket by 35 degrees."""
    a, e = math.radians(azimuth), math.radians(35)
    forward = (-math.cos(a) * math.cos(e), -math.sin(a) * math.cos(e), -math.sin(e))
    right = (-math.sin(a), math.cos(a), 0)
    down = tuple(forward[(i + 1) % 3] * right[(i + 2) % 3] - forward[(i + 2) % 3] * right[(i + 1) % 3] for i in range(3))
    return (right, down, forward), tuple((0.1, 0.0, 0.05)[i] - 0.7 * forward[i] for i in range(3))


def quaternion(axes):
    """Of the rotation whose columns are the axes."""
    m = [[axes[c][r] for c in range(3)] for r in range(3)]
    w = math.sqrt(max(0.0, 1 + m[0][0] + m[1][1] + m[2][2])) / 2
    if w > 0.1:
        return ((m[2][1] - m[1][2]) / (4 * w), (m[0][2] - m[2][0]) / (4 * w), (m[1][0] - m[0][1]) / (4 * w), w)
    x = math.sqrt(1 + m[0][0] - m[1][1] - m[2][2]) / 2
    if x > 0.1:
        return (x, (m[0][1] + m[1][0]) / (4 * x), (m[0][2] + m[2][0]) / (4 * x), (m[2][1] - m[1][2]) / (4 * x))
    y = math.sqrt(1 - m[0][0] + m[1][1] - m[2][2]) / 2
    return ((m[0][1] + m[1][0]) / (4 * y), y, (m[1][2] + m[2][1]) / (4 * y), (m[0][2] - m[2][0]) / (4 * y))


def depth_planes(axes, eye, there):
    """Millimetres along the camera's axis, as the planes of a depth map."""
    own = into((eye[0] - AT[0], eye[1] - AT[1], eye[2]))
    low, high, first, before = bytearray(), bytearray(), 0, 0
    for v in range(H):
        for u in range(W):
            x, y = (u - (W - 1) / 2) / F, (v - (H - 1) / 2) / F
            ray = tuple(x * axes[0][i] + y * axes[1][i] + axes[2][i] for i in range(3))
            z = -eye[2] / ray[2] if ray[2] < -1e-6 else math.inf
            if there:
                z = min(z, hit(own, into(ray)))
            mm = round(1000 * z) if z < 5 else 0
            before = first if u == 0 else before
            first = mm if u == 0 else first
            low.append(mm - before & 255)
            high.append((mm - before & 0xffff) >> 8)
            before = mm
    return bytes(low + high)


def png(planes):
    """The picture of such planes: grey, 16 bits."""
    rows, first, before = [], 0, 0
    for v in range(H):
        row = []
        for u in range(W):
            i = v * W + u
            before = ((first if u == 0 else before) + planes[i] + (planes[W * H + i] << 8)) & 0xffff
            first = before if u == 0 else first
            row.append(before)
        rows.append(b'\0' + struct.pack(f'>{W}H', *row))

    def chunk(kind, data):
        return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
    return (b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', W, H, 16, 0, 0, 0, 0)) + chunk(b'IDAT', zlib.compress(b''.join(rows))) +
            chunk(b'IEND', b''))


def folder(jpeg, out):
    picture = open(jpeg, 'rb').read()
    for name in ('frames', 'depth'):
        os.makedirs(f'{out}/{name}')
    with open(out + '/poses.txt', 'w') as poses:
        for k in range(3):
            axes, eye = camera(20 + 12 * k)
            open(f'{out}/frames/{k:06d}.jpg', 'wb').write(picture)
            open(f'{out}/depth/{k:06d}.png', 'wb').write(png(depth_planes(axes, eye, True)))
            print(f'{k:06d}', *eye, *quaternion(axes), file=poses)
    with open(out + '/sequence.json', 'w') as f:
        json.dump({'width': 640, 'height': 480, 'fx': 2.5 * F, 'fy': 2.5 * F, 'cx': 319.5, 'cy': 239.5, 'fps': 10, 'depth_unit_m': 0.001}, f)


def known(url, made):
    status, all_ = ws.rest(url, 'GET', f"/v1/sessions/{made['id']}/objects")
    assert status == 200, all_
    return all_


def off(thing):
    """Degrees and metres between a thing's pose and where the bracket stands."""
    want = (0, 0, math.sin(TURN / 2), math.cos(TURN / 2))
    dot = abs(sum(a * b for a, b in zip(want, thing['pose'][:4])))
    return math.degrees(2 * math.acos(min(1, dot))), math.dist(thing['pose'][4:], (*AT, 0))


def feed(url, jpeg, out):
    status, answer = ws.rest(url, 'POST', '/v1/objects', {'name': 'bracket', 'class': 'part', 'mesh': mesh(), 'mesh_scale': 0.01})
    assert status == 201, answer
    options = {'depth_source': 'sensor', 'journal': 'sync', 'mode': 'lossless', 'net': {'width': W, 'height': H}, 'recognise_hz': 8}
    status, answer = ws.rest(url, 'POST', '/v1/sessions', {**options, 'objects': ['bracket', 'unicorn']})
    print('refused', status, answer['errors'][0]['pointer'] if 'errors' in answer else answer)
    status, made = ws.rest(url, 'POST', '/v1/sessions', {**options, 'objects': ['bracket']})
    assert status == 201, made
    s = ws.Stream(made['stream_url'], timeout=60)
    s.text({'op': 'camera', 'id': 3, 'model': 'pinhole', 'width': W, 'height': H, 'params': [F, F, (W - 1) / 2, (H - 1) / 2]})
    picture = open(jpeg, 'rb').read()
    for k in range(5):
        axes, eye = camera(20 + 12 * k)
        part = ((2, 0, 0, W, H, 3, 0), depth_planes(axes, eye, k < 3))
        s.binary(ws.frame(4 * k + 1, picture, 640, 480, camera=(F * 2.5, F * 2.5, 319.5, 239.5), q=quaternion(axes), t=eye, parts=[part]))
        ack = s.wait('ack', seq=4 * k + 1)
        assert ack['status'] == 'used', ack
    s.text({'op': 'end'})
    s.wait('ended')
    told = [o for t in s.texts if t['op'] == 'objects' for o in t['objects']]
    for o in told:
        print('told', o['id'], o['object'], o['class'], o['state'], o['seq'])
    print('off', *['%.2f %.4f' % off(o) for o in told if o['state'] != 'lost'])
    all_ = known(url, made)
    json.dump({'id': made['id'], 'known': all_}, open(out, 'w'))
    print('looks', all_['looks'], 'skipped', all_['skipped'], 'history', *[(o['state'], o['seq']) for o in all_['history']])


def same(url, out, stream):
    was = json.load(open(out))
    now = known(url, was)
    assert now == was['known'], (now, was['known'])
    s = ws.Stream(f"{stream}/v1/sessions/{was['id']}/stream", role='view')
    told = s.wait('objects')['objects']
    assert told == now['objects'], (told, now['objects'])


if __name__ == '__main__':
    {'feed': feed, 'folder': folder, 'same': same}[sys.argv[1]](*sys.argv[2:])
