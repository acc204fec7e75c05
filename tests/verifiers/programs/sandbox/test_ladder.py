"""Which rung is taken, what is refused, and that a broken layer is found out."""

from __future__ import annotations

import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from learnable.data.errors import LearnableError
from learnable.verifiers.programs import NoSandboxError, Sandbox
from learnable.verifiers.programs import verifier as programs
from learnable.verifiers.programs.sandbox import sandbox as sandboxes
from learnable.verifiers.programs.sandbox import server as servers
from learnable.verifiers.programs.sandbox.jail import seccomp
from learnable.verifiers.programs.sandbox.ladder import Machine, Rung, look_at_machine
from learnable.verifiers.programs.verifier import ProgramVerifier
from learnable.verifiers.protocol import verifier_conditions, verifier_notice
from learnable.verifiers.registry import find_verifier

FULL = Machine("linux", "x86_64", seccomp=True, landlock=6, bubblewrap="/usr/bin/bwrap", root=False)
HONEST = "def f(x):\n    return x + 1\n"

confined = pytest.mark.skipif(not look_at_machine().rungs, reason="programs cannot be confined on this machine")
needs_landlock = pytest.mark.skipif(not look_at_machine().landlock, reason="no Landlock")


def pretend(monkeypatch: pytest.MonkeyPatch, **changes: object) -> None:
    real = look_at_machine()
    monkeypatch.setattr(sandboxes, "look_at_machine", lambda: replace(real, **changes))
    monkeypatch.setattr(programs, "look_at_machine", lambda: replace(real, **changes))


@pytest.mark.parametrize(
    ("changes", "rungs", "advice"),
    [
        ({}, [Rung.A, Rung.B], ""),
        ({"bubblewrap": None}, [Rung.B], "install bubblewrap"),
        ({"landlock": 0}, [Rung.C], "Landlock"),
        ({"seccomp": False}, [], "seccomp"),
        ({"system": "darwin"}, [], "need Linux"),
        ({"machine": "riscv64", "seccomp": False}, [], "no table of system calls for riscv64"),
    ],
)
def test_rungs_of_a_machine(changes: dict[str, object], rungs: list[Rung], advice: str) -> None:
    machine = replace(FULL, **changes)  # type: ignore[arg-type]
    assert machine.rungs == rungs
    assert advice in " ".join(machine.advice)
    assert bool(advice) == bool(machine.advice)


def test_nothing_is_run_where_nothing_confines(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, seccomp=False)
    with Sandbox() as sandbox, pytest.raises(NoSandboxError, match="programs cannot be confined on this machine"):
        sandbox.run(HONEST, "f", [[1]])
    with pytest.raises(LearnableError, match="cannot be confined on this machine: use a kernel"):
        verifier_notice(ProgramVerifier())


@confined
def test_without_a_sandbox_only_when_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, seccomp=False)
    with Sandbox(unsafe=True) as sandbox:
        assert sandbox.rung is Rung.E
        assert sandbox.run(HONEST, "f", [[1]]).answers[0].value == 2
    monkeypatch.setenv("LEARNABLE_SANDBOX", "unsafe")
    assert "without any sandbox" in verifier_notice(ProgramVerifier())


@confined
def test_strict_refuses_seccomp_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, landlock=0)
    with Sandbox() as sandbox:
        assert sandbox.rung is Rung.C
        assert sandbox.run(HONEST, "f", [[1]]).answers[0].value == 2
    with Sandbox(strict=True) as sandbox, pytest.raises(NoSandboxError, match="as strictly as asked"):
        sandbox.start()
    assert "no Landlock" in verifier_notice(ProgramVerifier())


@needs_landlock
def test_strict_refuses_root_that_stays_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        sandboxes.SandboxServer,
        "_hello",
        lambda self, hello=sandboxes.SandboxServer._hello: replace(hello(self), dropped=False),
    )
    with Sandbox(strict=True) as sandbox, pytest.raises(NoSandboxError, match="root cannot become nobody"):
        sandbox.start()
    with Sandbox() as sandbox:
        assert sandbox.rung in (Rung.A, Rung.B)


@confined
@pytest.mark.parametrize(
    "broken",
    [
        "from jail import seccomp; "
        "seccomp.X86_64['openat'] = seccomp.AARCH64['openat'] = {'x86_64': 257, 'aarch64': 56}[seccomp.ARCHITECTURE]",
        "from jail import seccomp; seccomp.CONDITIONAL.clear()",
        "from jail import seccomp; seccomp.FAIL = seccomp.ALLOW",
        "from jail import landlock; landlock.restrict = landlock.find_version",
    ],
    ids=["files", "executable memory", "everything", "Landlock"],
)
def test_a_broken_layer_is_found_out(broken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        servers, "START_CODE", servers.START_CODE.replace("sys.path.pop();", f"{broken}; sys.path.pop();")
    )
    with Sandbox() as sandbox, pytest.raises(NoSandboxError, match="own test failed"):
        sandbox.start()


