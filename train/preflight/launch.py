"""What a config file of accelerate's says of a run: how many processes there are, and what they share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from learnable.data.errors import LearnableError
from learnable.train.settings import TrainSettings

Kind = Literal["copies", "fsdp", "deepspeed"]
KINDS: Mapping[str, Kind] = {
    "NO": "copies",
    "MULTI_CPU": "copies",
    "MULTI_GPU": "copies",
    "FSDP": "fsdp",
    "DEEPSPEED": "deepspeed",
}
WRAPPED = "TRANSFORMER_BASED_WRAP"


@dataclass(frozen=True, slots=True)
class Launch:
    """How a run is started, and what its processes share.

    Args:
        kind: what shards: FSDP2, DeepSpeed, or nothing.
        processes: of all machines.
        machines: how many there are.
        shards: processes that share one copy of what is sharded.
        stage: of ZeRO (arXiv:1910.02054): 1 shards the optimizer, 2 gradients too, 3 weights too, 0 nothing.
        half: whether passes are computed in bf16.
        by_layer: whether weights are gathered layer by layer, and let go of after each.
        checkpoints: whether accelerate keeps activations between layers alone.
        offloads_weights: whether they lie in the host's memory.
        offloads_optimizer: likewise.
    """

    kind: Kind
    processes: int
    machines: int = 1
    shards: int = 1
    stage: int = 0
    half: bool = False
    by_layer: bool = False
    checkpoints: bool = False
    offloads_weights: bool = False
    offloads_optimizer: bool = False


def fill_processes(settings: TrainSettings, *, planned: bool = False) -> TrainSettings:
    """Return settings with the number of processes that their config file of accelerate's names, if they have one.

    Where a run is `planned` for another machine, a number that was given stands. Raises `LearnableError` as
    `read_launch` does, and for another number.
    """
    if not settings.accelerate_config:
        return settings
    processes = read_launch(settings).processes
    if settings.num_processes not in (1, processes) and not planned:
        raise LearnableError(
            f"`num_processes` {settings.num_processes} is not what `accelerate_config` {settings.accelerate_config} "
            f"has (num_processes: {processes}): leave it out, or change the file"
        )
    return settings if planned and settings.num_processes > 1 else replace(settings, num_processes=processes)


def find_launch(settings: TrainSettings) -> Launch | None:
    """Return what the config file of a run says, for as many processes as its settings have; None without a file."""
    if not settings.accelerate_config:
        return None
    launch, processes = read_launch(settings), settings.num_processes
    whole = launch.shards == launch.processes
    return replace(launch, processes=processes, shards=processes if whole else min(launch.shards, processes))


def read_launch(settings: TrainSettings) -> Launch:
    """Read `accelerate_config`.

    Raises `LearnableError` for a file that cannot be read, and for what a run of ours or TRL's cannot do.
    """
    where = f"`accelerate_config` {settings.accelerate_config}"
    config = _read_config(Path(settings.accelerate_config), where)
    name = str(config.get("distributed_type", "NO"))
    if name not in KINDS:
        raise LearnableError(f"{where}: distributed_type = {name!r} cannot train here: give one of {', '.join(KINDS)}")
    if str(config.get("compute_environment", "LOCAL_MACHINE")) != "LOCAL_MACHINE":
        raise LearnableError(f"{where}: compute_environment must be LOCAL_MACHINE")
    processes = _read_count(config, "num_processes", where)
    launch = Launch(
        KINDS[name],
        processes,
        machines=_read_count({"num_machines": 1, **config}, "num_machines", where),
        shards=_count_shards(config, processes, where),
        half=str(config.get("mixed_precision", "no")) == "bf16",
    )
    if launch.kind == "fsdp":
        return _read_fsdp(launch, _read_table(config, "fsdp_config", where), settings, where)
    return _read_deepspeed(launch, config, where) if launch.kind == "deepspeed" else launch


def check_launch(settings: TrainSettings) -> None:
    """Raise `LearnableError` where a run is to start with a package that is not installed."""
    launch = find_launch(settings)
    if launch and launch.kind == "deepspeed" and find_spec("deepspeed") is None:
        raise LearnableError(
            f"`accelerate_config` {settings.accelerate_config}: distributed_type DEEPSPEED needs deepspeed, and it is "
            "not installed: pip install deepspeed, or shard with FSDP"
        )


def _read_config(file: Path, where: str) -> Mapping[str, Any]:
    import yaml  # type: ignore[import-untyped]  # accelerate brings it

    try:
        config = yaml.safe_load(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise LearnableError(f"{where} cannot be read: {error.strerror}; `accelerate config` writes one") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        reason = " ".join(str(error).split())
        raise LearnableError(f"{where} is no YAML: {reason}; `accelerate config` writes one") from error
    if not isinstance(config, Mapping):
        raise LearnableError(f"{where} holds no keys: `accelerate config` writes one")
    return config


def _read_table(config: Mapping[str, Any], key: str, where: str) -> Mapping[str, Any]:
    table = config.get(key) or {}
    if not isinstance(table, Mapping):
        raise LearnableError(f"{where}: {key} = {table!r} is no table of keys")
    return table


def _read_count(config: Mapping[str, Any], key: str, where: str) -> int:
    value = config.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise LearnableError(f"{where}: {key} = {value!r} is no number of 1 or more: write how many there are in all")
    return value


def _is_on(table: Mapping[str, Any], key: str, usual: bool = False) -> bool:
    return str(table.get(key, usual)).lower() == "true"  # accelerate takes words too


def _count_shards(config: Mapping[str, Any], processes: int, where: str) -> int:
    """Return how many processes share one copy: all, unless `parallelism_config` has several copies."""
    sizes = {
        name.removeprefix("parallelism_config_"): size
        for name, size in _read_table(config, "parallelism_config", where).items()
    }
    for name in ("tp_size", "cp_size", "sp_size"):
        if sizes.get(name, 1) != 1:
            raise LearnableError(
                f"{where}: parallelism_config.{name} = {sizes[name]} splits a text or a layer among processes, and a "
                "run here gives each its own texts: write 1, and shard more with dp_shard_size"
            )
    return _read_count({"dp_shard_size": processes, **sizes}, "dp_shard_size", f"{where}: parallelism_config")


def _read_fsdp(launch: Launch, table: Mapping[str, Any], settings: TrainSettings, where: str) -> Launch:
    keys = {name.removeprefix("fsdp_"): value for name, value in table.items()}
    if str(keys.get("version")) != "2":
        raise LearnableError(f"{where}: fsdp_version = {keys.get('version')!r}: write 2, for FSDP1 is on its way out")
    has_reference = settings.method != "sft" and settings.kl_weight and not settings.lora_rank
    if has_reference and _is_on(keys, "cpu_ram_efficient_loading", usual=True):
        raise LearnableError(
            f"{where}: fsdp_cpu_ram_efficient_loading is on (accelerate's default), so that the first process alone "
            "reads weights, and TRL sends the others those of the policy and not of the reference: write false, or "
            "train with `lora_rank` or `no_kl`"
        )
    offloads = _is_on(keys, "offload_params")
    return replace(
        launch,
        stage=3,
        by_layer=str(keys.get("auto_wrap_policy")) == WRAPPED and _is_on(keys, "reshard_after_forward", usual=True),
        checkpoints=_is_on(keys, "activation_checkpointing"),
        offloads_weights=offloads,
        offloads_optimizer=offloads,
    )


def _read_deepspeed(launch: Launch, config: Mapping[str, Any], where: str) -> Launch:
    table = _read_table(config, "deepspeed_config", where)
    if file := table.get("deepspeed_config_file"):
        raise LearnableError(
            f"{where}: deepspeed_config.deepspeed_config_file = {file!r} is a second file, which is not read here: "
            "write zero_stage and the offload devices into deepspeed_config"
        )
    stage = table.get("zero_stage", 2)  # accelerate's default
    if stage not in (0, 1, 2, 3):
        raise LearnableError(f"{where}: deepspeed_config.zero_stage = {stage!r}: write 0, 1, 2 or 3")
    if stage == 3 and not _is_on(table, "zero3_save_16bit_model"):
        raise LearnableError(
            f"{where}: deepspeed_config.zero3_save_16bit_model is off, so that no whole policy could be saved: write "
            "true"
        )
    return replace(
        launch,
        stage=stage,
        by_layer=stage == 3,
        offloads_weights=str(table.get("offload_param_device", "none")) != "none" and stage == 3,
        offloads_optimizer=str(table.get("offload_optimizer_device", "none")) != "none" and stage > 0,
    )
