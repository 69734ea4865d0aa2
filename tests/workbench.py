"""A real VS Code workbench, for tests: code-server with the packaged extension, in Chromium, driven step by step.

Both are installed by vscode-extension/e2e/install.sh into the user's cache.
"""

import json
import os
import re
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psutil

from completer import paths
from lsp.control import ask
from lsp.protocol import DAEMON_STATUS, PROTOCOL_MAJOR, STOP_DAEMON
from tests.conftest import ROOT
from tests.scripted_engine import Script

EXTENSION = ROOT / "vscode-extension"
INSTALLED = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "completer-e2e"
EDITOR = INSTALLED / "code-server/node_modules/code-server/out/node/entry.js"
NODE = INSTALLED / "bin/node"
ANSWER_S = 100.0
SETTINGS = {
    "chat.disableAIFeatures": True,
    "editor.minimap.enabled": False,
    "editor.quickSuggestions": {"other": "off", "comments": "off", "strings": "off"},
    "editor.suggestOnTriggerCharacters": False,
    "editor.wordBasedSuggestions": "off",
    "extensions.autoCheckUpdates": False,
    "extensions.autoUpdate": False,
    "extensions.ignoreRecommendations": True,
    "files.autoSave": "off",
    "git.enabled": False,
    "security.workspace.trust.startupPrompt": "never",
    "security.workspace.trust.banner": "never",
    "telemetry.telemetryLevel": "off",
    "workbench.enableExperiments": False,
    "workbench.secondarySideBar.defaultVisibility": "hidden",
    "workbench.settings.enableNaturalLanguageSearch": False,
    "workbench.startupEditor": "none",
    "workbench.tips.enabled": False,
}
OF_THE_MACHINE = ("completer.serverPath", "completer.configFile", "completer.trace.server")
NO_GALLERY = dict.fromkeys(("serviceUrl", "itemUrl", "resourceUrlTemplate", "controlUrl", "nlsBaseUrl"), "")


def what_is_missing() -> str:
    """Empty where the tests can run."""
    if not EDITOR.exists() or not any(INSTALLED.glob("installed-*")):
        return "needs the editor; run: vscode-extension/e2e/install.sh"
    if shutil.which("chromium") is None:
        return "needs Chromium; run: apt-get install chromium"
    return "" if shutil.which("npm") else "needs npm"


