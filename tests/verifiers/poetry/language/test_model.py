"""The model's file, and the classes of words it goes by."""

from __future__ import annotations

import json

import pytest

from learnable.data.errors import LearnableError
from learnable.verifiers.poetry.language.model import load_model, pack_model, unpack_model
from learnable.verifiers.poetry.language.word_classes import load_closed_words

LINE = ("the", "boats", "come", "slowly", "home")
MAX_BYTES = 2_000_000


def test_a_model_written_and_read_again_scores_the_same() -> None:
    model = load_model()
    again = unpack_model(pack_model(model))
    assert again.neighbours.score(LINE) == model.neighbours.score(LINE)
    assert again.sense.measure([LINE, LINE[::-1]]) == model.sense.measure([LINE, LINE[::-1]])


def test_the_file_is_small_and_holds_words_but_no_text() -> None:
    text = pack_model(load_model())
    assert len(text) < MAX_BYTES
    packed = json.loads(text)
    assert all(words.split() == sorted(words.split()) for words in packed["neighbours"]["clusters"])
    assert len(set(packed["sense"]["words"].split())) == len(packed["sense"]["words"].split())


@pytest.mark.parametrize(
    ("part", "damage"),
    [
        ("neighbours", {"pairs": ""}),
        ("neighbours", {"most_common": "many"}),
        ("neighbours", {"coarse": [0]}),
        ("sense", {"numbers": {}}),
        ("sense", {"words": "the boats"}),
        ("sense", {"shapes": {"context": [2, 2]}}),
    ],
)
def test_a_damaged_part_says_how_to_make_it_again(part: str, damage: dict[str, object]) -> None:
    packed = json.loads(pack_model(load_model()))
    packed[part] |= damage
    with pytest.raises(LearnableError, match=r"learnable\.verifiers\.poetry\.language\.training"):
        unpack_model(json.dumps(packed))


@pytest.mark.parametrize("damage", [{"format": 2}, {"neighbours": []}, {"sense": None}])
def test_a_damaged_file_says_how_to_make_it_again(damage: dict[str, object]) -> None:
    packed = json.loads(pack_model(load_model())) | damage
    with pytest.raises(LearnableError, match=r"learnable\.verifiers\.poetry\.language\.training"):
        unpack_model(json.dumps(packed))


def test_a_word_is_classed_by_list_by_training_or_by_its_ending() -> None:
    words = load_model().neighbours.words
    closed = load_closed_words()
    assert words.classify("thou").kind == closed["thou"] == closed["she"]
    assert words.classify("sailor's").kind == words.classify("ploughboys'").kind == max(closed.values()) + 1
    assert words.classify("zorbingly").kind == words.classify("quombingly").kind
    assert words.classify("zorbingly").kind != words.classify("zorbed").kind
    assert words.classify("zorbingly").own == 0 < words.classify("the").common


def test_words_that_only_a_dictionary_has_are_a_class_of_their_own() -> None:
    words = load_model().neighbours.words
    rare = [words.classify(word) for word in ("anesthetist", "subcommittees", "kilobyte")]
    assert {found.kind for found in rare} == {words.strangers}
    assert len({found.group for found in rare}) > 1
    assert words.strangers not in {words.classify(word).kind for word in ("sea", "the", "zorbingly", "sailor's")}


def test_old_spellings_are_classed_as_those_of_today() -> None:
    words = load_model().neighbours.words
    for old, new in {"vpon": "upon", "smil'd": "smiled", "selfe": "self"}.items():
        assert words.classify(old).kind == words.classify(new).kind


def test_the_order_of_words_tells() -> None:
    model = load_model().neighbours
    assert model.score(LINE) > 0 > model.score(("boats", "the", "slowly", "home", "come"))
