"""API keys in the admin: shown once, reaching what is named, ended for good."""

from __future__ import annotations

import re

import pytest
from django.urls import reverse

from tests.api.conftest import Api
from threads.access import ApiKey

ADD = "admin:threads_apikey_add"


def test_a_key_made_in_the_admin_is_shown_once_and_works(admin_client, settings):
    settings.ACCESS = "required"
    page = admin_client.post(
        reverse(ADD), {"name": "ci", "resources": "res-a,org-1/*"}, follow=True
    )
    (text,) = set(
        re.findall(r"shown this once: (\w{8}\.\w{32})", page.content.decode())
    )
    key = ApiKey.objects.get()
    assert (key.name, key.resources) == ("ci", ["res-a", "org-1/*"])
    assert Api(text).get("/api/memory/threads").status_code == 200
    again = admin_client.get(reverse("admin:threads_apikey_change", args=[key.pk]))
    assert text.partition(".")[2] not in again.content.decode()


@pytest.mark.parametrize(
    "fields",
    [
        {"name": "x"},
        {"name": "x", "resources": "*"},
        {"name": "x", "resources": "res-a", "all_resources": "on"},
        {"name": "", "resources": "res-a"},
    ],
)
def test_a_key_that_makes_no_sense_is_refused(admin_client, fields):
    assert admin_client.post(reverse(ADD), fields).status_code == 200
    assert not ApiKey.objects.exists()


def test_the_action_revokes_for_good(admin_client):
    key, text = ApiKey.objects.issue(name="ci", resources=["res-a"])
    admin_client.post(
        reverse("admin:threads_apikey_changelist"),
        {"action": "revoke_keys", "_selected_action": [key.pk]},
    )
    assert Api(text).get("/api/memory/threads").status_code == 401


def test_the_list_tells_what_a_key_reaches(admin_client):
    ApiKey.objects.issue(name="ci", resources=["res-a"])
    page = admin_client.get(reverse("admin:threads_apikey_changelist"))
    assert "res-a" in page.content.decode()
