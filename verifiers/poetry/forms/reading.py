"""Declarations read: each key of a table is checked and becomes a field of `Form`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from learnable.data.errors import LearnableError, nearest_names
from learnable.data.records import JsonObject, Spec
from learnable.verifiers.poetry.forms.coordinates import parse_comparison, parse_equality, parse_link
from learnable.verifiers.poetry.forms.counts import is_whole, parse_count, parse_counts, span
from learnable.verifiers.poetry.forms.form import FORM_CHECKS, Form, FormPart
from learnable.verifiers.poetry.forms.labels import is_label, parse_scheme, stanza_sizes
from learnable.verifiers.poetry.forms.words import word_list

METRE_NAMES = ("iambic", "trochaic", "anapaestic", "amphibrachic", "dactylic")
SPECIAL_NAMES = (
    "adjacent_initials_differ", "arithmetic", "coprime", "diamante", "disjoint_letters", "doubled_last_line", "dunadh",
    "long_word", "often_rhymed", "ovillejo", "person_name", "pindaric", "positional", "pythagorean", "rhopalic",
    "same_end_initial", "self_referential", "several_stanzas", "uniform_stanzas", "unique_words",
)  # fmt: skip
SPEC_KEYS = ("lines", "syllables", "tolerance", "schemes")
PARAMETERS = ("word", "second_word", "letter", "quote", "number")
_FILLED = ("letters", "without", "vowel", "end_words", "budget")


class FormKeyError(LearnableError):
    """A mistake at one key of a form's declaration."""

    def __init__(self, key: str, message: str) -> None:
        super().__init__(message)
        self.key = key


def read_form(name: str, table: JsonObject, group: str = "") -> Form:
    """Return the form that `table` declares. Raises `FormKeyError` naming the first key that is wrong."""
    fields = read_fields(table)
    form = Form(name=name, group=group, declared=json.dumps(table, sort_keys=True), **fields)
    if not form.title:
        raise FormKeyError("title", "form key 'title' is missing: say how a prompt names the form")
    if form.check == "theme" and not form.why:
        raise FormKeyError("check", "form key 'why' is missing: say why a theme form cannot be a reward")
    if form.repeat is not None and not form.repeat_default:
        raise FormKeyError("repeat", "form key 'repeat_default' is missing: say how many units a prompt asks for")
    return form


def read_fields(table: JsonObject) -> JsonObject:
    """Return the fields of `Form` that a table sets. Raises `FormKeyError` naming the first key that is wrong."""
    fields: dict[str, Any] = {}
    for key, value in table.items():
        if key not in _READERS:
            near = nearest_names(str(key), _READERS) or sorted(_READERS)
            raise FormKeyError(str(key), f"form key {key!r} is not known: use {', '.join(near)}")
        try:
            fields[key] = _READERS[key](value)
        except FormKeyError as error:
            raise FormKeyError(key, f"{error} (in form key {key!r})") from error
        except (TypeError, ValueError, AttributeError) as error:
            raise FormKeyError(key, f"form key {key!r}: {error}") from error
    _agree(fields, table)
    return fields


def constrain_form(form: Form, spec: Spec) -> Form:
    """Return a form with what a prompt's spec sets itself: `SPEC_KEYS`, `stanzas`, `asked` and the form's parameters.

    Raises `FormKeyError` naming the first key that is wrong.
    """
    fields = read_fields({key: spec[key] for key in SPEC_KEYS if key in spec})
    if "syllables" in spec:  # a prompt that names a length wants no other
        fields |= {"measures": (), "pass_syllables": ()}
        if form.measures and fields["syllables"] != form.syllables:
            fields["feet"] = ()
    if "schemes" in spec:
        fields["more_schemes"] = ()
    if "stanzas" in spec:
        units = int(spec["stanzas"]) - form.counts_opening
        fields["repeat"] = fields["repeat_default"] = units
    if "asked" in spec:
        fields["requested"] = tuple(spec["asked"])
    given = dict(form.parameters) | {key: spec[key] for key in PARAMETERS if key in spec}
    if given:
        fields["parameters"] = tuple(given.items())
        fields.update({key: _filled(getattr(form, key), given) for key in _FILLED if getattr(form, key)})
    return replace(form, **fields)


