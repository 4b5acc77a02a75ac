"""The settings: one table of name, default and help, read once from the environment."""

import hashlib
import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import lru_cache
from pathlib import Path
from typing import Any

from profiledb.errors import ConfigError

ROOT = Path(__file__).resolve().parent.parent
CHECKOUT = (ROOT / "pyproject.toml").is_file()
"""True in a checkout. An installed Warpdeck has no sample reports and writes nothing beside its own files."""
WORKLOADS = "python -m workloads" if CHECKOUT else "python -m warpdeck.workloads"
"""The command of the programs that come with Warpdeck, as pages advise it."""


_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")
_S3 = re.compile(r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/[A-Za-z0-9!_.*'()=-]+)*")


def find_user_data() -> Path:
    """Return the folder for a user's data (XDG Base Directory Specification, which ignores relative paths)."""
    named = Path(os.environ.get("XDG_DATA_HOME", ""))
    return (named if named.is_absolute() else Path("~/.local/share").expanduser()) / "warpdeck"


@dataclass(frozen=True)
class Setting:
    """A setting: its field of ``Settings``, its environment variable, default and help."""

    field: str
    variable: str
    default: str
    help: str


SETTINGS = (
    Setting(
        "data",
        "WARPDECK_DATA",
        str(ROOT if CHECKOUT else find_user_data()),
        "folder that holds inbox and library (default: the checkout; if installed, ~/.local/share/warpdeck)",
    ),
    Setting(
        "inbox",
        "WARPDECK_INBOX",
        "",
        "folder that is watched for reports, or s3://BUCKET/PREFIX (default: DATA/inbox)",
    ),
    Setting(
        "library",
        "WARPDECK_LIBRARY",
        "",
        "folder of the converted reports, or s3://BUCKET/PREFIX (default: DATA/library)",
    ),
    Setting("cache", "WARPDECK_CACHE", "", "folder for copies of a bucket's files (default: DATA/cache)"),
    Setting("cache_mb", "WARPDECK_CACHE_MB", "20480", "size of the copies of reports that are in a bucket, in MB"),
    Setting(
        "database",
        "WARPDECK_DATABASE",
        "",
        "PostgreSQL for a team's catalog, postgresql://USER@HOST/NAME (default: SQLite)",
    ),
    Setting(
        "samples",
        "WARPDECK_SAMPLES",
        str(ROOT / "sample_reports") if CHECKOUT else "off",
        "folder of sample reports to take in; 'off' for none (default: those of the checkout)",
    ),
    Setting("worker", "WARPDECK_WORKER", "auto", "'auto': the dashboard starts a worker where none runs; 'off': never"),
    Setting("nsys", "WARPDECK_NSYS", "", "path of nsys; 'off' to do without (default: the newest found)"),
    Setting("ncu", "WARPDECK_NCU", "", "path of ncu; 'off' to do without (default: the newest found)"),
    Setting("classes", "WARPDECK_CLASSES", "", "a TOML file of kernel classes that override the built-in ones"),
    Setting("phases", "WARPDECK_PHASES", "", "a TOML file of phases (forward ...) that override the built-in ones"),
    Setting(
        "rules", "WARPDECK_RULES", "", "a folder of rules of findings that add to the built-in ones or override them"
    ),
    Setting(
        "series", "WARPDECK_SERIES", "", "a TOML file of rules which reports make a series, over the built-in ones"
    ),
    Setting("scan_s", "WARPDECK_SCAN_S", "2", "seconds between two scans of the inbox"),
    Setting(
        "convert_timeout_s",
        "WARPDECK_CONVERT_TIMEOUT_S",
        "1800",
        "processor seconds for converting a file of 450 MB or more; smaller files get their share, at least 120",
    ),
    Setting("convert_memory_mb", "WARPDECK_CONVERT_MEMORY_MB", "12288", "memory that a conversion may use, in MB"),
    Setting("convert_disk_mb", "WARPDECK_CONVERT_DISK_MB", "65536", "largest file that a conversion may write, in MB"),
    Setting("memory_limit", "WARPDECK_MEMORY_LIMIT", "1GB", "memory that DuckDB may use while it loads a report"),
    Setting("answers_mb", "WARPDECK_ANSWERS_MB", "1024", "size of the answers kept on disk, in MB; 0 keeps none"),
    Setting("sql_timeout_s", "WARPDECK_SQL_TIMEOUT_S", "20", "seconds that a question in SQL may take"),
    Setting("sql_memory_mb", "WARPDECK_SQL_MEMORY_MB", "1024", "memory that a question in SQL may use, in MB"),
    Setting("max_upload_mb", "WARPDECK_MAX_UPLOAD_MB", "4096", "largest upload, in MB"),
    Setting("uploads_mb", "WARPDECK_UPLOADS_MB", "8192", "total size of the uploads in progress, in MB"),
    Setting("login_claim", "WARPDECK_LOGIN_CLAIM", "roles", "claim with the role of a user; a dot goes into an object"),
    Setting(
        "login_admins", "WARPDECK_LOGIN_ADMINS", "", "values of the claim that may do everything (default: nobody)"
    ),
    Setting(
        "login_editors", "WARPDECK_LOGIN_EDITORS", "editor", "values of the claim that may edit; '*' for every user"
    ),
    Setting(
        "login_viewers", "WARPDECK_LOGIN_VIEWERS", "viewer", "values of the claim that may view; '*' for every user"
    ),
    Setting("login_hours", "WARPDECK_LOGIN_HOURS", "12", "hours until a user has to log in again"),
    Setting(
        "login_link_days", "WARPDECK_LOGIN_LINK_DAYS", "0", "days that a link without a login may last; 0 allows none"
    ),
    Setting("audit_days", "WARPDECK_AUDIT_DAYS", "400", "days that entries of the audit are kept; 0: without end"),
    Setting(
        "retention",
        "WARPDECK_RETENTION",
        "",
        "a TOML file of rules which reports and uploads go, and when; ``off``: none do, as without a database",
    ),
    Setting("log", "WARPDECK_LOG", "plain", "form of the log: 'plain', or 'json' for an object a line"),
    Setting("metrics", "WARPDECK_METRICS", "", "PORT or HOST:PORT on which the server tells Prometheus its figures"),
    Setting(
        "worker_metrics",
        "WARPDECK_WORKER_METRICS",
        "",
        "PORT or HOST:PORT on which the worker tells Prometheus its own",
    ),
)


_READ = (*(setting.variable for setting in SETTINGS), *_ENDPOINTS)
"""The variables that make the settings."""


@dataclass(frozen=True)
class Settings:
    """The settings of this process; ``SETTINGS`` has the help of each.

    If ``library_url`` names a bucket, ``library`` is the folder of its copies; if ``inbox_url`` does, ``inbox`` is a
    folder for uploads on their way.
    """

    data: Path
    inbox: Path
    library: Path
    cache: Path
    cache_mb: int
    database: str = field(repr=False)  # may hold a password
    samples: Path | None
    worker: str
    nsys: str
    ncu: str
    classes: Path | None
    phases: Path | None
    rules: Path | None
    series: Path | None
    scan_s: float
    convert_timeout_s: float
    convert_memory_mb: int
    convert_disk_mb: int
    memory_limit: str
    answers_mb: int
    sql_timeout_s: float
    sql_memory_mb: int
    max_upload_mb: int
    uploads_mb: int
    login_claim: str
    login_admins: frozenset[str]
    login_editors: frozenset[str]
    login_viewers: frozenset[str]
    login_hours: float
    login_link_days: float
    audit_days: float
    retention: Path | None
    retention_by_default: bool
    log: str
    metrics: str
    worker_metrics: str
    library_url: str
    inbox_url: str

    @property
    def library_text(self) -> str:
        """Return the library as the user named it: a folder or a bucket."""
        return self.library_url or str(self.library)

    @property
    def inbox_text(self) -> str:
        """Return the inbox as the user named it: a folder or a bucket."""
        return self.inbox_url or str(self.inbox)


MOST_LINK_DAYS = 365.0


def load(**override: str | Path | None) -> Settings:
    """Read the settings from the environment; ``override`` (command-line arguments; None counts as not given) wins.

    Raises:
        ConfigError: a number is malformed, or less than 1 where it must not be.
    """
    given = tuple((name, os.environ[name]) for name in _READ if name in os.environ)
    return _build_settings(given, tuple((field, str(value)) for field, value in override.items() if value is not None))


@lru_cache(maxsize=8)  # a page asks a hundred times
def _build_settings(given: tuple[tuple[str, str], ...], override: tuple[tuple[str, str], ...]) -> Settings:
    """Build the settings from the variables that the environment has and from the arguments of a command."""
    environment = dict(given)
    text = {s.field: environment.get(s.variable, "").strip() or s.default for s in SETTINGS}
    text |= dict(override) | {"endpoint": read_endpoint(environment)}
    data = Path(text["data"]).expanduser().absolute()
    cache = _parse_folder(text["cache"]) or data / "cache"
    url, inbox_url = _parse_bucket(text, "library"), _parse_bucket(text, "inbox")
    if url and inbox_url and f"{url}/".startswith(f"{inbox_url}/"):
        raise ConfigError(
            f"{name_variable('library')} lies in {name_variable('inbox')}: name another prefix of the bucket."
        )
    values: dict[str, Any] = {
        "data": data,
        "inbox": _choose_copy_folder(cache, inbox_url, text["endpoint"])
        or _parse_folder(text["inbox"])
        or data / "inbox",
        "inbox_url": inbox_url,
        "library": _choose_copy_folder(cache, url, text["endpoint"])
        or _parse_folder(text["library"])
        or data / "library",
        "library_url": url,
        "cache": cache,
        "cache_mb": int(_parse_number(text, "cache_mb", 1)),
        "database": _parse_database(text["database"]),
        "samples": _parse_folder(text["samples"]),
        "classes": _parse_folder(text["classes"]),
        "phases": _parse_folder(text["phases"]),
        "rules": _parse_folder(text["rules"]),
        "series": _parse_folder(text["series"]),
        "scan_s": _parse_number(text, "scan_s"),
        "convert_timeout_s": _parse_number(text, "convert_timeout_s"),
        "convert_memory_mb": int(_parse_number(text, "convert_memory_mb")),
        "convert_disk_mb": int(_parse_number(text, "convert_disk_mb")),
        "answers_mb": int(_parse_number(text, "answers_mb")),
        "sql_timeout_s": _parse_number(text, "sql_timeout_s", 1),
        "sql_memory_mb": int(_parse_number(text, "sql_memory_mb", 1)),
        "max_upload_mb": int(_parse_number(text, "max_upload_mb", 1)),
        "uploads_mb": int(_parse_number(text, "uploads_mb", 1)),
        "login_admins": _split_values(text["login_admins"]),
        "login_editors": _split_values(text["login_editors"]),
        "login_viewers": _split_values(text["login_viewers"]),
        "login_hours": _parse_number(text, "login_hours", 1),
        "login_link_days": min(_parse_number(text, "login_link_days"), MOST_LINK_DAYS),
        "audit_days": _parse_number(text, "audit_days"),
        "retention": _parse_folder(text["retention"]),
        "retention_by_default": not text["retention"] and bool(text["database"]),
        "log": _parse_choice(text, "log", ("plain", "json")),
    }
    values = text | values
    return Settings(**{f.name: values[f.name] for f in fields(Settings)})


def _parse_folder(text: str) -> Path | None:
    return None if text in ("", "off") else Path(text).expanduser().absolute()


def read_endpoint(environment: Mapping[str, str] = os.environ) -> str:
    """Return the server of buckets from the usual variables of S3 clients; empty for Amazon's."""
    return next((address for name in _ENDPOINTS if (address := environment.get(name, "").strip())), "")


def _parse_bucket(text: dict[str, str], field: str) -> str:
    """Return the bucket that a setting names; empty for a folder. Errors do not repeat it, because it may contain
    keys.
    """
    if "://" not in text[field]:
        return ""
    url = text[field].rstrip("/")
    if not _S3.fullmatch(url) or not {".", ".."}.isdisjoint(url.split("/")):
        raise ConfigError(f"{name_variable(field)} must be a folder, or a bucket as s3://BUCKET/PREFIX.")
    return url


def _choose_copy_folder(cache: Path, url: str, server: str) -> Path | None:
    """Return the folder for copies of a bucket, which depends on its server, too."""
    if not url:
        return None
    number = hashlib.sha256(f"{server} {url}".encode()).hexdigest()[:12]
    return cache / f"{url.removeprefix('s3://').partition('/')[0]}-{number}"


def _parse_database(text: str) -> str:
    if text and not text.startswith(("postgresql://", "postgres://")):  # not repeated, because it may hold a password
        raise ConfigError("WARPDECK_DATABASE must begin with postgresql://.")
    return text


def list_variables(prefix: str) -> list[str]:
    """Return the variables of settings with this prefix that the environment sets."""
    return [s.variable for s in SETTINGS if s.variable.startswith(prefix) and os.environ.get(s.variable, "").strip()]


def _split_values(text: str) -> frozenset[str]:
    """Split a text at its commas."""
    return frozenset(part.strip() for part in text.split(",")) - {""}


def _parse_choice(text: dict[str, str], field: str, words: tuple[str, ...]) -> str:
    if text[field] not in words:
        raise ConfigError(f"{name_variable(field)} must be {' or '.join(words)}, not {text[field]!r}.")
    return text[field]


def _parse_number(text: dict[str, str], field: str, least: int = 0) -> float:
    try:
        value = float(text[field])
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or value < least:
        raise ConfigError(f"{name_variable(field)} must be a number from {least} up, not {text[field]!r}.")
    return value


def name_variable(field: str) -> str:
    """Return the environment variable of a field of ``Settings``."""
    return next(s.variable for s in SETTINGS if s.field == field)
