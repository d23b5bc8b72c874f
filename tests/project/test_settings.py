"""Every setting is documented, and none is read that does not exist."""

import re

from django.conf import settings

from tests.project.instances import ROOT

REFERENCE = (ROOT / "docs" / "reference" / "settings.md").read_text()
DOCUMENTED = set(re.findall(r"^\| `([A-Z_]+)` \|", REFERENCE, re.MULTILINE))


def sources() -> str:
    return "\n".join(
        path.read_text()
        for app in ("memoryproject", "threads", "recall", "agents")
        for path in sorted((ROOT / app).rglob("*.py"))
    )


def test_every_variable_that_settings_read_is_documented():
    text = (ROOT / "memoryproject" / "settings.py").read_text()
    read = set(re.findall(r"env\.\w+\(\s*\"([A-Z_]+)\"", text))
    assert read - DOCUMENTED == set()


def test_every_documented_variable_is_read_somewhere():
    elsewhere = sources() + (ROOT / "Makefile").read_text()
    elsewhere += (ROOT / "bin" / "install").read_text()
    assert {name for name in DOCUMENTED if name not in elsewhere} == set()


def test_every_memory_setting_has_a_variable_that_is_documented():
    for name in settings.MEMORY:
        bare = name if name.startswith("MEMORY_") else f"MEMORY_{name}"
        assert bare in DOCUMENTED


def test_code_reads_only_memory_settings_that_exist():
    read = set(re.findall(r"settings\.MEMORY(?:\.get\(|\[)\"([A-Z_]+)\"", sources()))
    assert read - set(settings.MEMORY) == set()
