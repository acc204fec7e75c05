"""Hostile programs cost themselves their reward and nothing else; a broken sandbox costs nobody theirs."""

from __future__ import annotations

import gc
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.programs import allow_seconds, measure_reference
from learnable.data.errors import LearnableError
from learnable.data.records import Score
from learnable.verifiers.programs import Limits, ProgramOutcome, Sandbox, SandboxError
from learnable.verifiers.programs import verifier as programs
from learnable.verifiers.programs.sandbox.ladder import Rung, look_at_machine
from learnable.verifiers.programs.sandbox.process import SandboxJob
from learnable.verifiers.programs.verifier import ProgramVerifier
from tests.verifiers.pool.waits_for_tests import has_ended, wait_for

SPEC = {"entry": "f", "cases": [[[1], 2], [[2], 3]], "cpu_seconds": 0.3}
WITHOUT_NAMESPACES = next(
    (rung for rung in look_at_machine().rungs if rung != Rung.A), None
)  # its processes can be seen
HONEST = "def f(x):\n    return x + 1\n"

pytestmark = pytest.mark.skipif(not look_at_machine().rungs, reason="programs cannot be confined on this machine")


@pytest.fixture(scope="module")
def shared_sandbox() -> Iterator[Sandbox]:
    with Sandbox() as sandbox:
        yield sandbox


def judged(source: str) -> Score:
    score = ProgramVerifier().score(source, prompt="", spec=SPEC)
    assert ProgramVerifier().score(HONEST + f"# {source!r}", prompt="", spec=SPEC).passed, "the next one suffers"
    return score


@pytest.mark.parametrize(
    ("source", "reward", "reason"),
    [
        ("def f(x):\n    while True: pass", 0.0, "timeout"),
        ("import threading\ndef f(x):\n    threading.Event().wait()", 0.0, "timeout"),
        ("import time\ndef f(x):\n    time.sleep(60)\n    return x + 1", 1.0, ""),
        ("x = 1\nwhile True: pass", 0.0, "timeout"),
        ("import os\ndef f(x):\n    os._exit(0)", 0.0, "crashed"),
        ("import os\nos._exit(97)", 0.0, "crashed"),
        ("def f(x):\n    raise SystemExit", 0.0, "raised SystemExit"),
        ("import sys\nsys.exit(0)", 0.0, "crashed: SystemExit"),
        ("import os\ndef f(x):\n    while True: os.fork()", 0.0, "raised PermissionError"),
        ("import threading\ndef f(x):\n    threading.Thread(target=print).start()", 0.0, "raised RuntimeError"),
        ("import os\ndef f(x):\n    os.kill(os.getpid(), 9)", 0.0, "raised PermissionError"),
        ("import ctypes\ndef f(x):\n    ctypes.string_at(0)", 0.0, "ModuleNotFoundError"),
        ("def f(x):\n    return 'a' * 10_000_000", 0.0, "wrote too much"),
        ("def f(x):\n    return [0] * 10**9", 0.0, "raised MemoryError"),
        ("def f(x):\n    return f(x)", 0.0, "raised RecursionError"),
        ("def f(x):\n    return object()", 0.0, "raised TypeError"),
        ("def f(x):\n    r = []\n    r.append(r)\n    return r", 0.0, "raised ValueError"),
        ("def f(x):\n    print('a' * 10_000_000)\n    return x + 1", 1.0, ""),
        ("import os\nos.close(3)\ndef f(x):\n    return x + 1", 0.0, "crashed"),
        ("import os\nos.write(3, b'junk')\ndef f(x):\n    return x + 1", 0.0, "crashed"),
        ("def f(x):\n    f.calls = getattr(f, 'calls', 0) + 1\n    return x + f.calls", 0.25, "case 1"),
        ("import numpy\ndef f(x):\n    return x + 1", 0.0, "ModuleNotFoundError"),
        ("from __future__ import annotations\nimport dataclasses\n@dataclasses.dataclass\nclass A:\n    n: int\n"
         "def f(x):\n    return A(x).n + 1", 1.0, ""),
    ],
)  # fmt: skip
def test_hostile_programs(source: str, reward: float, reason: str) -> None:
    score = judged(source)
    assert (score.verdict, score.reward) == ("scored", reward)
    assert reason in score.reason


