"""The browser's side of the protocol, by hand: a session over the WebSocket, uploads by PUT."""

from __future__ import annotations

import http.client
import socket
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin, Subprotocol

BOUNDARY = "test-boundary"


@dataclass(frozen=True)
class Answer:
    """The status, headers (names in lower case) and body of an answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def ask(address: str, path: str, method: str = "GET", body: bytes | None = None, **headers: str) -> Answer:
    """One request as it is; names of headers with _ for -. ``Host`` and ``Origin`` may be anything."""
    parts = urlsplit(address)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=60)
    try:
        connection.putrequest(method, path, skip_host="Host" in headers, skip_accept_encoding=True)
        for name, value in headers.items():
            connection.putheader(name.replace("_", "-"), value)
        if body is not None:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        answer = connection.getresponse()
        return Answer(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())
    finally:
        connection.close()


@dataclass
class Session:
    """A page that somebody has open: its WebSocket, its name, its XSRF token and everything the server said."""

    address: str
    socket: ClientConnection
    cookies: dict[str, str]
    id: str = ""
    said: list[ForwardMsg] = field(default_factory=list)

    @property
    def token(self) -> str:
        return self.cookies["_streamlit_xsrf"]

    @property
    def cookie(self) -> str:
        return "; ".join(f"{name}={value}" for name, value in self.cookies.items())

    def text(self) -> str:
        """All that the server has said, as text."""
        return "\n".join(str(message) for message in self.said)

    def run(self, page: str = "", states: Callable[[BackMsg], object] | None = None, **query: str) -> list[ForwardMsg]:
        """Run the script and return its messages up to the end of the run."""
        message = BackMsg()
        message.rerun_script.page_name = page
        message.rerun_script.query_string = "&".join(f"{name}={value}" for name, value in query.items())
        if states:
            states(message)
        self.socket.send(message.SerializeToString())
        return self.listen()

    def listen(self) -> list[ForwardMsg]:
        """Return the server's messages until a run of the whole script ends."""
        heard: list[ForwardMsg] = []
        while True:
            data = self.socket.recv(timeout=60)
            assert isinstance(data, bytes)
            one = ForwardMsg.FromString(data)
            heard.append(one)
            if one.WhichOneof("type") == "new_session":
                self.id = one.new_session.initialize.session_id
            if one.WhichOneof("type") == "script_finished" and one.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY:
                self.said += heard
                return heard

    def made_file(self, file_id: str) -> str:
        """Asks for a file of a download button, which is made when somebody does; answers its address."""
        message = BackMsg()
        message.backend_operation_request.request_id = file_id
        message.backend_operation_request.session_id = self.id
        message.backend_operation_request.deferred_file.file_id = file_id
        self.socket.send(message.SerializeToString())
        while True:
            data = self.socket.recv(timeout=60)
            assert isinstance(data, bytes)
            one = ForwardMsg.FromString(data)
            if one.WhichOneof("type") == "backend_operation_response":
                assert not one.backend_operation_response.error_msg
                return str(one.backend_operation_response.deferred_file.url)

    def put(self, content: bytes, name: str = "x.bin", file_id: str = "", **headers: str) -> Answer:
        """Uploads a file as the uploader does."""
        path = f"/_stcore/upload_file/{self.id}/{file_id or uuid.uuid4()}"
        return ask(self.address, path, "PUT", form(content, name), **(self.upload_headers() | headers))

    def upload_headers(self) -> dict[str, str]:
        return {
            "Cookie": self.cookie,
            "X_Xsrftoken": self.token,
            "Content_Type": f"multipart/form-data; boundary={BOUNDARY}",
        }


def form(content: bytes, name: str = "x.bin") -> bytes:
    """A form with one file."""
    head, tail = frame(name)
    return head + content + tail


def frame(name: str = "x.bin") -> tuple[bytes, bytes]:
    """The bytes before and after the file in a form."""
    disposition = f'Content-Disposition: form-data; name="file"; filename="{name}"'
    head = f"--{BOUNDARY}\r\n{disposition}\r\nContent-Type: application/octet-stream\r\n\r\n"
    return head.encode(), f"\r\n--{BOUNDARY}--\r\n".encode()


@contextmanager
def session(address: str, cookies: Mapping[str, str] | None = None, existing: str = "") -> Iterator[Session]:
    """Opens a page of the dashboard as a browser with these cookies does, without running its script yet."""
    health = ask(address, "/_stcore/health")
    token = health.headers["set-cookie"].partition("=")[2].partition(";")[0]
    held = {"_streamlit_xsrf": token} | dict(cookies or {})
    protocols = ["streamlit", token] + ([existing] if existing else [])
    with open_socket(address, "; ".join(f"{k}={v}" for k, v in held.items()), protocols) as websocket:
        yield Session(address, websocket, held)


@contextmanager
def open_socket(
    address: str, cookie: str = "", protocols: list[str] | None = None, origin: str = "", host: str = ""
) -> Iterator[ClientConnection]:
    """The WebSocket of a page; ``origin`` and ``host`` are those of the address unless they are given."""
    parts = urlsplit(address)
    raw = socket.create_connection((parts.hostname or "", parts.port or 80), timeout=60)
    named = f"ws://{host or parts.netloc}/_stcore/stream"
    headers = {"Cookie": cookie} if cookie else {}
    with connect(
        named,
        sock=raw,
        origin=Origin(origin or address),
        subprotocols=[Subprotocol(one) for one in protocols or ["streamlit"]],
        additional_headers=headers,
        max_size=None,
        proxy=None,
    ) as websocket:
        yield websocket


__all__ = ["Answer", "BackMsg", "ConnectionClosed", "Session", "ask", "form", "frame", "open_socket", "session"]