def _filled(value: Any, given: Mapping[str, Any]) -> Any:
    """Return `value` with each `$name` in it replaced by that parameter."""
    if isinstance(value, tuple):
        filled = [_filled(item, given) for item in value]
        if any(isinstance(item, str) and item == "$quote" for item in value):
            return tuple(str(given["quote"]).casefold().split())
        return tuple(filled)
    if isinstance(value, str) and value.startswith("$"):
        return given.get(value[1:], value)
    return value


def _agree(fields: dict[str, Any], table: Mapping[str, Any]) -> None:
    """Derive `stanzas` from a scheme with `/`, and check that per-line lists are as long as the schemes."""
    if "schemes" in fields and "stanzas" not in fields:
        texts = table["schemes"] if isinstance(table["schemes"], list | tuple) else [table["schemes"]]
        sizes = stanza_sizes(texts[0])
        if len(sizes) > 1:
            fields["stanzas"] = sizes
    lines = len(fields["schemes"][0]) if "schemes" in fields else None
    _agree_choices(fields, lines)
    for key in ("syllables", "pass_syllables", "words", "characters", "feet", "endings"):
        if lines and len(fields.get(key, ())) > 1 and len(fields[key]) != lines:
            raise FormKeyError(key, f"form key {key!r} has {len(fields[key])} numbers for {lines} lines of the scheme")
    if lines and "stanzas" in fields and sum(fields["stanzas"]) != lines:
        raise FormKeyError("stanzas", f"form key 'stanzas' has {sum(fields['stanzas'])} lines, the scheme {lines}")


def _agree_choices(fields: dict[str, Any], lines: int | None) -> None:
    """Check that other measures and schemes are as long as the schemes."""
    for scheme in fields.get("more_schemes", ()):
        if len(scheme) != lines:
            raise FormKeyError("more_schemes", f"form key 'more_schemes' has {len(scheme)} labels for {lines} lines")
    for measure in fields.get("measures", ()):
        if lines and len(measure) not in (1, lines):
            raise FormKeyError("measures", f"form key 'measures' has {len(measure)} numbers for {lines} lines")


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{value!r} is not text")
    return value


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(map(_text, value)) if isinstance(value, list | tuple) else (_text(value),)


def _whole(value: Any) -> int:
    if not is_whole(value):
        raise ValueError(f"{value!r} is not a whole number")
    return value


def _wholes(value: Any) -> tuple[int, ...]:
    return tuple(map(_whole, value)) if isinstance(value, list | tuple) else (_whole(value),)


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{value!r}: give true or false")
    return value


def _one_of(*known: str) -> Callable[[Any], str]:
    def read(value: Any) -> str:
        if value not in known:
            raise ValueError(f"{value!r} is not one of {', '.join(known)}")
        return str(value)

    return read


def _schemes(value: Any) -> tuple[tuple[str, ...], ...]:
    schemes = tuple(map(parse_scheme, _texts(value)))
    for label in (label for scheme in schemes for label in scheme):
        if not is_label(label):
            raise ValueError(
                f"{label!r} is not a label: use letters, x for unrhymed lines, A1 for refrains, R for a rentrement"
            )
    return schemes


def _counts_by_name(*known: str) -> Callable[[Any], tuple[tuple[str, Any], ...]]:
    def read(value: Any) -> tuple[tuple[str, Any], ...]:
        for key in value:
            if known and key not in known:
                raise ValueError(f"{key!r} is not one of {', '.join(known)}")
        return tuple((key, parse_count(count)) for key, count in value.items())

    return read


def _letters(value: Any) -> tuple[tuple[str, str], ...]:
    for key in value:
        _one_of("first", "last", "spine", "end_word", "first_word")(key)
    return tuple((key, _text(text)) for key, text in value.items())


def _names(value: Any) -> tuple[tuple[str, Any], ...]:
    for key in value:
        _one_of("list", "distinct", "in_order", "most")(key)
    word_list(value["list"])
    return tuple(value.items())


def _word_lengths(value: Any) -> tuple[Any, ...]:
    if isinstance(value, dict):
        for key in value:
            _one_of("modulo", "rest")(key)
        return tuple((key, _whole(number)) for key, number in value.items())
    return parse_counts(value)


