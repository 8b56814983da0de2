// An exercise in the page: its files in editors, its text, and what its checks say.
import { editor } from "./editor.js";
import { markdown } from "./markdown.js";
import { element } from "./results.js";

// most is how long a file may be, as on the command line.
const most = 256 << 10;

const plural = (n, word) => `${n} ${word}${n === 1 ? "" : "s"}`;

// Files are the editors of an exercise's files, each with a tab before the last of a list of tabs. A last tab has the files that are made
// elsewhere: pictures and outputs of programs.
export class Files {
	#editors = new Map(); // by file: {editor, tab, panel}
	#tabs = []; // those of the editors and of the uploads, and their panels
	uploads = {}; // contents by file, in base64: pictures, outputs and locked predictions

	// changed is called after each change of the user's. help is what completion knows: of scenarios' keys, and of controllers' words.
	constructor(tabs, panels, help, changed) {
		Object.assign(this, { tabs, panels, help, changed });
	}

	// show makes the editors of an exercise, with the given files; a missing file gets the exercise's own text.
	show(exercise, written = {}, uploads = {}) {
		this.clear();
		this.uploads = { ...uploads };
		const add = (id, name, title, type, ...content) => {
			const panel = element("div", { role: "tabpanel", id: `panel-${id}`, "aria-labelledby": `tab-${id}`, class: type, hidden: true }, ...content);
			const tab = element("button", { role: "tab", id: `tab-${id}`, "aria-controls": panel.id, "aria-selected": "false", tabindex: "-1", title }, name);
			this.tabs.append(tab);
			this.panels.before(panel);
			this.#tabs.push(tab, panel);
			return tab;
		};
		for (const file of exercise.files) {
			const host = element("div", { class: "host" });
			const tab = add(`file-${file.name.replace(".", "-")}`, file.name, file.given ? "For measuring on the command line; not submitted" : "Submitted", "editor", host);
			const code = file.name.endsWith(".star");
			const made = editor(host, {
				language: code ? "starlark" : "yaml", label: file.name, changed: this.changed,
				help: code ? this.help.words : file.name === "answers.yaml" ? undefined : this.help.keys,
			});
			made.text = written[file.name] ?? file.text;
			this.#editors.set(file.name, { editor: made, tab });
		}
		if (exercise.uploads?.length > 0) add("uploads", "Other files", "Pictures and outputs that you submit", "results", ...exercise.uploads.map((name) => this.#upload(name)));
	}

	// upload returns the field for a file that is made elsewhere, with what was chosen last.
	#upload(name) {
		const picture = name.endsWith(".png"), shown = element("div", { class: "upload" }), note = element("span", { class: "note", role: "status" });
		const show = () => {
			const data = this.uploads[name];
			note.textContent = data ? "" : "not chosen yet";
			shown.replaceChildren(...!data ? [] : [picture ? element("img", { src: `data:image/png;base64,${data}`, alt: name }) : element("pre", {}, atob(data))]);
		};
		const field = element("input", { type: "file", accept: picture ? "image/png" : "text/plain", id: `upload-${name.replace(".", "-")}`, onchange: async () => {
			const bytes = new Uint8Array(await field.files[0]?.arrayBuffer() ?? []);
			if (bytes.length > most) {
				note.textContent = `It has ${bytes.length} bytes, and at most ${most} are allowed.`;
				return;
			}
			this.uploads[name] = btoa(Array.from(bytes, (b) => String.fromCharCode(b)).join(""));
			show();
			this.changed();
		} });
		show();
		return element("div", {}, element("label", { class: "field" }, element("span", {}, name), field), note, shown);
	}

	clear() {
		for (const e of this.#tabs) e.remove();
		this.#tabs = [];
		this.uploads = {};
		this.#editors.clear();
	}

	// text returns the contents of the files, by name.
	get text() {
		return Object.fromEntries([...this.#editors].map(([name, { editor }]) => [name, editor.text]));
	}

	// names are the files' names, and place is where one is edited: [editor, id of its tab].
	get names() { return [...this.#editors.keys()]; }
	place(name) {
		const at = this.#editors.get(name);
		return at && [at.editor, at.tab.id];
	}
}

// task returns an exercise's text and the titles of its checks.
export const task = (e) => [
	...markdown(e.text),
	element("h3", {}, "Checks"),
	element("ul", { class: "worth" }, e.checks.map((c) => element("li", {}, element("b", {}, String(c.points)), c.title))),
	element("p", { class: "note" }, `${plural(e.points, "point")}, some ${e.minutes} minutes. To hand in: ${[...e.files.filter((f) => !f.given).map((f) => f.name), ...e.uploads ?? []].join(", ")}. `
		+ "Commands in the text are for the command line. Here, Check makes the runs that the checks need, and Report shows them."),
];

// grade returns the points of a submission, as pausenet lab check prints them. look opens a report.
export const grade = (g, look) => [
	element("h2", {}, g.title),
	element("p", { class: "points" }, element("b", {}, `${g.points} of ${g.of}`), " points", g.score ? element("span", { class: "soft" }, `; score ${Number(g.score.toPrecision(4))}, the less the better`) : ""),
	...Object.values(g.problems || {}).map((p) => element("p", { class: "problem" }, p.trim())),
	element("ul", { class: "checks" }, g.checks.map((c) => element("li", { class: c.passed ? "passed" : "missed" },
		element("span", { class: "sign", "aria-label": c.passed ? "passed" : "not passed" }, c.passed ? "✓" : "✗"),
		element("div", {},
			element("p", { class: "title" }, element("b", {}, c.title), element("span", { class: "soft" }, `${c.points}/${c.of}`)),
			element("dl", {},
				element("dt", {}, "required"), element("dd", {}, c.required),
				element("dt", {}, "measured"), element("dd", {}, c.measured),
				...c.hint ? [element("dt", {}, "hint"), element("dd", {}, c.hint)] : [],
				...c.report ? [element("dt", {}, "look at"), element("dd", {}, element("button", { class: "link", onclick: () => look(c.report) }, "the report"),
					c.look_at ? `: ${c.look_at}` : "")] : []))))),
];
