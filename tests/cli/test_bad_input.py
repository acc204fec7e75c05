"""The command line without an engine: help, bad input, what goes to stdout."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from learnable.data.errors import LearnableError
from tests.cli.files_for_tests import Run
from tests.support.domains import needs_poems


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--form", "additon"], "unknown form 'additon': did you mean 'Addition'"),
        (["--family", "comparson"], "unknown family 'comparson': did you mean 'comparison'"),
        (["--band", "0.8", "0.2"], "--band 0.8 0.2"),
        (["--group-size", "1"], "--group-size 1"),
        (["--knob", "largest"], "--knob 'largest' is not NAME=VALUE"),
        (["--family", "arithmetic", "--knob", "lagest=3"], "no knob 'lagest': did you mean"),
        (["--policy", "./nowhere"], "policy 'nowhere' does not exist"),
        (["--engine", "vlm"], "unknown engine 'vlm': did you mean 'vllm'"),
        (["--limit", "0"], "--limit 0"),
        (["--prompts", "missing.jsonl"], "'missing.jsonl' does not exist"),
        (["--prompts", "x.jsonl", "--form", "haiku"], "leave out --form"),
        (["--by", "vibes"], "--by 'vibes' is not known: choose one of reward, pass"),
        (["--top-p", "0"], "--top-p 0 is out of range: give more than 0 and at most 1"),
        (["--top-p", "1.5"], "--top-p 1.5 is out of range"),
        (["--top-p", "nan"], "--top-p nan is out of range"),
        (["--temperature", "-1"], "--temperature -1 is out of range: give more than 0"),
        (["--temperature", "nan"], "--temperature nan is out of range"),
        (["--temperature", "inf"], "--temperature inf is out of range"),
        (["--max-tokens", "0"], "--max-tokens 0 is out of range: give 1 or more"),
        (["--engine-patience", "nan"], "--engine-patience nan is out of range"),
        (["--truncated", "maybe"], "--truncated 'maybe'"),
        (["--predict", "on"], "--predict 'on' is not known: choose one of auto, off"),
        (["--predict", "off", "--predict-from", "level"], "--predict-from level is for --predict auto"),
        (["--family", "arithmetic", "--predict-from", "level"], "--predict-from level: no row of the prompts has"),
        (["--store", "file"], "store 'file' cannot be made"),
    ],
)
def test_bad_input_is_one_message_and_status_2(run: Run, tmp_path: Path, arguments: list[str], message: str) -> None:
    (tmp_path / "file").write_text("")
    status, out, err = run("find", *arguments)
    assert status == 2
    assert out == ""
    assert err.startswith("error: ")
    assert message in err
    assert "Traceback" not in err
    assert not list(tmp_path.rglob("curated/*"))


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("chat_template=/x", "--engine-arg chat_template has no use here: prompts are written with the template of"),
        ("model=other", "--engine-arg model has no use here: name the policy with --policy"),
        ("max_num_seq=4", "unknown --engine-arg 'max_num_seq': did you mean 'max_num_seqs'"),
        ("max_num_seqs=lots", "--engine-arg max_num_seqs=lots: it takes a whole number"),
        ("gpu_memory_utilization=most", "--engine-arg gpu_memory_utilization=most: it takes a number"),
    ],
)
@pytest.mark.parametrize("engine", ["vllm", "ray"])
def test_an_option_of_the_engine_is_refused_before_anything_starts(
    run: Run, option: str, message: str, engine: str
) -> None:
    words = ["find", "--family", "arithmetic", "--limit", "2", "--engine", engine, "--engine-arg", option]
    status, out, err = run(*words)
    assert (status, out) == (2, "")
    assert err.startswith(f"error: {message}")  # and no word of a server or an engine that starts


@pytest.mark.parametrize("how", [["--no-prefect"], ["--every", "60"]])
def test_an_option_of_the_simulated_engine_too(run: Run, how: list[str]) -> None:
    words = ["find", "--engine", "simulated", "--family", "simulated", "--engine-arg", "tokens=0", *how]
    status, _, err = run(*words)
    assert status == 2
    assert err.startswith("error: simulated engine option tokens=0: ")


def test_an_option_that_only_vllm_can_refuse_is_refused_before_a_server_starts(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: object) -> None:
        raise LearnableError("--engine-arg max_num_seqs=0: Input should be greater than or equal to 1")

    monkeypatch.setattr("learnable.flows.launch.engine_for", refuse)
    status, _, err = run("find", "--family", "arithmetic", "--limit", 2, "--engine-arg", "max_num_seqs=0", "--prefect")
    assert status == 2
    assert "Prefect" not in err
    assert err.endswith("error: --engine-arg max_num_seqs=0: Input should be greater than or equal to 1")


@needs_poems
def test_a_name_among_hundreds_is_answered_by_where_they_are_listed(run: Run) -> None:
    for words in (["find", "--form", "qqq"], ["forms", "qqq"], ["explain", "--form", "qqq", "poem.txt"]):
        Path("poem.txt").write_text("x")
        status, _, err = run(*words)
        assert status == 2
        assert err.startswith("error: unknown ")
        assert "'qqq': `learnable forms` lists all " in err
        assert len(err) < 100


def test_a_wrong_flag_names_the_right_one(run: Run) -> None:
    status, _, err = run("find", "--grup-size", "8")
    assert status == 2
    assert "--group-size" in err


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"prompt": "2 + 2 = ", "spec": {"answer": 4}, "verifier": "arithmetics"}', "unknown verifier 'arithmetics'"),
        ('{"prompt": "2 + 2 = ", "spec": {"answer": 4', "q.jsonl, line 1: not valid JSON"),
        (
            '{"prompt": "x", "verifier": "programs", "spec": {"entry": "f", "cases": [3]}}',
            "[[argument, ...], expected]",
        ),
        ('{"prompt": "2 + 2 = ", "verifier": "no.such.module:Judge", "spec": {}}', "is code that data names"),
    ],
)
def test_bad_prompt_files_are_named(run: Run, tmp_path: Path, line: str, message: str) -> None:
    (tmp_path / "q.jsonl").write_text(line)
    status, _, err = run("find", "--prompts", "q.jsonl")
    assert status == 2
    assert message in err


def test_doctor_says_how_well_programs_are_confined(run: Run) -> None:
    status, out, _ = run("doctor", "--json")
    findings = json.loads(out)
    assert findings["rung"] in ("A", "B", "C", None)
    assert status == (1 if findings["rung"] is None else 0)
    status, out, _ = run("doctor")
    assert findings["meaning"] in out
    assert all(step in out for step in findings["advice"])


@needs_poems
def test_forms_lists_every_family(run: Run) -> None:
    status, out, _ = run("forms", "--json")
    assert status == 0
    listed = {family["family"]: family["forms"] for family in json.loads(out)}
    assert {"arithmetic", "comparison", "counting", "poetry", "programs"} <= set(listed)
    assert "Sonnet" in listed["poetry"]


def test_forms_are_shown_to_people_too(run: Run) -> None:
    status, out, _ = run("forms")
    assert status == 0
    assert "FizzBuzz" in out
    assert "EditDistance" in out


def test_verify_scores_a_file_in_order(run: Run, tmp_path: Path) -> None:
    rows = [{"completion": "4", "spec": {"answer": 4}}, {"completion": "5", "spec": {"answer": 4}}]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    files = ("--input", "in.jsonl", "--output", "out.jsonl")
    status, out, err = run("verify", "--verifier", "arithmetic", *files, "--json", "--quiet", "--workers", 0)
    assert (status, err) == (0, "")
    assert json.loads(out)["mean_reward"] == 0.5
    scored = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [row["reward"] for row in scored] == [1.0, 0.0]
    assert set(scored[0]) == {"reward", "passed", "verdict", "components", "reason"}


@needs_poems
def test_explain_shows_a_poem_and_what_is_wrong_with_it(run: Run, tmp_path: Path) -> None:
    poem = tmp_path / "poem.txt"
    poem.write_text("Rain on the tin roof\nthe old cat turns in her sleep\na door shuts")
    status, out, _ = run("explain", "--form", "haiku", poem)
    assert status == 0
    assert "line 3: 3 syllables, 5 wanted" in out
    _, out, _ = run("explain", "--form", "haiku", "--json", poem)
    assert [line["wanted_syllables"] for line in json.loads(out)["lines"]] == ["5", "7", "5"]


@needs_poems
@pytest.mark.parametrize(
    ("option", "row", "answer"),
    [
        ("--rhyme-scheme", {"lines": ["a long night", "no moon", "a small light", "home soon"]}, ["scheme"]),
        ("--scansion", {"line": "The plowman homeward plods", "metre": "iambic"}, ["syllables", "stress", "metre"]),
    ],
)
def test_explain_reads_files(run: Run, tmp_path: Path, option: str, row: dict[str, object], answer: list[str]) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text(json.dumps(row) + "\n" + json.dumps(row) + "\n")
    _, out, err = run("explain", option, file)
    assert [list(json.loads(line)) for line in out.splitlines()] == [answer, answer], err


@needs_poems
@pytest.mark.parametrize(
    ("arguments", "names"),
    [([], "--form is missing"), (["--form", "haiku", "--spec", "{"], "not JSON"), (["--form", "hiaku"], "Haiku")],
)
def test_explain_says_what_is_missing(run: Run, tmp_path: Path, arguments: list[str], names: str) -> None:
    poem = tmp_path / "poem.txt"
    poem.write_text("x")
    status, _, err = run("explain", *arguments, poem)
    assert status == 2
    assert names in err
