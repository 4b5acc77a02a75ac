"""Take apart commands as a shell does, in quotes at any depth, and the JSON inside them."""

import json
import re
import shlex
from collections.abc import Iterable, Iterator
from typing import Any

from ingest.scrub.secret_names import HARMLESS, holds_secret, judge_name, names_following_secret
from ingest.scrub.secret_patterns import MARK, REGISTRIES, find_sign, remove_credentials

LONGEST_SCRIPT = 20_000
"""A longer text with a sign of a secret is cut instead of taken apart."""
DEEPEST = 8
"""Levels of quoted commands that are taken apart."""

_REGISTRY = re.compile(rf"(?:.*/)?(?:{REGISTRIES})")
_QUOTED_NAME = re.compile(r"([\"'])([A-Za-z_][\w.-]{0,80})\1\s*,\s*(?=[\"'])")

_OPTION = re.compile(r"--?[A-Za-z][\w.-]*")
_PAIR = re.compile(r"([A-Za-z_][\w.-]{0,80})[\"'\]\\)]{0,4}(\+?=|:(?![:/]))")
_HERE_DOCUMENT = re.compile(
    r"<<-?[ \t]*[\"'\\]?(\w+)[\"']?([^\n]*)\n(?:.*?\n)??[ \t]*\1[ \t]*(?=\n|$|[\"'])"
    r"|<<-?[ \t]*[\"'\\]?\w+[\"']?[^\n]*\n.*",
    re.DOTALL,
)
_OPERATORS = frozenset("();<>|&")
_SHELL = re.compile(r"-[a-z]*c")
_NAMED = re.compile(r"(-{0,2}[A-Za-z_][\w.-]{0,80})=")
_LAST_NAME = re.compile(r"([A-Za-z_][\w.-]{0,80})[\"'\])]{0,4}$")
_ASSIGNS = frozenset(("=", ":", "+=", "=>", "==", ":="))
_SCHEMES = frozenset(("bearer", "basic", "digest", "negotiate", "token", "apikey"))
_PASSWORD_OPTIONS = {
    "sshpass": "-p", "mysql": "-p", "mysqldump": "-p", "mysqladmin": "-p", "mariadb": "-p", "redis-cli": "-a",
    "curl": "-u",
}  # fmt: skip
"""Programs with the short option that takes a password."""
_USER_OPTIONS = frozenset(("--user", "--proxy-user"))


def scrub_text(text: str, depth: int) -> str:
    """Return a text of any kind without secrets.

    Raises:
        ValueError: it has a sign of a secret and cannot be taken apart.
    """
    if find_sign(text) is None:
        return text
    if len(text) > LONGEST_SCRIPT or depth > DEEPEST:
        raise ValueError("too long or too deep")
    text = remove_credentials(text)
    if text.lstrip()[:1] in ("{", "["):
        try:
            read = json.loads(text)
        except (ValueError, RecursionError):
            pass  # not JSON: read it as shell words below
        else:
            clean = scrub_facts(read, depth=depth + 1)
            return text if clean == read else json.dumps(clean, ensure_ascii=False)
    undocumented = _HERE_DOCUMENT.sub(lambda match: f"<<{match[1] or 'EOF'}{match[2] or ''} {MARK} ", text)
    undocumented = undocumented.replace("\\\n", " ")
    tokens = list(_split_tokens(_QUOTED_NAME.sub(_match_assignment, undocumented)))
    clean_tokens = CommandScrubber(depth, literal=False).scrub(tokens)
    if clean_tokens == tokens:
        return undocumented
    return " ".join(one if one == MARK or _is_operator(one) else _requote_token(one) for one in clean_tokens)


def scrub_script(text: str, depth: int) -> str:
    """Return a script without secrets; if it cannot be taken apart, the name of its program alone."""
    try:
        return scrub_text(text, depth)
    except ValueError:
        program = next(iter(text.split()), "")
        return MARK if find_sign(program) or not program.isprintable() else f"{program[:100]} {MARK}"


def _match_assignment(match: re.Match[str]) -> str:
    """Return the secret's name in a call such as ``setdefault("NAME", "value")``, as ``NAME=``."""
    return f"{match[2]}=" if judge_name(match[2]) is True else match[0]


