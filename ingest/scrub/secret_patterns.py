"""Patterns of text that may hold a secret, and of secrets recognizable by themselves."""

import re

from ingest.scrub.secret_names import holds_secret

MARK = "[removed]"
CREDENTIAL = (
    r"\b(?:hf_[A-Za-z0-9]{16,}|gh[pousr]_[A-Za-z0-9]{16,}|github_pat_\w{16,}|glpat-[\w-]{16,}|sk-[\w-]{16,}"
    r"|xox[abprs]-[\w-]{10,}|A(?:KIA|SIA)[A-Z0-9]{12,}|AIza[\w-]{30,}|ya29\.[\w-]{16,}"
    r"|eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?|[Bb]earer [\w.~+/-]{8,}=*)"
)
"""Shapes of well-known services' tokens, for Python and DuckDB (RE2)."""
USERINFO = r"(://[^/\s:@\"']*:)[^\s\"'@]*@(?:[^\s\"'/@?]*@)*|(://)[^/\s:@\"']{8,}@"
"""The password or token in a URL, after the part that stays."""

_NAMES = (
    r"token|secret|passw|passphrase|passcode|pwd|pass|key|credential|auth|cookie|session|dsn|webhook|jwt|bearer"
    r"|sig\b|signature"
)
REGISTRIES = "docker|podman|wandb|huggingface-cli|hf|registry|npm|gh|az|vault|twine"
_QUOTES = r"[\"'\]\\)]*"  # each level of quoted commands doubles the escapes
_SIGN = re.compile(
    rf"(?i)(?:{_NAMES})[\w.-]{{0,40}}{_QUOTES}\s{{0,3}}(?:\+?=|:(?:[^:]|$))"
    rf"|\({_QUOTES}[\w.-]{{0,40}}(?:{_NAMES})[\w.-]{{0,40}}{_QUOTES}\s{{0,3}},"
    rf"|-[\w.-]{{0,40}}(?:{_NAMES})[\w-]{{0,40}}{_QUOTES}(?:\s|$)"
    rf"|\b(?:setenv|set|config\w{{0,20}})\s{{1,3}}(?:\S{{1,40}}\s{{1,3}})?[\w.-]{{0,40}}(?:{_NAMES})"
    rf"|\b(?:{REGISTRIES})\s{{1,3}}login\s|\b(?:sshpass|mysql|mysqldump|mysqladmin|mariadb|redis-cli|curl)\s"
    rf"|://[^/\s@]{{1,200}}@|<<<|<<-?\s{{0,3}}{_QUOTES}\w+[^\n]{{0,1000}}?(?:\n|\\n)|\b(?:echo|printf)\s[^|]{{0,1000}}\|"
    rf"|-user[=\s]{_QUOTES}[^\s:\"']{{1,40}}{_QUOTES}:"
    rf"|(?-i:{CREDENTIAL})"
)
"""Any sign that a text may hold a secret."""
ROUGHLY = (
    rf"(?i)(?:{_NAMES})[\w.-]*(?:{_QUOTES}\s*\+?[=:](?:[^:]|$)|[\"'\\]|\s|$)"
    r"|(?:login|sshpass|mysql\w*|mariadb|redis-cli|curl|echo|printf)\s|://[^/\s@]+@|<<|-user[=\s]"
    r"|(?-i:\b(?:hf_|gh[pousr]_|github_pat_|glpat-|sk-|xox[abprs]-|A(?:KIA|SIA)|AIza|ya29\.|eyJ|[Bb]earer ))"
)
"""A wider pattern for DuckDB (RE2), which compiles it for each column of each statement: counted repetitions are slow,
so it has the beginnings of ``CREDENTIAL`` alone."""
_PARTS = (
    "token", "secret", "pass", "pwd", "key", "credential", "auth", "cookie", "session", "dsn", "webhook", "jwt",
    "bearer", "sig", "-user", "://", "<<", "login", "mysql", "mariadb", "redis-cli", "curl", "echo", "printf", "hf_",
    "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "sk-", "xox", "akia", "asia", "aiza", "ya29.",
    "eyj",
)  # fmt: skip
"""Each sign contains one of these in lower case; searching them takes a tenth of the time."""

_ADDRESS = re.compile(r"://[^\s\"']+")
_PARAMETER = re.compile(r"([?&#;])([\w.-]{1,80})=([^&#;$`]*)")


def find_sign(text: str) -> re.Match[str] | None:
    """Return the first sign of a secret."""
    lowered = text.lower()
    return _SIGN.search(text) if any(part in lowered for part in _PARTS) else None


def remove_credentials(text: str) -> str:
    """Return a text without tokens and without the secrets in URLs."""
    hidden = re.sub(CREDENTIAL, MARK, text)
    hidden = re.sub(USERINFO, lambda match: f"{match[1] or match[2]}{MARK}@", hidden)
    return _ADDRESS.sub(lambda match: _PARAMETER.sub(_scrub_parameter, match[0]), hidden)


def _scrub_parameter(match: re.Match[str]) -> str:
    return f"{match[1]}{match[2]}={MARK}" if holds_secret(match[2], match[3]) else match[0]
