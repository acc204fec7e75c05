r"""Expressions that math-verify reads whole: what it would drop or mistake is not given to it.

It drops subscripts of numbers and primes, adds "2 5" up, takes `C` for `c` and a plain `i` for a letter. So an
expression may hold only what is known here, and its letters, with their subscripts and primes, are handed over under
names of their own.
"""

from __future__ import annotations

import re

from learnable.verifiers.answers.expressions.latex import FUNCTIONS, GREEK

_COMMANDS = {*FUNCTIONS.split(), *"frac sqrt pi cdot binom lfloor rfloor lceil rceil le ne".split()}
_VARIABLE = re.compile(
    rf"\\(?:{'|'.join(sorted(GREEK.split(), key=len, reverse=True))})(?![a-zA-Z])'*(?:_\{{[^{{}}]*\}})?'*|"
    r"(?<![\\a-zA-Z])[a-zA-Z]'*(?:_\{[^{}]*\})?'*"
)
_LETTERS = re.compile(r"(?<!\\)\b(?:[a-zA-Z](?![_']))+")
_COMMAND = re.compile(r"\\([a-zA-Z]+|.)")
_SIGNS = re.compile(r"[0-9.+\-/^{}()\[\]|!=<> ]*")
_LOST = re.compile(
    r"[0-9.]\s+[0-9]|[0-9]\s*_|[0-9]\.[0-9]*\.|!!|[+\-/^]\s*(?:\Z|[)}=])|\|\s*\||(?<![0-9])\.(?![0-9])|[0-9]\.(?![0-9])|"
    r"\}\s*[0-9]|\)\s*[0-9.]|\\(?:frac|sqrt|binom)\s*(?![{\[ ])|\\(?:frac|binom)\s+(?!\{)"
)
_FOLLOWED_BY_VALUE = re.compile(r"(?<=[0-9)])\s*(?=\()|(?<=\))\s*(?=\\frac)")
_LOG = re.compile(r"\\log\s*_\{([^{}]*|x_\{[0-9]+\} )\}\s*([0-9]+|x_\{[0-9]+\} )(?![!^])")
_WORD = 4  # letters in a row: a word rather than a product
_NUMERAL = re.compile(r"[-+]?[0-9]+(?:\.[0-9]+)?")
IMAGINARY = "x_0"  # the name that `i` has for math-verify, which reads `I^2` as `I`
_CONSTANTS = {"e": " e ", "i": " x_{0} "}


def write_whole(texts: tuple[str, str]) -> tuple[str, str] | None:
    r"""Return two expressions for math-verify, or None where it would read one of them in part.

    >>> write_whole(("4-i", "a_{1}' + C")), write_whole((r"\overline{AB}", "2"))
    (('4- x_{0} ', ' x_{1}  +  x_{2} '), None)
    """
    names: dict[str, str] = {}
    written = [_write(text, names) for text in texts]
    return None if written[0] is None or written[1] is None else (written[0], written[1])


def is_numeral(text: str) -> bool:
    """Say whether a text is one plain number, which is compared exactly."""
    return bool(_NUMERAL.fullmatch(text.replace(" ", "")))


def _write(text: str, names: dict[str, str]) -> str | None:
    if any(len(letters[0]) >= _WORD for letters in _LETTERS.finditer(text)) or re.fullmatch(r"[A-Z]{2,}", text):
        return None

    def rename(match: re.Match[str]) -> str:
        name = match[0]
        return _CONSTANTS.get(name) or names.setdefault(name, f" x_{{{len(names) + 1}}} ")

    text = _LOG.sub(r"\\log_{\1}{\2}", _spell_letters(text, rename))
    rest = _COMMAND.sub("", re.sub(r"x_\{[0-9]+\} |e ", "", text.replace(r"\log_", r"\log")))
    commands = {match[1] for match in _COMMAND.finditer(text)}
    if not commands <= _COMMANDS or not _SIGNS.fullmatch(rest) or _LOST.search(re.sub(r"x_\{[0-9]+\} ", "x", text)):
        return None
    return _FOLLOWED_BY_VALUE.sub(r"\\cdot ", text)


def _spell_letters(text: str, rename: object) -> str:
    """Rename every letter of a run of letters by itself: `xy` is a product."""
    spelled = re.sub(r"(?<![\\a-zA-Z])[a-zA-Z]{2,}", lambda run: " ".join(run[0]), text)
    return _VARIABLE.sub(rename, spelled)  # type: ignore[call-overload, no-any-return]
