"""Files that hold secrets, by name. Patterns as in a .gitignore file, matched without regard to case, last match wins.

Most data files are listed with their ending, and some names not for folders, so that code about secrets stays open
(`credentials.py`, `kubeconfig/load.go`). A `!pattern` in the setting privacy.ignore opens any of these.
"""

_ENVIRONMENTS = (".env*", "*.env", ".envrc", ".Renviron", "local.settings.json")

_KEYS = (
    "id_*",  # SSH keys; with an ending it is code
    "!id_*.*",
    "!id_*/",
    "id_rsa*",
    "id_dsa*",
    "id_ecdsa*",
    "id_ed25519*",
    "ssh_host_*_key",
    "*.pem",
    "*.key",
    "*.ppk",
    "*.p8",
    "*.p12",
    "*.pfx",
    "*.pkcs12",
    "*.jks",
    "*.jceks",
    "*.bcfks",
    "*.keystore",
    "*.truststore",
    "*.jwk",
    "*.asc",
    "*.gpg",
    "*.pgp",
    "*.age",
    "*.agekey",
    "*.ovpn",
    "wallet.dat",
)

_PASSWORD_STORES = (
    "*.kdb",
    "*.kdbx",
    "*.psafe3",
    "*.keychain",
    "*.keychain-db",
    "*.opvault",
    "*.agilekeychain",
    ".password-store/",
    "/dev/shm/pass.*",  # where `pass edit` opens an entry
    ".vault-token",
    ".vault_pass*",
    "vault_pass*",
    ".htpasswd",
    "htpasswd",
    "/etc/shadow*",
    "/etc/gshadow*",
    "/etc/sudoers*",
)

_CREDENTIALS = (
    ".netrc",
    "_netrc",
    ".authinfo*",
    ".npmrc",
    ".pypirc",
    ".yarnrc.yml",
    ".pgpass",
    "pgpass.conf",
    ".my.cnf",
    ".mylogin.cnf",
    ".git-credentials",
    ".gitcookies",
    ".dockercfg",
    ".dockerconfigjson",
    ".docker/config.json",
    ".boto",
    ".s3cfg",
    ".passwd-s3fs",
    "rclone.conf",
    ".databrickscfg",
    ".msmtprc",
    ".fetchmailrc",
    ".m2/settings.xml",
    ".m2/settings-security.xml",
    ".dbt/profiles.yml",
    "gh/hosts.yml",
    "credentials",
    "!credentials/",
    ".credentials",
    "*credentials.json",
    "*credentials.csv",
    "*credentials.ini",
    "*credentials.toml",
    "*credentials.xml",
    "*credentials.y*ml",
    "*credentials.properties",
    "credentials.db",
    "credentials.*.enc",
    "credentials.tfrc.json",
    "client_secret*.json",
    "*service[-_]account*.json",
)

_SECRETS = (
    "secrets.*",
    "secret.y*ml",
    "secret.json",
    "secret.toml",
    "secret.txt",
    "*[-_.]secret.y*ml",
    "*[-_.]secrets.y*ml",
    "*[-_.]secret.json",
    "*[-_.]secrets.json",
    "arduino_secrets.h",
    "*.secret",
    "*.secrets",
    ".secret",
    ".secrets",
    ".secrets.*",
)

_INFRASTRUCTURE = (
    "*.tfstate",
    "*.tfstate.*",
    "*.tfvars",
    "*.tfvars.json",
    ".terraformrc",
    "terraform.rc",
    "kubeconfig",
    "!kubeconfig/",
    "kubeconfig.y*ml",
    "*.kubeconfig",
)

_HISTORIES = (".*_history", ".histfile")

_FOLDERS = (
    ".ssh/",
    ".gnupg/",
    ".aws/",
    ".azure/",
    ".config/gcloud/",
    ".gcloud/",
    ".oci/",
    ".kube/",
    ".snowsql/",
    ".terraform.d/",
)

SECRET_FILES = (
    *_ENVIRONMENTS,
    *_KEYS,
    *_PASSWORD_STORES,
    *_CREDENTIALS,
    *_SECRETS,
    *_INFRASTRUCTURE,
    *_HISTORIES,
    *_FOLDERS,
)
