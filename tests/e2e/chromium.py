"""chromium.py - a real Chromium, without a window, driven over a pipe (DevTools protocol; Python's own library only)

    with chromium.serve({'/': folder}) as base, chromium.Browser() as browser:
        page = browser.open(base + 'index.html')
        page.until('document.title === "done"')
        print(page.eval('1 + 1'), page.errors, page.requests)
        page.screenshot('page.png')

Pages are drawn by software (SwiftShader). serve() sends the policy that recond sends with its own page, so what it forbids fails here, too.
"""
import base64
import http.server
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import threading
import time

TYPES = {'.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml', '.json': 'application/json'}
POLICY = ("default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; worker-src 'self'; "
          "connect-src 'self' {}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")


def find():
    """The program, or None."""
    names = [os.environ.get('CHROMIUM')] if os.environ.get('CHROMIUM') else ['chromium', 'chromium-browser', 'google-chrome']
    return next(filter(None, map(shutil.which, names)), None)


class serve:
    """Serves folders on a free port of loopback: {prefix: folder}; `connect` is what pages may connect to besides. What pages post is in `posted`."""

    def __init__(self, folders, connect='ws://127.0.0.1:*'):
        roots = sorted(((p, pathlib.Path(f).resolve()) for p, f in folders.items()), key=lambda r: -len(r[0]))

        posted = self.posted = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                posted.append(self.rfile.read(int(self.headers['Content-Length'])).decode())
                self.send_response(204)
                self.end_headers()

            def do_GET(self):
                path = self.path.split('?')[0]
                prefix, root = next((p, r) for p, r in roots if path.startswith(p))
                file = (root / path[len(prefix):].lstrip('/')).resolve()
                if not file.is_relative_to(root) or not file.is_file():
                    self.send_error(404)
                    return
                body = file.read_bytes()
                self.send_response(200)
                self.send_header('Content-Type', TYPES.get(file.suffix, 'application/octet-stream'))
                self.send_header('Content-Length', str(len(body)))
                self.send_header('Content-Security-Policy', POLICY.format(connect))
                self.send_header('Cache-Control', 'no-store')
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args):
                pass

        self.server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return f'http://127.0.0.1:{self.server.server_port}/'

    def __exit__(self, *why):
        self.server.shutdown()
        self.server.server_close()


class Browser:
    def __init__(self, *flags, size=(1280, 800), timeout=60):
        self.profile, self.timeout, self.last = tempfile.mkdtemp(prefix='chromium-'), timeout, 0
        self.answers, self.pages, self.changed = {}, {}, threading.Condition()
        self.trace, self.traced = [], False
        to_browser, self.out = os.pipe()
        self.inn, from_browser = os.pipe()

        def place():  # the browser reads commands from 3 and writes to 4
            a, b = os.dup(to_browser), os.dup(from_browser)
            os.dup2(a, 3)
            os.dup2(b, 4)

        self.process = subprocess.Popen(
            [find(), '--headless=new', '--no-sandbox', '--remote-debugging-pipe', f'--user-data-dir={self.profile}', '--no-first-run',
             '--disable-extensions', '--use-angle=swiftshader', '--enable-unsafe-swiftshader', '--disable-background-networking',
             f'--window-size={size[0]},{size[1]}', '--hide-scrollbars', *flags, 'about:blank'],
            preexec_fn=place, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        os.close(to_browser)
        os.close(from_browser)
        threading.Thread(target=self._read, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *why):
        self.close()

    def close(self):
        try:
            self.call('Browser.close')
        except (OSError, RuntimeError, TimeoutError):
            pass
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)

    def _read(self):
        buffer = b''
        while True:
            data = os.read(self.inn, 1 << 16)
            if not data:
                break
            *messages, buffer = (buffer + data).split(b'\0')
            with self.changed:
                for message in map(json.loads, messages):
                    if 'id' in message:
                        self.answers[message['id']] = message
                    elif message.get('sessionId') in self.pages:
                        self.pages[message['sessionId']]._event(message['method'], message['params'])
                    elif message.get('method') == 'Tracing.dataCollected':
                        self.trace += message['params']['value']
                    elif message.get('method') == 'Tracing.tracingComplete':
                        self.traced = True
                self.changed.notify_all()
        with self.changed:
            self.inn = None
            self.changed.notify_all()

    def call(self, method, session=None, **params):
        with self.changed:
            self.last += 1
            number = self.last
        os.write(self.out, json.dumps({'id': number, 'method': method, 'params': params, **({'sessionId': session} if session else {})}).encode() + b'\0')
        with self.changed:
            if not self.changed.wait_for(lambda: number in self.answers or self.inn is None, self.timeout):
                raise TimeoutError(method)
            answer = self.answers.pop(number, {'error': 'the browser has ended'})
        if 'error' in answer:
            raise RuntimeError(f'{method}: {answer["error"]}')
        return answer['result']

    def start_trace(self, *categories):
        self.trace, self.traced = [], False
        self.call('Tracing.start', traceConfig={'includedCategories': list(categories), 'excludedCategories': ['*']})

    def end_trace(self):
        """The events of a trace."""
        self.call('Tracing.end')
        with self.changed:
            if not self.changed.wait_for(lambda: self.traced or self.inn is None, self.timeout):
                raise TimeoutError('the trace does not come')
        return self.trace

    def open(self, url, before=(), size=None, phone=False, apart=False):
        """A new page; `before`: calls that come before it is loaded, (method, params); `apart`: with a storage of its own, which costs a second."""
        context = {'browserContextId': self.call('Target.createBrowserContext')['browserContextId']} if apart else {}
        target = self.call('Target.createTarget', url='about:blank', **context)['targetId']
        session = self.call('Target.attachToTarget', targetId=target, flatten=True)['sessionId']
        page = self.pages[session] = Page(self, session, target)
        for domain in ('Page', 'Runtime', 'Network', 'Log'):
            page.call(domain + '.enable')
        if size:
            page.call('Emulation.setDeviceMetricsOverride', width=size[0], height=size[1], deviceScaleFactor=1, mobile=phone)
        for method, params in before:
            page.call(method, **params)
        page.call('Page.navigate', url=url)
        return page


