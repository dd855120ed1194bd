#!/usr/bin/env python3
"""ws.py - a small client written from docs/PROTOCOL.md alone, for end-to-end tests (Python's own library only)

A second implementation of the wire: handshake, frames, control messages. It keeps no cloud. Where python3-jsonschema is
there, each control message of the server is held against proto/wire/control.schema.json.
"""
import base64
import hashlib
import json
import os
import socket
import struct
import sys
import time
import urllib.parse
import urllib.request

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), '../support'))
try:
    from control_schema import check as check_control
except ImportError:
    def check_control(message):
        """Without the schema's package nothing is checked."""

HEADER = struct.Struct('<BBHIQQIHH4f4f3fI')   # 80 bytes, docs/PROTOCOL.md "Frame"
PART = struct.Struct('<BBHHHHHI')             # 16 bytes: type codec flags width height camera unit bytes
COLOUR, JPEG = 1, 3
HAS_POSE, HAS_CAMERA, TRACKING_NORMAL = 1, 2, 3 << 2


def rest(url, method, path, body=None):
    """One REST call; (status, parsed body)."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url + path, data=data, method=method,
                                     headers={'Content-Type': 'application/json'})
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            text, status = answer.read(), answer.status
    except urllib.error.HTTPError as error:
        text, status = error.read(), error.code
    try:
        return status, json.loads(text)
    except ValueError:
        return status, text


def frame(seq, jpeg, width, height, flags=HAS_POSE | HAS_CAMERA | TRACKING_NORMAL, op=1, version=1, header_len=80,
          camera=(500.0, 500.0, 320.0, 240.0), q=(0.0, 0.0, 0.0, 1.0), t=(0.0, 0.0, 0.0), payload_len=None, world=0, parts=()):
    """parts: ((type, codec, flags, width, height, camera, unit), payload) behind the picture."""
    length = len(jpeg) if payload_len is None else payload_len
    head = HEADER.pack(op, version, header_len, flags, seq, seq * 33_000_000 & (1 << 64) - 1, world, 1 + len(parts), PART.size, *camera, *q, *t, 0)
    entries = PART.pack(COLOUR, JPEG, 0, width, height, 0, 0, length) + b''.join(PART.pack(*e, len(p)) for e, p in parts)
    return head + entries + jpeg + b''.join(p for _, p in parts)


class Closed(Exception):
    pass


class Stream:
    def __init__(self, url, start=True, role='ingest', subprotocol='recon.v1', timeout=20, source=None):
        u = urllib.parse.urlparse(url)
        self.socket = socket.create_connection((u.hostname, u.port), timeout=timeout)
        self.buffer = b''
        self.texts = []
        self.binaries = 0
        self.pings = 0
        key = base64.b64encode(os.urandom(16)).decode()
        lines = [f'GET {u.path} HTTP/1.1', f'Host: {u.netloc}', 'Upgrade: websocket', 'Connection: Upgrade',
                 f'Sec-WebSocket-Key: {key}', 'Sec-WebSocket-Version: 13']
        if subprotocol:
            lines.append(f'Sec-WebSocket-Protocol: {subprotocol}')
        self.socket.sendall(('\r\n'.join(lines) + '\r\n\r\n').encode())
        head = b''
        while b'\r\n\r\n' not in head:
            head += self._more()
        head, self.buffer = head.split(b'\r\n\r\n', 1)
        self.head = head.decode('latin-1')
        self.status = int(head.split()[1])
        if self.status != 101:
            return
        accept = base64.b64encode(hashlib.sha1((key + '258EAFA5-E914-47DA-95CA-C5AB0DC85B11').encode()).digest())
        assert accept in head, head
        if start:
            self.text({'op': 'start', 'role': role, 'codecs': ['raw'], 'pose': 'cv', **({'source': source} if source else {})})
            self.ready = self.wait('ready')

    def _more(self):
        try:
            data = self.socket.recv(65536)
        except (ConnectionError, OSError) as error:
            if isinstance(error, socket.timeout):
                raise
            raise Closed('reset') from error
        if not data:
            raise Closed('end of file')
        return data

    def _take(self, n):
        while len(self.buffer) < n:
            self.buffer += self._more()
        taken, self.buffer = self.buffer[:n], self.buffer[n:]
        return taken

    def send(self, opcode, payload, fin=True):
        n = len(payload)
        head = bytes([(0x80 if fin else 0) | opcode])
        head += bytes([0x80 | n]) if n < 126 else b'\xfe' + struct.pack('>H', n) if n < 65536 else \
            b'\xff' + struct.pack('>Q', n)
        mask = os.urandom(4)
        wide = int.from_bytes((mask * (n // 4 + 1))[:n], 'little') ^ int.from_bytes(payload, 'little')
        try:
            self.socket.sendall(head + mask + wide.to_bytes(n, 'little'))
        except ConnectionError as error:
            raise Closed('reset') from error

    def text(self, value):
        self.send(1, value if isinstance(value, bytes) else json.dumps(value).encode())

    def binary(self, data):
        self.send(2, data)

    def receive(self):
        """One message: ('text', object), ('binary', bytes); pings are answered, a close raises Closed(code)."""
        message = b''
        while True:
            first, second = self._take(2)
            n = second & 0x7f
            n = struct.unpack('>H', self._take(2))[0] if n == 126 else \
                struct.unpack('>Q', self._take(8))[0] if n == 127 else n
            payload = self._take(n)
            opcode = first & 0xf
            if opcode == 8:
                raise Closed(struct.unpack('>H', payload[:2])[0] if n >= 2 else 1005)
            if opcode == 9:
                self.send(10, payload)
                self.pings += 1
                if self.pings > 10:
                    raise Closed('nothing but pings')
                continue
            if opcode == 10:
                continue
            if opcode:
                kind = opcode
            self.pings = 0
            message += payload
            if first & 0x80:
                if kind != 1:
                    return 'binary', message
                value = json.loads(message)
                check_control(value)
                return 'text', value

    def wait(self, op, **members):
        """The next text message with this op and these members; all texts are kept in self.texts."""
        deadline = time.monotonic() + 15
        while True:
            kind, value = self.receive()
            if time.monotonic() > deadline:
                raise Closed(f'no {op} {members} in time')
            if kind == 'binary':
                self.binaries += 1
                continue
            self.texts.append(value)
            if value['op'] == op and all(value.get(k) == v for k, v in members.items()):
                return value

    def close(self):
        self.socket.close()
