"""Asks a built-in prompt in other words: the same problem, judged in the same way."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from string import Formatter

from learnable.data.errors import LearnableError, UnknownNameError
from learnable.data.forms import Form, poem_forms
from learnable.data.records import Prompt
from learnable.data.sources.drawing import hash_to_uniform
from learnable.data.sources.families.poetry import make_prompt

PLAIN, NATURAL = "plain", "natural"
TOPICS = "topics"
SIGNS = {"+": "plus", "-": "minus", "*": "times"}
SIZES = {"greater": "bigger", "less": "smaller"}
Parts = Mapping[str, str]  # the words of one question, by their names in braces


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of question: how its parts are read out of the plain wording, and which words a wording must have.

    Of each group in `needs` a wording has at least one word, and none but these and `more`.
    """

    plain: re.Pattern[str]
    needs: Sequence[tuple[str, ...]]
    more: tuple[str, ...] = ()
    complete: Callable[[Parts], Parts] = dict

    def read(self, text: str) -> Parts | None:
        """Return the parts of a question in the plain wording, None where it is none."""
        found = self.plain.search(text)
        if found is None:
            return None
        return self.complete({name: part for name, part in found.groupdict().items() if part is not None})


KINDS: Mapping[str, Kind] = {
    "arithmetic": Kind(
        re.compile(r"(?P<a>\d+) (?P<sign>[+*-]) (?P<b>\d+)"),
        (("a",), ("b",), ("sign", "said")),
        complete=lambda parts: {**parts, "said": SIGNS[parts["sign"]]},
    ),
    "comparison": Kind(
        re.compile(r"[Ii]s (?P<a>\d+) (?P<word>greater|less) than (?P<b>\d+)"),
        (("a",), ("b",), ("word", "said")),
        complete=lambda parts: {**parts, "said": SIZES[parts["word"]]},
    ),
    "sizes": Kind(
        re.compile(r"(?P<word>larger|smaller)[,:] (?P<a>[\d.]+) or (?P<b>[\d.]+)\?"), (("a",), ("b",), ("word",))
    ),
    "parity": Kind(re.compile(r"(?:Is|odd:) (?P<counted>\d+(?: \+ \d+)?)"), (("counted",),)),
    "to_binary": Kind(re.compile(r"(?:Write|is) (?P<given>\d+) in binary"), (("given",),)),
    "from_binary": Kind(re.compile(r"the binary number (?P<given>\d+) in decimal"), (("given",),)),
    "letters": Kind(re.compile(r"'(?P<letter>\w)' (?:appear )?in '(?P<word>\w+)'"), (("letter",), ("word",))),
    "lengths": Kind(re.compile(r"letters (?:are in|of) '(?P<word>\w+)'"), (("word",),)),
    "lists": Kind(re.compile(r"(?:words:|list\?) (?P<words>.+)$"), (("words",),)),
    "programs": Kind(
        re.compile(
            r"function (?P<name>\w+)\((?P<signature>[^)]*)\) that (?P<statement>.+?)\."
            r"(?: For example, (?P<example>.+)\.)?$",
            re.DOTALL,
        ),
        (("name",), ("signature",), ("statement",)),
        ("example",),
    ),
    "poetry": Kind(re.compile("(?!)"), (("title",), ("topic",), ("requirement",)), ("a",)),
}
# Other families are one kind, called as they are.
FAMILIES_OF = {
    "binary": ("to_binary", "from_binary"),
    "comparison": ("comparison", "sizes"),
    "counting": ("letters", "lengths", "lists"),
}