class Page:
    def __init__(self, browser, session, target):
        self.browser, self.session, self.target = browser, session, target
        self.errors, self.console = [], []
        self.requests, self.sockets, self.referrers = [], [], []  # addresses

    def call(self, method, **params):
        return self.browser.call(method, self.session, **params)

    def close(self):
        self.browser.call('Target.closeTarget', targetId=self.target)

    def _event(self, method, params):
        if method == 'Runtime.exceptionThrown':
            self.errors.append(params['exceptionDetails'].get('exception', {}).get('description', params['exceptionDetails']['text']))
        elif method == 'Log.entryAdded' and params['entry']['level'] == 'error' and not params['entry'].get('url', '').endswith('/favicon.ico'):
            self.errors.append(params['entry']['text'] + ' ' + params['entry'].get('url', ''))
        elif method == 'Runtime.consoleAPICalled':
            text = ' '.join(str(a.get('value', a.get('description'))) for a in params['args'])
            (self.errors if params['type'] in ('error', 'assert') else self.console).append(text)
        elif method == 'Network.requestWillBeSent':
            self.requests.append(params['request']['url'])
            self.referrers.append(params['request']['headers'].get('Referer', ''))
        elif method == 'Network.webSocketCreated':
            self.sockets.append(params['url'])

    def eval(self, expression):
        """The value of an expression, awaited if it is a promise."""
        answer = self.call('Runtime.evaluate', expression=expression, awaitPromise=True, returnByValue=True, userGesture=True)
        if 'exceptionDetails' in answer:
            raise RuntimeError(answer['exceptionDetails'].get('exception', {}).get('description', answer['exceptionDetails']['text']))
        return answer['result'].get('value')

    def wait(self, expression, timeout=None):
        """Until an expression is true; False if that never comes."""
        end = time.monotonic() + (timeout or self.browser.timeout)
        while time.monotonic() < end:
            try:
                if self.eval(f'Boolean({expression})'):
                    return True
            except RuntimeError:
                pass
            time.sleep(0.05)
        return False

    def until(self, expression):
        """The value of an expression once it is true. While a page loads there is nothing to ask: that is no error."""
        end, last = time.monotonic() + self.browser.timeout, None
        while time.monotonic() < end:
            try:
                last = self.eval(expression)
            except RuntimeError as why:
                last = str(why)
            else:
                if last:
                    return last
            time.sleep(0.05)
        raise TimeoutError(f'never: {expression} (last: {last!r}); errors: {self.errors[-3:]}')

    def go(self, url):
        self.call('Page.navigate', url=url)

    def click(self, selector):
        self.until(f'(e => e && !e.disabled)(document.querySelector({json.dumps(selector)}))')
        self.eval(f'document.querySelector({json.dumps(selector)}).click()')

    def type(self, selector, text):
        self.eval(f'''(() => {{ const e = document.querySelector({json.dumps(selector)}); e.focus(); e.value = {json.dumps(text)};
            e.dispatchEvent(new Event('input', {{bubbles: true}})); e.dispatchEvent(new Event('change', {{bubbles: true}})); }})()''')

    def text(self, selector='body'):
        return self.eval(f'document.querySelector({json.dumps(selector)})?.innerText ?? ""')

    def screenshot(self, path):
        pathlib.Path(path).write_bytes(base64.b64decode(self.call('Page.captureScreenshot', format='png')['data']))

    def press(self, key, code=None, modifiers=0, text=None):
        for kind in ('keyDown', 'keyUp'):
            self.call('Input.dispatchKeyEvent', type=kind, key=key, code=code or key, modifiers=modifiers,
                      **({'text': text} if text and kind == 'keyDown' else {}))

    def mouse(self, kind, x, y, button='left', clicks=1, modifiers=0, **more):
        self.call('Input.dispatchMouseEvent', type=kind, x=x, y=y, button=button, clickCount=clicks, modifiers=modifiers, **more)

    def drag(self, start, end, button='left', modifiers=0):
        self.mouse('mousePressed', *start, button=button, modifiers=modifiers)
        for i in range(1, 6):
            self.mouse('mouseMoved', *(a + (b - a) * i / 5 for a, b in zip(start, end)), button=button, modifiers=modifiers, buttons=1)
        self.mouse('mouseReleased', *end, button=button, modifiers=modifiers)

    def touch(self, kind, points):
        self.call('Input.dispatchTouchEvent', type=kind, touchPoints=[{'x': x, 'y': y, 'id': i} for i, (x, y) in enumerate(points)])