def _split_tokens(text: str) -> Iterator[str]:
    lexer = shlex.shlex(text, posix=True, punctuation_chars=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    return iter(lexer)


def _requote_token(token: str) -> str:
    return token if re.fullmatch(r"[^\s\"'\\();<>|&]+", token) else shlex.quote(token)


def _is_operator(token: str) -> bool:
    return bool(token) and _OPERATORS.issuperset(token)


class CommandScrubber:
    """Reads a command word by word; each word decides which part of the next one may be shown.

    Args:
        depth: levels of quoted commands around it.
        literal: no shell reads the words: ``|`` and ``$(`` mean nothing, and their number stays the same.
    """

    def __init__(self, depth: int, *, literal: bool) -> None:
        self.depth = depth
        self.literal = literal
        self.hidden = False  # the next word is the value of a secret
        self.doubtful = False  # the next word is a secret unless it is plainly harmless
        self.certain = False  # the next word is a secret even if it looks like an option
        self.closing = 0  # open parentheses around a command that prints a secret
        self.backtick = False
        self.previous = ""
        self.option = ""  # option of the current program that takes a password
        self.login = False
        self.out: list[str] = []
        self.begin = 0

    def scrub(self, tokens: Iterable[str]) -> list[str]:
        """Return the words without secrets."""
        for word in tokens:
            if self.closing or self.backtick:
                self._skip_substitution(word)
            elif not self.literal and _is_operator(word):
                self._take_operator(word)
            else:
                self.out.append(self._take_word(word))
            self.previous = word
        return self.out

    def _skip_substitution(self, word: str) -> None:
        """Skip the content of ``$(...)`` or backticks that stand in place of a secret."""
        if self.closing:
            self.closing += word.count("(") - word.count(")") if _is_operator(word) else 0
            self.closing = max(0, self.closing)
        elif "`" in word:
            self.backtick = False

    def _take_operator(self, word: str) -> None:
        if word.startswith("|") and (printed := self._find_printed()):
            self.out[printed:] = [MARK]
        if word == "(" and (self.hidden or self.doubtful or (self.out and self.out[-1].endswith(f"{MARK}$"))):
            self.closing = 1
        self.out.append(word)
        self.hidden = self.certain = word == "<<<"
        self.doubtful = False
        if word.strip("<>("):
            self.option, self.login, self.begin = "", False, len(self.out)

    def _find_printed(self) -> int:
        """Return the position of the words that the current command prints; 0 if it prints none."""
        places = range(self.begin, len(self.out) - 1)
        return next((at + 1 for at in places if self.out[at].rsplit("/", 1)[-1] in ("echo", "printf")), 0)

    def _take_word(self, word: str) -> str:
        hidden, doubtful, self.hidden, self.doubtful = self.hidden, self.doubtful, False, False
        option = _OPTION.fullmatch(word)
        certain, self.certain = self.certain, False
        if certain or ((hidden or doubtful) and not (option and _is_option(word))):
            return self._take_value_of_name(word, hidden)
        if self.option and word.startswith(self.option):
            self.hidden = self.certain = word == self.option
            return word if self.hidden else f"{self.option}{MARK}"
        if self.login and not _is_option(word):
            return MARK
        self.option = _PASSWORD_OPTIONS.get(word.rsplit("/", 1)[-1], self.option)
        self.login = self.login or (word == "login" and _REGISTRY.fullmatch(self.previous) is not None)
        if option:
            self._expect_value(word)
            return word
        return self._scrub_plain(word)

    def _take_value_of_name(self, word: str, hidden: bool) -> str:
        if word in _ASSIGNS:
            self.hidden, self.doubtful = hidden, not hidden
            return word
        if word.lower() in _SCHEMES:
            self.hidden = True
            return word
        if not hidden and HARMLESS.fullmatch(word):
            return word
        self._begin_command(word)
        return MARK

    def _begin_command(self, value: str) -> None:
        """Handle a value such as ``$(cat FILE)``, which continues in the words that follow."""
        self.hidden = not self.literal and value.endswith("$")
        self.backtick = not self.literal and value.count("`") % 2 == 1

    def _expect_value(self, option: str) -> None:
        """Note that the next word may be the value of an option."""
        if option in _USER_OPTIONS:
            self.doubtful = True
        elif (secret := judge_name(option)) is not None:
            self.hidden, self.doubtful = secret, not secret

    def _scrub_plain(self, word: str) -> str:
        is_script = _SHELL.fullmatch(self.previous) is not None
        has_space = any(one.isspace() for one in word)
        if assigned := self._scrub_assignment(word) if not (is_script and has_space) else None:
            return assigned
        named = _NAMED.match(word)
        if named and has_space and not is_script:
            value = word[named.end() :]
            return named[0] + (self._scrub_assignment(value) or scrub_script(value, self.depth + 1))
        if is_script or has_space:
            return scrub_script(word, self.depth + 1)
        if named and named[1] in _USER_OPTIONS and not HARMLESS.fullmatch(word[named.end() :]):
            return named[0] + MARK
        if word in _ASSIGNS and (name := _LAST_NAME.search(self.previous)):
            self._await_value(name[1])
        if word[:1] in ("{", "[") and (clean := _scrub_json(word, self.depth)) is not None:
            return clean
        if names_following_secret(word, self.previous):
            self.hidden = True
        return self._scrub_pairs(remove_credentials(word))

    def _scrub_assignment(self, word: str) -> str | None:
        """Handle NAME=value, NAME: value and --name=value with a secret, which may contain spaces."""
        match = _PAIR.match(word.lstrip("-")) or _PAIR.match(word)
        if match is None or not holds_secret(match[1], word[len(word) - len(match.string) + match.end() :].strip()):
            return None
        end = len(word) - len(match.string) + match.end()
        if not word[end:].strip():
            return None  # the value is the next word
        self._begin_command(word[end:])
        return f"{word[:end]}{' ' if word[end].isspace() else ''}{MARK}"

    def _scrub_pairs(self, word: str) -> str:
        """Handle a word with a name and its value somewhere in it, such as ``-DTOKEN=x``."""
        out, at = "", 0
        while match := _PAIR.search(word, at):
            value = word[match.end() :]
            if not value.strip("\"'{[("):
                self._await_value(match[1])
            elif holds_secret(match[1], value.strip("\"',;)}]")):
                self._begin_command(value)
                return f"{out}{word[at : match.end()]}{MARK}"
            out, at = out + word[at : match.end()], match.end()
        return out + word[at:]

    def _await_value(self, name: str) -> None:
        secret = judge_name(name)
        if secret is not None:
            self.hidden, self.doubtful = secret, not secret


def _is_option(word: str) -> bool:
    """Return True if a word is an option rather than a secret that starts with a dash."""
    return re.fullmatch(r"--[A-Za-z][\w.-]*(?:=.*)?|-[A-Za-z]{1,2}", word, re.DOTALL) is not None


def scrub_facts(value: Any, name: str = "", depth: int = 0) -> Any:
    """Return a JSON value without secrets; ``name`` is its key, ``depth`` its level."""
    try:
        return scrub_value(value, name, depth)
    except (ValueError, RecursionError):
        return MARK


def _scrub_json(word: str, depth: int) -> str | None:
    """Return a JSON argument without secrets; None if it is not JSON."""
    try:
        read = json.loads(word)
    except (ValueError, RecursionError):
        return None
    clean = scrub_facts(read, depth=depth + 1)
    return word if clean == read else json.dumps(clean, ensure_ascii=False)


def scrub_value(value: Any, name: str, depth: int) -> Any:
    """Return a JSON value without secrets.

    Raises:
        ValueError: it is nested too deep.
    """
    if depth > 40:
        raise ValueError("too deep")
    if isinstance(value, dict):
        key_name = value.get("name", value.get("key"))
        named = {"value": key_name} if isinstance(key_name, str) else {}
        return {
            _scrub_or_mark(str(key), depth): scrub_value(one, f"{name}.{named.get(key, key)}"[-200:], depth + 1)
            for key, one in value.items()
        }
    if isinstance(value, list):
        if value and all(isinstance(one, str) for one in value):
            return (
                [MARK] * len(value)
                if judge_name(name) is True
                else CommandScrubber(min(depth, DEEPEST), literal=True).scrub(value)
            )
        return [scrub_value(one, name, depth + 1) for one in value]
    if value is None or isinstance(value, bool):
        return value
    if name and holds_secret(name, str(value)):
        return MARK
    return _scrub_or_mark(value, depth) if isinstance(value, str) else value


def _scrub_or_mark(text: str, depth: int) -> str:
    try:
        return scrub_text(text, depth)
    except ValueError:
        return scrub_script(text, DEEPEST + 1)
