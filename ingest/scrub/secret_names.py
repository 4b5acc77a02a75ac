"""Tell from names whether their values are secret: ``api_key`` is, ``max_tokens`` and ``key_frames`` are not."""

import re
from functools import lru_cache

SECRET_NAME = re.compile(
    r"^(?!(?:OLD)?PWD$).*(?:TOKEN|SECRET|PASS|PWD|KEY|CREDENTIAL|AUTH|COOKIE|SESSION|DSN|WEBHOOK)", re.IGNORECASE
)
"""Environment variables whose values are secret; not PWD, the current folder."""
# Parts of names. A plain part makes the name secret; a doubtful one does, unless the value is plainly harmless.
_PLAIN = re.compile(
    r"\w*(?:token|secret|secrets|password|passwords|passwd|passphrase|passcode|pwd|credential|credentials|apikey|apikeys"
    r"|accesskey|privatekey|secretkey|authkey|jwt|cookie|cookies|authorization|webhook|dsn|sessionid)"
    r"|pass|\w*(?<!by)(?<!com)(?<!low)(?<!high)(?<!band)(?<!one)(?<!multi)(?<!single)(?<!ward)(?<!sur)pass"
)
_PAIRS = re.compile(
    r"(?:api|access|private|secret|auth|ssh|account|encryption|signing|license|service|shared|master|storage|deploy"
    r"|wandb|openai|hf) keys?|session (?:id|key)"
)
_DOUBTFUL = re.compile(r"\w*tokens|\w*keys?|auth|oauth|oauth2|sig|signature|bearer")
_KINDS_OF_TOKENS = frozenset(
    ("pad", "eos", "bos", "unk", "mask", "sep", "cls", "image", "special", "prompt", "max", "min", "num", "per", "next")
)
_MEASURES = frozenset((
    "frame", "frames", "mode", "type", "types", "dim", "dims", "size", "sizes", "len", "lens", "length", "lengths",
    "count", "num", "heads", "head", "limit", "rate", "ratio", "steps", "loss", "embedding", "embeddings", "dropout",
    "layers", "proj", "value", "values", "second", "budget", "method", "backend", "scheme",
))  # fmt: skip
"""Last parts of names of measures and choices: ``--key-frames``, ``--auth-mode``, ``TOKEN_LIMIT``."""
_NEGATIONS = frozenset(("no", "disable", "without", "skip", "trust"))
HARMLESS = re.compile(
    r"[+-]?\d{1,9}(?:\.\d*)?(?:e[+-]?\d+)?[kmg]?|\d+:\d+|true|false|none|null|yes|no|on|off|auto|default|<[\w|/]+>|\[[A-Z]+\]|",
    re.IGNORECASE,
)
_WORD = re.compile(r"[A-Za-z_][\w.$:-]*[_.\w]")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def names_following_secret(word: str, previous: str) -> bool:
    """Return True if a bare word names a secret that follows: ``setenv TOKEN x``, ``config user.password x``."""
    if previous in ("-e", "--env", "export", "unset", "-u", "-m") or not _WORD.fullmatch(word):
        return False
    is_variable = word.isupper() or "_" in word or "." in word
    return is_variable and judge_name(word.rsplit(".", 1)[-1]) is True


def holds_secret(name: str, value: str) -> bool:
    """Return True if the value after this name is removed."""
    secret = judge_name(name)
    return secret is True or (secret is False and not HARMLESS.fullmatch(value))


@lru_cache(maxsize=4096)
def judge_name(name: str) -> bool | None:
    """Return True if the name makes its value secret, False if it may, None if it does not."""
    parts = [part.lower() for part in _PART.findall(name)]
    if not parts or name in ("PWD", "OLDPWD") or parts[0] in _NEGATIONS or parts[-1] in _MEASURES:
        return None
    joined = " ".join(parts)
    for before, part in zip(["", *parts], parts, strict=False):
        if _PLAIN.fullmatch(part):
            return not (before in _KINDS_OF_TOKENS or parts[-1] in ("id", "ids"))
    if _PAIRS.search(joined):
        return True
    doubtful = any(_DOUBTFUL.fullmatch(part) for part in parts)
    if not doubtful and name.isupper() and SECRET_NAME.search(name):
        doubtful = not any(part.startswith("tokeniz") for part in parts)
    return False if doubtful else None
