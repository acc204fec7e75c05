"""Instructions about words, letters, case and the two ends of an answer.

Each function returns "" where an answer, which is never empty, follows the instruction, else why it does not.
"""

from __future__ import annotations

import re
from functools import lru_cache

from learnable.data.records import Spec
from learnable.verifiers.instructions.arguments import compare
from learnable.verifiers.instructions.language import find_foreign, reads_as_english

QUOTATION_MARKS = '"\u201c\u201d'

_CAPITALS = re.compile(r"[^\W_]+(?:[.&/-][^\W_]+)*")  # a hyphenated word is one; "I'm" has the word "I"
_SPACES = re.compile(r"\s+")


@lru_cache(maxsize=4096)
def keyword_pattern(keyword: str, *, whole: bool = False) -> re.Pattern[str]:
    """Return the pattern of a keyword in any case, at the beginning of a word, or as a `whole` one.

    "sneakers" has the keyword "sneaker" once, and so has "sneakersneaker": run together they do not count again. Where
    a script has no capitals, as in Chinese or Hindi, words are not told apart, and the keyword may stand anywhere.
    """
    keyword = keyword.strip()
    text = r"\s+".join(map(re.escape, keyword.split())).replace("'", "['\u2019]")
    before = r"(?<![^\W_])" if _parts_words(keyword[0]) else ""
    behind = r"(?![^\W_])" if whole and _parts_words(keyword[-1]) else ""
    return re.compile(before + text + behind, re.IGNORECASE)


def _parts_words(sign: str) -> bool:
    return sign.lower() != sign.upper() or sign.isdigit()


def has_keywords(text: str, given: Spec) -> str:
    """Each of `keywords` occurs."""
    missing = [word for word in given["keywords"] if not keyword_pattern(word).search(text)]
    return f"no {_quote(missing)}" if missing else ""


def has_keyword_often(text: str, given: Spec) -> str:
    """`keyword` occurs as often as `relation` and `frequency` say."""
    count = sum(1 for _ in keyword_pattern(given["keyword"]).finditer(text))
    return compare(count, f"times {given['keyword']!r}", given["frequency"], given["relation"])


def has_no_forbidden_word(text: str, given: Spec) -> str:
    """None of `forbidden_words` occurs as a word of its own."""
    forbidden = [word for word in given["forbidden_words"] if keyword_pattern(word, whole=True).search(text)]
    return f"it has {_quote(forbidden)}" if forbidden else ""


def has_letter_often(text: str, given: Spec) -> str:
    """`letter`, in any case, occurs as often as `let_relation` and `let_frequency` say."""
    letter = given["letter"].strip()
    count = text.lower().count(letter.lower())
    return compare(count, f"times {letter!r}", given["let_frequency"], given["let_relation"])


def is_in_language(text: str, given: Spec) -> str:
    """All of it is in `language`. Raises `UntoldLanguageError` for one or two words that may be of several."""
    return find_foreign(text, given["language"])


def has_capital_words(text: str, given: Spec) -> str:
    """Words in capitals are as many as `capital_relation` and `capital_frequency` say."""
    count = sum(map(str.isupper, _CAPITALS.findall(text)))
    return compare(count, "words in capitals", given["capital_frequency"], given["capital_relation"])


def is_all_capitals(text: str, given: Spec) -> str:
    """It is English, and has no small letter."""
    return _case_fault(text, "small letters") if not text.isupper() else _english_fault(text)


def is_all_lowercase(text: str, given: Spec) -> str:
    """It is English, and has no capital."""
    return _case_fault(text, "capitals") if not text.islower() else _english_fault(text)


def _case_fault(text: str, unwanted: str) -> str:
    return f"it has {unwanted}" if any(map(str.isalpha, text)) else "it has no letters"


def _english_fault(text: str) -> str:
    return "" if reads_as_english(text) else "it does not read as English"


def has_no_comma(text: str, given: Spec) -> str:
    """No comma occurs, whatever the script."""
    # Also those of Chinese, Japanese and Arabic.
    count = sum(map(text.count, ",\uff0c\u3001\u060c"))
    return f"{count} comma{'s' if count > 1 else ''}" if count else ""


def ends_with_phrase(text: str, given: Spec) -> str:
    """It ends with `end_phrase`, in any case; quotation marks may follow."""
    wanted = _even(given["end_phrase"].strip(QUOTATION_MARKS))
    return (
        "" if _even(text.rstrip().rstrip(QUOTATION_MARKS)).endswith(wanted) else f"it ends in {text.rstrip()[-30:]!r}"
    )


def is_quoted(text: str, given: Spec) -> str:
    """All of it stands between double quotation marks."""
    text = text.strip()
    if len(text) < 2 or text[0] not in QUOTATION_MARKS or text[-1] not in QUOTATION_MARKS:
        return "no double quotation marks around it"
    return "" if text.strip(QUOTATION_MARKS).strip() else "nothing between the quotation marks"


def repeats_prompt(text: str, given: Spec) -> str:
    """It begins with `prompt_to_repeat`, in any case, and an answer follows."""
    wanted, said = _even(given["prompt_to_repeat"]), _even(text)
    if not said.startswith(wanted):
        return "it does not begin with the request"
    return "" if any(map(str.isalnum, said[len(wanted) :])) else "nothing follows the request"


def _even(text: str) -> str:
    """Return a text as it is compared: in small letters, any white space as one space, straight apostrophes."""
    return _SPACES.sub(" ", text).strip().casefold().replace("\u2019", "'")


def _quote(words: list[str]) -> str:
    return ", ".join(map(repr, words))
