"""The list of conversations: all of them, the last changed first, kept true."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.studio.conftest import Api

MANY = 120


@pytest.fixture(scope="module")
def many(instance) -> Api:
    """120 threads of a resource that no other test uses."""
    api = Api(instance)
    for number in range(MANY):
        api.make_thread(f"s{number}", f"topic {number}", "crowd")
    return api


def scroll_to_the_end(page: Page) -> None:
    while page.locator(".more").count():
        before = page.locator(".row").count()
        page.locator(".more").first.scroll_into_view_if_needed()
        expect(page.locator(".row")).not_to_have_count(before)


def test_every_thread_is_reached_by_scrolling(instance, open_page, many) -> None:
    page = open_page(f"{instance.address}/t/s50")
    scroll_to_the_end(page)
    shown = page.locator(".row .row-title").all_inner_texts()
    assert sorted(shown) == sorted(f"topic {number}" for number in range(MANY))


def test_the_search_finds_what_is_not_loaded(instance, open_page, many) -> None:
    page = open_page(f"{instance.address}/t/s50")
    page.locator("#query").fill("topic 3")
    expected = [f"topic {n}" for n in [3, *range(30, 40)]]
    expect(page.locator(".row")).to_have_count(len(expected))
    assert sorted(page.locator(".row-title").all_inner_texts()) == sorted(expected)
    page.locator("#query").fill("no such title")
    expect(page.locator(".empty-list")).to_contain_text("no such title")


def test_a_thread_that_moves_up_while_paging_hides_no_other(
    instance, open_page, many
) -> None:
    page = open_page(f"{instance.address}/t/s50")
    many.save("s0", ("s0-m", "user", "x"), resource_id="crowd")
    scroll_to_the_end(page)
    expect(page.locator('.row[data-thread="s0"]')).to_have_count(1)
    shown = page.locator(".row").evaluate_all(
        "rows => rows.map(row => row.dataset.thread)"
    )
    assert sorted(shown) == sorted(f"s{number}" for number in range(MANY))
    page.goto(f"{instance.address}/t/s5")
    expect(page.locator("#pane-title")).to_have_text("topic 5")


def test_an_unknown_thread_is_a_page_that_says_so(instance, open_page) -> None:
    page = open_page(f"{instance.address}/")
    response = page.goto(f"{instance.address}/t/no-such-thread")
    assert response.status == 404
    expect(page.get_by_role("heading")).to_have_text("Nothing is here")


def test_a_thread_made_elsewhere_appears_by_itself(instance, open_page, api) -> None:
    page = open_page(f"{instance.address}/")
    api.make_thread("from-elsewhere", "Made by a program")
    expect(page.locator(".row-title", has_text="Made by a program")).to_be_visible()


def test_a_thread_is_renamed_in_its_row_with_the_keyboard(
    instance, open_page, api
) -> None:
    page = open_page(api.make_thread("rename-me", "Old name"))
    page.locator('.row[data-thread="rename-me"] .row-link').focus()
    page.keyboard.press("F2")
    field = page.locator(".row input")
    field.fill("Never mind")
    field.press("Escape")
    expect(page.locator("#pane-title")).to_have_text("Old name")
    page.keyboard.press("F2")
    field.fill("  New   name ")
    field.press("Enter")
    expect(page.locator("#pane-title")).to_have_text("New name")
    expect(page).to_have_title("New name – Studio")
    page.reload()
    row = page.locator('.row[data-thread="rename-me"] .row-title')
    expect(row).to_have_text("New name")


def test_deleting_asks_first_and_then_leaves_nothing(instance, open_page, api) -> None:
    page = open_page(api.make_thread("delete-me", "To be deleted"))
    page.locator("#pane-menu").click()
    page.get_by_role("menuitem", name="Delete").click()
    dialog = page.locator("#delete-dialog")
    expect(dialog).to_contain_text("To be deleted")
    dialog.get_by_role("button", name="Cancel").click()
    assert api.exists("delete-me")
    page.locator("#pane-menu").click()
    page.get_by_role("menuitem", name="Delete").click()
    dialog.get_by_role("button", name="Delete").click()
    expect(page).to_have_url(f"{instance.address}/")
    expect(page.locator('.row[data-thread="delete-me"]')).to_have_count(0)
    assert not api.exists("delete-me")


def test_an_archived_thread_leaves_the_list_and_comes_back(
    instance, open_page, api
) -> None:
    page = open_page(api.make_thread("archive-me", "To be archived"))
    row = page.locator('.row[data-thread="archive-me"]')
    row.hover()
    row.get_by_role("button").click()
    page.get_by_role("menuitem", name="Archive").click()
    expect(row).to_have_count(0)
    page.locator("#show-archived").click()
    expect(row).to_have_count(1)
    page.locator("#show-archived").click()
    expect(row).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    expect(row).to_have_count(1)


def test_older_messages_come_without_moving_what_is_read(
    instance, open_page, api
) -> None:
    address = api.make_thread("long-one", "Long")
    api.save("long-one", *((f"lo-{n}", "user", f"number {n}") for n in range(130)))
    page = open_page(address)
    expect(page.locator(".message").last).to_have_text(re.compile("number 129"))
    for _ in range(4):
        top = page.locator(".message").first
        top.scroll_into_view_if_needed()
        if not page.locator("[data-older]").count():
            break
        count = page.locator(".message").count()
        page.locator("#scroller").evaluate("node => (node.scrollTop = 0)")
        expect(page.locator(".message")).not_to_have_count(count)
    expect(page.locator(".message")).to_have_count(130)
    shown = page.locator(".message .plain").all_inner_texts()
    assert shown == [f"number {number}" for number in range(130)]
