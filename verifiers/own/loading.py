"""Imports a user's judge by `FILE.py:OBJECT` or `MODULE:OBJECT`; an error is one line, with the place."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import sys
import traceback
from dataclasses import dataclass
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from learnable.data.errors import LearnableError, nearest_names

SHAPE = "write FILE.py:OBJECT or MODULE:OBJECT, as in my_judge.py:judge"


class JudgeError(LearnableError):
    """A judge that cannot be used; the message names it, the place and the fix."""


@dataclass(frozen=True, slots=True)
class LoadedJudge:
    """What a name names: the object, its module's file, and a hash of the source files that it comes from."""

    judge: Any
    file: str
    source_hash: str


def load_judge(name: str) -> LoadedJudge:
    """Import what `name` names.

    A relative file is looked for in the working directory, and modules there can be imported too. A process reads a
    file once, as Python does with any import. Raises `JudgeError`.
    """
    place, _, attribute = name.rpartition(":")
    if not place or not attribute:
        raise JudgeError(f"verifier {name!r} is only half a name: {SHAPE}")
    module = _file_module(name, Path(place)) if place.endswith(".py") else _named_module(name, place)
    if not hasattr(module, attribute):
        listed = getattr(module, "__all__", vars(module))  # a package may import what it offers when it is first used
        own = [key for key in listed if not key.startswith("_") and callable(getattr(module, key, None))]
        near = nearest_names(attribute, own) or own[:5]
        fix = f"did you mean {' or '.join(near)}?" if near else "define it there"
        raise JudgeError(f"verifier {name!r}: {_file_of(module)} has no {attribute!r}: {fix}")
    judge = getattr(module, attribute)
    return LoadedJudge(judge, _file_of(module), _source_hash(module, judge))


def describe_fault(error: BaseException, file: str = "") -> str:
    """Return one line about an error that a user's code raised: the last place in `file`, or anywhere, and what it was.

    >>> describe_fault(ValueError("no ink"))
    'ValueError: no ink'
    """
    what = " ".join(f"{type(error).__name__}: {error}".split())
    if isinstance(error, SyntaxError):
        return f"{error.filename}, line {error.lineno}: {type(error).__name__}: {error.msg}"
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if frame.filename == file] or frames
    return f"{own[-1].filename}, line {own[-1].lineno}: {what}" if own else what


def find_place(error: BaseException, file: str) -> str:
    """Return where in `file` an error was raised last, as in `my_judge.py, line 7`, or nothing if it was elsewhere."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    return f"{Path(file).name}, line {lines[-1]}" if lines else ""


class _UncachedLoader(SourceFileLoader):
    """Reads the source itself: bytecode of the same second and size would run an older judge under the new hash."""

    def get_code(self, fullname: str) -> CodeType:
        return self.source_to_code(self.get_data(self.path), self.path)


def _file_module(name: str, place: Path) -> ModuleType:
    path = place.expanduser().absolute()
    if not path.is_file():
        raise JudgeError(
            f"verifier {name!r}: there is no file {str(path)!r}: a relative path counts from the working directory, so "
            "work in the folder that it was named in, or name the file by its whole path"
        )
    module_name = f"learnable_judge_{_hash(str(path).encode())}"
    if module_name in sys.modules:
        return sys.modules[module_name]
    _make_importable(path.parent)
    _make_importable(Path.cwd())
    loader = _UncachedLoader(module_name, str(path))
    spec = importlib.util.spec_from_loader(module_name, loader)
    if spec is None:
        raise JudgeError(f"verifier {name!r}: {str(path)!r} is no Python file: {SHAPE}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module  # before it runs: dataclasses look their module up
    try:
        loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[module_name]
        raise _not_importable(name, error, str(path)) from error
    return module


def _named_module(name: str, place: str) -> ModuleType:
    _make_importable(Path.cwd())
    try:
        return importlib.import_module(place)
    except ModuleNotFoundError as error:
        if error.name and (place == error.name or place.startswith(error.name + ".")):
            raise JudgeError(
                f"verifier {name!r} cannot be imported: there is no module {error.name!r} on Python's path or in "
                f"{str(Path.cwd())!r}; a file is named by its path, as in judges/my_judge.py:judge"
            ) from error
        raise _not_importable(name, error) from error
    except (Exception, SystemExit) as error:
        raise _not_importable(name, error) from error


def _not_importable(name: str, error: BaseException, file: str = "") -> JudgeError:
    return JudgeError(f"verifier {name!r} cannot be imported: {describe_fault(error, file)}. Mend it and start again")


def _make_importable(folder: Path) -> None:
    """Let modules of this folder be imported, after all others: a console script does not look there."""
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
    importlib.invalidate_caches()


def _source_hash(module: ModuleType, judge: object) -> str:
    """Hash the module that was named and the one that defines the object: either may decide a score."""
    kind = judge if hasattr(judge, "__qualname__") else type(judge)
    modules = {module, sys.modules.get(getattr(kind, "__module__", ""), module)}
    files = sorted(file for file in map(_file_of, modules) if Path(file).suffix == ".py" and Path(file).is_file())
    return _hash(b"".join(Path(file).read_bytes() for file in files))


def _file_of(module: ModuleType) -> str:
    return getattr(module, "__file__", None) or module.__name__


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:12]
