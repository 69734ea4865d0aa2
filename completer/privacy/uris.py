"""Document URIs to file names. Knows schemes and percent signs; knows no documents and touches no file.

Every editor has schemes of its own (`untitled:`, `vscode-remote:`, `vscode-notebook-cell:`, `git:`); what they have in
common is that the path of a file is the path of the URI.
"""

import os
import re
from urllib.parse import unquote, urlsplit

_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")  # two letters at least: C: is a drive


def file_name(document: str) -> str:
    """The file that a URI is about; a plain path is its own answer.

    The answer is relative where there is no folder, as for `untitled:Untitled-1`. What only looks like a URI is a name.
    """
    try:
        parts = urlsplit(document) if _URI.match(document) else None
    except ValueError:  # as of file://[x/a.py
        parts = None
    if parts is None:
        return document
    path = unquote(parts.path, errors="surrogateescape")
    if parts.scheme == "file" and parts.netloc not in ("", "localhost"):
        return f"//{parts.netloc}{path}"
    if os.name == "nt" and re.match(r"/[A-Za-z]:", path):
        return path[1:]
    return path
