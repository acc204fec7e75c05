"""What is doubtful about the prompts of a file as a whole, told when it is read and before anything is paid."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from learnable.data.progress import progress
from learnable.data.records import Prompt, Row, canonical_json, content_id
from learnable.data.sources.files.columns import Columns, fit_number
from learnable.data.sources.files.layouts.recognition import Recognised
from learnable.data.sources.files.questions import find_overlooked, tell_overlooked

MAX_EXAMPLES = 3

_MARKS = re.compile(
    r"<\|[A-Za-z_]{2,30}\|>|<\uff5c[^<>\n]{2,30}\uff5c>|\[/?INST\]|<</?SYS>>|<(?:start|end)_of_turn>|"
    r"^(?:Human|User|Assistant|AI): (?=[\s\S]*^(?:Human|User|Assistant|AI): ?)|^\#{2,3} (?:Instruction|Response):",
    re.MULTILINE,
)


class Doubts:
    """Looks at the prompts of a file as they are read; `tell` warns of what it saw."""

    def __init__(self, source: str, first: Mapping[str, Row], columns: Columns, layout: Recognised | None) -> None:
        self._source = source
        self._first = first
        self._columns = columns
        self._layout = layout
        self._texts: dict[str, str] = {}  # what the first rows ask, by their places
        self._answers: dict[str, tuple[str, str]] = {}  # the first answer to each question, and its place
        self._others: dict[str, list[str]] = defaultdict(list)  # where it has others
        self._marked: list[str] = []

    def watch(self, prompts: Iterable[Prompt]) -> Iterator[Prompt]:
        """Yield the prompts, and tell what is doubtful after the last."""
        for prompt in prompts:
            if prompt.source in self._first:
                self._texts[prompt.source] = prompt.whole_text
            self._look_at(prompt)
            yield prompt
        self.tell()

    def tell(self) -> None:
        """Warn of columns of a question that no prompt shows, of several answers to one question, of chat marks."""
        self._tell_overlooked()
        if self._others:
            examples = "; ".join(f"{first[1]} and {self._others[key][0]}" for key, first in self._few_others())
            more = f"; and {len(self._others) - MAX_EXAMPLES:,} more" if len(self._others) > MAX_EXAMPLES else ""
            progress().warn(
                f"{_count(len(self._others), 'question')} of {self._source} with different answers: {examples}{more}: "
                "correct the wrong ones, or leave such rows out"
            )
        if self._marked:
            progress().warn(
                f"{_count(len(self._marked), 'prompt')} of {self._source} with marks of a chat template inside a turn: "
                f"{'; '.join(self._marked[:MAX_EXAMPLES])}: the policy's own template puts its marks around them: give "
                "messages, or `mode` off where the texts are rendered already"
            )

    def _few_others(self) -> list[tuple[str, tuple[str, str]]]:
        return [(key, self._answers[key]) for key in list(self._others)[:MAX_EXAMPLES]]

    def _tell_overlooked(self) -> None:
        layout, columns = self._layout, self._columns
        used = [layout.answer, layout.question.column, *layout.layout.choices] if layout is not None else []
        rows = [row for place, row in self._first.items() if place in self._texts]
        missed = find_overlooked(rows, list(self._texts.values()), columns, used)
        if missed.above or missed.below:
            column = columns.prompt if layout is None else layout.question.column
            progress().warn(tell_overlooked(missed, column, self._source))

    def _look_at(self, prompt: Prompt) -> None:
        turns = (
            [prompt.prompt]
            if isinstance(prompt.prompt, str)
            else [turn.content for turn in prompt.prompt if turn.role == "user"]
        )
        if mark := next(filter(None, map(_MARKS.search, turns)), None):
            self._marked.append(f"{mark[0].strip()!r} in {prompt.source}" if len(self._marked) < MAX_EXAMPLES else "")
        if "answer" not in prompt.spec:
            return
        key = content_id(" ".join(prompt.whole_text.casefold().split()))
        answer = _even(prompt.spec["answer"])
        shown = 30  # characters of an answer
        known, _ = self._answers.setdefault(key, (answer, f"{prompt.source} ({answer[:shown]})"))
        if known != answer:
            self._others[key].append(f"{prompt.source} ({answer[:shown]})")


def _even(answer: object) -> str:
    """Return an answer as it is compared with another: a number is the same as text."""
    if isinstance(answer, str):
        answer = fit_number(" ".join(answer.casefold().split()))
    return canonical_json(answer)


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'s' * (number != 1)}"
