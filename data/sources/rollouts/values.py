"""Single values of rollout files: chats, texts, numbers, and rLLM's episodes, which stand in files of their own."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from learnable.data.records import JsonObject, Message, PromptText, Row
from learnable.data.sources.files.bad_rows import BadRowError


def short(value: object) -> str:
    """Return a value as a message shows it."""
    text = repr(value)
    most = 60  # characters of a value in a message
    return text if len(text) <= most else f"{text[: most - 3]}..."


def read_number(row: Row, column: str, place: str) -> float | None:
    """Return a number, None for null. Raises `BadRowError` for anything else, and where there is no such column."""
    if column not in row:
        raise BadRowError(place, f"no column {column!r} (there are: {', '.join(map(str, row))}): name it with `reward`")
    value = row[column]
    if value is None or isinstance(value, bool):
        return None if value is None else float(value)
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise BadRowError(place, f"column {column!r} is {short(value)}: it must be a number, or null") from None
    return None if number != number else number  # Parquet's NaN is a null


def text_of(content: Any) -> str:
    """Return the text of a message's content: itself, or the text parts of a list; of anything else none."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(str(part.get("text") or "") for part in content if isinstance(part, Mapping))
    return ""


def last_text(turns: Iterable[Any], place: str, column: str) -> str:
    """Return the text of the last message of the assistant's. Raises `BadRowError` where there is none."""
    answers = [turn for turn in turns if isinstance(turn, Mapping) and turn.get("role") == "assistant"]
    if not answers:
        raise BadRowError(place, f"{column!r} has no message of the assistant's: remove the row")
    return text_of(answers[-1].get("content"))


def chat_or_text(value: Any, place: str, column: str) -> PromptText:
    """Return a prompt: text, or the messages of a list. Raises `BadRowError` for what is neither, or empty."""
    if isinstance(value, str) and value.strip():
        return value
    turns = [turn for turn in value if isinstance(turn, Mapping) and "role" in turn] if _is_list(value) else []
    messages = tuple(Message(str(turn["role"]), text_of(turn.get("content"))) for turn in turns)
    if messages and any(turn.content.strip() for turn in messages):
        return messages
    raise BadRowError(
        place, f"{column!r} is {short(value)}: it must be a text that is not empty, or messages with role and content"
    )


def read_episode(results: Path | None, row: Row, place: str) -> tuple[JsonObject, JsonObject]:
    """Return rLLM's run, and what an item's episode says: its `task`, and the `chat` of its last step.

    Raises `BadRowError` where the episode is not there: results alone hold no text.
    """
    if results is None:
        raise BadRowError(place, "rLLM's results hold no text: give the file in its run's folder")
    run = _read_run(results)
    number = int(row["idx"]) * max(1, int(run.get("attempts") or 1)) + int(row.get("attempt") or 0)
    files = sorted((results.parent / "episodes").glob(f"episode_{number:06d}_*.json"))
    if not files:
        raise BadRowError(
            place,
            f"no episodes/episode_{number:06d}_*.json beside {results.name}, and results hold no text: run "
            "`rllm eval` with episodes saved, or fetch them too",
        )
    episode = _read_object(files[0], place)
    steps = [step for trajectory in episode.get("trajectories") or () for step in trajectory.get("steps") or ()]
    chats = [step["chat_completions"] for step in steps if step.get("chat_completions")]
    if not chats:
        raise BadRowError(place, f"{files[0].name} has no step with chat_completions: remove the item")
    task = episode.get("task")
    return run, {"task": task if isinstance(task, Mapping) else {}, "chat": chats[-1]}


_runs: dict[tuple[Path, float], JsonObject] = {}


def _read_run(results: Path) -> JsonObject:
    key = (results, results.stat().st_mtime)
    if key not in _runs:
        _runs.clear()
        summary = _read_object(results, results.name)
        _runs[key] = {name: value for name, value in summary.items() if name != "items"}
    return _runs[key]


def _read_object(file: Path, place: str) -> JsonObject:
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise BadRowError(place, f"{file.name} cannot be read ({error}): write it again") from error
    if not isinstance(content, dict):
        raise BadRowError(place, f"{file.name} holds no JSON object: write it again")
    return content


def _is_list(value: object) -> bool:
    return isinstance(value, list | tuple)