@needs_landlock
@pytest.mark.parametrize(
    "does", ["exit 1", 'while [ "$1" != -- ]; do shift; done; shift; exec "$@"'], ids=["fails", "pretends"]
)
def test_a_bubblewrap_that_does_not_work_is_done_without(
    does: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = tmp_path / "bwrap"
    fake.write_text(f"#!/bin/sh\n{does}\n")
    fake.chmod(fake.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with Sandbox(strict=True) as sandbox:
        assert sandbox.rung is Rung.B
        assert "rung A is out of reach" in sandbox.report["remarks"][0]
    with Sandbox(rung="A") as sandbox, pytest.raises(NoSandboxError, match="rung A is out of reach"):
        sandbox.start()


@confined
def test_the_report_is_plain(tmp_path: Path) -> None:
    with Sandbox() as sandbox:
        report = sandbox.report
    assert report["rung"] in ("A", "B", "C")
    assert report["probes"]["honest"] == "passed"
    assert set(report["probes"].values()) == {"refused", "passed"}
    assert report["uid"] != 0


def test_both_tables_hold_the_same_calls() -> None:
    only_x86 = {"time"}  # which others have no need of
    assert set(seccomp.X86_64) - only_x86 == set(seccomp.AARCH64)
    for _, numbers in seccomp.ARCHITECTURES.values():
        assert len(set(numbers.values())) == len(numbers)


@pytest.mark.parametrize("machine", seccomp.ARCHITECTURES)
def test_the_filter_decides_as_the_table_says(machine: str) -> None:
    """By another road: run the filter on every call's number, as the kernel would."""
    architecture, numbers = seccomp.ARCHITECTURES[machine]
    allowed = {numbers[name] for name in set(numbers) - seccomp.SLEEP_CALLS - seccomp.CONDITIONAL - seccomp.FOR_ITSELF}
    program = seccomp.build_filter(machine)
    for number in range(600):
        for protection in (0, 3, 4, 7):
            verdict = run_filter(program, {0: number, 4: architecture, 24: 129, 32: protection})
            if number in {numbers[name] for name in seccomp.SLEEP_CALLS}:
                assert verdict == seccomp.FAIL
            elif number in {numbers[name] for name in seccomp.CONDITIONAL}:
                assert (verdict == seccomp.ALLOW) == (not protection & 4)
            else:
                assert verdict == (seccomp.ALLOW if number in allowed else seccomp.FAIL | 1)
    assert run_filter(program, {0: 0, 4: 0x40000003}) == seccomp.KILL, "calls of the 32-bit table"
    if machine == "x86_64":
        assert run_filter(program, {0: 0x40000000, 4: architecture}) == seccomp.KILL


@pytest.mark.parametrize("machine", seccomp.ARCHITECTURES)
@pytest.mark.parametrize("flags", [0, 128, 128 | 256])
def test_nothing_can_be_waited_for(machine: str, flags: int) -> None:
    architecture, numbers = seccomp.ARCHITECTURES[machine]
    for command in range(16):
        for low, high in ((0, 0), (1, 0), (0, 1), (1, 1)):
            data = {0: numbers["futex"], 4: architecture, 24: command | flags, 40: low, 44: high}
            verdict = run_filter(seccomp.build_filter(machine), data)
            if command not in seccomp.WAITS.values():
                assert verdict == seccomp.ALLOW
            else:
                assert verdict == seccomp.FAIL | (seccomp.ETIMEDOUT if low or high else seccomp.EINTR)


def run_filter(program: list[seccomp.Instruction], data: dict[int, int]) -> int:
    accumulator, position = 0, 0
    while True:
        code, if_true, if_false, value = program[position]
        position += 1
        if code == seccomp.LOAD:
            accumulator = data[value]
        elif code == seccomp.AND:
            accumulator &= value
        elif code == seccomp.RETURN:
            return value
        else:
            tests = {seccomp.IF_EQUAL: accumulator == value, seccomp.IF_AT_LEAST: accumulator >= value}
            position += if_true if tests.get(code, bool(accumulator & value)) else if_false


@pytest.mark.parametrize(
    ("machine", "header"), [("x86_64", "x86_64-linux-gnu/asm/unistd_64.h"), ("aarch64", "asm-generic/unistd.h")]
)
def test_the_tables_agree_with_the_kernels_headers(machine: str, header: str) -> None:
    path = Path("/usr/include") / header
    if not path.exists():
        pytest.skip(f"no {header} here")
    words = [line.split() for line in path.read_text().splitlines() if line.startswith("#define __NR")]
    known = {word[1].removeprefix("__NR_").removeprefix("__NR3264_"): word[2] for word in words if word[-1].isdigit()}
    for name, number in seccomp.ARCHITECTURES[machine][1].items():
        assert known[name] == str(number)


def test_the_command_holds_no_environment() -> None:
    command = servers.build_command(Rung.A, 5, "/usr/bin/bwrap")
    assert command[0] == "/usr/bin/bwrap"
    assert "--clearenv" in command
    assert {"--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts"} <= set(command)
    binds = [command[at + 1] for at, word in enumerate(command) if word == "--ro-bind"]
    assert "/" not in binds
    assert not {"/home", "/root", "/etc", "/proc", "/tmp"} & set(binds)


def test_modes_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEARNABLE_SANDBOX", "srtict")
    with pytest.raises(LearnableError, match="LEARNABLE_SANDBOX is 'srtict': use strict, subset or unsafe"):
        verifier_notice(ProgramVerifier())


def test_what_confines_programs_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    told = verifier_conditions(find_verifier("programs"))
    assert told["sandbox_rung"] in [rung.name for rung in Rung]
    monkeypatch.setenv("LEARNABLE_SANDBOX", "strict")
    assert verifier_conditions(find_verifier("programs"))["sandbox_mode"] == "strict"
    assert verifier_conditions(find_verifier("arithmetic")) == {}
