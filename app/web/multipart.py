"""The one file of a ``multipart/form-data`` body, piece by piece, so that it never lies in memory."""

from collections.abc import Callable

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header


class BodyError(Exception):
    """A body is not a form with one file."""


class FilePart:
    """Finds the file in a body that comes in pieces.

    Args:
        content_type: that of the request.
        write: takes the bytes of the file.

    Raises:
        BodyError: the request is no such form.
    """

    def __init__(self, content_type: str, write: Callable[[bytes], None]) -> None:
        kind, options = parse_options_header(content_type)
        boundary = options.get(b"boundary")
        if kind != b"multipart/form-data" or not boundary:
            raise BodyError("A form with one file is expected.")
        self.headers: dict[bytes, bytes] = {}
        self.whole = False
        self._parts = 0
        self._name = self._value = b""
        self._write = write
        self._parser = MultipartParser(
            boundary,
            {
                "on_part_begin": self._part,
                "on_header_field": self._header_name,
                "on_header_value": self._header_value,
                "on_header_end": self._header,
                "on_headers_finished": self._headers_done,
                "on_part_data": lambda data, begin, end: self._write(data[begin:end]),
                "on_end": self._end,
            },
        )

    def feed(self, data: bytes) -> None:
        """Takes the next piece of the body.

        Raises:
            BodyError: it is no form with one file.
        """
        try:
            self._parser.write(data)
        except FormParserError as error:
            raise BodyError("A form with one file is expected.") from error

    def with_content(self, content: bytes, boundary: str) -> bytes:
        """A body with the same file name and type, and other content."""
        lines = [f"--{boundary}".encode()]
        lines += [b": ".join((name, self.headers[name])) for name in self.headers if name.startswith(b"content-")]
        return b"\r\n".join([*lines, b"", content, f"--{boundary}--".encode(), b""])

    def _part(self) -> None:
        self._parts += 1
        if self._parts > 1:
            raise BodyError("One file at a time.")

    def _header_name(self, data: bytes, begin: int, end: int) -> None:
        self._name += data[begin:end]

    def _header_value(self, data: bytes, begin: int, end: int) -> None:
        self._value += data[begin:end]

    def _header(self) -> None:
        self.headers[self._name.lower()] = self._value
        self._name = self._value = b""

    def _headers_done(self) -> None:
        _, options = parse_options_header(self.headers.get(b"content-disposition"))
        if b"filename" not in options:
            raise BodyError("A form with one file is expected.")

    def _end(self) -> None:
        self.whole = True
