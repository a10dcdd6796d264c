"""An `--app` that can't be loaded is told with its error and its line, not with a trace of ours."""

from pathlib import Path

import pytest

from tracekit.durable.finding import load_app
from tracekit.errors import TracekitError


def test_what_a_script_raises_is_told_with_its_line(tmp_path: Path) -> None:
    script = tmp_path / "needs_settings.py"
    script.write_text("import os\n\nURL = os.environ['NO_SUCH_SETTING']\n")

    with pytest.raises(TracekitError) as told:
        load_app(str(script))

    assert told.value.code == "task.app_failed"
    assert "KeyError: 'NO_SUCH_SETTING'" in str(told.value)
    assert isinstance(told.value.__cause__, KeyError)
    with pytest.raises(TracekitError, match="NO_SUCH_SETTING"):
        load_app(str(script))


def test_a_library_that_a_script_lacks_is_named(tmp_path: Path) -> None:
    script = tmp_path / "needs_library.py"
    script.write_text("import no_such_library\n")

    with pytest.raises(TracekitError, match=r"No module named 'no_such_library' at .*needs_library\.py:1"):
        load_app(str(script))


def test_a_script_that_ends_itself_while_it_is_loaded_does_not_end_the_command(tmp_path: Path) -> None:
    script = tmp_path / "without_a_guard.py"
    script.write_text("import sys\n\nsys.exit(0)\n")

    with pytest.raises(TracekitError, match=r"SystemExit: 0 at .*without_a_guard\.py:3; .*__name__"):
        load_app(str(script))


def test_a_module_that_is_not_there_is_told_apart_from_one_that_lacks_a_library_of_a_like_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lamps_agent.py").write_text("import lamps\n")
    monkeypatch.syspath_prepend(str(tmp_path))

    with pytest.raises(TracekitError, match="No module named 'lamps' at"):
        load_app("lamps_agent")