def test_expected_answers_are_nowhere_in_the_programs_memory() -> None:
    spec = {"entry": "f", "cases": [[[1], "a very secret answer"]], "cpu_seconds": 1}
    hunt = (
        "import gc\ndef f(x):\n"
        "    needle = 'rewsna terces yrev a'[::-1]\n"
        "    holders = [o for o in gc.get_objects() if isinstance(o, (dict, list, tuple)) and needle in repr(o)]\n"
        "    return needle if holders else 'nothing'"
    )
    assert ProgramVerifier().score(hunt, prompt="", spec=spec).reward == 0.0


def test_the_environment_and_the_arguments_stay_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("API_TOKEN", "secret")
    with Sandbox() as sandbox:
        seen = sandbox.run("import os, sys\ndef f():\n    return [dict(os.environ), sys.argv, sys.path]", "f", [[]])
    environment, arguments, path = seen.answers[0].value
    assert environment.keys() <= {"PYTHONHASHSEED", "LC_CTYPE", "PWD"}
    assert arguments == [""]
    assert not any("learnable" in folder or "programs" in folder for folder in path)


def test_a_killed_server_is_started_again() -> None:
    with Sandbox() as sandbox:
        first = sandbox.run(HONEST, "f", [[1]])
        killed = sandbox.server_pid
        assert killed is not None
        os.kill(killed, signal.SIGKILL)
        assert sandbox.run(HONEST, "f", [[1]]) == first
        # A child that stood ready may answer before it ends with its server, so that nobody misses the server.
        wait_for(lambda: bool(sandbox.run(HONEST, "f", [[1]])) and sandbox.server_pid != killed)
        loop = "def f(x):\n    while True: pass"
        outcomes: list[ProgramOutcome] = []
        thread = threading.Thread(target=lambda: outcomes.append(sandbox.run(loop, "f", [[1]], 1.0)))
        second = sandbox.server_pid
        assert second is not None
        thread.start()
        os.kill(second, signal.SIGKILL)
        thread.join()
    assert [outcome.end for outcome in outcomes] == ["timeout"]


