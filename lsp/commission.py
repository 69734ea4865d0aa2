"""A completion for a command rather than an editor: what the engine writes, unfiltered, chunk by chunk."""

import asyncio
import json
import logging
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

from completer.errors import CompleterError
from completer.planner import FixedPlanner
from completer.request import CompletionChunk, CompletionRequest, ContextChunk, Sampling
from lsp.protocol import COMPLETE_CHUNK
from lsp.service import Service
from lsp.worker import Job

log = logging.getLogger(__name__)


async def complete(service: Service, params: Any, notify: Callable[[str, Any], None]) -> dict[str, str] | None:
    """None once all has been sent, else {message} saying what failed. CancelledError frees the engine."""
    service.refresh()
    request = _request(json.loads(params.request))
    planner = service.planner(request) if params.planner is None else _fixed(json.loads(params.planner))
    failure: asyncio.Future[Exception | None] = asyncio.get_running_loop().create_future()

    def finish(error: Exception | None) -> None:
        if not failure.done():
            failure.set_result(error)

    job: Job[CompletionChunk] = Job(
        lambda engine, cancelled: engine.complete(request, planner, cancelled),
        deliver=lambda chunk: notify(COMPLETE_CHUNK, asdict(chunk)),
        finish=finish,
    )
    service.worker.submit(job)
    try:
        error = await failure
    finally:
        job.cancel()
    if error is None:
        return None
    return {"message": str(error) if isinstance(error, CompleterError) else "see completer logs"}


def _fixed(values: dict[str, Any]) -> FixedPlanner:
    return FixedPlanner(**values | {"sources": tuple(values["sources"])})


def _request(values: dict[str, Any]) -> CompletionRequest:
    """Raises TypeError for values that are none of a request."""
    chunks = tuple(ContextChunk(**chunk) for chunk in values.pop("context_chunks"))
    sampling = values.pop("sampling")
    request = CompletionRequest(**values)
    return replace(request, context_chunks=chunks, sampling=None if sampling is None else Sampling(**sampling))
