"""A server with the OpenAI interface, in a process of its own, that is slow, refuses, breaks connections and hangs."""

from __future__ import annotations

import asyncio
import json
import random
import socket
import struct
import subprocess
import sys
import time
import urllib.request
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from email.utils import formatdate
from typing import Any, Self

TOKENS = 30  # of a completion, on average


@dataclass(frozen=True)
class Manners:
    """How a busy server behaves. It computes `slots` requests at a time, each of which takes `seconds` on average.

    It refuses what is more than `room` at once, with 503 or 429, and breaks, or leaves hanging, these shares of the
    rest. It answers nobody before it has had `gathers` requests at once.
    """

    slots: int = 100_000
    seconds: float = 0.05
    room: int = 100_000
    breaks: float = 0.0
    hangs: float = 0.0
    gathers: int = 0
    seed: int = 0


@dataclass
class Counts:
    """What a busy server did: requests by their end, and the most that were under way at once."""

    answered: int = 0
    refused: int = 0
    broken: int = 0
    hung: int = 0
    peak: int = 0


@dataclass
class BusyServer:
    """Serves on a port of loopback until its process ends. Each completion says `yes`."""

    manners: Manners
    counts: Counts = field(default_factory=Counts)
    under_way: int = 0

    async def serve(self, port: int) -> None:
        self.draw, self.gathered = random.Random(self.manners.seed), asyncio.Event()
        server = await asyncio.start_server(self.talk, "127.0.0.1", port, backlog=8192)
        async with server:
            await server.serve_forever()

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):  # the client went away
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                length = next((int(line[15:]) for line in head.splitlines() if line.lower().startswith("content-l")), 0)
                body = await reader.readexactly(length)
                if head.startswith("POST"):
                    await self.complete(reader, writer, json.loads(body))
                elif "/counts" in head:
                    await send(writer, 200, asdict(self.counts))
                else:
                    await send(writer, 200, {"data": [{"id": "m"}]})
        writer.close()

    async def complete(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, body: Any) -> None:
        self.under_way += 1
        self.counts.peak = max(self.counts.peak, self.under_way)
        if self.under_way >= self.manners.gathers:
            self.gathered.set()
        try:
            if self.under_way > self.manners.room:
                await self.refuse(writer)
                return
            await self.gathered.wait()
            if (luck := self.draw.random()) < self.manners.hangs:
                self.counts.hung += 1
                await reader.read(1)  # until the client goes away
            else:
                load = max(1.0, self.under_way / self.manners.slots)
                tokens = max(1, round(self.draw.lognormvariate(0, 0.5) * TOKENS))
                await asyncio.sleep(self.manners.seconds * load * tokens / TOKENS)
                text = answer(body, tokens)
                if luck < self.manners.hangs + self.manners.breaks:
                    self.counts.broken += 1
                    break_off(writer, text)
                else:
                    self.counts.answered += 1
                    await send(writer, 200, text)
        finally:
            self.under_way -= 1

    async def refuse(self, writer: asyncio.StreamWriter) -> None:
        """Say that it is too much: now plainly, now with how long to wait, in seconds or as a date."""
        self.counts.refused += 1
        date = formatdate(time.time() + 1, usegmt=True)
        status, headers = [(503, {}), (429, {"Retry-After": "0.2"}), (429, {"Retry-After": date})][
            self.counts.refused % 3
        ]
        await send(writer, status, {"error": {"message": "too many requests"}}, headers)


def answer(body: Any, tokens: int) -> Any:
    choices = [{"index": index, "finish_reason": "stop", "text": "yes"} for index in range(body["n"])]
    return {"choices": choices, "usage": {"prompt_tokens": 4, "completion_tokens": tokens * body["n"]}}


async def send(writer: asyncio.StreamWriter, status: int, body: Any, headers: dict[str, str] | None = None) -> None:
    text = json.dumps(body).encode()
    head = {"Content-Type": "application/json", "Content-Length": len(text), **(headers or {})}
    lines = [f"HTTP/1.1 {status} said", *(f"{name}: {value}" for name, value in head.items())]
    writer.write("\r\n".join([*lines, "", ""]).encode() + text)
    await writer.drain()


def break_off(writer: asyncio.StreamWriter, body: Any) -> None:
    """Send half of an answer, and reset the connection."""
    text = json.dumps(body).encode()
    writer.write(f"HTTP/1.1 200 OK\r\nContent-Length: {len(text)}\r\n\r\n".encode() + text[: len(text) // 2])
    connection = writer.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


class BusyServerProcess:
    """A busy server in a process of its own, whose memory and time are not the client's."""

    def __init__(self, manners: Manners) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        self.manners = manners

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def counts(self) -> Counts:
        with urllib.request.urlopen(f"{self.url}/counts", timeout=60) as said:
            return Counts(**json.load(said))

    def __enter__(self) -> Self:
        command = [
            sys.executable,
            "-m",
            "tests.rollouts.server.busy_server_for_tests",
            str(self.port),
            json.dumps(asdict(self.manners)),
        ]
        self.process = subprocess.Popen(command)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            with suppress(OSError), urllib.request.urlopen(f"{self.url}/models", timeout=5):
                return self
            time.sleep(0.05)
        self.__exit__()
        raise RuntimeError("the busy server did not start within 60 s")

    def __exit__(self, *error: object) -> None:
        self.process.kill()
        self.process.wait()


if __name__ == "__main__":
    asyncio.run(BusyServer(Manners(**json.loads(sys.argv[2]))).serve(int(sys.argv[1])))
