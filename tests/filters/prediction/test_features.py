"""What is read of prompts before their rollouts: columns, numbers and words, on the scale of the sampled ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from learnable.data.errors import LearnableError
from learnable.data.records import Message, Prompt
from learnable.filters.prediction.features import PromptFeatures, check_columns, is_rate


def prompt(text: str, columns: dict[str, Any] | None = None, **more: Any) -> Prompt:
    return Prompt(text, "number", {"answer": 1}, "f", "F", columns=columns or {}, **more)


def pool(columns: list[dict[str, Any]]) -> list[Prompt]:
    return [prompt(f"Add {7 * number} and 3.", row) for number, row in enumerate(columns)]


def encode(prompts: list[Prompt], columns: tuple[str, ...] = ()) -> Any:
    rows = np.arange(len(prompts))
    return PromptFeatures(prompts, columns).encode(rows, rows)


def test_columns_of_numbers_and_of_few_values_are_read() -> None:
    columns = [
        {
            "level": f"Level {number % 3}",
            "size": number,
            "cost": str(number / 2),
            "note": f"text {number}",
            "list": None,
        }
        for number in range(30)
    ]
    encoder = encode(pool(columns))
    assert encoder.numeric == ["cost", "size"]
    assert encoder.categories == {"level": ["Level 0", "Level 1", "Level 2"]}
    assert encoder.name_sources(words=True) == [
        "column cost",
        "column size",
        "column level",
        "numbers in the text",
        "its length",
        "its words",
    ]
    assert encode(pool(columns), ("level",)).numeric == []


def test_a_column_that_no_row_has_is_named() -> None:
    with pytest.raises(LearnableError, match=r"`predict_from` levle: no row .*did you mean level"):
        check_columns(pool([{"level": 1}] * 3), ["levle"])
    check_columns(pool([{"level": 1}] * 3), ["level", "difficulty"])


@pytest.mark.parametrize(
    ("name", "values", "found"),
    [
        ("llama8b_solve_rate", [0.0, 0.5, 1.0], True),
        ("solved_percentage", [0.0, 55.0, 100.0], True),
        ("pass@1", [0.2, 0.4, None], True),
        ("solve_rate", [0.1, 250.0, 0.3], False),
        ("level", [0.1, 0.2, 0.3], False),
        ("accuracy", ["high", "low", "low"], False),
    ],
)
def test_solve_rates_are_known_by_name_and_values(name: str, values: list[Any], found: bool) -> None:
    assert is_rate(name, pool([{name: value} for value in values])) is found


def test_neither_answers_nor_simulated_difficulties_are_read() -> None:
    same = [Prompt("Say it.", "simulated", {"rate": n / 40}, "f", "F", difficulty=n / 4) for n in range(40)]
    encoder = encode(same)
    assert not encoder.transform(np.arange(40), words=True).toarray().any()
    assert encode([prompt("Say it.", difficulty=n / 4) for n in range(40)]).numeric == ["difficulty"]


def test_features_are_the_same_for_any_part_of_the_pool() -> None:
    columns = [{"size": None if n % 7 == 1 else n, "solve_rate": 100 * (n % 3 == 1)} for n in range(60)]
    prompts = [prompt(f"Add {n} and {n * n}, please: word{n % 5}.", row) for n, row in enumerate(columns)]
    encoder = PromptFeatures(prompts).encode(np.arange(60), np.arange(40))
    whole = encoder.transform(np.arange(60), words=True).toarray()
    for first, end in ((50, 55), (57, 58), (54, 55)):  # two parts of one prompt: without a size, and with a rate of 0
        part = encoder.transform(np.arange(first, end), words=True).toarray()
        assert np.array_equal(whole[first:end], part)
    assert encoder.known_rates == ["solve_rate"]
    assert np.isfinite(whole).all()
    assert whole.shape[1] > 3000 > encoder.transform(np.arange(2), words=False).shape[1]


def test_odd_texts_and_chats_have_features() -> None:
    texts = ["", "x", "9" * 400, "½ of 1.5e300", "é" * 9000]
    chat = Prompt((Message("user", "Add 1 and 2."),), "number", {"answer": 3}, "f", "F")
    prompts = [*map(prompt, texts), chat]
    assert np.isfinite(encode(prompts).transform(np.arange(6), words=True).toarray()).all()
