"""Other words for a question: how its parts are read out of the plain ones, and the texts that ask it anew."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from string import Formatter

from learnable.data.sources.chance import hash_to_uniform

Parts = Mapping[str, str]  # the words of one question, by their names in braces


@dataclass(frozen=True, slots=True)
class QuestionKind:
    """A kind of question: how its parts are read out of the plain wording, and which words a wording must have.

    Of each group in `needs` a wording has at least one word, and none but these and `more`. Without `plain`, the family
    finds the parts otherwise.
    """

    plain: re.Pattern[str] | None
    needs: Sequence[tuple[str, ...]]
    more: tuple[str, ...] = ()
    complete: Callable[[Parts], Parts] = dict

    def read(self, text: str) -> Parts | None:
        """Return the parts of a question in the plain wording, None where it is none."""
        match = self.plain.search(text) if self.plain else None
        if match is None:
            return None
        return self.complete({name: part for name, part in match.groupdict().items() if part is not None})

    def find_fault(self, text: str) -> str:
        """Return what is wrong with a text in which such a question is to be asked, "" for nothing."""
        try:
            words = words_of(text)
        except ValueError as error:
            return f"has braces that do not match: {error}"
        known = {word for group in self.needs for word in group} | set(self.more)
        if unknown := sorted(words - known):
            usable = ", ".join(f"{{{word}}}" for word in sorted(known))
            return f"has {{{unknown[0]}}}, which the question does not: use {usable}"
        lacking = [group for group in self.needs if not words & set(group)]
        return f"leaves out {' or '.join(f'{{{word}}}' for word in lacking[0])}: add it" if lacking else ""


@dataclass(frozen=True, slots=True)
class Wording:
    """Templates by kind of question, and lists of words by what they are; a kind without any keeps its plain words."""

    texts: Mapping[str, tuple[str, ...]]

    def choose(self, name: str, parts: Parts, content: str) -> str | None:
        """Return the question with these parts in one of the texts for its kind, None where none fits.

        Which one follows from `content` alone.
        """
        fitting = [text for text in self.texts.get(name, ()) if words_of(text) <= parts.keys()]
        return choose_text(fitting, "wording", content).format(**parts) if fitting else None


def words_of(text: str) -> set[str]:
    """Return the names in braces. What follows a name there, as `a:>9` or `a!r`, is a part of it.

    Raises ValueError for braces that do not match.
    """
    return {
        f"{name}{f'!{how}' if how else ''}{f':{shape}' if shape else ''}"
        for _, name, shape, how in Formatter().parse(text)
        if name is not None
    }


def choose_text(texts: Sequence[str], *why: str) -> str:
    """Return one of the texts, always the same for the same reasons."""
    return texts[int(hash_to_uniform(*why) * len(texts))]
