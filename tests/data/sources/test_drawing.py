from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from learnable.data.records import Prompt
from learnable.data.sources import drawing
from learnable.data.sources.drawing import draw_prompts, take_prompts


def prompt(number: int, form: str = "A", difficulty: float | None = None, **columns: object) -> Prompt:
    return Prompt(f"{number}", "arithmetic", {"answer": number}, "f", form, difficulty, columns=columns)


ROWS = st.lists(
    st.builds(prompt, st.integers(0, 30), st.sampled_from("ABC"), st.sampled_from([None, 1.0, 3.4, 350.0])), min_size=1
)


@given(ROWS, st.integers(0, 3), st.randoms())
def test_the_order_of_rows_decides_nothing(rows: list[Prompt], seed: int, shuffler: random.Random) -> None:
    shuffled = list(rows)
    shuffler.shuffle(shuffled)
    first, second = draw_prompts(rows, None, seed), draw_prompts(shuffled, None, seed)
    assert first.prompts == second.prompts  # with family, form and difficulty, which repeats may have of their own
    assert first.duplicates == second.duplicates == len(rows) - len({row.prompt_id for row in rows})


@given(ROWS, st.integers(0, 3), st.integers(1, 40))
def test_a_limit_takes_the_first_of_the_draw(rows: list[Prompt], seed: int, limit: int) -> None:
    distinct = list({row.prompt_id: row for row in rows}.values())
    assert draw_prompts(distinct, limit, seed).prompts == draw_prompts(distinct, None, seed).prompts[:limit]


def test_a_repeat_with_other_columns_is_the_same_in_any_order() -> None:
    copies = [prompt(1, note="b"), prompt(1, note="a"), prompt(1, note="c")]
    kept = {str(draw_prompts(order, None, 0).prompts[0].columns) for order in (copies, copies[::-1])}
    assert kept == {"{'note': 'a'}"}


def test_a_longer_file_keeps_the_order_of_a_shorter_one() -> None:
    rows = [prompt(number) for number in range(400)]
    longer = draw_prompts(rows, None, 5).prompts
    shorter = {row.prompt_id for row in rows[:150]}
    assert [p for p in longer if p.prompt_id in shorter] == draw_prompts(rows[:150], None, 5).prompts


def test_a_stratum_of_a_longer_file_keeps_its_order() -> None:
    rows = [prompt(number, "AB"[number % 2]) for number in range(300)]
    short, long = (draw_prompts(part, None, 5).prompts for part in (rows[:100], [*rows, *map(prompt, range(900, 999))]))
    for form in "AB":
        before = [p for p in short if p.form == form]
        assert [p for p in long if p in before] == before


def test_every_part_of_the_order_has_its_share_of_every_stratum() -> None:
    sizes = {("A", 1.0): 300, ("A", 2.0): 100, ("B", 1.0): 50, ("C", None): 10}
    rows = [prompt(1000 * index + n, *kind) for index, kind in enumerate(sizes) for n in range(sizes[kind])]
    drawn = draw_prompts(rows, None, 3).prompts
    for length in range(1, len(drawn), 7):
        counts = Counter((p.form, p.difficulty) for p in drawn[:length])
        for kind, size in sizes.items():
            assert abs(counts[kind] - length * size / len(drawn)) < 2, (length, kind)


def test_every_prompt_is_as_likely_to_be_drawn() -> None:
    rows = [prompt(number, "AAAAAAAB"[number % 8]) for number in range(40)]
    counts = Counter(p.prompt for seed in range(2000) for p in draw_prompts(rows, 10, seed).prompts)
    expected, deviation = 2000 * 10 / 40, (2000 * 0.25 * 0.75) ** 0.5
    assert max(abs(counts[f"{number}"] - expected) for number in range(40)) < 5 * deviation


def test_the_seed_decides() -> None:
    rows = [prompt(number) for number in range(100)]
    first, again, other = (draw_prompts(rows, 10, seed).prompts for seed in (1, 1, 2))
    assert first == again
    assert {p.prompt_id for p in first} != {p.prompt_id for p in other}
    assert {p.prompt for p in first} != {f"{number}" for number in range(10)}


def test_levels_are_told_apart_on_any_scale() -> None:
    for scale in (0.1, 1, 100):
        rows = [prompt(number, "A", scale * (1 + number % 5)) for number in range(100)]
        rows.sort(key=lambda row: row.difficulty or 0)
        levels = Counter(p.difficulty for p in draw_prompts(rows, 50, 0).prompts)
        assert set(levels.values()) == {10}


def test_repeats_are_counted_of_drawn_prompts_alone() -> None:
    rows = [prompt(number % 50) for number in range(150)]
    assert draw_prompts(rows, None, 0).duplicates == 100
    assert draw_prompts(rows, 7, 0).duplicates == 14


@pytest.mark.parametrize("limit", [3, None])
def test_a_source_with_an_order_of_its_own_keeps_it(limit: int | None) -> None:
    drawn = take_prompts(map(prompt, (1, 1, 2, 3, 4)), limit)
    assert [p.prompt for p in drawn.prompts] == ["1", "2", "3", "4"][:limit]
    assert drawn.duplicates == 1


@pytest.mark.parametrize("limit", [20, None])
def test_what_cannot_be_drawn_is_let_go(monkeypatch: pytest.MonkeyPatch, limit: int | None) -> None:
    monkeypatch.setattr(drawing, "UNUSED", 10)
    draw = drawing._Draw(limit, 0)
    needed = 40 if limit else 50
    rows = [prompt(number % (2000 if limit else 50), "AB"[number % 2]) for number in range(2000)]
    for row in rows:
        draw.add(row)
        assert len(draw._candidates) <= 2 * needed + 10
    monkeypatch.undo()
    assert draw.result().prompts == draw_prompts(rows, None, 0).prompts[:limit]


@given(ROWS, st.integers(0, 3), st.integers(1, 40) | st.none())
def test_what_is_let_go_changes_nothing(rows: list[Prompt], seed: int, limit: int | None) -> None:
    whole = draw_prompts(rows, None, seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(drawing, "UNUSED", 1)
        assert draw_prompts(rows, None, seed) == whole
        distinct = list({row.prompt_id: row for row in rows}.values())
        assert draw_prompts(distinct, limit, seed).prompts == draw_prompts(distinct, None, seed).prompts[:limit]
