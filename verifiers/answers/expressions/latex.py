r"""One writing for a formula: LaTeX that math-verify reads, whatever fonts, spacing, environments or plain text it had.

What math-verify would lose without a word (upright letters, repeating decimals, mixed numbers, `\dfrac` in a matrix) is
written so that it is read. Equal formulas need not come out equal: that is for `comparison`.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from learnable.verifiers.answers.values.writing import write_ascii

GREEK = (
    "alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa lambda mu nu xi rho sigma tau "
    "upsilon phi varphi chi psi omega Gamma Delta Theta Lambda Xi Sigma Phi Psi Omega"
)
FUNCTIONS = "sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh ln log exp"
_NAMED = FUNCTIONS + " lg gcd lcm max min det"

_CIRCLED = re.compile("[\u2460-\u2473]")
_SIGNS = str.maketrans(
    {
        "\u03c0": r"\pi ", "\u221e": r"\infty ", "\u2264": r"\le ", "\u2265": r"\ge ", "\u2260": r"\ne ",
        "\u00b1": r"\pm ", "\u222a": r"\cup ", "\u2229": r"\cap ", "\u2208": r"\in ", "\u00f7": "/",
        "\u2205": r"\emptyset ", "\u211d": r"\mathbb{R}", "\u2124": r"\mathbb{Z}", "\u2115": r"\mathbb{N}",
        "\u00b0": r"^{\circ}", "\u2032": "'",
        "\u2248": r"\approx ", "\u03b1": r"\alpha ", "\u03b2": r"\beta ", "\u03b3": r"\gamma ", "\u03b8": r"\theta ",
        "\u03bb": r"\lambda ", "\u00b5": r"\mu ", "\u03c9": r"\omega ", "\u03c6": r"\phi ", "\u0394": r"\Delta ",
        "\u202f": " ", "\u3001": ",", "\u3002": ".", "\u2a7d": r"\le ", "\u2a7e": r"\ge ", "\u2026": r"\ldots ",
    }
)  # fmt: skip
_ROOT = re.compile("\u221a\\s*([0-9]+|[a-zA-Z]|(?=[({]))")
_SPACING = re.compile(
    r"(?<=[0-9]),\\!\s*(?=[0-9]{3}(?![0-9]))|(?<!\\)\\[,!;:](?=[0-9]{3}(?![0-9]))(?<=[0-9]\\[,!;:])|(?<=[0-9])(?:\{,\}|~)(?=[0-9]{3})"
)
_BLANK = re.compile(
    r"(?<!\\)\\[,!;: \n]|~|\\(?:quad|qquad|displaystyle|textstyle|limits|nolimits|hfill|nonumber)(?![a-zA-Z])"
)
_SIZES = re.compile(r"\\(?:left|right)\s*\.|\\(?:left|right|middle|[bB]igg?[lrm]?)(?![a-zA-Z])\s*")
_DISPLAY = re.compile(r"\\(?:begin|end)\s*\{(?:align|equation|gather|aligned|gathered|split|multline|math)\*?\}")
_LISTED_CASES = re.compile(r"\\begin\{cases\}((?:(?!&|\\text|\\end).)*)\\end\{cases\}", re.DOTALL)  # each holds
_CASE_WORD = re.compile(r"\\(?:text|mathrm|mbox)\s*\{\s*(?:if|for|when|where|,)?\s*\}")
_CASE_END = re.compile(r"[,.;]\s*(?=\\\\|\\end|&)")
_DELIMITERS = re.compile(r"(?<!\\)\\[\[\]()]|(?<=\\\\)\[[0-9.]+ ?[a-z]{2}\]")
_BOX = re.compile(r"\\f?box(?:ed)?\s*(?=\{)")
_FONT = re.compile(
    r"\\(?:text(?:rm|bf|it|normal|sf|tt)?|math(?:rm|it|bf|sf|tt|normal)|mbox|operatorname|boldsymbol|bold|bm|rm|bf|hbox)"
    r"\*?\s*\{([^{}]*)\}|\{\s*\\(?:rm|bf|it)\s+([^{}]*)\}"
)
_UNIT_FONT = re.compile(r"(\\text\{[^{}]*\})")
_SYNONYMS = tuple(
    (re.compile(pattern), by)
    for pattern, by in (
        (r"\\[dtc]frac(?![a-zA-Z])", r"\\frac"),
        (r"\\[dt]binom(?![a-zA-Z])", r"\\binom"),
        (r"\\(?:leq|leqslant|leqq)(?![a-zA-Z])|<=", r"\\le "),
        (r"\\(?:geq|geqslant|geqq)(?![a-zA-Z])|>=", r"\\ge "),
        (r"\\neq(?![a-zA-Z])|!=", r"\\ne "),
        (r"\\lt(?![a-zA-Z])", "<"),
        (r"\\gt(?![a-zA-Z])", ">"),
        (r"\\(?:l|r)?vert(?![a-zA-Z])|\\mid(?![a-zA-Z])", "|"),
        (r"\\lbrace(?![a-zA-Z])", r"\\{"),
        (r"\\rbrace(?![a-zA-Z])", r"\\}"),
        (r"\\(?:varnothing|O)(?![a-zA-Z])", r"\\emptyset "),
        (r"\\colon(?![a-zA-Z])", ":"),
        (r"\\[ij]math(?![a-zA-Z])", "i"),
        (r"\\(?:cdots|dots|ldots|dotsc|dotsb)(?![a-zA-Z])|\.\.\.", r"\\ldots "),
        (r"\\(?:times|ast|star)(?![a-zA-Z])|\*", r"\\cdot "),
        (r"\\div(?![a-zA-Z])", "/"),
        (r"\^\s*\{\s*\\circ\s*\}|(?:\^\s*\\circ|\\degree|(?<=[0-9}])\s*\\circ)(?![a-zA-Z])", r"^{\\circ}"),
        (r"\^\s*\{\s*((?:\\prime\s*)+)\}|\^\s*\\prime", lambda match: "'" * max(1, (match[1] or "").count("p"))),
        (r"\\mathbb\s*\{?\s*([A-Z])\s*\}?|\\mathbf\{([RZNQC])\}(?=\s*\Z)|\\([RZNQ])(?![a-zA-Z])", r"\\mathbb{\1\2\3}"),
        (r"\+\s*\\infty", r"\\infty"),
        (r"\\operatorname(?![a-zA-Z])", ""),
        (r"\\lg(?![a-zA-Z])", r"\\log_{10}"),
        (r"\{\s*([^{}\\]+)\\over\s+([^{}\\]+)\}", r"\\frac{\1}{\2}"),
        (r"\\begin\{array\}\s*\{[^{}]*\}", r"\\begin{array}"),
        (r"\\(?:vec|overrightarrow|hat|widehat)\s*(?:\{([a-zA-Z ]+)\}|([a-zA-Z]))", r"\1\2"),
        (
            r"(?<![0-9a-zA-Z.])([0-9]+(?:\.[0-9]+|(?=[eE](?:[+0-9]|-[4-9]|-[0-9]{2}))))[eE]([-+]?[0-9]{1,4})(?!\w)",
            r"\1\\cdot 10^{\2}",
        ),
        (r"C\s*_\s*\{?\s*([0-9]+)\s*\}?\s*\^\s*\{?\s*([0-9]+)\s*\}?", r"\\binom{\1}{\2}"),
        (r"_\s*\{\s*\(\s*([0-9]+)\s*\)\s*\}|_\s*\(\s*([0-9]+)\s*\)", r"_{\1\2}"),
    )
)  # fmt: skip
_WORDS_AS_COMMANDS = re.compile(
    rf"(?<![\\a-zA-Z])({'|'.join(sorted((GREEK + ' ' + _NAMED + ' pi sqrt infty').split(), key=len, reverse=True))})"
    r"(?![a-zA-Z])"
)
_INFINITY = re.compile(r"(?<![\\a-zA-Z])(?:infinity|inf|oo)(?![a-zA-Z])")
_SHORT_ARGUMENT = re.compile(
    r"\\(frac|binom)\s*(?:\{((?:[^{}]|\{[^{}]*\})*)\}|([0-9a-zA-Z]))\s*([0-9a-zA-Z]|\\(?!frac|sqrt)[a-zA-Z]+)"
)
_FIRST_SHORT = re.compile(r"\\(frac|binom)\s*([0-9a-zA-Z](?=\s*\{)|\\(?!frac|sqrt)[a-zA-Z]+)\s*")
_SHORT_ROOT = re.compile(r"\\sqrt\s*([0-9]|[a-zA-Z]|\\(?!frac|sqrt)[a-zA-Z]+)")
_SHORT_SCRIPT = re.compile(r"([\^_])\s*(-?[0-9]+(?:/[0-9]+)?|[a-zA-Z]|\\[a-zA-Z]+)")
_LATEX_SHORT_SCRIPT = re.compile(r"([\^_])\s*([0-9a-zA-Z]|\\[a-zA-Z]+|-[0-9]+)")
_REPEATING = re.compile(
    r"(?<![0-9.])([0-9]*)\.([0-9]*?)\\(?:overline|bar|dot)\s*\{?([0-9]+)\}?(?:([0-9]*)\\dot\s*\{?([0-9])\}?)?(?![0-9])|"
    r"(?<![0-9.])([0-9]+)\.([0-9]*?)\(([0-9]{1,9})\)(?![0-9])"
)
_DOTTED = re.compile(r"(?<![0-9.])([0-9]{0,20})\.([0-9]{0,20}?)([0-9]{1,6}?)\3{2,}\s*\\ldots")
_MIXED = re.compile(
    r"(?<![0-9.}^_{a-zA-Z])([0-9]+)\s*\\frac\{([0-9]+)\}\{([0-9]+)\}|(?<![0-9.^_])([0-9]+)\s+([0-9]+)/([0-9]+)"
)
_SIMPLE_FRACTION = re.compile(r"(?<![0-9.}^_a-zA-Z!)])([0-9]+)\s*/\s*([0-9]+)(?![0-9.!^])")
_THOUSANDS = re.compile(r"(?<![0-9,.])[1-9][0-9]{0,2}(?:,[0-9]{3})+(?![0-9,])")
_SPACES = re.compile(r"\s+")


def write_formula(text: str) -> str:
    r"""Return a formula in the one writing.

    >>> write_formula(r"\( 4-\mathrm{i} \)"), write_formula(r"$\dfrac12$"), write_formula(r"0.1\overline{6}")
    ('4-i', '\\frac{1}{2}', '(\\frac{15}{90})')
    >>> write_formula("3 1/2 (x+1)^10"), write_formula(r"15\,\mathrm{cm}")
    ('(3+\\frac{1}{2}) (x+1)^{10}', '15 \\text{cm}')
    """
    plain = "\\" not in text
    text = _CIRCLED.sub(lambda sign: rf"\textcircled{{{ord(sign[0]) - 0x245F}}}", text)
    text = _ROOT.sub(lambda root: rf"\sqrt{{{root[1]}}}" if root[1] else r"\sqrt", text)
    text = write_ascii(text).translate(_SIGNS)
    text = _without_layout(text)
    parts = _UNIT_FONT.split(_repeat(_FONT, _font, text))
    parts[::2] = [_write_symbols(part, plain=plain) for part in parts[::2]]
    text = _SPACES.sub(" ", "".join(parts)).strip(" ")
    return _strip_ends(text)


def _without_layout(text: str) -> str:
    text = _SPACING.sub("", text)
    text = re.sub(r"(?<![\\])\\\$", "\x00", text)
    if text.count("$") > 1:
        text = text.replace("$", " ")
    text = text.replace("$", "\x00").replace("\x00", r"\$ ")
    text = _BOX.sub("", _DISPLAY.sub(" ", _DELIMITERS.sub(" ", text)))
    text = _BLANK.sub(" ", _SIZES.sub(" ", text))
    text = _LISTED_CASES.sub(r" \1 ", text)
    if "cases}" in text:
        text = _CASE_END.sub("", _CASE_WORD.sub(" ", text))
    if "matrix" not in text and "array" not in text and "cases" not in text:
        text = text.replace("&", " ").replace("\\\\", " , ")
    return text


def _font(match: re.Match[str]) -> str:
    r"""Write what a font command holds: one letter or a function as mathematics, words between `\text{` and `}`."""
    words = _SPACES.sub(" ", (match[1] or match[2] or "").replace("~", " ")).strip()
    if words in _NAMED.split():
        return rf"\{words} "
    if re.fullmatch(r"[a-zA-Z]", words) and not (words in "mgsJNWVAKLhlt" and _is_behind_number(match)):
        space = " " if re.search(r"\\[a-zA-Z]+\Z", match.string[: match.start()]) else ""
        return f"{space}{words}" + " " * (words == "e")
    if listed := re.fullmatch(r"[,;]?\s*(and|or|,|;)\b\s*(.*)", words):
        return f" {listed[1]} " + (rf"\text{{{listed[2]}}}" if listed[2] else "")
    if not words or re.search(r"(?<!\^)[0-9]|[\\$=]|[a-zA-Z](?:,| or )", words) or not re.search(r"[^\W_]", words):
        return f" {words} "
    return rf" \text{{{words}}}" if not re.fullmatch(r"th|st|nd|rd", words) else ""


def _is_behind_number(match: re.Match[str]) -> bool:
    return bool(re.search(r"[0-9}/\u00b7]\s*\Z", match.string[: match.start()]))


def _write_symbols(text: str, *, plain: bool) -> str:
    text = text.replace("**", "^")
    text = _INFINITY.sub(r"\\infty ", _WORDS_AS_COMMANDS.sub(r"\\\1 ", text))
    for pattern, by in _SYNONYMS:
        text = pattern.sub(by, text)
    text = _braced(_braced(text, re.compile(r"\^\s*(?=\()"), "^"), re.compile(r"\\sqrt\s*(?=\()"), r"\sqrt")
    text = _FIRST_SHORT.sub(r"\\\1{\2}", text)
    text = _repeat(_SHORT_ARGUMENT, lambda one: rf"\{one[1]}{{{one[2] or one[3]}}}{{{one[4]}}}", text)
    text = _SHORT_ROOT.sub(r"\\sqrt{\1}", text)
    text = re.sub(r"(frac|binom|sqrt)\s+\{", r"\1{", text)
    text = re.sub(r"\}\s+\{", "}{", text)
    text = (_SHORT_SCRIPT if plain else _LATEX_SHORT_SCRIPT).sub(r"\1{\2}", text)
    text = re.sub(r"\{\s*([0-9a-zA-Z]+)\s*\}", r"{\1}", text)
    text = _REPEATING.sub(_as_fraction, text)
    text = _DOTTED.sub(_as_fraction, text)
    text = _MIXED.sub(lambda one: rf"({one[1] or one[4]}+\frac{{{one[2] or one[5]}}}{{{one[3] or one[6]}}})", text)
    text = _SIMPLE_FRACTION.sub(r"\\frac{\1}{\2}", text)
    return re.sub(r"(?<![0-9a-zA-Z])\.(?=[0-9])", "0.", text)


def _braced(text: str, before: re.Pattern[str], command: str) -> str:
    """Write the parentheses behind a mark as braces."""
    while match := before.search(text):
        depth = 0
        for place in range(match.end(), len(text)):
            depth += {"(": 1, ")": -1}.get(text[place], 0)
            if not depth:
                text = f"{text[: match.start()]}{command}{{{text[match.end() + 1 : place]}}}{text[place + 1 :]}"
                break
        else:
            return text
    return text


def _as_fraction(match: re.Match[str]) -> str:
    """Write a repeating decimal as the fraction that it is."""
    groups = [group or "" for group in match.groups()]
    if len(groups) == 3:
        whole, before, again = groups
    elif match[8]:
        whole, before, again = groups[5:]
    else:
        whole, before = groups[:2]
        again = groups[2] + groups[3] + groups[4]
    under = (10 ** len(again) - 1) * 10 ** len(before)
    over = int(before + again) - int(before or "0")
    numerator = int(whole or "0") * under + over
    return rf"(\frac{{{numerator}}}{{{under}}})"


def _repeat(pattern: re.Pattern[str], by: Callable[[re.Match[str]], str], text: str) -> str:
    """Replace from the inside out, where matches are nested; at most eight deep."""
    for _ in range(8):
        text, count = pattern.subn(by, text)
        if not count:
            break
    return text


def _strip_ends(text: str) -> str:
    while text and (text[-1] in ".,;:" or text.startswith(("**", "__", ":", "=")) or text.endswith(("**", "__"))):
        text = (
            text.rstrip(" .,;:")
            .removeprefix("**")
            .removeprefix("__")
            .removesuffix("**")
            .removesuffix("__")
            .lstrip(" :=")
        )
    return text


def join_thousands(text: str) -> str:
    """Return the text without the commas between groups of three digits."""
    return _THOUSANDS.sub(lambda number: number[0].replace(",", ""), text)
