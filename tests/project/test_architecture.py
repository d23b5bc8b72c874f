"""What holds for the code as a whole."""

from io import StringIO

import pytest
from django.core.management import call_command
from importlinter.cli import lint_imports

from tests.project.instances import ROOT


def test_imports_point_one_way():
    assert (
        lint_imports(config_filename=str(ROOT / "pyproject.toml"), no_cache=True) == 0
    )


@pytest.mark.django_db
def test_migrations_hold_what_the_models_say():
    output = StringIO()
    call_command("makemigrations", "--check", "--dry-run", stdout=output)
    assert output.getvalue() == "No changes detected\n"
