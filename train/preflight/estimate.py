"""Sizes of a policy and of a pass, and the memory of a run, term by term."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from learnable.train.preflight.device import Device


@dataclass(frozen=True, slots=True)
class ModelShape:
    """Sizes of a decoder with gated feed-forward layers and RMSNorm, as Llama, Mistral, Qwen and Gemma are."""

    vocabulary: int
    hidden: int
    layers: int
    heads: int
    kv_heads: int
    head_size: int
    feed_forward: int
    tied: bool

    @property
    def query_width(self) -> int:
        """Numbers in a token's queries."""
        return self.heads * self.head_size

    @property
    def key_width(self) -> int:
        """Numbers in a token's keys, and in its values."""
        return self.kv_heads * self.head_size

    @property
    def layer_parameters(self) -> int:
        """Weights of one layer, without biases."""
        h, q, k = self.hidden, self.query_width, self.key_width
        return 2 * h * q + 2 * h * k + 3 * h * self.feed_forward + 2 * h

    @property
    def parameters(self) -> int:
        """All weights, without biases."""
        ends = self.vocabulary * self.hidden * (1 if self.tied else 2) + self.hidden
        return ends + self.layers * self.layer_parameters

    def count_adapter(self, rank: int) -> int:
        """Count the weights of LoRA adapters of this rank on every linear layer but the head."""
        h, q, k, f = self.hidden, self.query_width, self.key_width, self.feed_forward
        ends = 2 * (h + q) + 2 * (h + k) + 3 * (h + f)
        return self.layers * rank * ends


@dataclass(frozen=True, slots=True)
class PassShape:
    """What goes through the policy in one forward and backward pass: `rows` texts, padded to `width` tokens each."""

    rows: int
    width: int

    @property
    def tokens(self) -> int:
        """Tokens in all, padding and all."""
        return self.rows * self.width


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryEstimate:
    """Bytes of one process by what they are for: `memory` and `sharding` have the formulas.

    So many `processes` share the device.
    """

    device: Device
    processes: int
    weights: int
    reference: int
    optimizer: int
    vllm: int
    gradients: int
    casts: int
    activations: int
    logits: int
    kv_cache: int
    next_tokens: int
    prefill: int
    fragments: int = 0
    gathered: int = 0
    whole_policy: int = 0
    whole_reference: int = 0
    sleeping_vllm: int = 0
    offloaded: int = 0

    @property
    def lasting(self) -> int:
        """What is there at every moment of a step."""
        return self.weights + self.reference + self.optimizer + self.vllm + self.gathered

    @property
    def stepping(self) -> int:
        """What is added while gradients are computed."""
        return self.gradients + self.casts + self.activations + self.logits + self.fragments

    @property
    def generating(self) -> int:
        """What is added while completions are generated, and while the reference scores them."""
        own = max(self.kv_cache + self.next_tokens, self.prefill) + self.whole_policy
        return max(own, self.sleeping_vllm, self.whole_reference)

    @property
    def allocated(self) -> int:
        """The most that is in use at any moment."""
        return self.lasting + max(self.stepping - self.fragments, self.generating)

    @property
    def peak(self) -> int:
        """The most at any moment, with the fragments of what was freed."""
        return self.lasting + max(self.stepping, self.generating)

    @property
    def required(self) -> int:
        """What no micro batch, however small, does without."""
        return self.lasting + self.gradients

    def list_terms(self) -> dict[str, int]:
        """Return the terms that are not 0, the largest first; not what lies in the host's memory in their place."""
        outside = ("device", "processes", "offloaded")
        terms = {name: size for name, size in asdict(self).items() if name not in outside and size}
        return dict(sorted(terms.items(), key=lambda term: -term[1]))
