"""The policy's tokenizer: byte-level BPE with digits apart, and a chat template that only joins the messages."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from learnable.train.policy.packing import Encoded

VOCABULARY = 2048
POSITIONS = 512
DECISIVE = 6.0  # weight of a token that decides, against 1 for the others


def train_tokenizer(texts: Iterable[str], folder: Path) -> None:
    """Train the tokenizer on `texts` and save it; raw text gets a BOS in front and nothing behind."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    digits = pre_tokenizers.Digits(individual_digits=True)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([digits, pre_tokenizers.ByteLevel(add_prefix_space=False)])
    tokenizer.decoder = decoders.ByteLevel()
    pad, bos, eos = "<pad>", "<bos>", "<eos>"
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=[pad, bos, eos],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(single=f"{bos} $A", special_tokens=[(bos, 1)])
    make_tokenizer: Any = PreTrainedTokenizerFast
    wrapped = make_tokenizer(
        tokenizer_object=tokenizer, pad_token=pad, bos_token=bos, eos_token=eos, model_max_length=POSITIONS
    )
    wrapped.chat_template = "{% for message in messages %}{{ message['content'] }}{% endfor %}"
    wrapped.save_pretrained(folder)


def encode_pairs(folder: Path, prompts: list[str], completions: list[str], last: float = DECISIVE) -> list[Encoded]:
    """Encode prompts and completions apart, as they are at inference; a completion ends with EOS.

    `last` is the weight of the last word of a completion of `MANY_LINES`.
    """
    from transformers import AutoTokenizer

    tokenizer: Any = AutoTokenizer.from_pretrained(folder)
    breaks = {index for token, index in tokenizer.get_vocab().items() if token.startswith("\u010a")}
    ending = breaks | {tokenizer.eos_token_id}
    prompt_ids = tokenizer(prompts).input_ids
    completion_ids = tokenizer(completions, add_special_tokens=False).input_ids
    encoded = []
    for prompt, answer in zip(prompt_ids, completion_ids, strict=True):
        completion = [*answer, tokenizer.eos_token_id]
        encoded.append(Encoded(prompt, completion, weigh(completion, ending, last)))
    return encoded


def weigh(completion: list[int], ending: set[int], last: float = DECISIVE) -> list[float]:
    """Weigh a completion's tokens: short answers, and what stands before a line's end, decide most.

    Without this the many tokens of verse, most of them free to be any word, outweigh the few that decide an
    answer or a rhyme.
    """
    if len(completion) <= 8:  # all of a short answer decides
        return [DECISIVE] * len(completion)
    following = [*completion[1:], -1]
    weights = [DECISIVE if next_token in ending else 1.0 for next_token in following]
    if sum(next_token in ending for next_token in following) >= 14:  # the lines of a sonnet
        weights[-2] = last
    return weights
