// Text that has not reached the server yet survives a reload, by conversation.

const storage = (() => {
  try {
    localStorage.setItem("studio:probe", "1");
    localStorage.removeItem("studio:probe");
    return localStorage;
  } catch {
    return null;
  }
})();

function write(key, value) {
  try {
    if (value) storage?.setItem(key, value);
    else storage?.removeItem(key);
  } catch {
    // The storage is full: the text stays in the page.
  }
}

export const drafts = {
  read: (thread) => storage?.getItem(`studio:draft:${thread}`) || "",
  write: (thread, text) => write(`studio:draft:${thread}`, text),
};

// Messages on their way: {id, text} each, until the server has them.
export const unsent = {
  read(thread) {
    try {
      return JSON.parse(storage?.getItem(`studio:unsent:${thread}`) || "[]");
    } catch {
      return [];
    }
  },
  add(thread, message) {
    const others = this.read(thread).filter((other) => other.id !== message.id);
    write(`studio:unsent:${thread}`, JSON.stringify([...others, message]));
  },
  remove(thread, id) {
    const others = this.read(thread).filter((other) => other.id !== id);
    write(`studio:unsent:${thread}`, others.length ? JSON.stringify(others) : "");
  },
};
