"""Words of older verse: their sounds, and the modern spellings of words in old, British or clipped spelling.

The table has contractions and archaisms that the dictionary lacks, or has only as they sound in prose. It is written by
ear, as ARPAbet. A word that is in CMUdict too gets these as additional pronunciations.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from itertools import islice

from learnable.verifiers.poetry.sound.phones import Phones

_TABLE = """
a' AO1 | adieu AH0 D UW1 | adown AH0 D AW1 N | aidenn EY1 D AH0 N | alway AO1 L W EY2 | amain AH0 M EY1 N
an' AE1 N | anear AH0 N IH1 R | aught AO1 T | aye EY1 ; AY1 | beauteous B Y UW1 T IY0 AH0 S
blest B L EH1 S T | bough B AW1 | bourn B AO1 R N | bourne B AO1 R N | bower B AW1 ER0 | bowre B AW1 ER0
canst K AE1 N S T | casement K EY1 S M AH0 N T | clime K L AY1 M | curst K ER1 S T | damsel D AE1 M Z AH0 L
didst D IH1 D S T | dight D AY1 T | dost D AH1 S T | doth D AH1 TH | drear D R IH1 R | dusky D AH1 S K IY0
e'en IY1 N | e'er EH1 R | ebon EH1 B AH0 N | eftsoons EH0 F T S UW1 N Z | ere EH1 R | erst ER1 S T
ev'n IY1 V N | even' IY1 V AH0 N | eyne AY1 N | eyrie EH1 R IY0 | faerie F EH1 R IY0 | faery F EH1 R IY0
fain F EY1 N | fere F IH1 R | fount F AW1 N T | gainst G EH1 N S T | 'gainst G EH1 N S T | gan G AE1 N
gi'en G IH1 N | giv'n G IH1 V N | glist G L IH1 S T | ha' HH AE1 | hadst HH AE1 D S T | haue HH AE1 V
haply HH AE1 P L IY0 | hast HH AE1 S T | hath HH AE1 TH | heav'n HH EH1 V N | heav'nly HH EH1 V N L IY0 | hie HH AY1
i'd AY1 D | i' IH0 | i'faith IH0 F EY1 TH | is't IH1 S T | th'art DH AA1 R T | kine K AY1 N | kirk K ER1 K
ll L | lour L AW1 ER0 | lours L AW1 ER0 Z | luve L AH1 V | loue L AH1 V | may'st M EY1 S T | mayst M EY1 S T
meed M IY1 D | methinks M IY0 TH IH1 NG K S | methought M IY0 TH AO1 T | mids M IH1 D Z | midst M IH1 D S T
mightst M AY1 T S T | mongst M AH1 NG S T | 'mongst M AH1 NG S T | morn M AO1 R N | mought M AO1 T
ne'er N EH1 R | neath N IY1 TH | 'neath N IY1 TH | nought N AO1 T | o' AH0 | o'er AO1 R | oft AO1 F T | ope OW1 P
paynim P EY1 N IH0 M | pent P EH1 N T | pight P AY1 T | plaint P L EY1 N T | poesy P OW1 AH0 Z IY0
prithee P R IH1 DH IY0 | quoth K W OW1 TH | saith S EH1 TH | seest S IY1 S T | shalt SH AE1 L T
shew SH OW1 | shews SH OW1 Z | shewn SH OW1 N | shouldst SH UH1 D S T | sith S IH1 TH | smote S M OW1 T
sooth S UW1 TH | spright S P R AY1 T | spake S P EY1 K | strew S T R UW1 | swain S W EY1 N | syne S AY1 N
ta'en T EY1 N | th' DH | thou DH AW1 | thee DH IY1 | thy DH AY1 | thine DH AY1 N | thro TH R UW1 | thro' TH R UW1
thraldom TH R AO1 L D AH0 M | tis T IH1 Z | 'tis T IH1 Z | t'is T IH1 Z | twas T W AH1 Z | 'twas T W AH1 Z
twere T W ER1 | 'twere T W ER1 | twill T W IH1 L | 'twill T W IH1 L | twixt T W IH1 K S T | 'twixt T W IH1 K S T
twould T W UH1 D | 'twould T W UH1 D | upo' AH0 P AA1 | vale V EY1 L | verdure V ER1 JH ER0 | wast W AA1 S T
wat'ry W AO1 T R IY0 | weal W IY1 L | weel W IY1 L | wend W EH1 N D | wert W ER1 T | whenas W EH0 N AE1 Z
where'er W EH0 R EH1 R | whereat W EH0 R AE1 T | whereof W EH0 R AH1 V | wheresoe'er W EH2 R S OW0 EH1 R
whereon W EH0 R AA1 N | whereto W EH0 R T UW1 | wherewith W EH0 R W IH1 TH | whilom W AY1 L AH0 M
whoso HH UW1 S OW0 | wi W IH1 | wi' W IH1 | wilt W IH1 L T | withal W IH0 DH AO1 L | withouten W IH0 DH AW1 T AH0 N
wont W AO1 N T | wot W AA1 T | wouldst W UH1 D S T | wroth R AO1 TH | yclept IH0 K L EH1 P T | ye Y IY1
yea Y EY1 | yon Y AA1 N | yond Y AA1 N D | yore Y AO1 R | zephyr Z EH1 F ER0 | seraph S EH1 R AH0 F
whate'er W AH0 T EH1 R | whene'er W EH0 N EH1 R | howe'er HH AW0 EH1 R | whatsoe'er W AH2 T S OW0 EH1 R
whosoe'er HH UW2 S OW0 EH1 R | whoe'er HH UW0 EH1 R | evermo' EH2 V ER0 M AO1 R | nigh N AY1 | seld S EH1 L D
been B IY1 N | were W EH1 R ; W ER1 | furled F ER1 L D | possest P AH0 Z EH1 S T
vouchsafe V AW0 CH S EY1 F | piteous P IH1 T IY0 AH0 S | rend R EH1 N D | repine R IH0 P AY1 N | afore AH0 F AO1 R
was W AA1 Z ; W AE1 Z
"""


@cache
def load_poetic_words() -> dict[str, tuple[Phones, ...]]:
    """Return the pronunciations of each word in the table, the most common first.

    >>> load_poetic_words()["o'er"]
    (('AO1', 'R'),)
    """
    words: dict[str, tuple[Phones, ...]] = {}
    for entry in _TABLE.replace("\n", " | ").split("|"):
        word, _, sounds = entry.strip().partition(" ")
        if word:
            words[word] = tuple(tuple(sound.split()) for sound in sounds.split(";"))
    return words


MAX_CANDIDATES = 80
_DEPTH = 3  # rules applied one after another: vnhappie -> unhappie -> unhappy

# The most reliable first. Early modern print chose u or v, and i or j, by their place in the word, and added a final e
# freely. The rest are usual differences of British spelling and the clipped endings of verse.
_RULES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"'d$", "ed"),
        (r"'d$", "d"),
        (r"in'?$", "ing"),
        (r"([a-z])'([a-z])", r"\1e\2"),  # ev'ry, heav'n, wand'ring
        (r"([a-z])'([a-z])", r"\1o\2"),  # mem'ry
        (r"'", ""),
        (r"our(?=$|s$|ed$|ing$|er$|less$|ful$|able$|ite$|ly$)", "or"),
        (r"(?<=[aeiou])ll(?=ed$|ing$|er$|ers$|ous$)", "l"),
        (r"is(?=e$|ed$|es$|ing$|er$|ation$)", "iz"),
        (r"(?<=[^aeiou])re$", "er"),
        (r"ence$", "ense"),
        (r"ae|oe", "e"),
        (r"ough$", "ow"),
        (r"(?<=[aeiourl])u(?=[aeiou])", "v"),
        (r"ue$", ""),
        (r"^v(?=[^aeiou])", "u"),
        (r"^i(?=[aeou])", "j"),
        (r"(?<=[bd])i(?=e?c?t)", "j"),
        (r"vv", "w"),
        (r"(?<=[^aeious])nesse$", "ness"),
        (r"(?<=[a-z]{2}[a-z])e$", ""),
        (r"([bdfglmnprt])\1e$", r"\1"),
        (r"([bdfglmnprt])\1(?=$|s$)", r"\1"),
        (r"ck?e?$", "c"),
        (r"ie(?=$|s$)", "y"),
        (r"y(?=[^aeiou])", "i"),
        (r"aun", "an"),
        (r"oun(?=[dt])", "ou"),
        (r"ee(?=[a-z])", "ea"),
        (r"ea(?=[a-z])", "ee"),
        (r"ea(?=[a-z])", "e"),
        (r"er(?=[a-z])", "ar"),
        (r"o(?=[a-z])", "oo"),
        (r"([bdglmnprt])(?=ed$|ing$)", r"\1\1"),
        (r"(?<=s)t$", "sed"),  # drest, possest
        (r"(?<=p)t$", "ped"),
        (r"(?<=x)t$", "ed"),
        (r"(?<=[kfc])t$", "ed"),
        (r"(?<=[nlrmdk])de?$", "ed"),
        (r"(?<=[^aeiou])(?=[rln](?:ed|ing)$)", "e"),  # wandring
        (r"f(?=[a-z])", "s"),  # long s, misread
    )
)


def respell(word: str, known: Callable[[str], bool]) -> str | None:
    """Return the known spelling that the fewest rules lead to; None where no chain of three rules leads to one."""
    for candidate in islice(_candidates(word), MAX_CANDIDATES):
        if len(candidate) > 1 and known(candidate):
            return candidate
    return None


def _candidates(word: str) -> Iterator[str]:
    seen, level = {word}, [word]
    for _ in range(_DEPTH):
        level, previous = [], level
        for spelling in previous:
            for pattern, replacement in _RULES:
                changed = pattern.sub(replacement, spelling)
                if changed not in seen:
                    seen.add(changed)
                    level.append(changed)
                    yield changed
