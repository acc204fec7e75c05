"""Files of rollouts: which format they are, what a row of each says, and what is no rollout."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from learnable.data.errors import LearnableError
from learnable.data.sources.rollouts.files import open_rollout_files
from learnable.data.sources.rollouts.formats import FORMATS
from tests.data.sources.rollouts.layouts_for_tests import MODEL, WRITERS, ask, write_gym, write_samples, write_trl

OUTCOMES = [[True, False, True], [False, False, True]]


@pytest.mark.parametrize("name", WRITERS)
def test_each_layout_says_the_same(name: str, tmp_path: Path) -> None:
    files = open_rollout_files([str(WRITERS[name](tmp_path / "run", OUTCOMES))])
    assert files.format.name == name
    survey = files.survey()
    assert (survey.rollouts, survey.unrewarded, survey.bad_rows) == (6, 0, 0)
    rows = list(files.read())
    assert len({key for key, _ in rows}) == 6
    assert sorted(one.reward for _, one in rows) == [0.0, 0.0, 0.0, 1.0, 1.0, 1.0]
    assert [one.completion for _, one in rows][:2] == ["The answer is 1.", "The answer is 2."]
    prompts = {one.prompt if isinstance(one.prompt, str) else one.prompt[0].content for _, one in rows}
    assert prompts == {ask(0), ask(1)}
    assert len(survey.questions) == 2
    assert set(survey.models) == {"" if name in ("trl", "lm-eval") else MODEL}
    if name != "trl":  # it logs no answer
        assert {str(one.row["answer"]) for _, one in rows} == {"1", "2"}


def test_every_format_has_a_file_here() -> None:
    assert {each.name for each in FORMATS} == set(WRITERS)


def test_columns_that_differ_within_a_group_are_no_columns_of_its_prompt(tmp_path: Path) -> None:
    survey = open_rollout_files([str(write_gym(tmp_path, OUTCOMES))]).survey()
    assert all("extracted_answer" not in question.row for question in survey.questions.values())
    assert all("expected_answer" in question.row for question in survey.questions.values())


def test_a_filter_and_a_reward_column_are_chosen_by_name(tmp_path: Path) -> None:
    samples = str(write_samples(tmp_path, OUTCOMES))
    loose = [one.reward for _, one in open_rollout_files([samples], "exact_match,flexible-extract").read()]
    assert loose == [0.0, 1.0, 0.0, 1.0, 1.0, 0.0]
    trl = str(write_trl(tmp_path, OUTCOMES))
    with pytest.raises(LearnableError, match=r"no column of rewards \(there are: step, .*\): name one with `reward`"):
        open_rollout_files([trl], "style").survey()


def test_likelihoods_are_no_completions(tmp_path: Path) -> None:
    file = write_samples(tmp_path, OUTCOMES)
    rows = [json.loads(line) | {"resps": [[[-1.5, True]]]} for line in file.read_text().splitlines()]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(LearnableError, match="likelihoods and no completions"):
        open_rollout_files([str(file)]).survey()


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"reward": "good"}, r"rollouts.jsonl, line 2: column 'reward' is 'good': it must be a number, or null"),
        ({"response": {"output": []}}, r"line 2: 'response.output' has no message of the assistant's"),
        ({"responses_create_params": 7}, r"line 2: column 'responses_create_params' is 7: it must be an object"),
        ({"responses_create_params": {"input": []}}, r"line 2: 'responses_create_params.input' is \[\]: it must be"),
        ({"response": 3}, r"line 2: not a row of NeMo Gym rollouts"),
    ],
)
def test_a_row_that_is_no_rollout_is_named(change: dict[str, object], told: str, tmp_path: Path) -> None:
    file = write_gym(tmp_path, OUTCOMES)
    lines = file.read_text().splitlines()
    lines[1] = json.dumps(json.loads(lines[1]) | change)
    file.write_text("\n".join(lines))
    with pytest.raises(LearnableError, match=told):
        open_rollout_files([str(file)]).survey()
    survey = open_rollout_files([str(file)], skip_bad_rows=True).survey()
    assert (survey.rollouts, survey.bad_rows) == (5, 1)


def test_files_that_are_none_and_files_of_two_formats_are_refused(tmp_path: Path) -> None:
    other = tmp_path / "other.jsonl"
    other.write_text('{"question": "?"}\n')
    with pytest.raises(LearnableError, match=r"has the columns question, and is neither a count table .* TRL compl"):
        open_rollout_files([str(other)])
    with pytest.raises(LearnableError, match=r"rollouts.jsonl is NeMo Gym rollouts, completions_00001.parquet is TRL"):
        open_rollout_files([str(write_gym(tmp_path, OUTCOMES)), str(write_trl(tmp_path, OUTCOMES))])