def test_a_server_that_cannot_start_is_no_zero(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with Sandbox() as sandbox:
        assert sandbox.rung
        sandbox.close()
        monkeypatch.setattr(
            "learnable.verifiers.programs.sandbox.server.START_CODE", "raise SystemExit('broken on purpose')"
        )
        monkeypatch.setattr(programs, "find_sandbox", lambda: sandbox)
        score = ProgramVerifier().score(HONEST + "# never seen before", prompt="", spec=SPEC)
    assert (score.verdict, score.reward) == ("verifier_error", None)
    assert "broken on purpose" in score.reason


def test_a_child_that_cannot_be_confined_runs_nothing_and_is_no_zero() -> None:
    impossible = Limits(cpu_seconds=-1)  # the kernel refuses to set such a timer
    with Sandbox(limits=impossible) as sandbox, pytest.raises(SandboxError, match="could not be confined"):
        sandbox.run(HONEST, "f", [[1]])


def test_servers_end_with_their_client_and_children_with_their_server(tmp_path: Path) -> None:
    sandbox = Sandbox(rung=WITHOUT_NAMESPACES)
    process = sandbox.open(SandboxJob("serve", "while True: pass"), Limits(cpu_seconds=60))
    server = sandbox.server_pid
    assert server is not None
    children = [int(word) for word in Path(f"/proc/{server}/task/{server}/children").read_text().split()]
    os.kill(server, signal.SIGKILL)
    assert children
    wait_for(lambda: all(map(has_ended, children)))
    process.__exit__()
    sandbox.close()


def test_a_client_that_hangs_up_leaves_nothing_running() -> None:
    with Sandbox(rung=WITHOUT_NAMESPACES) as sandbox:
        with sandbox.open(SandboxJob("serve", "while True: pass"), Limits(cpu_seconds=60)):
            server = sandbox.server_pid
            children = Path(f"/proc/{server}/task/{server}/children")
            assert children.read_text()
        wait_for(lambda: not children.read_text())
    assert server is not None
    wait_for(lambda: has_ended(server))


def test_descriptors_do_not_pile_up() -> None:
    with Sandbox(rung=WITHOUT_NAMESPACES) as sandbox:
        sandbox.run(HONEST, "f", [[1]])
        before = len(list(Path("/proc/self/fd").iterdir()))
        server = Path(f"/proc/{sandbox.server_pid}/fd")
        at_server = len(list(server.iterdir())) if os.getuid() == 0 else 0
        for number in range(30):
            sandbox.run(f"def f(x):\n    return {number}", "f", [[1]])
            sandbox.run("import os\nos._exit(0)", "f", [[1]])
        gc.collect()
        assert len(list(Path("/proc/self/fd").iterdir())) == before
        if os.getuid() == 0:
            wait_for(lambda: len(list(server.iterdir())) <= at_server)


def test_threads_share_a_sandbox(shared_sandbox: Sandbox) -> None:
    answers: dict[int, list[object]] = {}

    def work(number: int) -> None:
        runs = [shared_sandbox.run(f"def f(x):\n    return x + {number}", "f", [[n]]) for n in range(20)]
        answers[number] = [run.answers[0].value for run in runs]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == {number: [n + number for n in range(20)] for number in range(4)}


def test_hashing_and_chance_are_the_same_in_every_run(shared_sandbox: Sandbox) -> None:
    source = (
        "import random, uuid\ndef f(words):\n    return [list({*words}), random.random(), random.Random().random()]"
    )
    with Sandbox() as fresh:
        runs = [
            sandbox.run(source, "f", [[["some", "words", "in", "a", "set"]]]).answers[0].value
            for sandbox in (shared_sandbox, fresh)
        ]
    assert runs[0] == runs[1]


def test_the_same_program_is_run_once(monkeypatch: pytest.MonkeyPatch) -> None:
    source = HONEST + "# asked twice"
    first = ProgramVerifier().score(source, prompt="", spec=SPEC)
    monkeypatch.setattr(programs, "find_sandbox", None)
    assert ProgramVerifier().score(source, prompt="another", spec=SPEC) == first


def test_limits_on_the_processor_are_kept_closely(shared_sandbox: Sandbox) -> None:
    for source in ("def f():\n    while True: pass", "def f():\n    return 10**10**8"):
        outcome = shared_sandbox.run(source, "f", [[]], 0.2)
        assert outcome.end == "timeout"
        assert outcome.cpu_seconds is not None
        assert 0.19 <= outcome.cpu_seconds <= 0.3


def test_a_sandbox_is_strict_or_unsafe() -> None:
    with pytest.raises(LearnableError, match="strict and unsafe"):
        Sandbox(strict=True, unsafe=True)


def test_inputs_have_a_bound(shared_sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("learnable.verifiers.programs.sandbox.process.MAX_JOB_BYTES", 1000)
    with pytest.raises(LearnableError, match="inputs of a program"):
        shared_sandbox.run(HONEST, "f", [["x" * 1000]])


def test_limits_are_scaled_from_the_reference(shared_sandbox: Sandbox) -> None:
    spec = {"entry": "f", "cases": [[[1], 2]]}
    slow = "def f(x):\n    return x + 1\nsum(range(3_000_000))"
    quick = measure_reference(shared_sandbox, HONEST, spec)
    assert 0 < quick < measure_reference(shared_sandbox, slow, spec)
    assert allow_seconds(quick) >= 0.3
    assert [allow_seconds(seconds) for seconds in (0.002, 0.1, 1.5)] == [0.3, 1.0, 2.0]
