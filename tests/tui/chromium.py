"""Chromium without a window, driven over its DevTools protocol: open an address, press keys, see what it draws."""

from __future__ import annotations

import asyncio
import base64
import json
import shutil
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--remote-debugging-port=0",
)
TERMINAL = """
Object.defineProperty(Object.prototype, "_core", {configurable: true, set(value) {
  Object.defineProperty(this, "_core", {value, writable: true, configurable: true, enumerable: true});
  if ("loadAddon" in this) window.seenTerminal = this;
}});
"""
"""Keeps the page's terminal where a script can find it: it draws on a canvas, so no element holds its text."""
TEXT = """
(() => { const t = window.seenTerminal; if (!t) return "";
  const b = t.buffer.active;
  return [...Array(t.rows).keys()].map(y => b.getLine(y)?.translateToString() ?? "").join("\\n"); })()
"""
PATIENCE_S = 60.0
KEYS = {"Enter": ("Enter", 13, "\r"), "Escape": ("Escape", 27, "")}


def chromium() -> str | None:
    """The command of an installed Chromium or Chrome."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    return next((found for name in names if (found := shutil.which(name))), None)


class Tab:
    """One tab, spoken to by DevTools commands."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._number = 0

    async def send(self, method: str, **given: Any) -> dict[str, Any]:
        """The answer to one command; events that come in between are left aside."""
        self._number += 1
        await self._socket.send_json({"id": self._number, "method": method, "params": given})
        while True:
            message = json.loads(await self._socket.receive_str())
            if message.get("id") == self._number:
                assert "error" not in message, message
                found: dict[str, Any] = message["result"]
                return found

    async def ask(self, script: str) -> Any:
        """The value of a piece of JavaScript in the page."""
        answer = await self.send("Runtime.evaluate", expression=script, returnByValue=True)
        return answer["result"].get("value")

    async def shows(self, words: str) -> str:
        """The text of the terminal in the page, once *words* stand on it."""
        text = ""
        try:
            async with asyncio.timeout(PATIENCE_S):
                while words not in text:
                    await asyncio.sleep(0.05)
                    text = await self.ask(TEXT)
        except TimeoutError:
            raise AssertionError(f"{words!r} never came; the page shows\n{text}") from None
        return text

    async def press(self, key: str) -> None:
        """Press and release *key*, as a keyboard does."""
        name, code, text = KEYS[key] if key in KEYS else (key, ord(key.upper()), key)
        given = {"key": name, "windowsVirtualKeyCode": code}
        await self.send("Input.dispatchKeyEvent", type="keyDown", text=text, **given)
        await self.send("Input.dispatchKeyEvent", type="keyUp", **given)

    async def picture(self, path: Path) -> bytes:
        """A PNG of the tab, also written to *path*."""
        data = base64.b64decode((await self.send("Page.captureScreenshot"))["data"])
        path.write_bytes(data)
        return data


@asynccontextmanager
async def opened(command: str, address: str, folder: Path) -> AsyncIterator[Tab]:
    """A tab that shows *address*, in a browser of its own with a new profile in *folder*."""
    profile = folder / "profile"
    browser = subprocess.Popen(
        [command, *FLAGS, "--window-size=1000,700", f"--user-data-dir={profile}", "about:blank"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        port = await _port(profile / "DevToolsActivePort", browser)
        async with aiohttp.ClientSession() as session:
            async with session.get(f"http://127.0.0.1:{port}/json/list") as answer:
                page = next(one for one in await answer.json() if one["type"] == "page")
            async with session.ws_connect(page["webSocketDebuggerUrl"], max_msg_size=0) as socket:
                tab = Tab(socket)
                await tab.send("Page.enable")
                await tab.send("Page.addScriptToEvaluateOnNewDocument", source=TERMINAL)
                await tab.send("Page.navigate", url=address)
                yield tab
    finally:
        browser.terminate()
        browser.wait(20)


async def _port(file: Path, browser: subprocess.Popen[bytes]) -> int:
    async with asyncio.timeout(PATIENCE_S):
        while not file.is_file() or not file.read_text().strip():
            assert browser.poll() is None, f"the browser ended with code {browser.returncode}"
            await asyncio.sleep(0.05)
    return int(file.read_text().split()[0])
