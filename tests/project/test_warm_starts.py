"""A warm start is a cold one but for the imports: the same relations between processes, the same files and ends."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from learnable.flows.scheduling.server import start_own_server
from learnable.train.child import run_stage
from tests.support.warm_starts import Ended, Starter, starting
from tests.support.warm_twins import is_warm, leave_flags_out

SPAWN = """
import json, multiprocessing, os, sys

def is_pipe(number):
    try:
        return os.readlink(f"/proc/self/fd/{number}").startswith("pipe:")
    except OSError:
        return False

def look(sent):
    known = multiprocessing.parent_process()
    sent.send({
        "warm": "polars" in sys.modules, "relations": (os.getppid(), os.getsid(0), os.getpgid(0), known.pid),
        "surroundings": (os.getcwd(), os.environ["SAID"], sys.argv, __name__, sum(map(is_pipe, range(3, 512)))),
    })
    sys.exit(7)

if __name__ == "__main__":
    os.environ["SAID"] = "just now"
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=look, args=(theirs,))
    process.start()
    found = ours.recv()
    process.join()
    here = [os.getpid(), os.getsid(0), os.getpgid(0), os.getpid()]
    related = [there == expected for there, expected in zip(found.pop("relations"), here)]
    print(json.dumps({**found, "related": related, "status": process.exitcode}))
"""
ENDS = (
    "print('said')",
    "import sys; sys.exit(3)",
    "import sys; sys.exit('a reason')",
    "raise ValueError('a fault')",
    "raise KeyboardInterrupt",
    "import atexit; atexit.register(print, 'the last word')",
    "import threading, time; threading.Thread(target=lambda: (time.sleep(0.1), print('a thread'))).start()",
    "import os; os._exit(5)",
    "import sys; sys.stdout.close()",
)


def run_cold(arguments: list[str], folder: Path) -> Ended:
    done = subprocess.run([sys.executable, *arguments], cwd=folder, capture_output=True, text=True, check=False)
    return Ended(done.returncode, done.stdout, done.stderr)


def test_what_a_warm_command_starts_is_warm_and_its_child(tmp_path: Path, pipeline_starter: Starter) -> None:
    (tmp_path / "spawn.py").write_text(SPAWN)
    found: list[dict[str, Any]] = []
    for ended in (run_cold(["spawn.py"], tmp_path), pipeline_starter.run([sys.executable, "spawn.py"], cwd=tmp_path)):
        assert ended.returncode == 0, ended.stderr
        found.append(json.loads(ended.stdout))
    assert [there.pop("warm") for there in found] == [False, True]
    assert found[0] == found[1]
    assert found[0]["related"] == [True] * 4
    assert found[0]["status"] == 7


STAGE = ("learnable.train.trainers.grpo", Path("settings.json"), Path("log"), print)


@pytest.mark.parametrize(
    "start", [lambda: start_own_server({}).stop(), lambda: run_stage(*STAGE)], ids=["server", "stage"]
)
def test_what_takes_long_to_import_is_known_by_its_command(
    start: Callable[[], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a flag that nobody expects, dozens of tests would wait for imports and a server's migrations."""
    monkeypatch.chdir(tmp_path)
    with mock.patch.object(subprocess, "Popen") as popen:
        popen.return_value.wait.return_value = 0
        start()
    assert is_warm(leave_flags_out(popen.call_args.args[0]))


@pytest.mark.parametrize("text", ENDS)
def test_a_warm_process_ends_as_a_cold_one_does(text: str, tmp_path: Path, pipeline_starter: Starter) -> None:
    cold = run_cold(["-c", text], tmp_path)
    warm = pipeline_starter.run([sys.executable, "-c", text], cwd=tmp_path)
    assert (warm.returncode, warm.stdout) == (cold.returncode, cold.stdout)
    assert warm.stderr.splitlines()[-1:] == cold.stderr.splitlines()[-1:]


def test_workers_share_a_starter_that_ends_with_the_last_of_them(tmp_path: Path) -> None:
    database, place = tmp_path / "prefect.db", tmp_path / "starter-json"

    def parent(starter: Starter) -> str:
        return starter.run([sys.executable, "-c", "import os; print(os.getppid())"]).stdout

    with starting(["json"], database) as one:
        with starting(["json"], database) as other:
            shared = parent(one)
            assert parent(other) == shared != ""
        assert parent(one) == shared
    while place.exists():
        time.sleep(0.01)
    with starting(["json"], database) as later:
        assert parent(later) not in ("", shared)
