"""Make a tiny instruct policy: `python -m learnable.train.policy.instruct FOLDER`.

It has the weights and the vocabulary of the bundled policy, and a chat template that tells roles apart, knows an
argument and writes the first token itself, as those of real instruct models do. A user's turn alone reads as a text
does to the bundled policy, so it answers built-in prompts as well.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from learnable.data.policies import bundled_policy_path

TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}"
    "{% if message['role'] == 'system' %}[{{ message['content'] }}]\n"
    "{% elif message['role'] == 'assistant' %}{{ message['content'] }}{{ eos_token }}"
    "{% else %}{{ message['content'] }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt and enable_thinking is defined and enable_thinking %}<think>\n{% endif %}"
)


def make_instruct_policy(folder: Path) -> Path:
    """Write the policy to a folder, and return it."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in (
        "config.json",
        "generation_config.json",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
    ):
        shutil.copyfile(bundled_policy_path() / name, folder / name)
    (folder / "chat_template.jinja").write_text(TEMPLATE, encoding="utf-8")
    return folder


def main(arguments: list[str] | None = None) -> None:
    """Write the policy to the folder that is named."""
    parser = argparse.ArgumentParser(prog="python -m learnable.train.policy.instruct", description=__doc__)
    parser.add_argument("folder", type=Path, help="folder for weights, tokenizer and template")
    print(f"wrote {make_instruct_policy(parser.parse_args(arguments).folder)}")


if __name__ == "__main__":
    main()
