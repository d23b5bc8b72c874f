// Puts the page together: one sidebar, and one pane at a time.

import { announce, ask, fragment, toast } from "./page.js";
import { Pane } from "./pane.js";
import { RowActions } from "./row_actions.js";
import { Sidebar } from "./sidebar.js";

const frame = document.getElementById("studio");
const sidebar = new Sidebar();
let pane = new Pane(document.getElementById("pane"), sidebar, open);
let opening = null;

// Replaces the pane by another conversation's. A later click wins over an earlier one.
async function open(href, { push = true } = {}) {
  opening?.abort();
  opening = new AbortController();
  const { signal } = opening;
  let content;
  try {
    const headers = { "HX-Request": "true", "HX-Target": "pane" };
    const response = await ask(href, { headers, signal });
    content = fragment(await response.text());
  } catch (error) {
    if (error.name === "AbortError") return;
    if (error.status) location.assign(href);
    else toast(error.message, "Retry", () => open(href, { push }));
    return;
  }
  const fresh = content.querySelector("#pane");
  if (!fresh) {
    location.assign(href);
    return;
  }
  pane.close();
  document.getElementById("pane").replaceWith(fresh);
  if (push) history.pushState({}, "", href);
  document.title = `${fresh.dataset.title} – Studio`;
  closeSidebar();
  pane = new Pane(fresh, sidebar, open);
  sidebar.current(fresh.dataset.new ? "" : fresh.dataset.thread);
  if (matchMedia("(hover: hover)").matches) fresh.querySelector("#text").focus();
  announce(`Opened ${fresh.dataset.title}`);
}

addEventListener("popstate", () => open(location.href, { push: false }));

new RowActions(sidebar, open);

function openSidebar() {
  frame.classList.add("sidebar-open");
  document.getElementById("new-thread").focus();
}

function closeSidebar() {
  frame.classList.remove("sidebar-open");
}

document.addEventListener("click", (event) => {
  const target = event.target;
  const link = target.closest(".row-link, #new-thread, .brand, [data-open]");
  const plain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
  if (link && plain) {
    event.preventDefault();
    open(link.href);
    return;
  }
  if (target.closest("[data-open-sidebar]")) openSidebar();
  if (target.closest("[data-close-sidebar]")) closeSidebar();
  for (const menu of document.querySelectorAll("details.menu[open]"))
    if (!menu.contains(target)) menu.open = false;
  const copy = target.closest("[data-copy-code]");
  if (copy) copyText(copy.closest("figure").querySelector("code").textContent, copy);
  const message = target.closest("[data-copy-message]");
  if (message) copyMessage(message);
  const panel = target.closest("[data-context], [data-memory]");
  if (panel) showPanel(panel);
});

async function copyMessage(button) {
  const parameters = new URLSearchParams({ message: button.dataset.copyMessage });
  try {
    const response = await ask(`${frame.dataset.source}?${parameters}`);
    await copyText(await response.text(), button);
  } catch (error) {
    toast(`Not copied. ${error.message}`);
  }
}

async function copyText(text, button) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    toast("The browser does not allow copying here.");
    return;
  }
  announce("Copied");
  button.textContent = "Copied";
  setTimeout(() => (button.textContent = "Copy"), 2000);
}

async function showPanel(button) {
  const panel = document.getElementById("panel");
  const body = document.getElementById("panel-body");
  document.getElementById("panel-title").textContent = button.dataset.context
    ? "Used for this reply"
    : "What is remembered";
  body.textContent = "Loading…";
  panel.showModal();
  try {
    const response = await ask(button.dataset.context || button.dataset.memory);
    body.replaceChildren(fragment(await response.text()));
  } catch (error) {
    body.textContent = error.message;
  }
}

document.getElementById("panel").addEventListener("submit", async (event) => {
  const form = event.target.closest("[data-notes]");
  if (!form) return;
  event.preventDefault();
  try {
    const response = await ask(form.dataset.notes, { fields: new FormData(form) });
    form.parentElement.replaceChildren(fragment(await response.text()));
    toast("The notes are saved.");
  } catch (error) {
    const line = form.querySelector(".dialog-error");
    line.textContent =
      error.status === 412 ? "They were changed meanwhile. Open them again." : error.message;
    line.hidden = false;
  }
});

document.getElementById("panel").addEventListener("click", (event) => {
  if (event.target.id === "panel") event.target.close();
});

document.getElementById("themes").addEventListener("change", async (event) => {
  document.documentElement.dataset.theme = event.target.value;
  try {
    await ask(frame.dataset.themeUrl, { fields: { theme: event.target.value } });
  } catch (error) {
    toast(`The theme will not be kept. ${error.message}`);
  }
});

document.addEventListener("keydown", (event) => {
  if (event.isComposing || document.querySelector("dialog[open]")) return;
  const command = event.metaKey || event.ctrlKey;
  if (command && event.shiftKey && event.key.toLowerCase() === "o") {
    event.preventDefault();
    open(document.getElementById("new-thread").href);
  } else if (command && event.key.toLowerCase() === "k") {
    event.preventDefault();
    openSidebar();
    document.getElementById("query").focus();
  } else if (event.shiftKey && event.key === "Escape") {
    document.getElementById("text").focus();
  } else if (event.key === "Escape") {
    for (const menu of document.querySelectorAll("details.menu[open]")) menu.open = false;
    closeSidebar();
  }
});

// The days in the list are those of the person who reads it.
const zone = encodeURIComponent(Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC");
document.cookie = `studio_zone=${zone}; path=/; max-age=31536000; samesite=lax`;
