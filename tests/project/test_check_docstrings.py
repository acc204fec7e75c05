"""The check of docstrings sees what a function raises itself or through private helpers, and nothing else."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from tests.support.paths import ROOT

SCRIPT = ROOT / ".ci" / "check_docstrings.py"
ERRORS = """
    class LearnableError(Exception): ...
    class NameError_(LearnableError): ...
    class OtherError(Exception): ...
    def fault(key) -> NameError_: return NameError_(key)
    """


def cases(text: str) -> dict[str, str]:
    """The sources of a text, by the comment that each begins with."""
    parts = [part.partition("\n") for part in re.split(r"^# ", dedent(text).strip(), flags=re.MULTILINE)[1:]]
    return {name: source for name, _, source in parts}


HIDDEN = cases(
    '''
    # raised
    def go():
        """Go."""
        raise LearnableError('x')

    # a subclass
    def go():
        """Go."""
        raise NameError_

    # through its module
    def go():
        """Go."""
        raise errors.NameError_('x')

    # made by a function
    def go():
        """Go."""
        raise fault('x')

    # in a variable
    def go():
        """Go."""
        error = NameError_('x')
        raise error

    # in an argument
    def go(error: NameError_):
        """Go."""
        raise error

    # without a docstring
    def go():
        raise LearnableError('x')

    # another class named
    def go():
        """Raises `OtherError`."""
        raise LearnableError

    # a subclass named for its base
    def go():
        """Raises `NameError_`."""
        raise LearnableError

    # named, but not as raised
    def go():
        """Return a LearnableError."""
        raise LearnableError

    # of a helper
    def _check():
        raise LearnableError

    def go():
        """Go."""
        _check()

    # of a helper's helper
    def _a():
        _b()

    def _b():
        raise LearnableError

    def go():
        """Go."""
        return [_a() for _ in '']

    # of a function inside
    def go():
        """Go."""

        def check():
            raise LearnableError
        check()

    # of a private class
    class _Job:

        def __init__(self):
            raise LearnableError

    def go():
        """Go."""
        _Job()

    # of a method
    class Job:

        def go(self):
            """Go."""
            self._check()

        def _check(self):
            raise LearnableError

    # of a base's method
    class _Base:

        def _check(self):
            raise LearnableError

    class Job(_Base):

        def go(self):
            """Go."""
            self._check()

    # of a property
    class Job:

        def go(self):
            """Go."""
            return self._size

        @property
        def _size(self):
            raise LearnableError

    # of a class
    class Job:
        """Go."""

        def __post_init__(self):
            raise LearnableError

    # of an operator
    class Job:
        """Go."""

        def __getitem__(self, key):
            raise LearnableError

    # raised again
    def go():
        """Go."""
        try:
            _check()
        except LearnableError:
            raise
        except Exception:
            pass

    def _check():
        raise LearnableError

    # raised again by name
    def go():
        """Go."""
        try:
            _check()
        except LearnableError as error:
            raise error

    def _check():
        raise LearnableError

    # in a handler
    def go():
        """Go."""
        try:
            pass
        except LearnableError:
            raise NameError_ from None

    # past another handler
    def go():
        """Go."""
        try:
            raise LearnableError
        except NameError_:
            pass

    # of a command with its own help
    @app.command(help=HELP)
    def go():
        """Go."""
        raise LearnableError
    '''
)
OPEN = cases(
    '''
    # said
    def go():
        """Raises `LearnableError` always."""
        raise LearnableError

    # said of the base
    def go():
        """Raises `LearnableError` always."""
        raise NameError_

    # said as an order
    def go():
        """Raise `LearnableError` always."""
        raise NameError_

    # said in a section
    def go():
        """Go.

        Raises:
            NameError_: always.
        """
        raise NameError_

    # said of the class
    class Job:
        """Raises `LearnableError` always."""

        def __init__(self):
            raise LearnableError

    # no error of ours
    def go():
        """Go."""
        raise OtherError

    # private
    def _go():
        raise LearnableError

    # of a private class
    class _Job:

        def go(self):
            raise LearnableError

    # handled
    def go():
        """Go."""
        try:
            _check()
        except (OSError, LearnableError):
            pass

    def _check():
        raise NameError_

    # handled with all others
    def go():
        """Go."""
        try:
            raise LearnableError
        except Exception:
            pass

    # silenced
    def go():
        """Go."""
        with suppress(LearnableError):
            _check()

    def _check():
        raise LearnableError

    # of another public function
    def check():
        """Raises LearnableError"""
        raise LearnableError

    def go():
        """Go."""
        check()

    # of a function inside that is not called
    def go():
        """Go."""

        def check():
            raise LearnableError
        return check

    # help of a command
    @app.command()
    def go():
        """Go."""
        raise LearnableError
    '''
)


def missing(folder: Path, source: str) -> list[str]:
    (folder / "errors.py").write_text(dedent(ERRORS))
    (folder / "module.py").write_text(source)
    found: list[str] = runpy.run_path(str(SCRIPT))["missing_in"]([folder])
    return found


@pytest.mark.parametrize("source", HIDDEN.values(), ids=HIDDEN)
def test_an_error_that_no_docstring_names_is_found(tmp_path: Path, source: str) -> None:
    assert len(missing(tmp_path, source)) == 1


@pytest.mark.parametrize("source", OPEN.values(), ids=OPEN)
def test_nothing_else_is_found(tmp_path: Path, source: str) -> None:
    assert missing(tmp_path, source) == []


def test_the_script_names_the_place_and_fails(tmp_path: Path) -> None:
    missing(tmp_path, f"# a comment\n{HIDDEN['of a class']}")
    done = subprocess.run([sys.executable, str(SCRIPT), "."], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout == 'module.py:2: Job: docstring lacks "Raises `LearnableError`"\n'
    assert done.returncode == 1
