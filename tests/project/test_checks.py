"""What the system check says about a database."""

import pytest
from django.core.checks import Tags, run_checks
from django.core.checks.registry import registry

from memoryproject.checks import (
    DatabaseFacts,
    check_database,
    check_model,
    problems,
    version,
)


@pytest.mark.parametrize(
    ("postgres", "available", "installed", "may_install", "expected"),
    [
        (180004, "0.8.5", "0.8.5", True, []),
        (150000, "0.8.0", None, True, []),
        (140011, "0.8.0", "0.8.0", True, ["memoryproject.E001"]),
        (170000, None, None, True, ["memoryproject.E002"]),
        (170000, "0.7.4", None, True, ["memoryproject.E003"]),
        # The database keeps what it has until it is told to update.
        (170000, "0.8.1", "0.5.1", True, ["memoryproject.E003"]),
        (170000, "0.8.1", None, False, ["memoryproject.E004"]),
        (140011, None, None, True, ["memoryproject.E001", "memoryproject.E002"]),
    ],
)
def test_database_is_judged_by_its_versions(
    postgres, available, installed, may_install, expected
):
    found = problems(DatabaseFacts(postgres, available, installed, may_install))
    assert [error.id for error in found] == expected
    assert all(error.hint for error in found)


def test_versions_compare_as_numbers():
    assert version("0.10.0") > version("0.8") > version("0.7.9")


@pytest.mark.django_db
def test_embedded_database_passes():
    assert check_database(None, databases=["default"]) == []


@pytest.mark.django_db
def test_check_is_registered_for_databases():
    assert check_database in registry.get_checks()
    assert run_checks(tags=[Tags.database], databases=["default"]) == []


def test_check_asks_nothing_of_a_database_that_was_not_named():
    assert check_database(None) == []


@pytest.mark.parametrize(
    "name", ["", "offline", "local:smollm2", "openai:gpt-5-mini", "mistral:small"]
)
def test_names_of_models_pass(settings, name):
    settings.MEMORY_MODEL = name
    assert check_model() == []


@pytest.mark.parametrize("name", ["nonsense", "openai:", ":gpt", "nobody:gpt"])
def test_name_that_no_model_can_have_is_an_error(settings, name):
    settings.MEMORY_MODEL = name
    assert [error.id for error in check_model()] == ["memoryproject.E005"]
    assert check_model in registry.get_checks()
