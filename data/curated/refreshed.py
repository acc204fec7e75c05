"""What a version of a curated set says of the refresh that made it: its part of `manifest.json`."""

from __future__ import annotations

from dataclasses import dataclass

from learnable.data.curated.record import Record, in_json, many_of
from learnable.data.records import JsonObject

REFRESHED = "refresh"  # the `kind` of a version that a refresh made; others have none


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin(Record):
    """The version that was refreshed, and the id of its policy."""

    version: str = ""
    policy: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes(Record):
    """How many prompts a refresh looked at, and how many of them left the set, joined it, or stay as they were.

    `resampled` of them were sampled again, the `anchors` among them.
    """

    prompts: int = 0
    kept_before: int = 0
    kept_now: int = 0
    keep_to_drop: int = 0
    drop_to_keep: int = 0
    unchanged: int = 0
    anchors: int = 0
    resampled: int = in_json("asked_again", default=0)
    resampled_share: float = in_json("asked_share", default=0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilyChanges(Record):
    """The same of one family."""

    family: str = ""
    prompts: int = 0
    kept_before: int = 0
    kept_now: int = 0
    keep_to_drop: int = 0
    drop_to_keep: int = 0
    unchanged: int = 0
    resampled: int = in_json("asked_again", default=0)


@dataclass(frozen=True, slots=True)
class StillInBand(Record):
    """The expected share of the old set that is still in the band, and the ends of its central 90 % interval."""

    share: float = 0.0
    low: float = 0.0
    high: float = 0.0


@dataclass(frozen=True, slots=True)
class Drift(Record):
    """Where rates go: `log-odds(new) = shift + slope * log-odds(old) + noise * z`, z standard normal.

    Of the prompts that always failed a share `left_zero` does so no longer, and of those that always passed a share
    `left_one`. `noise` is what the policy forgets: the larger it is, the less an old rollout says of the new policy.
    `fitted_to` is how many prompts the figures rest on, 0 where they are those of other families.
    """

    shift: float = 0.0
    slope: float = 1.0
    noise: float = 0.05
    left_zero: float = 0.0
    left_one: float = 0.0
    fitted_to: int = 0

    def to_json(self) -> JsonObject:
        """Return the figures to four digits."""
        plain = Record.to_json(self)
        return {key: round(value, 4) if isinstance(value, float) else value for key, value in plain.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilyDrift(Drift):
    """The drift of a family's prompts that were trained on, or of its others."""

    family: str = ""
    trained: bool = False

    def to_json(self) -> JsonObject:
        """Return whose drift it is, and the figures to four digits."""
        return {"family": self.family, "trained": self.trained, **Drift.to_json(self)}


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshRecord(Record):
    """What a refresh says of itself: keys of the manifest's own object.

    `still_in_band` is None where the old set was empty.
    """

    kind: str = REFRESHED
    refreshed_from: Origin = in_json(read=Origin.from_json, make=Origin)
    changed: Changes = in_json(read=Changes.from_json, make=Changes)
    still_in_band: StillInBand | None = in_json("shelf_life", StillInBand.from_json)
    drift: tuple[FamilyDrift, ...] = in_json(read=many_of(FamilyDrift), default=())
    families: tuple[FamilyChanges, ...] = in_json(read=many_of(FamilyChanges), default=())
