"""web_view.py - the tests of 96-web-view: the view of api/web in a real Chromium, beside a running daemon

Environment: URL of the daemon; O; SEQ; PICTURES=folder for pictures.
"""
import json
import os
import pathlib
import subprocess
import sys
import time

import chromium
import ws

URL, SEQ, CTL = os.environ['URL'], os.environ['SEQ'], os.environ['O'] + '/reconctl'
PICTURES = os.environ.get('PICTURES')
SIZE = (1280, 800) if PICTURES else (800, 600)
TESTS = []


def test(function):
    TESTS.append(function)
    return function


def need(truth, what):
    if not truth:
        raise AssertionError(what)


def picture(page, name):
    if PICTURES:
        pathlib.Path(PICTURES).mkdir(parents=True, exist_ok=True)
        page.screenshot(f'{PICTURES}/{name}.png')


def create():
    status, session = ws.rest(URL, 'POST', '/v1/sessions', {'net': {'width': 128, 'height': 96}})
    need(status == 201, session)
    return session


def push(session, frames, **more):
    command = [CTL, 'push', SEQ, '--into', session['id'], '-n', str(frames), '--url', URL, '--json']
    return subprocess.Popen(command + [str(x) for pair in more.items() for x in pair], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def of_server(session):
    return ws.rest(URL, 'GET', '/v1/sessions/' + session['id'])[1]


def open_view(browser, base, session=None, **more):
    arguments = '&'.join(([f'stream={session["stream_url"]}'] if session else []) + [f'{k}={v}' for k, v in more.items()])
    page = browser.open(f'{base}tests/web/view.html#{arguments}')
    need(page.wait('window.ready'), page.errors)
    return page


def agrees(page, session):
    """Until the page holds what the server has, as its own comparison says, too."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        now, state = of_server(session), page.eval('({...view.state, submaps: view.state.submaps.length})')
        if state['hash'] == now['hash'] and state['equal'] and state['points']:
            return state
        time.sleep(0.1)
    raise AssertionError(f'page {state}, server {now["hash"]}, broken {page.eval("broken")}')


def settled(page):
    page.eval('settled()')
    return page.eval('seen()')


@test
def a_viewer_follows(browser, base, keep):
    """a page follows a session from its beginning, and has the server's cloud"""
    session = keep['session'] = create()
    page = keep['page'] = open_view(browser, base, session)
    job = push(session, 20)
    need(job.wait() == 0, job.stderr.read())
    state = agrees(page, session)
    need(state['points'] == of_server(session)['points'], state)
    seen = settled(page)
    need(seen['share'] > 0.02, f'the picture is empty: {seen}')
    text = page.eval('document.querySelector(".view-status").textContent')
    need(f'{state["points"]:,} points' in text and "The same as the server's" in text, text)
    picture(page, 'follow')


@test
def a_late_viewer(browser, base, keep):
    """one who comes late has the same cloud, in bright light as in dark"""
    page = browser.open('about:blank')
    page.call('Emulation.setEmulatedMedia', features=[{'name': 'prefers-color-scheme', 'value': 'dark'}])
    page.call('Page.navigate', url=f'{base}tests/web/view.html#stream={keep["session"]["stream_url"]}')
    need(page.wait('window.ready'), page.errors)
    agrees(page, keep['session'])
    seen = settled(page)
    need(abs(seen['share'] - settled(keep['page'])['share']) < 0.02, 'other pixels than the first page')
    need(page.eval('view.background[0] < 0.2'), 'it is not dark')
    picture(page, 'late_dark')
    page.close()


@test
def two_sessions(browser, base, keep):
    """two sessions at once, a page each"""
    sessions = [create(), create()]
    pages = [open_view(browser, base, s) for s in sessions]
    jobs = [push(sessions[0], 12), push(sessions[1], 20)]
    need([j.wait() for j in jobs] == [0, 0], 'push')
    hashes = [agrees(p, s)['hash'] for p, s in zip(pages, sessions)]
    need(hashes[0] != hashes[1], hashes)
    for page in pages:
        page.close()


@test
def a_lost_line(browser, base, keep):
    """a line that breaks in the middle: the page resumes and keeps what it has"""
    session = create()
    page = open_view(browser, base, session)
    job = push(session, 20)
    need(page.wait('held.length > 0 && view.state.points > 0'), 'nothing came')
    page.eval('socket.close()')
    need(job.wait() == 0, 'push')
    agrees(page, session)
    need(page.eval('last.ready.resumed') is True and page.eval('broken.length') == 0, 'it did not resume')
    page.close()


@test
def a_wrong_mirror(browser, base, keep):
    """a mirror that is wrong is noticed, thrown away and fetched anew"""
    page = open_view(browser, base)
    page.eval('feed(1, 200)')
    page.eval('view.mirror.sync({revision: 1, points: 600, hash: "0123456789abcdef"})')
    need(page.wait('broken.length === 1'), 'not noticed')
    page.eval('feed(1, 100)')
    need(page.wait('view.state.equal === false') and page.eval('view.state.points') == 5 * 200, 'what comes behind it is taken')
    page.eval('view.mirror.reset(); feed(1, 100)')
    need(page.wait('view.state.points === 500 && view.state.equal === null'), 'not begun anew')
    page.eval('view.mirror.message(new Uint8Array([0x10, 9, 0]).buffer)')
    need(page.wait('broken.length === 2'), 'a broken message')
    page.close()


@test
def hands(browser, base, keep):
    """mouse, touch and keys move the camera; what is measured is as long as it is"""
    page = open_view(browser, base)
    page.eval('feed(3, 5000)')
    page.eval('settled()')
    pose = 'JSON.stringify([view.eye.yaw, view.eye.pitch, view.eye.distance, view.eye.pivot].map(x => [x].flat().map(y => +y.toFixed(4))))'
    seen = [page.eval(pose)]

    def moved(what):
        now = page.eval(pose)
        need(now != seen[-1], f'{what} moves nothing')
        seen.append(now)

    page.drag((540, 300), (600, 280))
    moved('a drag')
    page.drag((540, 300), (600, 280), button='right')
    moved('the right button')
    page.mouse('mouseWheel', 540, 300, deltaX=0, deltaY=-120)
    moved('the wheel')
    page.press('ArrowLeft')
    moved('an arrow key')
    page.press('+')
    moved('a key')
    page.call('Emulation.setTouchEmulationEnabled', enabled=True, maxTouchPoints=2)
    for kind, points in (('touchStart', [(400, 300)]), ('touchMove', [(440, 320)]), ('touchEnd', [])):
        page.touch(kind, points)
    moved('a finger')
    for kind, points in (('touchStart', [(400, 300), (500, 300)]), ('touchMove', [(350, 300), (550, 300)]), ('touchEnd', [])):
        page.touch(kind, points)
    moved('two fingers')
    page.press('h')
    need(page.eval('view.own') is False, 'all of it')
    page.eval('view.eye.pitch = -1.3; view.eye.changes++')
    page.eval('settled()')
    page.press('m')
    spots = page.eval('''[[0.5, 0.04, 0.5], [2.5, 0.04, 2.5]].map(p => {
        const m = view.eye.lens(view.canvas.clientWidth / view.canvas.clientHeight), at = i => m[i] * p[0] + m[4 + i] * p[1] + m[8 + i] * p[2] + m[12 + i];
        return [(at(0) / at(3) + 1) / 2 * view.canvas.clientWidth, (1 - at(1) / at(3)) / 2 * view.canvas.clientHeight];
    })''')
    for spot in spots:
        page.mouse('mousePressed', *spot)
        page.mouse('mouseReleased', *spot)
    need(page.wait('view.scene.metres !== null'), 'nothing is measured')
    metres = page.eval('view.scene.metres')
    need(abs(metres - 8 ** 0.5) < 0.05, f'{metres} m instead of {8 ** 0.5}')
    need(page.wait('document.querySelector(".view-label")?.textContent.endsWith(" m")'), 'no label')
    page.eval('settled()')
    picture(page, 'measure')
    page.press('g')
    page.call('Input.dispatchKeyEvent', type='keyDown', key='w', code='KeyW')
    need(page.wait(f'{pose} !== {json.dumps(seen[-1])}'), 'flying')
    page.call('Input.dispatchKeyEvent', type='keyUp', key='w', code='KeyW')
    need(not page.errors, page.errors)
    page.close()


@test
def looks(browser, base, keep):
    """every colouring is another picture; the clip box cuts; point sizes and shading work"""
    page = open_view(browser, base)
    page.eval('feed(3, 5000)')
    whole, means = settled(page), []
    for key in '12345':
        page.eval('view.canvas.focus()')
        page.press(key)
        seen = settled(page)
        need(abs(seen['n'] - whole['n']) < 0.02 * whole['n'], 'another look has other pixels')
        means.append(tuple(round(x) for x in seen['mean']))
        picture(page, f'look{key}')
    need(len(set(means)) == 5, means)
    page.press('x')
    page.eval('view.options.clipShare.max = [1, 0.3, 1]; view.change("clipShare")')
    seen = settled(page)
    need(0.2 * whole['n'] < seen['n'] < 0.8 * whole['n'], f'{seen["n"]} of {whole["n"]} pixels are left')
    picture(page, 'clip')
    page.eval('view.set("clip", false); view.set("size", 3)')
    need(settled(page)['n'] > whole['n'], 'larger points')
    page.close()


@test
def corrections(browser, base, keep):
    """a submap without a place is hidden unless asked for; after a correction both states can be seen"""
    page = open_view(browser, base)
    page.eval('''view.mirror.message(messages.transform(4, [0, 0, 0, 1], [0, 0, 0], {unplaced: true}).buffer)''')
    page.eval('feed(2, 10000, {submap: 4})')
    need(settled(page)['n'] == 0, 'it is drawn without a place')
    need('hidden: their place is not known' in page.eval('document.querySelector(".view-status").textContent'), 'not said')
    page.eval('view.set("unplaced", true)')
    need(settled(page)['n'] > 1000, 'it was asked for')
    page.eval('view.set("unplaced", false); view.own = true')
    page.eval('view.mirror.message(messages.transform(4, [0, 0, 0, 1], [0, 0, 0]).buffer)')
    first = settled(page)
    page.eval('view.mirror.message(messages.transform(4, [0, 0, 0, 1], [0.6, 0.4, 0]).buffer)')
    moved = settled(page)
    need(abs(moved['middle'][0] - first['middle'][0]) + abs(moved['middle'][1] - first['middle'][1]) > 0.02, f'{first} {moved}')
    need(page.eval('document.querySelectorAll(".view-panel input:disabled").length') == 0, 'the switch is off')
    page.eval('view.set("before", true)')
    before = settled(page)
    need(before['middle'] == first['middle'], 'as it was before')
    page.close()


@test
def a_lost_card(browser, base, keep):
    """a card that is taken away: it is said, the cloud is kept, goes on, and is drawn again"""
    page = keep['page']
    first = settled(page)
    page.eval('window.taken = view.renderer.gl.getExtension("WEBGL_lose_context"); taken.loseContext()')
    need(page.wait('view.state.lost && !document.querySelector(".view-sentence").hidden'), 'not said')
    picture(page, 'lost')
    job = push(keep['session'], 10, **{'--source': 'other'})
    need(job.wait() == 0, 'push')
    agrees(page, keep['session'])
    page.eval('taken.restoreContext()')
    need(page.wait('!view.state.lost'), 'not restored')
    need(page.eval('document.querySelector(".view-sentence").hidden'), 'the sentence stays')
    need(abs(settled(page)['n'] - first['n']) < 0.2 * first['n'], 'another picture')
    need(not page.errors and not page.eval('broken.length'), page.errors)


@test
def the_path(browser, base, keep):
    """recond's own page shows the same cloud, and asks for the camera's path again when the cloud has changed"""
    session = create()
    need(push(session, 6).wait() == 0, 'push')
    page = browser.open(f'{URL}/#/s/{session["id"]}')
    asked = lambda: sum(r.endswith('/trajectory') for r in page.requests)  # noqa: E731
    need(page.wait(f'document.body.dataset.hash === "{of_server(session)["hash"]}" && document.body.dataset.equal === "true"'), page.errors)
    need(page.wait('document.querySelector(".view-canvas")'), 'no view')
    before = asked()
    need(before >= 1, page.requests)
    need(push(session, 6, **{'--source': 'other'}).wait() == 0, 'push')
    end = time.monotonic() + 60
    while asked() == before and time.monotonic() < end:
        time.sleep(0.2)
    need(asked() > before, 'not asked again')
    need(page.wait(f'document.body.dataset.hash === "{of_server(session)["hash"]}"'), 'another hash')
    picture(page, 'page')
    need(not page.errors, page.errors)
    page.close()


@test
def nothing_leaves(browser, base, keep):
    """no request leaves the origin but to the stream"""
    stray = [r for r in keep['page'].requests + keep['page'].sockets if not r.startswith((base, keep['session']['stream_url']))]
    need(not stray, stray)
    need(not keep['page'].errors, keep['page'].errors)


@test
def no_card(browser, base, keep):
    """without WebGL the sentence says so; counts and hash are there"""
    with chromium.Browser('--disable-gpu', '--disable-3d-apis', timeout=browser.timeout) as other:
        page = open_view(other, base, keep['session'])
        agrees(page, keep['session'])
        need('cannot be drawn' in page.eval('document.querySelector(".view-sentence").textContent'), 'not said')
        need(not page.errors, page.errors)


def main():
    print(f'1..{len(TESTS)}')
    begun = os.times()
    only = sys.argv[1:]
    with chromium.serve({'/': '.'}) as base, chromium.Browser(size=SIZE, timeout=180) as browser:
        keep = {}
        for number, function in enumerate(TESTS, 1):
            if only and function.__name__ not in only:
                continue
            try:
                function(browser, base, keep)
                print(f'ok {number} - {function.__doc__}', flush=True)
            except (AssertionError, RuntimeError, TimeoutError, KeyError) as error:
                print(f'not ok {number} - {function.__doc__}\n# {type(error).__name__}: {error}', flush=True)
    ended = os.times()
    print(f'# {ended.children_user + ended.children_system - begun.children_user - begun.children_system:.1f} s of processor time')


main()
