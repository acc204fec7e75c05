from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from learnable.data.errors import InterruptedRunError, LearnableError
from learnable.train.child import Event, _command, clean_environment, run_stage

SERVE = "import sys; from learnable.train.child import serve; sys.exit(serve(main, sys.argv[1:]))"
SLEEPER = """
import os, time
def main(path, emit):
    try:
        emit({"event": "ready", "pid": os.getpid()})
        time.sleep(60)
    except KeyboardInterrupt:
        emit({"event": "saved"})
        raise
"""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Run a stage whose `main` is given as source; return its events."""
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)

    def run_source(source: str, on_event=lambda event: None) -> list[Event]:
        (tmp_path / "a_stage.py").write_text(f"{source}\n{SERVE}\n")
        events: list[Event] = []

        def hear(event: Event) -> None:
            events.append(event)
            on_event(event)

        run_stage("a_stage", tmp_path / "settings.json", tmp_path / "logs" / "stage.log", hear)
        return events

    return run_source


def test_what_starts_the_processes_follows_the_settings() -> None:
    commands = [
        _command("a_stage", Path("s.json"), processes, config)
        for processes, config in ((1, ""), (2, ""), (2, "c.yaml"))
    ]
    assert [command[2] for command in commands] == ["a_stage", "torch.distributed.run", "accelerate.commands.launch"]
    assert commands[2][3:] == ["--config_file", "c.yaml", "-m", "a_stage", "s.json"]


def test_events_arrive_and_other_output_goes_to_the_log(run, tmp_path: Path) -> None:
    source = """
import os
def main(path, emit):
    print("a library talks")
    os.write(1, b"so does its C code\\n")
    emit({"event": "note", "message": path.name})
"""
    assert run(source) == [{"event": "note", "message": "settings.json"}]
    assert "a library talks" in (tmp_path / "logs" / "stage.log").read_text()
    assert "so does its C code" in (tmp_path / "logs" / "stage.log").read_text()


def test_a_clear_error_crosses_over_as_it_is(run) -> None:
    source = """
from learnable.data.errors import LearnableError
def main(path, emit):
    raise LearnableError("--steps 0 must be above 0")
"""
    with pytest.raises(LearnableError, match=r"^--steps 0 must be above 0$"):
        run(source)


def test_a_crash_becomes_one_message_and_its_traceback_a_log(run, tmp_path: Path) -> None:
    with pytest.raises(
        LearnableError, match=r"a_stage failed \(exit status 1\): ValueError: too odd; log: .*stage\.log"
    ):
        run("def main(path, emit):\n    raise ValueError('too odd\\n\\x1b[31m')")
    log = (tmp_path / "logs" / "stage.log").read_text()
    assert "Traceback" in log
    assert log.endswith("ValueError: too odd\n\\x1b[31m\n")


def test_an_engine_that_failed_is_a_crash_with_a_log(run, tmp_path: Path) -> None:
    source = """
from learnable.rollouts.protocol import EngineError
def main(path, emit):
    raise EngineError("the device is gone")
"""
    with pytest.raises(LearnableError, match=r"failed \(exit status 1\): EngineError: the device is gone; log: "):
        run(source)
    assert "Traceback" in (tmp_path / "logs" / "stage.log").read_text()


def test_a_death_without_words_quotes_the_last_line_of_the_log(run) -> None:
    with pytest.raises(LearnableError, match=r"exit status 7\): out of memory"):
        run("import os\ndef main(path, emit):\n    os.write(2, b'out of memory\\n'); os._exit(7)")


def test_ctrl_c_lets_the_stage_save_and_then_raises(run) -> None:
    seen = []

    def interrupt(event: Event) -> None:
        seen.append(event["event"])
        if event["event"] == "ready":
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(InterruptedRunError):
        run(SLEEPER, interrupt)
    assert seen == ["ready", "note", "saved"]


def test_a_stage_does_not_outlive_an_error_of_its_listener(run) -> None:
    pids = []

    def fail(event: Event) -> None:
        pids.append(event["pid"])
        raise RuntimeError("the console broke")

    with pytest.raises(RuntimeError, match="the console broke"):
        run(SLEEPER, fail)
    with pytest.raises(ProcessLookupError):
        os.kill(pids[0], 0)


def test_a_stage_ends_when_its_parent_is_killed(tmp_path: Path) -> None:
    (tmp_path / "a_stage.py").write_text(f"{SLEEPER}\n{SERVE}\n")
    parent = f"""
from pathlib import Path
from learnable.train.child import run_stage
run_stage("a_stage", Path("s.json"), Path({str(tmp_path / "log")!r}), lambda event: print(event["pid"], flush=True))
"""
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    with subprocess.Popen(
        [sys.executable, "-c", parent], stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        process.send_signal(signal.SIGKILL)
    assert _ends(child)


def test_a_fresh_process_does_not_take_itself_for_part_of_a_launch() -> None:
    environment = clean_environment(
        {"WORLD_SIZE": "2", "RANK": "1", "ACCELERATE_USE_CPU": "1", "HOME": "/h", "OMP_WAIT_POLICY": "active"}
    )

    assert not {"WORLD_SIZE", "RANK", "ACCELERATE_USE_CPU"} & set(environment)
    assert environment["HOME"] == "/h"
    assert environment["OMP_WAIT_POLICY"] == "active"
    assert environment["GOMP_SPINCOUNT"] == "0"


def _ends(pid: int) -> bool:
    for _ in range(600):
        state = Path(f"/proc/{pid}/stat")
        if not state.exists() or state.read_text().split()[2] == "Z":
            return True
        time.sleep(0.05)
    return False
