"""The examples of docs/how-to/http.md, run in order as a reader pastes them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from django.conf import settings

from tests.clients.conftest import live  # noqa: F401 - a fixture

PAGE = Path(settings.BASE_DIR) / "docs/how-to/http.md"
BLOCK = re.compile(
    r"```sh\n(?P<sh>.*?)```(?:\n\n```json\n(?P<json>.*?)```)?", re.DOTALL
)


def within(expected: Any, shown: Any) -> bool:
    """Whether ``shown`` has all members of ``expected``."""
    if isinstance(expected, dict):
        return isinstance(shown, dict) and all(
            key in shown and within(item, shown[key]) for key, item in expected.items()
        )
    return expected == shown


def test_examples_work_as_pasted(live, database_url):  # noqa: F811
    environment = {
        **os.environ,
        "DATABASE_URL": database_url,
        "DJANGO_SETTINGS_MODULE": "memoryproject.settings",
        "VAR_DIR": str(settings.VAR_DIR),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    blocks = list(BLOCK.finditer(PAGE.read_text()))
    assert len(blocks) > 12
    for block in blocks:
        done = subprocess.run(
            [
                "bash",
                "-euo",
                "pipefail",
                "-c",
                block["sh"].replace("http://127.0.0.1:8000", live),
            ],
            capture_output=True,
            text=True,
            check=False,
            env=environment,
            cwd=settings.BASE_DIR,
            timeout=60,
        )
        assert done.returncode == 0, (block["sh"], done.stderr)
        if "manage.py" in block["sh"] and "curl" not in block["sh"]:
            assert re.fullmatch(r"\w{8}\.\w{32}", done.stdout.splitlines()[-1])
            continue
        shown = json.loads(done.stdout)
        assert "error" not in shown, (block["sh"], shown)
        if block["json"]:
            assert within(json.loads(block["json"]), shown), (block["sh"], shown)
