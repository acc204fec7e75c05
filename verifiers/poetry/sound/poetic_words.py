"""Words of older verse: their sounds, and the modern spellings of words in old, British or clipped spelling.

The tables have contractions and archaisms, words of Scots, and names of myth that the dictionary lacks, or has only as
they sound in prose. They are written by ear, as ARPAbet. A word that is in CMUdict too gets these as additional
pronunciations.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from itertools import islice

from learnable.verifiers.poetry.sound.phones import Phones

_OLD = """
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
_SCOTS = """
a'body AO1 B AH0 D IY0 | aboon AH0 B UW1 N | aff AE1 F | ain EY1 N | airt EH1 R T | alang AH0 L AE1 NG
amang AH0 M AE1 NG | ane EY1 N ; Y IH1 N | anither AH0 N IH1 DH ER0 | ava' AH0 V AO1 | awa AH0 W AO1 ; AH0 W AA1
awa' AH0 W AO1 ; AH0 W AA1 | bairn B EH1 R N | bairns B EH1 R N Z | baith B EY1 TH | blaw B L AO1 | bluid B L IH1 D
bonie B AA1 N IY0 | braes B R EY1 Z | braw B R AO1 | bricht B R IH1 K T | brither B R IH1 DH ER0 | ca' K AO1
canna K AE1 N AH0 | cauld K AO1 L D | couldna K UH1 D N AH0 | deil D IY1 L | didna D IH1 D N AH0 | dinna D IH1 N AH0
doun D UW1 N | een IY1 N | fa' F AO1 | fou F UW1 | fra F R AA1 | frae F R EY1 | gae G EY1 | gaed G EY1 D | gie G IY1
gied G IY1 D | gowd G AW1 D | gude G IH1 D | guid G IH1 D | hae HH EY1 | hame HH EY1 M | haud HH AO1 D
isna IH1 Z N AH0 | ither IH1 DH ER0 | ithers IH1 DH ER0 Z | jaud JH AO1 D | leeze L IY1 Z | maun M AO1 N
micht M IH1 K T | mither M IH1 DH ER0 | mony M AA1 N IY0 | mou' M UW1 | nae N EY1 | naebody N EY1 B AH0 D IY0
naething N EY1 TH IH0 NG | nane N EY1 N | nicht N IH1 K T | noo N UW1 | ony AA1 N IY0 | owre AW1 R | puir P UH1 R
richt R IH1 K T | sae S EY1 | sair S EH1 R | scaud S K AO1 D | sicht S IH1 K T | skelp S K EH1 L P
sleekit S L IY1 K IH0 T | sma S M AO1 | sma' S M AO1 | snaw S N AO1 | stane S T EY1 N | stoor S T UH1 R
stour S T AW1 ER0 ; S T UH1 R | stoure S T AW1 ER0 ; S T UH1 R | thegither DH AH0 G IH1 DH ER0 | toun T UW1 N
twa T W AO1 | twa' T W AO1 | unco AH1 NG K OW0 | wa' W AO1 | wadna W AA1 D N AH0 | wasna W AA1 Z N AH0 | wha HH W AO1
whar HH W AA1 R | whaur HH W AO1 R | winna W IH1 N AH0
"""
_NAMES = """
acheron AE1 K ER0 AA2 N | alcyone AE0 L S AY1 AH0 N IY0 | arcady AA1 R K AH0 D IY0 | asphodel AE1 S F AH0 D EH2 L
charybdis K ER0 IH1 B D IH0 S | circe S ER1 S IY0 | corydon K AO1 R AH0 D AH0 N | cybele S IH1 B AH0 L IY0
dione D AY0 OW1 N IY0 | dryad D R AY1 AH0 D | dryads D R AY1 AH0 D Z | endymion EH0 N D IH1 M IY0 AH0 N
erato EH1 R AH0 T OW2 | euphrosyne Y UW0 F R AA1 S AH0 N IY0 | eurydice Y UH0 R IH1 D AH0 S IY0
euterpe Y UW0 T ER1 P IY0 | gethsemane G EH0 TH S EH1 M AH0 N IY0 | hebe HH IY1 B IY0
hecate HH EH1 K AH0 T IY0 ; HH EH1 K AH0 T | hippocrene HH IH1 P AH0 K R IY2 N | juan HH W AA1 N ; JH UW1 AH0 N
lethe L IY1 TH IY0
melpomene M EH0 L P AA1 M AH0 N IY0 | mnemosyne N IH0 M AA1 S AH0 N IY0 | naiad N AY1 AE2 D | naiads N AY1 AE2 D Z
nereid N IH1 R IY0 IH0 D | niobe N AY1 OW0 B IY0 | orphean AO1 R F IY0 AH0 N | persephone P ER0 S EH1 F AH0 N IY0
philomel F IH1 L AH0 M EH2 L | pierian P AY0 IH1 R IY0 AH0 N | polyhymnia P AA2 L IH0 HH IH1 M N IY0 AH0
proserpine P R AA1 S ER0 P AY2 N ; P R AH0 S ER1 P IH0 N | terpsichore T ER0 P S IH1 K ER0 IY0
thalia TH AH0 L AY1 AH0 | theocritus TH IY0 AA1 K R AH0 T AH0 S | thessaly TH EH1 S AH0 L IY0 | thyrsis TH ER1 S AH0 S
"""


@cache
def load_poetic_words() -> dict[str, tuple[Phones, ...]]:
    """Return the pronunciations of each word in the tables, the most common first.

    >>> load_poetic_words()["o'er"]
    (('AO1', 'R'),)
    """
    words: dict[str, tuple[Phones, ...]] = {}
    for entry in f"{_OLD}{_SCOTS}{_NAMES}".replace("\n", " | ").split("|"):
        word, _, sounds = entry.strip().partition(" ")
        if word:
            words[word] = tuple(tuple(sound.split()) for sound in sounds.split(";"))
    return words


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
    for candidate in islice(_candidates(word), 80):
        if len(candidate) > 1 and known(candidate):
            return candidate
    return None


def _candidates(word: str) -> Iterator[str]:
    seen, level = {word}, [word]
    # Up to three rules apply one after another: vnhappie -> unhappie -> unhappy.
    for _ in range(3):
        level, previous = [], level
        for spelling in previous:
            for pattern, replacement in _RULES:
                changed = pattern.sub(replacement, spelling)
                if changed not in seen:
                    seen.add(changed)
                    level.append(changed)
                    yield changed
