"""Prompts from reasoning-gym's data sets, drawn by the seed: the question, how to answer, and what its scorer needs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator

from learnable.data.errors import LearnableError, shorten_reason
from learnable.data.progress import progress
from learnable.data.records import JsonObject, Prompt, name_problem
from learnable.data.sources.gym.library import NAME, require_library
from learnable.data.sources.gym.location import read_location

INSTRUCTION = "Give your final answer between <answer> and </answer>."

_START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from learnable.data.sources.gym.generation import serve; serve(*json.loads(sys.argv[2]))"
)


def gym_prompts(location: str, seed: int) -> Iterator[Prompt]:
    """Yield distinct prompts of the data sets at a location (see `read_location`), which take turns.

    They come from a process of their own, which ends with this generator. The seed fixes them and their order.
    Raises `LearnableError` for names and knobs that there are not, and where reasoning-gym is not installed.
    """
    named = read_location(location)
    require_library()
    lines = _ask([named.pattern, named.knobs, seed])
    left_out = next(lines)["left_out"]
    if left_out:
        name, why = next(iter(left_out.items()))
        progress().note(f"{len(left_out)} data sets refuse these knobs and are left out, as {name}: {why}")
    for entry in lines:
        yield make_prompt(entry, location)


def make_prompt(entry: JsonObject, location: str) -> Prompt:
    """Return the prompt of an entry as `generation.entries` yields it.

    Its spec carries the entry, so that it is judged without making it again. One question is one problem, however its
    data set was set.
    """
    name, question = entry["dataset"], entry["question"]
    spec = {key: entry[key] for key in ("dataset", "answer", "metadata")}
    return Prompt(
        prompt=f"{question.rstrip()}\n\n{INSTRUCTION}",
        verifier=NAME,
        spec=spec | ({"config": entry["config"]} if entry["config"] else {}),
        family=NAME,
        form=name,
        difficulty=entry["difficulty"],
        source=location,
        named_problem=name_problem(NAME, name, question),
    )


def _ask(request: list[object]) -> Iterator[JsonObject]:
    """Yield what the process writes, line by line. Raises `LearnableError` for an error of its, and where it dies."""
    command = [sys.executable, "-P", "-c", _START, json.dumps(sys.path), json.dumps(request)]
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as errors,
        subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            encoding="utf-8",
            env=os.environ | {"PYTHONHASHSEED": "0"},
            start_new_session=True,  # Ctrl-C is the caller's
        ) as process,
    ):
        try:
            for line in process.stdout or ():
                read = json.loads(line)
                if "error" in read:
                    raise LearnableError(read["error"])
                yield read
            if process.wait():
                errors.seek(0)
                last = errors.read().strip().rpartition("\n")[2]
                raise LearnableError(f"{NAME} failed: {shorten_reason(last or f'status {process.returncode}')}")
        finally:
            process.kill()
