"""Series: reports that belong together by rules/series.toml, ordered by commit or capture."""

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from profiledb.errors import AnalysisError
from profiledb.rules.series import Rules
from profiledb.studies.trends.measures import shorten_name
from profiledb.studies.trends.summary_store import Facts
from profiledb.words import visible

_NUMBER = re.compile(r"[-_. ]?(?:\d{4}-?\d\d-?\d\d(?:[-_T]?[\d:.-]+)?|\d+)$")
_ENDINGS = re.compile(
    r"(?:\.pt\.trace\.json(?:\.gz)?|\.nsys-rep|\.qdrep|\.sqlite|\.json(?:\.gz)?|\.zip)$", re.IGNORECASE
)
_COMMIT = re.compile(r"[0-9A-Za-z._/-]{4,80}")
_FOLDERS = re.compile(r"^\S*/(?=\S)")


@dataclass(frozen=True)
class Point:
    """A report in its series.

    Args:
        facts: its facts.
        at: time of the commit, else of the capture; UTC.
        commit: the commit, as far as it is known.
        branch: its branch.
        versions: versions of libraries by name.
        around: machine, driver, tool, capture and basis: a change of one of these is no change of the code.
        moved: True if somebody put it into this series.
    """

    facts: Facts
    at: datetime
    commit: str | None
    branch: str | None
    versions: tuple[tuple[str, str], ...]
    around: tuple[tuple[str, str], ...]
    moved: bool = False

    @property
    def id(self) -> str:
        """Id of its report."""
        return self.facts.report_id


@dataclass(frozen=True)
class Series:
    """Reports that belong together, in order of time."""

    name: str
    points: tuple[Point, ...]

    @property
    def key(self) -> str:
        """Key in addresses."""
        return hash_name(self.name)


def hash_name(name: str) -> str:
    """Return the key in addresses of a series by its name."""
    return hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()[:12]


def build_series(
    facts: Mapping[str, Facts],
    rules: Rules,
    labels: Mapping[str, Sequence[str]],
    choices: Mapping[str, str],
) -> dict[str, Series]:
    """Return all series by name, of the reports with these facts."""
    points_by_series: dict[str, list[Point]] = {}
    for report_id, known in facts.items():
        chosen = choices.get(report_id)
        if chosen == "":
            continue
        teller = _make_teller(known, rules, labels.get(report_id, ()))
        points_by_series.setdefault(chosen or name_series(known, rules, teller), []).append(
            make_point(known, rules, teller, moved=bool(chosen))
        )
    return {one: Series(one, tuple(sorted(points, key=sort_key))) for one, points in sorted(points_by_series.items())}


def sort_key(point: Point) -> tuple[datetime, str, str]:
    """Sort key: time of the commit, and captures of one commit among themselves."""
    return point.at, point.facts.captured_at, point.id


def make_lone_point(facts: Facts, rules: Rules, labels: Sequence[str]) -> Point:
    """Return a report as a point, whatever series it is in."""
    return make_point(facts, rules, _make_teller(facts, rules, labels), moved=False)


def find_name(names: Sequence[str], asked: str) -> str:
    """Return the series with this name or key, or the only one whose name contains this text.

    Raises:
        AnalysisError: there is none, or several.
    """
    exact = [name for name in names if asked in (name, hash_name(name))]
    fitting = exact or [name for name in names if asked and asked.casefold() in name.casefold()]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        listing = ", ".join(f"{hash_name(name)} ({name})" for name in fitting[:5])
        raise AnalysisError(f"{len(fitting)} series are called like {asked!r}: {listing}.", hint="Name one by its key.")
    raise AnalysisError(f"No series is called {asked!r}.", hint="warpdeck series lists all.")


Tell = Callable[[str], str | None]


def _make_teller(facts: Facts, rules: Rules, labels: Sequence[str]) -> Tell:
    """Return a function that answers a fact by its name in the rules; it is called dozens of times per report."""
    known = {f"meta.{key}": value for key, value in facts.meta.items()}
    known |= {
        f"label.{key}": value for key, separator, value in (one.partition("=") for one in reversed(labels)) if separator
    }
    known |= {"gpu": facts.gpu or "", "kind": facts.kind}

    def tell(fact: str) -> str | None:
        if fact == "command":
            return _normalize_command(facts.command, rules.ignore) if facts.command else None
        return shorten_stem(facts.name) if fact == "name" else known.get(fact) or None

    return tell


def name_series(facts: Facts, rules: Rules, tell: Tell) -> str:
    """Return the name of a report's series: the program, then the facts that keep it apart."""
    program = _find_first(tell, rules.program) or shorten_stem(facts.name)
    apart = [f"{_choose_prefix(fact)}{value}" for fact in rules.apart if (value := tell(fact))]
    return shorten_name(" · ".join([program, *apart]))


def _choose_prefix(fact: str) -> str:
    """Return the word before a fact in the name of a series; empty if the value explains itself."""
    return f"{fact.rpartition('.')[2]} " if "." in fact else ""


def make_point(facts: Facts, rules: Rules, tell: Tell, *, moved: bool) -> Point:
    """Return a report as a point of its series."""
    commit = _find_first(tell, rules.commit)
    around = {
        "machine": facts.machine, "driver": facts.driver, "profiler": facts.tool, "recorded data": facts.capture,
        "steps": facts.basis, "GPU": facts.gpu, "GPUs": str(facts.gpus or ""),
    }  # fmt: skip
    versions = {fact.rpartition(".")[2]: value for fact in rules.versions if (value := tell(fact))}
    return Point(
        facts,
        _parse_moment(_find_first(tell, rules.date))
        or _parse_moment(facts.captured_at)
        or datetime.fromtimestamp(0, UTC),
        visible(commit) if commit and _COMMIT.fullmatch(commit) else None,
        _find_first(tell, rules.branch),
        tuple(versions.items()),
        tuple((what, value or "") for what, value in around.items()),
        moved,
    )


def _find_first(tell: Tell, facts: Iterable[str]) -> str | None:
    return next((value for fact in facts if (value := tell(fact))), None)


def _normalize_command(command: str, ignore: Iterable[str]) -> str:
    """Return a command without the folder of its program and without ignored arguments."""
    for pattern in ignore:
        command = re.sub(pattern, "", command)
    return " ".join(_FOLDERS.sub("", command).split())


def shorten_stem(file: str) -> str:
    """Return the name of a file without its ending and its last number or date."""
    stem = _ENDINGS.sub("", file)
    return _NUMBER.sub("", stem) or stem


def _parse_moment(text: str | None) -> datetime | None:
    try:
        moment = datetime.fromisoformat((text or "").strip())
    except ValueError:
        return None
    try:
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except OverflowError:  # a year outside of every time zone's range
        return None
