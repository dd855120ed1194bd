"""chromium.py - a real Chromium without a screen, driven over its pipe (--remote-debugging-pipe), with nothing but Python's own library

    with Browser(program, flags) as browser:
        page = browser.page('http://127.0.0.1:8700/')
        page.until('document.title === "recond"')
        page.evaluate('1 + 1')              # awaits promises, returns JSON values, raises PageError
        page.screenshot('/tmp/a.png')

What the page writes on its console, what it throws and what it asks for over the network is kept: page.console, page.errors, page.requests.
"""
import base64
import fcntl
import json
import os
import queue
import shutil
import signal
import subprocess
import tempfile
import threading
import time


class PageError(Exception):
    pass


def find():
    """The program, or None."""
    return os.environ.get('CHROMIUM') or next(filter(None, map(shutil.which, ('chromium', 'chromium-browser', 'google-chrome'))), None)


class Browser:
    def __init__(self, program, flags=()):
        self.profile = tempfile.mkdtemp(prefix='chromium-')
        to_read, self.write = os.pipe()
        self.read, to_write = os.pipe()
        flags = ['--headless=new', '--no-sandbox', '--no-first-run', '--disable-gpu-sandbox', '--use-angle=swiftshader',
                 '--enable-unsafe-swiftshader', '--remote-debugging-pipe', '--hide-scrollbars', '--window-size=1000,800',
                 '--disable-background-networking', '--disable-component-update', '--user-data-dir=' + self.profile, *flags]

        def descriptors():
            os.setsid()
            a, b = (fcntl.fcntl(fd, fcntl.F_DUPFD, 10) for fd in (to_read, to_write))  # 3 and 4 may be among them
            os.dup2(a, 3)
            os.dup2(b, 4)

        # close_fds would close 3 and 4 as well
        self.process = subprocess.Popen([program, *flags, 'about:blank'], preexec_fn=descriptors, close_fds=False,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_write)
        self.number, self.answers, self.pages = 0, {}, {}
        self.lock = threading.Lock()
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        rest = b''
        while data := os.read(self.read, 1 << 20):
            *messages, rest = (rest + data).split(b'\0')
            for text in messages:
                m = json.loads(text)
                if 'id' in m:
                    self.answers.pop(m['id'], queue.SimpleQueue()).put(m)
                elif m.get('sessionId') in self.pages:
                    self.pages[m['sessionId']].event(m['method'], m['params'])
        for waiting in list(self.answers.values()):
            waiting.put({'error': {'message': 'the browser has ended'}})

    def ask(self, method, params=None, session=None, timeout=120):
        answer = queue.SimpleQueue()
        with self.lock:
            self.number += 1
            number = self.number
            self.answers[number] = answer
            message = {'id': number, 'method': method, 'params': params or {}, **({'sessionId': session} if session else {})}
            os.write(self.write, json.dumps(message).encode() + b'\0')
        try:
            m = answer.get(timeout=timeout)
        except queue.Empty:
            raise PageError(f'{method}: no answer in {timeout} s') from None
        if 'error' in m:
            raise PageError(f'{method}: {m["error"]["message"]}')
        return m['result']

    def page(self, url=None, width=1000, height=800, phone=False, setup=()):
        """A new page; setup: (method, params) of the protocol before it loads anything."""
        context = self.ask('Target.createBrowserContext')['browserContextId']
        target = self.ask('Target.createTarget', {'url': 'about:blank', 'browserContextId': context})['targetId']
        session = self.ask('Target.attachToTarget', {'targetId': target, 'flatten': True})['sessionId']
        page = self.pages[session] = Page(self, session, target, context)
        for domain in ('Page', 'Runtime', 'Network', 'Log'):
            page.ask(domain + '.enable')
        page.ask('Emulation.setDeviceMetricsOverride', {'width': width, 'height': height, 'deviceScaleFactor': 1, 'mobile': phone})
        for method, params in setup:
            page.ask(method, params)
        if url:
            page.go(url)
        return page

    def close(self):
        try:
            self.ask('Browser.close', timeout=10)
            self.process.wait(10)
        except (PageError, OSError, subprocess.TimeoutExpired):
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        os.close(self.write)
        shutil.rmtree(self.profile, ignore_errors=True)

    __enter__ = lambda self: self
    __exit__ = lambda self, *args: self.close()


class Page:
    def __init__(self, browser, session, target, context):
        self.browser, self.session, self.target, self.context = browser, session, target, context
        self.console, self.errors, self.requests, self.sockets = [], [], [], []

    def ask(self, method, params=None, **more):
        return self.browser.ask(method, params, self.session, **more)

    def event(self, method, p):
        if method == 'Runtime.consoleAPICalled':
            self.console.append(' '.join(str(a.get('value', a.get('description', ''))) for a in p['args']))
        elif method == 'Runtime.exceptionThrown':
            d = p['exceptionDetails']
            self.errors.append(d.get('exception', {}).get('description') or d['text'])
        elif method == 'Log.entryAdded' and p['entry']['level'] == 'error':
            self.errors.append(p['entry']['text'] + ' ' + p['entry'].get('url', ''))
        elif method == 'Network.requestWillBeSent':
            self.requests.append((p['request']['method'], p['request']['url'], p['request']['headers']))
        elif method == 'Network.webSocketCreated':
            self.sockets.append(p['url'])

    def go(self, url):
        self.ask('Page.navigate', {'url': url})

    def reload(self):
        self.ask('Page.reload')

    def evaluate(self, script, timeout=120):
        r = self.ask('Runtime.evaluate', {'expression': script, 'awaitPromise': True, 'returnByValue': True, 'userGesture': True},
                     timeout=timeout)
        if 'exceptionDetails' in r:
            raise PageError(r['exceptionDetails'].get('exception', {}).get('description') or r['exceptionDetails']['text'])
        return r['result'].get('value')

    def until(self, condition, patience=60):
        """Wait until an expression holds, and return its value. While a page loads there is nothing to ask: that is no error."""
        end, last = time.monotonic() + patience, None
        while time.monotonic() < end:
            try:
                last = self.evaluate(condition)
            except PageError as why:
                last = str(why)
            else:
                if last:
                    return last
            time.sleep(0.05)
        raise PageError(f'never: {condition} (last: {last!r}); errors: {self.errors[-3:]}')

    def click(self, selector):
        self.until(f'!!document.querySelector({json.dumps(selector)}) && !document.querySelector({json.dumps(selector)}).disabled')
        self.evaluate(f'document.querySelector({json.dumps(selector)}).click()')

    def type(self, selector, text):
        self.evaluate(f'''(() => {{ const e = document.querySelector({json.dumps(selector)}); e.focus(); e.value = {json.dumps(text)};
            e.dispatchEvent(new Event('input', {{bubbles: true}})); e.dispatchEvent(new Event('change', {{bubbles: true}})); }})()''')

    def text(self, selector='body'):
        return self.evaluate(f'document.querySelector({json.dumps(selector)})?.innerText ?? ""')

    def offline(self, off=True):
        """Cut the network: requests fail; sockets that are open stay (the server's side is to cut them)."""
        self.ask('Network.emulateNetworkConditions', {'offline': off, 'latency': 0, 'downloadThroughput': -1, 'uploadThroughput': -1})

    def screenshot(self, path):
        with open(path, 'wb') as f:
            f.write(base64.b64decode(self.ask('Page.captureScreenshot', {'format': 'png'})['data']))

    def close(self):
        self.browser.ask('Target.disposeBrowserContext', {'browserContextId': self.context})
