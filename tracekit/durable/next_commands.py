"""The commands by which a person goes on with a task that waits, as they can be typed where its program ran."""

from __future__ import annotations

import os
import shlex

from tracekit.config import default_store_url, from_environment, settings
from tracekit.store.contract import Store


def store_option(store: Store) -> str:
    """` --home DIR` or ` --store URL`, by which a fresh command finds *store*; empty where it does so by itself."""
    if _is_at(store, from_environment(os.environ).store_url):
        return ""
    home = settings().home
    if _is_at(store, default_store_url(home)):
        return f" --home {shlex.quote(str(home))}"
    return f" --store {shlex.quote(store.url)}"


def _is_at(store: Store, url: str) -> bool:
    kind, _, path = url.partition(":")
    if kind == "sqlite":
        return os.path.normpath(store.url.removeprefix("sqlite:")) == os.path.abspath(path)
    if kind in ("postgresql", "postgres") and store.url.startswith(kind):
        from tracekit.store.postgres_pool import without_password  # its driver is there: the store is open

        return store.url == without_password(url)
    return store.url == url


def resume_command(store: Store, task_id: str) -> str:
    """The command that goes on with a task."""
    return f"tracekit resume {shlex.quote(task_id)}{store_option(store)}"


def what_goes_on(store: Store, task_id: str, *, is_scope: bool, worker: bool) -> str:
    """What goes on with a task, *worker*: a worker does so too; nobody but its own program enters a scope again."""
    if is_scope:
        return "running the same program again"
    return f"`{resume_command(store, task_id)}`{' or a worker' if worker else ''}"


def after_question(store: Store, task_id: str, review_id: str, *, is_scope: bool) -> str:
    """How the question is seen and what comes after its answer, in a sentence."""
    if store.url.startswith("memory:"):
        return "The store ends with this process: `tracekit.decide` answers from inside it."
    on = (
        "run the same program again"
        if is_scope
        else f"`{resume_command(store, task_id)}` or a worker goes on"
    )
    show = f"tracekit review show {review_id}{store_option(store)}"
    return f"Next: `{show}` has the question and its answers; once it is answered, {on}."
