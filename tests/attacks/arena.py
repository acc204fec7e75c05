"""Runs hostile programs, looks at the canaries after each, and reports what went wrong: a JSON line for each rung.

    python -m tests.attacks.arena [--rung A --rung B] [--strict] [FILE ...]

One server stands against all programs of a rung. Arenas take turns: the canaries have fixed places, which the programs
know. Standard library and the sandbox only, so that it can be run as a user who can read little else.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import socket
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from learnable.verifiers.programs import Sandbox, SandboxError
from learnable.verifiers.programs.judge import judge
from tests.attacks.suites import GOOD_SRC, OWN, SHARED, SPECS, Attack, find_attacks, read_attack

PORT, ABSTRACT = 47613, "\0rsbx_canary"
SECRET, VICTIM = "S3CR3T", "victim"


def main() -> None:
    """Run what was asked for, all by default, and end with status 1 where anything was not as expected."""
    parser = argparse.ArgumentParser()
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--rung", action="append", help="one or more; the best within reach unless given")
    parser.add_argument("--strict", action="store_true")
    arguments = parser.parse_args()
    attacks = [read_attack(path) for path in arguments.files] or [*find_attacks(OWN), *find_attacks(SHARED)]
    os.environ["RSBX_SECRET"] = SECRET
    wrong = False
    with waiting_for_turn(), Canaries.laid() as canaries:
        for rung in arguments.rung or [None]:
            with Sandbox(rung=rung, strict=arguments.strict) as sandbox:
                sandbox.start()
                faults = [fault for attack in attacks for fault in fight(sandbox, attack, canaries)]
                report = {"user": os.getuid(), "attacks": len(attacks), "faults": faults, **sandbox.report}
            print(json.dumps(report))
            wrong |= bool(faults)
    sys.exit(wrong)


@contextmanager
def waiting_for_turn() -> Iterator[None]:
    """Keep other arenas on this machine waiting while the block runs."""
    path = Path(tempfile.gettempdir(), "rsbx_turn")
    if not path.exists():
        path.touch()
    with path.open("rb") as turn:  # whoever made it, everyone may read it
        fcntl.flock(turn, fcntl.LOCK_EX)
        yield


def fight(sandbox: Sandbox, attack: Attack, canaries: Canaries) -> Iterator[dict[str, object]]:
    """Run one attack and yield what is not as expected."""
    server = sandbox.server_pid
    try:
        score = judge(sandbox, attack.source, attack.spec)
        rewards = [attack.reward, 0.0] if attack.or_late else [attack.reward]
        if not any(abs((score.reward or 0.0) - reward) < 1e-9 for reward in rewards):
            yield {"file": attack.file, "reward": score.reward, "expected": attack.reward, "why": score.reason}
    except SandboxError as error:
        yield {"file": attack.file, "error": str(error)}
    if sandbox.server_pid != server:
        yield {"file": attack.file, "error": "the server died"}
    for fault in canaries.sung():
        yield {"file": attack.file, "canary": fault}
    honest = judge(sandbox, f"{GOOD_SRC}# after {attack.file}", SPECS["fizzbuzz"])
    if not honest.passed:
        yield {"file": attack.file, "next": honest.reason}


class Canaries:
    """Things that no program may touch, in the system's temporary folder and on this machine's sockets."""

    def __init__(self, listeners: Sequence[socket.socket]) -> None:
        self._listeners = listeners
        folder = Path(tempfile.gettempdir())
        self._folder, self._secret, self._victim = (folder / f"rsbx_{name}" for name in ("w", "secret", "victim"))
        self._fill, self._pwn = folder / "rsbx_fill", folder / "rsbx_pwn.py"

    @classmethod
    @contextmanager
    def laid(cls) -> Iterator[Canaries]:
        """Lay them out, and clear them away afterwards."""
        place = Path(tempfile.gettempdir(), "rsbx_socket")
        place.unlink(missing_ok=True)
        with socket.socket() as port, socket.socket(socket.AF_UNIX) as abstract, socket.socket(socket.AF_UNIX) as file:
            port.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            port.bind(("127.0.0.1", PORT))
            abstract.bind(ABSTRACT)
            file.bind(str(place))
            place.chmod(0o777)
            for listener in (port, abstract, file):
                listener.listen()
                listener.setblocking(False)
            canaries = cls([port, abstract, file])
            canaries.lay()
            try:
                yield canaries
            finally:
                canaries.clear()
                place.unlink(missing_ok=True)

    def lay(self) -> None:
        self.clear()
        self._folder.mkdir()
        self._folder.chmod(0o777)
        self._secret.write_text(SECRET)
        self._victim.write_text(VICTIM)
        self._victim.chmod(0o666)

    def clear(self) -> None:
        for path in (self._secret, self._victim, self._fill, self._pwn):
            path.unlink(missing_ok=True)
        if self._folder.exists():
            for path in self._folder.iterdir():
                path.unlink()
            self._folder.rmdir()

    def sung(self) -> Iterator[str]:
        """Yield what has been touched."""
        if list(self._folder.iterdir()) or self._fill.exists() or self._pwn.exists():
            yield "a file was written"
        if self._victim.read_text() != VICTIM or self._victim.stat().st_mode & 0o777 != 0o666:
            yield "the victim was changed"
        for listener in self._listeners:
            try:
                listener.accept()[0].close()
                yield "a listener was reached"
            except BlockingIOError:
                continue


if __name__ == "__main__":
    main()
