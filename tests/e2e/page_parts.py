#!/usr/bin/env python3
"""page_parts.py PART RECOND MODELS WORK [SHOTS] - a part of 95-page: the page, driven as a user would

Prints "ok NAME" or "not ok NAME: why" for each test, "# ..." for what is told beside them.
"""
import atexit
import base64
import hashlib
import http.client
import http.server
import json
import os
import pathlib
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.parse

import chromium

PART, RECOND, MODELS, WORK = sys.argv[1:5]
SHOTS = sys.argv[5] if len(sys.argv) > 5 else ''
AXE = os.environ.get('AXE')
CAMERA = ['--use-fake-device-for-media-stream', f'--use-file-for-fake-video-capture={WORK}/camera.mjpeg']
ALLOWED = [*CAMERA, '--use-fake-ui-for-media-stream']
# several pages that a processor draws would wait for each other; the view has tests of its own, and the page must go without it
UNDRAWN = [*ALLOWED, '--disable-3d-apis']

# scans that are begun on the page have a small network, which a processor computes in a fraction of the time
SMALL = '''const ask = window.fetch; window.fetch = (to, how) => ask(to, how?.method === "POST" && to === "/v1/sessions"
  ? {...how, body: JSON.stringify({...JSON.parse(how.body ?? "{}"), net: {width: 128, height: 96}})} : how);'''
# a device whose clock is five hours behind
BEHIND = '''{ const now = Date.now, origin = performance.timeOrigin - 5 * 3600e3; Date.now = () => now() - 5 * 3600e3;
  Object.defineProperty(Performance.prototype, "timeOrigin", {get: () => origin}); }'''
SCRIPT = 'Page.addScriptToEvaluateOnNewDocument'


# a disk that has no room for what a page keeps
FULL = '''IDBObjectStore.prototype.put = () => { throw new DOMException("no room", "QuotaExceededError"); };'''


def say(name, good, why=''):
    print(f'ok {name}' if good else f'not ok {name}: {str(why)[:300]!r}', flush=True)


def shot(page, name):
    """A state of the page that somebody will look at: a picture of it, and axe-core's verdict (tests/page-axe)."""
    if SHOTS:
        page.screenshot(f'{SHOTS}/{PART}-{name}.png')
    if AXE:
        page.eval(pathlib.Path(AXE).read_text() + ';0')
        found = page.eval("""axe.run().then(r => ({rules: r.passes.length + r.violations.length,
          wrong: r.violations.map(v => v.id + " at " + v.nodes.map(n => n.target).join(" "))}))""")
        print(f'# axe {PART}, {name}: {len(found["wrong"])} of {found["rules"]} rules broken {"; ".join(found["wrong"])}', flush=True)


def free_port():
    with socket.create_server(('127.0.0.1', 0)) as s:
        return s.getsockname()[1]


