"""Rows of instructions, as IFEval has them: ids, and arguments in whatever form tables keep them."""

from __future__ import annotations

from typing import Any

import pytest

from learnable.data.sources.files.bad_rows import BadRowError
from learnable.data.sources.files.columns import Columns
from learnable.data.sources.files.layouts.recognition import recognise
from learnable.data.sources.files.rows import prompts_from_rows
from learnable.verifiers.registry import find_verifier
from tests.data.sources.files.layouts.rows_for_tests import IFEVAL, Row, place, read

MANY = {"num_words": 300, "relation": "at least"}
WANTED = {"instructions": [{"id": "punctuation:no_comma"}, {"id": "length_constraints:number_words", **MANY}]}


@pytest.mark.parametrize(
    "kwargs",
    [
        [{}, MANY],
        [{"relation": None, "num_words": None, "language": None}, {**MANY, "language": None}],
        [{"num_words": float("nan")}, {**MANY, "num_words": 300.0, "keywords": float("nan")}],
        [None, MANY],
        '[{}, {"num_words": 300, "relation": "at least"}]',
        "[{'num_words': None}, {'num_words': 300, 'relation': 'at least'}]",
        '[{"num_words": NaN}, {"num_words": 300.0, "relation": "at least"}]',
        ["{}", '{"num_words": 300, "relation": "at least"}'],
        {"num_words": [None, 300], "relation": [None, "at least"], "keywords": [None, None]},
    ],
)
def test_arguments_of_instructions_as_tables_have_them(kwargs: Any) -> None:
    ids = ["punctuation:no_comma", "length_constraints:number_words"]
    [prompt] = read([IFEVAL | {"instruction_id_list": ids, "kwargs": kwargs}])
    assert (prompt.verifier, prompt.spec) == ("instructions", WANTED)
    find_verifier(prompt.verifier).check_spec(prompt.spec)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"kwargs": [{}, {}]},
            r"line 2: .*\['punctuation:no_comma'\]: their arguments are 2 objects: give a list of 1",
        ),
        ({"kwargs": []}, r"line 2: .*their arguments are \[\]: give a list of 1 objects"),
        ({"kwargs": MANY}, r"line 2: .*their arguments are \{'num_words'.*give a list of 1 objects"),
        ({"kwargs": ["many"]}, r"line 2: .*their arguments are \['many'\]"),
        ({"kwargs": "many"}, r"line 2: .*their arguments are 'many'"),
        ({"kwargs": 3}, r"line 2: .*their arguments are 3: give a list of 1 objects"),
        (
            {"instruction_id_list": "no_comma"},
            r"line 2: column 'instruction_id_list' is 'no_comma': give a list of ids",
        ),
        ({"instruction_id_list": [3]}, r"line 2: column 'instruction_id_list' is \[3\]: give a list of ids"),
        ({"instruction_id_list": []}, r"line 2: column 'instruction_id_list' is \[\]: give a list of ids"),
    ],
)
def test_instructions_that_do_not_fit_are_named(change: Row, message: str) -> None:
    with pytest.raises(BadRowError, match=message):
        read([IFEVAL, IFEVAL | change])


@pytest.mark.parametrize("kwargs", [None, "", "null", "nan", float("nan")])
def test_instructions_of_a_row_without_arguments(kwargs: Any) -> None:
    first, second = read([IFEVAL, IFEVAL | {"kwargs": kwargs}])
    assert first.spec == second.spec == {"instructions": [{"id": "punctuation:no_comma"}]}


def test_instructions_may_all_be_judged_loosely() -> None:
    columns = Columns(spec={"loose": True})
    [prompt] = prompts_from_rows(place([IFEVAL]), columns, "q", layout=recognise(place([IFEVAL]), columns))
    assert prompt.spec == {"loose": True, "instructions": [{"id": "punctuation:no_comma"}]}


def test_a_judge_of_ones_own_has_the_columns_of_instructions() -> None:
    [prompt] = read([IFEVAL], verifier="judge.py:score")
    assert prompt.spec["instruction_id_list"] == ["punctuation:no_comma"]
