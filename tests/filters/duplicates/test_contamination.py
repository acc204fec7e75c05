from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from learnable.data.records import Message, Prompt
from learnable.data.sources.files.evaluation_sets import EvaluationSet, read_evaluation_set
from learnable.filters.duplicates import contamination
from learnable.filters.duplicates.contamination import (
    ITEM_TEMPLATE_RUN,
    LONG_RUN,
    SHORT_RUN,
    TEMPLATE_SHARE,
    find_contaminated,
)
from learnable.filters.duplicates.texts import TEMPLATE_TEXTS, split_words
from learnable.verifiers.families.prompts import builtin_prompts
from learnable.verifiers.families.registry import DEFAULT_FAMILIES
from tests.support.paths import PUBLIC_DATA

PUBLIC = PUBLIC_DATA / "programs"


def ask(text: str, form: str = "F") -> Prompt:
    return Prompt(text, "choice", {"answer": "A"}, "f", form)


def items(*texts: str, name: str = "eval") -> EvaluationSet:
    return EvaluationSet(name, tuple(str(number) for number in range(len(texts))), texts)


def sentence(seed: object, words: int) -> str:
    rng = random.Random(f"{seed}")
    return " ".join("".join(rng.choices("abcdefghijklmnop", k=6)) for _ in range(words))


def hits(prompts: Sequence[Prompt], *sets: EvaluationSet) -> list[tuple[str, str]]:
    found = find_contaminated(prompts, sets)
    return list(zip(found["prompt_id"], found["collides_with"], strict=True))


ITEM = sentence("item", 40)
WORDS = ITEM.split()


@pytest.mark.parametrize(
    ("text", "overlap", "ngram"),
    [
        (ITEM.upper().replace(" ", ", "), 1.0, WORDS[:13]),
        (f"{sentence(1, 30)} {' '.join(WORDS[10:23])} {sentence(2, 30)}", 6 / 66, WORDS[10:23]),
        (f"{' '.join(WORDS[:12])} {sentence(3, 5)}", 0.5, WORDS[:8]),
        (f"{' '.join(WORDS[:11])} other {' '.join(WORDS[12:23])} other", 8 / 17, None),
        (f"{' '.join(WORDS[:12])} other {' '.join(WORDS[13:25])}", 10 / 18, WORDS[:8]),
    ],
)
def test_shared_wording(text: str, overlap: float, ngram: list[str] | None) -> None:
    prompt = ask(text)
    found = find_contaminated([ask(sentence(9, 40)), prompt], [items(sentence(8, 40), ITEM)]).to_dicts()
    expected = {
        "prompt_id": prompt.prompt_id,
        "decision": "contaminated",
        "collides_with": "eval:1",
        "overlap": overlap,
        "ngram": " ".join(ngram or ()),
    }
    assert found == ([expected] if ngram else [])


def test_a_share_is_the_nearest_number_to_it() -> None:
    """A join gives one prompt a column of equal numbers, by which polars divides in its own way."""
    found = find_contaminated([ask(" ".join(WORDS[:17]))], [items(" ".join(WORDS[:8]), " ".join(WORDS[:13]))])
    assert found.select("collides_with", "overlap").rows() == [("eval:1", 6 / 10)]


def test_short_texts_must_be_equal() -> None:
    sets = items("What is 2 + 2?", "Name the capital of France now.")
    prompts = [ask("what is 2 + 2"), ask("What is 2 * 2?"), ask("Name the capital of France"), ask("?")]
    assert hits(prompts, sets, items("!", name="marks")) == [(prompts[0].prompt_id, "eval:0")]


def test_the_last_turn_of_a_chat_may_equal_an_item() -> None:
    turns = (Message("system", "Answer in one word."), Message("user", "What is 2 + 2?"))
    chat = Prompt(turns, "choice", {"answer": "A"}, "f", "F")
    assert hits([chat], items("what is 2 + 2")) == [(chat.prompt_id, "eval:0")]


def test_half_shared_among_several_items_is_not_half_of_one() -> None:
    prompt = ask(sentence(5, 48))
    words = prompt.text.split()
    parts = [" ".join([*words[i : i + 12], sentence(i, 20)]) for i in (0, 12, 24, 36)]
    assert hits([prompt], items(*parts)) == []


def test_the_strongest_evidence_names_the_item() -> None:
    part = " ".join(WORDS[:20])
    found = find_contaminated([ask(ITEM)], [items(part, name="first"), items(sentence(1, 9), ITEM, name="second")])
    assert found["collides_with"].to_list() == ["second:1"]


