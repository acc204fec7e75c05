"""The thought before an answer: which tags stand around it, and where it ends in what a policy wrote."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from learnable.data.errors import LearnableError

NONE = "none"  # the policy writes no thoughts


@dataclass(frozen=True, slots=True)
class ThinkTags:
    """What opens a thought, and what closes it."""

    open: str
    close: str


USUAL_TAGS = ThinkTags("<think>", "</think>")


@lru_cache(64)
def find_tags(given: str, template: str | None) -> ThinkTags | None:
    """Return the tags around a policy's thoughts, None where all that it writes is its answer.

    `given` is two words, `none`, or nothing: then the tags are the usual ones where the policy's chat template has
    them. Raises `LearnableError` for anything else.

    >>> find_tags("", "{{ '<think>' }}"), find_tags("none", "<think>")
    (ThinkTags(open='<think>', close='</think>'), None)
    """
    if given == NONE:
        return None
    if given == "":
        return USUAL_TAGS if template and (USUAL_TAGS.open in template or USUAL_TAGS.close in template) else None
    words = given.split()
    if len(words) != 2 or words[0] == words[1]:
        raise LearnableError(f"`think_tags` {given!r} are not two words: give them as '<think> </think>', none or auto")
    return ThinkTags(*words)


def leaves_open(rendered: str, tags: ThinkTags) -> bool:
    """Whether the end of a rendered prompt leaves a thought open, so that the completion begins inside it.

    >>> [leaves_open(text, USUAL_TAGS) for text in ("Hi.<think>", "Hi.<think></think>", "Hi.")]
    [True, False, False]
    """
    return rendered.rfind(tags.open) > rendered.rfind(tags.close)


def split_thought(text: str, tags: ThinkTags, *, is_open: bool = False) -> tuple[str, str]:
    """Return the thought, its tags included, and the answer: together they are the text.

    Everything up to the first closing tag is thought, for templates may open it in the prompt, and so is everything
    where an open thought never ends. `is_open` says that the prompt has opened it.

    >>> split_thought("<think>3 + 4</think>7", USUAL_TAGS), split_thought("3 + 4</think>7", USUAL_TAGS)
    (('<think>3 + 4</think>', '7'), ('3 + 4</think>', '7'))
    >>> split_thought("<think>hmm", USUAL_TAGS), split_thought("7", USUAL_TAGS)
    (('<think>hmm', ''), ('', '7'))
    >>> split_thought("hmm", USUAL_TAGS, is_open=True)
    ('hmm', '')
    """
    if (end := text.find(tags.close)) >= 0:
        end += len(tags.close)
        return text[:end], text[end:]
    return (text, "") if is_open or text.lstrip().startswith(tags.open) else ("", text)
