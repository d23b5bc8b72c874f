// One reply in progress: reads the run's events and changes the article they belong to.
// The article is all it knows of the page, so it cannot write into another conversation.

import { fragment } from "./page.js";

const PAUSES = [1000, 2000, 5000, 10000, 30000];

export class ReplyStream {
  constructor(article, { signal, changed, ended }) {
    this.article = article;
    this.parts = article.querySelector("[data-parts]");
    this.seq = Number(article.dataset.seq);
    this.waiting = [];
    this.failures = 0;
    this.changed = changed;
    this.ended = ended;
    this.done = false;
    signal.addEventListener("abort", () => this.close());
    addEventListener("online", () => this.hurry(), { signal });
    this.connect();
  }

  connect() {
    clearTimeout(this.timer);
    this.timer = null;
    this.source?.close();
    this.source = new EventSource(`${this.article.dataset.events}?after=${this.seq}`);
    this.source.onmessage = (event) => this.receive(JSON.parse(event.data));
    this.source.onerror = () => this.lose();
  }

  // The browser would connect again by itself, but not after an error status, and with
  // no growing pauses; so each connection is a new one that says what is known.
  lose() {
    if (this.done || this.timer) return;
    this.source.close();
    const pause = PAUSES[Math.min(this.failures, PAUSES.length - 1)];
    this.failures += 1;
    if (this.failures > 1) {
      this.article.classList.add("lost");
      this.say("The connection was lost. Trying again…");
    }
    this.timer = setTimeout(() => this.connect(), pause * (0.8 + Math.random() * 0.4));
  }

  hurry() {
    if (this.timer) this.connect();
  }

  receive(frame) {
    if (this.done) return;
    if (this.failures) {
      this.article.classList.remove("lost");
      this.say("Thinking…");
    }
    this.failures = 0;
    if (frame.type === "end") {
      this.close();
      this.flush();
      this.ended(frame);
      return;
    }
    if (frame.seq <= this.seq) return;
    this.seq = frame.seq;
    this.article.dataset.seq = frame.seq;
    this.waiting.push(...frame.changes);
    if (this.scheduled) return;
    this.scheduled = true;
    const flush = () => this.flush();
    // Hidden pages get no animation frames.
    if (document.hidden) setTimeout(flush, 100);
    else requestAnimationFrame(flush);
  }

  flush() {
    this.scheduled = false;
    const changes = this.waiting;
    this.waiting = [];
    if (!changes.length) return;
    this.article.classList.add("speaking");
    for (const change of changes) this.apply(change);
    this.changed();
  }

  apply(change) {
    const part = this.parts.querySelector(`[data-part="${Number(change.part)}"]`);
    if (change.keep === undefined) {
      const fresh = fragment(change.html).firstElementChild;
      if (part?.open) fresh.open = true;
      if (part) part.replaceWith(fresh);
      else this.parts.append(fresh);
      return;
    }
    const blocks = part.matches("[data-blocks]") ? part : part.querySelector("[data-blocks]");
    while (blocks.children.length > change.keep) blocks.lastElementChild.remove();
    blocks.insertAdjacentHTML("beforeend", change.html);
  }

  say(words) {
    const line = this.article.querySelector("[data-words]");
    if (line) line.textContent = words;
  }

  close() {
    this.done = true;
    clearTimeout(this.timer);
    this.source?.close();
  }
}
