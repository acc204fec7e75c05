"""vLLM in this process: continuous batching over every group in flight, one seed for each rollout."""

from __future__ import annotations

import ast
import logging
import os
import uuid
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

from learnable.data.errors import LearnableError, UnknownNameError
from learnable.data.policies import Policy, find_policy, read_adapter_config
from learnable.data.records import Prompt, Sampling
from learnable.rollouts.policy_tokens import encode_prompt, tell_thoughts_apart
from learnable.rollouts.protocol import FINISH_REASONS, Answer, EngineError, GroupRequest, Refusal

VLLM_ENVIRONMENT = {
    "PYTHONSAFEPATH": "1",  # its own processes import nothing of the folder that somebody works in
    # In this process the engine starts six times faster than in a process of its own.
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "VLLM_LOGGING_LEVEL": "ERROR",
    "VLLM_NO_USAGE_STATS": "1",
    "DO_NOT_TRACK": "1",
    "VLLM_CPU_KVCACHE_SPACE": "1",  # GiB
    "TOKENIZERS_PARALLELISM": "false",
    "FLASHINFER_LOGGING_LEVEL": "error",
    "TQDM_DISABLE": "1",  # the bars of CUDA graphs; curation shows its own progress
    "TORCH_CPP_LOG_LEVEL": "ERROR",
}
# A seeded request dies on CPU as soon as its prompt is prefilled in pieces ("CPU Generator does not use offset").
CPU_OPTIONS: dict[str, object] = {"dtype": "float32", "enforce_eager": True, "enable_chunked_prefill": False}
# vLLM's options that are set in another way here, or not at all.
OPTIONS_ELSEWHERE = {
    "model": "name the policy with `policy`",
    "chat_template": "prompts are written with the template of the policy's own tokenizer: put it there",
}
ENCODED_PROMPTS = 4_096  # whose tokens are kept, the latest
SEQUENCES_ON_CPU = 32  # beyond these nothing is made ahead: each makes a step longer (4 ms for a few, 42 for 256)
LORA_RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)  # that vLLM's `max_lora_rank` may be


