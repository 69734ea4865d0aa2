"""Whose statistics are whose: project roots, repositories and their parts, moved folders, environments."""

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from adaptive.context_key import MANIFESTS, NO_PROJECT, Environment, Project, branch_of, project_of
from adaptive.learning import Learning
from tests.learning_process import ENVIRONMENT, play

GIT = shutil.which("git")


def git(folder: Path, *arguments: str) -> None:
    assert GIT is not None
    command = [GIT, "-c", "user.name=n", "-c", "user.email=e@e", *arguments]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path.resolve() / "work" / "thing"
    (made / "src" / "deep").mkdir(parents=True)
    return made


@pytest.mark.parametrize("manifest", MANIFESTS)
def test_the_nearest_manifest_is_the_root(folder: Path, manifest: str) -> None:
    (folder / manifest).touch()
    project = project_of(folder / "src" / "deep" / "a.py")
    assert (project.root, project.name) == (str(folder), "thing")
    assert project == project_of(folder / "b.py")


def test_the_workspace_folder_bounds_the_search_and_is_the_last_resort(folder: Path) -> None:
    (folder / "package.json").touch()
    assert project_of(folder / "src" / "deep" / "a.ts", folder / "src").root == str(folder / "src")
    assert project_of(folder / "src" / "deep" / "a.ts", folder).root == str(folder)
    assert project_of(None, folder / "src").root in (str(folder / "src"), str(folder))
    assert project_of(None) == NO_PROJECT


def test_a_part_of_a_repository_is_a_project_with_a_parent(folder: Path) -> None:
    (folder / ".git").mkdir()
    part = folder / "packages" / "core"
    part.mkdir(parents=True)
    (part / "package.json").touch()
    whole, core = project_of(folder / "a.py"), project_of(part / "index.ts")
    assert core.parent_id == whole.id and core.id != whole.id
    assert core.name == "thing/packages/core"


@pytest.mark.skipif(GIT is None, reason="needs git")
def test_a_moved_repository_keeps_its_id(folder: Path) -> None:
    git(folder, "init", "-b", "main")
    (folder / "a.py").touch()
    git(folder, "add", ".")
    git(folder, "commit", "-m", "first")
    known = [project_of(folder / "a.py")]
    by_commit = known[0].id
    moved = folder.parent / "elsewhere"
    folder.rename(moved)
    known = [project_of(moved / "a.py", known=known)]
    assert known[0].id == by_commit
    git(moved, "commit", "--allow-empty", "-m", "second")
    assert project_of(moved / "a.py").id == by_commit
    git(moved, "remote", "add", "origin", "git@example.com:owner/thing.git")
    git(moved, "reflog", "expire", "--expire=now", "--all")
    assert project_of(moved / "a.py", known=known).id == by_commit
    by_remote = project_of(moved / "a.py").id
    clone = folder.parent / "clone"
    git(folder.parent, "clone", str(moved), str(clone))
    git(clone, "remote", "set-url", "origin", "https://user:secret@example.com/Owner/thing/")
    assert project_of(clone / "a.py").id == by_remote
    git(moved, "worktree", "add", str(folder.parent / "tree"))
    assert project_of(folder.parent / "tree" / "a.py").id == by_remote


@pytest.mark.skipif(GIT is None, reason="needs git")
def test_an_id_once_given_stays_after_a_restart(folder: Path, tmp_path: Path) -> None:
    git(folder, "init", "-b", "main")
    git(folder, "commit", "--allow-empty", "-m", "first")
    (folder / "src" / "package.json").touch()
    places = [folder / "a.ts", folder / "src" / "b.ts"]

    def planned() -> dict[str, Project]:
        learning = Learning(ENVIRONMENT, tmp_path / "statistics.sqlite3")
        learning.wait(20.0)
        for place in places:
            play(learning.planner("typescript", place))
        learning.close()
        return learning.controller.memory.projects

    before = planned()
    git(folder, "remote", "add", "origin", "git@example.com:owner/thing.git")
    git(folder, "reflog", "expire", "--expire=now", "--all")
    assert planned() == before and len(before) == 2
    part = next(project for project in before.values() if project.parent_id)
    assert project_of(folder / "a.ts", known=[part]).id == part.parent_id  # by a part of it
    (folder / "src" / "deep" / "package.json").touch()
    assert project_of(folder / "src" / "deep" / "c.ts", known=[part]).parent_id == part.parent_id


@pytest.mark.skipif(GIT is None, reason="needs git")
def test_the_branch(folder: Path) -> None:
    assert branch_of(str(folder)) == branch_of("") == ""
    git(folder, "init", "-b", "main")
    main = branch_of(str(folder / "src"))
    assert main.endswith("main")
    git(folder, "checkout", "-b", "other")
    assert branch_of(str(folder)) not in ("", main)
    (folder / ".git" / "HEAD").write_text("0123456789012345678901234567890123456789\n")
    assert branch_of(str(folder)) == ""


def test_every_part_of_the_environment_tells() -> None:
    base = Environment("t", "d", "w", "cpu", "fim", 2)
    parts = ("target", "draft", "weights", "device", "template")
    others = [replace(base, **{part: "x"}) for part in parts]  # type: ignore[arg-type]
    assert len({environment.id for environment in (base, *others)}) == 6
    threads = replace(base, threads=4)
    assert threads.id == base.id and threads.machine_id != base.machine_id


def test_a_broken_git_folder_is_no_obstacle(folder: Path) -> None:
    (folder / ".git").write_text("gitdir: /nowhere/at/all")
    assert project_of(folder / "a.py").root == str(folder)
    (folder / ".git").write_bytes(b"\xff\x00")
    assert project_of(folder / "a.py").root == str(folder)
    (folder / ".git").unlink()
    (folder / ".git").mkdir()
    (folder / ".git" / "config").write_text("[remote\n url")
    assert project_of(folder / "a.py").root == str(folder)


@pytest.mark.skipif(GIT is None, reason="needs git")
def test_another_branch_softens_a_project_once_in_all_its_languages(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(folder, "init", "-b", "main")
    learning = Learning(ENVIRONMENT, tmp_path / "statistics.sqlite3")
    learning.wait(20.0)
    for _ in range(30):
        play(learning.planner("python", folder / "a.py"))
        play(learning.planner("go", folder / "a.go"))
    languages = [learning.controller.learned(language, project_of(folder / "a.py")) for language in ("python", "go")]
    before = [learned.acceptance.counts["ngram"].sum() for learned in languages]
    git(folder, "checkout", "-b", "other")

    def in_turn() -> list[float]:
        for _ in range(4):
            learning.planner("python", folder / "src" / "b.py")
            learning.planner("python", folder / "a.py")
        return [learned.acceptance.counts["ngram"].sum() for learned in languages]

    assert in_turn() == pytest.approx(before)  # what is checked out is not looked up again so soon
    monkeypatch.setattr("adaptive.learning.LOOKED_UP_S", 0.0)
    assert in_turn() == pytest.approx([weight / 2 for weight in before])
    assert [sum("branch" in change.cause for change in learned.changes) for learned in languages] == [1, 1]
    learning.close()
