"""Common words that prompts are built from."""

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

COUNTED_WORDS = tuple(
    """
    apple banana cherry lemon orange papaya pepper carrot potato tomato onion cabbage lettuce pumpkin berry strawberry
    coffee butter cheese cookie pudding noodle muffin cracker biscuit kettle bottle saucer spoon needle button pocket
    jacket trousers slipper blanket pillow mattress curtain carpet ladder hammer shovel bucket barrel basket wagon
    tractor bicycle balloon rocket engine wheel mirror letter pencil paper school lesson teacher pupil student
    committee meeting office address success assess possess balloons giraffe rabbit parrot penguin kangaroo raccoon
    gorilla buffalo zebra leopard otter beaver badger salmon puffin pelican sparrow swallow robin falcon eagle hornet
    beetle cricket spider mississippi tennessee alabama canada panama indiana ohio arizona montana nevada bookkeeper
    address mammal llama willow maple cedar poplar meadow valley canyon desert glacier volcano island harbor lagoon
    puddle stream river summer winter autumn spring sunday monday friday seventeen eleven twenty thirteen nineteen
    hundred thousand million billion
    """.split()
)

LISTED_WORDS = tuple(
    """
    red blue green black white pink gold gray cup plate fork bowl pan pot jar lid hat coat shoe sock belt ring scarf
    glove cat dog cow pig hen goat duck frog bee ant fly moth oak elm fir ash pine fern moss reed sun moon star rain
    snow hail wind fog hill lake pond bay cape reef sand rock clay iron tin lead salt bread rice corn bean pea plum
    fig date lime bus car van ship boat raft sled bike drum bell harp horn flute chair desk lamp rug bed shelf door
    wall roof stair
    """.split()
)

# What acrostics spell.
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
