"""Facts from names: the class of a kernel, the phase of a range; the rule files define them."""

import re
import tomllib
from functools import cache
from pathlib import Path

RULES = Path(__file__).resolve().parents[2] / "profiledb" / "rules"


@cache
def _patterns(kind: str, file: str) -> tuple[tuple[re.Pattern[str], str], ...]:
    entries = tomllib.loads((RULES / file).read_text(encoding="utf-8"))[kind]
    entries = [one for one in entries if "beside" not in one]  # no sample has the company that these ask for
    flags = re.IGNORECASE | re.ASCII
    return tuple((re.compile(text, flags), one["name"]) for one in entries for text in one.get("patterns", []))


def _first(name: str, kind: str, file: str) -> str | None:
    return next((called for pattern, called in _patterns(kind, file) if pattern.search(name)), None)


@cache
def kernel_class(demangled: str) -> str:
    return _first(demangled, "class", "classes.toml") or "other"


@cache
def phase(name: str) -> str | None:
    """The phase that the name of a range says it is."""
    return _first(name, "phase", "phases.toml")


def is_warmup(name: str) -> bool:
    return re.search("warm[ _-]?up", name, re.IGNORECASE) is not None


def starred(name: str) -> str:
    """A name with a star for its last number, or for the one before a total: step_3, step 3/100."""
    total = re.search(r"\d+(?=\s?(?:/|of)\s?\d+\D*$)", name.replace("\n", " "), re.ASCII)
    numbers = [total] if total else list(re.finditer(r"\d+", name, re.ASCII))[-1:]
    return name[: numbers[0].start()] + "*" + name[numbers[0].end() :] if numbers else name
