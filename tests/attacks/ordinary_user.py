"""Running a module of this project as an ordinary user, from tests that may run as root."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from learnable.verifiers.programs.sandbox.server import interpreter

ROOT = Path(__file__).parents[2]
PACKAGES = ("src/learnable/__init__.py", "src/learnable/data", "src/learnable/verifiers", "tests/attacks", "benchmarks")
ORDINARY = 12_345  # nobody's number
UNWANTED = shutil.ignore_patterns(
    "site-packages", "test", "tests", "idlelib", "tkinter", "ensurepip", "config-*", "*.a"
)


def run_as_user(module: str, *arguments: str, workspace: Path) -> subprocess.CompletedProcess[str]:
    """Run `python -m module` as an ordinary user: this one, or where this one is root another.

    What that one cannot read is copied to `workspace`: the code it needs, and where needs be the interpreter.
    """
    python, code, user = Path(sys.executable), ROOT, None
    if os.getuid() == 0:
        open_to_all(workspace)
        user, code, python = ORDINARY, _copy_code(workspace / "code"), _readable_python(workspace)
    return subprocess.run(
        [str(python), "-m", module, *arguments],
        cwd=code,
        env={
            **os.environ,
            "PYTHONPATH": f"{code / 'src'}:{code}",
            "HOME": "/",
            "LEARNABLE_ATTACKS": str(workspace / "shared"),
        },
        user=user,
        group=user,
        extra_groups=None if user is None else [],
        capture_output=True,
        text=True,
        check=False,
    )


def open_to_all(folder: Path) -> None:
    """Let everyone read a folder, and pass through those above it that pytest has made."""
    for path in (folder, *folder.parents):
        if path.stat().st_mode & 0o055 != 0o055 and path.stat().st_uid == os.getuid():
            path.chmod(path.stat().st_mode | 0o055)


def _copy_code(target: Path) -> Path:
    for name in PACKAGES:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(
                source, target / name, ignore=shutil.ignore_patterns("__pycache__", "policy", "*.safetensors")
            )
        else:
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target / name)
    return target


def _readable_python(workspace: Path) -> Path:
    """Return an interpreter that anyone may run: this one, the system's of the same version, or a copy of this one."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for python in (interpreter(), Path("/usr/bin") / version):
        if python.exists() and _runs(python):
            return python
    library = Path(sysconfig.get_path("stdlib"))
    copied = workspace / "python"
    shutil.copytree(library, copied / "lib" / version, ignore=UNWANTED, symlinks=True)
    for shared in library.parent.glob("libpython*"):
        shutil.copy(shared, copied / "lib")
    (copied / "bin").mkdir()
    shutil.copy(interpreter(), copied / "bin" / version)
    return copied / "bin" / version


def _runs(python: Path) -> bool:
    try:
        tried = subprocess.run([str(python), "-c", ""], user=ORDINARY, group=ORDINARY, extra_groups=[], check=False)
    except PermissionError:
        return False
    return tried.returncode == 0
