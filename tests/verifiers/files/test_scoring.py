"""A file of completions becomes a file of scores; where no row can be scored, one message and nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from learnable.data.errors import LearnableError, UnknownNameError
from learnable.verifiers.files.rows import RowReader
from learnable.verifiers.files.scoring import CHUNK_ROWS, verify_file
from learnable.verifiers.registry import trust_verifier
from tests.support.domains import needs_poems

JUDGE = "judges_for_tests:Misbehaving"


def write_rows(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def read_rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def quiet(done: int, total: int) -> None:
    assert done <= total


def test_scores_keep_order_and_count(tmp_path: Path) -> None:
    answers = [index % 7 for index in range(2 * CHUNK_ROWS + 5)]
    rows = [
        {"completion": str(answer), "prompt": "1 + 2 = ", "spec": {"answer": 3}, "id": index}
        for index, answer in enumerate(answers)
    ]
    steps: list[tuple[int, int]] = []
    source = write_rows(tmp_path / "in.jsonl", rows)
    summary = verify_file(
        RowReader("arithmetic"), source, tmp_path / "new" / "out.jsonl", 2, lambda *step: steps.append(step)
    )
    scores = read_rows(tmp_path / "new" / "out.jsonl")
    assert [score["reward"] for score in scores] == [float(answer == 3) for answer in answers]
    assert [score["id"] for score in scores] == list(range(len(rows)))
    assert set(scores[0]) == {"id", "reward", "passed", "verdict", "components", "reason"}
    assert steps == [(512, 1029), (1024, 1029), (1029, 1029)]
    assert summary.verdicts == {"scored": 1029}
    assert summary.mean_reward == summary.pass_rate == answers.count(3) / 1029


@needs_poems
def test_form_stands_for_a_spec_and_joins_one(tmp_path: Path) -> None:
    haiku = "Rain on the tin roof\nthe old cat turns in her sleep\na door somewhere shuts"
    rows = [
        {"completion": haiku, "form": "haiku"},
        {"completion": haiku, "form": "haiku", "spec": {"topic": "rain"}},
        {"completion": haiku, "spec": {"form": "haiku", "topic": "snow"}},
        {"completion": "\ud800", "form": "haiku"},
    ]
    verify_file(RowReader("poetry"), write_rows(tmp_path / "in.jsonl", rows), tmp_path / "out.jsonl", 0, quiet)
    assert [row["passed"] for row in read_rows(tmp_path / "out.jsonl")] == [True, True, True, False]
    assert [row["components"].get("topic") for row in read_rows(tmp_path / "out.jsonl")] == [None, 1.0, 0.0, None]


def test_a_label_does_not_disturb_other_verifiers(tmp_path: Path) -> None:
    rows = [{"completion": "3", "form": "Addition", "spec": {"answer": 3}}]
    verify_file(RowReader("arithmetic"), write_rows(tmp_path / "in.jsonl", rows), tmp_path / "out.jsonl", 0, quiet)
    assert read_rows(tmp_path / "out.jsonl")[0]["passed"] is True


def test_unscored_rows_are_counted_and_left_out_of_the_mean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1]))
    rows = [{"completion": "raise"}, {"completion": "0.5"}]
    trust_verifier(JUDGE)
    summary = verify_file(RowReader(JUDGE), write_rows(tmp_path / "in.jsonl", rows), tmp_path / "out.jsonl", 1, quiet)
    assert (summary.rows, summary.mean_reward, summary.verdicts) == (2, 0.5, {"verifier_error": 1, "scored": 1})
    assert read_rows(tmp_path / "out.jsonl")[0]["reward"] is None
    only = verify_file(RowReader(JUDGE), write_rows(tmp_path / "one.jsonl", rows[:1]), tmp_path / "out.jsonl", 0, quiet)
    assert (only.mean_reward, only.pass_rate) == (None, None)


def test_blank_lines_windows_ends_and_a_byte_order_mark_are_no_rows(tmp_path: Path) -> None:
    source = tmp_path / "in.jsonl"
    source.write_bytes(
        b'\xef\xbb\xbf{"completion": "3", "spec": {"answer": 3}}\r\n\r\n{"completion": "4", "spec": {"answer": 3}}'
    )
    verify_file(RowReader("arithmetic"), source, tmp_path / "out.jsonl", 0, quiet)
    assert [row["reward"] for row in read_rows(tmp_path / "out.jsonl")] == [1.0, 0.0]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"completion": "3"', "line 2: not JSON"),
        (b"[" * 100_000, "line 2: not JSON"),
        (b'"3"', "line 2: '3' is not an object"),
        (b'{"completions": "3"}', "line 2: key 'completion' is missing"),
        (b'{"completion": 3}', "line 2: key 'completion' is 3: give a string"),
        (b'{"completion": ["3"]}', "line 2: key 'completion' is ['3']: give a string"),
        (b'{"completion": "3", "prompt": ["x"]}', "line 2: key 'prompt' is"),
        (b'{"completion": "3", "spec": "x"}', "line 2: key 'spec' is 'x': give an object"),
        (b'{"completion": "3", "form": 5}', "line 2: key 'form' is 5"),
        (b'{"completion": "3", "form": "a", "spec": {"form": "b"}}', "line 2: key 'form' is 'a' but"),
        (b'{"completion": "3"}', "line 2: spec key 'answer' is missing"),
        (b'{"completion": "3", "spec": {"answer": "x"}}', "line 2: spec key 'answer' is 'x': give a whole number"),
        (b'{"completion": "\xff"}', "line 2: not UTF-8"),
    ],
)
def test_a_bad_row_costs_itself_alone(line: bytes, message: str, tmp_path: Path) -> None:
    source, output = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    good = b'{"completion": "3", "spec": {"answer": 3}, "id": %d}\n'
    source.write_bytes(good % 1 + line + b"\n" + good % 3)
    summary = verify_file(RowReader("arithmetic"), source, output, 0, quiet)
    first, bad, last = read_rows(output)
    assert (first["reward"], first["id"], last["reward"], last["id"]) == (1.0, 1, 1.0, 3)
    assert (bad["reward"], bad["passed"], bad["verdict"]) == (None, None, "verifier_error")
    assert (summary.rows, summary.bad_rows, summary.mean_reward) == (3, 1, 1.0)
    for told in (bad["reason"], *summary.first_bad):
        assert str(source) in told
        assert message in told
        assert len(told) < 400


def test_where_every_row_is_bad_nothing_is_written(tmp_path: Path) -> None:
    source = write_rows(tmp_path / "in.jsonl", [{"completions": "3"}])
    with pytest.raises(LearnableError, match="line 1: key 'completion' is missing"):
        verify_file(RowReader("arithmetic"), source, tmp_path / "out.jsonl", 0, quiet)
    assert list(tmp_path.iterdir()) == [source]


def test_a_completion_that_is_null_is_no_zero(tmp_path: Path) -> None:
    spec = {"answer": 3}
    rows = [{"completion": None, "spec": spec}, {"completion": "3", "spec": spec}]
    rows.append({"completion": [{"role": "assistant", "content": None}], "spec": spec})
    source = write_rows(tmp_path / "in.jsonl", rows)
    summary = verify_file(RowReader("arithmetic"), source, tmp_path / "out.jsonl", 0, quiet)
    assert (summary.verdicts, summary.mean_reward) == ({"engine_error": 2, "scored": 1}, 1.0)
    assert summary.bad_rows == 0
    assert [row["reward"] for row in read_rows(tmp_path / "out.jsonl")] == [None, 1.0, None]


def test_chats_are_judged_by_their_last_turn(tmp_path: Path) -> None:
    question = {"role": "user", "content": "1 + 2 = "}
    said = {"role": "assistant", "content": "3"}
    parts = {"role": "assistant", "content": [{"type": "text", "text": "3"}]}
    spec = {"answer": 3}
    rows: list[dict[str, Any]] = [
        {"prompt": [question], "completion": [said], "spec": spec},
        {"prompt": [{"role": "system", "content": "Be brief."}, question], "completion": "4", "spec": spec},
        {"messages": [question, said], "spec": spec},
        {"prompt": "1 + 2 = ", "completion": [parts], "spec": spec},
    ]
    source = write_rows(tmp_path / "in.jsonl", rows)
    verify_file(RowReader("arithmetic"), source, tmp_path / "out.jsonl", 0, quiet)
    assert [row["reward"] for row in read_rows(tmp_path / "out.jsonl")] == [1.0, 0.0, 1.0, 1.0]


def test_rows_of_ifeval_bring_their_instructions(tmp_path: Path) -> None:
    row = {"instruction_id_list": ["punctuation:no_comma"], "kwargs": [{}]}
    rows = [row | {"completion": "One, two."}, row | {"completion": "One and two."}]
    source = write_rows(tmp_path / "in.jsonl", rows)
    verify_file(RowReader("instructions"), source, tmp_path / "out.jsonl", 0, quiet)
    assert [score["passed"] for score in read_rows(tmp_path / "out.jsonl")] == [False, True]


@pytest.mark.parametrize("content", ["", "\n\n"])
def test_an_empty_file_is_an_error(content: str, tmp_path: Path) -> None:
    source = tmp_path / "in.jsonl"
    source.write_text(content, encoding="utf-8")
    with pytest.raises(LearnableError, match="no rows"):
        verify_file(RowReader("arithmetic"), source, tmp_path / "out.jsonl", 0, quiet)


def test_unreadable_and_unwritable_places_are_named(tmp_path: Path) -> None:
    source = write_rows(tmp_path / "in.jsonl", [{"completion": "3", "spec": {"answer": 3}}])
    with pytest.raises(LearnableError, match=r"missing\.jsonl: cannot be read"):
        verify_file(RowReader("arithmetic"), tmp_path / "missing.jsonl", tmp_path / "out.jsonl", 0, quiet)
    with pytest.raises(LearnableError, match="cannot be read"):
        verify_file(RowReader("arithmetic"), tmp_path, tmp_path / "out.jsonl", 0, quiet)
    with pytest.raises(LearnableError, match="cannot be written"):
        verify_file(RowReader("arithmetic"), source, source / "out.jsonl", 0, quiet)
    with pytest.raises(LearnableError, match="cannot be written"):
        verify_file(RowReader("arithmetic"), source, tmp_path, 0, quiet)


@needs_poems
def test_unknown_verifiers_and_forms_offer_the_nearest(tmp_path: Path) -> None:
    source = write_rows(tmp_path / "in.jsonl", [{"completion": "3", "form": "hiaku"}])
    with pytest.raises(UnknownNameError, match="did you mean 'poetry'"):
        verify_file(RowReader("poetri"), source, tmp_path / "out.jsonl", 0, quiet)
    with pytest.raises(LearnableError, match="line 1: unknown poem form 'hiaku': did you mean 'Haiku'"):
        verify_file(RowReader("poetry"), source, tmp_path / "out.jsonl", 0, quiet)


def test_a_failure_half_way_leaves_the_old_scores(tmp_path: Path) -> None:
    source = write_rows(tmp_path / "in.jsonl", [{"completion": "3", "spec": {"answer": 3}}])
    (tmp_path / "out.jsonl").write_text("old", encoding="utf-8")

    def interrupt(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        verify_file(RowReader("arithmetic"), source, tmp_path / "out.jsonl", 0, interrupt)
    assert (tmp_path / "out.jsonl").read_text(encoding="utf-8") == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.jsonl", "out.jsonl"]


@needs_poems
def test_a_users_form_is_judged_by_its_declaration(tmp_path: Path) -> None:
    from learnable.verifiers.poetry.forms import load_forms

    forms = tmp_path / "mine.toml"
    forms.write_text('[Lantern]\ntitle = "paper lantern"\nsyllables = [1, 2, 3, 4, 1]\n', encoding="utf-8")
    poem = "lamp\nyellow\nin the dark\na window waits\nhome"
    rows = [{"completion": poem, "form": "Paper-Lantern"}, {"completion": poem, "form": "haiku"}]
    source = write_rows(tmp_path / "in.jsonl", rows)
    verify_file(RowReader("poetry", load_forms(forms)), source, tmp_path / "out.jsonl", 1, quiet)
    assert [score["passed"] for score in read_rows(tmp_path / "out.jsonl")] == [True, False]
    verify_file(RowReader("poetry"), source, tmp_path / "out.jsonl", 0, quiet)
    assert "unknown poem form" in read_rows(tmp_path / "out.jsonl")[0]["reason"]
