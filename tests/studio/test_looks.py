"""Small windows, dark rooms, and hands without a mouse."""

from __future__ import annotations

from playwright.sync_api import expect

WIDE = "w" * 300
RICH = f"""# Heading

{WIDE}

| a | b | c |
|---|---|---|
| {WIDE[:80]} | {WIDE[:80]} | {WIDE[:80]} |

```python
print("{WIDE}")
```
"""


def test_nothing_scrolls_sideways_on_a_telephone(instance, open_page, api) -> None:
    address = api.make_thread("narrow", f"Narrow {WIDE}")
    api.save("narrow", ("na-1", "user", WIDE), ("na-2", "assistant", RICH))
    page = open_page(address, viewport={"width": 390, "height": 800})
    for selector in ("html", "#scroller"):
        assert page.locator(selector).evaluate(
            "node => node.scrollWidth <= node.clientWidth"
        )
    page.locator("[data-open-sidebar]").click()
    expect(page.locator("#sidebar")).to_be_in_viewport()
    page.locator("#new-thread").click()
    expect(page.locator("#sidebar")).not_to_be_in_viewport()
    expect(page.locator("#welcome")).to_be_visible()


def test_the_theme_follows_the_system_and_a_choice_is_kept(instance, open_page) -> None:
    page = open_page(f"{instance.address}/", color_scheme="dark")

    def background() -> str:
        return page.evaluate("() => getComputedStyle(document.body).backgroundColor")

    dark = background()
    page.locator("#settings-menu summary").click()
    page.locator("#themes").get_by_label("Light").check()
    expect(page.locator("html")).to_have_attribute("data-theme", "light")
    light = background()
    assert light != dark
    with page.expect_response("**/studio/theme"):
        page.locator("#themes").get_by_label("Dark").check()
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    assert background() == dark


def test_a_conversation_is_opened_and_its_menu_used_by_keyboard_alone(
    instance, open_page, api
) -> None:
    address = api.make_thread("keys", "By keyboard")
    page = open_page(f"{instance.address}/")
    page.keyboard.press("Control+k")
    expect(page.locator("#query")).to_be_focused()
    page.keyboard.type("By keyboard")
    row = page.locator('.row[data-thread="keys"] .row-link')
    expect(page.locator(".row")).to_have_count(1)
    page.keyboard.press("Tab")
    # The list itself scrolls, and may take the focus before its rows.
    if not row.evaluate("node => node === document.activeElement"):
        page.keyboard.press("Tab")
    expect(row).to_be_focused()
    page.keyboard.press("Enter")
    expect(page).to_have_url(address)
    expect(page.locator("#text")).to_be_focused()
    page.locator("#pane-menu").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("menuitem", name="Rename")).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("menuitem", name="Archive")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#pane-menu")).to_be_focused()
