"""Families and their forms by name: those that come with the library, those of installed packages, a user's forms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from learnable.data.errors import LearnableError, UnknownNameError
from learnable.data.progress import progress
from learnable.data.sources.family import FORMS_LISTED_BY, DeclaredForm, Family, fold_name
from learnable.verifiers import domains

OwnForms = Mapping[str, DeclaredForm]  # a user's, by name
Names = Mapping[str, tuple[str, str]]  # the family and the form by every folded name of the form


class Families(Mapping[str, Family]):
    """Families by name, each imported when it is asked for."""

    def __init__(self, *, by_default: bool = True, on_request: bool = True) -> None:
        """List those that are drawn from by default, those that have to be named, or both."""
        self._by_default, self._on_request = by_default, on_request

    def _places(self) -> dict[str, str]:
        places = dict(domains.FAMILIES) if self._by_default else {}
        return places | domains.ON_REQUEST | _others() if self._on_request else places

    def __getitem__(self, name: str) -> Family:
        """Return a family. Raises `LearnableError` for one of a package that cannot be imported, or is none."""
        return _load(name, self._places()[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._places())

    def __len__(self) -> int:
        return len(self._places())


DEFAULT_FAMILIES = Families(on_request=False)
REQUESTED_FAMILIES = Families(by_default=False)
ALL_FAMILIES = Families()


def list_families() -> list[Family]:
    """Return every known family; warns of those of packages that cannot be used."""
    families = []
    for name in ALL_FAMILIES:
        try:
            families.append(ALL_FAMILIES[name])
        except LearnableError as error:
            progress().warn(str(error))
    return families


def find_family(name: str) -> Family:
    """Return the family called `name`. Raises `UnknownNameError` with the nearest names."""
    by_fold = {fold_name(known): known for known in ALL_FAMILIES}
    if (known := by_fold.get(fold_name(name))) is None:
        raise UnknownNameError("family", name, ALL_FAMILIES)
    return ALL_FAMILIES[known]


def find_forms(names: Sequence[str], own: OwnForms | None = None) -> list[tuple[str, str]]:
    """Return `(family, form)` for each name, in order and without repeats.

    Case, spaces, hyphens and underscores do not matter, and a name may be an alias. `all` is every declared form that
    can be a reward. `own` are a user's forms, which come before ours of the same name. Raises `UnknownNameError` with
    the nearest names, and `LearnableError` for a form that cannot be a reward.

    >>> find_forms(["greater-than", "fizz buzz"])
    [('comparison', 'GreaterThan'), ('programs', 'FizzBuzz')]
    """
    pairs: dict[tuple[str, str], None] = {}
    for name in names:
        if fold_name(name) == "all":
            pairs |= {(family.name, form): None for family in list_families() for form in family.every_form()}
            continue
        if (form := _find_form(name, own or {})) is None:
            raise UnknownNameError("form", name, _list_forms(own or {}), FORMS_LISTED_BY)
        pairs[form] = None
    for family, form_name in pairs:
        ALL_FAMILIES[family].with_own(own or {}).check_form(form_name)
    return list(pairs)


def find_family_or_form(name: str, own: OwnForms | None = None) -> tuple[Family, str | None]:
    """Return the family called so and None, or else the family of the form called so and the form's name.

    `own` are a user's forms, which come first. Raises `UnknownNameError` with the nearest names.

    >>> [(family.name, form) for family, form in map(find_family_or_form, ("counting", "fizz buzz"))]
    [('counting', None), ('programs', 'FizzBuzz')]
    """
    families = {fold_name(known): known for known in ALL_FAMILIES}
    folded = fold_name(name)
    if folded in families and folded not in _own_names(own or {}):
        return ALL_FAMILIES[families[folded]], None
    if (form := _find_form(name, own or {})) is None:
        raise UnknownNameError("form or family", name, [*_list_forms(own or {}), *ALL_FAMILIES], FORMS_LISTED_BY)
    return ALL_FAMILIES[form[0]].with_own(own or {}), form[1]


def find_form_reader() -> Family:
    """Return the family whose forms users may declare in a file. Raises `LearnableError` where there is none."""
    for name in ALL_FAMILIES:  # ours come first, so that no package is imported for it
        if ALL_FAMILIES[name].reads_forms:
            return ALL_FAMILIES[name]
    raise LearnableError("no family has forms that a file could declare: leave `forms_file` out")


def load_forms(path: str | None) -> OwnForms:
    """Return the forms that a user's file declares, by name; none without a file.

    Raises `LearnableError` naming the file, the line and the key.
    """
    return find_form_reader().load_forms(path) if path else {}


def _find_form(name: str, own: OwnForms) -> tuple[str, str] | None:
    folded = fold_name(name)
    return next((names[folded] for names in _all_names(own) if folded in names), None)


def _list_forms(own: OwnForms) -> list[str]:
    return [form for names in _all_names(own) for _, form in names.values()]


def _all_names(own: OwnForms) -> Iterator[Names]:
    """Yield tables of names, in the order of asking; packages are imported only for names that are none of ours."""
    yield _own_names(own)
    yield _our_names()
    yield _name_forms([family for family in list_families() if family.name in _others()])


def _own_names(own: OwnForms) -> Names:
    if not own:
        return {}
    family = find_form_reader()
    return {fold_name(name): (family.name, form) for name, form in family.with_own(own).own_names()}


@cache
def _our_names() -> Names:
    return _name_forms([ALL_FAMILIES[name] for name in ALL_FAMILIES if name not in _others()])


def _name_forms(families: Sequence[Family]) -> Names:
    """Return the forms by their names; of two that are called alike, the declared one."""
    ordered = sorted(families, key=lambda family: family.reads_forms)
    return {fold_name(name): (family.name, form) for family in ordered for name, form in family.names()}


def _others() -> dict[str, str]:
    """Return the places of the families of packages; ours come first, whatever packages call theirs."""
    ours = domains.FAMILIES.keys() | domains.ON_REQUEST.keys()
    return {name: place for name, place in domains.installed_families().items() if name not in ours}


@cache
def _load(name: str, place: str) -> Family:
    if name not in _others():
        ours: Family = domains.load(place)
        return ours
    try:
        family = domains.load(place)
    except Exception as error:  # a package may raise anything
        raise LearnableError(
            f"family {name!r} of an installed package ({place}) cannot be imported: {type(error).__name__}: {error}: "
            "mend the package, or uninstall it"
        ) from error
    if not isinstance(family, Family) or family.name != name:
        raise LearnableError(f"entry point {name!r} of an installed package ({place}) is no Family called {name!r}")
    return family