def _carry(value: Any) -> tuple[tuple[str, str], ...]:
    for new, old in value.items():
        if len(new) != 1 or not (len(old) == 1 or old == "last"):
            raise ValueError(f"{new!r} = {old!r}: both are letters of the scheme (or the second is 'last')")
    return tuple(value.items())


def _pass(value: Any) -> tuple[tuple[str, float], ...]:
    for key, share in value.items():
        if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 1:
            raise ValueError(f"{key} = {share!r}: give a share from 0 to 1")
    return tuple((key, float(share)) for key, share in value.items())


def _endings(value: Any) -> str:
    text = _text(value).replace("/", "").replace(" ", "")
    if set(text) - set("fmx"):
        raise ValueError(f"{value!r}: write f (feminine), m (masculine) or x (either) for each line")
    return text


def _checked(parse: Callable[[str], object]) -> Callable[[Any], tuple[str, ...]]:
    def read(value: Any) -> tuple[str, ...]:
        for text in _texts(value):
            parse(text)
        return _texts(value)

    return read


def _end_words(value: Any) -> tuple[str, ...]:
    """One token a line: `"123 231"` is six lines, `-` is a free end, `"$quote"` the words of the parameter."""
    text = _text(value)
    return ("$quote",) if text == "$quote" else tuple(text.replace(" ", "").replace("/", ""))


def _lines(value: Any) -> Any:
    count = parse_count(value)
    if span(count)[0] < 1:
        raise ValueError(f"{value!r}: a poem has at least one line")
    return count


def _part(value: Any) -> FormPart:
    if not isinstance(value, dict):
        raise TypeError(f"{value!r} is not a table")
    for key in value:
        if key not in _PART_READERS:
            raise ValueError(f"{key!r} is not one of {', '.join(_PART_READERS)}")
    return FormPart(**read_fields(value))


_PART_READERS: dict[str, Callable[[Any], Any]] = {
    "lines": _lines,
    "stanzas": _wholes,
    "schemes": _schemes,
    "syllables": parse_counts,
    "words": parse_counts,
    "characters": parse_counts,
    "feet": _wholes,
}
_READERS: dict[str, Callable[[Any], Any]] = _PART_READERS | {
    "title": _text,
    "aliases": _texts,
    "check": _one_of(*FORM_CHECKS),
    "why": _text,
    "repeat": parse_count,
    "repeat_default": _whole,
    "opening": _part,
    "closing": _part,
    "tolerance": _whole,
    "pass_tolerance": _whole,
    "pass_syllables": parse_counts,
    "measures": lambda value: tuple(map(parse_counts, value)),
    "shorter": _checked(parse_comparison),
    "stichic": _flag,
    "even": _whole,
    "more_schemes": _schemes,
    "shared": _text,
    "carry": _carry,
    "may_carry": _carry,
    "loop": _carry,
    "rhyme": _one_of("full", "assonance", "last", "none"),
    "rentrement": parse_count,
    "repeats": _checked(parse_equality),
    "varied": _flag,
    "burden": _flag,
    "same_end": _checked(parse_equality),
    "end_words": _end_words,
    "envoi": _whole,
    "radif": _flag,
    "unrhymed": _flag,
    "runs": parse_count,
    "links": _checked(parse_link),
    "metre": _one_of(*METRE_NAMES),
    "template": _texts,
    "caesura": _whole,
    "end_syllables": parse_counts,
    "endings": _endings,
    "alliteration": _whole,
    "letters": _letters,
    "total": _counts_by_name("syllables", "words", "characters", "letters", "sentences"),
    "stanza_words": parse_counts,
    "budget": _counts_by_name(),
    "without": _text,
    "vowel": _text,
    "contains": _texts,
    "names": _names,
    "starts": _text,
    "ends": _text,
    "same_start": _whole,
    "word_lengths": _word_lengths,
    "word_syllables": parse_count,
    "palindrome": _one_of("letters", "words", "poem"),
    "least_words": _whole,
    "least_content": _whole,
    "no_language": _text,
    "special": lambda value: tuple(_one_of(*SPECIAL_NAMES)(name) for name in _texts(value)),
    "parameters": lambda value: tuple((_one_of(*PARAMETERS)(key), item) for key, item in value.items()),
    "defining": _pass,
    "ask": _text,
}