def test_a_template_of_the_set_is_no_evidence() -> None:
    task = "Solve the following problem. Put your final answer inside of a box at the very end."
    texts = [f"{task} {sentence(i, 30)}" for i in range(20)]
    clean, leaked = ask(f"{task} {sentence('clean', 30)}"), ask(f"{task} {sentence(3, 30)}")
    assert hits([clean, leaked], items(*texts)) == [(leaked.prompt_id, "eval:3")]
    # Held by too few items it is wording like any other.
    few = items(*texts[: TEMPLATE_TEXTS - 1], *(sentence(f"more {i}", 30) for i in range(20)))
    assert hits([clean], few) == [(clean.prompt_id, "eval:0")]
    rare = items(*texts, *(sentence(f"more {i}", 30) for i in range(180)))
    assert hits([clean], rare) == [(clean.prompt_id, "eval:0")]


def test_each_set_has_templates_of_its_own() -> None:
    task = sentence("task", 20)
    small = items(*(f"{task} {sentence(i, 30)}" for i in range(10)), name="small")
    large = items(*(sentence(f"large {i}", 30) for i in range(100)), name="large")
    assert hits([ask(f"{task} {sentence('clean', 30)}")], small, large) == []


def test_a_template_of_a_form_is_no_evidence() -> None:
    rule = "with fourteen lines of ten syllables each in the manner of the old masters of rhyme and metre"
    prompts = [ask(f"A sonnet on {sentence(i, 1)} {rule}", "Sonnet") for i in range(TEMPLATE_TEXTS)]
    others = [ask(sentence(i, 30), "Other") for i in range(200)]
    held_out = items(f"A sonnet on {sentence('sea', 1)} {rule}")
    assert hits([*prompts, *others], held_out) == []
    assert len(hits([*prompts[1:], *others], held_out)) == TEMPLATE_TEXTS - 1


def test_every_planted_leak_among_many_is_found() -> None:
    texts = [sentence(i, 20 + i % 60) for i in range(300)]
    leaks = [
        ask(f"{sentence(-i - 1, 30)} {' '.join(text.split()[i % 7 : i % 7 + LONG_RUN])} now")
        for i, text in enumerate(texts)
    ]
    clean = [ask(sentence(f"clean {i}", 50)) for i in range(300)]
    assert hits([*clean, *leaks], items(*texts)) == [(leak.prompt_id, f"eval:{i}") for i, leak in enumerate(leaks)]


BASES = [sentence(i, 30).split() for i in range(2)]


@st.composite
def wordings(draw: st.DrawFn) -> str:
    base = draw(st.sampled_from(BASES))
    start, length = draw(st.integers(0, 12)), draw(st.integers(1, 18))
    return " ".join([*draw(st.sampled_from([[], ["x"] * 4, list("stuvwxyz")])), *base[start : start + length]])


def by_hand(prompts: Sequence[Prompt], sets: Sequence[EvaluationSet]) -> dict[str, dict[str, tuple[int, float]]]:
    """Compare every prompt with every item, run by run: the evidence for each pair that has any."""
    prompt_texts = {prompt.prompt_id: tuple(split_words(prompt.text)) for prompt in prompts}
    item_texts = [[tuple(split_words(text)) for text in one.texts] for one in sets]
    names = [f"{one.name}:{item_id}" for one in sets for item_id in one.item_ids]
    templates = template_runs([list(prompt_texts.values()), *item_texts])
    rated = {
        prompt_id: {
            name: found
            for name, item in zip(names, chain(*item_texts), strict=True)
            if (found := evidence(words, item, templates))[0]
        }
        for prompt_id, words in prompt_texts.items()
    }
    return {prompt_id: found for prompt_id, found in rated.items() if found}


def template_runs(groups: list[list[tuple[str, ...]]]) -> set[tuple[str, ...]]:
    found: set[tuple[str, ...]] = set()
    for group in groups:
        counts = Counter(run for words in group for run in set(slices(words, ITEM_TEMPLATE_RUN)))
        found |= {run for run, n in counts.items() if n >= TEMPLATE_TEXTS and n > TEMPLATE_SHARE * len(group)}
    return found


def slices(words: tuple[str, ...], length: int) -> list[tuple[str, ...]]:
    return [words[i : i + length] for i in range(len(words) - length + 1)]


def own_runs(words: tuple[str, ...], length: int, templates: set[tuple[str, ...]]) -> list[tuple[str, ...]]:
    starts = [i for i, run in enumerate(slices(words, ITEM_TEMPLATE_RUN)) if run in templates]
    covered = {i + offset for i in starts for offset in range(ITEM_TEMPLATE_RUN)}
    return [
        run for i, run in enumerate(slices(words, length)) if 2 * len(covered & set(range(i, i + length))) <= length
    ]


