// The field in which a message is written.

import { drafts } from "./drafts.js";

export class Composer {
  constructor(root, { thread, maxBytes, signal, send }) {
    this.form = root.querySelector("#composer");
    this.field = root.querySelector("#text");
    this.button = root.querySelector("#send");
    this.error = root.querySelector("#composer-error");
    this.thread = thread;
    this.maxBytes = maxBytes;
    this.send = send;
    this.field.value = drafts.read(thread);
    this.field.addEventListener("input", () => this.typed(), { signal });
    this.field.addEventListener("keydown", (event) => this.key(event), { signal });
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.submit();
    }, { signal });
    this.fit();
  }

  typed() {
    drafts.write(this.thread, this.field.value);
    this.refuse("");
    this.fit();
  }

  key(event) {
    // While an input method composes, Enter chooses a character.
    if (event.isComposing || event.keyCode === 229) return;
    if (event.key === "Enter" && !event.shiftKey && !event.ctrlKey && !event.altKey) {
      event.preventDefault();
      this.submit();
    }
  }

  submit() {
    const text = this.field.value;
    if (!text.trim()) return;
    const bytes = new TextEncoder().encode(text).length;
    if (bytes > this.maxBytes) {
      this.refuse(
        `This message is too long: ${size(bytes)}. At most ${size(this.maxBytes)} can be sent.`,
      );
      return;
    }
    this.set("");
    this.send(text);
  }

  // Puts text back that was not accepted, in front of what has been typed since.
  giveBack(text, reason) {
    const typed = this.field.value;
    this.set(typed ? `${text}\n${typed}` : text);
    this.refuse(reason);
    this.field.focus();
  }

  set(text) {
    this.field.value = text;
    drafts.write(this.thread, text);
    this.refuse("");
    this.fit();
  }

  refuse(reason) {
    this.error.textContent = reason;
    this.error.hidden = !reason;
  }

  fit() {
    this.button.disabled = !this.field.value.trim();
    this.field.style.height = "auto";
    this.field.style.height = `${this.field.scrollHeight}px`;
  }
}

function size(bytes) {
  if (bytes >= 1048576) return `${Number((bytes / 1048576).toFixed(2))} MiB`;
  return bytes >= 1024 ? `${Math.ceil(bytes / 1024)} KiB` : `${bytes} bytes`;
}
