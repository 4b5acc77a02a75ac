"""Secrets in commands are removed, in any spelling and quoting; harmless words stay."""

import json
import shlex

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest import scrub
from tests.support.secret_spellings import COMMANDS, HARMLESS, IN_ADDRESSES, PARTS, SECRETS, URL_SAFE, WRAPPED

spelled = st.one_of(
    st.tuples(st.sampled_from(list(COMMANDS.values())), st.sampled_from(SECRETS)),
    st.tuples(st.sampled_from(list(IN_ADDRESSES.values())), st.sampled_from(URL_SAFE)),
).map(lambda drawn: drawn[0](drawn[1]))
quoted = st.lists(st.sampled_from(WRAPPED), max_size=3)


def assert_no_secret(text: str, of: str) -> None:
    assert not [part for part in PARTS if part in text], (of, text)


@settings(max_examples=600, deadline=None)
@given(command=spelled, around=quoted)
def test_no_part_of_a_secret_stays(command: str, around: list[str]) -> None:
    for outer in around:
        command = outer.format(shlex.quote(command))
    arguments = ["bash", "-c", command, "--lr", "0.1"]
    assert_no_secret(str(scrub.scrub_command_line(command)), command)
    assert_no_secret(scrub.scrub_text(command), command)
    assert_no_secret(scrub.scrub_output(command), command)
    assert_no_secret(json.dumps(scrub.scrub_facts({"argv": arguments, "run": {"command": command}})), command)
    kept = scrub.scrub_arguments(arguments)
    assert len(kept) == len(arguments), "as many as before: each is a row of its own"
    assert_no_secret(" ".join(kept), command)
    assert kept[-2:] == ["--lr", "0.1"]


def test_sql_finds_what_python_finds() -> None:
    texts = [spell(secret) for spell in COMMANDS.values() for secret in SECRETS]
    texts += [spell(secret) for spell in IN_ADDRESSES.values() for secret in URL_SAFE]
    texts += [WRAPPED[0].format(shlex.quote(text)) for text in texts]
    with duckdb.connect() as db:
        shown = scrub.make_scrub_expression(db)
        rows = db.execute(f"SELECT t, {shown} FROM (SELECT unnest($1) AS t)", [[*texts, *HARMLESS]]).fetchall()
    for text, kept in rows:
        assert kept == scrub.scrub_text(text)
    assert [kept for _, kept in rows[-len(HARMLESS) :]] == HARMLESS


@pytest.mark.parametrize("text", HARMLESS)
def test_harmless_words_stay(text: str) -> None:
    assert scrub.scrub_text(text) == text
    assert scrub.scrub_command_line(text) == text
    arguments = text.split(" ")
    assert scrub.scrub_arguments(arguments) == arguments
    assert scrub.scrub_arguments(["bash", "-c", text]) == ["bash", "-c", text]


def test_what_surrounds_a_secret_stays() -> None:
    script = "python train.py --token=A --password B --max-tokens 512; MY_API_KEY=C python x.py"
    assert scrub.scrub_arguments(["bash", "-c", script]) == [
        *("bash", "-c"),
        "python train.py --token=[removed] --password [removed] --max-tokens 512 ; MY_API_KEY=[removed] python x.py",
    ]
    config = '{"lr": 0.1, "api_key": "A", "nested": [{"password": "B", "heads": 8}]}'
    assert scrub.scrub_arguments(["--config", config])[1] == config.replace('"A"', '"[removed]"').replace(
        '"B"', '"[removed]"'
    )
    address = "https://api.example/v1?model=m&token=A&page=2"
    assert scrub.scrub_text(address) == address.replace("=A", "=[removed]")


def test_what_cannot_be_taken_apart_is_cut() -> None:
    script = "python train.py 'unbalanced --token A"
    assert scrub.scrub_command_line(script) == "python [removed]"
    assert scrub.scrub_arguments(["bash", "-c", script]) == ["bash", "-c", "python [removed]"]
    assert scrub.scrub_text("it's the one with --token A behind it") == "it's the one with [removed]"
    deep = "TOKEN=A"
    for _ in range(12):
        deep = f"bash -c {shlex.quote(deep)}"
        assert len(deep) < 1 << 20
        kept = scrub.scrub_command_line(deep)
        assert kept
        assert "=A" not in kept


def test_nested_json_ends() -> None:
    for text in (
        '{"token":' * 5000 + "1" + "}" * 5000,
        "[" * 100_000,
        '["token=A' * 3000,
        "token=" + "a=" * 9000 + " x",
    ):
        scrub.scrub_text(text)
        scrub.scrub_arguments([text])
        scrub.scrub_facts({"command": text})
