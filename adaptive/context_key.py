"""Whose statistics are whose: the project a file belongs to, and the environment that acceptance was seen in.

Reads folders, manifests' names and git's own files; runs no program, and reads no source.
"""

import configparser
import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

MANIFESTS = ("pyproject.toml", "package.json", "Cargo.toml", "go.mod", "pom.xml", "CMakeLists.txt", ".git")
_ID_CHARS = 16


@dataclass(frozen=True, slots=True)
class Project:
    """id: the same wherever the project lies, where git can tell. parent_id: of the repository it is in, or ""."""

    id: str
    name: str
    root: str
    parent_id: str = ""


NO_PROJECT = Project("", "no project", "")


@dataclass(frozen=True, slots=True)
class Environment:
    """What acceptance depends on besides the text: a change of it is a new start. Costs depend on threads too."""

    target: str
    draft: str
    weights: str
    device: str
    template: str
    threads: int = 0

    @property
    def id(self) -> str:
        return _digest(self.target, self.draft, self.weights, self.device, self.template)

    @property
    def machine_id(self) -> str:
        """Where costs are kept."""
        return _digest(self.id, str(self.threads))


def project_of(path: Path | None, workspace: Path | None = None, known: Iterable[Project] = ()) -> Project:
    """The project of a file: the nearest folder with a manifest, within its workspace folder where it is in one.

    A part of a repository that has a manifest of its own is a project of its own, with the repository as parent.
    known: a root among theirs keeps its id, whatever git says by now: a remote is added, and reflogs expire.
    """
    folder = path.parent if path is not None else workspace
    if folder is None:
        return NO_PROJECT
    folder = folder.absolute()
    top = workspace.absolute() if workspace is not None else None
    root = _nearest(folder, top) or (top if top is not None and folder.is_relative_to(top) else None)
    if root is None:
        return NO_PROJECT
    repository = next((above for above in (root, *root.parents) if (above / ".git").exists()), None)
    known = tuple(known)
    own_id = next((project.id for project in known if project.root == str(root)), None)
    if repository is None:
        return Project(own_id or _digest(str(root)), root.name, str(root))
    whole_id = _known_whole(repository, known) or _digest(_identity(repository) or str(repository))
    if repository == root:
        return Project(whole_id, root.name, str(root))
    inside = root.relative_to(repository).as_posix()
    return Project(own_id or _digest(whole_id, inside), f"{repository.name}/{inside}", str(root), whole_id)


def branch_of(root: str) -> str:
    """The branch that is checked out at a project's root or above, or "": in the middle of a rebase there is none."""
    for folder in (Path(root), *Path(root).parents) if root else ():
        git = _git_folder(folder)
        if git is not None:
            head = _read(git / "HEAD").strip()
            return head if head.startswith("ref:") else ""
    return ""


def _nearest(folder: Path, top: Path | None) -> Path | None:
    home = Path.home()
    for candidate in (folder, *folder.parents):
        if candidate != home and any((candidate / name).exists() for name in MANIFESTS):
            return candidate
        if candidate == top:
            return None
    return None


def _known_whole(repository: Path, known: Iterable[Project]) -> str | None:
    """The id of a repository that is known itself or by a part of it."""
    for project in known:
        inside = project.name.partition("/")[2]
        if project.root == str(repository / inside):
            return project.parent_id or project.id
    return None


def _identity(repository: Path) -> str | None:
    """What stays the same when the repository is moved or cloned: its remote, else its first commit."""
    git = _git_folder(repository)
    if git is None:
        return None
    common = _read(git / "commondir").strip()
    if common:  # a worktree keeps these elsewhere
        git = (git / common).resolve()
    config = configparser.RawConfigParser(strict=False, allow_no_value=True)
    try:
        config.read_string(_read(git / "config"))
    except configparser.Error:
        return None
    remotes = {section: config[section].get("url") for section in config.sections() if section.startswith("remote ")}
    url = remotes.get('remote "origin"') or next((url for url in remotes.values() if url), None)
    return _normal(url) if url else _first_commit(git)


def _normal(url: str) -> str:
    """The same for git@host:owner/name.git and https://user:token@host/owner/name."""
    url = re.sub(r"^[a-z+]+://", "", url.strip(), flags=re.IGNORECASE)
    url = re.sub(r"^[^@/]*@", "", url)
    return re.sub(r"(?:\.git)?/*$", "", url.replace(":", "/", 1)).lower()


def _first_commit(git: Path) -> str | None:
    """The oldest that the reflog knows: for a repository made here, its first."""
    first = _read(git / "logs" / "HEAD").partition("\n")[0].split(" ")
    return first[1] if len(first) > 1 and set(first[0]) == {"0"} else None


def _git_folder(repository: Path) -> Path | None:
    git = repository / ".git"
    if git.is_dir():
        return git
    link = _read(git)
    return (repository / link.partition("gitdir:")[2].strip()).resolve() if link.startswith("gitdir:") else None


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace")
    except OSError:
        return ""


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:_ID_CHARS]
