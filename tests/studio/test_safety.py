"""Text of models and programs never becomes script, wherever it is shown."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.studio.conftest import replies, send

PAYLOADS = [
    "<img src=x onerror=window.__x=1>",
    "[c](javascript:window.__x=1)",
    "</script><script>window.__x=1</script>",
    "<svg onload=window.__x=1>",
    '![i](x" onerror="window.__x=1)',
    "{{7*7}}",
]
ALL = "\n\n".join(PAYLOADS)


def test_payloads_in_a_growing_reply_are_text_at_every_moment(
    instance, conductor, open_page
) -> None:
    page = open_page(f"{instance.address}/")
    conductor.take_over()
    send(page, ALL)
    for start in range(0, len(ALL), 7):
        conductor.say(ALL[start : start + 7])
    expect(page.locator(".message.live [data-parts]")).to_contain_text("{{7*7}}")
    assert page.evaluate("() => window.__x") is None
    conductor.finish()
    expect(replies(page)).to_have_count(1)
    page.reload()
    for body in page.locator("#messages .body").all():
        for payload in PAYLOADS:
            expect(body).to_contain_text(payload)
    expect(page.locator("#messages img, #messages script")).to_have_count(0)


@pytest.mark.parametrize("number", range(len(PAYLOADS)))
def test_a_payload_as_a_title_is_shown_as_it_is(
    instance, open_page, api, number
) -> None:
    payload = PAYLOADS[number]
    page = open_page(api.make_thread(f"payload-{number}", payload))
    row = page.locator(f'.row[data-thread="payload-{number}"] .row-title')
    for place in (row, page.locator("#pane-title")):
        expect(place).to_have_text(payload)
    expect(page).to_have_title(f"{payload} – Studio")


def test_code_and_comparisons_are_not_escaped_twice(instance, open_page, api) -> None:
    address = api.make_thread("escapes", "Escapes")
    text = 'a < b && c\n\n```html\n<b class="x">&amp;</b>\n```\n'
    api.save("escapes", ("es-1", "user", "a < b && c"), ("es-2", "assistant", text))
    page = open_page(address)
    expect(page.locator(".message.user .plain")).to_have_text("a < b && c")
    expect(page.locator(".prose p")).to_have_text("a < b && c")
    expect(page.locator(".code code")).to_have_text('<b class="x">&amp;</b>\n')


def test_images_of_other_hosts_are_named_and_not_loaded(
    instance, open_page, api
) -> None:
    address = api.make_thread("images", "Images")
    text = "![a chart](https://tracker.example/p.png?d=secret)"
    api.save("images", ("im-1", "assistant", text))
    page = open_page(address)
    expect(page.locator(".image-off")).to_have_text(
        "Image not loaded: a chart (tracker.example)"
    )
    expect(page.locator("#messages img")).to_have_count(0)


def test_links_go_only_where_links_may_go(instance, open_page, api) -> None:
    address = api.make_thread("links", "Links")
    text = "[a](https://a.example/) [b](mailto:b@b.example) [c](data:text/html,x)"
    api.save("links", ("li-1", "assistant", text))
    page = open_page(address)
    links = page.locator(".prose a").evaluate_all(
        "links => links.map(link => [link.getAttribute('href'), link.rel])"
    )
    rel = "noopener noreferrer nofollow ugc"
    assert links == [["https://a.example/", rel], ["mailto:b@b.example", rel]]
