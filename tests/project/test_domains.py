"""A domain stands whole: the core names none, and one that is taken out of the registry leaves the rest working."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from learnable.verifiers import domains
from tests.support.paths import ROOT

TABLES = (
    domains.VERIFIERS,
    domains.SIMULATED_VERIFIERS,
    domains.FAMILIES,
    domains.ON_REQUEST,
    domains.EXPLANATIONS,
    domains.FILE_READERS,
    domains.MACHINE_CHECKS,
)
PLACES = [place.partition(":")[0] for table in TABLES for place in table.values()]
ROOM = re.compile(r"(learnable\.verifiers\.\w+)\.")
DOMAINS = sorted({found[1] for place in PLACES if (found := ROOM.match(place))})
ROOMS = ("data", "filters", "flows", "rollouts", "train", "verifiers", "src/learnable/cli")
# Domains, and what made the bundled policy: it learned to answer prompts of the domains, and no room knows of it.
NO_CORE = tuple(
    ROOT / place.removeprefix("learnable.").replace(".", "/") for place in (*DOMAINS, "learnable.train.policy")
)
REGISTRY = ROOT / "verifiers/domains.py"


def core() -> Iterator[Path]:
    for file in (file for room in ROOMS for file in sorted((ROOT / room).rglob("*.py"))):
        if file != REGISTRY and not any(folder in file.parents for folder in NO_CORE):
            yield file


def imports(file: Path) -> Iterator[str]:
    """Yield every module that a file imports, in functions too, and every name that it imports out of one."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file} imports by a relative name"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_there_is_a_core_and_there_are_domains() -> None:
    assert {f"learnable.verifiers.{name}" for name in ("answers", "instructions", "programs")} <= set(DOMAINS)
    assert all(folder.is_dir() for folder in NO_CORE)
    assert len(list(core())) > 200
    assert any(name.startswith(f"{DOMAINS[-1]}.") for name in imports(ROOT / "verifiers/programs/__init__.py"))


def test_the_core_imports_no_domain_by_name() -> None:
    known = (*DOMAINS, "learnable.train.policy")
    found = {
        f"{file.relative_to(ROOT)}: {name}"
        for file in core()
        for name in imports(file)
        if any(f"{name}.".startswith(f"{domain}.") for domain in known)
    }
    assert found == set()


def test_the_registry_alone_writes_the_place_of_a_domain() -> None:
    named = re.compile("|".join(map(re.escape, DOMAINS)))
    assert [str(file) for file in core() if named.search(file.read_text(encoding="utf-8"))] == []


WITHOUT = """
import contextlib, json, sys
from importlib.abc import MetaPathFinder

gone, verifiers = sys.argv[1], set(json.loads(sys.argv[2]))

class Gone(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name == gone or name.startswith(gone + "."):
            raise ModuleNotFoundError(f"{name} is gone")

sys.meta_path.insert(0, Gone())
from learnable.verifiers import domains
for table in (domains.VERIFIERS, domains.FAMILIES, domains.ON_REQUEST, domains.EXPLANATIONS, domains.FILE_READERS):
    for name in [name for name, place in table.items() if place.startswith(gone + ".")]:
        del table[name]

from learnable.cli.app import app
from learnable.data.errors import LearnableError
from learnable.flows.curation.steps import read_prompts
from learnable.flows.settings import CurateSettings, PromptSettings
from learnable.rollouts.settings import SimulatedSettings, VLLMSettings
from learnable.verifiers.families.registry import ALL_FAMILIES, find_forms
from learnable.verifiers.registry import find_verifier

with contextlib.suppress(SystemExit):
    app(["forms", "--json"])
report = {}
for name, family in ALL_FAMILIES.items():
    assert find_forms([family.forms[0]])
    for wording in ("plain", "natural"):
        engine = SimulatedSettings() if name == "simulated" else VLLMSettings()
        settings = CurateSettings(PromptSettings(families=(name,), limit=4, wording=wording), engine=engine)
        prompts = read_prompts(settings).prompts
        assert len(prompts) == 4, (name, wording)
    scores = [find_verifier(p.verifier).score("pass", prompt=p.text, spec=p.spec) for p in prompts]
    report[name] = sorted({score.verdict for score in scores})
for name in verifiers & domains.VERIFIERS.keys():
    find_verifier(name)
try:
    find_forms(["sonnet"])
except LearnableError as error:
    report["sonnet"] = str(error)
print(json.dumps(report))
"""


@pytest.mark.slow
@pytest.mark.parametrize("domain", DOMAINS)
def test_the_rest_works_without_a_domain(domain: str) -> None:
    known = json.dumps(list(domains.VERIFIERS))
    ran = subprocess.run(
        [sys.executable, "-c", WITHOUT, domain, known], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert ran.returncode == 0, ran.stderr
    listed, _, last = ran.stdout.rstrip().rpartition("\n")
    report = json.loads(last)
    left = {
        name for name, place in {**domains.FAMILIES, **domains.ON_REQUEST}.items() if not place.startswith(f"{domain}.")
    }
    assert {row["family"] for row in json.loads(listed)} == report.keys() - {"sonnet"} == left
    assert {verdict for name in left for verdict in report[name]} == {"scored"}
    assert ("sonnet" in report) is domain.endswith("poetry")