class VLLMEngine:
    """An `Engine` over `vllm.LLM`. It requests no log-probabilities: on a small policy they halve the speed.

    Options (`tensor_parallel_size`, `data_parallel_size`, `max_model_len`, `gpu_memory_utilization`, ...)
    go to `vllm.LLM` as they are. Environment variables that are already set win over our quiet defaults. Raises
    `LearnableError` for an option that vLLM does not know, and when it cannot load the policy.
    """

    def __init__(self, policy: Policy | str | None = None, **options: Any) -> None:
        self.policy = policy if isinstance(policy, Policy) else find_policy(policy)
        for name, value in VLLM_ENVIRONMENT.items():
            os.environ.setdefault(name, value)
        logging.getLogger("vllm").setLevel(os.environ["VLLM_LOGGING_LEVEL"])  # for what it logs while it is imported
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # vLLM's own, about torch
            self.llm = self._load(options)
        config = self.llm.llm_engine.vllm_config
        self.max_context: int = config.model_config.max_model_len
        self._slots: int = config.scheduler_config.max_num_seqs
        is_cpu = config.device_config.device_type == "cpu"
        self._cheap_slots: int = min(self._slots, SEQUENCES_ON_CPU) if is_cpu else self._slots
        self._tokenizer = self.llm.get_tokenizer()
        self._adapter = make_adapter_request(self.policy)

    @property
    def policy_id(self) -> str:
        """Folder or hub id with the hash of its weights."""
        return self.policy.policy_id

    @property
    def idle_slots(self) -> int:
        """How many more sequences the next step could work on for next to nothing."""
        return self._cheap_slots - self._count_unfinished()

    def count_tokens(self, prompts: Sequence[Prompt]) -> list[int]:
        """Return the tokens each prompt takes, chat template and special tokens included."""
        return [len(encode_prompt(self._tokenizer, prompt)) for prompt in prompts]

    def generate(self, requests: Iterable[GroupRequest], sampling: Sampling) -> Iterator[Answer]:
        """Yield each group as it finishes. See `Engine.generate`. Raises `EngineError` when vLLM fails."""
        engine = self.llm.llm_engine
        queue = iter(requests)
        in_flight: dict[str, GroupRequest] = {}
        encoded: dict[str, list[int]] = {}
        try:
            while True:
                self._fill(in_flight, queue, sampling, encoded)
                if not in_flight:
                    return
                for output in self._step():
                    if output.finished:
                        yield self._answer(in_flight.pop(output.request_id), output, sampling)
        except Exception as error:
            if _hides_interrupt(error):
                raise KeyboardInterrupt from error
            raise
        finally:
            if in_flight:
                with suppress(Exception):  # a dead engine cannot do it
                    engine.abort_request(list(in_flight))

    def close(self) -> None:
        """Free the engine and what vLLM keeps in this process."""
        del self.llm

    def _load(self, options: dict[str, Any]) -> Any:
        from vllm import LLM

        check_options(options)
        settings = {"disable_log_stats": True, "use_tqdm_on_load": False} | ({} if _has_gpu() else CPU_OPTIONS)
        settings |= make_adapter_options(self.policy) | options
        try:
            return LLM(model=self.policy.path, **settings)
        except Exception as error:  # memory, a driver, a file, a value: vLLM has an error of its own for each
            raise LearnableError(
                f"vLLM cannot load policy {self.policy.path!r}: {explain_load_error(error, options)}"
            ) from error

    def _step(self) -> Any:
        try:
            return self.llm.llm_engine.step()
        except Exception as error:  # whatever it is: memory, a device, a bug
            raise EngineError(f"vLLM failed: {type(error).__name__}: {error}".splitlines()[0]) from error

    def _fill(
        self,
        in_flight: dict[str, GroupRequest],
        queue: Iterator[GroupRequest],
        sampling: Sampling,
        encoded: dict[str, list[int]],
    ) -> None:
        # As many wait as are worked on, so the engine never waits for us.
        while self._count_unfinished() < 2 * self._slots and (request := next(queue, None)) is not None:
            request_id = uuid.uuid4().hex
            tokens = {"prompt_token_ids": self._encode(request.prompt, sampling, encoded)}
            params = make_sampling_params(request, sampling)
            self.llm.llm_engine.add_request(request_id, tokens, params, lora_request=self._adapter)
            in_flight[request_id] = request

    def _count_unfinished(self) -> int:
        return int(self.llm.llm_engine.get_num_unfinished_requests())

    def _encode(self, prompt: Prompt, sampling: Sampling, encoded: dict[str, list[int]]) -> list[int]:
        """Return the tokens of a prompt, which a group that stops by itself asks again for each block."""
        if prompt.question_id not in encoded:
            if len(encoded) == ENCODED_PROMPTS:
                del encoded[next(iter(encoded))]
            encoded[prompt.question_id] = encode_prompt(self._tokenizer, prompt, sampling.template_args)
        return list(encoded[prompt.question_id])

    def _answer(self, request: GroupRequest, output: Any, sampling: Sampling) -> Answer:
        children = list(islice(output.outputs, request.group_size))
        if odd := {child.finish_reason for child in children} - set(FINISH_REASONS):
            return Refusal(request, f"vLLM ended a completion with {odd.pop()!r}")
        rollouts = [
            request.rollout(
                child.index,
                child.text,
                FINISH_REASONS[child.finish_reason],
                len(child.token_ids),
                policy_id=self.policy_id,
                sampling=sampling,
                token_ids=list(child.token_ids),
            )
            for child in children
        ]
        return tell_thoughts_apart(self._tokenizer, rollouts, output.prompt_token_ids or (), sampling.think_tags)


def _hides_interrupt(error: BaseException) -> bool:
    """Whether Ctrl-C came first: vLLM's own clean-up, cut short by it, may fail in another way."""
    while not isinstance(error, KeyboardInterrupt):
        if error.__context__ is None:
            return False
        error = error.__context__
    return True


def make_sampling_params(request: GroupRequest, sampling: Sampling) -> Any:
    """Return `vllm.SamplingParams` for a group."""
    from vllm import SamplingParams
    from vllm.sampling_params import RequestOutputKind

    named: Any = name_for_vllm(sampling)
    return SamplingParams(
        n=request.group_size,
        seed=request.base_seed,  # vLLM gives child i the seed + i
        output_kind=RequestOutputKind.FINAL_ONLY,
        **named,
    )


