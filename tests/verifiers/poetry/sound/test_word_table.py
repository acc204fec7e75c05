"""A table of words: each is looked into once, and there is a bound."""

from __future__ import annotations

from learnable.verifiers.poetry.sound import pronunciation
from learnable.verifiers.poetry.sound.word_table import WordTable


def test_a_word_is_looked_into_at_its_first_sight_only() -> None:
    seen: list[str] = []

    def count_letters(word: str) -> int:
        seen.append(word)
        return len(word)

    table = WordTable(count_letters)
    assert [table[word] for word in ("moon", "sea", "moon")] == [4, 3, 4]
    assert seen == ["moon", "sea"]
    table.cache_clear()
    assert table["moon"] == 4
    assert seen == ["moon", "sea", "moon"]


def test_nothing_found_is_kept_too() -> None:
    seen: list[str] = []
    table: WordTable[None] = WordTable(seen.append)
    assert table["x1"] is None
    assert table["x1"] is None
    assert seen == ["x1"]


def test_it_never_holds_more_words_than_its_bound() -> None:
    table = WordTable(str.upper, max_words=3)
    for number in range(20):
        assert table[f"word{number}"] == f"WORD{number}"
        assert len(table) <= 3


def test_a_module_forgets_its_words_by_what_has_cache_clear_in_it() -> None:
    """As the benchmark of authors left out does, after it has changed the words of older verse."""
    assert pronunciation.find_word_counts("moon").only == 1
    for name, member in vars(pronunciation).items():
        if hasattr(member, "cache_clear") and not name.startswith("load_"):
            member.cache_clear()
    assert all(not member for member in vars(pronunciation).values() if isinstance(member, WordTable))