@dataclass(frozen=True, slots=True)
class Wording:
    """Templates by kind of question, and what poems are about; a kind without any keeps its plain words."""

    templates: Mapping[str, tuple[str, ...]]
    topics: tuple[str, ...] = ()

    def with_topics(self, count: int) -> Wording:
        """Return the wording with no more than so many of its topics."""
        return replace(self, topics=self.topics[:count])

    def reword(self, prompts: Iterator[Prompt], own: Mapping[str, Form]) -> Iterator[Prompt]:
        """Yield the prompts in these words, each content once. `own` are a user's poem forms by name.

        Which words a prompt gets follows from its content alone. Its problem stays, but for a poem about another topic.
        """
        seen: set[str] = set()
        for prompt in prompts:
            worded = self._reword_poem(prompt, own) if prompt.family == "poetry" else self._reword_question(prompt)
            if worded.prompt_id not in seen:
                seen.add(worded.prompt_id)
                yield worded

    def _reword_question(self, prompt: Prompt) -> Prompt:
        for name in FAMILIES_OF.get(prompt.family, (prompt.family,)):
            parts = KINDS[name].read(prompt.text) if name in KINDS else None
            fitting = [] if parts is None else [t for t in self.templates.get(name, ()) if _words_of(t) <= parts.keys()]
            if parts is not None and fitting:
                text = _choose(fitting, "wording", prompt.prompt_id).format(**parts)
                return replace(prompt, prompt=text, named_problem=prompt.problem_id)
        return prompt

    def _reword_poem(self, prompt: Prompt, own: Mapping[str, Form]) -> Prompt:
        templates = self.templates.get("poetry", ())
        if not templates and not self.topics:
            return prompt
        topic = _choose(self.topics, "topic", prompt.prompt_id) if self.topics else str(prompt.spec["topic"])
        form = own.get(prompt.form) or poem_forms()[prompt.form]
        pins = {name: value for name, value in prompt.spec.items() if name not in ("form", "topic")}
        template = _choose(templates, "wording", prompt.prompt_id) if templates else POEM
        return make_prompt(form, topic, template, pins)


POEM = "Write {a} {title} about {topic} with {requirement}."


def find_wording(name: str) -> Wording | None:
    """Return the wording called so, or a user's in a TOML file; None for the plain one.

    Raises `LearnableError` for a file that cannot be read, or that holds no wordings.
    """
    if name == PLAIN:
        return None
    if name == NATURAL:
        return read_wording(Path(str(resources.files("learnable.data.sources.wordings"))) / "natural.toml")
    if not Path(name).is_file():
        raise LearnableError(f"--wording {name!r} is neither {NATURAL} nor {PLAIN} nor a file: correct it")
    return read_wording(Path(name))


def read_wording(path: Path) -> Wording:
    """Read a file of wordings: a list of texts for each kind of question, and of `topics`.

    Raises `LearnableError` for one that cannot be read, and for a text that leaves out what its question is about.
    """
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise LearnableError(f"wordings {str(path)!r} cannot be read: {error}") from error
    for name, texts in given.items():
        if name not in (*KINDS, TOPICS):
            raise UnknownNameError(f"wordings {str(path)!r}: kind of question", name, (*KINDS, TOPICS))
        if (
            not isinstance(texts, list)
            or not texts
            or not all(isinstance(text, str) and text.strip() for text in texts)
        ):
            raise LearnableError(f"wordings {str(path)!r}: {name} is no list of texts: give some")
    for name in given.keys() - {TOPICS}:
        for text in given[name]:
            if why := _find_fault(text, KINDS[name]):
                raise LearnableError(f"wordings {str(path)!r}: {name}: {text!r} {why}")
    templates = {name: tuple(texts) for name, texts in given.items() if name != TOPICS}
    return Wording(templates, tuple(given.get(TOPICS, ())))


def _find_fault(text: str, kind: Kind) -> str:
    try:
        words = _words_of(text)
    except ValueError as error:
        return f"has braces that do not match: {error}"
    known = {word for group in kind.needs for word in group} | set(kind.more)
    if unknown := sorted(words - known):
        usable = ", ".join(f"{{{word}}}" for word in sorted(known))
        return f"has {{{unknown[0]}}}, which the question does not: use {usable}"
    lacking = [group for group in kind.needs if not words & set(group)]
    return f"leaves out {' or '.join(f'{{{word}}}' for word in lacking[0])}: add it" if lacking else ""


def _words_of(text: str) -> set[str]:
    """Return the names in braces. What follows a name there, as `a:>9` or `a!r`, is a part of it."""
    return {
        f"{name}{f'!{how}' if how else ''}{f':{shape}' if shape else ''}"
        for _, name, shape, how in Formatter().parse(text)
        if name is not None
    }


def _choose(texts: Sequence[str], *why: str) -> str:
    return texts[int(hash_to_uniform(*why) * len(texts))]
