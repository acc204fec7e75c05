"""A set's card as a page: no name in it is a link, a tag, a heading, a cell of the table or a key of the header."""

from __future__ import annotations

import re
from typing import Any

import pytest
from markdown_it import MarkdownIt

from learnable.data.curated.card import render_card
from learnable.data.curated.manifest import Manifest, SetPart
from learnable.data.plain_text import quote_markdown
from tests.data.curated.test_curated import PLAIN

ATTACKS = (
    "[here](http://example.com/x)",
    "<script>alert(1)</script>",
    "`</code><img src=http://example.com/x>`",
    "a | b | c",
    r"a \| b",
    "\n\n# License: none\n\n",
    "\n---\nlicense: mit\n---\n",
    "https://example.com/x",
    "![](http://example.com/x)",
    "x```",
    "\x1b]0;x\x07\u202e",
)


def make_card(attack: str) -> str:
    form = {**PLAIN["forms"][0], "form": attack}
    plain: dict[str, Any] = PLAIN | {
        "forms": [form],
        "policy": {"path": attack, "policy_id": attack},
        "verifiers": {attack: attack},
        "schema": {"prompt": "string", attack: f"struct<{attack}: int64>"},
    }
    return render_card(attack, Manifest.from_json(plain).with_changes(parts={"train": SetPart(rows=1, sha256={})}))


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_name_is_nothing_but_text(attack: str) -> None:
    card = make_card(attack)
    usual = make_card("name")
    assert card.split("---\n")[1] == usual.split("---\n")[1]
    pages = [MarkdownIt("commonmark", {"html": True}).enable("table").parse(text) for text in (card, usual)]
    kinds, usual_kinds = ([(token.type, token.tag) for token in page] for page in pages)
    assert kinds == usual_kinds
    inside = [child for token in pages[0] for child in token.children or ()]
    assert {child.type for child in inside} <= {"text", "code_inline", "softbreak"}
    assert "example.com" not in " ".join(child.content for child in inside if child.type == "text")
    assert not re.search("[\x00-\x09\x0b-\x1f\u202e]", card)


def test_a_code_of_nothing_is_one() -> None:
    assert quote_markdown("") == "`  `"
