#!/usr/bin/env python3
"""document.py - a client written from docs/PROTOCOL.md and docs/API.md, for 37-document

    document.py SEQUENCE WORK live|stop|back|killed URL [PID]

Prints "ok NAME" or "not ok NAME: why" for each thing that the pages promise.
"""
import glob
import json
import os
import signal
import socket
import struct
import sys
import threading
import time
import urllib.parse
import urllib.request

import ws

sequence, work, part, url = sys.argv[1:5]
jpeg = [open(name, 'rb').read() for name in sorted(glob.glob(sequence + '/frames/*.jpg'))[:24]]
info = json.load(open(sequence + '/sequence.json'))
W, H = info['width'], info['height']
# frame tx ty tz qx qy qz qw, camera to world, axes of OpenCV
POSES = [[float(v) for v in line.split()[1:]] for line in open(sequence + '/poses.txt') if line[0] != '#']
CAMERA = tuple(float(info[k]) for k in ('fx', 'fy', 'cx', 'cy'))
# the tables of the pages: what an `error` may say, and with which status
TYPES = {'malformed': 400, 'unauthorized': 401, 'forbidden': 403, 'not_found': 404, 'no_start': 408, 'conflict': 409, 'view_only': 409,
         'invalid_fields': 422, 'flood': 429, 'internal': 500, 'unknown_op': 501, 'busy': 503, 'unavailable': 503}


def say(name, good, why=''):
    print(f'ok {name}' if good else f'not ok {name}: {why}', flush=True)


def session(**options):
    status, body = ws.rest(url, 'POST', '/v1/sessions', {'net': {'width': 64, 'height': 64}, 'journal': 'off', **options})
    assert status == 201, body
    return body


def frame(seq, **more):
    i = seq % len(jpeg)
    more.setdefault('q', POSES[i][3:])
    return ws.frame(seq, jpeg[i], W, H, camera=CAMERA, t=POSES[i][:3], **more)


def ack(stream, seq):
    return stream.wait('ack', seq=seq)


def request(method, path, **headers):
    """(status, headers, body) of a REST call with headers of its own."""
    q = urllib.request.Request(url + path, method=method, headers={k.replace('_', '-'): v for k, v in headers.items()})
    try:
        with urllib.request.urlopen(q, timeout=20) as a:
            return a.status, a.headers, a.read()
    except urllib.error.HTTPError as e:
        return e.code, e.headers, e.read()


def synced(stream, id_):
    """The `sync` that holds all that the session has; it may have come before the last ack."""
    revision = ws.rest(url, 'GET', '/v1/sessions/' + id_)[1]['revision']
    for m in stream.texts:
        if m['op'] == 'sync' and m['revision'] == revision:
            return m
    return stream.wait('sync', revision=revision)


def closes_with(stream):
    """The code that the server closes with, None if it does not."""
    try:
        while True:
            stream.receive()
    except ws.Closed as closed:
        return closed.args[0]
    except TimeoutError:
        return None


# ------------------------------------------------------------------------- row 3 to 6: feeders

def feeder(s, source):
    stream = ws.Stream(s['stream_url'], start=False)
    stream.text({'op': 'start', 'role': 'ingest', 'codecs': ['raw'], 'pose': 'cv', 'source': source})
    stream.ready = stream.wait('ready')
    return stream


def one(stream, data):
    stream.binary(data)
    return ack(stream, struct.unpack_from('<Q', data, 8)[0])


def acks():
    s = session()
    stream = feeder(s, 'main')
    got = [one(stream, frame(seq)) for seq in range(1, 9)]
    said = [a['pose'] for a in got]
    turned = [sum(p * q for p, q in zip(a[:4], POSES[i + 1][3:])) for i, a in enumerate(said)]
    moved = max(abs(p - q) for i, a in enumerate(said) for p, q in zip(a[4:], POSES[i + 1][:3]))
    say('an ack says where the frame was', min(abs(t) for t in turned) > 0.999999 and moved < 1e-3, (turned, moved))
    say('in which world, how well the map knew it, and when', all(a['submap'] == 0 and 0 <= a['quality'] <= 1 for a in got) and
        all(a['server_us'] < b['server_us'] for a, b in zip(got, got[1:])), got)
    revisions = [a['revision'] for a in got]
    say('and from which revision on its points are there', revisions == sorted(revisions) and
        synced(stream, s['id'])['revision'] == revisions[-1], revisions)
    say('in 250 bytes', max(len(json.dumps(a, separators=(',', ':'))) for a in got) <= 250)


