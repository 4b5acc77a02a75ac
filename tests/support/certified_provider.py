"""Run the OpenID provider of certified_provider.mjs locally, and fill in its forms without a browser."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import httpx

from bench.pages import find_free_port
from tests.app.web.provider import listening, way_in
from tests.conftest import ROOT

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
"""Claims that the provider returns, and claims that it signs incorrectly, by login; Ada's incorrect claim is
harmless."""
SECRETS = """
[auth.client_kwargs]
prompt = "login"
"""
"""Extra Streamlit secrets: by default, it requests select_account, which a provider may refuse under OpenID Connect."""
_ACTION = re.compile(r'<form[^>]* action="([^"]+)"')


@contextmanager
def provider(dashboard: str) -> Iterator[str]:
    """Run the provider for a dashboard at this address, and yield the provider's address."""
    port = find_free_port()
    script = Path(__file__).with_suffix(".mjs")
    command = ["node", str(script), str(MODULES), str(port), dashboard, json.dumps(PEOPLE)]
    with listening(command, port) as address:
        yield address


def sign_in(address: str, name: str) -> dict[str, str]:
    """Log in to a dashboard through the provider's forms, and return the resulting cookies."""
    with httpx.Client(follow_redirects=True, timeout=60) as browser:
        form = browser.get(f"{address}{way_in(address)}")
        for fields in ({"prompt": "login", "login": name, "password": "any"}, {"prompt": "consent"}):
            found = _ACTION.search(form.text)
            assert found, form.text
            form = browser.post(found[1], data=fields)
        assert str(form.url).startswith(address), form.text
        return {cookie.name: cookie.value or "" for cookie in browser.cookies.jar}
