"""Every error that a user can meet, with the sentence that says what to do about it."""


class WarpdeckError(Exception):
    """Base of all errors of the product; shown to people as ``message``, then ``hint``, then ``detail``.

    Args:
        message: one sentence that says what is wrong.
        hint: one sentence that says what to do; empty where nothing can be done.
        detail: the words of another program (a converter, a database), verbatim.
    """

    def __init__(self, message: str, *, hint: str = "", detail: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.detail = detail


class ConversionError(WarpdeckError):
    """A file cannot become a report."""


class DiskFullError(ConversionError):
    """There is no room for what a conversion writes; it is worth another try when there is."""


class ConfigError(WarpdeckError):
    """A setting or a file of settings is wrong."""


class NewerLibraryError(ConfigError):
    """A later version of Warpdeck has changed the library: this one touches nothing in it."""


class NotAllowedError(WarpdeckError):
    """The user may look, but not change."""


class ReportNotFoundError(WarpdeckError):
    """No report, or more than one, answers to a name."""


class DamagedError(WarpdeckError):
    """A file of the library is not what was written there; the words of what tried to read it are not repeated."""


class OlderReportError(WarpdeckError):
    """An older version of Warpdeck made the report, in tables that this one does not read."""


class StorageError(WarpdeckError):
    """The bucket of the library or of the inbox cannot be read or written now; it is worth another try."""


class CatalogError(WarpdeckError):
    """The catalog of the library cannot be read or written."""


class RefusedError(CatalogError):
    """PostgreSQL refuses this user; waiting does not help. Its own words are the detail, which pages do not show."""


class AnalysisError(WarpdeckError):
    """An analysis does not exist or was given wrong parameters."""


class BusyError(AnalysisError):
    """Too much is being answered at the moment.

    Args:
        message: one sentence that says what there is too much of.
        again_s: seconds after which it makes sense to ask again.
    """

    def __init__(self, message: str, again_s: int) -> None:
        super().__init__(message, hint="Wait for the answers, then ask again.")
        self.again_s = again_s


class NotLinkedError(AnalysisError):
    """An analysis needs another report beside this one, and none is linked or named."""


class NotCapturedError(WarpdeckError):
    """The report lacks what an analysis needs: an answer of zero would be wrong.

    Args:
        message: one sentence that says what is missing.
        why: a sentence about the cause, or what to do where no profiler helps.
        command: what captures it; empty where nothing does.
        use: what it would show, as the end of a sentence.
        tables: the tables of the schema whose absence this explains.
    """

    def __init__(
        self, message: str, *, why: str = "", command: str = "", use: str = "", tables: tuple[str, ...] = ()
    ) -> None:
        super().__init__(message, hint=f"{why} Capture with: `{command}`".strip() if command else why)
        self.why = why
        self.command = command
        self.use = use
        self.tables = tables
