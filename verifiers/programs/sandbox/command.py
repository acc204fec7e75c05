"""The command line that starts a server: a bare interpreter, in bubblewrap or not."""

from __future__ import annotations

import json
import os
import sys
import sysconfig
from pathlib import Path

from learnable.verifiers.programs.sandbox.ladder import Rung

FOLDER = Path(__file__).resolve().parents[1] / "jail"
# A fixed hash seed makes a program that prints a set answer alike twice; -I would ignore it, hence its parts.
ENVIRONMENT = {"PYTHONHASHSEED": "0"}
FLAGS = ["-s", "-P", "-S", "-B", "-W", "ignore"]
START = (
    "import sys; sys.path.append(sys.argv[1]); from jail.server import main; sys.path.pop(); "
    "main(int(sys.argv[2]), sys.argv[3])"
)
NAMESPACES = ["--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"]


def server_command(rung: Rung, control_fd: int, bubblewrap: str | None) -> list[str]:
    """Return the command that starts a server at `rung`, to speak over the descriptor `control_fd`."""
    options = json.dumps({"seccomp": rung != Rung.E, "landlock": rung in (Rung.A, Rung.B)})
    if rung == Rung.A and bubblewrap is not None:
        outer, parent = [*_bubblewrap(bubblewrap), "--"], "/sandbox"
    else:
        outer, parent = [], str(FOLDER.parent)
    return [*outer, str(interpreter()), *FLAGS, "-c", START, parent, str(control_fd), options]


def interpreter() -> Path:
    """Return the interpreter itself, behind any virtual environment: what that adds is not for candidates."""
    return Path(getattr(sys, "_base_executable", sys.executable) or sys.executable).resolve()


def _bubblewrap(program: str) -> list[str]:
    """Return bubblewrap's part: new namespaces, and only the interpreter's own files, read-only.

    No /proc. As root it keeps the two capabilities that the server needs to become nobody, and loses the rest.
    """
    command = [program, *NAMESPACES, "--new-session", "--dev", "/dev", "--chdir", "/", "--ro-bind", "/usr", "/usr"]
    for folder in ("/lib", "/lib64", "/lib32"):
        path = Path(folder)
        if path.is_symlink():
            command += ["--symlink", str(path.readlink()), folder]
        elif path.exists():
            command += ["--ro-bind", folder, folder]
    for prefix in _prefixes():
        command += ["--ro-bind", prefix, prefix]
    command += ["--ro-bind", str(FOLDER), "/sandbox/jail", "--clearenv"]
    for name, value in ENVIRONMENT.items():
        command += ["--setenv", name, value]
    command += ["--cap-drop", "ALL"]
    if os.getuid() == 0:
        return [*command, "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
    return [*command, "--unshare-user"]


def _prefixes() -> list[str]:
    """Return the folders outside /usr that the interpreter and its library are in."""
    names = {Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib")}
    folders = {interpreter().parent.parent, *(path.parent.parent for path in names)}
    return sorted(str(folder) for folder in folders if not folder.is_relative_to("/usr") and folder != Path("/"))