class Workbench:
    """One editor with one folder open. Steps come back when they have had their effect, or fail."""

    def __init__(
        self,
        folder: Path,
        vsix: Path,
        settings: dict[str, Any] | None = None,
        real: Mapping[str, str] | None = None,
    ) -> None:
        """real: environment variables of the real program, which is then used as it is; else its engine is a script."""
        self.folder = folder
        self.home, self.files, self.engine = folder / "home", folder / "files", folder / "engine"
        for made in (self.home, self.files, self.engine, folder / "user/User", folder / "user/Machine"):
            made.mkdir(parents=True)
        self.script = Script(self.engine)
        self.variables = {name: str(folder / name.lower()) for name in paths.FOLDER_VARIABLES} | dict(real or {})
        self.runtime = Path(self.variables["COMPLETER_RUNTIME_DIR"])
        self.log = Path(self.variables["COMPLETER_STATE_DIR"]) / paths.log_file().name
        self.database = Path(self.variables["COMPLETER_DATA_DIR"]) / paths.statistics_file().relative_to(
            paths.data_dir()
        )
        self.program = self._program("completer" if real else f'tests.vscode_program "{self.engine}"')
        given = {"completer.serverPath": str(self.program)} if settings is None else settings
        all_settings = SETTINGS | given
        for name, is_machine in (("Machine", True), ("User", False)):
            own = {key: value for key, value in all_settings.items() if (key in OF_THE_MACHINE) == is_machine}
            (folder / f"user/{name}/settings.json").write_text(json.dumps(own), "utf-8")
        self._run_editor("--install-extension", str(vsix))
        self._editor: subprocess.Popen[bytes] | None = None
        self._driver: subprocess.Popen[str] | None = None

    def _program(self, module: str) -> Path:
        program = self.folder / "bin/completer"
        program.parent.mkdir()
        variables = " ".join(
            f"{name}='{value}'" for name, value in (self.variables | {"PYTHONPATH": str(ROOT)}).items()
        )
        program.write_text(f'#!/bin/sh\nexec env {variables} "{sys.executable}" -m {module} "$@"\n')
        program.chmod(0o755)
        return program

    def set(self, **settings: Any) -> None:
        """The settings of the folder, from now on; names are given with __ for dots."""
        named = {name.replace("__", "."): value for name, value in settings.items()}
        self.write(".vscode/settings.json", json.dumps(named))

    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("COMPLETER_", "VSCODE_"))}
        own = {"HOME": str(self.home), "XDG_CONFIG_HOME": str(self.home), "XDG_DATA_HOME": str(self.home)}
        own["EXTENSIONS_GALLERY"] = json.dumps(NO_GALLERY)
        return kept | own

    def _command(self, *arguments: str) -> list[str]:
        folders = ["--user-data-dir", str(self.folder / "user"), "--extensions-dir", str(self.folder / "extensions")]
        return [str(NODE), str(EDITOR), *folders, *arguments]

    def _run_editor(self, *arguments: str) -> None:
        done = subprocess.run(self._command(*arguments), env=self.environment(), capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr

    def start(self, **environment: str) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        address = [
            "--bind-addr",
            f"127.0.0.1:{port}",
            "--auth",
            "none",
            "--disable-telemetry",
            "--disable-update-check",
        ]
        with (self.folder / "editor.log").open("wb") as log:
            self._editor = subprocess.Popen(
                self._command(*address),
                env=self.environment() | environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        with (self.folder / "driver.log").open("wb") as log:
            self._driver = subprocess.Popen(
                [str(NODE), str(EXTENSION / "e2e/driver.mjs"), str(INSTALLED / "driver")],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        self._wait_for(f"http://127.0.0.1:{port}/healthz")
        self.go = f"http://127.0.0.1:{port}/?folder={self.files}"
        self.do("go", url=self.go)
        self.has_status(".")

    def stop(self) -> None:
        if self._driver is not None:
            self._driver.communicate(timeout=ANSWER_S)  # at the end of its input it closes the browser
        if self._editor is not None:
            os.killpg(self._editor.pid, signal.SIGTERM)
            try:
                self._editor.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(self._editor.pid, signal.SIGKILL)
        if self.daemon() is not None:
            ask(self.socket, STOP_DAEMON)

    @property
    def socket(self) -> Path:
        return self.runtime / f"{os.getuid()}-{PROTOCOL_MAJOR}.sock"

    def daemon(self) -> Any:
        return ask(self.socket, DAEMON_STATUS)

    def kill_daemon(self) -> None:
        psutil.Process(self.daemon()["pid"]).kill()

    def kill_program(self) -> None:
        """`completer lsp`, not the daemon."""
        ours = [
            process
            for process in psutil.process_iter(["cmdline"])
            if str(self.engine) in (process.info["cmdline"] or [])
        ]
        for process in ours:
            if "tests.vscode_program" in process.info["cmdline"]:
                process.kill()

    def _wait_for(self, url: str) -> None:
        give_up_s = time.monotonic() + ANSWER_S
        while True:
            try:
                urllib.request.urlopen(url, timeout=5).close()
                return
            except OSError:
                assert time.monotonic() < give_up_s, (self.folder / "editor.log").read_text()
                time.sleep(0.1)

    def do(self, command: str, **given: Any) -> Any:
        """One step of the driver: its answer. See vscode-extension/e2e/driver.mjs."""
        driver = self._driver
        assert driver is not None and driver.stdin is not None and driver.stdout is not None
        driver.stdin.write(json.dumps({"command": command, **given}) + "\n")
        driver.stdin.flush()
        with selectors.DefaultSelector() as selector:
            selector.register(driver.stdout, selectors.EVENT_READ)
            assert selector.select(ANSWER_S), f"no answer to {command}"
        line = driver.stdout.readline()
        assert line, (self.folder / "driver.log").read_text()
        answer = json.loads(line)
        assert "error" not in answer, f"{command} {given}: {answer['error']}"
        return answer["result"]

    def write(self, name: str, text: str) -> Path:
        """A file of the folder that is open, byte for byte."""
        file = self.files / name
        file.parent.mkdir(exist_ok=True, parents=True)
        file.write_bytes(text.encode())
        return file

    def open(self, name: str, text: str) -> Path:
        """Write a file, and open it with the cursor at its end."""
        file = self.write(name, text)
        self.do("open", file=name)
        return file

    def type(self, text: str) -> None:
        self.do("type", text=text)

    def press(self, *keys: str) -> None:
        for key in keys:
            self.do("press", key=key)

    def shows(self, text: str) -> None:
        """Wait for this ghost text, and no other."""
        seen = self.do("wait_ghost", text=text)
        assert seen == text, f"{seen!r} is shown, not {text!r}"

    def watched(self) -> list[str]:
        """What was grey, frame by frame, since `watch`."""
        return [text for text, _ in self.do("watched")]

    def has_status(self, pattern: str) -> str:
        seen = str(self.do("wait_status", pattern=pattern))
        assert re.search(pattern, seen), seen
        return seen

    def saved(self, file: Path, expected: str) -> None:
        """Save, and wait until the file on the disk is this."""
        self.press("Control+s")
        until_s = time.monotonic() + 60
        while (found := file.read_bytes().decode()) != expected and time.monotonic() < until_s:
            time.sleep(0.02)
        assert found == expected

    def messages(self, method: str) -> list[Any]:
        """What the editor has said to the program by this method, in order."""
        file = self.engine / "messages"
        lines = file.read_text("utf-8").split("\n")[:-1] if file.exists() else []
        return [each.get("params") for each in map(json.loads, lines) if each["method"] == method]

    def last_request_s(self) -> float:
        """When the editor last asked for a completion, by the clock."""
        lines = (self.engine / "messages").read_text("utf-8").split("\n")[:-1]
        asked = [each["at_s"] for each in map(json.loads, lines) if each["method"] == "textDocument/inlineCompletion"]
        return float(asked[-1])

    def requests(self) -> int:
        return len(self.messages("textDocument/inlineCompletion"))
