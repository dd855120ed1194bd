#!/usr/bin/env python3
"""bad_link.py - a bad line between two network namespaces, packet by packet

    bad_link.py PID        connects this namespace with that of PID; needs CAP_NET_ADMIN and /dev/net/tun

This side is 10.99.0.1 and, for servers that serve the loopback only, 127.0.0.1; the other side is 10.99.0.2, has no
loopback of its own, and finds 127.0.0.1 at the far end of the line. The kernels at both ends run their own TCP: what
is lost is sent again, and nobody acknowledges on behalf of somebody else, as a proxy would.

Commands on standard input, one a line; each is answered with one line of JSON, the counters so far:
    rate BITS_PER_S     0 = as fast as it goes; what does not fit into 0.25 s of the line is dropped, at least 20 packets
    delay SECONDS       each way
    loss FRACTION       of all packets, either way
    resets MIN MAX      every so many seconds all TCP connections are reset, for both ends; 0 0 = not any more
    hole SECONDS        from now on nothing passes, either way, and nobody is told
    get                 only the answer
End of input ends it. SEED=number makes what is lost the same again.
"""
import fcntl
import heapq
import json
import os
import random
import select
import struct
import subprocess
import sys
import time

TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
FIN, SYN, RST, ACK = 1, 2, 4, 16


def open_tun(name):
    fd = os.open('/dev/net/tun', os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(fd, TUNSETIFF, struct.pack('16sH22x', name.encode(), IFF_TUN | IFF_NO_PI))
    return fd


def run(*command):
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def connect(pid):
    """Both ends of the line, configured. Returns their two file descriptors."""
    near, far = open_tun('near0'), open_tun('far0')
    there = ('nsenter', '-t', str(pid), '-n')
    run('ip', 'link', 'set', 'far0', 'netns', str(pid))
    run('ip', 'link', 'set', 'lo', 'up')
    run('ip', 'address', 'add', '10.99.0.1/24', 'dev', 'near0')
    run('ip', 'link', 'set', 'near0', 'up')
    run(*there, 'ip', 'address', 'add', '10.99.0.2/24', 'dev', 'far0')
    run(*there, 'ip', 'link', 'set', 'far0', 'up')
    run(*there, 'ip', 'route', 'add', '127.0.0.0/8', 'dev', 'far0', 'src', '10.99.0.2')
    for where, device in (((), 'near0'), (there, 'far0')):
        run(*where, 'sh', '-c', f'echo 1 >/proc/sys/net/ipv4/conf/{device}/route_localnet')
        run(*where, 'sh', '-c', 'echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6 2>/dev/null || :')
    return near, far


def checksum(data):
    total = sum(struct.unpack(f'!{(len(data) + 1) // 2}H', data + b'\0' * (len(data) % 2)))
    total = (total & 0xFFFF) + (total >> 16)
    return ~(total + (total >> 16)) & 0xFFFF


def tcp_of(packet):
    """(addresses and ports as one key, flags, ack) of an IPv4 TCP packet, else None."""
    if len(packet) < 40 or packet[0] >> 4 != 4 or packet[9] != 6:
        return None
    head = (packet[0] & 15) * 4
    if len(packet) < head + 20:
        return None
    return (packet[12:20], packet[head:head + 4]), packet[head + 13], packet[head + 8:head + 12]


def reset_for_sender(packet):
    """What the sender of this packet takes for a reset by its peer: its own `ack` is what it expects next."""
    head = (packet[0] & 15) * 4
    addresses = packet[16:20] + packet[12:16]
    ports = packet[head + 2:head + 4] + packet[head:head + 2]
    tcp = ports + packet[head + 8:head + 12] + b'\0\0\0\0' + bytes((5 << 4, RST)) + b'\0\0\0\0\0\0'
    tcp = tcp[:16] + struct.pack('!H', checksum(addresses + struct.pack('!HH', 6, len(tcp)) + tcp)) + tcp[18:]
    ip = struct.pack('!BBHHHBBH', 0x45, 0, 40, 0, 0x4000, 64, 6, 0) + addresses
    return ip[:10] + struct.pack('!H', checksum(ip)) + ip[12:] + tcp


class Line:
    def __init__(self, near, far):
        self.fds = (near, far)
        self.rate, self.delay, self.loss, self.resets = 0.0, 0.0, 0.0, None
        self.free_at = [0.0, 0.0]  # when each direction has sent what it was given
        self.hole_until = self.reset_at = 0.0
        self.doomed = {}  # flow as its sender names it -> still to be reset
        self.flows = {}   # the same -> when it was seen last
        self.heap, self.serial = [], 0
        self.count = dict.fromkeys(('passed', 'lost', 'crowded', 'swallowed', 'resets', 'holes', 'bytes'), 0)

    def command(self, words, now):
        value = [float(word) for word in words[1:]]
        if words[0] in ('rate', 'delay', 'loss'):
            setattr(self, words[0], value[0])
        elif words[0] == 'resets':
            self.resets = value if value[1] > 0 else None
            self.reset_at = now + random.uniform(*value)
        elif words[0] == 'hole':
            self.hole_until = now + value[0]
            self.count['holes'] += 1
        elif words[0] != 'get':
            raise SystemExit(f'bad_link: what is {words[0]}?')
        print(json.dumps(self.count), flush=True)

    def take(self, side, packet, now):
        """One packet that the kernel of that side sent."""
        tcp = tcp_of(packet)
        if now < self.hole_until:
            self.count['swallowed'] += 1
            return
        if tcp:
            flow, flags, _ = tcp
            self.flows[flow] = now
            if self.doomed.pop(flow, False) and flags & ACK and not flags & RST:
                self.count['resets'] += 1
                os.write(self.fds[side], reset_for_sender(packet))
                return
        if random.random() < self.loss:
            self.count['lost'] += 1
            return
        start = max(now, self.free_at[side])
        took = len(packet) * 8 / self.rate if self.rate else 0.0
        if start - now > max(0.25, 20 * took):
            self.count['crowded'] += 1
            return
        self.free_at[side] = start + took
        self.serial += 1
        heapq.heappush(self.heap, (start + took + self.delay, self.serial, 1 - side, packet))

    def tick(self, now):
        """What is due; returns for how long nothing will be."""
        while self.heap and self.heap[0][0] <= now:
            _, _, side, packet = heapq.heappop(self.heap)
            try:
                os.write(self.fds[side], packet)
                self.count['passed'] += 1
                self.count['bytes'] += len(packet)
            except OSError:
                self.count['crowded'] += 1
        if self.resets and now >= self.reset_at:
            self.reset_at = now + random.uniform(*self.resets)
            self.doomed = {flow: True for flow, seen in self.flows.items() if now - seen < 5}
            self.flows = {}
        due = [self.heap[0][0]] if self.heap else []
        if self.resets:
            due.append(self.reset_at)
        return max(0.0, min(due) - now) if due else None


def main():
    random.seed(os.environ.get('SEED', '1'))
    line = Line(*connect(int(sys.argv[1])))
    print(json.dumps(line.count), flush=True)
    commands = b''
    while True:
        wait = line.tick(time.monotonic())
        ready, _, _ = select.select([0, *line.fds], [], [], wait)
        for side, fd in enumerate(line.fds):
            for _ in range(64 if fd in ready else 0):
                try:
                    line.take(side, os.read(fd, 65536), time.monotonic())
                except BlockingIOError:
                    break
        if 0 in ready:
            got = os.read(0, 4096)
            if not got:
                return
            *whole, commands = (commands + got).split(b'\n')
            for text in whole:
                line.command(text.decode().split(), time.monotonic())


main()
