"""stall.py - what the watchdog hears when one thread of recond stands still, for each of its threads

    stall.py SECONDS -- recond ...   SECONDS at most for what is waited for; one JSON object: for each thread the number of beats and what the log says

As many processes as one has threads, each with another thread stopped (ptrace stops threads one by one), all at once.
"""
import ctypes
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

import manager

SEIZE, INTERRUPT, ALL = 0x4206, 0x4207, 0x40000000
libc = ctypes.CDLL(None, use_errno=True)


def ptrace(what, tid):
    if libc.ptrace(what, tid, 0, 0):
        raise OSError(ctypes.get_errno(), "ptrace")


def name_of(pid, tid):
    with open("/proc/%d/task/%d/comm" % (pid, tid)) as f:
        return f.read().strip()


def threads(pid):
    """Main first, then by name and creation: threads that start threads of their own do so at any time, so that numbers by
    creation alone would name different threads in different processes."""
    tids = sorted(int(t) for t in os.listdir("/proc/%d/task" % pid))
    return tids[:1] + sorted(tids[1:], key=lambda t: (name_of(pid, t), t))


class Case:
    def __init__(self, command, number, folder):
        self.number, self.stopped = number, None
        self.log = os.path.join(folder, "log%d" % number)
        with open(self.log, "w") as log:
            self.manager = manager.Manager(
                command + ["--log.format=json", "--journal.path=%s/state%d" % (folder, number)], watchdog_s=2, log=log,
                name=str(number))
            self.manager.start()
        self.manager.ready()
        time.sleep(0.5)
        self.pid = self.manager.process.pid
        self.count = len(threads(self.pid))

    def stop_thread(self):
        tid = threads(self.pid)[self.number]
        ptrace(SEIZE, tid)
        ptrace(INTERRUPT, tid)
        os.waitpid(tid, ALL)
        self.stopped = tid

    def beats(self, after):
        return sum(text == "WATCHDOG=1" for when, text in self.manager.heard if when >= after)

    def events(self, message_id):
        with open(self.log) as f:
            lines = [json.loads(line) for line in f if line.startswith("{")]
        return [line["message"] for line in lines if line.get("message_id") == message_id]

    def kill(self):
        self.manager.process.send_signal(signal.SIGKILL)
        if self.stopped:
            os.waitpid(self.stopped, ALL)  # the tracer of a thread reaps it, too
        self.manager.process.wait()


def main(seconds, command):
    with open("daemon/log_events.h") as f:
        event = [line.split('"')[1] for line in f if "LOG_EVENT_THREAD_STALLED " in line][0]
    with tempfile.TemporaryDirectory() as folder:
        cases = [Case(command, 0, folder)]  # number 0 stays whole, for comparison
        for number in range(1, cases[0].count):
            cases.append(Case(command, number, folder))
        try:
            for case in cases[1:]:
                case.stop_thread()
            end = time.monotonic() + seconds
            while time.monotonic() < end and not all(c.events(event) for c in cases[1:]):
                time.sleep(0.2)
            now = time.monotonic()  # from now on the whole ones are heard twice, the others never
            whole = [c for c in cases if not c.stopped]
            while time.monotonic() < end + seconds and any(c.beats(now) < 2 for c in whole):
                time.sleep(0.1)
            print(json.dumps([dict(thread=c.number, beats=c.beats(now), said=c.events(event)) for c in cases]))
        finally:
            for case in cases:
                case.kill()


if __name__ == "__main__":
    at = sys.argv.index("--")
    main(float(sys.argv[1]), sys.argv[at + 1:])
