"""The real vLLM server on the bundled policy, in a process group of its own."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import suppress
from pathlib import Path
from typing import Self

from learnable.data.policies import bundled_policy_path
from tests.support.warm_starts import Starter, WarmProcess


def free_port() -> int:
    """Return a port that nobody listens on just now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class VLLMServer:
    """The real vLLM server, of the bundled policy unless told; `kill` takes its whole group, as a crash would."""

    def __init__(self, starter: Starter, policy: Path | None = None) -> None:
        self.policy = policy or bundled_policy_path()
        self.port = free_port()
        self._starter = starter
        self._process: WarmProcess | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def start(self) -> None:
        """Start the process; see `wait_until_ready`."""
        # The `vllm serve` command does not work with the CPU build; seeded requests there need chunked prefill off.
        command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server"]
        command += ["--model", str(self.policy), "--host", "127.0.0.1", "--port", str(self.port)]
        command += ["--dtype", "float32", "--enforce-eager", "--no-enable-chunked-prefill", "--max-num-seqs", "64"]
        command += ["--disable-log-stats", "--disable-uvicorn-access-log"]
        quiet = {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_LOGGING_LEVEL": "ERROR", "VLLM_NO_USAGE_STATS": "1"}
        quiet |= {"DO_NOT_TRACK": "1", "TOKENIZERS_PARALLELISM": "false"}
        nowhere = subprocess.DEVNULL
        self._process = self._starter.start(command, env=os.environ | quiet, stdout=nowhere, stderr=nowhere)

    def wait_until_ready(self, timeout: float = 180.0) -> None:
        """Return when the server answers; raises `RuntimeError` when it ends or takes longer than `timeout` seconds."""
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            if self._process is None or self._process.poll() is not None:
                raise RuntimeError(f"the vLLM server ended while it started: {self._process}")
            with suppress(urllib.error.URLError, OSError), urllib.request.urlopen(f"{self.url}/models", timeout=2):
                return
            time.sleep(0.2)
        raise RuntimeError(f"the vLLM server did not answer within {timeout:g} s")

    def kill(self, how: int = signal.SIGKILL) -> None:
        """End the whole process group and wait for it; a second call does nothing."""
        if self._process is not None:
            with suppress(ProcessLookupError):  # it ended by itself
                os.killpg(self._process.pid, how)
            self._process.wait(timeout=60)
            self._process = None

    def __enter__(self) -> Self:
        self.start()
        try:
            self.wait_until_ready()
        except BaseException:
            self.kill()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self.kill()
