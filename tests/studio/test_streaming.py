"""Replies that are being written: whole, once, and in their own conversation."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.agents.provider import calls
from tests.studio.conftest import replies, send, thread_of

LIVE = ".message.live [data-parts]"


def test_a_reply_grows_on_the_page_and_is_stored_as_it_was_said(
    instance, conductor, open_page, api
) -> None:
    page = open_page(f"{instance.address}/")
    conductor.take_over()
    send(page, "table")
    conductor.say("| a |\n|---|\n", "| 你好 🌍 |\n", "\n indented", "\r\nevent: fake\n")
    expect(page.locator(f"{LIVE} table td")).to_have_text("你好 🌍")
    conductor.say("data: x\n\n", " end", "\u2028", "👩‍💻 naïve", " a < b && c")
    expect(page.locator(LIVE)).to_contain_text("👩‍💻 naïve a < b && c")
    shown = page.locator(LIVE).inner_text()
    conductor.finish()
    expect(replies(page)).to_have_count(1)
    assert page.locator(".message.assistant .body").inner_text() == shown
    text = (
        "| a |\n|---|\n| 你好 🌍 |\n\n indented\r\nevent: fake\ndata: x\n\n end\u2028"
        "👩‍💻 naïve a < b && c"
    )
    assert api.texts(thread_of(page)) == [("user", "table"), ("assistant", text)]


def test_a_reload_in_the_middle_neither_loses_nor_doubles(
    instance, conductor, open_page
) -> None:
    page = open_page(f"{instance.address}/")
    conductor.take_over()
    send(page, "count")
    words = [f"w{number}" for number in range(60)]
    for at, word in enumerate(words):
        conductor.say(f"{word} ")
        if at in (0, 13, 31, 58):
            expect(page.locator(LIVE)).to_contain_text(word)
            page.reload()
            expect(page.locator("#stop")).to_be_visible()
            expect(page.locator(LIVE)).to_have_text(" ".join(words[: at + 1]))
    conductor.finish()
    expect(replies(page).locator(".body")).to_have_text(" ".join(words))


def test_a_second_tab_follows_the_same_reply(instance, conductor, open_page) -> None:
    page = open_page(f"{instance.address}/")
    conductor.take_over()
    send(page, "follow me")
    conductor.say("one ")
    expect(page.locator(LIVE)).to_have_text("one")
    other = open_page(page.url, context=page.context)
    expect(other.locator(LIVE)).to_have_text("one")
    conductor.say("two ")
    expect(other.locator(LIVE)).to_have_text("one two")
    conductor.finish()
    for tab in (page, other):
        expect(replies(tab).locator(".body")).to_have_text("one two")


def test_a_switch_of_threads_writes_nothing_into_the_other(
    instance, conductor, open_page, api
) -> None:
    other = api.make_thread("switch-other", "The other one")
    api.save("switch-other", ("so-1", "user", "quiet here"))
    page = open_page(f"{instance.address}/")
    conductor.take_over()
    send(page, "long")
    conductor.say("first ")
    expect(page.locator(LIVE)).to_have_text("first")
    mine = page.url
    page.locator(".row-link", has_text="The other one").click()
    expect(page).to_have_url(other)
    conductor.say("second ")
    conductor.finish()
    expect(page.locator(".row .dot")).to_have_count(0)
    expect(page.locator("#messages .body")).to_have_text(["quiet here"])
    page.goto(mine)
    expect(replies(page).locator(".body")).to_have_text("first second")
    assert api.texts("switch-other") == [("user", "quiet here")]


def test_stop_ends_a_reply_also_after_a_reload_and_keeps_its_text(
    instance, conductor, open_page, api
) -> None:
    page = open_page(f"{instance.address}/")
    conductor.take_over()
    send(page, "talk")
    conductor.say("So far ")
    expect(page.locator(LIVE)).to_have_text("So far")
    page.reload()
    page.locator("#stop").click()
    expect(page.locator(".outcome.stopped")).to_contain_text("Stopped.")
    expect(page.locator("#stop")).to_be_hidden()
    conductor.finish()
    expect(replies(page).locator(".body")).to_have_text("So far")
    assert api.texts(thread_of(page)) == [("user", "talk"), ("assistant", "So far ")]


def test_a_message_sent_meanwhile_waits_for_its_turn(
    instance, conductor, open_page
) -> None:
    page = open_page(f"{instance.address}/")
    conductor.take_over()
    send(page, "first question")
    conductor.say("answer one ")
    expect(page.locator(LIVE)).to_have_text("answer one")
    send(page, "second question")
    expect(page.locator(".message.live")).to_have_count(2)
    expect(page.locator(".message.live").last).to_contain_text("Waiting")
    conductor.finish()
    expect(page.locator("#messages .body")).to_have_text(
        ["first question", "answer one", "second question", re.compile("Fine")]
    )
    page.reload()
    expect(page.locator("#messages .body")).to_have_text(
        ["first question", "answer one", "second question", re.compile("Fine")]
    )


def test_a_failed_reply_is_told_in_words_and_can_be_asked_for_again(
    instance, conductor, open_page, api
) -> None:
    conductor.provider.refusals = [
        (401, {}, {"error": {"message": "Incorrect API key provided: sk-test"}})
    ]
    page = open_page(f"{instance.address}/")
    send(page, "hello")
    note = page.locator(".outcome.failed")
    expect(note).to_be_visible()
    assert "sk-test" not in page.content()
    page.reload()
    expect(note).to_be_visible()
    note.get_by_role("button", name="Retry").click()
    expect(replies(page).locator(".body")).to_have_text("Fine.")
    expect(note).to_have_count(0)
    assert api.texts(thread_of(page)) == [("user", "hello"), ("assistant", "Fine.")]


def test_what_the_model_was_shown_can_be_looked_at(instance, open_page) -> None:
    page = open_page(f"{instance.address}/")
    send(page, "remember the lighthouse")
    expect(replies(page)).to_have_count(1)
    page.locator(".memory-line").click()
    panel = page.locator("#panel")
    expect(panel.get_by_role("heading", name="Used for this reply")).to_be_visible()
    expect(panel.locator(".segment.message summary")).to_have_text(
        "remember the lighthouse"
    )


def test_a_tool_call_is_a_card_while_it_happens_and_afterwards(
    instance, conductor, open_page
) -> None:
    noted = '{"memory": "# Notes\\n- Likes: <b>tea</b>"}'
    conductor.first(calls(("call-1", "updateWorkingMemory", noted)))
    page = open_page(f"{instance.address}/")
    conductor.take_over()
    send(page, "note that I like tea")
    conductor.say("Noted ")
    card = page.locator(".message.assistant .tool-call.done")
    expect(card).to_be_visible()
    expect(page.locator(LIVE)).to_contain_text("Noted")
    conductor.finish()
    expect(replies(page)).to_have_count(1)
    card.locator("summary").click()
    expect(card).to_contain_text("<b>tea</b>")


def test_a_reply_that_was_cut_is_kept_and_not_shown_to_the_model_at_the_retry(
    instance, conductor, open_page
) -> None:
    page = open_page(f"{instance.address}/")
    conductor.take_over()
    send(page, "tell me of lighthouses")
    conductor.say("Half of it ")
    expect(page.locator(LIVE)).to_have_text("Half of it")
    page.locator("#stop").click()
    note = page.locator(".outcome.stopped")
    expect(note).to_be_visible()
    conductor.finish()
    note.get_by_role("button", name="Retry").click()
    expect(replies(page).last.locator(".body")).to_have_text("Fine.")
    page.reload()
    expect(page.locator("#messages .body")).to_have_text(
        ["tell me of lighthouses", "Half of it", "Fine."]
    )
    expect(page.locator(".outcome")).to_have_count(0)
    page.locator(".memory-line").click()
    shown = page.locator("#panel .segment.message summary, #panel .segment.history")
    expect(shown).to_have_text(["tell me of lighthouses"])
