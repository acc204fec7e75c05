"""A server with the OpenAI interface that answers from a script, and what tests ask of it."""

from __future__ import annotations

import json
import socket
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from learnable.data.policies import Policy
from learnable.data.records import Prompt, PromptText, Rollout, Sampling
from learnable.rollouts.protocol import Answer, GroupRequest, Refusal
from learnable.rollouts.server.engine import ServerEngine

MODEL = "m"
POLICY = Policy(path=MODEL, policy_id="m@1")
SAMPLING = Sampling(max_tokens=8)
Json = dict[str, Any]


@dataclass(frozen=True)
class Reply:
    """What the scripted server says to one request. One that hangs sends `drip` again and again, and never ends."""

    status: int = 200
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    hangs: bool = False
    drip: bytes = b""


GOOD = Reply()


def answer(body: Json, choices: int | None = None) -> Json:
    """Return a completion for a request's JSON: each text names its seed."""
    count = body["n"] if choices is None else choices
    texts = [f"{body['seed'] + index}" for index in range(count)]
    chat = "messages" in body
    said = [{"message": {"role": "assistant", "content": text}} if chat else {"text": text} for text in texts]
    listed = [{"index": index, "finish_reason": "stop", **words} for index, words in enumerate(said)]
    return {"choices": listed, "usage": {"completion_tokens": 3 * count}}


class ScriptedServer:
    """An OpenAI-compatible server on a free port. Generation requests get the script's replies, then good ones.

    `posts` records the JSON of each generation request, in order. `always` replies to whatever the script does not.
    `info` is what it says of itself outside of /v1, as SGLang does.
    """

    def __init__(
        self,
        script: Sequence[Reply] = (),
        *,
        models: Sequence[Json] = ({"id": MODEL},),
        models_reply: Reply = GOOD,
        always: Callable[[Json], Reply] = lambda body: GOOD,
        info: Json | None = None,
        port: int = 0,
    ) -> None:
        self.script = list(script)
        self.models_reply = models_reply
        self.models = list(models)
        self.always = always
        self.info = info
        self.port = port
        self.posts: list[Json] = []
        self.paths: list[str] = []
        self.keys: list[str | None] = []
        self.dropped = threading.Event()  # a client went away before its answer
        self.release = threading.Event()  # set: requests that hang give up
        self.connections: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._http: Listener | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def start(self) -> Self:
        self.release.clear()
        self._http = Listener(self)
        self.port = self._http.server_port
        threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def stop(self) -> None:
        """Break off every connection and refuse new ones; a second call does nothing."""
        self.release.set()
        if self._http is not None:
            self._http.shutdown()
            self._http.server_close()
            self._http = None
        for connection in list(self.connections):
            with suppress(OSError):  # closed by its client
                connection.shutdown(socket.SHUT_RDWR)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *error: object) -> None:
        self.stop()

    def reply_to(self, path: str, body: Json) -> Reply:
        with self._lock:
            self.posts.append(body)
            self.paths.append(path)
            reply = self.script.pop(0) if self.script else self.always(body)
        return Reply(body=answer(body)) if reply is GOOD else reply

    def wait_for_hang_up(self, connection: socket.socket, drip: bytes) -> None:
        """Hold a request until its client goes away or `release` is set."""
        connection.settimeout(0.02)
        if drip:
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 9999\r\n\r\n")
        while not self.release.is_set():
            with suppress(TimeoutError):
                connection.sendall(drip)
                if not connection.recv(1):
                    self.dropped.set()
                    return


class Listener(ThreadingHTTPServer):
    """Takes connections for a scripted server."""

    daemon_threads = True

    def __init__(self, scripted: ScriptedServer) -> None:
        self.scripted = scripted
        super().__init__(("127.0.0.1", scripted.port), Handler)


class Handler(BaseHTTPRequestHandler):
    """One connection: asks the scripted server what to say."""

    server: Listener
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def setup(self) -> None:
        super().setup()
        self.server.scripted.connections.add(self.connection)

    def handle(self) -> None:
        with suppress(OSError, ValueError):  # broken off, perhaps within a request
            super().handle()

    def finish(self) -> None:
        self.server.scripted.connections.discard(self.connection)
        with suppress(OSError):  # broken off
            super().finish()

    def do_GET(self) -> None:
        scripted = self.server.scripted
        scripted.keys.append(self.headers.get("Authorization"))
        if self.path == "/get_model_info":
            self._send(Reply(404, {"detail": "Not Found"}) if scripted.info is None else Reply(body=scripted.info))
            return
        listed = {"object": "list", "data": scripted.models}
        self._send(Reply(body=listed) if scripted.models_reply is GOOD else scripted.models_reply)

    def do_POST(self) -> None:
        scripted = self.server.scripted
        scripted.keys.append(self.headers.get("Authorization"))
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self._send(scripted.reply_to(self.path, body))

    def _send(self, reply: Reply) -> None:
        if reply.hangs:
            self.server.scripted.wait_for_hang_up(self.connection, reply.drip)
            self.close_connection = True
            return
        text = reply.body if isinstance(reply.body, str) else json.dumps(reply.body)
        self.send_response(reply.status)
        for name, value in {"Content-Type": "application/json", **reply.headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, format: str, *args: object) -> None:
        """Keep quiet."""


def requests(count: int, group_size: int = 2, prompt: PromptText = "p") -> list[GroupRequest]:
    return [
        GroupRequest(Prompt(prompt, "choice", {"answer": str(i)}, family="f", form="F"), group_size, seed=i)
        for i in range(count)
    ]


def engine_on(*servers: ScriptedServer, **options: Any) -> ServerEngine:
    settings: dict[str, Any] = {"concurrency": 2, "patience": 60.0} | options
    return ServerEngine([server.url for server in servers], POLICY, **settings)


def roll_out(engine: ServerEngine, requested: Sequence[GroupRequest]) -> list[Answer]:
    return list(engine.generate(requested, SAMPLING))


def assert_whole(answers: Sequence[Answer], requested: Sequence[GroupRequest]) -> None:
    """Every group came exactly once, with the seeds of its request."""
    got = Counter((r.question_id, r.rollout_index, r.completion) for group in answers for r in rollouts_of(group))
    wanted = [(q.prompt.question_id, i, str(q.base_seed + i)) for q in requested for i in range(q.group_size)]
    assert got == Counter(wanted)


def rollouts_of(answer: Answer) -> list[Rollout]:
    assert not isinstance(answer, Refusal), answer.reason
    return answer
