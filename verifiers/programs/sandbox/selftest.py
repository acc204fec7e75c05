"""The sandbox's test of itself: what must be refused is tried, by the server and by a child, before any candidate runs."""

from __future__ import annotations

import marshal
from typing import Any

from learnable.verifiers.programs.sandbox.jail.codec import decode
from learnable.verifiers.programs.sandbox.jail.probes import EPERM, HONEST, SOURCE
from learnable.verifiers.programs.sandbox.ladder import Rung
from learnable.verifiers.programs.sandbox.process import SandboxError, Violation
from learnable.verifiers.programs.sandbox.server import Limits, Server


def check_server(server: Server, rung: Rung) -> dict[str, str]:
    """Return each probe with "refused" or "passed". Raises `SandboxError` naming the first that misbehaves."""
    if rung == Rung.E:
        return {}  # nothing is promised, and the probes would do what they try
    probes: dict[str, str] = {}
    for name, result in _probe_child(server).items():
        if result != (HONEST if name == "honest" else EPERM):
            raise SandboxError(f"the sandbox's own test failed: {name!r} came to {result!r}")
        probes[name] = "passed" if name == "honest" else "refused"
    return probes | _check_surroundings(server, rung)


def _probe_child(server: Server) -> dict[str, Any]:
    job: dict[str, Any] = {"mode": "calls", "source": SOURCE, "entry": "probe", "calls": [((), {}, [])]}
    with server.new_process(Limits()) as process:
        process.give(marshal.dumps(job))
        process.await_ready()
        try:
            frames = [process.next_frame(), process.next_frame()]
            if frames[0] != ("loaded", 0, None) or frames[1] is None or frames[1][0] != "answer":
                raise SandboxError(f"the sandbox's own test failed: it answered {frames} and {process.end()}")
            answer = decode(frames[1][2])
        except (Violation, ValueError, TypeError) as error:
            raise SandboxError(f"the sandbox's own test failed: {error!r}") from error
    if not isinstance(answer, dict):
        raise SandboxError(f"the sandbox's own test failed: it answered {answer!r}")
    return answer


def _check_surroundings(server: Server, rung: Rung) -> dict[str, str]:
    seen = server.facts["probes"]
    probes = {}
    if rung in (Rung.A, Rung.B):
        for name, what in (("read", "files beside the filter"), ("list", "folders beside the filter")):
            if seen[name]:
                raise SandboxError(f"the sandbox's own test failed: Landlock leaves {what.split()[0]} within reach")
            probes[what] = "refused"
    if rung == Rung.A:
        if seen["reach"]:
            raise SandboxError("the sandbox's own test failed: the network is within reach")
        probes["network beside the filter"] = "refused"
    return probes
