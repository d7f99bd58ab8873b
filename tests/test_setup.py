"""What the set-up brings: the pinned versions, and no CUDA with the CPU build of torch."""

import sysconfig
import tomllib
from importlib.metadata import distributions, version
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).parents[1]


def pins() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text().split()
    return dict(line.split("==") for line in lines)


def test_every_package_of_the_environment_is_pinned():
    own = distributions(path=[sysconfig.get_path("purelib")])  # Ray brings packages of its own beside them
    installed = {d.metadata["Name"].lower().replace("_", "-") for d in own}
    pinned = {name.lower().replace("_", "-") for name in pins()}
    assert installed - pinned <= {"pip", "setuptools", "discreet"}


def test_torch_is_the_pinned_one():
    assert version("torch").split("+")[0] == pins()["torch"]


def test_a_cpu_build_of_torch_brings_no_cuda_packages():
    if torch.version.cuda is not None:
        pytest.skip("this is a CUDA build of torch")
    assert [d.metadata["Name"] for d in distributions() if d.metadata["Name"].startswith("nvidia")] == []


def test_every_file_of_the_package_that_is_no_code_is_installed_with_it():
    package = ROOT / "src" / "discreet"
    patterns = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]["discreet"]
    named = {path for pattern in patterns for path in package.glob(pattern)}
    files = {path for path in package.rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    assert {path for path in files - named if path.suffix != ".py"} == set()
    assert all(any(package.glob(pattern)) for pattern in patterns)
