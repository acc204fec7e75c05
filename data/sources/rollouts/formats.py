"""The files that rollouts are imported from: which columns tell a format, and what its rows mean.

Each format was read in the source of the program that writes it, which is named beside it. A format is recognised by
its columns alone, never by a file's name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from learnable.data.records import FinishReason, JsonObject, PromptText, Row
from learnable.data.sources.files.bad_rows import BadRowError
from learnable.data.sources.rollouts.values import chat_or_text, last_text, read_episode, read_number, short

FIRST_ROWS = 3  # rows by which a file is recognised


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """One completion that somebody else's program made of a question, and what it was worth there.

    `reward` is the number as the file has it, None where it has none; `passed` is None where the file does not say.
    `row` has the prompt's other columns, the right `answer` among them where it is known. `num_tokens` is 0 where
    nobody counted.
    """

    place: str
    prompt: PromptText
    completion: str
    reward: float | None
    passed: bool | None = None
    components: Mapping[str, float] = field(default_factory=dict)
    row: JsonObject = field(default_factory=dict)
    model: str = ""
    form: str = ""
    finish_reason: FinishReason = "stop"
    num_tokens: int = 0
    key: Row = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which of a file's numbers is the reward (`reward`, "" for the format's own), the file, and its `first` row."""

    file: Path | None = None
    reward: str = ""
    first: Row = field(default_factory=dict)


RolloutReader = Callable[[str, Row, Wanted], Iterable[Imported]]


@dataclass(frozen=True, slots=True)
class RolloutFormat:
    """A layout of rollouts: its `name`, in words (`title`), the columns that tell it, and what reads one row."""

    name: str
    title: str
    columns: tuple[str, ...]
    read: RolloutReader


def recognise_rollouts(rows: Sequence[Row]) -> RolloutFormat | None:
    """Return the first format whose columns all of these rows have, None where there is none."""
    return next((f for f in FORMATS if rows and all(set(f.columns) <= row.keys() for row in rows)), None)


def describe_formats() -> str:
    """Return what a file may be, for messages."""
    return "; ".join(f"{each.title} ({', '.join(each.columns)})" for each in FORMATS)


def _read_gym(place: str, row: Row, wanted: Wanted) -> Iterator[Imported]:
    """NVIDIA-NeMo/Gym, nemo_gym/cli/eval.py and data/example_rollouts.jsonl of its environments."""
    request, response = _object(row, "responses_create_params", place), row.get("response") or {}
    usage = response.get("usage") or {}
    cut = (response.get("incomplete_details") or {}).get("reason") == "max_output_tokens"
    system = [{"role": "system", "content": request["instructions"]}] if request.get("instructions") else []
    prompt = request.get("input")
    turns = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else list(prompt or ())
    inner = {"responses_create_params", "response", "reward", "_ng_task_index", "_ng_rollout_index", "agent_ref"}
    rest = {name: value for name, value in row.items() if name not in inner}
    yield Imported(
        place=place,
        prompt=chat_or_text([*system, *turns], place, "responses_create_params.input"),
        completion=last_text(response.get("output") or (), place, "response.output"),
        reward=read_number(row, wanted.reward or "reward", place),
        components=_booleans(rest),
        row=_with_answer(rest, "expected_answer", "label", "ground_truth"),
        model=str(response.get("model") or ""),
        form=str((row.get("agent_ref") or {}).get("name") or ""),
        finish_reason="length" if cut else "stop",
        num_tokens=int(usage.get("output_tokens") or 0),
        key=row,
    )


