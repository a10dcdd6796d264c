"""Every line that the pages tell a reader to paste is run as it stands there."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = ("README.md", "docs/quickstart.md", "docs/testing.md")
NEEDS_A_TERMINAL = ("tracekit tui", "tracekit demo --tui")


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL)


def shell(line: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run *line* with the `python` and `tracekit` of the environment that runs the tests."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("TRACEKIT_")}
    env["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{env['PATH']}"
    # `exec`, so that a process killed by a signal is seen as one and not as a code of the shell.
    command = re.sub(r"^((?:[A-Z]+=\S+ )*)", r"\1exec ", line)
    return subprocess.run(
        ["bash", "-c", command], cwd=cwd, env=env, capture_output=True, text=True, timeout=120, check=False
    )


@pytest.mark.parametrize("page", PAGES)
def test_the_lines_of_the_page_work_in_their_order(page: str, tmp_path: Path) -> None:
    (tmp_path / "sample_traces").symlink_to(ROOT / "sample_traces")
    for block in blocks(page, "python"):
        name = re.match(r"# (\w+\.py)\n", block)
        assert name, f"the first line of a block names its file: {block[:40]}"
        (tmp_path / name.group(1)).write_text(block)
    lines = [
        line[2:] for block in blocks(page, "console") for line in block.splitlines() if line.startswith("$ ")
    ]
    assert lines

    for line in lines:
        if line.startswith(NEEDS_A_TERMINAL):
            continue
        command, _, wanted = line.partition("  # exit ")
        done = shell(command, tmp_path)
        assert done.returncode == int(wanted or 0), f"{line}\n{done.stdout}\n{done.stderr}"


@pytest.mark.parametrize(
    "page",
    [
        path.relative_to(ROOT)
        for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("examples/**/*.md")]
    ],
    ids=str,
)
def test_links_inside_the_project_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\((?!https?://|#|mailto:)([^)#\s]+)", (ROOT / page).read_text())

    assert [link for link in links if not (ROOT / page.parent / link).exists()] == []
