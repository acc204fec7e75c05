"""One server of the sandbox, seen from its client: the command that starts it, its own test, and its processes."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import sysconfig
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from learnable.verifiers.programs.sandbox.jail.codec import decode
from learnable.verifiers.programs.sandbox.jail.probes import HONEST, REFUSED_ERRNO, SOURCE
from learnable.verifiers.programs.sandbox.jail.server import JOB_FORMAT
from learnable.verifiers.programs.sandbox.ladder import Machine, Rung
from learnable.verifiers.programs.sandbox.process import CandidateProcess, SandboxError, SandboxJob, ViolationError

FOLDER = Path(__file__).resolve().parent / "jail"
# A fixed hash seed makes a program that prints a set answer alike twice; -I would ignore it, hence its parts.
ENVIRONMENT = {"PYTHONHASHSEED": "0"}
START_CODE = (
    "import sys; sys.path.append(sys.argv[1]); from jail.server import main; sys.path.pop(); "
    "main(int(sys.argv[2]), sys.argv[3])"
)


@dataclass(frozen=True, slots=True)
class Limits:
    """What one candidate may use: `cpu_seconds` of processor time, whatever the clock says, and `memory_bytes`."""

    cpu_seconds: float = 2.0
    memory_bytes: int = 256 << 20


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """What a server said of itself when it started.

    `landlock` is the version in use (0: none), `uid` its user, `dropped` whether it is not root, `pid` its own
    process id (inside its namespace, if it has one), and `probes` what it could still reach: "" for a thing that was
    refused.
    """

    landlock: int
    uid: int
    dropped: bool
    pid: int
    probes: dict[str, str]


class SandboxServer:
    """A running server. Several threads may ask for its processes. Raises `SandboxError` where it does not start."""

    def __init__(self, rung: Rung, machine: Machine) -> None:
        self.owner = os.getpid()
        self._lock = threading.Lock()
        self._spare: tuple[Limits, bool, CandidateProcess] | None = None
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs, os.fdopen(os.memfd_create("errors"), "w+b") as errors:
            try:
                command = build_command(rung, theirs.fileno(), machine.bubblewrap)
                self._process = _start(command, theirs.fileno(), errors)
            except OSError as error:
                self._control.close()
                raise SandboxError(f"the sandbox's server cannot be started: {error}") from error
            theirs.close()
            try:
                self.facts = self._hello()
            except (OSError, ValueError, TypeError) as error:
                self.close()
                errors.seek(0)
                words = errors.read(2000).decode("utf-8", "replace").strip()
                raise SandboxError(f"the sandbox's server did not start: {error} {words}".strip()) from error

    @property
    def pid(self) -> int:
        """Process id of what was started: the server, or bubblewrap around it."""
        return self._process.pid

    def new_process(self, limits: Limits, *, reads: bool = False) -> CandidateProcess:
        """Return a fresh process that waits for its job: the one kept ready, or one made now.

        `reads`: the job is a program with standard input. Raises `OSError` where the server is gone.
        """
        with self._lock:
            spare, self._spare = self._spare, None
        if spare is not None:
            if spare[:2] == (limits, reads):
                return spare[2]
            spare[2].close()
        return self._request(limits, reads)

    def keep_ready(self, limits: Limits, *, reads: bool = False) -> None:
        """Have a process made for the next job, while this one runs. Raises `OSError` where the server is gone."""
        with self._lock:
            if self._spare is None:
                self._spare = (limits, reads, self._request(limits, reads))

    def _request(self, limits: Limits, reads: bool) -> CandidateProcess:
        ours, theirs = socket.socketpair()
        our_line, their_line = socket.socketpair()
        with theirs, their_line:
            try:
                message = JOB_FORMAT.pack(limits.cpu_seconds, limits.memory_bytes, reads)
                socket.send_fds(self._control, [message], [theirs.fileno(), their_line.fileno()])
            except OSError:
                ours.close()
                our_line.close()
                raise
        return CandidateProcess(ours, our_line, limits.cpu_seconds)

    def close(self) -> None:
        """End the server and all its children. A copy of this object in a forked process leaves them alone."""
        self._control.close()
        with self._lock:
            if self._spare is not None:
                self._spare[2].close()
        if self.owner != os.getpid():
            return
        try:
            self._process.wait(10.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _hello(self) -> ServerFacts:
        # It takes .1 s; a machine may be busy.
        self._control.settimeout(60.0)
        content = self._control.recv(1 << 16)
        if not content:
            raise OSError("it ended")
        self._control.settimeout(None)
        return ServerFacts(**json.loads(content))


def check_server(server: SandboxServer, rung: Rung) -> dict[str, str]:
    """Try what must be refused, by the server and by a child of it, before any candidate runs.

    Return each probe with "refused" or "passed". Raises `SandboxError` naming the first that misbehaves.
    """
    if rung == Rung.E:
        return {}  # nothing is promised, and the probes would do what they try
    probes: dict[str, str] = {}
    for name, result in _probe_child(server).items():
        if result != (HONEST if name == "honest" else REFUSED_ERRNO):
            raise SandboxError(f"the sandbox's own test failed: {name!r} came to {result!r}")
        probes[name] = "passed" if name == "honest" else "refused"
    return probes | _check_surroundings(server, rung)


def _probe_child(server: SandboxServer) -> dict[str, Any]:
    job = SandboxJob("calls", SOURCE, entry="probe", calls=[((), {}, [])])
    with server.new_process(Limits()) as process:
        process.give(job.pack())
        process.await_ready()
        try:
            frames = [process.next_frame(), process.next_frame()]
            if frames[0] != ("loaded", 0, None) or frames[1] is None or frames[1][0] != "answer":
                raise SandboxError(f"the sandbox's own test failed: it answered {frames} and {process.end()}")
            answer = decode(frames[1][2])
        except (ViolationError, ValueError, TypeError) as error:
            raise SandboxError(f"the sandbox's own test failed: {error!r}") from error
    if not isinstance(answer, dict):
        raise SandboxError(f"the sandbox's own test failed: it answered {answer!r}")
    return answer


def _check_surroundings(server: SandboxServer, rung: Rung) -> dict[str, str]:
    seen = server.facts.probes
    probes = {}
    if rung in (Rung.A, Rung.B):
        for name, what in (("read", "files beside the filter"), ("list", "folders beside the filter")):
            if seen[name]:
                raise SandboxError(f"the sandbox's own test failed: Landlock leaves {what.split()[0]} within reach")
            probes[what] = "refused"
    if rung == Rung.A:
        if seen["reach"]:
            raise SandboxError("the sandbox's own test failed: the network is within reach")
        probes["network beside the filter"] = "refused"
    return probes


def build_command(rung: Rung, control_fd: int, bubblewrap: str | None) -> list[str]:
    """Return the command that starts a server at `rung`: a bare interpreter, in bubblewrap or not.

    It speaks over the descriptor `control_fd`.
    """
    options = json.dumps({"seccomp": rung != Rung.E, "landlock": rung in (Rung.A, Rung.B)})
    if rung == Rung.A and bubblewrap is not None:
        outer, parent = [*_bubblewrap(bubblewrap), "--"], "/sandbox"
    else:
        outer, parent = [], str(FOLDER.parent)
    return [
        *outer,
        str(find_interpreter()),
        *["-s", "-P", "-S", "-B", "-W", "ignore"],
        "-c",
        START_CODE,
        parent,
        str(control_fd),
        options,
    ]


def find_interpreter() -> Path:
    """Return the interpreter itself, behind any virtual environment: what that adds is not for candidates."""
    return Path(getattr(sys, "_base_executable", sys.executable) or sys.executable).resolve()


def _bubblewrap(program: str) -> list[str]:
    """Return bubblewrap's part: new namespaces, and only the interpreter's own files, read-only.

    No /proc. As root it keeps the two capabilities that the server needs to become nobody, and loses the rest.
    """
    namespaces = ["--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"]
    command = [program, *namespaces, "--new-session", "--dev", "/dev", "--chdir", "/", "--ro-bind", "/usr", "/usr"]
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
    folders = {find_interpreter().parent.parent, *(path.parent.parent for path in names)}
    return sorted(str(folder) for folder in folders if not folder.is_relative_to("/usr") and folder != Path("/"))


def _start(command: list[str], control_fd: int, errors: IO[bytes]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command,
        pass_fds=[control_fd],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=errors,
        env=ENVIRONMENT,
        cwd="/",
        start_new_session=True,  # Ctrl-C is for the client
    )
