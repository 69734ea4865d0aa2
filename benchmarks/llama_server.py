"""llama-server as a peer: built from the source inside the llama-cpp-python sdist, started, asked for token ids.

Built by clang 16 with AMX, its fastest build on a CPU that has it; llama.cpp's own choice of instructions elsewhere.
"""

import hashlib
import http.client
import json
import os
import shutil
import socket
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from completer import paths
from completer.machine import vector_instructions

VERSION = "0.3.36"
SHA256 = "832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e"
START_S = 120
CONTEXT = 4096
_NEEDED = ("clang-16", "clang++-16", "cmake", "ninja")
_AMX = ("-DGGML_AMX_TILE=ON", "-DGGML_AMX_INT8=ON", "-DGGML_AMX_BF16=ON")


def build() -> Path:
    """The llama-server of VERSION in the user's cache folder, compiled once. Ends the program where it cannot be."""
    folder = paths.cache_dir() / "benchmark-peers" / f"llama-cpp-python-{VERSION}"
    if not folder.exists():
        if missing := [name for name in _NEEDED if not shutil.which(name)]:
            sys.exit(f"llama-server cannot be built: install {', '.join(missing)}")
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
            source, built = _source(Path(scratch)), Path(scratch, "built")
            options = [*(_AMX if "AMX bf16" in vector_instructions() else ()), "-DBUILD_SHARED_LIBS=OFF"]
            options += ["-DLLAMA_CURL=OFF", "-DLLAMA_OPENSSL=OFF", "-DCMAKE_BUILD_TYPE=Release", "-DGGML_NATIVE=ON"]
            options += ["-DCMAKE_C_COMPILER=clang-16", "-DCMAKE_CXX_COMPILER=clang++-16"]
            _run("cmake", "-S", source, "-B", built, "-G", "Ninja", *options)
            _run("cmake", "--build", built, "--target", "llama-server")
            os.replace(built / "bin", folder)
    return folder / "llama-server"


def _source(scratch: Path) -> Path:
    name = "llama-cpp-python"
    _run(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", name,
         "--dest", scratch, f"{name}=={VERSION}")  # fmt: skip
    (archive,) = scratch.glob("*.tar.gz")
    if (found := hashlib.sha256(archive.read_bytes()).hexdigest()) != SHA256:
        sys.exit(f"{archive.name} has SHA-256 {found}, not {SHA256}")
    with tarfile.open(archive) as members:
        members.extractall(scratch, filter="data")
    return scratch / archive.name.removesuffix(".tar.gz") / "vendor" / "llama.cpp"


def _run(*command: str | Path) -> None:
    if subprocess.run(command, stdout=sys.stderr).returncode:
        sys.exit(f"`{' '.join(map(str, command))}` failed")


@dataclass(frozen=True, slots=True)
class Answer:
    """Milliseconds from the request to the first token, to the end of the first line, and to the last token."""

    text: str
    ttft_ms: float
    first_line_ms: float
    total_ms: float


class LlamaServer:
    """One process with one slot. Settings are llama-server's own."""

    def __init__(self, program: Path, gguf: Path, threads: int, settings: Sequence[str] = ()) -> None:
        """Returns when it answers."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        command: list[str | Path] = [program, "-m", gguf, "--port", str(self._port), "-t", str(threads)]
        command += ["-c", str(CONTEXT), "-np", "1", "--no-webui", *settings]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end_s = time.monotonic() + START_S
        while not self._is_up():
            if self._process.poll() is not None or time.monotonic() > end_s:
                self.stop()
                raise RuntimeError(f"llama-server did not start: {' '.join(map(str, command))}")
            time.sleep(0.1)

    @property
    def pid(self) -> int:
        return self._process.pid

    def complete(self, token_ids: Sequence[int], tokens: int, keeps_prompt: bool) -> Answer:
        """Exactly so many tokens, the most probable each. keeps_prompt: go on from what the slot has read before."""
        request = {
            "prompt": list(token_ids),
            "n_predict": tokens,
            "temperature": 0.0,
            "samplers": ["temperature"],
            "ignore_eos": True,
            "cache_prompt": keeps_prompt,
            "stream": True,
        }
        text, ttft_ms, first_line_ms = "", 0.0, 0.0
        started_s = time.perf_counter()
        connection = http.client.HTTPConnection("127.0.0.1", self._port)
        connection.request("POST", "/completion", json.dumps(request), {"Content-Type": "application/json"})
        response = connection.getresponse()
        if response.status != http.HTTPStatus.OK:
            raise RuntimeError(f"llama-server answered {response.status}: {response.read().decode()}")
        for line in response:
            if line.startswith(b"data: "):
                chunk: dict[str, Any] = json.loads(line[len(b"data: ") :])
                now_ms = (time.perf_counter() - started_s) * 1000.0
                text += chunk["content"]
                ttft_ms = ttft_ms or now_ms
                first_line_ms = first_line_ms or (now_ms if "\n" in text else 0.0)
        total_ms = (time.perf_counter() - started_s) * 1000.0
        connection.close()
        return Answer(text, ttft_ms, first_line_ms or total_ms, total_ms)

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait()

    def _is_up(self) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", self._port)
        try:
            connection.request("GET", "/health")
            return connection.getresponse().status == http.HTTPStatus.OK
        except OSError:
            return False
        finally:
            connection.close()
