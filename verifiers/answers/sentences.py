"""What a sentence says the answer is: "The capital is Paris.", "Yes, because it is even.", "Label: neutral"."""

from __future__ import annotations

import re
from collections.abc import Iterator

MAX_SENTENCE = 300  # characters of a sentence that says it

_COPULA = r"\s+(?:is|are|was|were)\s+"
_OBJECT = re.compile(rf".*(?:{_COPULA}|\s(?:called|named)\s+)(?P<answer>\S.*?)[.!]?", re.IGNORECASE)
_SUBJECT = re.compile(rf"(?P<answer>\S.*?){_COPULA}(?:the|an?|what|where|who)\s(?!.*{_COPULA}).*", re.IGNORECASE)
_FIELD = re.compile(
    r"(?:predicted\s+)?(?:label|class|category|sentiment|emotion|topic|intent|relation(?:ship)?|classification|"
    r"prediction|verdict|conclusion|output|result|response)\s*[:=]\s*(?P<answer>\S.*?)[.!]?",
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


def find_said(sentence: str) -> Iterator[str]:
    """Yield what a sentence may say that the answer is; nothing where it leaves that open, or is no single one.

    >>> [list(find_said(one)) for one in ("The capital is Paris, as we know.", "It is not Paris.", "No, it isn't.")]
    [['The capital is Paris', 'Paris'], [], ['No']]
    """
    sentence = sentence.strip()
    if len(sentence) > MAX_SENTENCE or "\n" in sentence:
        return
    if reply := _REPLY.fullmatch(sentence):
        yield reply["answer"]
        return
    if reasoned := _REASONED.fullmatch(sentence):
        sentence = reasoned["answer"]
        yield sentence
    if not _OPEN.search(sentence):
        parts = (pattern.fullmatch(sentence) for pattern in (_FIELD, _OBJECT, _SUBJECT))
        yield from (part["answer"] for part in parts if part)