def _read_traces(place: str, row: Row, wanted: Wanted) -> Iterator[Imported]:
    """PrimeIntellect-ai/verifiers, verifiers/v1/cli/output.py (an episode a line), trace.py, graph.py, task.py."""
    env = (row.get("env") or {}).get("id") or ""
    for trace in row["traces"]:
        nodes = trace.get("nodes") or ()
        first = next((number for number, node in enumerate(nodes) if node.get("sampled")), None)
        if first is None:
            continue  # it failed before the model answered
        data = dict((trace.get("task") or {}).get("data") or {})
        calls = [call for call in trace.get("calls") or () if not call.get("error")]
        last = calls[-1] if calls else {}
        answered = [node["message"] for node in nodes if node.get("sampled")]
        rewards = {name: value for name, value in (trace.get("rewards") or {}).items() if value is not None}
        yield Imported(
            place=place,
            prompt=chat_or_text([node["message"] for node in nodes[:first]], place, "traces.nodes"),
            completion=last_text(answered, place, "traces.nodes"),
            reward=_sum_rewards(rewards, wanted.reward, place),
            components={str(name): float(value["score"]) for name, value in rewards.items()},
            row=_with_answer({k: v for k, v in data.items() if k not in ("prompt", "system_prompt")}, "answer"),
            model=str(last.get("model") or ""),
            form=str((trace.get("task") or {}).get("type") or env),
            finish_reason="length" if _is_cut(trace, last) else "stop",
            num_tokens=sum(int((call.get("usage") or {}).get("completion_tokens") or 0) for call in calls),
            key=trace,
        )


def _read_rllm(place: str, row: Row, wanted: Wanted) -> Iterator[Imported]:
    """rllm-org/rllm, rllm/eval/results.py (items) and rllm/eval/curation.py (episodes beside them)."""
    run, episode = read_episode(wanted.file, row, place)
    turns = episode.get("chat") or ()
    task = dict(episode.get("task") or {})
    reward = read_number(row, wanted.reward, place) if wanted.reward in row else _signal(row, wanted.reward, place)
    yield Imported(
        place=place,
        prompt=chat_or_text(turns[:-1], place, "trajectories.steps.chat_completions"),
        completion=last_text(turns[-1:], place, "trajectories.steps.chat_completions"),
        reward=None if row.get("error") else reward,
        passed=bool(row["is_correct"]),
        components={str(name): float(value) for name, value in (row.get("signals") or {}).items()},
        row=_with_answer(task, "ground_truth", "answer"),
        model=str(run.get("model") or ""),
        form=str(run.get("dataset_name") or ""),
        key={"run": [run.get("dataset_name"), run.get("model"), run.get("timestamp")], "row": row},
    )


def _read_trl(place: str, row: Row, wanted: Wanted) -> Iterator[Imported]:
    """huggingface/trl, trl/trainer/grpo_trainer.py (`log`): a column for each reward function, and no sum of them."""
    others = {name: value for name, value in row.items() if name not in ("step", "prompt", "completion", "advantage")}
    rewards = {name: value for name, value in others.items() if isinstance(value, float)}
    chosen = [wanted.reward] if wanted.reward else list(rewards)
    if not chosen or (wanted.reward and wanted.reward not in others):
        raise BadRowError(place, f"no column of rewards (there are: {', '.join(row)}): name one with `reward`")
    given = [value for name in chosen if (value := read_number(others, name, place)) is not None]
    completion = row["completion"]
    yield Imported(
        place=place,
        prompt=chat_or_text(row["prompt"], place, "prompt"),
        completion=completion if isinstance(completion, str) else last_text(completion or (), place, "completion"),
        reward=sum(given) / len(given) if given else None,
        passed=others["passed"] if isinstance(others.get("passed"), bool) else None,  # ours log it
        components={name: float(value) for name, value in rewards.items()} if len(rewards) > 1 else {},
        row=_with_answer({k: v for k, v in others.items() if k not in rewards}, "answer", "solution", "ground_truth"),
        key=row,
    )


def _read_samples(place: str, row: Row, wanted: Wanted) -> Iterator[Imported]:
    """EleutherAI/lm-evaluation-harness, lm_eval/evaluator.py and loggers/evaluation_tracker.py (`samples_*.jsonl`).

    A file has the same completions once a filter: one filter's rows are read, "exact_match,strict-match" names it.
    """
    wanted_metric, _, wanted_filter = wanted.reward.partition(",")
    if row.get("filter") != (wanted_filter or wanted.first.get("filter")):
        return
    arguments = row["arguments"]
    first: Row = next(iter(arguments.values()), {}) if isinstance(arguments, Mapping) else {}
    answers = row["resps"][0] if row["resps"] else ()
    if not all(isinstance(answer, str) for answer in answers):
        raise BadRowError(place, f"'resps' holds {short(answers)}, likelihoods and no completions: nothing to import")
    names = row.get("metrics") or ()
    metric = wanted_metric or next(iter(names), "")
    if metric not in row:
        raise BadRowError(place, f"no metric {metric!r} (there are: {', '.join(names)}): name one with `reward`")
    reward = read_number(row, metric, place) if len(answers) == 1 else None  # one figure for all of them is nobody's
    for answer in answers:
        yield Imported(
            place=place,
            prompt=chat_or_text(first.get("arg_0"), place, "arguments"),
            completion=answer,
            reward=reward,
            row={**(row["doc"] if isinstance(row["doc"], Mapping) else {}), "answer": row.get("target")},
            form=_name_task(wanted.file),
            key={name: row.get(name) for name in ("doc_hash", "prompt_hash", "resps", "arguments")},
        )


