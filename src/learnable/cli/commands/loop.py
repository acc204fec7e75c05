"""`learnable loop`: train on a curated set, refresh it for the policy that came of it, and train again."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING, Annotated

from learnable.cli import options
from learnable.cli.arguments import WORKERS, ScheduleArguments
from learnable.cli.commands.train import TRAIN_PANELS, TrainArguments
from learnable.cli.console import Shell, open_shell
from learnable.cli.display.report_tables import tabulate_rounds
from learnable.cli.flags import Given, flags_of, with_flags
from learnable.flows.settings.curation import OUTPUT
from learnable.flows.settings.loop import LoopSettings

if TYPE_CHECKING:
    from learnable.flows.looping.report import LoopReport

LOOP_HELP = """
Train on a curated set, refresh it for the trained policy, and train on, while held-out reward rises.

Each round trains on the set's newest version from the policy of the round before, as learnable train does, and \
measures what came of it as learnable eval does: always on the held-out prompts of the first version, kept and \
rejected ones, prompt by prompt against the round before. Where that gain is inside its noise the loop ends; else \
the set is refreshed, as learnable refresh does. The same command goes on with a loop that was stopped. Its folder is \
runs/loop-NAME-N, or --output; docs/how-to/train-in-rounds.md says what is in it.

\b
Examples:
  learnable loop --curated learnable-store/curated/arithmetic
  learnable loop --curated SET --rounds 5 --steps 40 --sampler live
  learnable loop --curated SET --output runs/climb --eval-group-size 32 --json
  learnable loop --curated SET --held-out kept --anchors 50
"""

GOES_ON = "How it goes on"


@with_flags(GOES_ON, *TRAIN_PANELS, OUTPUT)
def loop(
    *,
    given: Annotated[Given, flags_of(LoopSettings, GOES_ON, workers=WORKERS)],
    arguments: TrainArguments,
    schedule: ScheduleArguments,
    use_prefect: options.UsePrefect = False,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Train on a curated set, refresh it, and train again."""
    with open_shell(as_json=as_json, quiet=quiet) as shell:
        from learnable.flows.launch import run_loop

        scheduled = schedule.timetable(prefect=True)
        settings = LoopSettings(**given.read(), train=arguments.settings({"held_out": "pool"}))
        if scheduled:
            from learnable.flows.launch import serve_loop

            serve_loop(settings, scheduled)
            return
        show_loop(shell, run_loop(settings, use_prefect=use_prefect))


def show_loop(shell: Shell, report: LoopReport) -> None:
    """Show the rounds, why the loop ended, the best policy, and what to type next."""
    if shell.as_json:
        shell.dump(report.to_json())
        return
    shell.out.print(tabulate_rounds(report))
    shell.line(f"\n{report.end}\n")
    number, policy = report.best
    plain = report.to_json()
    shell.line(
        f"{'best policy':<12} {policy} (" + (f"round {number})" if number else "no round is better)"), whole=True
    )
    shell.line(f"{'figure':<12} {plain['figure']}", whole=True)
    last = report.rounds[-1]
    if number == last.number:
        shell.line(
            f"{'next':<12} learnable refresh --curated {quote(last.curated)} --policy {quote(policy)}", whole=True
        )
