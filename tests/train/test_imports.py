import json
import subprocess
import sys

HEAVY = {"torch", "vllm", "trl", "transformers", "datasets", "peft", "matplotlib", "prefect"}


def test_the_stage_and_the_rewards_load_nothing_heavy() -> None:
    imports = "import json, sys, learnable.flows.training.stage, learnable.train.rewards"
    code = f"{imports}; print(json.dumps(sorted(sys.modules)))"
    loaded = json.loads(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout)

    assert HEAVY & set(loaded) == set()
