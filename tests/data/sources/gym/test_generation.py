"""Entries as prompts: drawn by the seed, without repeats, the same in every process, by turns."""

from __future__ import annotations

import os
import time
from itertools import islice
from pathlib import Path

import pytest

from learnable.data.errors import LearnableError
from learnable.data.records import Prompt
from learnable.data.sources.gym import generation
from learnable.data.sources.gym.configuring import make_config
from learnable.data.sources.gym.library import library_version
from learnable.data.sources.gym.prompts import INSTRUCTION, gym_prompts, make_prompt

pytestmark = pytest.mark.skipif(not library_version(), reason="reasoning-gym is not installed")
BOUND = 60.0


def drawn(location: str, count: int, seed: int = 0) -> list[Prompt]:
    return list(islice(gym_prompts(f"reasoning-gym:{location}", seed), count))


def test_a_prompt_is_the_question_and_how_to_answer_and_carries_its_entry():
    prompt = drawn("chain_sum?num_terms=4", 1)[0]
    assert prompt.text.endswith(f"\n\n{INSTRUCTION}")
    assert (prompt.verifier, prompt.family, prompt.form) == ("reasoning-gym", "reasoning-gym", "chain_sum")
    assert prompt.source == "reasoning-gym:chain_sum?num_terms=4"
    assert prompt.spec["config"] == {"min_terms": 4, "max_terms": 4}
    assert prompt.spec["metadata"]["num_terms"] == 4
    assert prompt.spec["answer"] == str(eval(prompt.spec["metadata"]["expression"]))
    assert prompt.difficulty is not None


def test_the_seed_fixes_prompts_whatever_the_hash_seed(monkeypatch):
    """This data set goes through sets of strings, whose order that decides."""
    found = []
    for hash_seed in ("1", "2"):
        monkeypatch.setitem(os.environ, "PYTHONHASHSEED", hash_seed)
        found.append([prompt.prompt_id for prompt in drawn("ransom_note", 20, seed=7)])
    assert found[0] == found[1]
    assert len(set(found[0])) == 20
    assert not {prompt.prompt_id for prompt in drawn("ransom_note", 20, seed=8)} & set(found[0])


def test_data_sets_take_turns():
    forms = [prompt.form for prompt in drawn("string_*", 8)]
    assert len(set(forms[:4])) == 4
    assert forms[4:] == forms[:4]


def test_of_a_pattern_what_refuses_the_knobs_is_left_out_and_a_single_one_is_an_error():
    streams, left_out = generation.open_streams("*c*r*", {"level": "3"}, 0)
    assert "caesar_cipher" in left_out
    assert "no curriculum" in left_out["acre"]
    assert next(streams[0])["dataset"] not in left_out
    with pytest.raises(LearnableError, match="no curriculum"):
        drawn("gsm_symbolic?level=1", 1)
    with pytest.raises(LearnableError, match=r"no data set of reasoning-gym:string_\* takes these knobs"):
        generation.open_streams("string_*", {"zzz": "1"}, 0)


def test_a_data_set_that_repeats_itself_ends_and_one_question_is_one_problem_however_it_was_set():
    narrow, wide = (
        [make_prompt(entry, "") for entry in generation.entries("count_bits", make_config("count_bits", knobs), 0)]
        for knobs in ({"min_n": "1", "max_n": "5"}, {"min_n": "1", "max_n": "9"})
    )
    assert (len(narrow), len(wide)) == (5, 9)
    assert {prompt.problem_id for prompt in narrow} < {prompt.problem_id for prompt in wide}
    assert not {prompt.prompt_id for prompt in narrow} & {prompt.prompt_id for prompt in wide}


def test_the_process_ends_with_the_generator():
    before = _children()
    prompts = gym_prompts("reasoning-gym:gcd", 0)
    next(prompts)
    started = _children() - before
    prompts.close()
    deadline = time.monotonic() + BOUND
    while started & _children():
        assert time.monotonic() < deadline, "it is still there"


def test_entries_that_fail_now_and_then_are_passed_over(monkeypatch):
    kind = type(generation.load_library().DATASETS["gcd"][0](config=make_config("gcd", {})))
    made = kind.__getitem__
    monkeypatch.setattr(kind, "__getitem__", lambda self, index: made(self, index) if index % 3 else 1 / 0)
    assert len(list(islice(generation.entries("gcd", make_config("gcd", {}), 0), 10))) == 10
    monkeypatch.setattr(kind, "__getitem__", lambda self, index: 1 / 0)
    with pytest.raises(LearnableError, match="gcd makes no entries with these knobs: ZeroDivisionError"):
        next(generation.entries("gcd", make_config("gcd", {}), 0))


def _children() -> set[int]:
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text(encoding="utf-8").rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(fields[1]) == os.getpid():
            found.add(int(stat.parent.name))
    return found