class Daemon:
    def __init__(self, *flags):
        self.flags, self.http, self.stream = list(flags), free_port(), free_port()
        self.url = f'http://127.0.0.1:{self.http}'
        self.log = f'{WORK}/recond-{self.http}.log'
        self.start()
        atexit.register(self.leave)  # a part that fails leaves no daemon behind

    def start(self):
        address = pathlib.Path(WORK, f'address-{self.http}')
        address.unlink(missing_ok=True)
        with open(self.log, 'ab') as log:
            self.process = subprocess.Popen([RECOND, '--models.path=' + MODELS, f'--http.port={self.http}', f'--stream.port={self.stream}',
                                             '--log.format=text', f'--service.address_file={address}', *self.flags], stdout=log, stderr=log)
        while not address.exists():
            if self.process.poll() is not None:
                raise SystemExit('recond does not start: ' + open(self.log).read()[-2000:])
            time.sleep(0.05)

    def end(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        self.process.wait()

    def leave(self):
        if self.process.poll() is None:
            self.end(signal.SIGKILL)

    def ask(self, method, path, body=None, token=None):
        c = http.client.HTTPConnection('127.0.0.1', self.http, timeout=30)
        headers = {**({'Authorization': 'Bearer ' + token} if token else {}), **({'Content-Type': 'application/json'} if body else {})}
        c.request(method, path, body=json.dumps(body) if body else None, headers=headers)
        answer = c.getresponse()
        data = answer.read()
        c.close()
        return answer.status, json.loads(data) if data else None

    def session(self, page):
        return self.ask('GET', '/v1/sessions/' + session_of(page))[1]


class Relay:
    """A line to the streams that can be cut: all that is connected ends, and no new connection is let through."""

    def __init__(self):
        self.server = socket.create_server(('127.0.0.1', 0))
        self.port, self.to, self.cut, self.pairs = self.server.getsockname()[1], None, False, set()
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            near = self.server.accept()[0]
            if self.cut:
                near.close()
                continue
            try:
                far = socket.create_connection(('127.0.0.1', self.to))
            except OSError:  # the server is not there
                near.close()
                continue
            self.pairs |= {near, far}
            for a, b in ((near, far), (far, near)):
                threading.Thread(target=self.pump, args=(a, b), daemon=True).start()

    def pump(self, a, b):
        try:
            while data := a.recv(1 << 16):
                b.sendall(data)
        except OSError:
            pass
        for s in (a, b):
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def set_cut(self, cut):
        self.cut = cut
        if cut:
            for s in self.pairs:
                try:
                    s.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
            self.pairs = set()


def visit(browser, url, *scripts, **more):
    return browser.open(url, before=[(SCRIPT, {'source': s}) for s in (SMALL, *scripts)], **more)


def session_of(page):
    return page.eval('location.hash.replace("#/s/", "")')


def data(page, name):
    return page.eval(f'document.body.dataset.{name}')


def begin(page, name='Kitchen'):
    page.until('!!document.querySelector("#begin")')
    page.type('#name', name)
    page.click('#begin')
    page.until('document.body.dataset.scanning === "true"')


def points(page, more_than=0):
    return page.until(f'+document.body.dataset.points > {more_than} && +document.body.dataset.points')


def settle(page, daemon, token=None):
    """Nothing waits and nothing comes any more: the page and the server must have one hash. On a busy machine frames may wait for
    as long as some of them are answered."""
    waiting = data(page, 'waiting')
    while waiting != '0' and page.wait(f'document.body.dataset.waiting !== {json.dumps(waiting)}'):
        waiting = data(page, 'waiting')
    page.until('document.body.dataset.waiting === "0" && document.body.dataset.equal === "true"')
    for _ in range(600):
        server = daemon.ask('GET', '/v1/sessions/' + session_of(page), token=token)[1]
        if server['counts']['queued'] == 0 and server['hash'] == data(page, 'hash') and int(data(page, 'points')) == server['points']:
            return server
        time.sleep(0.1)
    return server


def one_hash(name, page, daemon, token=None):
    server = settle(page, daemon, token)
    say(name, server['hash'] == data(page, 'hash') and server['points'] > 0, (server['hash'], data(page, 'hash'), server['points']))
    return server


def strangers(page, daemon):
    """Requests that went anywhere else."""
    own = {f'127.0.0.1:{daemon.http}', f'127.0.0.1:{daemon.stream}'}
    return [r for r in page.requests if r.split(':')[0] not in ('blob', 'data') and urllib.parse.urlsplit(r).netloc not in own]


def scan():
    relay = Relay()
    daemon = Daemon(f'--journal.path={WORK}/journal', f'--stream.public_url=ws://127.0.0.1:{relay.port}')
    relay.to = daemon.stream
    with chromium.Browser(*ALLOWED) as browser:
        opened = time.monotonic()
        page = visit(browser, daemon.url)
        page.until('!!document.querySelector("#begin")')
        say('the page opens without an error', not page.errors, page.errors)
        begun = time.monotonic()
        begin(page)
        points(page)
        print(f'# first points {int(data(page, "first")) / 1000:.2f} s after the first picture, {time.monotonic() - begun:.2f} s after the button, '
              f'{time.monotonic() - opened:.2f} s after the address was opened')
        say('the cloud begins with the first pictures that are answered', int(data(page, 'before')) <= 3, data(page, 'before'))
        page.until('+document.body.dataset.used >= 6')
        say('it says that it scans', 'Scanning' in page.text('#tell') or page.text('#tell') != '', page.text('#tell'))
        shot(page, 'scanning')
        say('no request leaves the origin', not strangers(page, daemon), strangers(page, daemon))
        say('streams go to the server alone', all(s.startswith(f'ws://127.0.0.1:{relay.port}/') for s in page.sockets), page.sockets)

        # a reload in the middle, after which the clock is five hours behind: the scan goes on by itself, from the frames that were kept
        before = daemon.session(page)['counts']['used']
        page.call(SCRIPT, source=BEHIND)
        page.call('Page.reload')
        page.until('document.body.dataset.scanning === "true" && +document.body.dataset.used >= 3')
        text = page.until('document.querySelector("#clock")?.innerText')
        say('a wrong clock is said, and what to do', '5 hours behind' in text and 'by itself' in text, text)
        shot(page, 'clock')
        counts = daemon.session(page)['counts']
        say('after a reload the scan goes on', counts['used'] > before, counts)
        say('as the same source', len(daemon.session(page)['sources']) == 1, daemon.session(page)['sources'])

        # the line is cut: frames are kept, and go when it is back
        relay.set_cut(True)
        page.until('document.body.dataset.stream !== "open"')
        time.sleep(float(os.environ.get('CUT_S', '0')))  # by hand: how long it is away by the clock
        page.until('+document.body.dataset.waiting >= 3')
        text = page.until('/lost|does not answer|Connecting/.test(document.querySelector("#tell").innerText) && document.querySelector("#tell").innerText')
        say('a lost line is said', bool(text), text)
        shot(page, 'cut')
        waiting, used = int(data(page, 'waiting')), daemon.session(page)['counts']['used']
        relay.set_cut(False)
        page.until('document.body.dataset.stream === "open"')
        page.until(f'+document.body.dataset.waiting < {waiting}')
        for _ in range(300):
            if daemon.session(page)['counts']['used'] > used:
                break
            time.sleep(0.1)
        say('when it is back the frames go', daemon.session(page)['counts']['used'] > used, (used, daemon.session(page)['counts']))

        # kill -9 and a start
        daemon.end(signal.SIGKILL)
        page.until('document.body.dataset.stream !== "open"')
        shot(page, 'server-gone')
        daemon.start()
        page.until('document.body.dataset.stream === "open"')
        used = int(data(page, 'used'))
        page.until(f'+document.body.dataset.used > {used}')
        say('the scan outlives a restart of the server', True)
        page.click('#scan')
        page.until('document.body.dataset.scanning === "false"')
        server = one_hash('the page has the server’s hash', page, daemon)
        c = server['counts']
        say('every frame has one end', c['received'] == c['used'] + c['dropped'] + c['refused'], c)

        # finished, looked at, deleted
        page.click('#finish')
        page.click('dialog button[value=yes]')
        page.until('document.body.dataset.session === "closed"')
        say('a finished scan says so', 'finished' in page.until('document.querySelector("#tell").innerText'), page.text('#tell'))
        say('and takes no more', page.until('document.querySelector("#scan").hidden && document.querySelector("#finish").hidden'))
        shot(page, 'finished')
        one_hash('its hash stays', page, daemon)
        page.click('#remove')
        page.click('dialog button[value=yes]')
        page.until('location.hash === "#/"')
        say('deleted is gone', daemon.ask('GET', '/v1/sessions?limit=1')[1]['sessions'] == [])
        say('no error stands in the console', not [e for e in page.errors if 'SyntaxError' in e or 'TypeError' in e or 'Security' in e], page.errors)
    daemon.end()


def link_of(page, before=''):
    """The link of the dialog, another one than before."""
    return page.until(f'(() => {{ const v = document.querySelector("#url")?.value; return v && v !== {json.dumps(before)} && v; }})()')


def share():
    admin = 'boss-of-this-test-' + 'x' * 8
    pathlib.Path(WORK, 'tokens').write_text(f'boss admin {hashlib.sha256(admin.encode()).hexdigest()}\n')
    os.chmod(f'{WORK}/tokens', 0o600)
    daemon = Daemon('--auth.mode=token', f'--auth.token_file={WORK}/tokens')
    with chromium.Browser(*UNDRAWN) as browser:
        page = visit(browser, daemon.url)
        page.until('!!document.querySelector("#token")')
        page.type('#token', admin)
        page.click('#enter')
        begin(page)
        points(page)
        page.click('#share')
        first = link_of(page)
        say('a link holds a ticket in its fragment', first.startswith(f'{daemon.url}/#t=') and len(first.split('#t=')[1]) == 22, first)
        say('and a picture code', page.eval('!!document.querySelector("#share-dialog svg.qr path")'))
        shot(page, 'link')

        late = browser.open(first, apart=True, size=(390, 800), phone=True)
        late.until('+document.body.dataset.points > 0')
        say('who comes late by the link sees the cloud', True)
        say('the ticket is gone from the address', late.eval('location.href') == f'{daemon.url}/#/s/{session_of(page)}', late.eval('location.href'))
        say('a viewer may not scan, share or delete', late.eval('["scan", "share", "finish", "remove"].every(i => document.getElementById(i).hidden)'))
        shot(late, 'late')

        used = browser.open(first, apart=True)
        text = used.until('document.querySelector("[role=alert]")?.innerText')
        say('a link opens once', 'was used' in text or 'expired' in text, text)
        shot(used, 'used')

        id = session_of(page)
        status, made = daemon.ask('POST', f'/v1/sessions/{id}/tickets', {'expires_s': 1}, token=admin)
        time.sleep(1.2)
        stale = browser.open(f'{daemon.url}/#t={made["ticket"]}', apart=True)
        text = stale.until('document.querySelector("[role=alert]")?.innerText')
        say('a link expires', status == 201 and 'expired' in text, text)

        page.eval('document.querySelector("#scope").value = "ingest"; document.querySelector("#scope").dispatchEvent(new Event("change"))')
        second = link_of(page, first)
        phone = browser.open(second, apart=True, size=(390, 800), phone=True)
        phone.click('#scan')
        phone.until('document.body.dataset.scanning === "true" && +document.body.dataset.used >= 2')
        sources = daemon.ask('GET', '/v1/sessions/' + id, token=admin)[1]['sources']
        say('a second phone feeds the same scan as a source of its own', len({s['name'] for s in sources}) == 2, sources)
        shot(phone, 'phone')
        for p in (phone, page):
            p.eval('document.querySelector("dialog")?.close()')
            p.click('#scan')
            p.until('document.body.dataset.scanning === "false"')
        for name, p in (('the first phone', page), ('the second phone', phone), ('the late viewer', late)):
            one_hash(f'{name} has the server’s hash', p, daemon, admin)
        seen = [r.split('#')[0] for p in (page, late, used, stale, phone) for r in p.requests + p.referrers]
        secrets = [first.split('#t=')[1], second.split('#t=')[1], admin]
        say('no ticket and no token in a URL or a referrer', not [s for s in secrets for r in seen if s in r], 'found')
        log = open(daemon.log).read()
        say('nor in the log', not [s for s in secrets if s in log])
    daemon.end()


def tokens():
    admin = 'boss-of-this-test-' + 'y' * 8
    pathlib.Path(WORK, 'tokens').write_text(f'boss admin {hashlib.sha256(admin.encode()).hexdigest()}\n')
    os.chmod(f'{WORK}/tokens', 0o600)
    daemon = Daemon('--auth.mode=token', f'--auth.token_file={WORK}/tokens', '--service.behind_proxy=yes')
    with chromium.Browser(*UNDRAWN, '--host-resolver-rules=MAP scan.test 127.0.0.1') as browser:
        page = visit(browser, daemon.url)
        page.until('!!document.querySelector("#token")')
        page.type('#token', 'wrong')
        page.click('#enter')
        text = page.until('document.querySelector("[role=alert]")?.innerText')
        say('a wrong token is said', 'not valid' in text, text)
        shot(page, 'wrong')
        page.type('#token', admin)
        page.click('#enter')
        page.until('!!document.querySelector("#begin")')
        say('the right one opens the list', True)
        far = browser.open(f'http://scan.test:{daemon.http}/')
        far.until('!!document.querySelector("#token")')
        far.type('#token', admin)
        far.click('#enter')
        far.until('!!document.querySelector("#begin")')
        say('an origin without HTTPS is told how to get the camera', 'HTTPS' in far.text('main') and '[tls]' in far.text('main'), far.text('main'))
        shot(far, 'insecure')
        page.go(daemon.url + '/#/s/aaaabbbbccccddddeeeeffff22')
        text = page.until('document.querySelector("#tell.bad")?.innerText')
        say('a scan that is not there is said', 'no such scan' in text, text)
    daemon.end()


def wrong():
    daemon = Daemon()
    flags = ['--deny-permission-prompts']
    with chromium.Browser(*flags) as browser:
        page = visit(browser, daemon.url)
        page.until('!!document.querySelector("#begin")')
        page.click('#begin')
        text = page.until('document.querySelector("#tell.bad")?.innerText')
        say('without a camera the page says so', 'no camera' in text or 'refused' in text, text)
        shot(page, 'no-camera')
    with chromium.Browser(*CAMERA) as browser:
        page = visit(browser, daemon.url)
        browser.call('Browser.setPermission', permission={'name': 'camera'}, setting='denied')
        page.until('!!document.querySelector("#begin")')
        page.click('#begin')
        text = page.until('document.querySelector("#tell.bad")?.innerText')
        say('a refused camera says how to allow it', 'refused' in text and 'Allow' in text, text)
        shot(page, 'refused')
    with chromium.Browser(*UNDRAWN) as browser:
        page = visit(browser, daemon.url, FULL)
        begin(page)
        text = page.until('/room/.test(document.querySelector("#tell").innerText) && document.querySelector("#tell").innerText')
        say('a full store is said', 'fill' in text or 'room' in text, text)
        points(page)
        say('and the scan goes on from memory', True)
        shot(page, 'full')
        status, _ = daemon.ask('DELETE', '/v1/sessions/' + session_of(page))
        text = page.until('/no such scan|is over/.test(document.querySelector("#tell").innerText) && document.querySelector("#tell").innerText')
        say('a scan that was deleted meanwhile is said', status == 204, text)
    daemon.end()


def tree():
    """The port of a server of the source tree."""
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args):
            pass

    server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Quiet)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_port


