"""What is in the wheel, and what a plain install of it can and cannot do."""

import os
import re
import subprocess
import sys
import tarfile
import venv
import zipfile
from email import message_from_bytes
from email.message import Message
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from tracekit import cli

ROOT = Path(__file__).parent.parent
PACKAGES = {
    "tracekit": ROOT / "tracekit",
    "tracekit_analyzers": ROOT / "analyzers" / "tracekit_analyzers",
    "tracekit_tui": ROOT / "tui" / "tracekit_tui",
}


def build(kind: str, source: Path, folder: Path) -> Path:
    """The wheel or sdist that *source* gives, in *folder*."""
    subprocess.run(
        [sys.executable, "-m", "build", f"--{kind}", "--no-isolation", "--outdir", str(folder), str(source)],
        check=True,
        capture_output=True,
    )
    return next(folder.glob("*.whl" if kind == "wheel" else "*.tar.gz"))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("wheel", ROOT, tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What someone finds who unpacks the sdist."""
    folder = tmp_path_factory.mktemp("source")
    with tarfile.open(build("sdist", ROOT, folder)) as archive:
        archive.extractall(folder, filter="data")
    return next(path for path in folder.iterdir() if path.is_dir())


@pytest.fixture(scope="module")
def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


@pytest.fixture(scope="module")
def metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        path = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return message_from_bytes(archive.read(path))


def test_the_wheel_holds_the_three_packages_and_nothing_else(names: set[str]) -> None:
    tops = {name.partition("/")[0] for name in names}

    assert {top for top in tops if not top.endswith(".dist-info")} == set(PACKAGES)


@pytest.mark.parametrize("package", PACKAGES)
def test_every_source_and_data_file_of_a_package_is_in_the_wheel(package: str, names: set[str]) -> None:
    folder = PACKAGES[package]
    here = {
        f"{package}/{path.relative_to(folder).as_posix()}"
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }

    assert here <= names
    assert f"{package}/py.typed" in names


def git(*command: str, names: str = "") -> list[str]:
    """Lines that git prints about this checkout; skips the test where there is none."""
    done = subprocess.run(
        ["git", "-C", ROOT, *command], input=names, capture_output=True, text=True, check=False
    )
    if done.returncode > 1:
        pytest.skip("no git checkout to compare with")
    return done.stdout.splitlines()


def test_the_sdist_holds_every_file_that_is_kept_and_none_that_is_ignored(source: Path) -> None:
    kept = {name for name in git("ls-files") if (ROOT / name).exists() and not name.startswith(".ci/")}
    found = {path.relative_to(source).as_posix() for path in source.rglob("*") if path.is_file()}

    assert kept - found == set()
    assert git("check-ignore", "--no-index", "--stdin", names="\n".join(found)) == []


def test_a_wheel_made_from_the_sdist_is_the_same(source: Path, wheel: Path, tmp_path: Path) -> None:
    def contents(path: Path) -> dict[str, int]:
        with zipfile.ZipFile(path) as archive:
            return {entry.filename: entry.CRC for entry in archive.infolist()}

    assert contents(build("wheel", source, tmp_path)) == contents(wheel)


def test_the_wheel_holds_the_sql(names: set[str]) -> None:
    assert any(name.endswith(".sql") for name in names)


def test_plain_dependencies_stay_light(metadata: Message) -> None:
    plain = [text for text in metadata.get_all("Requires-Dist", []) if "extra ==" not in text]

    assert {text.split(">")[0].strip() for text in plain} == {
        "opentelemetry-api",
        "opentelemetry-sdk",
        "pydantic",
        "orjson",
        "apsw",
    }


def test_the_metadata_tells_version_license_and_extras(metadata: Message) -> None:
    import tracekit

    assert metadata["Version"] == tracekit.__version__
    assert metadata["License-Expression"] == "Apache-2.0"
    assert {"analyzers", "tui", "postgres", "collect", "crypto", "spark", "all"} <= set(
        metadata.get_all("Provides-Extra", [])
    )


def test_every_message_about_an_extra_has_the_line_to_type() -> None:
    without = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for folder in PACKAGES.values()
        for path in folder.rglob("*.py")
        for line in path.read_text(encoding="utf-8").splitlines()
        if re.search(r"(?<!pip install ')tracekit-agents\[", line)
    ]

    assert without == []


def test_a_missing_file_of_ours_is_no_missing_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = EntryPoint("analyze", "tracekit_analyzers.not_there:COMMAND", "tracekit.commands")
    monkeypatch.setattr(cli, "_entry_point", lambda name: entry)

    with pytest.raises(ModuleNotFoundError, match="not_there"):
        cli.load("analyze")


def environment(folder: Path, what: str) -> Path:
    """Folder of the programs of a new environment into which *what* was installed."""
    venv.create(folder, with_pip=True)
    installed = subprocess.run(
        [folder / "bin" / "python", "-m", "pip", "install", "--quiet", what],
        capture_output=True,
        text=True,
        check=False,
    )
    if installed.returncode:
        pytest.skip(f"no package index to install from: {installed.stderr.strip().splitlines()[-1:]}")
    return folder / "bin"


@pytest.fixture(scope="module")
def plain(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return environment(tmp_path_factory.mktemp("plain"), str(wheel))


def run(*command: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    env = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    return subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, check=False, cwd=cwd, env=env
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "extra"), [("analyze", "analyzers"), ("tui", "tui"), ("demo", "analyzers")]
)
def test_a_command_without_its_extra_says_which_one_to_install(
    plain: Path, tmp_path: Path, command: str, extra: str
) -> None:
    told = run(plain / "tracekit", command, tmp_path, cwd=tmp_path)

    assert told.returncode == 2
    assert f"tracekit-agents[{extra}]" in told.stderr
    assert "Traceback" not in told.stderr


@pytest.mark.slow
def test_a_plain_install_records_and_makes_durable(plain: Path, tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(
        "import tracekit\n"
        "@tracekit.tool(effect='write')\n"
        "def put(name: str) -> str: return name.upper()\n"
        "@tracekit.task()\n"
        "def job(run: tracekit.Run, name: str) -> str: return run.tool(put, name)\n"
        "if __name__ == '__main__':\n"
        "    tracekit.init(service='plain')\n"
        "    print(job.start('ada', task_id='t-1'))\n"
    )

    done = run(plain / "python", "app.py", cwd=tmp_path)
    again = run(plain / "python", "app.py", cwd=tmp_path)

    assert (done.returncode, done.stdout) == (0, "ADA\n"), done.stderr
    assert again.stdout == "ADA\n", again.stderr
    assert len(list((tmp_path / ".tracekit" / "traces").glob("*.jsonl"))) >= 1
    assert "t-1" in run(plain / "tracekit", "ls", cwd=tmp_path).stdout


@pytest.mark.slow
def test_the_demo_runs_from_an_installed_wheel(wheel: Path, tmp_path: Path) -> None:
    programs = environment(tmp_path / "environment", f"{wheel}[analyzers]")
    (tmp_path / "here").mkdir()

    played = run(programs / "tracekit", "demo", cwd=tmp_path / "here")

    assert played.returncode == 0, played.stdout + played.stderr
    assert "One payment" in played.stdout
    assert "process.killed" in played.stdout
