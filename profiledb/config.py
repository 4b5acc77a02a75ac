"""The settings: one table of name, default and help, read once from the environment."""

import os
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from profiledb.errors import ConfigError

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Setting:
    """A setting: the field of Settings it fills, its environment variable, its default and what it does."""

    field: str
    variable: str
    default: str
    help: str


SETTINGS = (
    Setting("data", "WARPDECK_DATA", str(ROOT), "folder that holds inbox and library"),
    Setting("inbox", "WARPDECK_INBOX", "", "folder that is watched for reports (default: DATA/inbox)"),
    Setting("library", "WARPDECK_LIBRARY", "", "folder of the converted reports (default: DATA/library)"),
    Setting("samples", "WARPDECK_SAMPLES", str(ROOT / "sample_reports"), "sample reports to take in; 'off' for none"),
    Setting("worker", "WARPDECK_WORKER", "auto", "'auto': the dashboard starts a worker where none runs; 'off': never"),
    Setting("nsys", "WARPDECK_NSYS", "", "path of nsys; 'off' to do without (default: the newest found)"),
    Setting("ncu", "WARPDECK_NCU", "", "path of ncu; 'off' to do without (default: the newest found)"),
    Setting("classes", "WARPDECK_CLASSES", "", "a TOML file of kernel classes that override the built-in ones"),
    Setting("phases", "WARPDECK_PHASES", "", "a TOML file of phases (forward ...) that override the built-in ones"),
    Setting("scan_s", "WARPDECK_SCAN_S", "2", "seconds between two looks at the inbox"),
    Setting("convert_timeout_s", "WARPDECK_CONVERT_TIMEOUT_S", "1800", "seconds after which a conversion is stopped"),
    Setting("memory_limit", "WARPDECK_MEMORY_LIMIT", "1GB", "memory that the load of one report may use in DuckDB"),
    Setting("max_upload_mb", "WARPDECK_MAX_UPLOAD_MB", "4096", "largest report taken, in MB"),
)


@dataclass(frozen=True)
class Settings:
    """The settings of this process; see SETTINGS for what each one means."""

    data: Path
    inbox: Path
    library: Path
    samples: Path | None
    worker: str
    nsys: str
    ncu: str
    classes: Path | None
    phases: Path | None
    scan_s: float
    convert_timeout_s: float
    memory_limit: str
    max_upload_mb: int


def load(**override: str | Path | None) -> Settings:
    """The settings from the environment, with ``override`` (command-line arguments; None counts as not given) on top.

    Raises:
        ConfigError: a number is not a number.
    """
    text = {s.field: os.environ.get(s.variable, "").strip() or s.default for s in SETTINGS}
    text |= {field: str(value) for field, value in override.items() if value is not None}
    data = Path(text["data"]).expanduser().absolute()
    values: dict[str, Any] = {
        "data": data,
        "inbox": _folder(text["inbox"]) or data / "inbox",
        "library": _folder(text["library"]) or data / "library",
        "samples": _folder(text["samples"]),
        "classes": _folder(text["classes"]),
        "phases": _folder(text["phases"]),
        "scan_s": _number(text, "scan_s"),
        "convert_timeout_s": _number(text, "convert_timeout_s"),
        "max_upload_mb": int(_number(text, "max_upload_mb")),
    }
    return Settings(**{f.name: values.get(f.name, text[f.name]) for f in fields(Settings)})


def _folder(text: str) -> Path | None:
    return None if text in ("", "off") else Path(text).expanduser().absolute()


def _number(text: dict[str, str], field: str) -> float:
    try:
        return float(text[field])
    except ValueError as error:
        variable = next(s.variable for s in SETTINGS if s.field == field)
        raise ConfigError(f"{variable} must be a number, not {text[field]!r}.") from error
