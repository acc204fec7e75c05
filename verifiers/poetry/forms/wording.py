"""What a form requires, in the words of a prompt: written from the declaration that the verifier reads."""

from __future__ import annotations

from learnable.verifiers.poetry.forms.counts import Count, say_count, say_counts, span
from learnable.verifiers.poetry.forms.form import Form, FormPart
from learnable.verifiers.poetry.forms.labels import UNRHYMED, Scheme, is_refrain, is_rentrement, say_scheme
from learnable.verifiers.poetry.forms.loading import CORE
from learnable.verifiers.poetry.forms.rule_phrases import MINIMUM_RULES, say_rules

FEET_NAMES = (
    "",
    "monometer",
    "dimeter",
    "trimeter",
    "tetrameter",
    "pentameter",
    "hexameter",
    "heptameter",
    "octameter",
)


def requirement(form: Form) -> str:
    """Say what the form requires.

    >>> from learnable.verifiers.poetry.forms import find_form
    >>> requirement(find_form("haiku"))
    '3 lines of 5, 7 and 5 syllables'
    """
    return ", ".join(requirements(form))


def requirements(form: Form) -> list[str]:
    """Say what the form requires, one phrase per rule."""
    phrase = " ".join(part for part in (_shape(form), _sizes(form), _rhymes(form)) if part)
    rules = (
        [form.ask, *say_rules(form, MINIMUM_RULES)] if form.ask else [*_metre(form), *_parts(form), *say_rules(form)]
    )
    return [part for part in (phrase, *rules) if part]


def _requests(form: Form, component: str) -> bool:
    return not form.requested or component in form.requested


def _shape(form: Form) -> str:
    """Say how many lines and stanzas there are."""
    if form.repeat is not None:
        return _repeated_shape(form)
    lines = form.line_count
    if lines is None:
        return "" if form.lines is None else f"{say_count(form.lines)} lines"
    phrase = "1 line" if lines == 1 else f"{lines} lines"
    if len(form.stanzas) > 1 and form.group != CORE:
        phrase += f" in stanzas of {say_counts(form.stanzas)}"
    return phrase


def _repeated_shape(form: Form) -> str:
    units = form.repeat_default + form.counts_opening
    size = form.part_lines()
    if len(form.stanzas) > 1:
        return f"{units * len(form.stanzas)} stanzas of {say_counts(form.stanzas)} lines"
    if size is None:
        return f"{units} stanzas"
    if size == 1:
        return f"{units} lines"
    if form.stichic:
        return f"{units} {_unit(form)}s of lines"
    return f"{units} stanzas of {size} lines" if units > 1 else f"{size} lines"


def _sizes(form: FormPart, tolerance: int | None = None) -> str:
    """Say how long the lines are: `of 5, 7 and 5 syllables`."""
    tolerance = getattr(form, "tolerance", 0) if tolerance is None else tolerance
    phrases = []
    if form.syllables and (not isinstance(form, Form) or _requests(form, "syllables")):
        about = "about " if tolerance else ""
        phrases.append(f"of {about}{_say_lengths(form, form.syllables, 'syllables')}{_other_measures(form)}")
    if form.words:
        phrases.append(f"of {_say_lengths(form, form.words, 'words')}")
    if form.characters:
        phrases.append(f"of {_say_lengths(form, form.characters, 'characters')}")
    return " and ".join(phrases)


def _other_measures(form: FormPart) -> str:
    """Say the other lengths that the lines may have. Prompts of the policy's forms name the first only."""
    if not isinstance(form, Form) or not form.measures or form.group == CORE:
        return ""
    about = "about " if form.tolerance else ""
    return "".join(f" or of {about}{_say_lengths(form, measure, 'syllables')}" for measure in form.measures)


def _say_lengths(form: FormPart, counts: tuple[Count, ...], what: str) -> str:
    """Say one count a line: once for stanzas that are alike, and what is common before a line that is not."""
    size = form.stanzas[0] if form.stanzas else 0
    if size and len(counts) > size and counts == counts[:size] * len(form.stanzas):
        counts = counts[:size]
    common = max(counts, key=counts.count)
    others = [number for number, count in enumerate(counts, 1) if count != common]
    if (
        len(counts) >= (5 if len(others) == 1 else 9)
        and 1 <= len(others) <= 2
        and len({counts[n - 1] for n in others}) == 1
    ):
        where = f"line {others[0]}" if len(others) == 1 else f"lines {others[0]} and {others[1]}"
        return f"{say_count(common)} {what} ({where}: {say_count(counts[others[0] - 1])})"
    return f"{say_counts(counts)} {what}"


def _rhymes(form: Form) -> str:
    """Say the schemes a poem may follow."""
    if not form.schemes or not _requests(form, "rhyme") or _silent(form.schemes[0]) or form.part_lines() == 1:
        return ""
    breaks = () if form.group == CORE else form.stanzas
    alike = [scheme for scheme in form.schemes if len(scheme) == len(form.schemes[0])]
    phrase = "rhyming " + " or ".join(say_scheme(scheme, breaks) for scheme in alike)
    again = form.repeat is not None and form.repeat_default > 1
    return phrase + (f" in each {_unit(form)}" if again else "")


def _unit(form: Form) -> str:
    """Name what repeats: stichic verse has no stanzas, but its lines may go in pairs."""
    if len(form.stanzas) > 1:
        return "pair of stanzas" if len(form.stanzas) == 2 else "group of stanzas"
    return "stanza" if not form.stichic else "pair" if form.part_lines() == 2 else "group"


def _silent(scheme: Scheme) -> bool:
    return all(label == UNRHYMED for label in scheme)


def _metre(form: Form) -> list[str]:
    """Say the metre. Prompts of the policy's forms leave it to the form's name."""
    if not form.metre or form.group == CORE or not _requests(form, "metre"):
        return []
    feet = {*form.feet} if not form.measures else set()
    if len(feet) == 1 and (count := feet.pop()) < len(FEET_NAMES):
        return [f"in {form.metre} {FEET_NAMES[count]}"]
    return [f"in {form.metre} metre" + (f" of {_say_lengths(form, form.feet, 'feet')}" if feet else "")]


def _parts(form: Form) -> list[str]:
    """Say the opening, the closing, and what capitals in a scheme mean."""
    phrases = []
    for name, part in (("opening", form.opening), ("closing", form.closing)):
        if part is not None:
            lines = part.part_lines() or 1
            schemes = [s for s in part.schemes if not _silent(s)]
            rhyming = f"rhyming {' or '.join(map(say_scheme, schemes))}" if schemes else ""
            size = f"{name} {'line' if lines == 1 else f'of {lines} lines'}"
            size = f"with an {size}" if name == "opening" else f"with a {size}"
            if name == "opening" and form.counts_opening:
                phrases.append(" ".join((f"the first {_unit(form)}", rhyming)))
                continue
            phrases.append(" ".join(filter(None, (size, _sizes(part, form.tolerance), rhyming))))
    labels = [label for part in (form.opening, form, form.closing) if part for s in part.schemes for label in s]
    if any(map(is_refrain, labels)) and form.group != CORE:
        phrases.append("where lines with the same capital and number are the same line")
    if any(map(is_rentrement, labels)):
        low, high = span(form.rentrement)
        phrases.append(f"where R is the first {low} to {high} words of the first line")
    return phrases
