// What every module needs: asking the server, telling the person.

export class Refused extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

function token() {
  return document.querySelector("input[name=csrfmiddlewaretoken]").value;
}

// A request of the page's own. Rejects with Refused, whose message is fit to be shown.
// The status is 0 when the server was not reached.
export async function ask(url, { fields = null, signal = undefined, headers = {} } = {}) {
  let response;
  try {
    response = await fetch(url, {
      method: fields ? "POST" : "GET",
      body: fields ? new URLSearchParams(fields) : undefined,
      headers: fields ? { "X-CSRFToken": token(), ...headers } : headers,
      signal,
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused("The server cannot be reached.", 0);
  }
  if (response.ok) return response;
  throw new Refused(await reason(response), response.status);
}

async function reason(response) {
  const type = response.headers.get("content-type") || "";
  if (type.includes("json")) {
    const body = await response.json().catch(() => ({}));
    if (body.error) return body.error;
  }
  if (response.status === 403) return "The page is too old. Reload it and try again.";
  return `The server answered with an error (${response.status}).`;
}

// Said to screen readers only.
export function announce(words) {
  document.getElementById("status").textContent = words;
}

// A line at the bottom, with at most one thing to do about it.
export function toast(words, label = "", act = null) {
  const line = document.createElement("div");
  line.className = "toast";
  const text = document.createElement("span");
  text.textContent = words;
  line.append(text);
  const close = () => line.remove();
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = label || "Close";
  button.addEventListener("click", () => {
    close();
    if (act) act();
  });
  line.append(button);
  document.getElementById("toasts").append(line);
  setTimeout(close, 10000);
}

export function fragment(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  return template.content;
}

export function newId() {
  // A UUIDv7: the time in front keeps ids of one conversation in order.
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  let time = Date.now();
  for (let i = 5; i >= 0; i--) {
    bytes[i] = time % 256;
    time = Math.floor(time / 256);
  }
  bytes[6] = (bytes[6] & 0x0f) | 0x70;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
