"""The OpenID provider of certified.mjs on this machine, and people who fill in its forms without a browser."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import httpx

from bench.pages import free_port
from tests.app.web.provider import way_in
from tests.conftest import ROOT, wait_until

MODULES = ROOT / ".tools" / "oidc" / "node_modules"
PEOPLE: Mapping[str, Mapping[str, object]] = {
    "ada": {"told": {"name": "Ada", "realm": {"roles": ["gpu-chief"]}}, "wrong": {"azp": "warpdeck"}},
    "edith": {"told": {"name": "Edith", "realm": {"roles": ["offline", "gpu-editor"]}}},
    "victor": {"told": {"name": "Victor", "realm": {"roles": "gpu-viewer"}}},
    "nora": {"told": {"name": "Nora"}},
    "another's": {"told": {"realm": {"roles": "gpu-chief"}}, "wrong": {"aud": "another"}},
    "elsewhere": {"told": {"realm": {"roles": "gpu-chief"}}, "wrong": {"iss": "http://elsewhere.example"}},
    "expired": {"told": {"realm": {"roles": "gpu-chief"}}, "wrong": {"exp": 1}},
    "replayed": {"told": {"realm": {"roles": "gpu-chief"}}, "wrong": {"nonce": "of another login"}},
}
"""By login: what the provider tells, and what it signs in place of the truth; of Ada nothing that matters."""
SECRETS = """
[auth.client_kwargs]
prompt = "login"
"""
"""What Streamlit's secrets need besides: it asks for select_account, which OpenID Connect lets a provider refuse."""
_ACTION = re.compile(r'<form[^>]* action="([^"]+)"')


@contextmanager
def provider(dashboard: str) -> Iterator[str]:
    """Runs the provider for a dashboard of this address; gives its own."""
    port = free_port()
    script = Path(__file__).with_suffix(".mjs")
    command = ["node", str(script), str(MODULES), str(port), dashboard, json.dumps(PEOPLE)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}"

    def answers() -> bool:
        try:
            return httpx.get(f"{address}/.well-known/openid-configuration").is_success
        except httpx.TransportError:
            return False

    try:
        wait_until(answers)
        yield address
    finally:
        process.terminate()
        process.wait(timeout=20)


def sign_in(address: str, name: str) -> dict[str, str]:
    """Logs in at a dashboard by the provider's forms; the cookies that the browser then has for it."""
    with httpx.Client(follow_redirects=True, timeout=60) as browser:
        form = browser.get(f"{address}{way_in(address)}")
        for fields in ({"prompt": "login", "login": name, "password": "any"}, {"prompt": "consent"}):
            found = _ACTION.search(form.text)
            assert found, form.text
            form = browser.post(found[1], data=fields)
        assert str(form.url).startswith(address), form.text
        return {cookie.name: cookie.value or "" for cookie in browser.cookies.jar}
