#!/usr/bin/env python3
"""openapi_check.py YAML URL - hold a running recond against its contract

Asks for every operation of the contract, in ways that should bring every status it names that a client can
bring about, and checks of each answer: the status is one that the operation names, the media type is one
that the status names, the body fits the schema, required headers are there and fit theirs. Fails too
for an operation that was never asked with success.

Environment: RECOND_TOKEN (admin) and RECOND_VIEW_TOKEN; without them the server asks for none.
"""
import base64
import http.client
import json
import os
import sys
import urllib.parse

import jsonschema
import yaml

ADMIN = os.environ.get("RECOND_TOKEN")
VIEW = os.environ.get("RECOND_VIEW_TOKEN")
UNKNOWN = "aaaabbbbccccddddeeeeffff22"
# What a client cannot bring about at will.
NOT_ASKED = {("createSession", "503"), ("createSession", "404"), ("listSessions", "503"), ("exportCloud", "503"),
             ("exportTrajectory", "503"), ("getDepth", "503"), ("listSubmaps", "503"), ("listRecognised", "503"), ("placeSubmap", "503"),
             ("closeSession", "409"), ("refineSession", "503"), ("ready", "503"), ("makeTicket", "503"), ("exchangeTicket", "503"), ("exchangeTicket", "404"),
             ("exchangeTicket", "409"), ("addObject", "503"), ("matchObjects", "503"), ("listObjects", "503")}


def bracket():
    """An OBJ file of three boxes that make a body whose sides differ, 20 cm large."""
    lines, n = [], 0
    for low, high in (((0, 0, 0), (20, 6, 5)), ((0, 6, 0), (5, 14, 5)), ((13, 0, 5), (19, 5, 12))):
        for i in range(8):
            lines.append("v " + " ".join(str((high if i >> k & 1 else low)[k]) for k in range(3)))
        for face in ("1 3 4 2", "5 6 8 7", "1 2 6 5", "3 7 8 4", "1 5 7 3", "2 4 8 6"):
            lines.append("f " + " ".join(str(n + int(c)) for c in face.split()))
        n += 8
    return base64.b64encode("\n".join(lines).encode()).decode()


class Contract:
    def __init__(self, path):
        with open(path, encoding="utf-8") as f:
            self.doc = yaml.safe_load(f)
        self.operations = {}
        for route, item in self.doc["paths"].items():
            for method, op in item.items():
                if method != "parameters":
                    self.operations[op["operationId"]] = (method.upper(), route, op)

    def resolve(self, node):
        while "$ref" in node:
            at = self.doc
            for part in node["$ref"].removeprefix("#/").split("/"):
                at = at[part]
            node = at
        return node

    def validate(self, value, schema):
        # the whole document beside the schema, so that its $refs resolve without any library's registry
        whole = {"$schema": "https://json-schema.org/draft/2020-12/schema", "components": self.doc["components"],
                 "allOf": [schema]}
        jsonschema.Draft202012Validator(whole).validate(value)


