"""Takes users' own judges to other machines: the Python files beside them, and the names under which they lie there."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from learnable.data.records import is_own_verifier
from learnable.verifiers.own.loading import JudgeError
from learnable.verifiers.own.naming import read_name
from learnable.verifiers.own.trust import trust

MAX_BYTES = 32 << 20


@dataclass(frozen=True, slots=True)
class PackedCode:
    """Contents of files by their path in a folder, its folders to import from, and what is to be trusted there.

    A trusted name has the path in the folder in place of its file's.
    """

    files: Mapping[str, bytes] = field(default_factory=dict)
    importable: tuple[str, ...] = ()
    trusted: tuple[str, ...] = ()


def pack_code(names: Iterable[str]) -> PackedCode:
    """Pack the judges of users' own among these verifiers, whose names are trusted here.

    With them go the modules and packages in their files' folders and in the working directory, since they may import
    those; what is installed is taken to be installed there too. Raises `JudgeError` where that is more than 32 MiB.
    """
    own = [name for name in names if is_own_verifier(name)]
    if not own:
        return PackedCode()
    folders, trusted = [Path.cwd()], []
    for name in own:
        place = read_name(name).place.rpartition(":")[0]
        if not place.endswith(".py"):
            trusted.append(name)
            continue
        path = Path(place).expanduser().absolute()
        if path.parent not in folders:
            folders.append(path.parent)
        trusted.append(f"{folders.index(path.parent)}/{path.name}{name.removeprefix(place)}")
    files: dict[str, bytes] = {}
    for number, folder in enumerate(folders):
        for path in _list_modules(folder):
            files[f"{number}/{path.relative_to(folder)}"] = path.read_bytes()
            if sum(map(len, files.values())) > MAX_BYTES:
                raise JudgeError(
                    f"the Python files beside verifier {own[0]!r} are more than {MAX_BYTES >> 20} MiB, too many to "
                    "take to other machines: put the judge in a folder of its own, and work there"
                )
    return PackedCode(files, tuple(map(str, range(len(folders)))), tuple(trusted))


def unpack_code(code: PackedCode, folder: str) -> None:
    """Write packed files into a folder, and let this process and those that it starts import and trust them."""
    for name, content in code.files.items():
        path = Path(folder) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    sys.path.extend(str(Path(folder) / name) for name in code.importable)
    for name in code.trusted:
        trust(str(Path(folder) / name) if ".py:" in name else name)


def _list_modules(folder: Path) -> list[Path]:
    """Return the files of the modules and packages in a folder."""
    packages = [path.parent for path in folder.glob("*/__init__.py")]
    return sorted([*folder.glob("*.py"), *(path for package in packages for path in package.rglob("*.py"))])
