"""What runs depend on, as plain data: a curation, a refresh, and the engine that samples."""

from learnable.flows.settings.curation import ChatSettings, CurateSettings, PromptSettings, RefreshSettings
from learnable.rollouts.registry import EngineSettings
from learnable.rollouts.settings import RaySettings, ServerSettings, SimulatedSettings, VLLMSettings

__all__ = [
    "ChatSettings",
    "CurateSettings",
    "EngineSettings",
    "PromptSettings",
    "RaySettings",
    "RefreshSettings",
    "ServerSettings",
    "SimulatedSettings",
    "VLLMSettings",
]
