"""Stored rollouts on TRL's real trainer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from learnable.data.errors import LearnableError
from learnable.train import LearnabilitySampler, StoredRollouts, load_prompts, rewards
from learnable.train.live.hooks import ROW
from learnable.train.monitor.records import StepRecord
from learnable.train.stored.plan import FILE

pytestmark = [
    pytest.mark.filterwarnings("ignore:TRL currently supports vLLM:UserWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore:the .* prompts have no certificates:UserWarning"),
    pytest.mark.usefixtures("_closed_pool"),
]
GROUP, PROMPTS = 4, 2  # completions of a group, groups of a batch
MakeTrainer = Callable[..., Any]


@pytest.fixture
def curated(make_curated: Any, tiny_policy: Path, fill_store: Any, prompts_of_ones: Any) -> Path:
    """A set of 12 prompts in a store with 16 rollouts of each."""
    prompts = prompts_of_ones(12)
    fill_store(prompts)
    folder: Path = make_curated(tiny_policy, train=prompts)
    return folder


@pytest.fixture
def make_trainer(tiny_policy: Path, curated: Path, tmp_path: Path) -> MakeTrainer:
    def make(name: str = "run", *, peft: Any = None, place: Path = curated, **options: Any) -> Any:
        from trl import GRPOConfig, GRPOTrainer

        usual = {"per_device_train_batch_size": 8, "max_steps": 4, "learning_rate": 1e-2, "beta": 0.04, "save_steps": 4}
        config = GRPOConfig(
            output_dir=str(tmp_path / name),
            num_generations=GROUP,
            max_completion_length=3,
            use_cpu=True,
            bf16=False,
            report_to="none",
            disable_tqdm=True,
            logging_steps=1,
            **usual | options,
        )
        data = load_prompts(place, "train")
        return GRPOTrainer(
            str(tiny_policy), [rewards.verifier_reward], args=config, train_dataset=data, peft_config=peft
        )

    return make


def note_batches(trainer: Any) -> list[list[tuple[Any, ...]]]:
    """Return a list that gets (row, tokens, whether stored) of each completion of a batch that is trained on."""
    batches: list[list[tuple[Any, ...]]] = []
    generate, score = trainer._generate_single_turn, trainer._calculate_rewards
    made: list[Any] = []

    def note_tokens(*arguments: Any, **options: Any) -> Any:
        found = generate(*arguments, **options)
        made[:] = found[0]
        return found

    def note_rows(inputs: Any, *rest: Any) -> Any:
        rows = zip(inputs, made, strict=True)
        batches.append([(row[ROW], tuple(tokens), rewards.STORED_SCORE in row) for row, tokens in rows])
        return score(inputs, *rest)

    trainer._generate_single_turn, trainer._calculate_rewards = note_tokens, note_rows
    return batches


def list_groups(batches: list[list[tuple[Any, ...]]]) -> list[tuple[Any, ...]]:
    """Return the stored groups of batches: the row, and the tokens of each completion."""
    groups = [batch[at : at + GROUP] for batch in batches for at in range(0, len(batch), GROUP)]
    return [(group[0][0], *(tokens for _, tokens, _ in group)) for group in groups if group[0][2]]


def list_steps(trainer: Any) -> list[dict[str, float]]:
    """Return the metrics of each step by our names."""
    logs = [log for log in trainer.state.log_history if "loss" in log]
    return [dict(StepRecord.from_logs(1, log).metrics) for log in logs]  # type: ignore[arg-type]


def forbid_generation(trainer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        pytest.fail("something was generated")

    monkeypatch.setattr(trainer.accelerator.unwrap_model(trainer.model), "generate", fail)


@pytest.mark.e2e
@pytest.mark.parametrize("beta", [0.04, 0.0], ids=["a reference", "measured at the start"])
def test_nothing_is_generated_and_no_verifier_runs_while_stored_groups_last(
    make_trainer: MakeTrainer, curated: Path, monkeypatch: pytest.MonkeyPatch, beta: float
) -> None:
    trainer = make_trainer(beta=beta, learning_rate=1e-3)
    StoredRollouts.attach(trainer, curated)
    batches = note_batches(trainer)
    forbid_generation(trainer, monkeypatch)
    monkeypatch.setattr(rewards, "score_completions", lambda *_: pytest.fail("a verifier ran"))
    trainer.train()
    steps = list_steps(trainer)

    assert [len(batch) for batch in batches] == [GROUP * PROMPTS] * 4
    assert len(set(list_groups(batches))) == 4 * PROMPTS
    assert steps[0]["ratio_ess"] == pytest.approx(1.0, abs=1e-6)
    assert 0 < steps[-1]["ratio_ess"] < 1
    assert [step["stored_share"] for step in steps] == [1.0] * 4
    assert all(0 <= step["clip_share"] <= 1 for step in steps)
    assert all(step["frac_reward_zero_std"] == 0 for step in steps)
    assert all(0 < step["within_group_std"] <= 0.5 for step in steps)


@pytest.mark.e2e
def test_the_gradient_is_that_of_the_same_completions_generated(
    make_trainer: MakeTrainer, curated: Path, tmp_path: Path
) -> None:
    import torch

    plain = {"optim": "sgd", "learning_rate": 1.0, "max_grad_norm": 0.0, "lr_scheduler_type": "constant"}
    stored = make_trainer("stored", max_steps=1, **plain)
    StoredRollouts.attach(stored, curated)
    before = {name: one.detach().clone() for name, one in stored.model.named_parameters()}
    batches = note_batches(stored)
    stored.train()

    live = make_trainer("live", max_steps=1, **plain)
    sampler = LearnabilitySampler.attach(live, is_even=True)
    rows = [row for row, _, _ in batches[0][::GROUP]]
    sampler.order.draw = lambda: sampler.order.picker.take(rows)
    live._generate_single_turn = lambda *_: ([list(tokens) for _, tokens, _ in batches[0]], None)
    live.train()

    after = [dict(each.model.named_parameters()) for each in (stored, live)]
    moved = [{name: one.detach() - before[name] for name, one in weights.items()} for weights in after]
    assert max(float(one.abs().max()) for one in moved[0].values()) > 1e-3
    for name, gradient in moved[0].items():
        torch.testing.assert_close(moved[1][name], gradient, rtol=1e-4, atol=1e-6)
    assert list_steps(live)[0]["reward"] == list_steps(stored)[0]["reward"]
    assert not (tmp_path / "live" / FILE).exists()


@pytest.mark.e2e
def test_old_log_probabilities_are_those_of_the_start_wherever_they_are_from(
    make_trainer: MakeTrainer, curated: Path
) -> None:
    import torch

    seen: dict[float, list[Any]] = {}
    for beta in (1e-12, 0.0):  # TRL has a reference for the one, and none for the other
        trainer = make_trainer(f"beta-{beta}", beta=beta)
        StoredRollouts.attach(trainer, curated)
        make_batch, seen[beta] = trainer._generate_and_score_completions, []

        def keep(inputs: Any, make_batch: Any = make_batch, found: list[Any] = seen[beta]) -> Any:
            output = make_batch(inputs)
            found.append((output["old_per_token_logps"] * output["completion_mask"], output["completion_ids"]))
            return output

        trainer._generate_and_score_completions = keep
        trainer.train()

    for (one, tokens), (other, same) in zip(*seen.values(), strict=True):
        assert tokens.equal(same)
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


@pytest.mark.e2e
@pytest.mark.parametrize(
    ("options", "aligned"),
    [
        ({}, True),
        ({"gradient_accumulation_steps": 2, "per_device_train_batch_size": 4}, True),
        ({"num_iterations": 2, "beta": 0.0}, True),
        ({"steps_per_generation": 2, "per_device_train_batch_size": 4}, True),
        ({"num_iterations": 4, "save_steps": 6}, False),  # a checkpoint in the middle of a batch
    ],
    ids=["plain", "accumulated", "iterated", "one batch for two steps", "in the middle of a batch"],
)
def test_a_resumed_run_trains_on_no_stored_group_twice(
    make_trainer: MakeTrainer, curated: Path, tmp_path: Path, options: dict[str, Any], aligned: bool
) -> None:
    options = {"max_steps": 8, "learning_rate": 1e-4, **options}
    at = options.get("save_steps", 4)
    whole, again = make_trainer(**options), make_trainer(**options)
    StoredRollouts.attach(whole, curated)
    batches = note_batches(whole)
    whole.train()
    kept = (tmp_path / "run" / FILE).read_bytes()
    StoredRollouts.attach(again, curated)
    resumed = note_batches(again)
    again.train(resume_from_checkpoint=str(tmp_path / "run" / f"checkpoint-{at}"))

    repeats = options.get("num_iterations", 1) * options.get("steps_per_generation", 1)
    done = -(-at // repeats)
    assert len(set(list_groups(batches))) == len(list_groups(batches)) == PROMPTS * len(batches)
    assert not set(list_groups(batches[:done])) & set(list_groups(resumed))
    if aligned:
        assert resumed == batches[done:]
    else:
        assert [row for row, _, _ in resumed[0]] == [row for row, _, _ in batches[done - 1]]
        assert not any(is_stored for _, _, is_stored in resumed[0])
    assert (tmp_path / "run" / FILE).read_bytes() == kept


@pytest.mark.e2e
def test_stale_groups_are_left_for_fresh_completions(make_trainer: MakeTrainer, curated: Path, tmp_path: Path) -> None:
    trainer = make_trainer(max_steps=6, save_steps=3)
    stored = StoredRollouts.attach(trainer, curated, min_ess=0.9999)
    batches = note_batches(trainer)
    with pytest.warns(UserWarning, match=r"stored rollouts are stale: .* below 0\.9999; the run goes on with fresh"):
        trainer.train()
    shares = [step["stored_share"] for step in list_steps(trainer)]
    fell = shares.index(0.0)

    assert shares == [1.0] * fell + [0.0] * (6 - fell)
    assert 2 <= fell <= 3  # ratios are 1 in the first step
    assert [batch[0][2] for batch in batches] == [bool(share) for share in shares]
    assert stored.is_stale

    again = make_trainer(max_steps=6, save_steps=3)
    StoredRollouts.attach(again, curated, min_ess=0.9999)
    resumed = note_batches(again)
    again.train(resume_from_checkpoint=str(tmp_path / "run" / "checkpoint-3"))
    assert not any(is_stored for batch in resumed for _, _, is_stored in batch)


@pytest.mark.e2e
def test_a_run_goes_over_to_fresh_completions_when_stored_groups_are_used_up(
    make_trainer: MakeTrainer, curated: Path
) -> None:
    trainer = make_trainer(max_steps=30, learning_rate=1e-5)
    sampler = LearnabilitySampler.attach(trainer)
    stored = StoredRollouts.attach(trainer, curated)
    rates, told = sampler.order.picker.rates, list[int]()
    observe = rates.observe_batch
    rates.observe_batch = lambda groups: (told.extend(groups), observe(groups))[1]  # type: ignore[func-returns-value]
    trainer.train()
    shares = [step["stored_share"] for step in list_steps(trainer)]
    count = len(stored.batches)

    assert 8 < count < 24
    assert shares == [1.0] * count + [0.0] * (30 - count)
    assert len(told) == (30 - count) * PROMPTS  # a stored group tells what its certificate told already


@pytest.mark.e2e
def test_adapters_are_trained_on_what_their_base_drew(
    make_trainer: MakeTrainer, curated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from peft import LoraConfig

    lora = LoraConfig(r=4, lora_alpha=8, target_modules="all-linear", task_type="CAUSAL_LM")
    trainer = make_trainer(peft=lora, learning_rate=3e-3, beta=0.0)
    StoredRollouts.attach(trainer, curated)
    forbid_generation(trainer, monkeypatch)
    trainer.train()
    steps = list_steps(trainer)

    assert steps[0]["ratio_ess"] == pytest.approx(1.0, abs=1e-6)
    assert 0 < steps[-1]["ratio_ess"] < 1 - 1e-6
    assert all(step["grad_norm"] > 0 for step in steps)


@pytest.mark.e2e
def test_stored_scores_are_the_rewards(
    make_trainer: MakeTrainer, curated: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the ledger says counts, and not what a verifier would say now."""
    trainer = make_trainer(max_steps=1)
    StoredRollouts.attach(trainer, curated)
    seen: list[dict[str, Any]] = []
    reward = trainer.reward_funcs[0]
    trainer.reward_funcs[0] = lambda **columns: (seen.append(columns), reward(**columns))[1]
    trainer.train()
    [columns] = seen
    given = [score.reward for score in columns[rewards.STORED_SCORE]]
    monkeypatch.setitem(columns, rewards.STORED_SCORE, None)
    texts = [text == "1" for text in columns["completions"]]

    assert given == [float(right) for right in texts]
    assert rewards.verifier_reward(**columns) == given


