"""Stages in processes of their own: an engine and a trainer never share one.

The child says what happens as JSON lines on standard output; everything that libraries print there goes to
standard error instead, which the parent keeps in a log file. The child ends when its parent does, and takes
SIGINT as the request to stop in good order.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import traceback
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO

from learnable.data.errors import InterruptedRunError, LearnableError
from learnable.data.plain_text import escape_controls
from learnable.data.records import JsonObject
from learnable.rollouts.protocol import EngineError

Event = JsonObject
OnEvent = Callable[[Event], None]
PARENT_FLAG = "LEARNABLE_CHILD"
CHILD_ENVIRONMENT = {
    "PYTHONSAFEPATH": "1",  # no module of the folder that somebody works in stands in for one of a library
    "DO_NOT_TRACK": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "TOKENIZERS_PARALLELISM": "false",
    # Threads that spin while they wait take the cores from those that work: it made training six times slower.
    "OMP_WAIT_POLICY": "passive",
    "GOMP_SPINCOUNT": "0",
}


def serve(main: Callable[[Path, OnEvent], None], arguments: Sequence[str]) -> int:
    """Run `main` with the file named on the command line, and return the exit status. Runs in the child.

    A `LearnableError` becomes an `error` event. An engine that failed, and any other error, becomes a `crash` event and
    leaves its traceback on standard error.
    """
    if len(arguments) != 1:
        print("give one argument: the settings file", file=sys.stderr)
        return 2
    emit = _claim_stdout()
    if os.environ.pop(PARENT_FLAG, None):
        threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        main(Path(arguments[0]), emit)
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        if isinstance(error, LearnableError) and not isinstance(error, EngineError):
            emit({"event": "error", "message": str(error)})
            return 2
        sys.stderr.write(escape_controls(traceback.format_exc()))
        emit({"event": "crash", "message": f"{type(error).__name__}: {error}".splitlines()[0][:300]})
        return 1
    return 0


def run_stage(
    module: str, settings: Path, log: Path, on_event: OnEvent, *, processes: int = 1, accelerate_config: str = ""
) -> None:
    """Run `python -m module settings` and pass its events on until it ends.

    torchrun starts several processes, and accelerate as many as its config file says.

    Raises `LearnableError` with the child's own message, or with its last line and the path of `log` when it
    crashed; `InterruptedRunError` after Ctrl-C, once the child had time to save what it has.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as errors, _start(_command(module, settings, processes, accelerate_config), errors) as process:
        failure = _listen(process, on_event)
        status = process.wait()
    if failure and failure["event"] == "error":
        raise LearnableError(failure["message"])
    if status:
        raise LearnableError(f"{module} failed (exit status {status}): {_read_last_line(failure, log)}; log: {log}")


def clean_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return `environment` without what a launcher or scheduler left, and with quiet defaults."""
    # Left by a launcher, a scheduler or an engine around us: a fresh process would believe that it is part of one.
    prefixes = ("ACCELERATE_", "FSDP_", "PREFECT__", "TORCHELASTIC_", "OMPI_", "PMI_")
    names = {"RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK", "MASTER_ADDR", "MASTER_PORT"}
    kept = {name: value for name, value in environment.items() if not name.startswith(prefixes) and name not in names}
    return CHILD_ENVIRONMENT | kept | {PARENT_FLAG: "1", "PYTHONUNBUFFERED": "1"}


def _command(module: str, settings: Path, processes: int, accelerate_config: str) -> list[str]:
    if accelerate_config:
        launch = [sys.executable, "-m", "accelerate.commands.launch", "--config_file", accelerate_config]
        return [*launch, "-m", module, str(settings)]
    if processes == 1:
        return [sys.executable, "-m", module, str(settings)]
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)]
    return [*launch, "-m", module, str(settings)]


@contextlib.contextmanager
def _start(command: Sequence[str], errors: IO[bytes]) -> Iterator[subprocess.Popen[str]]:
    """Start the child in a session of its own, so that Ctrl-C reaches the parent alone; never leave it behind."""
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        text=True,
        env=clean_environment(os.environ),
        start_new_session=True,
    )
    with process:
        try:
            yield process
        except BaseException:
            _signal_session(process, signal.SIGKILL)
            raise


def _listen(process: subprocess.Popen[str], on_event: OnEvent) -> Event | None:
    """Pass events on until the child's output ends; return the one that says why it failed, if any."""
    try:
        return _pass_on(process, on_event)
    except KeyboardInterrupt:
        on_event({"event": "note", "message": "stopping in good order; Ctrl-C again stops at once"})
        _signal_session(process, signal.SIGINT)
        _pass_on(process, on_event)  # a second Ctrl-C ends it here
        raise InterruptedRunError("stopped") from None


def _pass_on(process: subprocess.Popen[str], on_event: OnEvent) -> Event | None:
    failure = None
    for line in process.stdout or ():
        try:
            event = json.loads(line)
        except json.JSONDecodeError:
            continue  # a launcher's words
        if event["event"] in ("error", "crash"):
            failure = failure or event
        else:
            on_event(event)
    return failure


def _signal_session(process: subprocess.Popen[str], number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, number)


def _claim_stdout() -> OnEvent:
    """Keep standard output for events; let everything else that is printed go to standard error."""
    stream = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    if int(os.environ.get("RANK", "0")):
        return lambda event: None

    def emit(event: Event) -> None:
        with contextlib.suppress(BrokenPipeError):  # the parent is gone: another thread ends this process
            stream.write(json.dumps(event) + "\n")
            stream.flush()

    return emit


def _end_with_parent() -> None:
    # Ends when the parent closes its end, whichever way it dies. Not sys.stdin: its lock would outlive the interpreter.
    while os.read(0, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def _read_last_line(failure: Event | None, log: Path) -> str:
    if failure:
        return str(failure["message"])
    with log.open(encoding="utf-8", errors="replace") as lines:
        last = [line.strip() for line in deque(lines, 40) if line.strip()]
    return last[-1][:300] if last else "it said nothing"
