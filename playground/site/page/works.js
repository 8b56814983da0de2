// What the browser keeps: the draft, with which a later visit begins, and works that have a name.
import { element } from "./results.js";

const list = "pausenet-works";

// stored returns a text that the browser keeps, null if it keeps none; area is localStorage or sessionStorage.
const stored = (area, key) => {
	try {
		return globalThis[area].getItem(key);
	} catch {
		return null;
	}
};
const parse = (text) => {
	try {
		return JSON.parse(text);
	} catch {
		return null;
	}
};

// Drafts keeps texts by key for a later visit. Of several tabs the first keeps them. Others keep theirs apart, each for as long as it is
// open.
export class Drafts {
	#first = true; // a promise: whether no other tab was open before

	// parted is called when a text is kept apart.
	constructor(parted) {
		this.parted = parted;
		if (this.apart) this.#first = false; // before a reload
		else if (navigator.locks) {
			this.#first = new Promise((resolve) => {
				// After a reload the page before may have the lock for a moment.
				navigator.locks.request("pausenet-drafts", { signal: AbortSignal.timeout(2000) }, () => {
					resolve(true);
					return new Promise(() => {}); // as long as the tab is open
				}).catch(() => resolve(false));
			});
		}
	}

	get apart() { return stored("sessionStorage", list) !== null; }

	read(key) {
		return parse(stored("sessionStorage", key) ?? stored("localStorage", key));
	}

	async write(key, value) {
		const text = JSON.stringify(value), first = await this.#first;
		try {
			if (first) return localStorage.setItem(key, text);
			sessionStorage.setItem(list, "apart");
			sessionStorage.setItem(key, text);
		} catch { /* a browser that keeps nothing */ }
		this.parted();
	}
}

// Works shows the named works: a form that saves, and a list of which each can be opened, renamed and deleted.
export class Works {
	#asked = ""; // the name that is taken, and is replaced if it is given again

	// now returns what is in the editors; open puts a work into them.
	constructor({ form, name, list, note }, now, open) {
		Object.assign(this, { name, list, note, now, open });
		form.addEventListener("submit", (event) => {
			event.preventDefault();
			this.save(name.value.trim());
		});
		addEventListener("storage", () => this.show());
		this.show();
	}

	get all() { return new Map(parse(stored("localStorage", list)) ?? []); }

	#change(does) {
		const all = this.all;
		does(all);
		try {
			localStorage.setItem(list, JSON.stringify([...all]));
		} catch {
			this.note.textContent = "The browser has no room for it: delete a work, or copy a link.";
		}
		this.show();
	}

	save(name) {
		if (!name) return;
		const was = this.all.get(name), work = this.now();
		this.note.textContent = "";
		if (was && JSON.stringify(was.work) !== JSON.stringify(work) && this.#asked !== name) {
			this.#asked = name;
			this.note.textContent = `There is another work ${name}. Save again to replace it, or choose another name.`;
			return;
		}
		this.#asked = "";
		this.note.textContent = `Saved as ${name}.`;
		this.#change((all) => all.set(name, { work, at: Date.now() }));
	}

	rename(from, to) {
		if (to === from || !to) return this.show();
		if (this.all.has(to)) {
			this.note.textContent = `There is a work ${to} already.`;
			return this.show();
		}
		this.note.textContent = "";
		this.#change((all) => {
			all.set(to, all.get(from));
			all.delete(from);
		});
	}

	remove(name) {
		const work = this.all.get(name);
		this.note.replaceChildren(`Deleted ${name}. `, element("button", { class: "link", onclick: () => {
			this.note.textContent = "";
			this.#change((all) => all.has(name) || all.set(name, work));
		} }, "Undo"));
		this.#change((all) => all.delete(name));
	}

	show() {
		const all = [...this.all].sort((a, b) => b[1].at - a[1].at);
		this.list.replaceChildren(...all.map(([name, { work, at }]) => {
			const title = element("button", { class: "link", onclick: () => this.open(work, name) }, name);
			const rename = () => {
				const field = element("input", { value: name, maxlength: "80", "aria-label": `New name of ${name}` });
				field.addEventListener("keydown", (event) => {
					if (event.key === "Enter") this.rename(name, field.value.trim());
					else if (event.key === "Escape") this.show();
				});
				title.replaceWith(field);
				field.select();
			};
			return element("li", {}, title,
				element("span", { class: "soft" }, `${work.exercise ? `exercise ${work.exercise}` : "scenario"}, ${new Date(at).toLocaleString()}`),
				element("button", { onclick: rename, "aria-label": `Rename ${name}` }, "Rename"),
				element("button", { onclick: () => this.remove(name), "aria-label": `Delete ${name}` }, "Delete"));
		}));
	}
}
