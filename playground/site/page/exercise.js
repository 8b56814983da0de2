// An exercise in the page: its files in editors, its text, and what its checks say.
import { editor } from "./editor.js";
import { markdown } from "./markdown.js";
import { element } from "./results.js";

const plural = (n, word) => `${n} ${word}${n === 1 ? "" : "s"}`;

// Files are the editors of an exercise's files, each with a tab before the last of a list of tabs.
export class Files {
	#editors = new Map(); // by file: {editor, tab, panel}

	// changed is called after each change of the user's. help is what completion knows: of scenarios' keys, and of controllers' words.
	constructor(tabs, panels, help, changed) {
		Object.assign(this, { tabs, panels, help, changed });
	}

	// show makes the editors of an exercise, with the given files; a missing file gets the exercise's own text.
	show(exercise, written = {}) {
		this.clear();
		for (const file of exercise.files) {
			const id = file.name.replace(".", "-");
			const host = element("div", { class: "host" });
			const panel = element("div", { role: "tabpanel", id: `panel-file-${id}`, "aria-labelledby": `tab-file-${id}`, class: "editor", hidden: true }, host);
			const tab = element("button", { role: "tab", id: `tab-file-${id}`, "aria-controls": panel.id, "aria-selected": "false", tabindex: "-1",
				title: file.given ? "For measuring on the command line; not submitted" : "Submitted" }, file.name);
			this.tabs.append(tab);
			this.panels.before(panel);
			const code = file.name.endsWith(".star");
			const made = editor(host, {
				language: code ? "starlark" : "yaml", label: file.name, changed: this.changed,
				help: code ? this.help.words : file.name === "answers.yaml" ? undefined : this.help.keys,
			});
			made.text = written[file.name] ?? file.text;
			this.#editors.set(file.name, { editor: made, tab, panel });
		}
	}

	clear() {
		for (const { tab, panel } of this.#editors.values()) {
			tab.remove();
			panel.remove();
		}
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
	element("p", { class: "note" }, `${plural(e.points, "point")}, some ${e.minutes} minutes. To hand in: ${e.files.filter((f) => !f.given).map((f) => f.name).join(", ")}. `
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