def make_adapter_options(policy: Policy) -> dict[str, object]:
    """Return the options of `vllm.LLM` for a policy with a LoRA adapter; none where it has none.

    Raises `LearnableError` for an adapter of a rank that vLLM does not take.
    """
    if not policy.adapter:
        return {}
    rank = read_adapter_config(Path(policy.adapter)).rank
    fitting = [allowed for allowed in LORA_RANKS if allowed >= rank]
    if not fitting:
        raise LearnableError(
            f"adapter {policy.adapter!r} is of rank {rank}: vLLM takes up to {LORA_RANKS[-1]}; merge it"
        )
    return {"enable_lora": True, "max_lora_rank": fitting[0], "max_loras": 1}


def make_adapter_request(policy: Policy) -> Any:
    """Return vLLM's `LoRARequest` for a policy with an adapter, None for any other."""
    if not policy.adapter:
        return None
    from vllm.lora.request import LoRARequest

    return LoRARequest(Path(policy.adapter).name, 1, policy.adapter)


def name_for_vllm(sampling: Sampling) -> dict[str, object]:
    """Return how completions are drawn as vLLM's `SamplingParams` call it.

    What ended a completion stays in its text, as it does in training, where the trainer decodes every token.
    """
    named: dict[str, object] = {
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "top_k": sampling.top_k,
        "max_tokens": sampling.max_tokens,
    }
    if sampling.min_p:
        named["min_p"] = sampling.min_p
    if sampling.repetition_penalty != 1:
        named["repetition_penalty"] = sampling.repetition_penalty
    if sampling.stop:
        named |= {"stop": list(sampling.stop), "include_stop_str_in_output": True}
    return named


def check_options(options: Mapping[str, object], classes: Sequence[str] = ("EngineArgs",)) -> None:
    """Raise `LearnableError` for a name that these classes of vLLM's do not have, and for text where one is a number.

    vLLM is read and not imported: that takes as long as all else that has to start before a run.
    """
    types = {name: kind for place in classes for name, kind in _read_options(place).items()}
    known = types.keys() - set(OPTIONS_ELSEWHERE)
    for name, value in options.items():
        if name in OPTIONS_ELSEWHERE:
            raise LearnableError(f"`engine_options` {name} has no use here: {OPTIONS_ELSEWHERE[name]}")
        if types and name not in known:
            raise UnknownNameError("`engine_options`", name, known)
        kinds = set(types.get(name, "str").split(" | ")) - {"None"}
        if isinstance(value, str) and kinds <= {"int", "float"}:
            wanted = "a whole number" if kinds == {"int"} else "a number"
            raise LearnableError(f"`engine_options` {name}={value}: it takes {wanted}")


@cache
def _read_options(place: str) -> Mapping[str, str]:
    """Return the options of one of vLLM's classes with their types as they are written; none where vLLM is not here."""
    spec = find_spec("vllm")
    folders = spec.submodule_search_locations if spec else None
    source = Path(folders[0], "engine", "arg_utils.py") if folders else None
    parts = ast.parse(source.read_text(encoding="utf-8")).body if source and source.is_file() else []
    lines = [line for part in parts if isinstance(part, ast.ClassDef) and part.name == place for line in part.body]
    return {
        line.target.id: ast.unparse(line.annotation)
        for line in lines
        if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name)
    }


def explain_load_error(error: Exception, options: Mapping[str, object]) -> str:
    r"""Return in one line why vLLM did not load. Each value that its configuration refuses is named with the reason.

    >>> explain_load_error(RuntimeError("no memory\nleft"), {})
    'RuntimeError: no memory left'
    """
    refused: dict[str, str] = {}
    for fault in _find_faults(error):
        name = str(fault["loc"][0]) if fault["loc"] else ""
        if name in options:
            refused.setdefault(f"`engine_options` {name}={options[name]}", fault["msg"])
    if refused:
        return _join_lines("; ".join(f"{option}: {why}" for option, why in refused.items()))
    faults = [fault["msg"].removeprefix("Value error, ") for fault in _find_faults(error)]
    why = "; ".join(faults) or f"{type(error).__name__}: {error}"
    named = [f"`engine_options` {name}={value}: " for name, value in options.items() if name in why]
    return _join_lines(f"{', '.join(named)}{why}")


def _find_faults(error: Exception) -> list[Mapping[str, Any]]:
    from pydantic import ValidationError

    return list(error.errors(include_url=False)) if isinstance(error, ValidationError) else []


def _join_lines(text: str) -> str:
    line = " ".join(text.split())
    limit = 300  # letters of vLLM's own words
    return line if len(line) <= limit else f"{line[: limit - 3]}..."


def _has_gpu() -> bool:
    import torch

    return torch.cuda.is_available()
