"""Options that vLLM does not take end a run with one message, before a model is loaded."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

# One process for all of them: it takes seconds to import vLLM, and vLLM and pytest share no state.
SCRIPT = """
import sys
from learnable.cli.app import app

def main():
    for option in sys.argv[1:]:
        try:
            app(["find", "--family", "arithmetic", "--limit", "2", "--no-prefect", "--quiet", "--engine-arg", option])
        except SystemExit as ended:
            print("status", ended.code, file=sys.stderr, flush=True)

if __name__ == "__main__":
    main()
"""
MESSAGES = {
    "max_model_le=64": "unknown --engine-arg 'max_model_le': did you mean 'max_model_len'",
    "chat_template=/nowhere": "--engine-arg chat_template has no use here",
    "model=other": "--engine-arg model has no use here: name the policy with --policy",
    "max_model_len=abc": "--engine-arg max_model_len=abc: Input should be a valid integer",
    "max_model_len=100000": "--engine-arg max_model_len=100000: User-specified max_model_len",
    "max_num_seqs=0": "--engine-arg max_num_seqs=0: Input should be greater than or equal to 1",
}


@pytest.mark.e2e
def test_an_option_that_vllm_does_not_take_is_one_message(tmp_path: Path) -> None:
    script = tmp_path / "find.py"
    script.write_text(SCRIPT)
    done = subprocess.run([sys.executable, str(script), *MESSAGES], cwd=tmp_path, capture_output=True, text=True)
    told = [line for line in done.stderr.splitlines() if line.startswith(("error: ", "status "))]
    assert told[1::2] == ["status 2"] * len(MESSAGES), done.stderr
    for line, message in zip(told[::2], MESSAGES.values(), strict=True):
        assert message in line
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
