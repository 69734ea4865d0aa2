"""One editor over standard input and output, with a server of its own in this process: for tests and debugging."""

import asyncio
import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from pygls.io_ import StdinAsyncReader, StdoutWriter

from completer.config import Config
from completer.config_source import ConfigSource
from lsp.learning import Learner
from lsp.server import CompleterServer, note_failure, silence_pygls
from lsp.service import Service
from lsp.worker import Engine


def serve_stdio(
    source: ConfigSource,
    load_engine: Callable[[Config], Engine],
    learner: Learner | None = None,
) -> None:
    """Until standard input ends or the editor says exit. What anybody prints goes to stderr, not into the protocol."""
    silence_pygls()
    stdout = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    asyncio.run(_serve(lambda: Service(source, load_engine, learner), StdoutWriter(stdout)))


async def _serve(make_service: Callable[[], Service], writer: StdoutWriter) -> None:
    asyncio.get_running_loop().set_exception_handler(note_failure)
    service = make_service()
    executor = ThreadPoolExecutor(1, "stdin")
    try:
        await CompleterServer(service).serve(StdinAsyncReader(sys.stdin.buffer, executor), writer)
    finally:
        service.close()
        executor.shutdown(wait=False)
