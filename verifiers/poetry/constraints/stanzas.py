"""Where blank lines part the poem."""

from __future__ import annotations

from itertools import accumulate

from learnable.verifiers.poetry.constraints.case import Case, Result

FLAT = 0.5  # what a poem without any blank line earns: it may be read by its lines, but its stanzas are not shown


def stanzas(case: Case) -> Result:
    """Return how well the breaks between stanzas agree with the form's (F1). None at all is half right, and no fault."""
    wanted = set(accumulate(case.plan.stanzas[:-1]))
    blocks = case.poem.blocks
    if len(blocks) < 2:
        return FLAT, 1.0
    place = {index: slot for slot, index in enumerate(case.slots) if index is not None}
    found = {place.get(index, -1 - index) for index in accumulate(blocks[:-1])}
    share = 2 * len(wanted & found) / (len(wanted) + len(found))
    return share, share