def evidence(words: tuple[str, ...], item: tuple[str, ...], templates: set[tuple[str, ...]]) -> tuple[int, float]:
    """How strong: 3 equal, 2 a long run, 1 half of the short runs, 0 none; and the share of short runs."""
    if words == item and words:
        return 3, 1.0
    short, item_texts = own_runs(words, SHORT_RUN, templates), set(own_runs(item, SHORT_RUN, templates))
    share = sum(run in item_texts for run in short) / len(short) if short else 0.0
    long = set(own_runs(words, LONG_RUN, templates)) & set(own_runs(item, LONG_RUN, templates))
    return (2, share) if long else (1, share) if share >= 0.5 else (0, 0.0)


POOLS = st.lists(wordings(), min_size=1, max_size=9)


@given(POOLS, POOLS)
def test_against_a_plain_loop(prompt_texts: list[str], item_texts: list[str]) -> None:
    prompts, sets = (
        [ask(text) for text in prompt_texts],
        [items(*item_texts[:4], name="one"), items(*item_texts[4:], name="two")],
    )
    texts = {prompt.prompt_id: prompt.text for prompt in prompts}
    item_texts = {f"{one.name}:{number}": text for one in sets for number, text in enumerate(one.texts)}
    found = find_contaminated(prompts, sets)
    expected = by_hand(prompts, sets)
    assert found["prompt_id"].to_list() == list(expected)
    for row in found.to_dicts():
        rivals = expected[row["prompt_id"]]
        rank, share = rivals[row["collides_with"]]
        assert row["overlap"] == share
        assert rank == max(rivals.values())[0]
        assert rank == 2 or share == max(rivals.values())[1]
        assert row["ngram"] in texts[row["prompt_id"]]
        assert row["ngram"] in item_texts[row["collides_with"]]


@given(POOLS, POOLS)
def test_dress_changes_no_decision(prompt_texts: list[str], item_texts: list[str]) -> None:
    prompt_texts = list(dict.fromkeys(prompt_texts))
    plain = [ask(text) for text in prompt_texts]
    dressed = [ask(text.replace(" ", "; ").upper() + "!") for text in prompt_texts]
    found = dict(hits(plain, items(*item_texts)))
    found_dressed = dict(hits(dressed, items(*(text.title() for text in item_texts))))
    assert [found.get(p.prompt_id) for p in plain] == [found_dressed.get(p.prompt_id) for p in dressed]


def split_in_two(prompts: Sequence[Prompt]) -> tuple[Sequence[Prompt], EvaluationSet]:
    pool, held_out = prompts[::2], prompts[1::2]
    return pool, EvaluationSet("half", tuple(p.prompt_id for p in held_out), tuple(p.text for p in held_out))


@pytest.mark.parametrize("family", DEFAULT_FAMILIES)
def test_halves_of_a_generator_do_not_condemn_each_other(family: str) -> None:
    prompts = list(builtin_prompts(families=[family], limit=400))
    pool, held_out = split_in_two(prompts)
    found = hits(pool, held_out)
    if family != "programs":
        assert found == []
    # The same function under another name, or with an example, is the same problem: those are rightly found.
    forms = {prompt.prompt_id: prompt.form for prompt in prompts}
    assert len(found) < 0.2 * len(pool)
    assert all(forms[one] == forms[other.removeprefix("half:")] for one, other in found)


@pytest.mark.skipif(not (PUBLIC / "HumanEval.jsonl.gz").exists(), reason="no copy of HumanEval here")
def test_human_eval() -> None:
    held_out = read_evaluation_set(str(PUBLIC / "HumanEval.jsonl.gz"))
    assert hits(list(builtin_prompts(limit=2000)), held_out) == []
    leaks = [ask(f"Please complete this program:\n```python\n{text}\n```") for text in held_out.texts]
    found = dict(hits(leaks, held_out))
    assert len(found) == len(leaks)
    assert [found[leak.prompt_id] for leak in leaks].count("HumanEval:HumanEval/0") == 1


def test_nothing_found_has_its_columns_too() -> None:
    found = find_contaminated([ask(ITEM)], [])
    assert found.is_empty()
    assert found.schema == find_contaminated([ask(ITEM)], [items(ITEM)]).schema


def test_where_there_is_no_evaluation_set_no_template_is_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("the texts were read")

    monkeypatch.setattr(contamination, "read_texts", refuse)
    found = find_contaminated([ask("one two three")], [])
    assert (found.schema, found.height) == (contamination.CONTAMINATION_SCHEMA, 0)
