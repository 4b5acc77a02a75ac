"""Our Markdown as HTML: headings, lists, tables, bold, code. HTML tags and links in it stay text."""

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

_NUMBER = re.compile(r"[−-]?[\d<]|–$")


@cache
def _make_parser() -> MarkdownIt:
    """Return a parser for the Markdown of the summary. ``html`` is off, so that tags are escaped; links and images are
    not read.
    """
    parser = MarkdownIt("zero").enable(
        ["heading", "list", "table", "emphasis", "backticks", "escape", "fence", "newline"]
    )
    parser.add_render_rule("table_open", _open_table)
    parser.add_render_rule("table_close", _close_table)
    parser.add_render_rule("td_open", _open_cell)
    return parser


def to_html(text: str) -> str:
    """Convert Markdown to HTML."""
    return str(_make_parser().render(text))


def _open_table(_: Any, __: Sequence[Token], ___: int, ____: Any, _____: Any) -> str:
    """Make wide tables scroll by themselves, also with the keyboard."""
    return '<div class="table" tabindex="0" role="group" aria-label="Table"><table>\n'


def _close_table(_: Any, __: Sequence[Token], ___: int, ____: Any, _____: Any) -> str:
    return "</table></div>\n"


def _open_cell(_: Any, tokens: Sequence[Token], at: int, __: Any, ___: Any) -> str:
    """Align numbers right."""
    return '<td class="number">' if _NUMBER.match(tokens[at + 1].content) else "<td>"