def _read_plain(place: str, row: Row, wanted: Wanted) -> Iterator[Imported]:
    """Our own lines."""
    inner = {"prompt", "completion", "reward", "passed", "model", "num_tokens", "finish_reason", "components"}
    completion, passed = row["completion"], row.get("passed")
    yield Imported(
        place=place,
        prompt=chat_or_text(row["prompt"], place, "prompt"),
        completion=completion if isinstance(completion, str) else last_text(completion or (), place, "completion"),
        reward=read_number(row, wanted.reward or "reward", place),
        passed=passed if isinstance(passed, bool) else None,
        components=dict(row.get("components") or {}),
        row={name: value for name, value in row.items() if name not in inner},
        model=str(row.get("model") or ""),
        form=str(row.get("form") or ""),
        finish_reason="length" if row.get("finish_reason") == "length" else "stop",
        num_tokens=int(read_number(row, "num_tokens", place) or 0) if row.get("num_tokens") is not None else 0,
        key=row,
    )


FORMATS = (
    RolloutFormat("nemo-gym", "NeMo Gym rollouts", ("responses_create_params", "response", "reward"), _read_gym),
    RolloutFormat("verifiers", "verifiers traces", ("traces",), _read_traces),
    RolloutFormat("rllm", "rLLM results", ("idx", "reward", "is_correct"), _read_rllm),
    RolloutFormat("trl", "TRL completions", ("step", "prompt", "completion", "advantage"), _read_trl),
    RolloutFormat("lm-eval", "lm-eval samples", ("doc_id", "doc", "arguments", "resps"), _read_samples),
    RolloutFormat("plain", "prompts with completions", ("prompt", "completion", "reward"), _read_plain),
)


def _object(row: Row, column: str, place: str) -> Row:
    value = row.get(column)
    if not isinstance(value, Mapping):
        raise BadRowError(place, f"column {column!r} is {short(value)}: it must be an object")
    return value


def _with_answer(row: Row, *names: str) -> JsonObject:
    """Return the row with the first of these columns that it has as its `answer`, unless it has one."""
    answer = next((row[name] for name in names if row.get(name) is not None), None)
    return dict(row) if answer is None or row.get("answer") is not None else {**row, "answer": answer}


def _booleans(row: Row) -> dict[str, float]:
    return {str(name): float(value) for name, value in row.items() if isinstance(value, bool)}


def _sum_rewards(rewards: Mapping[str, Any], wanted: str, place: str) -> float | None:
    """Return the weighted sum, as verifiers' `Trace.reward`; None where nothing scored, which is no zero."""
    if wanted and wanted not in rewards:
        raise BadRowError(place, f"no reward {wanted!r} (there are: {', '.join(rewards)}): name one with `reward`")
    if wanted:
        return float(rewards[wanted]["score"])
    return sum(float(one["score"]) * float(one.get("weight", 1.0)) for one in rewards.values()) if rewards else None


def _is_cut(trace: Row, last: Row) -> bool:
    limits = ("max_turns", "max_input_tokens", "max_output_tokens", "max_total_tokens", "context_length")
    return trace.get("stop_condition") in limits or last.get("finish_reason") == "length"


def _signal(row: Row, name: str, place: str) -> float | None:
    if not name:
        return read_number(row, "reward", place)
    return read_number(row.get("signals") or {}, name, place)


def _name_task(file: Path | None) -> str:
    """Return the task of `samples_TASK_DATE.jsonl`."""
    name = file.name if file is not None else ""
    return name.removeprefix("samples_").rpartition("_")[0] if name.startswith("samples_") else ""
