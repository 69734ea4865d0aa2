"""Privacy: what is never read, and what is not refused without cause."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from completer.config import PrivacyConfig
from completer.errors import ConfigError
from completer.privacy.rules import Privacy
from completer.privacy.uris import file_name

SECRET = """
.env .env.local .ENV.Production .env/activate prod.env .envrc config/.env.example
server.pem a/b/TLS.KEY cert.p12 cert.pfx vault.kdbx release.jks putty.ppk mail.gpg
id_rsa id_ed25519 id_ecdsa.pub ID_RSA.old id_work keys/id_deploy
.netrc _netrc .npmrc .pypirc .pgpass .git-credentials .docker/config.json .authinfo.gpg
credentials .aws/credentials aws-credentials.json client_secret_123.json my-service-account.json credentials.yml.enc
secrets.yaml secrets.toml Secrets.JSON secrets.py .streamlit/secrets.toml k8s/db-secret.yml .secrets db.secret
kubeconfig prod.kubeconfig .kube/config .ssh/config .ssh/known_hosts .gnupg/trustdb .azure/x.json .config/gcloud/a
terraform.tfstate terraform.tfstate.backup prod.tfvars .terraformrc .bash_history .vault-token .htpasswd
"""

OPEN = """
config.json settings.json config.yaml environment.ts env.py dotenv.go .eslintrc .gitignore settings.env.ts
id_generator.py id_map.rs id_card/main.go credentials.py CredentialsProvider.java credentials/provider.ts
secret_manager.py secret.go password.py tokens.css token_store.rs keys.py keyboard.ts kubeconfig/load.go
main.tf variables.tf docker-compose.yml .docker/compose.yml package.json ssh/client.go aws/client.py pem.go
Untitled-1 README.md LICENSE
"""


def refusal(path: object, config: PrivacyConfig | None = None, language: str = "python") -> str | None:
    return Privacy(config).refusal(str(path), language)


def ignore_file(folder: Path, *lines: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ".completerignore").write_text("\n".join(lines) + "\n", "utf-8")


def ignored(folder: Path, *names: str) -> list[str]:
    privacy = Privacy()
    return [name for name in names if privacy.refusal(str(folder / name), "") is not None]


@pytest.mark.parametrize("name", SECRET.split())
def test_a_secret_file_is_refused_whether_it_exists_or_not(name: str) -> None:
    reason = refusal(f"/home/someone/project/{name}")
    assert reason is not None and "may hold secrets" in reason and "privacy.ignore" in reason


@pytest.mark.parametrize("name", OPEN.split())
def test_code_that_only_sounds_secret_is_not_refused(name: str) -> None:
    assert refusal(f"/home/someone/project/{name}") is None


@pytest.mark.parametrize(
    "document",
    [
        "file:///home/u/p/.env",
        "file:///home/u/p/%2Eenv",
        "file:///home/u/p/prod%2eenv",
        "file:///c%3A/Users/u/.ssh/config",
        "file://server/share/id_rsa",
        "FILE:///p/.env",
        "untitled:.env",
        "untitled:/home/u/p/.env.local",
        "vscode-remote://ssh-remote%2Bhost/home/u/.aws/config",
        "vscode-remote://wsl%2BUbuntu/home/u/p/server.pem",
        "vscode-notebook-cell:/home/u/secrets.ipynb#W0sZmlsZQ%3D%3D",
        "git:/home/u/p/.env?%7B%22ref%22%3A%22~%22%7D",
        ".env",
        "/home/u/p/../.ssh/x/../config",
    ],
)
def test_a_secret_is_known_by_any_uri(document: str) -> None:
    assert refusal(document) is not None


@pytest.mark.parametrize(
    ("document", "name"),
    [
        ("file:///home/u/a%20b%23.py", "/home/u/a b#.py"),
        ("file://localhost/x.py", "/x.py"),
        ("file://server/share/x.py", "//server/share/x.py"),
        ("file:///home/u/%C3%A9.py", "/home/u/é.py"),
        ("untitled:Untitled-1", "Untitled-1"),
        ("vscode-remote://dev-container%2B7b/work/x.py", "/work/x.py"),
        ("vscode-notebook-cell:/u/n.ipynb#W1", "/u/n.ipynb"),
        ("/home/u/a%20b#c?.py", "/home/u/a%20b#c?.py"),
        ("C:\\u\\x.py", "C:\\u\\x.py"),
        ("", ""),
    ],
)
def test_a_uri_is_a_file_name(document: str, name: str) -> None:
    assert file_name(document) == name


def test_a_secret_folder_that_the_path_leaves_again_does_not_count() -> None:
    assert refusal("/p/.ssh/../a.py") is None


def test_a_name_that_no_file_can_have_is_refused() -> None:
    assert refusal("/p/a\0.py") is not None
    assert refusal("/p/\ud800.py") is not None


@pytest.mark.parametrize("target", [".env", ".ssh/config"])
def test_a_link_to_a_secret_is_refused(tmp_path: Path, target: str) -> None:
    (tmp_path / target).parent.mkdir(exist_ok=True)
    (tmp_path / target).write_text("TOKEN=1")
    (tmp_path / "notes.txt").symlink_to(tmp_path / target)
    (tmp_path / "folder").symlink_to((tmp_path / target).parent)
    assert refusal(tmp_path / "notes.txt") is not None
    assert refusal(tmp_path / "folder" / Path(target).name) is not None
    assert refusal(f"file://{tmp_path}/notes.txt") is not None


def test_a_link_with_a_secret_name_is_refused_whatever_it_leads_to(tmp_path: Path) -> None:
    (tmp_path / "plain.txt").write_text("x")
    (tmp_path / ".env").symlink_to(tmp_path / "plain.txt")
    assert refusal(tmp_path / ".env") is not None
    assert refusal(tmp_path / "plain.txt") is None


def test_a_loop_of_links_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    assert refusal(tmp_path / "a") is None


def test_ignore_files_are_inherited_and_a_deeper_one_is_stronger(tmp_path: Path) -> None:
    ignore_file(tmp_path, "# not for machines", "", "*.sql", "/generated/", "docs/*.md", "!docs/open.md")
    ignore_file(tmp_path / "sub", "!*.sql", "*.py")
    names = ["a.sql", "x/b.SQL", "sub/c.sql", "sub/d.py", "e.py", "generated/f.py", "x/generated/g.py", "docs/h.md"]
    assert ignored(tmp_path, *names, "docs/open.md", "x/docs/i.md") == [
        "a.sql",
        "x/b.SQL",
        "sub/d.py",
        "generated/f.py",
        "docs/h.md",
    ]


def test_nothing_comes_back_inside_an_ignored_folder(tmp_path: Path) -> None:
    ignore_file(tmp_path, "client", "!client/open.py")
    ignore_file(tmp_path / "client", "!open.py")
    assert ignored(tmp_path, "client/open.py") == ["client/open.py"]


def test_an_ignore_file_cannot_open_a_secret_nor_what_the_user_closed(tmp_path: Path) -> None:
    ignore_file(tmp_path, "!.env", "!*.sql", "!*")
    privacy = Privacy(PrivacyConfig(ignore=("*.sql",)))
    assert privacy.refusal(str(tmp_path / ".env"), "") is not None
    assert privacy.refusal(str(tmp_path / "a.sql"), "") is not None


def test_the_reason_names_the_file_and_the_pattern(tmp_path: Path) -> None:
    ignore_file(tmp_path, "*.txt", "*.SQL")
    assert refusal(tmp_path / "a.sql") == f"ignored by {tmp_path / '.completerignore'}: *.SQL"
    assert refusal("/x/a.sql", PrivacyConfig(ignore=("*.Sql",))) == "ignored by privacy.ignore: *.Sql"


def test_what_a_link_leads_to_is_judged_where_it_lies(tmp_path: Path) -> None:
    ignore_file(tmp_path / "closed", "*.py")
    (tmp_path / "closed" / "a.py").write_text("")
    (tmp_path / "a.py").symlink_to(tmp_path / "closed" / "a.py")
    assert ignored(tmp_path, "a.py") == ["a.py"]


def test_a_changed_ignore_file_counts_at_once(tmp_path: Path) -> None:
    privacy, file = Privacy(), str(tmp_path / "a.sql")
    assert privacy.refusal(file, "") is None
    ignore_file(tmp_path, "*.sql")
    assert privacy.refusal(file, "") is not None
    ignore_file(tmp_path, "*.sq")
    assert privacy.refusal(file, "") is None
    (tmp_path / ".completerignore").unlink()
    ignore_file(tmp_path, "*.sql")
    assert privacy.refusal(file, "") is not None
    (tmp_path / ".completerignore").unlink()
    assert privacy.refusal(file, "") is None


def test_an_ignore_file_is_read_again_only_when_it_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ignore_file(tmp_path, "*.sql")
    privacy, read, read_text = Privacy(), [], Path.read_text

    def noted(path: Path, encoding: str) -> str:
        read.append(path)
        return read_text(path, encoding)

    monkeypatch.setattr(Path, "read_text", noted)
    for name in "abc":
        privacy.refusal(str(tmp_path / f"{name}.py"), "")
    assert read == [tmp_path / ".completerignore"]


@pytest.mark.parametrize(
    "make",
    [
        lambda file: file.write_text("[z-a]\n"),
        lambda file: file.write_text("a.py\n!\n"),
        lambda file: file.write_bytes(b"\xff\xfe"),
        lambda file: file.mkdir(),
        lambda file: os.mkfifo(file),
        lambda file: file.symlink_to(file),
        lambda file: file.write_bytes(b"#" * 1_000_001),
    ],
    ids=["range", "empty", "encoding", "folder", "pipe", "loop", "huge"],
)
def test_an_ignore_file_that_cannot_be_understood_closes_its_folder(
    tmp_path: Path, make: Callable[[Path], object]
) -> None:
    (tmp_path / "sub").mkdir()
    make(tmp_path / "sub" / ".completerignore")
    reason = refusal(tmp_path / "sub" / "x.py")
    assert reason is not None and str(tmp_path / "sub" / ".completerignore") in reason
    assert refusal(tmp_path / "x.py") is None


def test_windows_line_ends_and_a_byte_order_mark_are_fine(tmp_path: Path) -> None:
    (tmp_path / ".completerignore").write_bytes("\ufeff*.sql\r\n*.md\r\n".encode())
    assert ignored(tmp_path, "a.sql", "b.md", "c.py") == ["a.sql", "b.md"]


def test_an_accent_counts_as_the_same_however_it_is_encoded(tmp_path: Path) -> None:
    ignore_file(tmp_path, "caf\u00e9.py")
    assert ignored(tmp_path, "cafe\u0301.py", "CAF\u00c9.py") == ["cafe\u0301.py", "CAF\u00c9.py"]


def test_the_users_own_patterns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/u")
    monkeypatch.setenv("USERPROFILE", "/home/u")
    privacy = Privacy(PrivacyConfig(ignore=("*.sql", "~/private/", "docs/*.md", "/srv/**", "!secrets.py", "!.ssh/")))
    refused = [
        "/x/a.sql",
        "/home/u/private/a/b.py",
        "/x/y/docs/c.md",
        "/srv/d/e.py",
        "/x/secrets.yaml",
        "/x/.ssh/id_rsa",
    ]
    allowed = [
        "/x/private/a.py",
        "/home/v/private/a.py",
        "/x/docs/y/c.md",
        "/x/srv/e.py",
        "/x/secrets.py",
        "/x/.ssh/config",
    ]
    assert [path for path in refused + allowed if privacy.refusal(path, "")] == refused


def test_a_pattern_that_is_none_is_named_and_the_old_settings_stay() -> None:
    privacy = Privacy(PrivacyConfig(ignore=("*.sql",)))
    with pytest.raises(ConfigError, match=r"privacy.ignore: '\[z-a\]' is not a pattern"):
        privacy.configure(PrivacyConfig(ignore=("[z-a]",)))
    assert privacy.refusal("/x/a.sql", "") is not None


def test_languages_are_switched_off_by_id_or_alias_but_stay_context() -> None:
    config = PrivacyConfig(disabled_languages=("markdown", "JSX", "brainfuck"))
    assert refusal("/x/a.md", config, "markdown") == "markdown is switched off in privacy.disabled_languages"
    assert refusal("/x/a.jsx", config, "javascriptreact") is not None
    assert refusal("/x/a.bf", config, "brainfuck") is not None
    assert refusal("/x/a.js", config, "javascript") is None
    assert refusal("/x/a.jsx", config, "jsx") is not None
    assert refusal("/x/a.md", config, "") is None
    assert refusal("/x/a.md", PrivacyConfig(disabled_languages=("plaintext",)), "") is None


def test_a_project_is_switched_off_under_every_name(tmp_path: Path) -> None:
    (tmp_path / "client").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "client")
    for name in ("client", "link"):
        config = PrivacyConfig(disabled_projects=(str(tmp_path / name),))
        reason = refusal(tmp_path / "client" / "a.py", config)
        assert reason == "this project is switched off in privacy.disabled_projects"
        assert refusal(f"file://{tmp_path}/link/x/a.py", config) == reason
        assert refusal(tmp_path / "CLIENT" / "a.py", config) == reason
        assert refusal(tmp_path / "client2" / "a.py", config) is None


def test_new_settings_count_at_once() -> None:
    privacy = Privacy()
    assert privacy.refusal("/x/a.sql", "sql") is None
    privacy.configure(PrivacyConfig(ignore=("*.sql",)))
    assert privacy.refusal("/x/a.sql", "sql") is not None
    privacy.configure(PrivacyConfig())
    assert privacy.refusal("/x/a.sql", "sql") is None


def test_snooze_refuses_everything_for_its_time() -> None:
    now_s = [1000.0]
    privacy = Privacy(clock_s=lambda: now_s[0])
    privacy.snooze(10)
    assert privacy.refusal("/x/a.py", "python") == "snoozed for 10 more min"
    now_s[0] += 9.5 * 60
    privacy.configure(PrivacyConfig())
    assert privacy.refusal("/x/a.py", "python") == "snoozed for 1 more min"
    now_s[0] += 0.5 * 60
    assert privacy.refusal("/x/a.py", "python") is None
    privacy.snooze(10)
    privacy.snooze(0)
    assert privacy.refusal("/x/a.py", "python") is None


@given(
    st.lists(st.text("abcXYZ._- é", min_size=1, max_size=8).filter(lambda part: part.strip(". ")), max_size=4),
    st.sampled_from([".env", "id_rsa", "Server.PEM", ".AWS/config", ".ssh/x", "a.kdbx", ".Netrc"]),
    st.sampled_from(["/{}", "file:///{}", "vscode-remote://ssh-remote%2Bh/{}", "untitled:{}"]),
)
@settings(deadline=None)
def test_a_secret_is_refused_wherever_it_lies(folders: list[str], name: str, form: str) -> None:
    assert refusal(form.format("/".join([*folders, name]))) is not None


@given(st.text(max_size=60))
@settings(deadline=None)
def test_no_name_is_an_error(name: str) -> None:
    Privacy().refusal(name, "python")
