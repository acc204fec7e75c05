"""Common words that prompts are built from."""

from __future__ import annotations

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
