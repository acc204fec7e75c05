"""What rows became, as text: each prompt as the policy sees it, its judge, its spec, and how the answer is read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.text import Text

from learnable.cli.display.terminal_text import SafeConsole, print_text, shorten

if TYPE_CHECKING:
    from learnable.flows.curation.preview import Preview, PreviewedPrompt


def print_preview(out: SafeConsole, preview: Preview) -> None:
    """Print the prompts one below the other, each under the place that it came from."""
    for number, shown in enumerate(preview.prompts, start=1):
        place = out.plain(f"  {shown.source}, {shown.split}")
        out.print(Text.assemble((f"prompt {number} of {preview.drawn:,}", "bold"), place), soft_wrap=True)
        print_text(out, shown.prompt)
        out.print()
        for label, fact in _facts(shown):
            print_text(out, fact, label)
        if number < len(preview.prompts):
            out.print()


def _facts(shown: PreviewedPrompt) -> Iterator[tuple[str, str]]:
    yield "verifier", f"{shown.verifier}, version {shown.version}"
    yield "spec", shorten(json.dumps(shown.spec, ensure_ascii=False))
    if shown.answer is None:
        yield "from", shown.read_from
    else:
        answer = json.dumps(shown.answer, ensure_ascii=False)
        yield "answer", f"{shorten(answer)}: {shown.read_from}"
    if shown.extract:
        alone = "" if shown.answer is None else f"; the answer alone is read as {shown.extracted or 'nothing'}"
        yield "extract", f"{shown.extract}{alone}"
    if shown.difficulty is not None:
        yield "difficulty", f"{shown.difficulty:g}"
