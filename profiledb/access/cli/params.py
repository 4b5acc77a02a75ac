"""``--param NAME=VALUE``, and the help of arguments that several commands share."""

from profiledb.errors import AnalysisError

REPORT = "id of the report, the start of its id, or its file name"
"""Help of an argument that names a report."""
PARAM = "parameter of the analysis or of the selection; may be repeated; the command analyses lists them"
OUTPUT = "write to this file instead of printing"
STARTUP = "cover what the program does before and after its steps, too"
DEFAULT = "default: %(default)s"


def parse_params(texts: list[str]) -> dict[str, str | tuple[str, ...]]:
    """Parse the values of ``--param``; a range may be repeated. Raises AnalysisError."""
    pairs = [text.partition("=") for text in texts]
    if wrong := [name for name, equals, _ in pairs if not equals]:
        raise AnalysisError(f"--param takes NAME=VALUE, not {wrong[0]!r}.")
    params: dict[str, str | tuple[str, ...]] = {name: value for name, _, value in pairs}
    for name in params:
        values = tuple(value for other, _, value in pairs if other == name)
        if len(values) > 1 and name != "range":
            raise AnalysisError(f"--param {name} can be given only once.", hint="Only range may be repeated.")
        params[name] = values if len(values) > 1 else values[0]
    return params
