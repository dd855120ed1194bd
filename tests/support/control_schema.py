#!/usr/bin/env python3
"""control_schema.py - control messages against proto/wire/control.schema.json

`check(message)` holds what the server says against the schema, in which it may use no member and no op that is not there.
Run alone, with the address of a server without tokens: the examples of docs/PROTOCOL.md fit the schema, and the server takes of
a client what the schema takes and refuses what it refuses. Prints "ok NAME" or "not ok NAME: why".
"""
import copy
import json
import pathlib
import sys

import jsonschema

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / 'proto/wire/control.schema.json').read_text())
OPS = {rule['then']['$ref'].rsplit('/', 1)[1] for rule in SCHEMA['allOf']}
FROM_CLIENT = {'start', 'camera', 'end', 'ping'}


def closed(schema):
    """The same schema, where no map has members that it does not name."""
    if isinstance(schema, list):
        return [closed(s) for s in schema]
    if not isinstance(schema, dict):
        return schema
    out = {k: closed(v) for k, v in schema.items()}
    if isinstance(schema.get('properties'), dict) and ('required' in schema or schema.get('type') == 'object'):
        out['additionalProperties'] = False
    return out


def strict(op):
    return jsonschema.Draft202012Validator({**closed(SCHEMA['$defs'])[op], '$defs': closed(SCHEMA['$defs'])})


STRICT = {op: strict(op) for op in OPS}
OPEN = jsonschema.Draft202012Validator(SCHEMA)


def check(message):
    """Raises what is wrong with a message."""
    op = message.get('op')
    if op not in STRICT:
        raise ValueError(f'the schema has no op {op!r}')
    STRICT[op].validate(message)


# ------------------------------------------------------------------------- the page and a server

FULL = [
    {'op': 'start', 'role': 'view', 'codecs': ['raw', 'other'], 'source': 'left-1', 'pose': 'cv', 'features': ['parts', 'other'],
     'depth': {'every': 3}, 'resume': {'epoch': 1, 'revision': 42, 'block': [0, 3, -1, 7]}},
    {'op': 'camera', 'id': 1, 'model': 'pinhole', 'width': 256, 'height': 192, 'params': [210, 210, 127.5, 95.5],
     'rig': [0, 0, 0, 1, 0.01, 0, 0]},
    {'op': 'ping', 't': 81234},
]
OTHERS = [65536, None, True, False, -1, 0, 1, 1.5, 7, 1 << 32, 1 << 53, 'x', 'A b', '', [], [1], ['raw'], ['x'], {}]


def changed(message):
    """The message with each of its members, at any depth, left out or replaced by each of OTHERS."""
    def paths(value, here=()):
        for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
            yield here + (key,)
            yield from paths(value[key], here + (key,))
    for path in paths(message):
        if path == ('op',):
            continue
        for other in [KeyError] + OTHERS:
            copied = copy.deepcopy(message)
            at = copied
            for key in path[:-1]:
                at = at[key]
            if other is KeyError:
                del at[path[-1]]
            else:
                at[path[-1]] = other
            yield copied


def say(name, right, why=''):
    print('ok' if right else 'not ok', name + ('' if right else f': {why}'))


def examples():
    inside, seen = False, []
    for line in (ROOT / 'docs/PROTOCOL.md').read_text().splitlines():
        if line.startswith('```'):
            inside = line == '```json'
        elif inside:
            seen.append(json.loads(line))
    wrong = []
    for message in seen:
        try:
            check(message)
        except (ValueError, jsonschema.ValidationError) as e:
            wrong.append((message, str(e).splitlines()[0]))
    say('every example of the page fits the schema', not wrong, wrong)
    say('the page has an example of every op of the schema', {m['op'] for m in seen} == OPS, OPS - {m['op'] for m in seen})


class Server:
    """Tells of messages whether a server takes them; a connection serves until a `start` was taken."""

    def __init__(self, url):
        import ws
        self.ws, self.stream = ws, None
        self.url = ws.rest(url, 'POST', '/v1/sessions', {})[1]['stream_url']

    def takes(self, message):
        """(taken, the member that is wrong)"""
        starts = message['op'] == 'start'
        if not self.stream:
            self.stream = self.ws.Stream(self.url, start=not starts)
        self.stream.text(message)
        self.stream.text({'op': 'none-that-is-known'})
        taken, pointer = True, ''
        while True:
            answer = self.stream.receive()[1]
            if not isinstance(answer, dict) or answer['op'] not in ('error', 'ready'):
                continue
            if answer.get('type') == 'unknown_op':
                break
            if answer['op'] == 'error':
                taken, pointer = False, answer.get('pointer', '')
        if starts and taken:
            self.fresh()
        return taken, pointer

    def fresh(self):
        self.stream.close()
        self.stream = None


def against(url):
    server = Server(url)
    for message in FULL:
        differ, refused, n = [], 0, 0
        say(f'`{message["op"]}` with all of its members is taken', OPEN.is_valid(message) and server.takes(message)[0])
        for other in changed(message):
            taken, pointer = server.takes(other)
            n += 1
            refused += not taken
            # how many numbers a model has, and that a rotation is one, a schema cannot say
            if taken != OPEN.is_valid(other) and (taken or pointer not in ('/params', '/rig')):
                differ.append((other, taken, pointer))
        say(f'server and schema agree on {n} changed forms of `{message["op"]}`, and refuse {refused}', not differ and 0 < refused < n,
            differ[:3])
        if server.stream:
            server.fresh()


if __name__ == '__main__':
    sys.path.insert(0, str(ROOT / 'tests/e2e'))
    examples()
    against(sys.argv[1])
