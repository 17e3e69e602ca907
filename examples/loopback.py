"""A model for the examples that needs no key and no network: `mage.demo.ScriptedClient`, as a server on loopback.

with served() as url:
openai.OpenAI(base_url=url, api_key="none")
"""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from mage import demo


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        """Answer a chat completion."""
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        reply = demo.ScriptedClient().chat.completions.create(messages=asked["messages"]).model_dump()
        document = {"id": "1", "object": "chat.completion", "created": 1, "model": asked["model"], **reply}
        body = json.dumps({**document, "choices": [{"index": 0, **document["choices"][0]}]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def served() -> Iterator[str]:
    """Serve, and give the base URL for OpenAI's client."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1"
        finally:
            server.shutdown()
            serving.join()
