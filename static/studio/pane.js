// One conversation on the page, from when it is put there until it is replaced.

import { Composer } from "./composer.js";
import { unsent } from "./drafts.js";
import { announce, ask, fragment, newId } from "./page.js";
import { ReplyStream } from "./stream.js";

const NEAR = 48;

export class Pane {
  constructor(root, sidebar, open) {
    this.root = root;
    this.sidebar = sidebar;
    this.open = open;
    this.thread = root.dataset.thread;
    this.over = new AbortController();
    const { signal } = this.over;
    this.messages = root.querySelector("#messages");
    this.scroller = root.querySelector("#scroller");
    this.stopButton = root.querySelector("#stop");
    this.jump = root.querySelector("#jump");
    this.composer = new Composer(root, {
      // A chat that has not begun has another id at each visit, its draft one place.
      thread: root.dataset.new ? "new" : this.thread,
      maxBytes: Number(root.dataset.maxBytes),
      signal,
      send: (text) => this.begin({ id: newId(), text }),
    });
    this.following = true;
    this.scroller.addEventListener("scroll", () => this.scrolled(), { signal, passive: true });
    this.jump.addEventListener("click", () => this.toEnd(), { signal });
    this.stopButton.addEventListener("click", () => this.stop(), { signal });
    this.messages.addEventListener("click", (event) => this.clicked(event), { signal });
    for (const message of unsent.read(this.thread)) this.restore(message);
    this.toEnd();
    this.watchOlder();
    this.follow();
    new ResizeObserver(() => this.settle()).observe(this.composer.form);
  }

  close() {
    this.over.abort();
    this.observer?.disconnect();
  }

  // ---- sending

  begin(message) {
    unsent.add(this.thread, message);
    this.root.querySelector("#welcome")?.remove();
    const bubble = this.bubble(message);
    this.messages.append(bubble);
    this.toEnd();
    announce("Sending");
    this.deliver(message, bubble);
  }

  bubble({ id, text }) {
    const article = document.createElement("article");
    article.className = "message user sending";
    article.id = `m-${id}`;
    article.innerHTML = '<div class="body" dir="auto"><div class="part plain" dir="auto"></div></div><footer class="meta"><span>Sending…</span></footer>';
    article.querySelector(".plain").textContent = text;
    return article;
  }

  async deliver(message, bubble) {
    let sent;
    try {
      const response = await ask(this.root.dataset.send, {
        fields: {
          thread: this.thread,
          message: message.id,
          text: message.text,
          resource: this.root.dataset.resource,
        },
      });
      sent = await response.json();
    } catch (error) {
      this.unsuccessful(message, bubble, error);
      return;
    }
    unsent.remove(this.thread, message.id);
    this.show(sent, bubble);
    if (this.root.dataset.new) this.becomeThread(sent);
  }

  // A refusal of the text itself brings it back to the composer; after any other failure
  // it stays in its place, to be sent again under the same id.
  unsuccessful(message, bubble, error) {
    if ([400, 413].includes(error.status)) {
      unsent.remove(this.thread, message.id);
      bubble.remove();
      this.composer.giveBack(message.text, error.message);
      return;
    }
    this.markUnsent(message, bubble, error.message);
    announce(`Not sent. ${error.message}`);
  }

