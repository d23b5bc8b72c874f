"""What every reply of the site carries, and what the health address says."""

import pytest
from django.conf import settings

from memoryproject.content_security import policy_for
from memoryproject.static_files import collect_static

STRICT = (
    "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'"
)


@pytest.mark.django_db
def test_health_is_told_as_json(client):
    response = client.get("/healthz")
    assert response.status_code == 200
    assert response.json() == {"status": "ok", "database": "ok"}
    assert response.headers["Content-Security-Policy"] == STRICT


@pytest.mark.parametrize("path", ["/", "/threads/t-1", "/api/agents", "/apidocs"])
def test_no_page_of_ours_allows_inline_script(path):
    assert policy_for(path) == STRICT


@pytest.mark.parametrize("path", ["/admin/", "/admin/threads/thread/", "/api/docs"])
def test_pages_that_others_wrote_are_let_loose_on_their_own_paths(path):
    assert "script-src 'self' 'unsafe-inline'" in policy_for(path)


def test_debug_is_off_and_slashes_are_not_appended():
    assert settings.DEBUG is False
    assert settings.APPEND_SLASH is False


def test_static_files_are_collected_again_only_when_one_has_changed(settings, tmp_path):
    sources = tmp_path / "sources"
    sources.mkdir()
    (sources / "chat.css").write_text("a {}")
    settings.STATICFILES_DIRS = [sources]
    settings.STATICFILES_FINDERS = [
        "django.contrib.staticfiles.finders.FileSystemFinder"
    ]
    settings.STATIC_ROOT = tmp_path / "static"
    assert collect_static() is True
    assert collect_static() is False
    (sources / "chat.css").write_text("a { color: red }")
    assert collect_static() is True
    assert (tmp_path / "static" / "chat.css").read_text() == "a { color: red }"