def scales():
    s = session(pose_source='learned', net={'width': 128, 'height': 96})
    stream = feeder(s, 'main')
    got = [one(stream, frame(seq)) for seq in range(1, 9)]
    sure = [a for a in got if 'sigma' in a]
    said = ws.rest(url, 'GET', '/v1/sessions/' + s['id'])[1]
    say('learned poses: an ack says the frame\'s scale and its error, but for the first one', len(sure) > 4 and got[0] not in sure and
        all(('scale' in a) == ('sigma' in a) and a.get('lost') is None for a in sure) and all(0.3 < a['scale'] < 3 and 0.01 < a['sigma'] < 0.16 for a in sure), got)
    say('and so does the session\'s document', abs(said['scale']['last'] - sure[-1]['scale']) < 1e-3 and
        min(a['scale'] for a in sure) - 1e-3 < said['scale']['median'] < max(a['scale'] for a in sure) + 1e-3, said)
    s = session()
    one(feeder(s, 'main'), frame(1))
    say('one that measured nothing says nothing of it', 'scale' not in ws.rest(url, 'GET', '/v1/sessions/' + s['id'])[1])


def numbers():
    s = session()
    stream = feeder(s, 'main')
    first = one(stream, frame(5))
    second = one(stream, frame(5))
    say('a frame that is sent again is told the same', second == {**first, 'again': True, 'server_us': second['server_us']}, (first, second))
    highest = lambda data: data[:8] + (2 ** 53 - 1).to_bytes(8, 'little') + data[16:]
    far = one(stream, highest(frame(6, flags=2 | 3 << 2)))  # without a pose
    broken = one(stream, highest(ws.frame(6, jpeg[0][:2000], W, H, camera=CAMERA, t=POSES[0][:3], q=POSES[0][3:])))
    after = one(stream, frame(7))
    say('refused frames use no number up', (far['status'], broken['status'], after['status']) == ('refused', 'refused', 'used'),
        (far, broken, after))
    stream.close()
    stream = feeder(s, 'main')
    say('a page that was loaded again is told where it was', stream.ready['last_seq'] == 7, stream.ready)
    say('and goes on there', one(stream, frame(8))['status'] == 'used')
    counts = ws.rest(url, 'GET', '/v1/sessions/' + s['id'])[1]['counts']
    say('what came again counts apart', (counts['received'], counts['used'], counts['refused'], counts['again']) == (5, 3, 2, 1), counts)
    return s, stream


def phones(s, stream):
    other = feeder(s, 'left-hand')
    acks = [one(other, frame(seq)) for seq in (5, 6)] + [one(stream, frame(9)), one(stream, frame(10, world=4)), one(stream, frame(11))]
    say('two phones feed it with numbers of their own', [a['status'] for a in acks] == ['used'] * 5, acks)
    say('each world of each is a submap', [a['submap'] for a in acks] == [1, 1, 0, 2, 0], acks)
    now = ws.rest(url, 'GET', '/v1/sessions/' + s['id'])[1]['sources']
    views = [source.pop('views')['state'] for source in now]
    say('the session\'s document has them', views == ['waiting'] * 2 and now == [
        {'name': 'main', 'last_seq': 11, 'world_epoch': 0, 'connected': True},
        {'name': 'left-hand', 'last_seq': 6, 'world_epoch': 0, 'connected': True}], now)
    again = feeder(s, 'left-hand')
    say('a second one of a name takes it over', other.wait('bye')['action'] == 'disconnect' and again.ready['last_seq'] == 6)
    stream.text({'op': 'ping', 't': 1})
    say('and nobody else\'s', stream.wait('pong')['t'] == 1)
    lines = request('GET', f'/v1/sessions/{s["id"]}/trajectory')[2].decode().splitlines()
    say('the path has no rows of worlds that have no place', '# source main, submap 2' not in lines, lines)
    lines = request('GET', f'/v1/sessions/{s["id"]}/trajectory?unplaced=1')[2].decode().splitlines()
    say('else it says whose rows they are', [l for l in lines[1:] if l[0] == '#'] == [
        '# source left-hand, submap 1', '# source main, submap 0', '# source main, submap 2', '# source main, submap 0'], lines)


def answers_after_the_end(s):
    request('POST', f'/v1/sessions/{s["id"]}/close')
    stream = feeder(s, 'main')
    known, new = one(stream, frame(11)), one(stream, frame(12))
    say('a closed session tells what became of a frame', known.get('again') and known['status'] == 'used', known)
    say('and takes no new one', (new['status'], new['reason']) == ('refused', 'closed'), new)


