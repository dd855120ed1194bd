"""crash.py - kill recond at random moments while sessions are fed, and see whether anything is missing at the end

    crash.py KILLS SESSIONS FRAMES RECONCTL SOURCE -- recond ...
    FAULTS=n crash.py ...           before that, n processes lose their device instead (status 70), at a batch of chance

The service manager (manager.py) holds the sockets. First FRAMES frames go into one session of an undisturbed server: that is
the cloud that must come out. Then, round after round, as many go into SESSIONS sessions at once, while the server is ended
by SIGKILL after random times; `reconctl push` connects again by itself and compares its mirror with the server's cloud and
its export. Then each session's trajectory is asked for: every frame is in it, once and in order.
Prints what came of it as one JSON object.
"""
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
import urllib.request

from manager import Clients, Manager

LIVES_S = (0.05, 0.9)  # of a process


class Push:
    """`reconctl push` of all sessions of a round."""

    def __init__(self, reconctl, source, port, sessions, frames):
        self.frames = frames
        self.process = subprocess.Popen(
            [reconctl, "push", source, "--url", "http://127.0.0.1:%d" % port, "--loop", "--frames", str(frames), "--net", "64x64",
             "--sessions", str(sessions), "--keep", "--mode", "lossless", "--journal", "sync", "--retry", "60", "--json",
             "-o", "max_points=20000"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def running(self):
        return self.process.poll() is None

    def result(self):
        out, err = self.process.communicate(timeout=300)
        lines = [json.loads(x) for x in out.decode().splitlines() if x]
        sessions = [x for x in lines if x["type"] == "session"]
        if self.process.returncode:
            sys.stderr.write(err.decode())
        return self.process.returncode, sessions, err.decode().count("may have made a session all the same")


class Tally:
    def __init__(self, want_hash):
        self.want_hash = want_hash
        self.sessions = self.frames = self.lost = self.twice = self.unequal = self.unbalanced = self.failed = 0
        self.unmade = 0
        self.reconnects = self.duplicates = 0

    def add(self, manager, frames, wanted, status, sessions, unsure):
        """One round. Who was killed while it made a session cannot have said so: a push is told, and makes no second one."""
        made = [s for s in sessions if s["session"]]
        self.unmade += wanted - len(made)
        self.failed += wanted - len(made) != unsure or (status != 0) != (unsure > 0)
        wait_until_back(manager.http)
        for s in made:
            self.sessions += 1
            self.frames += frames
            self.reconnects += s["reconnects"]
            self.duplicates += s["duplicates"]
            if not (s["hash_equal"] and s["hash"] == s["server_hash"] == s["export_hash"] == self.want_hash):
                self.unequal += 1
                print("unequal:", json.dumps(s), file=sys.stderr)
            # how many duplicates were refused, server and client may count differently: an answer can die with the server
            self.unbalanced += s["received"] != s["used"] + s["dropped"] + s["refused"] or s["dropped"] != 0 or s["used"] != frames
            seqs = trajectory(manager.http, s["session"])
            self.lost += frames - len(set(seqs))
            self.twice += len(seqs) - len(set(seqs))
            self.unbalanced += seqs != sorted(seqs) or s["used"] != len(seqs)


def ask(port, method, path):
    request = urllib.request.Request("http://127.0.0.1:%d%s" % (port, path), method=method)
    return urllib.request.urlopen(request, timeout=30).read()


def trajectory(port, session):
    """The capture times of the poses; the n-th frame of a push was taken at its own moment."""
    text = ask(port, "GET", "/v1/sessions/%s/trajectory" % session).decode()
    return [float(line.split()[0]) for line in text.splitlines() if line and not line.startswith("#")]


def delete_all(port):
    """Also those that were made for a push that was never told."""
    for s in json.loads(ask(port, "GET", "/v1/sessions?limit=100"))["sessions"]:
        ask(port, "DELETE", "/v1/sessions/%s" % s["id"])


def wait_until_back(port):
    """A kill may have come after the push had ended: then the frames behind the last checkpoint are being replayed."""
    for _ in range(600):
        if b'"state":"recovering"' not in ask(port, "GET", "/v1/sessions?limit=100"):
            return
        time.sleep(0.05)
    sys.exit("sessions do not come back")


def lose_device(m, rng, push):
    """A process whose device faults behind a batch of chance. Returns how it ended, None if the push was over before."""
    os.environ["RECOND_TEST_DEVICE_FAULT"] = str(rng.randint(20, 400))
    m.end(signal.SIGTERM)
    m.start()
    del os.environ["RECOND_TEST_DEVICE_FAULT"]
    m.ready()
    while push.running() and m.process.poll() is None:
        time.sleep(0.002)
    return m.process.poll()


def serving_again(m, push):
    """The next process. Returns the seconds until it has used a frame, or has brought everything back."""
    begin = time.monotonic()
    m.start()
    m.ready()
    while push.running():
        text = ask(m.http, "GET", "/metrics").decode()
        if re.search(r'recond_frames_total{outcome="used",reason=""} [1-9]', text):
            break
        time.sleep(0.01)
    return time.monotonic() - begin


def main():
    at = sys.argv.index("--")
    kills, sessions, frames = (int(x) for x in sys.argv[1:4])
    reconctl, source, command = sys.argv[4], sys.argv[5], sys.argv[at + 1:]
    rng = random.Random(int(os.environ.get("SEED", "1")))
    m = Manager(command, watchdog_s=60)
    m.start()
    m.ready()
    status, first, _ = Push(reconctl, source, m.http, 1, frames).result()
    if status or not first[0]["hash_equal"]:
        sys.exit("the undisturbed run failed")
    ask(m.http, "DELETE", "/v1/sessions/%s" % first[0]["session"])
    tally = Tally(first[0]["hash"])
    clients = Clients(m, 2)
    done = idle = lost_devices = 0
    ready, back = [], []
    begin = time.monotonic()
    faults = int(os.environ.get("FAULTS", "0"))
    while lost_devices < faults:
        push = Push(reconctl, source, m.http, sessions, frames)
        while push.running() and lost_devices < faults:
            status = lose_device(m, rng, push)
            lost_devices += status == 70
            if status is not None:
                back.append(serving_again(m, push))
        if m.process.poll() is not None:  # lost its device behind the push's last frame
            m.start()
            m.ready()
        tally.add(m, frames, sessions, *push.result())
        delete_all(m.http)
    while done < kills:
        push = Push(reconctl, source, m.http, sessions, frames)
        while push.running() and done < kills:
            time.sleep(rng.uniform(*LIVES_S))
            idle += not push.running()
            m.end(signal.SIGKILL)
            done += 1
            m.start()
            ready.append(m.ready())
        tally.add(m, frames, sessions, *push.result())
        delete_all(m.http)
    seconds = time.monotonic() - begin
    clients.join()
    code = m.end(signal.SIGTERM)
    print(json.dumps(dict(vars(tally), **clients.count, kills=done, lost_devices=lost_devices,
                          serving_again_max_s=round(max(back + [0]), 3), kills_after_the_push=idle, status=code,
                          ready_max_s=round(max(ready + [0]), 3), seconds=round(seconds, 1))))


if __name__ == "__main__":
    main()
