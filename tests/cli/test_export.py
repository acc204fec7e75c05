"""`learnable export`: each target is read back by its own loader's steps, and its judge gives our verifier's reward."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from learnable.data.exports.targets import list_targets
from learnable.data.records import Message, Prompt
from learnable.data.sources.files.columns import Columns
from learnable.data.sources.files.prompts import file_prompts
from tests.cli.files_for_tests import Once, Run
from tests.data.exports.readers_for_tests import (
    READERS,
    ReadRow,
    Trace,
    import_file,
    with_open_instruct,
    with_skyrl,
)

SYSTEM = {"role": "system", "content": "Be brief."}


@pytest.fixture(autouse=True)
def no_stand_ins() -> Iterator[None]:
    """Take down what stands in for packages that are not installed."""
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] in ("verifiers", "skyrl_gym", "open_instruct")]:
        del sys.modules[name]


@pytest.fixture(params=["text", "chat"])
def made(request: pytest.FixtureRequest, run: Run, once: Once) -> str:
    """A curated set of sums, as texts or as chats with words of the system, whose judge is `number`."""
    return once(request.param, lambda: make_sums(run, request.param))


def make_sums(run: Run, kind: str) -> str:
    rows = [
        {
            "prompt": f"What is {n} + 1?" if kind == "text" else [SYSTEM, {"role": "user", "content": f"{n} + 1?"}],
            "completion": f"It is {n + 1 if draw < 2 + n % 5 else n}.",
            "reward": float(draw < 2 + n % 5),
            "answer": n + 1,
        }
        for n in range(30)
        for draw in range(8)
    ]
    Path("lines.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    arguments = ("lines.jsonl", "--store", "s", "--verifier", "number", "--workers", "0", "--json")
    status, out, err = run("import", *arguments)
    assert status == 0, err
    return str(json.loads(out)["curation"]["curated"])


def export(run: Run, made: str, to: str, *more: object) -> dict[str, Any]:
    status, out, err = run("export", made, "--to", to, "--output", to, "--json", *more)
    assert status == 0, err
    return dict(json.loads(out))


def rows_of(made: str, part: str = "train") -> list[dict[str, Any]]:
    return pl.read_parquet(list(Path(made).glob(f"{part}-*.parquet"))).to_dicts()


def as_messages(prompt: Any) -> list[dict[str, str]]:
    return [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt


@pytest.mark.parametrize("to", READERS)
def test_a_target_reads_the_sets_prompts_answers_and_certificates_in_order(to: str, made: str, run: Run) -> None:
    report = export(run, made, to)
    rows, read = rows_of(made), READERS[to](Path(to))
    assert len(rows) > 5
    assert report["rows"] == {"train": len(rows), "test": len(rows_of(made, "test"))}
    for row, found in zip(rows, read, strict=True):
        messages = as_messages(row["prompt"])
        assert found.prompt == (messages[-1:] if to == "nemo-rl" else messages)
        assert found.answer == str(json.loads(row["spec"])["answer"])
        for name in ("n", "passes", "mean", "p_in_band", "p_keep", "ci_low", "ci_high", "usable_at_g", "alpha"):
            assert found.certificate[name] == pytest.approx(row[name]), name
    again = export(run, made, to)
    assert again["changed"] == []
    assert set(again["files"]) == set(report["files"])


def test_every_target_is_read_here(run: Run) -> None:
    assert set(list_targets()) == {*READERS, "jsonl", "trl"}
    status, out, _ = run("export", "--help")
    assert status == 0
    assert all(name in " ".join(out.split()) for name in list_targets())


def judge_verl(folder: Path, row: ReadRow, said: str) -> float:
    return float(import_file(folder / "learnable_judge.py").compute_score(solution_str=said, **row.given)["score"])


def judge_slime(folder: Path, row: ReadRow, said: str) -> float:
    judge = import_file(folder / "learnable_judge.py").reward
    sample = row.given["sample"]
    sample.response = said
    [alone] = asyncio.run(judge(None, [sample]))  # as `batched_async_rm` calls it
    assert alone == asyncio.run(judge(None, sample))
    return float(alone)


def judge_openrlhf(folder: Path, row: ReadRow, said: str) -> float:
    prompt = row.given["prompt"]
    judge = import_file(folder / "learnable_judge.py").reward_func
    found = judge([f"{prompt}{said}<|im_end|>"], [prompt], [row.given["label"]])
    assert found["extra_logs"]["unscored"].tolist() == [0.0]
    return float(found["rewards"][0])


def judge_skyrl(folder: Path, row: ReadRow, said: str) -> float:
    registered = with_skyrl(sys.modules)
    module = import_file(folder / "learnable_env.py")
    assert registered == {"learnable": "learnable_env:LearnableEnv"}
    step = module.LearnableEnv(None, dict(row.given)).step(said)
    assert step["done"]
    return float(step["reward"])


def judge_open_instruct(folder: Path, row: ReadRow, said: str) -> float:
    with_open_instruct(sys.modules)
    verifier = import_file(folder / "learnable_judge.py").LearnableVerifier()
    assert verifier.name == "learnable"
    return float(verifier([], said, row.given["label"]).score)


def judge_areal(folder: Path, row: ReadRow, said: str) -> float:
    judge = import_file(folder / "learnable_judge.py").reward
    return float(judge("", said, [], [], **{name: value for name, value in row.given.items() if name != "prompt"}))


def judge_axolotl(folder: Path, row: ReadRow, said: str) -> float:
    judge = import_file(folder / "learnable_rewards.py").learnable_reward
    turns = [{"role": "assistant", "content": said}]
    return float(judge(prompts=[row.prompt], completions=[turns], learnable=[row.given["learnable"]])[0])


def judge_verifiers(folder: Path, row: ReadRow, said: str) -> float:
    return float(asyncio.run(row.given["task"].judge(Trace(said))))


JUDGES: dict[str, Callable[[Path, ReadRow, str], float]] = {
    "verl": judge_verl,
    "slime": judge_slime,
    "openrlhf": judge_openrlhf,
    "skyrl": judge_skyrl,
    "open-instruct": judge_open_instruct,
    "areal": judge_areal,
    "axolotl": judge_axolotl,
    "verifiers": judge_verifiers,
}


@pytest.mark.parametrize("to", JUDGES)
def test_a_targets_judge_gives_our_verifiers_reward(to: str, made: str, run: Run) -> None:
    export(run, made, to)
    row = READERS[to](Path(to))[0]
    right = int(row.answer)
    assert JUDGES[to](Path(to), row, f"It is {right}.") == 1.0
    assert JUDGES[to](Path(to), row, f"It is {right + 5}.") == 0.0


def test_every_judge_is_called_here() -> None:
    assert {name for name, target in list_targets().items() if target.judge} == {*JUDGES, "trl"}


def test_trl_and_jsonl_have_every_column_as_the_set_has_it(made: str, run: Run) -> None:
    from datasets import load_dataset

    export(run, made, "trl")
    files = str(Path("trl/train.parquet"))
    assert load_dataset("parquet", data_files=files, cache_dir="cache")["train"].to_list() == rows_of(made)
    judge = import_file(Path("trl/learnable_judge.py")).learnable_reward
    row = rows_of(made)[0]
    columns = {"verifier": [row["verifier"]], "spec": [row["spec"]]}
    answer = json.loads(row["spec"])["answer"]
    assert judge(prompts=[row["prompt"]], completions=[f"It is {answer}."], **columns) == [1.0]
    export(run, made, "jsonl")
    lines = [json.loads(line) for line in Path("jsonl/train.jsonl").read_text().splitlines()]
    assert lines == rows_of(made)


def as_prompts(rows: list[dict[str, Any]]) -> list[str]:
    return [row["prompt_id"] for row in rows]


def test_a_set_survives_the_way_through_jsonl_and_through_verl(made: str, run: Run) -> None:
    export(run, made, "jsonl")
    again = list(file_prompts("jsonl/train.jsonl", Columns()))
    assert [prompt.prompt_id for prompt in again] == as_prompts(rows_of(made))
    export(run, made, "verl", "--order", "curriculum")
    through = []
    for row in READERS["verl"](Path("verl")):
        record = json.loads(row.given["extra_info"]["learnable"])
        text = record["prompt"]
        question = text if isinstance(text, str) else tuple(Message(**turn) for turn in text)
        prompt = Prompt(question, record["verifier"], record["spec"], "f", "f")
        assert prompt.prompt_id == record["prompt_id"]
        through.append((prompt.prompt_id, dict(row.certificate)))
    kept = {row["prompt_id"]: row for row in rows_of(made)}
    assert {name for name, _ in through} == set(kept)
    means = [
        kept[name]["p_one"]
        + (1 - kept[name]["p_zero"] - kept[name]["p_one"])
        * kept[name]["alpha"]
        / (kept[name]["alpha"] + kept[name]["beta"])
        for name, _ in through
    ]
    assert means == sorted(means, reverse=True)
    for name, certificate in through:
        assert certificate == {column: kept[name][column] for column in certificate}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--to", "verll", "--output", "o"), "unknown export target 'verll': did you mean 'verl'"),
        (("--output", "o"), "--to is missing: name a trainer, one of jsonl, trl, verl"),
        (("--to", "verl"), "--output is missing: name a folder for what verl reads"),
        (("--to", "verl", "--output", "o", "--part", "preferences"), "--part preferences holds completions"),
        (("--to", "verl", "--output", "o", "--part", "tran"), "unknown part of a curated set 'tran'"),
        (("--to", "verl", "--output", "o", "--order", "random"), "--order 'random' is not known: choose one of set"),
        (("--to", "verl", "--output", "lines.jsonl"), "cannot write"),
    ],
)
def test_what_cannot_be_exported_is_named_with_its_fix(
    arguments: tuple[str, ...], told: str, run: Run, tmp_path: Path
) -> None:
    Path("lines.jsonl").write_text(
        "".join(
            json.dumps({"prompt": f"{n}?", "completion": "1", "reward": n % 2, "answer": 1}) + "\n" for n in range(4)
        )
    )
    made = json.loads(run("import", "lines.jsonl", "--store", "s", "--verifier", "number", "--json", "--workers", 0)[1])
    status, _, err = run("export", made["curation"]["curated"], *arguments)
    assert status == 2
    assert told in err


def test_a_judge_of_the_users_own_is_named_by_a_person(run: Run) -> None:
    Path("mine.py").write_text("def score(completion, **_):\n    return float('3' in completion)\n")
    rows = [
        {"prompt": f"Q{n}?", "completion": str(3 + d % 2), "reward": d % 2, "n": n} for n in range(6) for d in range(4)
    ]
    Path("lines.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    arguments = ("import", "lines.jsonl", "--store", "s", "--verifier", "mine.py:score", "--json", "--workers", 0)
    made = json.loads(run(*arguments)[1])["curation"]["curated"]
    export(run, made, "verl", "--verifier", "mine.py:score")
    assert "trust_verifier('mine.py:score')" in Path("verl/learnable_judge.py").read_text()
    assert export(run, made, "jsonl")["judge"] == ""
