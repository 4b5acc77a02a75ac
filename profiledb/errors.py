"""Every error that a user can meet, with a hint about the way out."""


class WarpdeckError(Exception):
    """Base of all errors of the product; people see ``message``, then ``hint``, then ``detail``.

    Args:
        message: one sentence about the problem.
        hint: one sentence about the way out; empty if there is none.
        detail: message of another program (a converter, a database), verbatim.
    """

    def __init__(self, message: str, *, hint: str = "", detail: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.detail = detail


class ConversionError(WarpdeckError):
    """A file cannot become a report."""


class DiskFullError(ConversionError):
    """The disk is too full for a conversion; trying again may help."""


class ConfigError(WarpdeckError):
    """A setting or a file of settings is wrong."""


class NewerLibraryError(ConfigError):
    """A later version of Warpdeck has changed the library: this one touches nothing in it."""


class NotAllowedError(WarpdeckError):
    """The user may look but not change."""


class ReportNotFoundError(WarpdeckError):
    """No report, or more than one, matches a name."""


class DamagedError(WarpdeckError):
    """A file of the library is damaged; the message of the program that failed to read it is not repeated."""


class OlderReportError(WarpdeckError):
    """An older version of Warpdeck made the report, in tables that this one does not read."""


class PreparingError(WarpdeckError):
    """The conversion has yet to write the tables that the question needs. Asking again helps."""


class StorageError(WarpdeckError):
    """The bucket of the library or of the inbox cannot be read or written now; trying again may help."""


class CatalogError(WarpdeckError):
    """The catalog of the library cannot be read or written."""


class RefusedError(CatalogError):
    """PostgreSQL refuses this user, and waiting does not help. Its message is the detail, which pages do not show."""


class AnalysisError(WarpdeckError):
    """An analysis does not exist or got wrong parameters."""


class BusyError(AnalysisError):
    """Too many requests are being answered now.

    Args:
        message: one sentence about the limit.
        again_s: seconds after which to try again.
    """

    def __init__(self, message: str, again_s: int) -> None:
        super().__init__(message, hint="Wait for the answers, then ask again.")
        self.again_s = again_s


class NotLinkedError(AnalysisError):
    """An analysis needs another report beside this one, and none is linked or named."""


class NotCapturedError(WarpdeckError):
    """The report lacks the data of an analysis, so that an answer of zero would be wrong.

    Args:
        message: one sentence about the missing data.
        why: one sentence about the cause, or about the way out if no profiler helps.
        command: command that captures the data; empty for none.
        use: purpose of the data, as the end of a sentence.
        tables: tables of the schema that are empty for this reason.
    """

    def __init__(
        self, message: str, *, why: str = "", command: str = "", use: str = "", tables: tuple[str, ...] = ()
    ) -> None:
        super().__init__(message, hint=f"{why} Capture with: `{command}`".strip() if command else why)
        self.why = why
        self.command = command
        self.use = use
        self.tables = tables
