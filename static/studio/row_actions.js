// Rename, archive and delete, from a row of the list or the header of the pane.

import { ask, toast } from "./page.js";

export class RowActions {
  constructor(sidebar, open) {
    this.sidebar = sidebar;
    this.open = open;
    this.menu = document.getElementById("row-actions");
    this.renaming = document.getElementById("rename-dialog");
    this.deleting = document.getElementById("delete-dialog");
    document.addEventListener("click", (event) => this.clicked(event));
    document.addEventListener("keydown", (event) => this.key(event));
    addEventListener("resize", () => this.close());
    this.sidebar.rows.addEventListener("scroll", () => this.close(), { passive: true });
    this.renaming.querySelector("form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.saveFromDialog();
    });
    this.renaming.querySelector("[data-cancel]").addEventListener("click", () => this.renaming.close());
    this.deleting.querySelector("[data-confirm]").addEventListener("click", () => this.remove());
  }

  clicked(event) {
    const opener = event.target.closest("[data-row-menu]");
    if (opener) {
      const again = this.opener === opener && !this.menu.hidden;
      this.close();
      if (!again) this.show(opener);
      return;
    }
    const chosen = event.target.closest("#row-actions [data-do]");
    if (!chosen) {
      this.close();
      return;
    }
    const inList = Boolean(this.opener?.closest(".row"));
    this.close();
    this.act(chosen.dataset.do, inList);
  }

  show(opener) {
    this.opener = opener;
    this.thread = opener.dataset.for || opener.closest(".row").dataset.thread;
    const archive = this.menu.querySelector("[data-do=archive] span");
    archive.textContent = this.sidebar.archived && this.sidebar.row(this.thread) ? "Back to the list" : "Archive";
    opener.setAttribute("aria-expanded", "true");
    this.menu.hidden = false;
    const at = opener.getBoundingClientRect();
    const own = this.menu.getBoundingClientRect();
    const left = Math.max(8, Math.min(at.left, innerWidth - own.width - 8));
    const below = at.bottom + 4;
    const top = below + own.height > innerHeight - 8 ? at.top - own.height - 4 : below;
    this.menu.style.left = `${left}px`;
    this.menu.style.top = `${Math.max(8, top)}px`;
    this.menu.querySelector("button").focus();
  }

  close() {
    if (this.menu.hidden) return;
    this.menu.hidden = true;
    this.opener?.setAttribute("aria-expanded", "false");
  }

  key(event) {
    if (!this.menu.hidden) {
      const items = [...this.menu.querySelectorAll("button")];
      const at = items.indexOf(document.activeElement);
      if (event.key === "Escape" || event.key === "Tab") {
        this.close();
        this.opener?.focus();
        event.preventDefault();
      } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
        const step = event.key === "ArrowDown" ? 1 : -1;
        items[(at + step + items.length) % items.length].focus();
        event.preventDefault();
      }
      return;
    }
    const row = event.target.closest?.(".row");
    if (!row || event.target.matches("input")) return;
    this.thread = row.dataset.thread;
    if (event.key === "F2") this.renameInRow(row);
    else if (event.key === "Delete") this.act("delete", true);
    else return;
    event.preventDefault();
  }

  get title() {
    const row = this.sidebar.row(this.thread);
    return row
      ? row.querySelector(".row-title").textContent
      : document.getElementById("pane-title").textContent;
  }

  act(what, inList) {
    const row = this.sidebar.row(this.thread);
    if (what === "rename" && inList && row) this.renameInRow(row);
    else if (what === "rename") this.showDialog(this.renaming);
    else if (what === "delete") this.showDialog(this.deleting);
    else this.archive(this.sidebar.archived && Boolean(row));
  }

  showDialog(dialog) {
    dialog.querySelector(".dialog-error").hidden = true;
    const name = dialog.querySelector("[data-name]");
    if (name) name.textContent = this.title;
    const field = dialog.querySelector("input");
    if (field) field.value = this.title;
    dialog.showModal();
    field?.select();
  }

  renameInRow(row) {
    const link = row.querySelector(".row-link");
    const field = document.createElement("input");
    field.value = this.title;
    field.maxLength = 200;
    field.dir = "auto";
    field.setAttribute("aria-label", "Title");
    link.hidden = true;
    row.prepend(field);
    field.select();
    let over = false;
    const end = async (save) => {
      if (over) return;
      over = true;
      const title = field.value;
      const changed = save && title.trim() && title !== link.querySelector(".row-title").textContent;
      field.remove();
      link.hidden = false;
      if (save) link.focus();
      if (!changed) return;
      try {
        await this.save(row.dataset.thread, title);
      } catch (error) {
        toast(`Not renamed. ${error.message}`);
      }
    };
    field.addEventListener("keydown", (event) => {
      if (event.isComposing) return;
      if (event.key === "Enter") end(true);
      if (event.key === "Escape") {
        end(false);
        link.focus();
      }
      event.stopPropagation();
    });
    field.addEventListener("blur", () => end(true));
  }

  async saveFromDialog() {
    try {
      await this.save(this.thread, document.getElementById("new-title").value);
      this.renaming.close();
    } catch (error) {
      this.complain(this.renaming, error);
    }
  }

  async save(thread, title) {
    const response = await ask(this.renaming.dataset.action, { fields: { thread, title } });
    const { row, title: saved } = await response.json();
    this.sidebar.place(row, thread);
    this.sidebar.showTitle(thread, saved);
  }

  async archive(undo) {
    const thread = this.thread;
    const fields = undo ? { thread, undo: "1" } : { thread };
    try {
      const response = await ask(this.renaming.dataset.archive, { fields });
      const { row } = await response.json();
      this.sidebar.remove(thread);
      if (undo !== this.sidebar.archived) this.sidebar.place(row, thread);
    } catch (error) {
      toast(error.message);
      return;
    }
    const again = () => {
      this.thread = thread;
      this.archive(!undo);
    };
    toast(undo ? "Back in the list." : "Archived.", "Undo", again);
  }

  async remove() {
    const thread = this.thread;
    try {
      const response = await ask(this.deleting.dataset.action, { fields: { thread } });
      const { home } = await response.json();
      this.deleting.close();
      this.sidebar.remove(thread);
      if (document.getElementById("pane").dataset.thread === thread) await this.open(home);
    } catch (error) {
      this.complain(this.deleting, error);
    }
  }

  complain(dialog, error) {
    const line = dialog.querySelector(".dialog-error");
    line.textContent = error.message;
    line.hidden = false;
  }
}
