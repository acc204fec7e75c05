"""The check of docstrings sees what a function raises itself or through private helpers, and nothing else."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from tests.paths_for_tests import ROOT

SCRIPT = ROOT / ".ci" / "check_docstrings.py"
ERRORS = """
    class LearnableError(Exception): ...
    class NameError_(LearnableError): ...
    class OtherError(Exception): ...
    def fault(key) -> NameError_: return NameError_(key)
    """
HEAD = '"""Go.""" '  # a docstring that says nothing of errors
HIDDEN = {
    "raised": f"def go():\n    {HEAD}; raise LearnableError('x')",
    "a subclass": f"def go():\n    {HEAD}; raise NameError_",
    "through its module": f"def go():\n    {HEAD}; raise errors.NameError_('x')",
    "made by a function": f"def go():\n    {HEAD}; raise fault('x')",
    "held by a variable": f"def go():\n    {HEAD}; error = NameError_('x'); raise error",
    "held by an argument": f"def go(error: NameError_):\n    {HEAD}; raise error",
    "without a docstring": "def go(): raise LearnableError('x')",
    "another class named": 'def go():\n    """Raises `OtherError`."""\n    raise LearnableError',
    "a subclass named for its base": 'def go():\n    """Raises `NameError_`."""\n    raise LearnableError',
    "named, but not as raised": 'def go():\n    """Return a LearnableError."""\n    raise LearnableError',
    "of a helper": f"def _check(): raise LearnableError\ndef go():\n    {HEAD}; _check()",
    "of a helper's helper": f"def _a(): _b()\ndef _b(): raise LearnableError\ndef go():\n    {HEAD}; return [_a() for _ in '']",
    "of a function inside": f"def go():\n    {HEAD}\n    def check(): raise LearnableError\n    check()",
    "of a private class": f"class _Job:\n    def __init__(self): raise LearnableError\ndef go():\n    {HEAD}; _Job()",
    "of a method": f"class Job:\n    def go(self):\n        {HEAD}; self._check()\n    def _check(self): raise LearnableError",
    "of a base's method": f"class _Base:\n    def _check(self): raise LearnableError\nclass Job(_Base):\n    def go(self):\n        {HEAD}; self._check()",
    "of a property": f"class Job:\n    def go(self):\n        {HEAD}; return self._size\n    @property\n    def _size(self): raise LearnableError",
    "of a class": f"class Job:\n    {HEAD}\n    def __post_init__(self): raise LearnableError",
    "of an operator": f"class Job:\n    {HEAD}\n    def __getitem__(self, key): raise LearnableError",
    "raised again": f"def go():\n    {HEAD}\n    try: _check()\n    except LearnableError: raise\n    except Exception: pass\ndef _check(): raise LearnableError",
    "raised again by name": f"def go():\n    {HEAD}\n    try: _check()\n    except LearnableError as error: raise error\ndef _check(): raise LearnableError",
    "in a handler": f"def go():\n    {HEAD}\n    try: pass\n    except LearnableError: raise NameError_ from None",
    "past another handler": f"def go():\n    {HEAD}\n    try: raise LearnableError\n    except NameError_: pass",
    "of a command with its own help": f"@app.command(help=HELP)\ndef go():\n    {HEAD}; raise LearnableError",
}
OPEN = {
    "said": 'def go():\n    """Raises `LearnableError` always."""\n    raise LearnableError',
    "said of the base": 'def go():\n    """Raises `LearnableError` always."""\n    raise NameError_',
    "said as an order": 'def go():\n    """Raise `LearnableError` always."""\n    raise NameError_',
    "said in a section": 'def go():\n    """Go.\n\n    Raises:\n        NameError_: always.\n    """\n    raise NameError_',
    "said of the class": 'class Job:\n    """Raises `LearnableError` always."""\n    def __init__(self): raise LearnableError',
    "no error of ours": f"def go():\n    {HEAD}; raise OtherError",
    "private": "def _go(): raise LearnableError",
    "of a private class": "class _Job:\n    def go(self): raise LearnableError",
    "handled": f"def go():\n    {HEAD}\n    try: _check()\n    except (OSError, LearnableError): pass\ndef _check(): raise NameError_",
    "handled with all others": f"def go():\n    {HEAD}\n    try: raise LearnableError\n    except Exception: pass",
    "silenced": f"def go():\n    {HEAD}\n    with suppress(LearnableError): _check()\ndef _check(): raise LearnableError",
    "of another public function": f"def check():\n    'Raises LearnableError'\n    raise LearnableError\ndef go():\n    {HEAD}; check()",
    "of a function inside that is not called": f"def go():\n    {HEAD}\n    def check(): raise LearnableError\n    return check",
    "help of a command": f"@app.command()\ndef go():\n    {HEAD}; raise LearnableError",
}


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