# ------------------------------------------------------------------------- row 7 and 11: pace

def lossless():
    s = session(mode='lossless')
    stream = ws.Stream(s['stream_url'])
    left, answers, rounds = list(range(1, 31)), {}, 0
    while left and rounds < 50:
        rounds += 1
        for seq in left:  # all at once, far beyond the window
            stream.binary(frame(seq))
        got = [stream.wait('ack') for _ in left]
        answers.update((a['seq'], a['status']) for a in got)
        left = sorted(a['seq'] for a in got if a['status'] == 'later')
        if left:
            time.sleep(max(a.get('retry_ms', 0) for a in got) / 1000)
    info = ws.rest(url, 'GET', '/v1/sessions/' + s['id'])[1]
    say('lossless: thirty frames at once are all used in the end', not left and set(answers.values()) == {'used'}, answers)
    say('and those that came later were asked for again', rounds > 1 and info['counts']['received'] == 30, (rounds, info['counts']))


def held_fps():
    s = session(fps=1)
    stream = ws.Stream(s['stream_url'])
    verdicts = []
    for seq in range(20):  # 33 ms apart
        stream.binary(frame(seq))
        verdicts.append(ack(stream, seq))
    say('fps 1: of 20 frames in 0.63 s one is used', [v['status'] for v in verdicts] == ['used'] + 19 * ['dropped'], verdicts)
    say('and the others are dropped for `pace`', {v.get('reason') for v in verdicts[1:]} == {'pace'}, verdicts[1])
    say('`ready` says the rate and a quality', stream.ready['rate'] == 1 and 40 <= stream.ready['jpeg'] <= 100, stream.ready)


def tiny_picture():
    s = session()
    stream = ws.Stream(s['stream_url'])
    stream.binary(ws.frame(1, jpeg[0], 1, 1, camera=CAMERA))
    bad = ack(stream, 1)
    stream.binary(frame(2))
    good = ack(stream, 2)
    say('a frame of 1 x 1 is refused and fixes nothing', bad['status'] == 'refused' and good['status'] == 'used', (bad, good))
    status, body = ws.rest(url, 'POST', '/v1/sessions', {'camera': dict(fx=9, fy=9, cx=7, cy=7, width=15, height=15)})
    say('nor does a session take a camera of 15 pixels', status == 422, (status, body))


# ------------------------------------------------------------------------- row 9 and 10: pages, RFC 6455

def pages():
    s = session()
    status, headers, _ = request('GET', '/v1/sessions/' + s['id'], Origin='http://localhost:5173')
    exposed = headers.get('Access-Control-Expose-Headers', '').lower()
    say('a page of loopback may read the headers of depth and more', status == 200 and all(
        h in exposed for h in ('recond-width', 'recond-height', 'recond-seq', 'etag', 'retry-after', 'location')), exposed)
    status, headers, _ = request('OPTIONS', '/v1/sessions', Origin='http://localhost:5173', Access_Control_Request_Method='POST')
    say('and its preflight is remembered', status == 204 and int(headers.get('Access-Control-Max-Age', 0)) >= 60, dict(headers))
    stream = ws.Stream(s['stream_url'], start=False)
    stream.text({'op': 'ping', 't': 7})
    pong = stream.wait('pong')
    say('a page can ping, before `start` too', pong['t'] == 7 and pong['server_us'] > 0, pong)


def handshake(version):
    u = urllib.parse.urlparse(session()['stream_url'])
    with socket.create_connection((u.hostname, u.port), timeout=20) as c:
        c.sendall((f'GET {u.path} HTTP/1.1\r\nHost: {u.netloc}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n'
                   f'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: {version}\r\n'
                   'Sec-WebSocket-Protocol: recon.v1\r\n\r\n').encode())
        return c.recv(4096).decode()


def rfc6455():
    url_of = session()['stream_url']
    stream = ws.Stream(url_of)
    stream.socket.sendall(b'\x81\x02{}')  # without a mask
    say('a frame without a mask closes with 1002', closes_with(stream) == 1002)
    stream = ws.Stream(url_of)
    stream.send(9, b'x' * 126)
    say('and a ping of 126 bytes', closes_with(stream) == 1002)
    answer = handshake(8)
    say('version 8 is told which one there is', ' 426 ' in answer.split('\r\n')[0] and '\r\nSec-WebSocket-Version: 13\r\n' in answer, answer)


# ------------------------------------------------------------------------- row 12 and 13: resume, ends, errors

