"""Read the one file of a ``multipart/form-data`` body piece by piece, so that it never lies in memory as a whole."""

from collections.abc import Callable

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header


class BodyError(Exception):
    """The body is not a form with exactly one file."""


class FilePart:
    """Parse a form and pass the content of its file on.

    Args:
        content_type: header of the request.
        write: takes the next bytes of the file.

    Raises:
        BodyError: the content type is not that of a form.
    """

    def __init__(self, content_type: str, write: Callable[[bytes], None]) -> None:
        kind, options = parse_options_header(content_type)
        boundary = options.get(b"boundary")
        if kind != b"multipart/form-data" or not boundary:
            raise BodyError("A form with one file is expected.")
        self.headers: dict[bytes, bytes] = {}
        self.complete = False
        self._part_count = 0
        self._header_name = self._header_value = b""
        self._parser = MultipartParser(
            boundary,
            {
                "on_part_begin": self._begin_part,
                "on_header_field": self._add_header_name,
                "on_header_value": self._add_header_value,
                "on_header_end": self._end_header,
                "on_headers_finished": self._check_headers,
                "on_part_data": lambda data, begin, end: write(data[begin:end]),
                "on_end": self._end_body,
            },
        )

    def feed(self, data: bytes) -> None:
        """Parse the next bytes of the body.

        Raises:
            BodyError: the body is not a form with one file.
        """
        try:
            self._parser.write(data)
        except FormParserError as error:
            raise BodyError("A form with one file is expected.") from error

    def build_body(self, content: bytes, boundary: str) -> bytes:
        """Return a body with this form's file name and type, and other content."""
        lines = [f"--{boundary}".encode()]
        lines += [b": ".join((name, self.headers[name])) for name in self.headers if name.startswith(b"content-")]
        return b"\r\n".join([*lines, b"", content, f"--{boundary}--".encode(), b""])

    def _begin_part(self) -> None:
        self._part_count += 1
        if self._part_count > 1:
            raise BodyError("One file at a time.")

    def _add_header_name(self, data: bytes, begin: int, end: int) -> None:
        self._header_name += data[begin:end]

    def _add_header_value(self, data: bytes, begin: int, end: int) -> None:
        self._header_value += data[begin:end]

    def _end_header(self) -> None:
        self.headers[self._header_name.lower()] = self._header_value
        self._header_name = self._header_value = b""

    def _check_headers(self) -> None:
        _, options = parse_options_header(self.headers.get(b"content-disposition"))
        if b"filename" not in options:
            raise BodyError("A form with one file is expected.")

    def _end_body(self) -> None:
        self.complete = True
