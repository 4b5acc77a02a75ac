"""The settings, each declared once with its default, help and parser, and read from the environment."""

import hashlib
import math
import os
import re
from collections.abc import Callable, Mapping
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
MOST_LINK_DAYS = 365.0

_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")
_S3 = re.compile(r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/[A-Za-z0-9!_.*'()=-]+)*")
_Parser = Callable[[str, str], Any]
"""Converts the text of a setting, whose variable errors name."""


def find_user_data() -> Path:
    """Return the folder for a user's data (XDG Base Directory Specification, which ignores relative paths)."""
    named = Path(os.environ.get("XDG_DATA_HOME", ""))
    return (named if named.is_absolute() else Path("~/.local/share").expanduser()) / "warpdeck"


def name_variable(field: str) -> str:
    """Return the environment variable of a field of ``Settings``."""
    return f"WARPDECK_{field.upper()}"


def _keep_text(text: str, _: str) -> str:
    return text


def _parse_data(text: str, _: str) -> Path:
    return Path(text).expanduser().absolute()


def _parse_path(text: str, _: str) -> Path | None:
    return None if text in ("", "off") else Path(text).expanduser().absolute()


def _parse_database(text: str, variable: str) -> str:
    if text and not text.startswith(("postgresql://", "postgres://")):  # not repeated, because it may hold a password
        raise ConfigError(f"{variable} must begin with postgresql://.")
    return text


def _split_values(text: str, _: str) -> frozenset[str]:
    """Split a text at its commas."""
    return frozenset(part.strip() for part in text.split(",")) - {""}


def _parse_choice(*words: str) -> _Parser:
    def parse(text: str, variable: str) -> str:
        if text not in words:
            raise ConfigError(f"{variable} must be {' or '.join(words)}, not {text!r}.")
        return text

    return parse


def _parse_number(least: int = 0, most: float = math.inf) -> _Parser:
    """Return a parser of numbers; larger ones than ``most`` count as that."""

    def parse(text: str, variable: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value) or value < least:
            raise ConfigError(f"{variable} must be a number from {least} up, not {text!r}.")
        return min(value, most)

    return parse


def _parse_whole(least: int = 0) -> _Parser:
    parse = _parse_number(least)
    return lambda text, variable: int(parse(text, variable))


def _declare(default: str, about: str, parse: _Parser = _keep_text, *, shown: bool = True) -> Any:
    """Declare a setting by its default as a text, its help and its parser."""
    return field(metadata={"default": default, "help": about, "parse": parse}, repr=shown)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings of this process; ``SETTINGS`` lists those that the environment gives.

    If ``library_url`` names a bucket, ``library`` is the folder of its copies; if ``inbox_url`` does, ``inbox`` is a
    folder for uploads on their way.
    """

    library_url: str
    inbox_url: str
    retention_by_default: bool
    data: Path = _declare(
        str(ROOT if CHECKOUT else find_user_data()),
        "folder that holds inbox and library (default: the checkout; if installed, ~/.local/share/warpdeck)",
        _parse_data,
    )
    inbox: Path = _declare(
        "", "folder that is watched for reports, or s3://BUCKET/PREFIX (default: DATA/inbox)", _parse_path
    )
    library: Path = _declare(
        "", "folder of the converted reports, or s3://BUCKET/PREFIX (default: DATA/library)", _parse_path
    )
    cache: Path = _declare("", "folder for copies of a bucket's files (default: DATA/cache)", _parse_path)
    cache_mb: int = _declare("20480", "size of the copies of reports that are in a bucket, in MB", _parse_whole(1))
    database: str = _declare(
        "",
        "PostgreSQL for a team's catalog, postgresql://USER@HOST/NAME (default: SQLite)",
        _parse_database,
        shown=False,  # may hold a password
    )
    samples: Path | None = _declare(
        str(ROOT / "sample_reports") if CHECKOUT else "off",
        "folder of sample reports to take in; 'off' for none (default: those of the checkout)",
        _parse_path,
    )
    worker: str = _declare("auto", "'auto': the dashboard starts a worker where none runs; 'off': never")
    nsys: str = _declare("", "path of nsys; 'off' to do without (default: the newest found)")
    ncu: str = _declare("", "path of ncu; 'off' to do without (default: the newest found)")
    classes: Path | None = _declare("", "a TOML file of kernel classes that override the built-in ones", _parse_path)
    phases: Path | None = _declare(
        "", "a TOML file of phases (forward ...) that override the built-in ones", _parse_path
    )
    rules: Path | None = _declare(
        "", "a folder of rules of findings that add to the built-in ones or override them", _parse_path
    )
    series: Path | None = _declare("", "a TOML file with rules for series that override the built-in ones", _parse_path)
    scan_s: float = _declare("2", "seconds between two scans of the inbox", _parse_number())
    convert_timeout_s: float = _declare(
        "1800",
        "processor seconds for converting a file of 450 MB or more; smaller files get their share, at least 120",
        _parse_number(),
    )
    convert_memory_mb: int = _declare("12288", "memory that a conversion may use, in MB", _parse_whole())
    convert_disk_mb: int = _declare("65536", "largest file that a conversion may write, in MB", _parse_whole())
    memory_limit: str = _declare("1GB", "memory that DuckDB may use while it loads a report")
    answers_mb: int = _declare("1024", "size of the answers kept on disk, in MB; 0 keeps none", _parse_whole())
    sql_timeout_s: float = _declare("20", "seconds that a question in SQL may take", _parse_number(1))
    sql_memory_mb: int = _declare("1024", "memory that a question in SQL may use, in MB", _parse_whole(1))
    max_upload_mb: int = _declare("4096", "largest upload, in MB", _parse_whole(1))
    uploads_mb: int = _declare("8192", "total size of the uploads in progress, in MB", _parse_whole(1))
    login_claim: str = _declare("roles", "claim with the role of a user; a dot reaches into an object")
    login_admins: frozenset[str] = _declare(
        "", "values of the claim that may do everything (default: nobody)", _split_values
    )
    login_editors: frozenset[str] = _declare(
        "editor", "values of the claim that may edit; '*' for every user", _split_values
    )
    login_viewers: frozenset[str] = _declare(
        "viewer", "values of the claim that may view; '*' for every user", _split_values
    )
    login_hours: float = _declare("12", "hours until a user has to log in again", _parse_number(1))
    login_link_days: float = _declare(
        "0", "days that a link without a login may last; 0 allows none", _parse_number(most=MOST_LINK_DAYS)
    )
    audit_days: float = _declare("400", "days that entries of the audit are kept; 0: forever", _parse_number())
    retention: Path | None = _declare(
        "",
        "a TOML file with rules for removing reports and uploads; ``off``: none are, as without a database",
        _parse_path,
    )
    log: str = _declare(
        "plain", "form of the log: 'plain', or 'json' for an object a line", _parse_choice("plain", "json")
    )
    metrics: str = _declare("", "PORT or HOST:PORT of the server's metrics for Prometheus")
    worker_metrics: str = _declare("", "PORT or HOST:PORT of the worker's metrics for Prometheus")

    @property
    def library_text(self) -> str:
        """Return the library as the user named it: a folder or a bucket."""
        return self.library_url or str(self.library)

    @property
    def inbox_text(self) -> str:
        """Return the inbox as the user named it: a folder or a bucket."""
        return self.inbox_url or str(self.inbox)


@dataclass(frozen=True)
class Setting:
    """A setting: its field of ``Settings``, its environment variable, default, help and parser."""

    field: str
    variable: str
    default: str
    help: str
    parse: _Parser


SETTINGS = tuple(Setting(one.name, name_variable(one.name), **one.metadata) for one in fields(Settings) if one.metadata)
_READ = (*(setting.variable for setting in SETTINGS), *_ENDPOINTS)
"""The variables that make the settings."""


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
    text = {one.field: environment.get(one.variable, "").strip() or one.default for one in SETTINGS} | dict(override)
    endpoint = read_endpoint(environment)
    url, inbox_url = _parse_bucket(text, "library"), _parse_bucket(text, "inbox")
    if url and inbox_url and f"{url}/".startswith(f"{inbox_url}/"):
        raise ConfigError(
            f"{name_variable('library')} lies in {name_variable('inbox')}: name another prefix of the bucket."
        )
    values = {one.field: one.parse(text[one.field], one.variable) for one in SETTINGS}
    data = values["data"]
    cache = values["cache"] or data / "cache"
    values |= {
        "cache": cache,
        "inbox": _choose_copy_folder(cache, inbox_url, endpoint) or values["inbox"] or data / "inbox",
        "library": _choose_copy_folder(cache, url, endpoint) or values["library"] or data / "library",
        "inbox_url": inbox_url,
        "library_url": url,
        "retention_by_default": not text["retention"] and bool(text["database"]),
    }
    return Settings(**values)


def read_endpoint(environment: Mapping[str, str] = os.environ) -> str:
    """Return the server of buckets from the usual variables of S3 clients; empty for Amazon's."""
    return next((address for name in _ENDPOINTS if (address := environment.get(name, "").strip())), "")


def _parse_bucket(text: Mapping[str, str], field: str) -> str:
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


def list_variables(prefix: str) -> list[str]:
    """Return the variables of settings with this prefix that the environment sets."""
    return [s.variable for s in SETTINGS if s.variable.startswith(prefix) and os.environ.get(s.variable, "").strip()]
