"""Writing and sending: no text is ever lost."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.studio.conftest import replies, send, thread_of


def test_a_new_chat_stores_nothing_before_the_first_message(
    instance, open_page, api
) -> None:
    page = open_page(f"{instance.address}/")
    thread = thread_of(page)
    page.locator("#text").fill("not sent")
    assert not api.exists(thread)


def test_shift_enter_breaks_the_line_and_enter_sends(instance, open_page, api) -> None:
    page = open_page(f"{instance.address}/")
    page.locator("#text").press_sequentially("one")
    page.locator("#text").press("Shift+Enter")
    page.locator("#text").press_sequentially("two")
    page.locator("#text").press("Enter")
    expect(replies(page)).to_have_count(1)
    assert api.texts(thread_of(page))[0] == ("user", "one\ntwo")


def test_enter_that_chooses_a_character_does_not_send(instance, open_page) -> None:
    page = open_page(f"{instance.address}/")
    page.locator("#text").fill("かな")
    page.locator("#text").evaluate(
        """field => field.dispatchEvent(new KeyboardEvent("keydown",
            {key: "Enter", isComposing: true, bubbles: true, cancelable: true}))"""
    )
    expect(page.locator("#text")).to_have_value("かな")
    expect(page.locator(".message")).to_have_count(0)


def test_a_message_that_is_too_long_is_refused_with_the_limit_and_kept(
    instance, open_page, api
) -> None:
    page = open_page(f"{instance.address}/")
    text = "x" * (1024 * 1024 + 1)
    send(page, text)
    expect(page.locator("#composer-error")).to_contain_text("At most 1 MiB")
    assert page.locator("#text").input_value() == text
    assert not api.exists(thread_of(page))


def test_the_server_refuses_what_the_page_let_through_and_the_text_is_kept(
    instance, open_page, api
) -> None:
    page = open_page(f"{instance.address}/")
    # Below the limit as text, above it as the content that would be stored.
    text = "x" * (1024 * 1024 - 1)
    send(page, text)
    expect(page.locator("#composer-error")).to_contain_text("1048576")
    assert page.locator("#text").input_value() == text
    expect(page.locator(".message")).to_have_count(0)
    assert not api.exists(thread_of(page))


def test_a_draft_survives_a_reload_and_stays_with_its_thread(
    instance, open_page, api
) -> None:
    address = api.make_thread("drafts", "Drafts")
    page = open_page(address)
    page.locator("#text").fill("half a thought")
    page.reload()
    expect(page.locator("#text")).to_have_value("half a thought")
    page.locator("#new-thread").click()
    expect(page.locator("#text")).to_have_value("")
    page.go_back()
    expect(page.locator("#text")).to_have_value("half a thought")


def test_a_message_that_could_not_be_sent_keeps_its_text_and_is_sent_once(
    instance, open_page, api
) -> None:
    page = open_page(api.make_thread("unsent", "Unsent"))
    page.route("**/studio/send", lambda route: route.abort())
    send(page, "are you there?")
    note = page.locator(".outcome.unsent")
    expect(note).to_contain_text("The server cannot be reached.")
    page.unroute("**/studio/send")
    page.reload()
    expect(page.locator(".message.user .plain")).to_have_text(["are you there?"])
    note.get_by_role("button", name="Retry").click()
    expect(replies(page)).to_have_count(1)
    expect(note).to_have_count(0)
    page.reload()
    assert api.texts("unsent") == [("user", "are you there?"), ("assistant", "Fine.")]


def test_a_reply_that_got_lost_on_the_way_is_not_asked_for_twice(
    instance, open_page, api
) -> None:
    page = open_page(api.make_thread("lost-answer", "Lost"))

    def swallow(route) -> None:
        route.fetch()
        route.abort()

    page.route("**/studio/send", swallow)
    send(page, "once only")
    note = page.locator(".outcome.unsent")
    expect(note).to_be_visible()
    page.unroute("**/studio/send")
    note.get_by_role("button", name="Retry").click()
    expect(replies(page)).to_have_count(1)
    assert api.texts("lost-answer") == [("user", "once only"), ("assistant", "Fine.")]


def test_a_message_in_another_wording_leaves_the_first_version_as_it_was(
    instance, open_page, api
) -> None:
    page = open_page(api.make_thread("reword", "Versions"))
    send(page, "tea?")
    expect(replies(page)).to_have_count(1)
    page.locator(".message.user").hover()
    page.get_by_role("button", name="Edit").click()
    page.locator(".rewording textarea").fill("coffee?")
    page.get_by_role("button", name="Send as new version").click()
    expect(page.locator("#messages .body")).to_have_text(["coffee?", "Fine."])
    expect(page.locator(".lineage")).to_contain_text("Copied from Versions")
    assert api.texts("reword") == [("user", "tea?"), ("assistant", "Fine.")]
    page.locator(".lineage a").click()
    expect(page.locator("#messages .body")).to_have_text(["tea?", "Fine."])
    expect(page.locator(".lineage")).to_contain_text("Copies:")


def test_a_reply_given_again_stands_beside_the_first(instance, open_page, api) -> None:
    page = open_page(api.make_thread("again", "Again"))
    send(page, "tea?")
    expect(replies(page)).to_have_count(1)
    replies(page).hover()
    page.get_by_role("button", name="Answer again").click()
    expect(replies(page)).to_have_count(2)
    expect(page.locator(".message.superseded")).to_have_count(1)
    replied = [("user", "tea?"), ("assistant", "Fine."), ("assistant", "Fine.")]
    assert api.texts("again") == replied


def test_the_notes_about_a_person_are_read_and_written(instance, open_page) -> None:
    page = open_page(f"{instance.address}/")
    page.get_by_role("button", name="What is remembered").click()
    notes = page.get_by_label("Notes")
    notes.fill("- Likes: lighthouses")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#panel")).to_contain_text("Version 1")
    page.reload()
    page.get_by_role("button", name="What is remembered").click()
    expect(notes).to_have_value("- Likes: lighthouses")
