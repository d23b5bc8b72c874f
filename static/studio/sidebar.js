// The list of conversations: kept true while the page is open.

import { ask, fragment } from "./page.js";

const PAUSE = 4000;
// While a title is awaited, for this many rounds.
const SHORT_PAUSE = 1000;
const SHORT_ROUNDS = 60;

export class Sidebar {
  constructor() {
    this.frame = document.getElementById("studio");
    this.rows = document.getElementById("rows");
    this.form = document.getElementById("search");
    this.query = document.getElementById("query");
    this.since = this.frame.dataset.now;
    this.known = new Map();
    this.short = 0;
    this.rows.addEventListener("htmx:afterSwap", () => this.dropDoubles());
    this.rows.addEventListener("htmx:responseError", () => this.failed());
    this.rows.addEventListener("htmx:sendError", () => this.failed());
    this.form.addEventListener("htmx:afterSwap", () => this.dropDoubles());
    document.addEventListener("visibilitychange", () => this.look());
    const archived = document.getElementById("show-archived");
    archived.addEventListener("click", () => this.showArchived(archived));
    this.schedule();
  }

  get filtered() {
    return Boolean(this.query.value.trim()) || this.archived;
  }

  get archived() {
    return document.getElementById("search-archived").value === "1";
  }

  row(thread) {
    return this.rows.querySelector(`[data-thread="${CSS.escape(thread)}"]`);
  }

  // Shows a thread's row as the server made it: at the top, as it was the last to change.
  place(html, thread) {
    if (!html || this.known.get(thread) === html) return;
    this.known.set(thread, html);
    const fresh = fragment(html).querySelector(".row");
    const present = this.row(thread);
    this.mark(fresh, document.getElementById("pane").dataset.thread);
    if (present?.querySelector("input")) return;
    // A row does not move away from under the pointer or the focus.
    const busy = this.rows.matches(":hover") || this.rows.contains(document.activeElement);
    if (present && (busy || this.filtered)) {
      const focused = present.contains(document.activeElement);
      present.replaceWith(fresh);
      if (focused) fresh.querySelector("a").focus();
    } else if (!this.filtered) {
      this.take(present);
      this.today().after(fresh);
    }
    if (window.htmx) window.htmx.process(fresh);
    this.showTitle(thread);
    if (fresh.dataset.titled === "0") this.short = SHORT_ROUNDS;
    this.schedule();
  }

  remove(thread) {
    this.known.delete(thread);
    this.take(this.row(thread));
    if (!this.rows.querySelector(".row, .more")) this.refresh();
  }

  // Takes a row out, and its heading when it was the last below it.
  take(row) {
    if (!row) return;
    const before = row.previousElementSibling;
    const after = row.nextElementSibling;
    row.remove();
    if (before?.matches(".group") && (!after || after.matches(".group"))) before.remove();
  }

  today() {
    const first = this.rows.querySelector(".group");
    if (first?.textContent === "Today") return first;
    const heading = document.createElement("h2");
    heading.className = "group";
    heading.textContent = "Today";
    this.rows.querySelector(".empty-list")?.remove();
    this.rows.prepend(heading);
    return heading;
  }

  current(thread) {
    document.getElementById("search-current").value = thread;
    for (const row of this.rows.querySelectorAll(".row")) this.mark(row, thread);
  }

  mark(row, thread) {
    const is = row.dataset.thread === thread;
    row.classList.toggle("current", is);
    const link = row.querySelector(".row-link");
    if (is) link?.setAttribute("aria-current", "page");
    else link?.removeAttribute("aria-current");
  }

  // The title of the open conversation, in its header and in the browser's tab.
  showTitle(thread, title = "") {
    const pane = document.getElementById("pane");
    if (pane.dataset.thread !== thread || pane.dataset.new) return;
    const words = title || this.row(thread)?.querySelector(".row-title")?.textContent;
    if (!words) return;
    document.getElementById("pane-title").textContent = words;
    document.title = `${words} – Studio`;
  }

  schedule() {
    clearTimeout(this.timer);
    const pause = this.short > 0 ? SHORT_PAUSE : PAUSE;
    this.timer = setTimeout(() => this.look(), pause);
  }

  async look() {
    clearTimeout(this.timer);
    if (!document.hidden) {
      this.short -= 1;
      try {
        await this.takeChanges();
      } catch {
        // The next round asks for the same.
      }
    }
    this.schedule();
  }

  async takeChanges() {
    const parameters = new URLSearchParams({
      since: this.since,
      resource: this.frame.dataset.resource,
    });
    const response = await ask(`${this.frame.dataset.changes}?${parameters}`);
    const { since, rows } = await response.json();
    this.since = since;
    for (const row of rows) {
      if (row.titled && row.id === document.getElementById("pane").dataset.thread)
        this.short = 0;
      if (row.archived !== this.archived) this.take(this.row(row.id));
      else this.place(row.html, row.id);
      this.showTitle(row.id, row.title);
    }
  }

  showArchived(button) {
    const on = !this.archived;
    document.getElementById("search-archived").value = on ? "1" : "0";
    button.setAttribute("aria-pressed", String(on));
    button.querySelector("span").textContent = on ? "Leave archive" : "Archive";
    this.refresh();
  }

  refresh() {
    window.htmx?.trigger(this.form, "refresh");
  }

  // A thread that changed while the list was paged through is on an earlier page too.
  dropDoubles() {
    this.rows.querySelector(".list-error")?.remove();
    const seen = new Set();
    for (const row of this.rows.querySelectorAll(".row")) {
      if (seen.has(row.dataset.thread)) this.take(row);
      seen.add(row.dataset.thread);
    }
    this.current(document.getElementById("pane").dataset.thread);
  }

  failed() {
    if (this.rows.querySelector(".list-error")) return;
    const line = document.createElement("p");
    line.className = "list-error";
    line.textContent = "The list could not be loaded. Try again in a moment.";
    this.rows.append(line);
  }
}
