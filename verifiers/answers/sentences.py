"""What sentences say the answer is: "The capital is Paris.", "Yes, because it is even.", "Label: neutral"."""

from __future__ import annotations

import re
from collections.abc import Iterator

MAX_SENTENCE = 300  # characters of a sentence that says it

_COPULA = r"\s+(?:is|are|was|were)(?:\s*:)?\s+"
_OBJECT = re.compile(rf".*{_COPULA}(?P<answer>\S.*?)[.!]?", re.IGNORECASE)
_NAMED = re.compile(r".*\s(?:called|named|by|during)\s+(?P<answer>\S.*?)[.!]?", re.IGNORECASE)
_SUBJECT = re.compile(
    rf"(?P<answer>\S.*?)(?:{_COPULA}(?:the|an?|what|where|who)\s|\s+(?:has|have|had)\s+the\s+(?:most|least|\w+est)\b)"
    rf"(?!.*{_COPULA}).*",
    re.IGNORECASE,
)
_FIELD = re.compile(
    r"(?:predicted\s+)?(?:label|class|category|sentiment|emotion|topic|intent|relation(?:ship)?|classification|"
    r"prediction|verdict|conclusion|output|result|response)\s*[:=]\s*(?P<answer>\S.*?)[.!]?",
    re.IGNORECASE,
)
_TAIL = re.compile(
    r",\s+(?:the|an?|who|which|where|whose|in\s+which|as|also|known|born)\b.*|\s+\(.*|"
    r"\s+(?:in|on|between|from|during|at|by)\s+(?=(?-i:[A-Z0-9])).*",
    re.IGNORECASE,
)
_UNSURE = r"\b(?:or|either|maybe|perhaps|possibly|probably|may|might|could|but|if)\b|\?"
_GOES_ON = rf"(?!.*(?:{_UNSURE}|\b(?:unless|although|though|however|actually)\b)).*"
_REASONED = re.compile(rf"(?P<answer>[^.:;]{{1,160}}?),?\s+(?:because|since|as)\b{_GOES_ON}", re.IGNORECASE)
_REPLY = re.compile(
    rf"(?P<answer>yes|no|true|false|correct|incorrect)\b(?:[,.:;!]|\s[-\u2013\u2014])?\s+"
    rf"(?:it|this|that|these|there|they|he|she|we|i|the|an?)\b{_GOES_ON}",
    re.IGNORECASE,
)
_OPEN = re.compile(rf"{_UNSURE}|\b(?:not|never|no)\b|n['\u2019]t\b", re.IGNORECASE)
_QUESTIONS = re.compile(r"\A(?:[^\n]*\?\s*\n\s*)+(?:(?:a|answer)\s*:\s*)?(?=\S)", re.IGNORECASE)
_EXPLAINED = re.compile(
    r"\n\s*(?:explanation|reason(?:ing)?|rationale|justification|confidence|note)\s*:.*", re.I | re.DOTALL
)
_SENTENCE_END = re.compile(r"(?<=[.!?])(?<!\b[A-Z]\.)(?<!\b(?:Mr|Dr|St|vs)\.)(?<!\bMrs\.)\s+(?=[A-Z\"'*\u201c])|\n+")
_MORE_OF_IT = re.compile(  # what is said of the same thing further on
    r"(?:it|he|she|they|this)\s+(?!is\b|was\b|are\b|were\b)(?!.*\b(?:actually|no|not|wait|but|however|rather|instead|sorry|so|thus|hence|therefore)\b)",
    re.IGNORECASE,
)


def last_sentence(text: str) -> str:
    """Return the last sentence of a text, or the one before it that the last ones only say more of.

    >>> last_sentence("Is it big? The capital is Paris. It has many parks.")
    'The capital is Paris.'
    """
    sentences = [one for one in _SENTENCE_END.split(text.strip()) if one.strip()]
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
    sentence = last_sentence(bare)
    if len(sentence) > MAX_SENTENCE:
        return
    if reply := _REPLY.fullmatch(bare):
        yield reply["answer"]
        return
    if reasoned := _REASONED.fullmatch(sentence):
        sentence = reasoned["answer"]
        yield sentence
    if not _OPEN.search(sentence):
        parts = (pattern.fullmatch(sentence) for pattern in (_FIELD, _OBJECT, _NAMED, _SUBJECT))
        for part in filter(None, parts):
            yield part["answer"]
            if tail := _TAIL.search(part["answer"]):
                yield part["answer"][: tail.start()]
