"""Files of stanzas and lines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from learnable.data.errors import LearnableError
from learnable.verifiers.poetry.batch import read_scansions, read_schemes
from learnable.verifiers.poetry.metre.scansion import Scansion, scan
from learnable.verifiers.poetry.poem import read_line


def test_stanzas_in_schemes_out(tmp_path: Path) -> None:
    path = tmp_path / "stanzas.jsonl"
    stanza = [
        "The tide goes out at noon,",
        "A gull is on the wall;",
        "It will be summer soon;",
        "I hear the children call.",
    ]
    path.write_text(json.dumps({"lines": stanza}) + "\n\n" + json.dumps({"lines": ["", "..."]}) + "\n")
    assert list(read_schemes(path)) == [["a", "b", "a", "b"], ["x", "x"]]


def test_lines_in_scansions_out(tmp_path: Path) -> None:
    path = tmp_path / "lines.jsonl"
    rows = [{"line": "A lantern burns above the bay,", "metre": "iambic"}, {"line": "golden shadows", "metre": None}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert list(read_scansions(path)) == [
        Scansion(metre="iambic", stress="-+-+-+-+", syllables=8),
        Scansion(metre="trochaic", stress="+-+-", syllables=4),
    ]


@pytest.mark.parametrize(
    ("reader", "bad", "message"),
    [
        (read_schemes, "{", "not a JSON object"),
        (read_schemes, "[]", "not a JSON object but list"),
        (read_schemes, '{"lines": "one"}', "not a stanza"),
        (read_schemes, '{"lines": [1]}', "not a stanza"),
        (read_scansions, '{"text": "one"}', "not a line of verse"),
        (read_scansions, '{"line": "one", "metre": 5}', "not a line of verse"),
        (read_scansions, '{"line": "one", "metre": "waltz"}', "metre 'waltz' is unknown"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, reader: object, bad: str, message: str) -> None:
    path = tmp_path / "input.jsonl"
    path.write_text("\n" + bad + "\n")
    assert callable(reader)
    with pytest.raises(LearnableError, match=message) as caught:
        list(reader(path))
    assert f"{path}, line 2" in str(caught.value)


def test_bytes_that_are_no_text_and_missing_files_are_named(tmp_path: Path) -> None:
    (tmp_path / "input").write_bytes(b"\xff\xfe\n")
    with pytest.raises(LearnableError, match="line 1: not a JSON object"):
        list(read_schemes(tmp_path / "input"))
    with pytest.raises(LearnableError, match="cannot read"):
        list(read_schemes(tmp_path / "absent"))


@pytest.mark.parametrize(
    "line", ["", "\x00", "99 \U0001f600", "\ud800", "word " * 20_000, "heaven " * 20_000, "a" * 100_000]
)
def test_any_line_is_scanned(line: str) -> None:
    found = scan(read_line(line).words)
    assert len(found.stress) == found.syllables
