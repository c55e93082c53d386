"""The container and its Compose file: linted, closed, and built where there is a builder."""

import re
import shutil
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.needs import ROOT, missing

FILE = ROOT / "docs/serving/Dockerfile"
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docs/serving/compose.yaml").read_text("utf-8"))


def test_a_linter_finds_nothing() -> None:
    linter = shutil.which("hadolint")
    if linter is None:
        missing("no hadolint; install it with: pip install -r requirements-dev.txt")
    lint = subprocess.run([linter, FILE], capture_output=True, text=True, check=False)
    assert (lint.returncode, lint.stdout) == (0, "")


def test_what_the_build_needs_is_let_in_and_nothing_else() -> None:
    lines = FILE.with_name("Dockerfile.dockerignore").read_text("utf-8").splitlines()
    allowed = {line[1:] for line in lines if line.startswith("!")}
    assert lines.index("*") < min(lines.index(f"!{name}") for name in allowed)
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    wheel = project.split("wheel.force-include]")[1].split("\n[")[0]
    needed = {path.split("/")[0] for path in re.findall(r'^"([^"]+)" =', wheel, re.MULTILINE)}
    needed = {name for name in needed if not name.startswith("requirements")}
    assert needed | {"dpcore", "pyproject.toml", "README.md", "LICENSE", "requirements*"} == allowed


def test_no_service_may_write_or_become_more() -> None:
    for name, service in COMPOSE["services"].items():
        assert service["read_only"] is True, name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
    assert re.search(r"^USER [1-9]\d*$", FILE.read_text("utf-8"), re.MULTILINE)


def test_only_the_proxy_is_reached_from_outside_and_knows_every_process() -> None:
    services = dict(COMPOSE["services"])
    proxy = services.pop("caddy")
    assert all("ports" not in service for service in services.values())
    assert proxy["environment"]["LAB_PROCESSES"].split() == [f"{name}:8501" for name in services]
    assert set(proxy["depends_on"]) == set(services)
    caddyfile = (ROOT / "docs/serving/Caddyfile").read_text("utf-8")
    for variable in ("LAB_ADDRESS", "LAB_PROCESSES"):
        assert f"{{${variable}:" in caddyfile


def docker() -> str:
    """The program, where a builder answers it."""
    program = shutil.which("docker")
    if program is None or subprocess.run([program, "info"], capture_output=True).returncode:
        pytest.skip("no builder of containers answers here")
    return program


@pytest.mark.full
def test_the_container_serves_without_writing(tmp_path: Path) -> None:
    program = docker()
    name = "word-privacy-lab-test"
    subprocess.run([program, "build", "-f", FILE, "-t", name, ROOT], check=True)
    options = ["--rm", "--detach", "--read-only", "--tmpfs", "/tmp", "--cap-drop", "ALL"]
    options += ["-p", "127.0.0.1::8501", "--name", name]
    subprocess.run([program, "run", *options, name], check=True, capture_output=True)
    try:
        port = subprocess.run(
            [program, "port", name, "8501"], check=True, capture_output=True, text=True
        )
        address, end = f"http://{port.stdout.split()[0]}", time.monotonic() + 120
        while time.monotonic() < end:
            try:
                with urllib.request.urlopen(f"{address}/_stcore/health", timeout=5) as answer:
                    assert answer.status == 200
                    return
            except (OSError, urllib.error.URLError):
                time.sleep(1)
        pytest.fail("the container did not answer")
    finally:
        subprocess.run([program, "rm", "-f", name], capture_output=True, check=False)
