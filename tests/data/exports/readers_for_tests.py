"""How each trainer reads what is written for it: its own loader's steps, written from the file that is named.

What their loaders do with `datasets` is done with `datasets` here; of tokenizers and trainers there is nothing.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class ReadRow:
    """A row as a trainer has it: the question, the right answer, what its judge is given, the certificate."""

    prompt: Any
    answer: Any
    given: Mapping[str, Any]
    certificate: Mapping[str, Any]


def load(kind: str, file: Path) -> list[dict[str, Any]]:
    from datasets import load_dataset

    rows = load_dataset(kind, data_files=str(file), cache_dir=str(file.parent / ".cache"))["train"]
    return [dict(row) for row in rows]


def read_verl(folder: Path) -> list[ReadRow]:
    """volcengine/verl, verl/utils/dataset/rl_dataset.py: `_read_files_and_tokenize`, `__getitem__`."""
    read = []
    for row in load("parquet", folder / "train.parquet"):
        messages = row.pop("prompt")
        assert all(isinstance(turn["content"], str) for turn in messages)
        assert row["extra_info"].get("index", 0) == len(read)
        given = {
            "data_source": row["data_source"],
            "ground_truth": row["reward_model"]["ground_truth"],
            "extra_info": row["extra_info"],
        }
        read.append(ReadRow(messages, given["ground_truth"], given, row["extra_info"]["certificate"]))
    return read


def read_skyrl(folder: Path) -> list[ReadRow]:
    """NovaSky-AI/SkyRL, skyrl/train/dataset/dataset.py: `__getitem__`."""
    read = []
    for row in load("parquet", folder / "train.parquet"):
        messages, env_class = row.pop("prompt"), row.pop("env_class", None)
        assert env_class == "learnable"
        assert "ground_truth" in row["reward_spec"]  # skyrl_gym/envs/gsm8k/env.py
        read.append(ReadRow(messages, row["reward_spec"]["ground_truth"], row, row["extra_info"]["certificate"]))
    return read


def read_open_instruct(folder: Path) -> list[ReadRow]:
    """allenai/open-instruct, open_instruct/dataset_transformation.py: `rlvr_tokenize_v3`."""
    read = []
    for row in load("json", folder / "train.jsonl"):
        prompt = row.pop("messages")
        assert len(prompt) > 0
        if len(prompt) > 1 and prompt[-1]["role"] == "assistant":
            prompt = prompt[:-1]
        assert isinstance(row["dataset"], str)
        assert 0 < row["total_correct_rollouts"] <= row["total_rollouts"]
        assert row["passrate"] == row["total_correct_rollouts"] / row["total_rollouts"]
        read.append(ReadRow(prompt, row["answer"], {"label": [row["ground_truth"]][0]}, row["certificate"]))
    return read


def read_openrlhf(folder: Path) -> list[ReadRow]:
    """OpenRLHF/OpenRLHF, openrlhf/datasets/prompts_dataset.py: `preprocess_data` with a chat template."""
    read = []
    for row in load("json", folder / "train.jsonl"):
        chat = row["input"]
        chat = [{"role": "user", "content": chat}] if isinstance(chat, str) else chat
        assert row.get("datasource", "default").startswith("learnable/")
        rendered = "".join(f"<|im_start|>{turn['role']}\n{turn['content']}<|im_end|>\n" for turn in chat)
        given = {"prompt": f"{rendered}<|im_start|>assistant\n", "label": row["label"]}
        read.append(ReadRow(chat, row["answer"], given, row["certificate"]))
    return read


def read_nemo_rl(folder: Path) -> list[ReadRow]:
    """NVIDIA-NeMo/RL, nemo_rl/data/datasets/response_datasets/response_dataset.py: `format_data`."""
    read = []
    for row in load("json", folder / "train.jsonl"):
        assert "messages" not in row
        messages = [{"role": "user", "content": row["input"]}, {"role": "assistant", "content": row["output"]}]
        read.append(ReadRow(messages[:1], messages[1]["content"], {}, row["certificate"]))
    return read


def read_nemo_gym(folder: Path) -> list[ReadRow]:
    """NVIDIA-NeMo/Gym, nemo_gym/hf_utils.py (required keys) and resources_servers/math_with_judge/app.py."""
    read = []
    for line in (folder / "train.jsonl").read_text().splitlines():
        row = json.loads(line)
        assert set(row) >= {"responses_create_params", "question", "expected_answer"}
        metadata = row["verifier_metadata"]
        given = {"learnable": metadata["learnable"]}
        question = row["responses_create_params"]["input"]
        read.append(ReadRow(question, row["expected_answer"], given, metadata["certificate"]))
    return read


def read_slime(folder: Path) -> list[ReadRow]:
    """THUDM/slime, slime/utils/data.py: `read_file`, `_build_messages` as a conversation, `Dataset.__init__`."""
    read = []
    for line in (folder / "train.jsonl").read_text(encoding="utf-8").splitlines():
        data = json.loads(line)
        prompt = data.get("input")
        prompt = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt
        metadata = data.get("metadata") or {}
        sample = SimpleNamespace(
            prompt=prompt, label=data["label"], metadata=metadata, response="", remove_sample=False
        )
        read.append(ReadRow(prompt, sample.label, {"sample": sample}, metadata["certificate"]))
    return read


def read_areal(folder: Path) -> list[ReadRow]:
    """inclusionAI/AReaL, areal/dataset/__init__.py: the fallback; areal/workflow/rlvr.py: `messages`."""
    from datasets import load_from_disk

    return [
        ReadRow(row["messages"], row["answer"], dict(row), row["certificate"])
        for row in load_from_disk(str(folder / "train"))
    ]


def read_rllm(folder: Path) -> list[ReadRow]:
    """rllm-org/rllm, rllm/data/dataset.py: `load_data`, and the companion of `register_dataset`."""
    import pyarrow.parquet as pq

    rows = pq.read_table(folder / "train.parquet").to_pylist()
    companion = pq.read_table(folder / "train_verl.parquet").to_pylist()
    assert [row["extra_info"] for row in companion] == rows  # `apply_verl_postprocessing`
    assert all(row["prompt"] == [{"role": "user", "content": "placeholder"}] for row in companion)
    assert all(row["reward_model"] == {"style": "rule", "ground_truth": None} for row in companion)
    return [
        ReadRow(row["messages"], row["ground_truth"], {"learnable": row["learnable"]}, row["certificate"])
        for row in rows
    ]


def read_axolotl(folder: Path) -> list[ReadRow]:
    """axolotl-ai-cloud/axolotl, docs/grpo.qmd: a transform makes the rows, `remove_columns` drops the others."""
    module = import_file(folder / "learnable_rewards.py")
    transform, options = module.prompt_transform(None)
    read = []
    for row in load("json", folder / "train.jsonl"):
        kept = {name: value for name, value in row.items() if name not in options["remove_columns"]}
        kept |= transform(row)
        given = {"learnable": kept["learnable"]}
        read.append(ReadRow(kept["prompt"], row["answer"], given, row["certificate"]))
    return read


def read_verifiers(folder: Path) -> list[ReadRow]:
    """PrimeIntellect-ai/verifiers, verifiers/v1/cli/init.py, taskset.py and task.py."""
    [package] = [path for path in folder.iterdir() if path.is_dir()]
    assert f'packages = ["{package.name}"]' in (folder / "pyproject.toml").read_text()
    with_verifiers(sys.modules)
    module = import_file(package / "__init__.py")
    [exported] = module.__all__
    config = module.LearnableConfig()
    read = []
    for task in getattr(module, exported)(config).load():
        assert task.key == task.data.prompt_id
        prompt = task.data.prompt
        prompt = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt
        read.append(ReadRow(prompt, task.data.answer, {"task": task}, task.data.certificate))
    return read


READERS: dict[str, Callable[[Path], list[ReadRow]]] = {
    "verl": read_verl,
    "skyrl": read_skyrl,
    "open-instruct": read_open_instruct,
    "openrlhf": read_openrlhf,
    "nemo-rl": read_nemo_rl,
    "nemo-gym": read_nemo_gym,
    "slime": read_slime,
    "areal": read_areal,
    "rllm": read_rllm,
    "axolotl": read_axolotl,
    "verifiers": read_verifiers,
}


def import_file(file: Path) -> Any:
    """Import a file as verl's `load_extern_object` and OpenRLHF's executor do."""
    import importlib.util

    spec = importlib.util.spec_from_file_location(f"exported_{abs(hash(str(file)))}", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def with_verifiers(modules: dict[str, ModuleType]) -> None:
    """Stand in for the few names of verifiers 0.4 that a taskset's file uses; its package is not installed here."""

    class TaskData:
        def __init__(self, **values: Any) -> None:
            self.__dict__.update({"prompt": None, "idx": None} | values)

    class Task(Generic[T]):
        def __init__(self, data: Any, config: Any = None) -> None:
            self.data, self.config = data, config

    class TasksetConfig:
        task = None

    class Taskset(Generic[T]):
        def __class_getitem__(cls, item: Any) -> Any:
            return cls

        def __init__(self, config: Any) -> None:
            self.config = config

    package, module = ModuleType("verifiers"), ModuleType("verifiers.v1")
    names = {"TaskData": TaskData, "Task": Task, "TasksetConfig": TasksetConfig, "Taskset": Taskset, "Trace": object}
    for name, value in names.items():
        setattr(module, name, value)
    module.reward = lambda weight: lambda function: function  # type: ignore[attr-defined]
    package.v1 = module  # type: ignore[attr-defined]
    modules.update({"verifiers": package, "verifiers.v1": module})


