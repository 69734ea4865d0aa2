"""A picture of what Neovim showed in a terminal, for the README: its text and colours, set by Chromium."""

import io
import subprocess
from pathlib import Path

from rich.console import Console
from rich.text import Text

_PAGE = (
    "<meta charset='utf-8'><body style='margin: 16px; color: #e0e2ea; background: #14161b'>"
    "<pre style='margin: 0; font: 16px/1.3 \"DejaVu Sans Mono\", monospace'>{code}</pre>"
)


def take_picture(screen: str, file: Path, scratch: Path) -> None:
    """screen: with escape sequences, as `tmux capture-pane -e` has them."""
    text = Text.from_ansi(screen)
    lines = screen.split("\n")
    console = Console(record=True, width=max(len(line) for line in text.plain.split("\n")) + 1, file=io.StringIO())
    console.print(text, soft_wrap=True)
    page = scratch / "picture.html"
    page.write_text(console.export_html(code_format=_PAGE, inline_styles=True), "utf-8")
    file.parent.mkdir(exist_ok=True)
    size = f"--window-size=840,{32 + 21 * (len(lines) - 1)}"
    command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", size]
    subprocess.run([*command, f"--screenshot={file}", page.as_uri()], check=True, capture_output=True, timeout=60)
