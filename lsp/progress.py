"""The editor's own progress display, where it has one: while a model is loaded, and while one is being pulled."""

import uuid
from concurrent.futures import Future
from typing import Any

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from lsp.service import Service


class Progress:
    """Begins once the editor has said that it will show it."""

    def __init__(self, server: LanguageServer, service: Service) -> None:
        self._server = server
        self._service = service
        self._token: str | None = None
        self._has_begun = False
        self._title = ""
        self._percent: int | None = None

    def update(self) -> None:
        """Show what is going on now."""
        shown = self._title, self._percent
        self._title, self._percent = self._now()
        if self._title != shown[0]:
            self._end()
            if self._title and self._is_understood():
                self._create()
        elif self._percent != shown[1] and self._has_begun:
            self._send(types.WorkDoneProgressReport(percentage=self._percent))

    def _now(self) -> tuple[str, int | None]:
        """(what is going on, "" for nothing, and how much of it is done, where that is known)"""
        if self._service.arrival.percent is not None:
            return "completer: a model is being pulled", self._service.arrival.percent
        return ("completer: loading the model" if self._service.worker.state == "loading" else ""), None

    def _create(self) -> None:
        self._token = token = str(uuid.uuid4())
        asked = self._server.window_work_done_progress_create(types.WorkDoneProgressCreateParams(token))
        asked.add_done_callback(lambda answer: self._created(token, answer))

    def _created(self, token: str, answer: "Future[Any]") -> None:
        if token == self._token and not answer.cancelled() and answer.exception() is None:
            self._has_begun = True
            self._send(types.WorkDoneProgressBegin(self._title, percentage=self._percent))

    def _end(self) -> None:
        if self._has_begun:
            self._send(types.WorkDoneProgressEnd())
        self._token, self._has_begun = None, False

    def _send(
        self, value: types.WorkDoneProgressBegin | types.WorkDoneProgressReport | types.WorkDoneProgressEnd
    ) -> None:
        assert self._token is not None
        self._server.progress(types.ProgressParams(self._token, value))

    def _is_understood(self) -> bool:
        window = self._server.client_capabilities.window
        return window is not None and bool(window.work_done_progress)
