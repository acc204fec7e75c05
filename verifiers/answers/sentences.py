"""What sentences say the answer is: "The capital is Paris.", "Yes, because it is even.", "Label: neutral"."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress

MAX_SENTENCE = 300  # characters of a sentence that says it
MAX_ENDING = 1200  # characters of a text in which its last sentence is looked for
MIN_SENTENCE = 3  # words of one that ends with it
MAX_END_WORDS = 8  # of what a sentence may end with

_COPULA = r"\s+(?:is|are|was|were)(?:\s*:)?\s+"
_PASSIVE = r"\w+(?:ed|en|own|orn|ound|ought|uilt|ade|eld|un|on)\s+(?:in|on|at|by|from|to|during|as)\b"
_OBJECT = re.compile(rf".*{_COPULA}(?!{_PASSIVE})(?P<answer>\S.*?)[.!]?", re.IGNORECASE)
_IN_JAPANESE = re.compile(
    r".*\u306f(?P<answer>[^\u306f\u3001\u3002]+?)(?:\u3067\u3059|\u3060|\u3067\u3042\u308b)?\u3002?"
)
_ACTUALLY = re.compile(
    r".*,\s+but\s+(?=(?:it|this|that|the\s+\w+)\s+(?:is|was)\s+(?:actually|really|in\s+fact)\s)", re.IGNORECASE
)
_ADVERB = re.compile(r"(?<=\s)(?:actually|really|in\s+fact)\s+", re.IGNORECASE)
_BOLD_FIRST = re.compile(
    rf"[^\n]*(?:{_COPULA}|\s(?:called|named|by|in)\s+)\*\*(?P<answer>[^*\n]+)\*\*[.!]?\s*(?=\n)"
    r"(?!.*\b(?:however|actually|but|wait)\b)",
    re.IGNORECASE | re.DOTALL,
)
_CONTRAST = re.compile(
    r",\s+(?:not|rather\s+than|unlike|instead\s+of|(?:and|while)\s+the\s+(?:second|next|third|other)|"
    r"(?:closely\s+)?(?:followed|preceded|joined|accompanied))\b",
    re.IGNORECASE,
)
_ONLY_BOLD = re.compile(
    r"(?:(?:(?!\*\*|\b(?:not|or)\b).)*\s)?\*\*(?P<answer>[^*]+)\*\*(?:(?!\*\*|\b(?:not|or|but)\b).)*", re.IGNORECASE
)
_APPOSED = re.compile(r",\s+(?:the|an?|who|which|whose|his|her|their|across|near|close)\b", re.IGNORECASE)
_PLACE = re.compile(r",\s+(?:on|in|at|under|with)\s+(?:an?|the)\s+\w+[.\s]*\Z", re.IGNORECASE)
_BEGINS_BEFORE = re.compile(r"(?:to|if|when|in|at|by|after|since|while|for|on|the\s+\w+(?:\s+\w+)?,)\b", re.IGNORECASE)
_CLAUSE = re.compile(r".*,\s+(?:so|thus|therefore|hence)\b\s*", re.IGNORECASE)
_HAS_COPULA = re.compile(rf"\b(?:is|are|was|were)\b(?!\s+{_PASSIVE})|['\u2019]s\b", re.IGNORECASE)
_WHOLE = re.compile(rf"\b(?:is|are|was|were)\s+{_PASSIVE}", re.IGNORECASE)  # a statement that is a sentence
_RELATIVE = re.compile(r",\s|\(|\b(?:who|whose|which|that)\b", re.IGNORECASE)
_JOINS = set("and or nor than like unlike not no except without but over".split())
_NAMED = re.compile(r".*\s(?:called|named|by|during)\s+(?P<answer>\S.*?)[.!]?", re.IGNORECASE)
_SUBJECT = re.compile(
    rf"(?P<answer>\S.*?)(?:{_COPULA}(?:the|an?|what|where|who)\s|\s+(?:has|have|had)\s+the\s+(?:most|least|\w+est)\b)"
    rf"(?!.*{_COPULA}).*",
    re.IGNORECASE,
)
_FIELD = re.compile(
    r"[*_]*(?:predicted\s+)?(?:label|class|category|sentiment|emotion|topic|intent|relation(?:ship)?|classification|"
    r"prediction|verdict|conclusion|output|result|response)[*_]*\s*[:=][*_]*\s*(?P<answer>\S.*?)[.!]?",
    re.IGNORECASE,
)
_FIRST_FIELD = re.compile(rf"{_FIELD.pattern}(?:\s*[^\w\s.,!?\"'*)\]]+)?(?=\n)", re.IGNORECASE)  # an emoji behind it
_ACTOR = re.compile(  # "Leonardo painted the Mona Lisa."
    r"(?P<answer>(?-i:[A-Z])[^,;]*?)\s+(?:\w+ed|wrote|won|led|made|built|sang|drew|became)\s+\S[^,;]*", re.IGNORECASE
)
_TAIL = re.compile(
    r",\s+(?:the|an?|who|which|where|whose|in\s+which|as|also|known|born|from|after|named|short\s+for|across|near|close|not|"
    r"rather\s+than|unlike|instead\s+of|(?:and|while)\s+the\s+(?:second|next|third|other))\b.*|\s+\(.*|"
    r"\s+and\s+(?:(?:was|were|is|are|first|later)\s+)?\w+ed\b.*|"
    r"\s+(?:in|on|between|from|during|at|by)\s+(?=(?-i:[A-Z0-9])|the\s+(?:early|late|mid|[0-9])).*",
    re.IGNORECASE,
)
_UNSURE = r"\b(?:or|either|maybe|perhaps|possibly|probably|may|might|could|but|if)\b|\?"
_SURE = rf"(?!.*(?:{_UNSURE}|\b(?:unless|although|though|however|actually)\b))"
_REASONED = re.compile(
    rf"(?P<answer>[^.:;]{{1,160}}?),?\s+(?:because|since|as|(?:even\s+)?though|although|whereas)\b{_SURE}.*",
    re.IGNORECASE,
)
_REPLY = re.compile(
    rf"(?P<answer>yes|no|true|false|correct|incorrect)\b{_SURE}(?:(?:[,.:;!]|\s[-\u2013\u2014])?\s+"
    rf"(?:it|this|that|these|there|they|he|she|we|i|the|an?)\b|[,.:;!]\s+\w+\s+\w+\s+\w).*",
    re.IGNORECASE,
)
_DENIES = re.compile(
    r"\b(?:nothing|nobody|none|hardly|barely|rarely|seldom|almost|few|lacks?|lacked|fail\w*|"
    r"refuse\w*|avoid\w*|doubt\w*|opposite|rul(?:e[sd]?|ing)\s+out|"
    r"recovered|survived|disagree\w*|differ(?:s|ed)?|short\s+of)\b",
    re.IGNORECASE,
)
_OPEN = re.compile(rf"{_UNSURE}|\b(?:not|never|no|nor|neither)\b|n['\u2019]t\b", re.IGNORECASE)
_LABELS = re.compile(r"label|answer|category|class|sentiment|topic|intent|result|output|prediction", re.IGNORECASE)
_QUESTIONS = re.compile(r"\A(?:[^\n]*\?\s*\n\s*)+(?:(?:a|answer)\s*:\s*)?(?=\S)", re.IGNORECASE)
_EXPLAINED = re.compile(
    r"\n[ \t]*(?:explanation|reason(?:ing)?|rationale|justification|confidence|note)\s*:.*", re.I | re.DOTALL
)
_SENTENCE_END = re.compile(r"(?<=[.!?])(?<!\b[A-Z]\.)(?<!\b(?:Mr|Dr|St|vs)\.)(?<!\bMrs\.)\s+(?=[A-Z0-9\"'*\u201c])|\n+")
_MORE_OF_IT = re.compile(  # what is said of the same thing further on
    r"(?:(?:it|he|she|they)\s+(?!is\b|was\b|are\b|were\b|became\b|moved\b|(?:has|have|had)\s+(?:\w+ed|become|since)\b)|"
    r"it(?:['\u2019]s|\s+is|\s+was)\s+(?:based|also|used|named)\b|"
    r"(?:would\s+you|do\s+you|is\s+there|can\s+i|shall\s+i|let\s+me\s+know|i\s+hope|feel\s+free)\b|"
    r"this\s+(?:allows|means|makes|helps|shows|ensures|gives|has)\b)"
    r"(?!.*\b(?:actually|no|not|wait|but|however|rather|instead|sorry|so|thus|hence|therefore)\b)",
    re.IGNORECASE,
)


def last_sentence(text: str) -> str:
    """Return the last sentence of a text, or the one before it that the last ones only say more of.

    >>> last_sentence("Is it big? The capital is Paris. It has many parks.")
    'The capital is Paris.'
    """
    sentences = [one for one in _SENTENCE_END.split(text.strip()) if re.search(r"\w", one)]
    while len(sentences) > 1 and _MORE_OF_IT.match(sentences[-1]):
        sentences.pop()
    return sentences[-1].strip() if sentences else ""


def find_said(text: str) -> Iterator[str]:
    """Yield what a text may say that the answer is; nothing where it leaves that open, or is no single one.

    The last sentence counts, without the question before it and the explanation behind it.

    >>> [list(find_said(one)) for one in ("The capital is Paris, as we know.", "It is not Paris.", "No, it isn't.")]
    [['The capital is Paris', 'Paris'], [], ['No']]
    """
    bare = _EXPLAINED.sub("", _QUESTIONS.sub("", text.strip(), count=1)).strip()
    if bare != text.strip() and "\n" not in bare:
        yield bare
    if bare.startswith("{"):
        yield from _find_field(bare)
        return
    if first := (_FIRST_FIELD.match(bare) or _BOLD_FIRST.match(bare)) if "\n" in bare[:MAX_SENTENCE] else None:
        yield first["answer"]
        return
    if reply := _REPLY.fullmatch(bare) if len(bare) <= MAX_SENTENCE else None:
        yield reply["answer"]
        return
    yield from _find_in_sentence(_ADVERB.sub("", _ACTUALLY.sub("", last_sentence(bare[-MAX_ENDING:]))))


def _find_in_sentence(sentence: str, *, alone: bool = True) -> Iterator[str]:
    if len(sentence) > MAX_SENTENCE:
        return
    if reasoned := _REASONED.fullmatch(sentence):
        sentence = reasoned["answer"]
        yield sentence
    sentence = _CLAUSE.sub("", sentence)
    if contrast := _CONTRAST.search(sentence):
        sentence = sentence[: contrast.start()]
    if bold := _ONLY_BOLD.fullmatch(sentence):
        yield bold["answer"]
    if alone and not _OPEN.search(sentence):
        parts = [pattern.fullmatch(sentence) for pattern in (_FIELD, _OBJECT, _NAMED, _SUBJECT, _IN_JAPANESE)]
        for part in filter(None, parts):
            yield from _without_tail(part["answer"])
        if not (any(parts) or "(" in sentence or _HAS_COPULA.search(sentence) or _DENIES.search(sentence)):
            yield from _find_roles(sentence)


def _find_roles(sentence: str) -> Iterator[str]:
    """Yield what a sentence without "is" ends with, and whose deed it tells."""
    apposed = list(_APPOSED.finditer(sentence))[bool(_BEGINS_BEFORE.match(sentence)) :]
    yield from _find_ends(sentence[: apposed[-1].start()] if apposed else sentence)
    if place := _PLACE.search(sentence):
        yield from _find_ends(sentence[: place.start()])
    if actor := _ACTOR.fullmatch(sentence):
        yield actor["answer"]


def _find_field(text: str) -> Iterator[str]:
    """Yield what the label of a JSON object is."""
    found: dict[str, object] = {}
    with suppress(ValueError, RecursionError):
        found = json.loads(text)
    named = [value for key, value in found.items() if _LABELS.fullmatch(key) and isinstance(value, str)]
    yield from named if len(named) == 1 else []


def find_in_statement(stated: str) -> Iterator[str]:
    """Yield what a statement in words may give: all of it, a reply, or what comes before an aside.

    >>> list(find_in_statement("Ada Lovelace, who wrote it in 1843")), list(find_in_statement("no, there isn't"))
    (['Ada Lovelace, who wrote it in 1843', 'Ada Lovelace'], ["no, there isn't", 'no'])
    """
    yield from _without_tail(stated)
    if reply := _REPLY.fullmatch(stated):
        yield reply["answer"]
    else:
        yield from _find_in_sentence(stated, alone=bool(_WHOLE.search(stated)) and not _RELATIVE.search(stated))


def _without_tail(said: str) -> Iterator[str]:
    yield said
    tail = _TAIL.search(said)
    if tail and (_CONTRAST.match(said, tail.start()) or not _OPEN.search(said, tail.start())):
        yield said[: tail.start()]


def _find_ends(sentence: str) -> Iterator[str]:
    """Yield what a sentence ends with, such as "cancer" of "He died of cancer.", but no end of a list."""
    words = sentence.rstrip(" .!\u3002").split()
    if len(words) < MIN_SENTENCE:
        return
    for count in range(1, min(len(words), MAX_END_WORDS + 1)):
        before = words[-count - 1]
        is_date = before.endswith(",") and before[:-1].isdigit()  # "July 20, 1969"
        if is_date or not (before.endswith((",", ";")) or before.casefold() in _JOINS):
            yield " ".join(words[-count:])