class Checker:
    def __init__(self, contract, url):
        self.contract = contract
        self.address = urllib.parse.urlsplit(url)
        self.seen = set()
        self.failures = 0

    def fail(self, what):
        self.failures += 1
        print("FAIL " + what)

    def ask(self, operation, params=None, query="", token=ADMIN, body=None, headers=None):
        method, route, op = self.contract.operations[operation]
        target = route.format(**{"n": 0, "name": "bracket", **(params or {})}) + query
        headers = dict(headers or {})
        if token:
            headers.setdefault("Authorization", "Bearer " + token)
        if body is not None:
            headers.setdefault("Content-Type", "application/json")
        connection = http.client.HTTPConnection(self.address.hostname, self.address.port, timeout=60)
        connection.request(method, target, body=body, headers=headers)
        answer = connection.getresponse()
        data = answer.read()
        connection.close()
        what = f"{method} {target} -> {answer.status}"
        status = str(answer.status)
        self.seen.add((operation, status))
        if status not in op["responses"]:
            self.fail(f"{what}: {operation} names no {status}: {data[:200]!r}")
            return answer, data
        self.check(what, self.contract.resolve(op["responses"][status]), answer, data)
        return answer, data

    def check(self, what, named, answer, data):
        content = named.get("content")
        kind = (answer.getheader("Content-Type") or "").split(";")[0].strip()
        if not content:
            if data:
                self.fail(f"{what}: a body where none is named")
        elif kind not in content:
            self.fail(f"{what}: {kind!r} is none of {sorted(content)}")
        elif kind.endswith("json"):
            try:
                value = json.loads(data)
                self.contract.validate(value, content[kind]["schema"])
                if kind == "application/problem+json" and value["status"] != answer.status:
                    self.fail(f"{what}: the document says {value['status']}")
            except (ValueError, jsonschema.ValidationError) as e:
                self.fail(f"{what}: {str(e)[:500]}")
        for name, header in named.get("headers", {}).items():
            header = self.contract.resolve(header)
            value = answer.getheader(name)
            if value is None:
                self.fail(f"{what}: no {name}")
            else:
                try:
                    self.contract.validate(value, header["schema"])
                except jsonschema.ValidationError as e:
                    self.fail(f"{what}: {name}: {e.message}")

    def create(self, options):
        _, data = self.ask("createSession", body=json.dumps(options))
        return json.loads(data)

    def sessions(self):
        full = {"name": "contract", "pose_source": "device", "step_m": 0.002, "keyframes": 4, "preview": True,
                "journal": "off", "record": False, "mode": "lossless", "fps": 12.5,
                "camera": {"fx": 300.0, "fy": 300.0, "cx": 159.5, "cy": 119.5, "width": 320, "height": 240}}
        session, plain = self.create(full), self.create({})
        for key in ("name", "step_m", "keyframes", "preview", "camera", "pose_source", "journal", "record", "mode", "fps"):
            got = session["name"] if key == "name" else session["options"].get(key)
            if got != full[key]:
                self.fail(f"option {key}: asked for {full[key]!r}, got {got!r}")
        self.ask("createSession", body="{")
        self.ask("createSession", body='{"step_m": 7, "colour": "red"}')
        self.ask("createSession", body="{}", headers={"Content-Type": "text/plain"})
        self.ask("createSession", body=json.dumps({"name": "x" * 100000}))
        self.ask("createSession", headers={"Accept": "text/html"})
        self.ask("listSessions")
        self.ask("listSessions", query="?limit=1")
        self.ask("listSessions", query="?limit=nix")
        self.ask("listSessions", headers={"Accept": "image/png"})
        return session, plain

    def one_session(self, session, plain):
        own, other = {"id": session["id"]}, {"id": plain["id"]}
        for operation in ("getSession", "exportCloud", "exportTrajectory", "getDepth", "listSubmaps", "listRecognised"):
            self.ask(operation, own)
            self.ask(operation, {"id": UNKNOWN})
            self.ask(operation, own, query="?x=1")
            self.ask(operation, own, headers={"Accept": "text/css"})
        self.ask("getDepth", own, query="?format=f32")
        self.ask("getDepth", own, query="?format=f32", headers={"Accept": "image/png"})
        self.ask("getDepth", own, query="?format=exr")
        self.ask("getDepth", other)
        mapless = {"id": self.create({"kind": "depth", "depth_unit": "inverse"})["id"]}
        self.ask("exportCloud", mapless)
        self.ask("exportTrajectory", mapless)
        self.ask("listSubmaps", mapless)
        place = '{"pose": [0, 0, 0, 1, 1, 2, 3]}'
        self.ask("placeSubmap", mapless, body=place)
        self.ask("placeSubmap", own, body=place)
        self.ask("placeSubmap", {"id": session["id"], "n": 200}, body=place)
        self.ask("placeSubmap", own, body='{"pose": [0, 0, 0, 0, 0, 0, 0]}')
        self.ask("placeSubmap", own, body="{")
        self.ask("placeSubmap", own, body=place, headers={"Content-Type": "text/plain"})
        self.ask("placeSubmap", own, body=" " * 100000)
        self.ask("exportCloud", own, query="?unplaced=1")
        self.ask("deleteSession", mapless)
        answer, _ = self.ask("exportCloud", own)
        self.ask("exportCloud", own, headers={"If-None-Match": answer.getheader("ETag")})
        self.ask("refineSession", own)  # it is not closed
        for operation in ("kickClients", "rotateTokens", "closeSession", "refineSession"):
            _, body = self.ask(operation, own)
            if operation == "rotateTokens":
                session["tokens"] = json.loads(body)["tokens"]
            self.ask(operation, own, body='{"a": 1}')
            self.ask(operation, own, body="{", headers={"Content-Type": "application/json"})
            self.ask(operation, own, body="{}", headers={"Content-Type": "text/plain"})
            self.ask(operation, own, body=" " * 100000)
            if operation != "kickClients":
                self.ask(operation, own, headers={"Accept": "text/css"})
            self.ask(operation, {"id": UNKNOWN})

    def tickets(self, own):
        for body in (None, '{"scope": "ingest", "expires_s": 60}', "{}"):
            _, data = self.ask("makeTicket", own, body=body)
        ticket = json.loads(data)["ticket"]
        self.ask("makeTicket", own, body="{")
        self.ask("makeTicket", own, body='{"expires_s": 0}')
        self.ask("makeTicket", own, body="{}", headers={"Content-Type": "text/plain"})
        self.ask("makeTicket", own, body=" " * 100000)
        self.ask("makeTicket", own, headers={"Accept": "text/css"})
        self.ask("makeTicket", {"id": UNKNOWN})
        self.ask("exchangeTicket", token=ticket, body='{"a": 1}')
        self.ask("exchangeTicket", token=ticket, body="{")
        self.ask("exchangeTicket", token=ticket, body="{}", headers={"Content-Type": "text/plain"})
        self.ask("exchangeTicket", token=ticket, body=" " * 100000)
        self.ask("exchangeTicket", token=ticket, headers={"Accept": "text/css"})
        answer, data = self.ask("exchangeTicket", token=ticket)
        if answer.status != 201:
            self.fail(f"a fresh ticket is not exchanged: {data[:200]!r}")
        elif ADMIN:
            self.ask("getSession", own, token=json.loads(data)["token"])
        self.ask("exchangeTicket", token=ticket)

    def objects(self):
        mesh, named = {"mesh": bracket(), "mesh_scale": 0.01}, {"name": "bracket"}
        whole = json.dumps({"name": "bracket", "class": "part", **mesh})
        self.ask("addObject", body=whole)
        self.ask("addObject", body=whole)  # the name is taken
        self.ask("addObject", body="{")
        self.ask("addObject", body=json.dumps({"name": "a/b", **mesh}))
        self.ask("addObject", body=json.dumps({"name": "flat", "mesh": base64.b64encode(b"v 0 0 0\n").decode()}))
        self.ask("addObject", body=json.dumps({"name": "lost", "region": {"session": "nosuchsession", "centre": [0, 0, 0], "size": [1, 1, 1]}}))
        self.ask("addObject", body="{}", headers={"Content-Type": "text/plain"})
        self.ask("addObject", body=" ", headers={"Content-Length": "1000000000"})
        self.ask("addObject", body=whole, headers={"Accept": "text/css"})
        self.ask("listObjects")
        self.ask("matchObjects", body=json.dumps(mesh))
        self.ask("matchObjects", body=json.dumps({**mesh, "objects": ["nothing"]}))
        self.ask("matchObjects", body=json.dumps({"depth": "AAAA"}))
        self.ask("matchObjects", body="{")
        self.ask("matchObjects", body="{}", headers={"Content-Type": "text/plain"})
        self.ask("matchObjects", body=" ", headers={"Content-Length": "1000000000"})
        self.ask("matchObjects", body=json.dumps(mesh), headers={"Accept": "text/css"})
        for operation in ("listObjects", "getObject"):
            self.ask(operation, named, query="?x=1")
            self.ask(operation, named, headers={"Accept": "text/css"})
        self.ask("getObject", named)
        self.ask("getObject", {"name": "nothing"})
        self.ask("deleteObject", named, query="?x=1")
        self.ask("deleteObject", named)
        self.ask("deleteObject", named)

    def tokens(self, session, plain):
        own = {"id": session["id"]}
        for operation, (_, _, op) in self.contract.operations.items():
            if op.get("security") == []:
                continue
            self.ask(operation, own, token=None)
            self.ask(operation, own, token="wrong")
            if "403" in op["responses"]:
                bound = operation in ("listSessions", "listDevices", "metrics", "createSession", "listObjects", "getObject",
                                      "matchObjects")
                self.ask(operation, own, token=session["tokens"]["view"] if bound else VIEW)
            if "id" in str(op.get("parameters", "")) or "{id}" in self.contract.operations[operation][1]:
                self.ask(operation, own, token=plain["tokens"]["ingest"])

    def rest(self):
        for operation in ("listModels", "listDevices", "live", "ready", "metrics", "openapi", "page"):
            self.ask(operation)
            self.ask(operation, query="?x=1")
            self.ask(operation, headers={"Accept": "image/gif"})
        answer, _ = self.ask("page")
        self.ask("page", headers={"If-None-Match": answer.getheader("ETag")})

    def run(self):
        session, plain = self.sessions()
        self.one_session(session, plain)
        self.tickets({"id": plain["id"]})
        self.rest()
        self.objects()
        if ADMIN:
            self.tokens(session, plain)
        self.ask("deleteSession", {"id": plain["id"]}, query="?x=1")
        for s in (session, plain):
            self.ask("deleteSession", {"id": s["id"]})
            self.ask("deleteSession", {"id": s["id"]})

    def report(self):
        for operation, (_, _, op) in self.contract.operations.items():
            for status in op["responses"]:
                if (operation, status) in self.seen or (operation, status) in NOT_ASKED:
                    continue
                if not ADMIN and status in ("401", "403"):
                    continue
                if (operation, status) in (("getDepth", "200"), ("refineSession", "202")) and os.environ.get("RECOND_NO_FRAMES"):
                    continue
                self.fail(f"{operation}: {status} never came")
        print(f"{len(self.seen)} answers of {len(self.contract.operations)} operations, {self.failures} failures")


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    checker = Checker(Contract(sys.argv[1]), sys.argv[2])
    checker.run()
    checker.report()
    sys.exit(1 if checker.failures else 0)


main()
