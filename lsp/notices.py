"""What an editor is told of a daemon that is not there, and of what one that is no more has begun.

Standard library alone.
"""

from collections.abc import Callable
from typing import Any

from lsp.protocol import READY, STATUS


class Notices:
    def __init__(self, write: Callable[[dict[str, Any]], None]) -> None:
        """write(message) sends a message to the editor."""
        self._write = write
        self._shown: set[str] = set()
        self._progress: set[int | str] = set()
        self.has_spoken = self.has_served = self.is_busy = False
        """Of the daemon: whether it has said anything, that it is ready, and at last that it is busy."""

    def passed(self, message: dict[str, Any]) -> None:
        """The daemon has told the editor something."""
        self.has_spoken = True
        method, params = message["method"], message.get("params") or {}
        if method == STATUS:
            self.is_busy = params["busy"]
            if params["message"] == READY:
                self.has_served = True
                self._shown.clear()
        elif method == "$/progress" and params["value"].get("kind") == "end":
            self._progress.discard(params["token"])
        elif method == "$/progress":
            self._progress.add(params["token"])

    def lost(self) -> None:
        """The daemon is no more: end the progress that it has begun to show."""
        self.has_spoken = self.has_served = self.is_busy = False
        for token in self._progress:
            params = {"token": token, "value": {"kind": "end"}}
            self._write({"jsonrpc": "2.0", "method": "$/progress", "params": params})
        self._progress.clear()

    def tell(self, kind: str, message: str) -> None:
        """As the status. An error is shown too, unless it was before and nothing has worked since."""
        status = {"busy": kind == "Warning", "kind": kind, "message": message, "command": None}
        status |= {"source": None, "k": None, "acceptance": None, "tokens_per_s": None}
        self._write({"jsonrpc": "2.0", "method": STATUS, "params": status})
        if kind == "Error" and message not in self._shown:
            self._shown.add(message)
            shown = {"type": 1, "message": f"completer: {message}"}
            self._write({"jsonrpc": "2.0", "method": "window/showMessage", "params": shown})
