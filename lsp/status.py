"""What an editor is told about the state of things, whenever it changes: never a silent nothing."""

from typing import Any

from lsp.protocol import STATUS
from lsp.session import Session

_MESSAGES = {
    "unloaded": "the model is not in memory; the next request loads it",
    "loading": "loading the model",
    "ready": "ready",
}
_BY_HAND = "ready, by hand only while on battery, by service.on_battery"


class Status:
    def __init__(self, session: Session) -> None:
        self._session = session
        self._sent: dict[str, Any] = {}
        self._uri = self._focused = ""

    def focus(self, uri: str) -> None:
        """The editor says which document the user is in: documents that it opens beside have no say from now on."""
        self._focused = uri
        self.update()

    def update(self, uri: str = "") -> None:
        """Send what holds now, for the document the user is in or was last, unless it was the last thing sent."""
        self._uri = self._focused or uri or self._uri
        now = self._now(self._uri)
        if now != self._sent:
            self._sent = now
            self._session.notify(STATUS, now)

    def _now(self, uri: str) -> dict[str, Any]:
        service = self._session.service
        worker = service.worker
        current = self._session.suggestions.current
        document = self._session.documents.get(uri)
        status: dict[str, Any] = {"busy": False, "kind": "Normal", "message": "", "command": None}
        status |= {"source": None, "k": None, "acceptance": None, "tokens_per_s": None}
        error = service.config_error or worker.error
        refusal = self._session.refusal(document) if document is not None else None
        if service.arrival.percent is not None:
            return status | {"busy": True, "message": f"a model is being pulled: {service.arrival.percent} %"}
        if error is not None:
            return status | {"kind": "Error", "message": str(error), "command": getattr(error, "command", None)}
        if refusal is not None:
            return status | {"kind": "Inactive", "message": f"off for this file: {refusal}"}
        if service.restriction() == "off":
            return status | {"kind": "Inactive", "message": "off while on battery, by service.on_battery"}
        if worker.state != "ready":
            return status | {"busy": worker.state == "loading", "message": _MESSAGES[worker.state]}
        if service.learner.notice:
            return status | {"kind": "Warning", "message": service.learner.notice}
        ready = _MESSAGES["ready"] if service.restriction() == "same" else _BY_HAND
        if current is None or current.result is None:
            is_thinking = current is not None and not current.is_done
            return status | {"busy": is_thinking, "message": "thinking" if is_thinking else ready}
        return status | {"message": ready} | _numbers(current.result)


def _numbers(result: Any) -> dict[str, Any]:
    """k: tokens that the source drafted most of drafted a round."""
    drafted = {name: counts for name, counts in result.sources.items() if counts.drafted}
    source = max(drafted, key=lambda name: drafted[name].drafted, default=None)
    total = sum(counts.drafted for counts in drafted.values())
    return {
        "source": source,
        "k": round(drafted[source].drafted / drafted[source].rounds) if source is not None else 0,
        "acceptance": round(sum(counts.accepted for counts in drafted.values()) / total, 2) if total else None,
        "tokens_per_s": round(1000 / result.tpot_ms, 1) if result.tpot_ms else None,
    }
