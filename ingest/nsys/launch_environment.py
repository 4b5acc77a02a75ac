"""Read which rank of which run a report is from the environment that a launcher gave the program.

torchrun, SLURM, Open MPI, MPICH and PMIx tell a process its rank in environment variables, and nsys stores the
environment. Only what names the rank leaves it: whole numbers, and a hash of the run's identity (column_allowlist.py
keeps every environment out of a report). The names of the rows are ours, since each launcher has names of its own.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping

from ingest.nsys import column_allowlist
from ingest.nsys.source import Facts

RANK, RANKS, RESTARTS, RUN, HOST = "RUN_RANK", "RUN_RANKS", "RUN_RESTARTS", "RUN_ID", "RUN_HOST"
"""Names of the rows: rank, ranks of the run, restarts of its launcher so far, hash of its identity, its machine."""
_TASKS = "SLURM_STEP_NUM_TASKS"
"""Set in the tasks of SLURM. A batch script is no rank, though it has SLURM_PROCID and SLURM_NTASKS as well."""
_NUMBERS = {
    RANK: ("RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"),
    RANKS: ("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", _TASKS),
    RESTARTS: ("TORCHELASTIC_RESTART_COUNT", "SLURM_RESTART_COUNT"),
}
"""Variables with a whole number, the innermost launcher first: torchrun runs inside a task of SLURM."""
_IDENTITIES = (
    ("TORCHELASTIC_RUN_ID",),
    ("PMIX_NAMESPACE",),
    ("OMPI_MCA_ess_base_jobid",),
    ("SLURM_JOB_ID", "SLURM_STEP_ID"),
)
_HOST_NAME = "Hostname"
_LONGEST_HOST = 255
_UNSET = "none"
"""What torchrun calls a run without a name of its own."""
_WHOLE = re.compile(r"[0-9]{1,6}")
_SEPARATORS = re.compile(r"[\n;\0]")


def read_launch(rows: Mapping[str, Facts]) -> list[tuple[str, str]]:
    """Return the facts about the run as rows of names and values; none if processes of the report disagree."""
    environments: dict[str, dict[str, str]] = {}
    for table in rows.values():
        for name, value in table:
            if value and column_allowlist.ENVIRONMENT.search(name):
                environments.setdefault(name.partition(":")[0], {}).update(_list_variables(value))
    rank_facts = [facts for one in environments.values() if RANK in (facts := _read_facts(one))]
    if not rank_facts or any(one[RANK] != rank_facts[0][RANK] for one in rank_facts):
        return []
    host = next((value for table in rows.values() for name, value in table if name == _HOST_NAME and value), "")
    return [*rank_facts[0].items(), *([(HOST, host[:_LONGEST_HOST])] if host else [])]


def _list_variables(text: str) -> Iterator[tuple[str, str]]:
    for part in _SEPARATORS.split(text):
        name, equals, value = part.partition("=")
        if equals:
            yield name, value.strip('"')


def _read_facts(variables: Mapping[str, str]) -> dict[str, str]:
    facts = {}
    ignored = () if _TASKS in variables else ("SLURM_PROCID",)
    for fact, names in _NUMBERS.items():
        value = next((variables[name] for name in names if name in variables and name not in ignored), "")
        if _WHOLE.fullmatch(value):
            facts[fact] = str(int(value))
    for names in _IDENTITIES:
        values = [variables.get(name, "") for name in names]
        if values[0] and values[0] != _UNSET:
            facts[RUN] = hashlib.sha256("\0".join((names[0], *values)).encode()).hexdigest()[:16]
            break
    return facts
