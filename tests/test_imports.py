"""Imports: where the imports of each language lead inside a project, and that they lead nowhere else."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from completer.context.imports import MAX_FILES, Imports
from completer.languages import LANGUAGES, language


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path.resolve() / "project"
    folder.mkdir()
    return folder


def everything(path: str) -> bool:
    return True


def imported(
    project: Path, file: str, text: str, language_id: str, allowed: Callable[[str], bool] = everything
) -> list[str]:
    imports = Imports(language(language_id), str(project / file), str(project))
    return [Path(path).relative_to(project).as_posix() for path in imports.files(text, allowed)]


def touch(project: Path, names: str) -> None:
    for name in names.split():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).touch()


PYTHON = "a.py pkg/__init__.py pkg/b.py pkg/c.py pkg/sub/__init__.py pkg/sub/d.py pkg/sub/e.pyi src/lib/f.py app/g.py"


@pytest.mark.parametrize(
    ("file", "text", "found"),
    [
        ("main.py", "import a", "a.py"),
        ("main.py", "import a as b, pkg.sub.d as d, os", "a.py pkg/sub/d.py"),
        ("main.py", "import pkg", "pkg/__init__.py"),
        ("main.py", "from pkg import b, name", "pkg/b.py pkg/__init__.py"),
        ("main.py", "from pkg.sub import (  # both\n    d as x,\n    e,\n)", "pkg/sub/d.py pkg/sub/e.pyi"),
        ("main.py", "from pkg.sub.d import function", "pkg/sub/d.py"),
        ("main.py", "from pkg.sub import *", "pkg/sub/__init__.py"),
        ("main.py", "from lib.f import x", "src/lib/f.py"),
        ("main.py", "def f():\n    if x:\n        import a", "a.py"),
        ("pkg/sub/d.py", "from . import e\nfrom .. import b\nfrom ..c import x", "pkg/sub/e.pyi pkg/b.py pkg/c.py"),
        ("pkg/sub/d.py", "from pkg import c\nimport a", "pkg/c.py a.py"),
        ("app/main.py", "import g", "app/g.py"),
        ("a.py", "import a, main", ""),
        ("main.py", "# import a\ntext = 'import a'\nimport numpy, nothing.at.all", ""),
        ("main.py", "from ....... import a", ""),
        ("main.py", "from . import a\nimport (\nfrom import\nfrom a import\nimport a..b", "a.py"),
    ],
)
def test_python(project: Path, file: str, text: str, found: str) -> None:
    touch(project, PYTHON)
    assert imported(project, file, text, "python") == found.split()


SCRIPTS = "a.ts b.tsx c.d.ts d.js e.mts lib/index.ts lib/f.jsx up.js src/g.ts src/service.user.ts data.json style.css"


@pytest.mark.parametrize(
    ("file", "text", "found"),
    [
        ("main.ts", "import x, { y } from './a'; import './b'; import type { C } from './c'", "a.ts b.tsx c.d.ts"),
        ("main.ts", "import x from './a.js'; import y from './e.mjs'; import z from './d.js'", "a.ts e.mts d.js"),
        ("main.ts", "export * from './lib'; export { f } from './lib/f'", "lib/index.ts lib/f.jsx"),
        ("src/g.ts", "import a from '../a'; import u from '..//up'; import s from './service.user'",
         "a.ts up.js src/service.user.ts"),
        ("lib/x.ts", "import '.'", "lib/index.ts"),
        ("main.js", "const a = require('./d'), b = require(\"./lib/f\")", "d.js lib/f.jsx"),
        ("main.js", "async () => { await import('./a') }", "a.ts"),
        ("main.ts", "import react from 'react'; import x from '@/a'; require(name); load('./a')", ""),
        ("main.ts", "import './data.json'; import './style.css'; import './nothing'", ""),
        ("main.ts", "import '../../../../../../../../../..'; import './../../outside'", ""),
    ],
)  # fmt: skip
@pytest.mark.parametrize("language_id", ["typescript", "javascript", "typescriptreact", "javascriptreact"])
def test_javascript_and_typescript(project: Path, file: str, text: str, found: str, language_id: str) -> None:
    touch(project, SCRIPTS)
    (project.parent / "outside.ts").touch()
    if "type {" not in text or language_id.startswith("type"):
        assert imported(project, file, text, language_id) == found.split()


def test_go_leads_to_the_packages_of_the_module_and_to_the_documents_own(project: Path) -> None:
    touch(project, "cmd/main.go cmd/flags.go pkg/a/one.go pkg/a/two.go pkg/a/one_test.go pkg/a/x.md b/b.go fmt/fmt.go")
    (project / "go.mod").write_text("// a module\nmodule example.com/m/v2 // v2\n\ngo 1.22\n")
    names = ('"fmt"', 'x "example.com/m/v2/pkg/a"', ". `example.com/m/v2/b`", '"example.com/m"')
    text = "package main\n\nimport (\n" + "".join(f"\t{name}\n" for name in names) + ")\n"
    assert imported(project, "cmd/main.go", text, "go") == ["pkg/a/one.go", "pkg/a/two.go", "b/b.go", "cmd/flags.go"]
    (project / "go.mod").write_text("nothing")
    assert imported(project, "cmd/main.go", text, "go") == ["cmd/flags.go"]


def test_a_go_mod_above_the_project_is_not_looked_at(project: Path) -> None:
    (project.parent / "go.mod").write_text("module m\n")
    touch(project, "a/a.go main.go")
    assert imported(project, "main.go", 'package main\nimport "m/project/a"\n', "go") == []


@pytest.mark.parametrize(
    ("file", "text", "found"),
    [
        ("src/main.rs", "mod a;\npub(crate) mod b;\nmod inline { fn f() {} }", "src/a.rs src/b/mod.rs"),
        ("src/b/mod.rs", "mod c;", "src/b/c.rs"),
        ("src/a.rs", "mod d;", "src/a/d.rs"),
        ("src/a/d.rs", "use crate::b::c::Thing;", "src/b/c.rs"),
        ("src/a/d.rs", "use crate::{a, b::{self, c}};", "src/a.rs src/b/mod.rs"),
        ("src/a/d.rs", "use super::e::*;\nuse super::super::b as x;", "src/a/e.rs src/b/mod.rs"),
        ("src/a.rs", "use self::d::f;", "src/a/d.rs"),
        ("src/a.rs", "use std::fs;\nuse serde::{Serialize};\nmod nothing;\n// mod d;", ""),
    ],
)
def test_rust(project: Path, file: str, text: str, found: str) -> None:
    touch(project, "src/main.rs src/a.rs src/a/d.rs src/a/e.rs src/b/mod.rs src/b/c.rs")
    assert imported(project, file, text, "rust") == found.split()


@pytest.mark.parametrize("language_id", ["c", "cpp"])
def test_quoted_includes(project: Path, language_id: str) -> None:
    touch(project, "src/x.h include/y.h z.h src/sub/w.h system.h")
    text = '#ifndef A\n#include "x.h"\n#include "y.h"\n#endif\n#include "z.h"\n#include "sub/../sub/w.h"\n'
    text += '#include <system.h>\n#include "nothing.h"\n#include "/etc/hosts"\n#include NAME\n'
    assert imported(project, "src/main.c", text, language_id) == ["src/x.h", "include/y.h", "z.h", "src/sub/w.h"]


def test_java_leads_into_the_source_root_and_to_the_own_package(project: Path) -> None:
    root = "app/src/main/java/org"
    touch(project, " ".join(f"{root}/{name}.java" for name in ("x/A", "x/B", "y/C", "y/D", "z/E", "z/F")))
    text = "package org.x;\nimport org.y.C;\nimport static org.y.D.method;\nimport org.z.*;\nimport java.util.List;\n"
    expected = [f"{root}/{name}.java" for name in ("y/C", "y/D", "z/E", "z/F", "x/B")]
    assert imported(project, f"{root}/x/A.java", text, "java") == expected
    assert imported(project, f"{root}/x/A.java", "package org.x;\nimport org.y.C.Inner;", "java")[0] == expected[0]
    assert imported(project, f"{root}/x/A.java", "import org.y.C;", "java") == [f"{root}/x/B.java"]


def test_a_refused_name_is_not_followed(project: Path) -> None:
    touch(project, "real.py")
    (project / "link.py").symlink_to(project / "real.py")
    assert imported(project, "main.py", "import link", "python") == ["real.py"]
    assert imported(project, "main.py", "import link", "python", lambda path: not path.endswith("link.py")) == []


def test_a_folder_that_cannot_be_listed_leads_nowhere(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    touch(project, "main.go sub/a.go")
    (project / "go.mod").write_text("module m\n")
    monkeypatch.setattr("os.access", lambda path, mode: Path(path).name != "sub")
    assert imported(project, "main.go", 'package main\nimport "m/sub"\n', "go") == []


def test_there_is_an_end_to_what_is_followed(project: Path) -> None:
    touch(project, " ".join(f"m{i}.py" for i in range(MAX_FILES + 10)))
    text = "".join(f"import m{i}\n" for i in range(MAX_FILES + 10))
    assert len(imported(project, "main.py", text, "python")) == MAX_FILES


def test_every_language_may_be_asked(project: Path) -> None:
    for known in LANGUAGES:
        assert imported(project, "main", "import x\n#include <y>\nuse z;\n", known.id) == []


PIECES = st.sampled_from(
    ["import a\n", "from b import c\n", "\n", "def f():\n", "    import b\n", '"""', "x = (", ")\n", "é", "(", "\r\n"]
)


@settings(deadline=None, max_examples=200)
@given(
    st.lists(st.tuples(st.lists(PIECES, max_size=6).map("".join), st.integers(0, 60), st.integers(0, 10)), max_size=8)
)
def test_what_is_read_again_is_as_if_read_anew(edits: list[tuple[str, int, int]]) -> None:
    text = "import a\n\n\ndef f():\n    import b\n    return 1\n"
    kept = Imports(language("python"), "/p/main.py", "/p")
    for inserted, at, removed in edits:
        text = text[:at] + inserted + text[at + removed :]
        assert kept._imports(text) == Imports(language("python"), "/p/main.py", "/p")._imports(text)


def test_a_text_too_hard_to_parse_imports_nothing_until_it_is_not(project: Path) -> None:
    touch(project, "a.ts")
    imports = Imports(language("typescriptreact"), str(project / "main.tsx"), str(project))
    hard = 'import "./a";\n' + '"' * 47_000
    assert imports.files(hard, everything) == ()
    assert imports.files('import "./a";\n', everything) == (str(project / "a.ts"),)