# ten views of a board by a camera of 58 degrees, as JPEG in base64
BOARDS = """(async () => {
  const { boardPicture, turned } = await import('/tests/web/board.js'), out = [], canvas = new OffscreenCanvas(640, 480);
  const views = [[35, 0, 0], [-35, 5, 10], [5, 35, 0], [0, -38, -8], [25, 25, 20], [-25, 28, 5], [28, -25, -15], [-30, -25, 30], [40, 10, 90], [10, 40, 60]];
  for (const [k, v] of views.entries()) {
    const f = 320 / Math.tan(29 * Math.PI / 180);
    canvas.getContext('2d').putImageData(boardPicture(640, 480, f, turned(...v), [0.6 * (k % 3 - 1), 0.6 * (k % 2) - 0.3, 9.8 * f / 480], 3, k + 1), 0, 0);
    const bytes = new Uint8Array(await (await canvas.convertToBlob({ type: 'image/jpeg', quality: 0.92 })).arrayBuffer());
    out.push(btoa(Array.from(bytes, b => String.fromCharCode(b)).join('')));
  }
  return out;
})()"""


def board():
    daemon = Daemon()
    with chromium.Browser() as browser:
        pictures = browser.open(f'http://127.0.0.1:{tree()}/tests/web/board.js').eval(BOARDS)
    with open(f'{WORK}/camera.mjpeg', 'wb') as f:  # each for a second and a half
        f.write(b''.join(base64.b64decode(p) * 45 for p in pictures))
    with chromium.Browser(*UNDRAWN) as browser:
        page = visit(browser, daemon.url)
        begin(page)
        page.eval('document.querySelector("#settings details").open = true')
        before = float(page.eval('document.querySelector("#degrees").value'))
        page.click('#measure')
        page.until('/Good/.test(document.querySelector("#board-says").innerText)')
        shot(page, 'board')
        page.until('!document.querySelector("#calibration")')
        found = float(page.eval('document.querySelector("#degrees").value'))
        say('a checkerboard tells the field of view, 58 degrees, within one', before == 67 and abs(found - 58) < 1, (before, found))
        page.call('Page.reload')
        page.until('document.body.dataset.scanning === "true"')
        say('it is kept for the camera', float(page.eval('document.querySelector("#degrees").value')) == found)
    daemon.end()


def example():
    """docs/examples/watch.html, a page of another origin of loopback."""
    daemon, port = Daemon(), tree()
    with chromium.Browser(*UNDRAWN) as browser:
        page = browser.open(f'http://127.0.0.1:{port}/docs/examples/watch.html#server={daemon.url}&seconds=4')
        page.until('document.title === "done"')
        counts = daemon.ask('GET', '/v1/sessions?limit=1')[1]['sessions'][0]['counts']
        say('the example of 30 lines feeds a session and has its hash', counts['used'] >= 2, counts)
    daemon.end()


globals()[PART]()
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(f'# {used.ru_utime + used.ru_stime:.1f} s of processor time')
