"""Verse passes the gate, and imitations do not."""

from __future__ import annotations

from learnable.verifiers.poetry.gate import measure_retold, measure_validity
from learnable.verifiers.poetry.poem import read_line


def test_verse_passes_the_gate_and_its_imitations_do_not() -> None:
    verse = [read_line(line) for line in ("Rain on the tin roof", "the old cat turns in her sleep", "a door shuts")]
    assert measure_validity(verse) == 1.0
    assert measure_validity([read_line("b d g k m"), read_line("n p q r t")]) == 0.0
    assert measure_validity([read_line("zorb blat krem"), read_line("fneg drop plish")]) < 0.9
    assert measure_validity([verse[0]] * 3) < 0.9 < measure_validity([verse[0], verse[1], verse[0]], refrain_returns=1)
    assert measure_validity([]) == 0.0


def test_phrases_that_an_earlier_line_has_are_no_new_ones() -> None:
    said = ("a", "cold", "wind", "moves", "the", "reeds")
    assert measure_retold([said, ("still", *said[1:5]), ("the", "reeds", "are", "still")]) == 4 / 15
    assert measure_retold([said, said[:3], ("wind", "moves", "the", "a", "cold")]) == 0.0
    assert measure_retold([]) == 0.0
    verse = ("The fox runs down to the river", "my fox runs down to the river", "and stars go down to the river")
    haiku = [*map(read_line, verse)]
    assert measure_validity(haiku) < 0.9 < measure_validity(haiku, may_retell=True)
    again = ("Out of the cradle endlessly rocking", "Out of the throat of the bird", "Out of the midnight, the lamp")
    assert measure_validity([*map(read_line, again)]) == 1.0
