"""A server on the loopback that speaks the part of the hub's API with which huggingface_hub writes a data set."""

from __future__ import annotations

import base64
import hashlib
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from unittest.mock import patch

import uvicorn
from huggingface_hub import constants
from huggingface_hub.utils import close_session
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

TOKEN = "hf_" + "a1B2" * 8
DATA_SET = "/api/datasets/{user}/{name}"


@dataclass
class Hub:
    """The files of each data set, what was written in which commit, and how many bytes came as large files.

    It is the application. Whoever has no `TOKEN` may read and write nothing.
    """

    url: str = ""
    files: dict[str, dict[str, bytes]] = field(default_factory=dict)
    private: set[str] = field(default_factory=set)
    commits: list[list[str]] = field(default_factory=list)
    licenses: dict[str, str] = field(default_factory=dict)
    uploaded: dict[str, bytes] = field(default_factory=dict)

    def app(self) -> Starlette:
        routes = [
            Route("/api/repos/create", self.create, methods=["POST"]),
            Route("/api/validate-yaml", self.validate, methods=["POST"]),
            Route(f"{DATA_SET}/tree/main", self.tree),
            Route(f"{DATA_SET}/preupload/main", self.preupload, methods=["POST"]),
            Route(f"{DATA_SET}/commit/main", self.commit, methods=["POST"]),
            Route("/datasets/{user}/{name}.git/info/lfs/objects/batch", self.batch, methods=["POST"]),
            Route("/large/{digest}", self.put, methods=["PUT"]),
            Route(DATA_SET, self.info),
        ]
        return Starlette(routes=routes)

    async def create(self, request: Request) -> Response:
        if refused := self._refuse(request):
            return refused
        told = await request.json()
        assert told["type"] == "dataset"
        name = f"{told['organization']}/{told['name']}"
        url = {"url": f"{self.url}/datasets/{name}"}
        if name in self.files:
            return JSONResponse({"error": "You already created this dataset repo", **url}, 409)
        self.files[name] = {}
        if told.get("visibility") == "private" or told.get("private"):
            self.private.add(name)
        return JSONResponse(url)

    async def validate(self, request: Request) -> Response:
        told = await request.json()
        assert told["content"].startswith("---\nconfigs:\n")
        return JSONResponse({"errors": [], "warnings": []})

    async def tree(self, request: Request) -> Response:
        if refused := self._refuse(request) or self._missing(request):
            return refused
        return JSONResponse([{"type": "file", **self._describe(*file)} for file in self._files(request).items()])

    async def info(self, request: Request) -> Response:
        name = self._name(request)
        if name not in self.licenses:
            return self._missing(request) or JSONResponse({"id": name})
        return JSONResponse({"id": name, "cardData": {"license": self.licenses[name]}, "siblings": []})

    async def preupload(self, request: Request) -> Response:
        if refused := self._refuse(request) or self._missing(request):
            return refused
        there = self._files(request)
        answers = [
            {
                "path": file["path"],
                "uploadMode": "lfs" if file["path"].endswith(".parquet") else "regular",
                "shouldIgnore": False,
                "oid": self._describe(file["path"], there[file["path"]])["oid"] if file["path"] in there else None,
            }
            for file in (await request.json())["files"]
        ]
        return JSONResponse({"files": answers})

    async def batch(self, request: Request) -> Response:
        if refused := self._refuse(request):
            return refused
        objects = (await request.json())["objects"]
        upload = {one["oid"]: {"upload": {"href": f"{self.url}/large/{one['oid']}"}} for one in objects}
        return JSONResponse(
            {
                "transfer": "basic",
                "objects": [
                    one | ({} if one["oid"] in self.uploaded else {"actions": upload[one["oid"]]}) for one in objects
                ],
            }
        )

    async def put(self, request: Request) -> Response:
        data = await request.body()
        digest = request.path_params["digest"]
        assert hashlib.sha256(data).hexdigest() == digest
        self.uploaded[digest] = data
        return Response()

    async def commit(self, request: Request) -> Response:
        if refused := self._refuse(request) or self._missing(request):
            return refused
        header, *lines = [json.loads(line) for line in (await request.body()).splitlines()]
        assert header["key"] == "header"
        there = self._files(request)
        for line in lines:
            told = line["value"]
            match line["key"]:
                case "file":
                    there[told["path"]] = base64.b64decode(told["content"])
                case "lfsFile":
                    there[told["path"]] = self.uploaded[told["oid"]]
                case "deletedFile":
                    del there[told["path"]]
        self.commits.append([line["value"]["path"] for line in lines])
        oid = hashlib.sha1(str(len(self.commits)).encode(), usedforsecurity=False).hexdigest()
        return JSONResponse({"commitUrl": f"{self.url}/datasets/{self._name(request)}/commit/{oid}", "commitOid": oid})

    def _name(self, request: Request) -> str:
        return f"{request.path_params['user']}/{request.path_params['name']}"

    def _files(self, request: Request) -> dict[str, bytes]:
        return self.files[self._name(request)]

    def _refuse(self, request: Request) -> Response | None:
        if request.headers.get("authorization") == f"Bearer {TOKEN}":
            return None
        return JSONResponse({"error": "Invalid username or password."}, 401)

    def _missing(self, request: Request) -> Response | None:
        if self._name(request) in self.files:
            return None
        return JSONResponse({"error": "Repository not found"}, 404, {"X-Error-Code": "RepoNotFound"})

    def _describe(self, path: str, data: bytes) -> dict[str, object]:
        oid = hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
        told: dict[str, object] = {"path": path, "size": len(data), "oid": oid}
        if path.endswith(".parquet"):
            digest = hashlib.sha256(data).hexdigest()
            told |= {"lfs": {"oid": digest, "size": len(data), "pointerSize": 127}}
        return told


@contextmanager
def serve_hub(token: str = TOKEN) -> Iterator[Hub]:
    """Let huggingface_hub talk to an empty hub inside the block, with a token."""
    hub = Hub()
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()  # who asks before the server accepts waits for it
        server = uvicorn.Server(uvicorn.Config(hub.app(), log_level="warning", lifespan="off"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        hub.url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        settings = {"HF_TOKEN": token, "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
        close_session()
        try:
            with (
                patch.dict("os.environ", settings),
                patch.object(constants, "ENDPOINT", hub.url),
                patch.object(constants, "HF_HUB_OFFLINE", False),
                patch.object(constants, "HF_HUB_DISABLE_XET", True),  # its protocol is not part of this server
            ):
                yield hub
        finally:
            close_session()
            server.should_exit = True
            thread.join()