def resumes():
    s = session()
    stream = ws.Stream(s['stream_url'])
    for seq in range(len(jpeg)):
        stream.binary(frame(seq))
        ack(stream, seq)
    last = synced(stream, s['id'])
    for name, revision, clears in (('its own', last['revision'], False), ('the future', last['revision'] + 1000, True)):
        viewer = ws.Stream(s['stream_url'], start=False)
        viewer.text({'op': 'start', 'role': 'view', 'codecs': ['raw'],
                     'resume': {'epoch': stream.ready['epoch'], 'revision': revision}})
        ops = []
        while True:
            kind, m = viewer.receive()
            ops += [m[0]] if kind == 'binary' else []
            if kind == 'text' and m['op'] == 'sync':
                break
        say(f'a resume with a revision of {name} {"begins with clear" if clears else "lacks nothing"}',
            (ops[:1] == [0x13] and len(ops) > 1) if clears else 0x13 not in ops, ops)
        viewer.close()
    return s, stream


def ends(s, stream):
    viewer = ws.Stream(s['stream_url'], role='view')
    viewer.binary(frame(1))
    error = viewer.wait('error')
    viewer.text({'op': 'ping', 't': 1})
    viewer.wait('pong')
    say('a viewer that sends a frame is told so and stays', error['type'] == 'view_only', error)
    stream.text({'op': 'end'})
    stream.wait('ended')
    stream.binary(frame(99))
    late = ack(stream, 99)
    say('a frame behind `end` is refused', (late['status'], late.get('reason')) == ('refused', 'ended'), late)
    stream.text({'op': 'need', 'blocks': []})
    unknown = stream.wait('error')
    stream.binary(b'\x02' + bytes(15))
    other = stream.wait('error')
    say('what is unknown ends nothing', unknown['type'] == other['type'] == 'unknown_op' and unknown['status'] == 501, (unknown, other))
    say('POST finalize is no more', request('POST', f'/v1/sessions/{s["id"]}/finalize')[0] == 404)
    status = request('POST', f'/v1/sessions/{s["id"]}/close')[0]
    revisions = {client.wait('closed')['revision'] for client in (stream, viewer)}
    say('all clients hear `closed`, once everything is told', status in (200, 202) and len(revisions) == 1, (status, revisions))
    back = ws.Stream(s['stream_url'])
    back.binary(frame(0))
    again = ack(back, 0)
    back.binary(frame(100))
    new = ack(back, 100)
    say('whose answers were lost gets them from a closed session', again.get('again') and again['status'] == 'used' and
        new.get('reason') == 'closed', (again, new))
    viewer.text(b'{"op":')
    viewer.wait('error', type='malformed')
    viewer.text(b'[]')
    say('no message at all is final the second time', closes_with(viewer) == 1008)
    errors = [m for c in (stream, viewer) for m in c.texts if m['op'] == 'error']
    say('every error is of the table', errors and all(TYPES.get(e['type']) == e['status'] and e['title'] for e in errors), errors)


def cloud_file(s):
    status, headers, body = request('GET', f'/v1/sessions/{s["id"]}/cloud')
    head, points = body.split(b'end_header\n', 1)
    lines = head.decode('ascii').splitlines()
    size = {'float': 4, 'uchar': 1, 'float32': 4, 'uint8': 1}
    properties = [l.split() for l in lines if l.startswith('property ')]
    n = int([l for l in lines if l.startswith('element vertex ')][0].split()[2])
    stride = sum(size[p[1]] for p in properties)
    now = ws.rest(url, 'GET', '/v1/sessions/' + s['id'])[1]
    comments = [l for l in lines if l.startswith('comment recond ')]
    say('the cloud\'s file has the layout of the page', status == 200 and lines[:2] == ['ply', 'format binary_little_endian 1.0'] and
        [p[2] for p in properties][:3] == ['x', 'y', 'z'] and len(points) == n * stride and n == now['points'] > 0, (lines, len(points)))
    say('its comments name step, hash, frame and up', [c.split()[2] for c in comments] == ['step', 'hash', 'frame:', 'up'] and
        now['hash'] in comments[1] and now['hash'] in headers['ETag'], comments)
    step = struct.unpack('<f', struct.pack('<f', float(comments[0].split()[3])))[0]
    exact = lambda v: v == struct.unpack('<f', struct.pack('<f', round(v / step) * step))[0]
    say('its positions are grid points times step, rounded once',
        all(exact(v) for i in range(0, len(points), stride) for v in struct.unpack_from('<3f', points, i)))


