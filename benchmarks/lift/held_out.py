"""Several evaluations in one process: what takes long is to start it.

python -m benchmarks.lift.held_out FILE.json, which has a list of `EvaluationSettings`.
"""

from __future__ import annotations

import gc
import json
import sys
from pathlib import Path

from learnable.flows.engines import stop_engines
from learnable.flows.evaluating.process import main as evaluate
from learnable.train.child import OnEvent, serve


def main(path: Path, emit: OnEvent) -> None:
    """Run each evaluation of the list and write its result to its `output`."""
    for number, settings in enumerate(json.loads(path.read_text(encoding="utf-8"))):
        file = path.with_name(f".{path.stem}-{number}.json")
        file.write_text(json.dumps(settings), encoding="utf-8")
        evaluate(file, emit)
        stop_engines()
        gc.collect()  # the parts of an engine refer to each other, and its cache is large
        file.unlink()


if __name__ == "__main__":
    sys.exit(serve(main, sys.argv[1:]))
