"""manager.py - a service manager for one recond: holds its listening sockets and hears what it says of itself

    manager.py words NAME -- recond ...         starts it, reloads it, stops it; what it said, as one JSON object
    manager.py restarts N -- recond ...         ends it N times by SIGKILL and twice by SIGTERM while clients connect
                                                without a pause; what became of them, as one JSON object

As under systemd the sockets are LISTEN_FDS, named http and stream, and survive the process. Ports are the system's choice.
"""
import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time

RESTART_S = 0.2  # RestartSec= of the unit


class Manager:
    def __init__(self, command, watchdog_s=20, log=None, name=""):
        self.command, self.watchdog_s, self.log, self.process = command, watchdog_s, log, None
        self.heard = []  # (time, text) of every datagram
        self.news = threading.Condition()
        self.listening = []
        for _ in range(2):
            s = socket.socket()
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            s.bind(("127.0.0.1", 0))
            s.listen(512)
            self.listening.append(s)
        self.http, self.stream = (s.getsockname()[1] for s in self.listening)
        self.notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.address = "\0recond-manager-%d-%s" % (os.getpid(), name)
        self.notify.bind(self.address)
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        while True:
            text = self.notify.recv(4096).decode()
            with self.news:
                self.heard.append((time.monotonic(), text))
                self.news.notify_all()

    def start(self):
        fds = [s.fileno() for s in self.listening]

        def child():
            high = [os.dup2(fd, 100 + i) for i, fd in enumerate(fds)]
            for i, fd in enumerate(high):
                os.dup2(fd, 3 + i)
                os.close(fd)

        env = dict(os.environ, LISTEN_FDS="2", LISTEN_FDNAMES="http:stream",
                   NOTIFY_SOCKET="@" + self.address[1:], WATCHDOG_USEC=str(self.watchdog_s * 1000000))
        # only the process itself knows its number, and exec keeps it
        self.begun = time.monotonic()
        self.process = subprocess.Popen(
            ["sh", "-c", 'LISTEN_PID=$$ WATCHDOG_PID=$$; export LISTEN_PID WATCHDOG_PID; exec "$@"', "sh"] + self.command,
            env=env, preexec_fn=child, close_fds=False, stderr=self.log)

    def wait_for(self, word, after, seconds):
        """The first message since `after` that has this line; None if it does not come or the process ends."""
        until = time.monotonic() + seconds
        with self.news:
            while True:
                for when, text in self.heard:
                    if when >= after and word in text.split("\n"):
                        return when, text
                if time.monotonic() > until or (self.process.poll() is not None and word != "STOPPING=1"):
                    return None
                self.news.wait(0.05)

    def ready(self):
        found = self.wait_for("READY=1", self.begun, 60)
        if not found:
            sys.exit("recond did not become ready")
        return found[0] - self.begun

    def end(self, sig, seconds=100):
        self.process.send_signal(sig)
        return self.process.wait(seconds)


class Clients:
    """Threads that connect again and again; a refused connection is what must not happen."""

    def __init__(self, manager, threads=4):
        self.lock = threading.Lock()
        self.count = dict(answered=0, refused=0, late=0, cut=0, odd=0, streams=0)
        self.longest_s = 0.0
        self.stop = False
        self.threads = [threading.Thread(target=self.ask, args=(manager.http,)) for _ in range(threads - 1)]
        self.threads.append(threading.Thread(target=self.touch, args=(manager.stream,)))
        for t in self.threads:
            t.start()

    def add(self, what):
        with self.lock:
            self.count[what] += 1

    def connect(self, port):
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=60)
        except ConnectionRefusedError:
            self.add("refused")
        except OSError:
            self.add("late")
        return None

    def ask(self, port):
        while not self.stop:
            begin = time.monotonic()
            s = self.connect(port)
            if s:
                with s:
                    self.add(self.answer(s))
                with self.lock:
                    self.longest_s = max(self.longest_s, time.monotonic() - begin)
            time.sleep(0.004)

    @staticmethod
    def answer(s):
        text = b""
        try:
            s.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            while True:
                more = s.recv(4096)
                if not more:
                    break
                text += more
        except socket.timeout:
            return "late"
        except OSError:
            pass
        if text.startswith(b"HTTP/1.1 200 "):
            return "answered"
        return "odd" if text else "cut"  # cut: it was in the hands of the process that was killed

    def touch(self, port):
        while not self.stop:
            s = self.connect(port)
            if s:
                s.close()
                self.add("streams")
            time.sleep(0.01)

    def join(self):
        self.stop = True
        for t in self.threads:
            t.join()


def restarts(kills, command):
    m = Manager(command)
    rng = random.Random(int(os.environ.get("SEED", "1")))
    m.start()
    m.ready()
    clients = Clients(m)
    times = []
    statuses = []
    for sig in [signal.SIGKILL] * kills + [signal.SIGTERM] * 2:
        time.sleep(rng.uniform(0.1, 0.6))
        statuses.append(m.end(sig))
        time.sleep(RESTART_S)
        m.start()
        times.append(m.ready())
    time.sleep(0.5)
    clients.join()
    statuses.append(m.end(signal.SIGTERM))
    print(json.dumps(dict(clients.count, kills=statuses.count(-signal.SIGKILL), clean=statuses.count(0),
                          threads=len(clients.threads), longest_s=round(clients.longest_s, 3),
                          ready_max_s=round(max(times), 3))))


def words(command):
    m = Manager(command, watchdog_s=2)
    m.start()
    start = m.ready()
    first = [text for _, text in m.heard if "READY=1" in text][0]
    fed, fed_max_s = [], 0.0
    for _ in range(3):
        now = time.monotonic()
        fed.append(m.wait_for("WATCHDOG=1", now, 60) is not None)
        fed_max_s = max(fed_max_s, time.monotonic() - now)
    now = time.monotonic()
    m.process.send_signal(signal.SIGHUP)
    again = m.wait_for("READY=1", now, 60)
    reloading = [text for when, text in m.heard if when >= now and text.startswith("RELOADING=1\nMONOTONIC_USEC=")]
    usec = int(reloading[0].split("=")[2]) if reloading else 0
    now_stop = time.monotonic()
    status = m.end(signal.SIGTERM)
    print(json.dumps(dict(
        start_s=round(start, 3), status_line=[x for x in first.split("\n") if x.startswith("STATUS=")][0],
        fed=all(fed), fed_max_s=round(fed_max_s, 3), reloading=len(reloading), ready_again=bool(again),
        clock_ok=bool(again) and now * 1e6 - 1e6 < usec <= again[0] * 1e6,
        stopping=m.wait_for("STOPPING=1", now_stop, 60) is not None, status=status)))


if __name__ == "__main__":
    at = sys.argv.index("--")
    if sys.argv[1] == "restarts":
        restarts(int(sys.argv[2]), sys.argv[at + 1:])
    else:
        words(sys.argv[at + 1:])