def live():
    acks()
    scales()
    s, stream = numbers()
    phones(s, stream)
    answers_after_the_end(s)
    lossless()
    held_fps()
    tiny_picture()
    pages()
    rfc6455()
    s, stream = resumes()
    cloud_file(s)
    ends(s, stream)


# ------------------------------------------------------------------------- row 6 and 8: stops, coming back

def book(value=None):
    path = work + '/book.json'
    if value is None:
        return json.load(open(path))
    with open(path, 'w') as f:
        json.dump(value, f)


def stop():
    kept, plain = session(journal='sync'), session()
    a, b = ws.Stream(kept['stream_url']), ws.Stream(plain['stream_url'])
    for seq in range(8):
        a.binary(frame(seq))
        b.binary(frame(seq))
    a.wait('ack')
    ends = {}

    def listen(name, stream):
        acks, last = {}, []
        try:
            while True:
                kind, m = stream.receive()
                if kind == 'text' and m['op'] == 'ack':
                    acks[m['seq']] = m
                elif kind == 'text' and m['op'] in ('closed', 'bye'):
                    last.append(m)
        except ws.Closed as closed:
            ends[name] = (acks, last, closed.args[0])

    threads = [threading.Thread(target=listen, args=x) for x in (('kept', a), ('plain', b))]
    for t in threads:
        t.start()
    os.kill(int(sys.argv[5]), signal.SIGTERM)
    for t in threads:
        t.join()
    first = [m['seq'] for m in a.texts if m['op'] == 'ack']
    acks, last, code = ends['kept']
    answered = set(first) | set(acks)
    say('SIGTERM with a journal: answers, then `bye` to resume', last and last[-1]['op'] == 'bye' and last[-1]['action'] == 'resume' and
        last[-1]['retry_ms'] > 0 and code == 1000 and answered == set(range(len(answered))), (last, code, sorted(answered)))
    acks, last, code = ends['plain']
    say('without one: all are answered, `closed`, `bye` to reconnect', [m['op'] for m in last] == ['closed', 'bye'] and
        last[-1]['action'] == 'reconnect' and last[-1]['reason'] and len(acks) == 8 and code == 1000, (last, code, len(acks)))
    book({'id': kept['id'], 'unanswered': [seq for seq in range(8) if seq not in answered]})


def come_back(s):
    """Handshakes until the session is there; what they were told meanwhile must be on the page."""
    path, odd = '/v1/sessions/' + s, []
    while True:
        told = [(p, *request('GET', path + p)[:2]) for p in ('/cloud', '/trajectory', '/depth')]
        odd += [(p, status) for p, status, h in told if status == 503 and not h.get('Retry-After')]
        odd += [(p, status) for p, status, h in told if status not in ((200, 503, 409) if p == '/depth' else (200, 503))]
        stream = ws.Stream(ws.rest(url, 'GET', path)[1]['stream_url'], start=False)
        if stream.status == 101:
            return stream, odd
        if stream.status != 503 or '\r\nRetry-After: ' not in stream.head:
            odd.append(stream.head)
        time.sleep(0.05)


def back():
    b = book()
    stream, odd = come_back(b['id'])
    say('while it comes back all say 503 with Retry-After, and nothing else', not odd, odd)
    stream.text({'op': 'start', 'role': 'ingest', 'codecs': ['raw'], 'pose': 'cv'})
    for seq in b['unanswered']:
        stream.binary(frame(seq))
        ack(stream, seq)
    now = ws.rest(url, 'GET', '/v1/sessions/' + b['id'])[1]['counts']
    say('what was not answered is sent again, and none counts twice', now['received'] == 8 and now['queued'] == 0, now)
    synced(stream, b['id'])
    for seq in range(8, 40):  # for the next start to replay: nobody waits for their answers
        stream.binary(frame(seq))
        if seq % 8 == 7:
            ack(stream, seq)


def killed():
    b = book()
    stream, odd = come_back(b['id'])
    stream.text({'op': 'start', 'role': 'ingest', 'codecs': ['raw'], 'pose': 'cv'})
    synced(stream, b['id'])
    now = ws.rest(url, 'GET', '/v1/sessions/' + b['id'])[1]['counts']
    say('after a kill it comes back the same way, and its accounts are right', not odd and now['received'] >= 8 and
        now['received'] == now['used'] + now['dropped'] + now['refused'] + now['queued'], (odd, now))


{'live': live, 'stop': stop, 'back': back, 'killed': killed}[part]()
