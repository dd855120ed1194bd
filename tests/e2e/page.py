#!/usr/bin/env python3
"""page.py ROOT SEQUENCE - serves a page on a free port of loopback, the sequence below seq/, and prints what the page posts

The first line printed is the port. The first POST ends it.
"""
import http.server
import pathlib
import sys
import threading

ROOT, SEQUENCE = map(pathlib.Path, sys.argv[1:3])
TYPES = {'.html': 'text/html', '.js': 'text/javascript'}


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        path = self.path.split('?')[0].lstrip('/')
        file = SEQUENCE / path[4:] if path.startswith('seq/') else ROOT / path
        try:
            body = file.read_bytes()
        except OSError:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header('Content-Type', TYPES.get(file.suffix, 'application/octet-stream'))
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        print(self.rfile.read(int(self.headers['Content-Length'])).decode(), flush=True)
        self.send_response(204)
        self.end_headers()
        threading.Thread(target=server.shutdown).start()

    def log_message(self, *args):
        pass


server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
