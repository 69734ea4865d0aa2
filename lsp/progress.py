"""The editor's own progress display while the model is loaded, where it has one."""

import uuid

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from lsp.worker import Worker


class LoadingProgress:
    def __init__(self, server: LanguageServer, worker: Worker) -> None:
        self._server = server
        self._worker = worker
        self._token: str | None = None

    def update(self) -> None:
        is_loading = self._worker.state == "loading"
        if is_loading and self._token is None and self._is_understood():
            self._token = str(uuid.uuid4())
            self._server.window_work_done_progress_create(types.WorkDoneProgressCreateParams(self._token))
            self._send(types.WorkDoneProgressBegin("completer: loading the model"))
        elif not is_loading and self._token is not None:
            self._send(types.WorkDoneProgressEnd())
            self._token = None

    def _send(self, value: types.WorkDoneProgressBegin | types.WorkDoneProgressEnd) -> None:
        assert self._token is not None
        self._server.progress(types.ProgressParams(self._token, value))

    def _is_understood(self) -> bool:
        window = self._server.client_capabilities.window
        return window is not None and bool(window.work_done_progress)
