"""Whether rollouts that an earlier version stored are those of this very policy."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from upath import UPath

from learnable.data.curated.curated_set import find_versions, open_curated
from learnable.data.curated.manifest import Manifest
from learnable.data.errors import LearnableError
from learnable.data.ledger.earlier_ids import find_earlier_ids, note_earlier_id
from learnable.data.policies import Policy, bundled_policy_path
from learnable.data.progress import progress
from learnable.data.records import weights_id
from learnable.data.storage.weights import hash_as_earlier, last_changed
from learnable.data.store import Store


def adopt_earlier_rollouts(store: Store, policy: Policy, *, verify: bool) -> None:
    """Note in the store that rollouts under the id of earlier versions are this policy's, where that is certain enough.

    Version 0.1 read 1 MiB of a weight file at most, so its id does not tell weights from others that differ in part.
    Its rollouts are taken where it read every byte, or the policy is the bundled one. Without `verify` they are taken
    also where the first set that the store has under that id names this folder, and nothing in the folder has changed
    since. Where there are rollouts and none of that holds, a warning says so. Raises `LearnableError` where the store
    cannot be written.
    """
    folder, weights = Path(policy.path), weights_id(policy.policy_id)
    if policy.adapter:  # no earlier version knew adapters
        return
    if not (folder / "config.json").is_file():
        return
    earlier, read_whole = hash_as_earlier(folder)
    stored = store.root / "rollouts" / earlier
    if earlier in find_earlier_ids(store.root, weights) or not stored.is_dir():
        return
    certain = read_whole or folder == bundled_policy_path().resolve()
    if certain or (not verify and _unchanged_since_first_set(store, policy, earlier)):
        note_earlier_id(store.root, weights, earlier)
    else:
        progress().warn(
            f"rollouts in {str(stored)!r} are not used: the id of earlier versions cannot tell these weights from "
            "others that differ in part"
        )


def names_same_weights(store: Store, policy_id: str, policy: Policy) -> bool:
    """Whether a stored policy id names the weights of a policy, be it by an earlier id that the store has noted."""
    weights = weights_id(policy.policy_id)
    return weights_id(policy_id) in {weights, *find_earlier_ids(store.root, weights)}


def _unchanged_since_first_set(store: Store, policy: Policy, earlier: str) -> bool:
    sets = [path for path in store.curated.glob("*") if path.is_dir()] if store.curated.is_dir() else []
    manifests = [manifest for folder in sets for manifest in _manifests(folder)]
    made = [manifest for manifest in manifests if weights_id(manifest.policy.policy_id) == earlier]
    first = min(made, key=lambda manifest: manifest.created, default=None)
    if first is None or first.policy.path != policy.path:
        return False
    try:
        return last_changed(Path(policy.path)) < datetime.fromisoformat(first.created).timestamp()
    except ValueError:
        return False


def _manifests(folder: UPath) -> list[Manifest]:
    """Return the manifests of a set's versions; none of one that cannot be read."""
    found = []
    for version in find_versions(folder):
        try:
            found.append(open_curated(version).manifest)
        except LearnableError:
            continue
    return found
