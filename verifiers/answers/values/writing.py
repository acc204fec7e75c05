r"""One plain writing for numbers that Unicode, LaTeX and typography write in many ways."""

from __future__ import annotations

import re
import unicodedata

MINUS_SIGNS = "\u2212\ufe63\uff0d\u207b\u208b"

_SUPERSCRIPTS = str.maketrans(
    "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079\u207a\u207b", "0123456789+-"
)
_RAISED = re.compile("[\u2070\u00b9\u00b2\u00b3\u2074-\u2079\u207a\u207b]+")
_PLAIN = str.maketrans(
    {
        **dict.fromkeys(MINUS_SIGNS, "-"),
        "\uff0b": "+",
        "\uff05": "%",
        "\u066a": "%",
        "\uff0c": ",",
        "\uff0e": ".",
        "\u066b": ".",
        "\u066c": ",",
        "\uff1d": "=",
        "\u2044": "/",
        "\u2215": "/",
        "\u00d7": "*",
        "\u22c5": "*",
        "\u00b7": "*",
        "\uff04": "$",
        "\u00ba": "\u00b0",
        "\u03bc": "\u00b5",
        "\u2009": "\u202f",
        "\u00a0": "\u202f",
        "\u2007": "\u202f",
        "\u2019": "'",
    }
)
_DASH_AS_MINUS = re.compile(r"(?:(?<=[\s=(:$])|\A)[\u2010\u2011\u2013](?=[0-9.])")
_LATEX = (
    (re.compile(r"\\(?:text|textbf|textit|mathrm|mathbf|mbox|operatorname)\s*\{([^{}]*)\}"), r" \1 "),
    (re.compile(r"(?<=[0-9])\s*\\[dtc]?frac\s*"), r" \\frac"),  # a mixed number
    (re.compile(r"\\[dtc]?frac\s*\{\s*([^{}]*?)\s*\}\s*\{\s*([^{}]*?)\s*\}"), r"\1/\2"),
    (re.compile(r"\\[dtc]?frac\s*([0-9])\s*([0-9])"), r"\1/\2"),
    (re.compile(r"\\[dtc]?frac\s*([0-9])\s*\{([^{}]*)\}"), r"\1/\2"),
    (re.compile(r"\{,\}|(?<=[0-9])\\[,!;:](?=[0-9]{3})"), ","),
    (re.compile(r"\\(?:times|cdot|ast)(?![a-zA-Z])"), "*"),
    (re.compile(r"\\approx(?![a-zA-Z])"), "="),
    (re.compile(r"\\div(?![a-zA-Z])"), "/"),
    (re.compile(r"\^\s*\{\s*\\circ\s*\}|\^\s*\\circ|\\degree(?![a-zA-Z])|\\circ(?![a-zA-Z])"), "\u00b0"),
    (re.compile(r"\^\s*\{\s*([-+]?[0-9]+)\s*\}"), r"^\1"),
    (re.compile(r"(?<=[a-z])\s+\^(?=[23](?![0-9]))"), "^"),  # of a unit
    (re.compile(r"\\(?:left|right|displaystyle|quad|qquad)(?![a-zA-Z])|\\[()\[\],!;: ]|~"), " "),
    (re.compile(r"\\(?=[$%#&_])"), ""),
)
_MATH_DOLLARS = re.compile(r"\$\$?([^$\n]{1,200}?)\$\$?")


def write_plainly(text: str) -> str:
    r"""Return the text with numbers in ASCII: digits, minus, fractions, powers of ten; LaTeX's marks are taken away.

    >>> write_plainly("\u2212\uff14\u0662"), write_plainly("2\u00bd"), write_plainly("3 \u00d7 10\u207b\u00b2")
    ('-42', '2 1/2', '3 * 10^-2')
    >>> write_plainly(r"$\dfrac{3}{4}$"), write_plainly(r"1{,}024\text{ km}")
    (' 3/4 ', '1,024  km ')
    """
    text = write_ascii(text)
    if "\\" in text or "{" in text or "~" in text:
        for pattern, by in _LATEX:
            text = pattern.sub(by, text)
    return _MATH_DOLLARS.sub(_without_dollars, text) if text.count("$") > 1 else text


def write_ascii(text: str) -> str:
    """Return the text with the digits, signs and marks of numbers in ASCII, whatever script or width they have.

    >>> write_ascii("\uff11\uff0c\u0662\uff13\uff14 \uff08\uff58\uff09"), write_ascii("x\u00b2 \u2212 \u00bd")
    ('1,234 (x)', 'x^2 - 1/2')
    """
    if text.isascii():
        return text
    text = _RAISED.sub(lambda raised: "^" + raised[0].translate(_SUPERSCRIPTS), text).translate(_PLAIN)
    text = _DASH_AS_MINUS.sub("-", text)
    return "".join(map(_plain_sign, text, " " + text))


def _plain_sign(sign: str, before: str) -> str:
    if sign.isascii():
        return sign
    if "\uff01" <= sign <= "\uff5e":  # ASCII at full width
        return chr(ord(sign) - 0xFEE0)
    if unicodedata.category(sign) == "No" and "\u2044" in (whole := unicodedata.normalize("NFKC", sign)):
        return (" " if before.isdigit() else "") + whole.replace("\u2044", "/")  # one sign that is a fraction
    digit = unicodedata.decimal(sign, None)
    return sign if digit is None else str(digit)


def _without_dollars(match: re.Match[str]) -> str:
    """Take the dollars away that hold a formula; two prices in a sentence are none."""
    inside = match[1]
    is_formula = not re.search(r"[a-z]{3,}\s+[a-z]{2,}", inside) or "\\" in inside
    return f" {inside} " if is_formula else match[0]
