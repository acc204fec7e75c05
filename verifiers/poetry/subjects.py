"""What poems are asked to be about, and the words and lines that their forms take."""

from __future__ import annotations

TOPICS = tuple(
    """
    rain snow wind storm cloud star moon sky night dawn day light sea lake tide wave sand stone hill road tree leaf
    rose seed bird crow dove fox bear frog cat dog horse sheep goat whale fish ship boat train car town farm barn
    house door bell clock lamp book song drum dance game king queen knight child friend bread soup tea cake salt gold
    coal rope knife hope love time sleep truth luck peace work war hunger river garden winter summer autumn meadow
    forest mountain island ocean candle mirror letter market kitchen window sailor farmer baker doctor painter soldier
    mother father sister brother baby teacher
    """.split()
)

SPELLED_WORDS = tuple(
    "rain moon star wave tree bird song bread light stone river ocean dream winter garden candle".split()
)

# What golden shovels end on.
QUOTES = (
    "the river keeps no secret from the sea",
    "we carry home the light of other days",
    "every road goes on a little further",
    "no door is locked to those who listen",
    "the moon has never asked for a song",
    "leave a lamp in the window for me",
)