@pytest.mark.e2e
def test_an_engine_in_the_trainer_changes_nothing_of_a_stored_batch(make_trainer: MakeTrainer, curated: Path) -> None:
    """TRL corrects for the numbers of the engine that sampled; stored completions need no correction."""
    trainers = [make_trainer(name, max_steps=2) for name in ("one", "other")]
    for trainer in trainers:
        StoredRollouts.attach(trainer, curated)
    trainers[1].use_vllm, trainers[1].vllm_importance_sampling_correction = True, True  # without the engine itself
    for trainer in trainers:
        trainer.train()
    one, other = (list_steps(trainer) for trainer in trainers)
    assert [step["loss"] for step in other] == pytest.approx([step["loss"] for step in one], rel=1e-5)
    assert [step["grad_norm"] for step in other] == pytest.approx([step["grad_norm"] for step in one], rel=1e-5)


@pytest.mark.e2e
def test_what_cannot_work_is_refused(make_trainer: MakeTrainer, curated: Path, tmp_path: Path) -> None:
    hot = make_trainer("hot", temperature=0.7)
    StoredRollouts.attach(hot, curated)
    with pytest.raises(LearnableError, match=r"under t0\.7-p1\.0-k0 with at most 3 tokens there are none"):
        hot.train()
    bare = make_trainer("bare")
    bare.train_dataset = bare.train_dataset.remove_columns(["prompt_id"])
    StoredRollouts.attach(bare, curated)
    with pytest.raises(LearnableError, match="the data set has no column 'prompt_id'"):
        bare.train()
    static = make_trainer("static")
    LearnabilitySampler.attach(static, predict="off")
    static.train()
    late = make_trainer("static", max_steps=6)
    StoredRollouts.attach(late, curated)
    with pytest.raises(LearnableError, match=f"no {FILE}: the run that wrote these checkpoints had no stored rollouts"):
        late.train(resume_from_checkpoint=True)
    trainer = make_trainer("copy")
    copy = curated.rename(tmp_path / "v0001")
    StoredRollouts.attach(trainer, copy)
    with pytest.raises(LearnableError, match="lies in no store, so its stored rollouts are not here"):
        trainer.train()
    trainer = make_trainer("again", place=copy)
    StoredRollouts.attach(trainer, copy, store=tmp_path)
    trainer.train()
    assert list_steps(trainer)[-1]["stored_share"] == 1.0


def test_another_version_of_trl_is_refused(curated: Path) -> None:
    with pytest.raises(LearnableError, match="do not know this version of TRL: no _generate_and_score_completions"):
        StoredRollouts.attach(object(), curated)  # type: ignore[arg-type]
