"""``warpdeck list``: list reports, and files that are being imported or have failed."""

import argparse
import json
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from profiledb import terminal
from profiledb.report.manifest import OLDER

if TYPE_CHECKING:
    from profiledb.library.catalog import Catalog

_PLAIN = re.compile(r"[A-Za-z0-9_+@%][A-Za-z0-9_+@%.,=-]{0,199}")
"""Names that a shell takes literally and that no command mistakes for an option."""


def add(commands: Any, common: argparse.ArgumentParser) -> None:
    command = terminal.add(commands, "list", "list the reports of the library", "--format json", parents=[common])
    command.add_argument(
        "--format",
        choices=("text", "json", "words"),
        default="text",
        help="words: names and ids for completion in a shell (default: text)",
    )
    command.set_defaults(command=run, asks="catalog")


def run(catalog: "Catalog", arguments: argparse.Namespace) -> None:
    """Print entries one per line, as JSON, or as completions for a shell."""
    if arguments.format == "words":
        print("\n".join(list_completions(catalog)))
        return
    entries = list_entries(catalog)
    if arguments.format == "json":
        print(json.dumps(entries, indent=1))
        return
    for e in entries:
        remark = f"  ({OLDER.removesuffix('.')})" if e["status"] == "older" else ""
        labels = ", ".join(e["labels"])
        line = (
            f"{e['status']:<9} {e['id'] or '-':<16}  {e['kind'] or '-':<5} {e['title'] or e['name']}  {labels}{remark}"
        )
        terminal.say(line.rstrip())


def list_completions(catalog: "Catalog") -> list[str]:
    """Return the texts that name a report on a command line: every id, and each unambiguous name that needs no
    quoting.
    """
    reports = catalog.reports()
    times = Counter(r.name for r in reports)
    return [r.name for r in reports if times[r.name] == 1 and _PLAIN.fullmatch(r.name)] + [r.id for r in reports]


def list_entries(catalog: "Catalog") -> list[dict[str, Any]]:
    """Describe every report, and every file being imported or failed, with the keys of ``list --format json``."""
    labels, links = catalog.labels(), catalog.links.all()
    entries = [
        {
            "id": r.id,
            "name": r.name,
            "title": r.title or None,
            "kind": r.kind,
            "status": "older" if r.is_older else "preparing" if r.preparing else "ready",
            "source_sha256": r.source_sha256,
            "gpu": r.gpu,
            "captured_at": r.captured_at,
            "labels": labels.get(r.id, []),
            "linked": links.get(r.id),
            "error": f"It was {OLDER}" if r.is_older else None,
        }
        for r in catalog.reports()
    ]
    return entries + [
        dict.fromkeys(("id", "title", "kind", "source_sha256", "gpu", "captured_at", "linked"))
        | {"name": job.name, "status": job.state, "labels": [], "error": job.message or None}
        for job in catalog.jobs()
        if job.state not in ("ready", "duplicate", "deleted", "dismissed")
    ]
