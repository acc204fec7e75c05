"""Asks built-in prompts in other words: ours, or those of a user's file."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

from learnable.data.errors import LearnableError, UnknownNameError
from learnable.data.records import Prompt
from learnable.data.sources.family import Knobs
from learnable.data.sources.wording import QuestionKind, Wording
from learnable.verifiers.families.registry import ALL_FAMILIES, OwnForms, list_families

PLAIN_WORDING, NATURAL_WORDING = "plain", "natural"


def reword(prompts: Iterable[Prompt], wording: Wording, knobs: Knobs, own: OwnForms) -> Iterator[Prompt]:
    """Yield prompts of known families in these words, each content once.

    Which words a prompt gets follows from its content alone. `knobs` are those that users set, `own` their forms.
    """
    seen: set[str] = set()
    for prompt in prompts:
        worded = ALL_FAMILIES[prompt.family].with_own(own).reword(prompt, wording, knobs)
        if worded.prompt_id not in seen:
            seen.add(worded.prompt_id)
            yield worded


def find_wording(name: str) -> Wording | None:
    """Return the wording called so, or a user's in a TOML file; None for the plain one.

    Raises `LearnableError` for a file that cannot be read, or that holds no wordings.
    """
    if name == PLAIN_WORDING:
        return None
    if name == NATURAL_WORDING:
        files = dict.fromkeys(family.natural for family in list_families() if family.natural)
        return Wording({kind: texts for file in files for kind, texts in read_wording(file).texts.items()})
    if not Path(name).is_file():
        raise LearnableError(
            f"`wording` {name!r} is neither {NATURAL_WORDING} nor {PLAIN_WORDING} nor a file: correct it"
        )
    return read_wording(Path(name))


def list_kinds() -> dict[str, QuestionKind]:
    """Return every kind of question by its name."""
    return {name: kind for family in list_families() for name, kind in family.kinds.items()}


def read_wording(path: Path) -> Wording:
    """Read a file of wordings: a list of texts for each kind of question, and of what else families have.

    Raises `LearnableError` for one that cannot be read, and for a text that leaves out what its question is about.
    """
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise LearnableError(f"wordings {str(path)!r} cannot be read: {error}") from error
    kinds = list_kinds()
    known = [*kinds, *(name for family in list_families() for name in family.word_lists)]
    for name, texts in given.items():
        if name not in known:
            raise UnknownNameError(f"wordings {str(path)!r}: kind of question", name, known)
        if not (isinstance(texts, list) and texts and all(isinstance(text, str) and text.strip() for text in texts)):
            raise LearnableError(f"wordings {str(path)!r}: {name} is no list of texts: give some")
        for text in texts if name in kinds else ():
            if why := kinds[name].find_fault(text):
                raise LearnableError(f"wordings {str(path)!r}: {name}: {text!r} {why}")
    return Wording({name: tuple(texts) for name, texts in given.items()})
