"""An S3-compatible server on the loopback whose puts can be made to fail."""

from __future__ import annotations

import os
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from fsspec.asyn import sync
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
from s3fs import S3FileSystem
from werkzeug.serving import make_server

ERROR = b"<Error><Code>InternalError</Code><Message>We encountered an internal error.</Message></Error>"


class ObjectStore:
    """The server, an empty place on it (`url`), and its faults. It is the WSGI application."""

    def __init__(self) -> None:
        self.url = f"s3://bucket-{uuid.uuid4().hex}/store"
        self.failed = 0
        self._app = DomainDispatcherApplication(create_backend_app)
        self._lock = threading.Lock()
        self._faults: list[tuple[str, bool]] = []

    def fail_puts(self, count: int, matching: str = "", *, stored: bool = False) -> None:
        """Answer the next `count` puts of keys that contain `matching` with 500; `stored`: after storing them."""
        with self._lock:
            self._faults = [(matching, stored)] * count

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        fault = self._next_fault(environ)
        if fault is None:
            return self._app(environ, start_response)
        if fault[1]:
            list(self._app(environ, lambda *_: None))
        else:
            environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or -1))  # or the client's send breaks
        start_response("500 Internal Server Error", [("Content-Type", "application/xml")])
        return [ERROR]

    def _next_fault(self, environ: dict[str, Any]) -> tuple[str, bool] | None:
        with self._lock:
            if environ["REQUEST_METHOD"] != "PUT" or not self._faults or self._faults[0][0] not in environ["PATH_INFO"]:
                return None
            self.failed += 1
            return self._faults.pop(0)


class _SilentHandler(MotoRequestHandler):
    def log(self, *_: object) -> None:
        pass


@contextmanager
def object_store() -> Iterator[ObjectStore]:
    """Serve an empty bucket inside the block; s3fs finds it, in this process and in those it starts.

    Nothing asks again after a failure, so one failed put is one error.
    """
    store = ObjectStore()
    server = make_server("127.0.0.1", 0, store, threaded=True, request_handler=_SilentHandler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    settings = {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{server.server_port}",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_MAX_ATTEMPTS": "1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "NO_PROXY": "127.0.0.1",
    }
    try:
        with patch.dict(os.environ, settings):
            _forget_clients()
            S3FileSystem().mkdir(store.url.split("/")[2])
            try:
                yield store
            finally:
                _forget_clients()
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _forget_clients() -> None:
    """Close every cached client: each belongs to one server, and warns when it is collected open."""
    for filesystem in list(S3FileSystem._cache.values()):
        if filesystem._s3 is not None:
            sync(filesystem.loop, filesystem._s3creator.__aexit__, None, None, None)
            filesystem._s3 = None
    S3FileSystem.clear_instance_cache()
