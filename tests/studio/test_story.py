"""From an empty chat to a conversation that a restart does not forget."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.project.instances import Instance
from tests.studio.conftest import TITLE, environment_of, replies, send


def test_a_conversation_is_answered_titled_and_there_after_a_restart(
    tmp_path, conductor, open_page
) -> None:
    instance = Instance(tmp_path / "var", **environment_of(conductor)).start()
    try:
        page = open_page(f"{instance.address}/")
        expect(page.locator(".row")).to_have_count(0)
        send(page, "I like tea from Darjeeling.")
        expect(replies(page)).to_have_text(re.compile("Fine\\."))
        expect(page).to_have_url(re.compile(r"/t/[0-9a-f-]{36}$"))
        # Written by the worker after the reply, shown without being asked for.
        expect(page.locator(".row .row-title")).to_have_text([TITLE])
        expect(page).to_have_title(f"{TITLE} – Studio")
        expect(page.locator("#pane-title")).to_have_text(TITLE)
        before = page.locator("#messages .body").all_inner_texts()
        page.reload()
        assert page.locator("#messages .body").all_inner_texts() == before
        instance.stop()
        again = Instance(instance.var_dir, instance.port, **instance.environment)
        instance = again.start()
        page.reload()
        assert page.locator("#messages .body").all_inner_texts() == before
        expect(page.locator(".row .row-title")).to_have_text([TITLE])
        send(page, "And from Assam.")
        expect(replies(page)).to_have_count(2)
    finally:
        instance.stop()


def test_a_page_survives_the_death_of_its_server_in_the_middle_of_a_reply(
    tmp_path, conductor, open_page
) -> None:
    instance = Instance(tmp_path / "var", **environment_of(conductor)).start()
    try:
        page = open_page(f"{instance.address}/")
        conductor.take_over()
        send(page, "tell me")
        conductor.say("Once upon a time ")
        live = page.locator(".message.live [data-parts]")
        expect(live).to_have_text("Once upon a time")
        instance.child("memoryproject.server").kill()
        instance.wait()
        conductor.finish()
        again = Instance(instance.var_dir, instance.port, **instance.environment)
        instance = again.start()
        # Nobody reloads: the page finds the server again, and hears how it ended.
        note = page.locator(".outcome.interrupted")
        expect(note).to_be_visible(timeout=90_000)
        expect(replies(page).locator(".body")).to_have_text("Once upon a time")
        note.get_by_role("button", name="Retry").click()
        expect(replies(page).last.locator(".body")).to_have_text("Fine.")
    finally:
        instance.stop()
