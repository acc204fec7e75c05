"""Make the bundled policy again: `python -m learnable.train.policy`."""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
from collections.abc import Sequence
from importlib import resources
from pathlib import Path

from learnable.train.policy.corpus import Document, write_corpus
from learnable.train.policy.packing import pack
from learnable.train.policy.tokenizer import DECISIVE, encode_pairs, train_tokenizer
from learnable.train.policy.training import train_ranks


def main(arguments: list[str] | None = None) -> None:
    """Write the corpus, train, and copy weights and tokenizer to the output folder."""
    options = read_options(arguments)
    # A spinning OpenMP barrier starves the other rank where cores are few.
    quiet = {
        "OMP_WAIT_POLICY": "passive",
        "GOMP_SPINCOUNT": "0",
        "OMP_NUM_THREADS": "1",
        "GLOO_SOCKET_IFNAME": "lo",
    }
    os.environ.update(quiet)
    work = Path(options.work or tempfile.mkdtemp(prefix="learnable-policy-"))
    work.mkdir(parents=True, exist_ok=True)
    prepare(work, options.scale, options.seed, options.ranks)
    train_ranks(work, options.seed, options.ranks)
    prepare_again(work, options.scale, options.seed, options.ranks)
    train_ranks(work, options.seed, options.ranks, again=True)
    export(work, Path(options.output))


def read_options(arguments: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m learnable.train.policy", description=__doc__)
    bundled = str(resources.files("learnable.data").joinpath("policy"))
    parser.add_argument("--output", default=bundled, help="folder for weights and tokenizer (default: the bundled one)")
    parser.add_argument("--work", help="folder for the packed corpus and checkpoints (default: a temporary one)")
    parser.add_argument("--seed", type=int, default=20, help="seed of corpus and weights (default: %(default)s)")
    parser.add_argument(
        "--scale", type=float, default=1.0, help="share of the corpus to train on (default: %(default)s)"
    )
    parser.add_argument(
        "--ranks", type=int, default=2, help="training processes, one thread each (default: %(default)s)"
    )
    return parser.parse_args(arguments)


def prepare(work: Path, scale: float, seed: int, processes: int) -> None:
    """Write corpus and tokenizer, and pack the corpus to `work/rows.npz`."""
    documents = write_corpus(scale, seed, processes)
    stride = max(1, len(documents) // 60_000)  # so many are enough for a tokenizer
    train_tokenizer((text for d in documents[::stride] for text in (d.prompt, d.completion)), work / "weights")
    _pack(work, documents, DECISIVE)


def prepare_again(work: Path, scale: float, seed: int, processes: int) -> None:
    """Write the corpus of the second run, and pack it to `work/rows.npz`."""
    (work / "rendezvous").unlink(missing_ok=True)
    # A sonnet's last word weighs more in the second run: the rhyme that closes it is learned last.
    _pack(work, write_corpus(scale, f"{seed}:again", processes, again=True), last=30.0)


def _pack(work: Path, documents: Sequence[Document], last: float) -> None:
    encoded = encode_pairs(work / "weights", [d.prompt for d in documents], [d.completion for d in documents], last)
    rows = pack(encoded)
    rows.save(work / "rows.npz")
    filled = (rows.documents >= 0).sum()
    print(
        f"{len(documents)} documents, {filled} tokens, {(rows.weights > 0).sum()} of completions, {len(rows.ids)} rows"
    )


def export(work: Path, output: Path) -> None:
    """Copy weights and tokenizer to the output folder; a model card that is there stays."""
    output.mkdir(parents=True, exist_ok=True)
    for path in sorted((work / "weights").iterdir()):
        shutil.copyfile(path, output / path.name)
    print(f"wrote {output}")


if __name__ == "__main__":
    main()
