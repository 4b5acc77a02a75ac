"""Words of other programs, made fit to be stored: a converter or a database may quote what it read.

What a report holds of its machine (environment variables, tokens on a command line) is secret. A message of DuckDB is
kept up to its first quotation; a converter's words lose the values of assignments, options and addresses that say that
they are secret, and whatever looks like a token.
"""

import re

MARK = "[removed]"
LONGEST = 4000
"""Characters of another program's words that are kept."""

_WORDS = (
    r"token|secret|passw(?:or)?d|passphrase|pwd|api[_-]?key|access[_-]?key|private[_-]?key|credentials?|auth|cookie"
)
SECRET_NAME = re.compile(
    r"^(?!(?:OLD)?PWD$).*(?:TOKEN|SECRET|PASS|PWD|KEY|CREDENTIAL|AUTH|COOKIE|SESSION|DSN|WEBHOOK)", re.IGNORECASE
)
"""Names of environment variables whose values are secret by themselves; PWD is the folder, which paths begin with."""
CREDENTIAL = (
    r"\b(?:hf_[A-Za-z0-9]{16,}|gh[pousr]_[A-Za-z0-9]{16,}|github_pat_\w{16,}|glpat-[\w-]{16,}|sk-[\w-]{16,}"
    r"|xox[abprs]-[\w-]{10,}|A(?:KIA|SIA)[A-Z0-9]{12,}|AIza[\w-]{30,}|ya29\.[\w-]{16,}"
    r"|eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?|[Bb]earer [\w.~+/-]{8,}=*)"
)
"""What tokens of well-known services look like; read by Python and by DuckDB (RE2)."""
USERINFO = r"(://[^/\s:@]*:)[^/\s@]+@"
"""The password in an address, behind what stays of it."""
OPTION = re.compile(rf"^(--?(?:[a-z0-9]+[-_])*(?:{_WORDS})(?:[-_][a-z0-9]+)*)(=.*)?$", re.IGNORECASE | re.DOTALL)
"""An option of a command line that takes a secret, and its value where it stands in the same argument."""

_ASSIGNED = re.compile(rf"(?i)\b([\w-]{{0,40}}(?:{_WORDS})\w{{0,40}})(\s*[=:]\s*|\s+)\S+")
_VARIABLE = re.compile(r"(?<![\w-])([A-Za-z_]\w{2,}=)\S+")
_UNPRINTABLE = re.compile(r"[^\n\t\x20-\x7e\xa0-\ud7ff\ue000-\U0010ffff]+")
_QUOTATION = re.compile(r"[\"'`\n]")


def words(text: str) -> str:
    """A converter's words without values that may be secret, without control characters, and cut at the front."""
    kept = _UNPRINTABLE.sub(" ", text).strip()[-4 * LONGEST :]
    kept = re.sub(USERINFO, rf"\1{MARK}@", re.sub(CREDENTIAL, MARK, kept))
    kept = _ASSIGNED.sub(rf"\1\2{MARK}", kept)
    return _VARIABLE.sub(rf"\1{MARK}", kept)[-LONGEST:]


def database(error: Exception) -> str:
    """What an error of a database says of itself: its kind and its words up to the first that it quotes."""
    unquoted = _QUOTATION.split(str(error), maxsplit=1)[0]
    return f"{type(error).__name__}: {_UNPRINTABLE.sub(' ', unquoted).strip()[:200]}".rstrip(": ")


def command(arguments: list[str]) -> list[str]:
    """The arguments of a command line without the values of options that take a secret."""
    kept: list[str] = []
    hidden = False
    for argument in arguments:
        option = OPTION.match(argument)
        if hidden and not argument.startswith("-"):
            kept.append(MARK)
        elif option and option[2] is not None:
            kept.append(f"{option[1]}={MARK}")
        else:
            name, equals, _ = argument.partition("=")
            secret = equals and name.isidentifier() and SECRET_NAME.search(name)
            kept.append(f"{name}={MARK}" if secret else visible(argument))
        hidden = option is not None and option[2] is None
    return kept


def command_line(text: str | None) -> str | None:
    """A command line in one text, as ``command`` leaves its arguments."""
    return None if text is None else " ".join(command(text.split(" ")))


def visible(text: str) -> str:
    """A text without what looks like a token, and without passwords in addresses."""
    return re.sub(USERINFO, rf"\1{MARK}@", re.sub(CREDENTIAL, MARK, text))
