"""A relay between nodes and SuperLink: it counts bytes, and may send what comes up twice, or hold it back."""

import threading
import time
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

UP = "push"  # in the path of whatever carries replies


class Relay:
    """Listens on a port of the loopback; `up` and `down` are bytes of bodies, as the sites send and get them.

    The first `twice` requests that carry a reply are sent twice, as after an answer that was lost; each is held back
    for `held` seconds.
    """

    def __init__(self, port, *, twice=0, held=0.0):
        self.port, self.twice, self.held = port, twice, held
        self.up = self.down = self.repeated = 0
        self.lock = threading.Lock()
        relay = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                status, headers, said = relay.handed_on(self.path, dict(self.headers), body)
                self.send_response(status)
                for name, value in headers:
                    if name.lower() not in {"transfer-encoding", "content-length", "connection", "date", "server"}:
                        self.send_header(name, value)
                self.send_header("content-length", str(len(said)))
                self.end_headers()
                self.wfile.write(said)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.address = f"127.0.0.1:{self.server.server_address[1]}"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def handed_on(self, path, headers, body):
        """SuperLink's answer; of two, the first."""
        late = UP in path and self.held
        if late:
            time.sleep(self.held)
        answer = self._asked(path, headers, body)
        with self.lock:
            self.up, self.down = self.up + len(body), self.down + len(answer[2])
            again = UP in path and self.repeated < self.twice
            self.repeated += again
        if again:
            self._asked(path, headers, body)
        return answer

    def _asked(self, path, headers, body):
        link = HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            link.request("POST", path, body, headers)
            answer = link.getresponse()
            return answer.status, answer.getheaders(), answer.read()
        except OSError:
            return 503, [], b""
        finally:
            link.close()