  markUnsent(message, bubble, reason) {
    bubble.classList.remove("sending");
    bubble.querySelector(".meta").replaceChildren();
    const note = document.createElement("div");
    note.className = "outcome unsent";
    const words = document.createElement("span");
    words.textContent = `Not sent. ${reason}`;
    const choices = document.createElement("span");
    choices.className = "choices";
    const choice = (label, act) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = label;
      button.addEventListener("click", act);
      choices.append(button);
    };
    choice("Retry", () => {
      const fresh = this.bubble(message);
      bubble.replaceWith(fresh);
      this.deliver(message, fresh);
    });
    choice("Edit", () => {
      unsent.remove(this.thread, message.id);
      bubble.remove();
      this.composer.giveBack(message.text, "");
    });
    note.append(words, choices);
    bubble.append(note);
    this.settle();
  }

  restore(message) {
    if (document.getElementById(`m-${message.id}`)) {
      unsent.remove(this.thread, message.id);
      return;
    }
    this.root.querySelector("#welcome")?.remove();
    const bubble = this.bubble(message);
    this.messages.append(bubble);
    this.markUnsent(message, bubble, "The page was left before it was sent.");
  }

  show(sent, bubble) {
    const content = fragment(sent.message + sent.live + sent.reply);
    // Another request, or a reload, may have put the reply there already.
    for (const article of content.querySelectorAll(".assistant")) {
      const same = article.dataset.run
        ? `[data-run="${CSS.escape(article.dataset.run)}"]`
        : `[data-message="${CSS.escape(article.dataset.message)}"]`;
      if (this.messages.querySelector(same)) article.remove();
    }
    if (bubble) bubble.replaceWith(content);
    else this.messages.append(content);
    this.sidebar.place(sent.row, this.thread);
    this.settle();
    this.follow();
  }

  becomeThread(sent) {
    delete this.root.dataset.new;
    this.composer.thread = this.thread;
    this.root.querySelector("#pane-menu").hidden = false;
    if (this.over.signal.aborted) return;
    history.replaceState({}, "", sent.url);
    this.sidebar.current(this.thread);
    this.sidebar.showTitle(this.thread);
  }

  async retry(messageId, button) {
    button.disabled = true;
    try {
      const response = await ask(this.root.dataset.retry, { fields: { message: messageId } });
      const sent = await response.json();
      const article = document.getElementById(`m-${messageId}`);
      for (const note of this.messages.querySelectorAll("[data-retry-message]"))
        if (note.dataset.retryMessage === messageId) note.closest(".outcome").remove();
      this.show({ ...sent, message: "" }, null);
      article?.querySelector(".outcome")?.remove();
      this.toEnd();
    } catch (error) {
      button.disabled = false;
      this.composer.refuse(error.message);
    }
  }

  // ---- other versions: nothing that was said is replaced

  reword(article, messageId) {
    const body = article.querySelector(".body");
    const form = document.createElement("form");
    form.className = "rewording";
    form.innerHTML = '<textarea aria-label="The message in another wording" dir="auto"></textarea><p class="dialog-error" role="alert" hidden></p><div class="buttons"><button type="button">Cancel</button><button type="submit" class="primary">Send as new version</button></div>';
    const field = form.querySelector("textarea");
    field.value = body.querySelector(".plain")?.textContent || "";
    const cancel = () => {
      form.remove();
      body.hidden = false;
      article.querySelector("[data-edit]")?.focus();
    };
    form.querySelector("[type=button]").addEventListener("click", cancel);
    form.addEventListener("keydown", (event) => event.key === "Escape" && cancel());
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const error = form.querySelector(".dialog-error");
      try {
        const fields = { message: messageId, text: field.value };
        await this.takeVersion(this.root.dataset.editUrl, fields);
      } catch (refused) {
        error.textContent = refused.message;
        error.hidden = false;
      }
    });
    body.hidden = true;
    body.after(form);
    field.focus();
  }

  async again(messageId, button) {
    button.disabled = true;
    try {
      await this.takeVersion(this.root.dataset.againUrl, { message: messageId });
    } catch (error) {
      this.composer.refuse(error.message);
    }
    button.disabled = false;
  }

  // The server decides whether another version goes on here or in a copy.
  async takeVersion(url, fields) {
    const sent = await (await ask(url, { fields })).json();
    if (sent.thread === this.thread) {
      this.show({ ...sent, message: "" }, null);
      this.toEnd();
      return;
    }
    this.sidebar.place(sent.row, sent.thread);
    this.open(sent.url);
  }

  // ---- replies in progress

  follow() {
    const article = this.messages.querySelector(".live[data-run]");
    this.stopButton.hidden = !article;
    this.stopButton.disabled = false;
    if (!article || this.over.signal.aborted || this.stream?.article === article) return;
    this.stream = new ReplyStream(article, {
      signal: this.over.signal,
      changed: () => this.settle(),
      ended: (frame) => this.finish(article, frame),
    });
    // Whatever it waited for has ended.
    if (article.dataset.state === "queued") this.stream.say("Thinking…");
    announce("Reply started");
  }

  finish(article, frame) {
    const content = fragment(frame.html);
    article.replaceWith(content);
    for (const known of fragment(frame.known).querySelectorAll("article")) {
      const place = document.getElementById(known.id);
      if (place && this.root.contains(place)) place.replaceWith(known);
    }
    this.stream = null;
    this.settle();
    this.sidebar.place(frame.row, this.thread);
    const said = { completed: "Reply finished", stopped: "Stopped" };
    announce(said[frame.state] || "The reply failed");
    this.follow();
  }

  async stop() {
    const article = this.messages.querySelector(".live[data-run]");
    if (!article) return;
    this.stopButton.disabled = true;
    this.stream?.say("Stopping…");
    try {
      await ask(article.dataset.stop, { fields: { stop: "1" } });
    } catch (error) {
      this.stopButton.disabled = false;
      this.composer.refuse(`The reply could not be stopped. ${error.message}`);
    }
  }

  // ---- older messages

  watchOlder() {
    this.observer?.disconnect();
    const older = this.messages.querySelector("[data-older]");
    if (!older) return;
    this.observer = new IntersectionObserver(
      (entries) => entries.some((entry) => entry.isIntersecting) && this.loadOlder(older),
      { root: this.scroller, rootMargin: "800px 0px 0px" },
    );
    this.observer.observe(older);
  }

  async loadOlder(older) {
    if (older.dataset.loading) return;
    older.dataset.loading = "1";
    this.observer?.disconnect();
    const button = older.querySelector("[data-load]");
    button.textContent = "Loading…";
    try {
      const response = await ask(button.dataset.load, { signal: this.over.signal });
      const content = fragment(await response.text());
      // What is being read keeps its place: the distance from the end is kept.
      const fromEnd = this.scroller.scrollHeight - this.scroller.scrollTop;
      older.replaceWith(content);
      this.scroller.scrollTop = this.scroller.scrollHeight - fromEnd;
      this.watchOlder();
    } catch (error) {
      if (error.name === "AbortError") return;
      delete older.dataset.loading;
      button.textContent = `${error.message} Try again`;
    }
  }

  // ---- reading place

  scrolled() {
    const left = this.scroller.scrollHeight - this.scroller.scrollTop - this.scroller.clientHeight;
    this.following = left <= NEAR;
    this.jump.hidden = this.following;
  }

  settle() {
    if (this.following) this.toEnd();
    else this.jump.hidden = false;
  }

  toEnd() {
    this.following = true;
    this.jump.hidden = true;
    this.scroller.scrollTop = this.scroller.scrollHeight;
  }

  clicked(event) {
    const button = event.target.closest("button");
    if (!button) return;
    if (button.dataset.load) this.loadOlder(button.closest("[data-older]"));
    if (button.dataset.edit) this.reword(button.closest(".message"), button.dataset.edit);
    if (button.dataset.again) this.again(button.dataset.again, button);
    if (button.dataset.retryMessage) this.retry(button.dataset.retryMessage, button);
  }
}
