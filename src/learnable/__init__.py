"""Find the prompts a language model can learn from: `docs/reference/python.md` says what each name here is for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from learnable.data.band import Band
    from learnable.data.errors import LearnableError
    from learnable.data.records import Prompt, Sampling, Score
    from learnable.filters.decisions.presets import Preset
    from learnable.filters.stopping.budget import SamplingBudget
    from learnable.flows.engines import use_engine
    from learnable.flows.launch import run_curation as curate
    from learnable.flows.launch import run_refresh as refresh
    from learnable.flows.launch import run_training as finetune
    from learnable.flows.settings import CurateSettings, PromptSettings, RefreshSettings
    from learnable.rollouts.registry import EngineSettings
    from learnable.rollouts.scripted import ScriptedEngine
    from learnable.rollouts.settings import RaySettings, ServerSettings, SimulatedSettings, VLLMSettings
    from learnable.train.rewards import verifier_reward
    from learnable.train.settings import TrainSettings
    from learnable.verifiers.programs import Sandbox
    from learnable.verifiers.protocol import Verifier
    from learnable.verifiers.registry import trust_verifier

__version__ = "0.1.0"
__all__ = [
    "Band",
    "CurateSettings",
    "EngineSettings",
    "LearnableError",
    "Preset",
    "Prompt",
    "PromptSettings",
    "RaySettings",
    "RefreshSettings",
    "Sampling",
    "SamplingBudget",
    "Sandbox",
    "Score",
    "ScriptedEngine",
    "ServerSettings",
    "SimulatedSettings",
    "TrainSettings",
    "VLLMSettings",
    "Verifier",
    "curate",
    "finetune",
    "refresh",
    "trust_verifier",
    "use_engine",
    "verifier_reward",
]

_HOMES = {
    "learnable.data.errors": ("LearnableError",),
    "learnable.data.records": ("Prompt", "Sampling", "Score"),
    "learnable.data.band": ("Band",),
    "learnable.filters.decisions.presets": ("Preset",),
    "learnable.filters.stopping.budget": ("SamplingBudget",),
    "learnable.flows.engines": ("use_engine",),
    "learnable.flows.settings": ("CurateSettings", "PromptSettings", "RefreshSettings"),
    "learnable.rollouts.registry": ("EngineSettings",),
    "learnable.rollouts.scripted": ("ScriptedEngine",),
    "learnable.rollouts.settings": ("RaySettings", "ServerSettings", "SimulatedSettings", "VLLMSettings"),
    "learnable.train.rewards": ("verifier_reward",),
    "learnable.train.settings": ("TrainSettings",),
    "learnable.verifiers.programs": ("Sandbox",),
    "learnable.verifiers.protocol": ("Verifier",),
    "learnable.verifiers.registry": ("trust_verifier",),
}
_PLACES = {name: (home, name) for home, names in _HOMES.items() for name in names} | {
    "curate": ("learnable.flows.launch", "run_curation"),
    "finetune": ("learnable.flows.launch", "run_training"),  # `learnable.train` is the folder of the trainers
    "refresh": ("learnable.flows.launch", "run_refresh"),
}


def __getattr__(name: str) -> Any:
    """Import a name at its first use, so that `import learnable` loads nothing."""
    if name not in _PLACES:
        raise AttributeError(f"module 'learnable' has no attribute {name!r}")
    from importlib import import_module

    home, name_there = _PLACES[name]
    return getattr(import_module(home), name_there)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