def with_skyrl(modules: dict[str, ModuleType]) -> dict[str, str]:
    """Stand in for skyrl_gym; return what is registered."""
    registered: dict[str, str] = {}
    gym, envs, base = (ModuleType(f"skyrl_gym{end}") for end in ("", ".envs", ".envs.base_text_env"))
    envs.register = lambda id, entry_point: registered.update({id: entry_point})  # type: ignore[attr-defined]
    base.BaseTextEnv = type("BaseTextEnv", (), {"__init__": lambda self: None})  # type: ignore[attr-defined]
    base.BaseTextEnvStepOutput = dict  # type: ignore[attr-defined]
    modules.update({"skyrl_gym": gym, "skyrl_gym.envs": envs, "skyrl_gym.envs.base_text_env": base})
    return registered


def with_open_instruct(modules: dict[str, ModuleType]) -> None:
    """Stand in for open_instruct/ground_truth_utils.py."""

    @dataclass
    class VerificationResult:
        score: float
        cost: float = 0.0
        reasoning: str | None = None

    class VerifierFunction:
        def __init__(self, name: str, weight: float = 1.0, verifier_config: Any = None) -> None:
            self.name = name

    package, module = ModuleType("open_instruct"), ModuleType("open_instruct.ground_truth_utils")
    module.VerificationResult = VerificationResult  # type: ignore[attr-defined]
    module.VerifierFunction = VerifierFunction  # type: ignore[attr-defined]
    modules.update({"open_instruct": package, "open_instruct.ground_truth_utils": module})


@dataclass
class Trace:
    last_reply: str
    rewards: dict[str, float] = field(default_factory=dict)
