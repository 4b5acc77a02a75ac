"""The PyTorch operator that launched a kernel, from the report or a linked trace."""

from profiledb import words
from profiledb.errors import NotCapturedError, NotLinkedError
from profiledb.library.library import Library
from profiledb.query import analysis

_LABELS = {
    "operator": "Operator", "shapes": "Input shapes", "types": "Input types", "modules": "Module",
    "stack": "Python stack",
}  # fmt: skip


def describe_operator(library: Library, report_id: str, kernel_id: int) -> list[tuple[str, str]]:
    """Return label and text of each known fact about the operator of a kernel; empty if it is unknown."""
    try:
        answer = analysis.run(library, report_id, "kernel_operators", {"launch": kernel_id})
    except (NotCapturedError, NotLinkedError):
        return []
    facts = answer.iloc[0].to_dict() if len(answer) else {}
    return [(label, words.visible(facts[name])) for name, label in _LABELS.items() if isinstance(facts.get(name), str)]
