// The slider that changes one number of the scenario and runs it again, and the table of what each value gave.
import { quantities } from "./editor.js";
import { element, measures } from "./results.js";
import { $, say } from "./view.js";

// steps is how many steps of the slider double the value.
const steps = 4;
// fixed are numbers that are not of interest: how long a run takes, and what its report shows.
const fixed = /^(duration|drain_limit|seed|sample|quick|report|published|spans|description)\b/;

// near returns a number with three digits, or a whole one if it has no unit and was whole.
const near = (number, whole) => whole ? Math.max(1, Math.round(number)) : Number(number.toPrecision(3));

export class Vary {
	#base = null; // the quantity that is varied, as it was
	#runs = []; // {value, outcome} of each value

	// editor has the scenario; run runs it.
	constructor(editor, run) {
		this.editor = editor;
		$("vary-what").addEventListener("change", () => this.#choose());
		$("vary").addEventListener("input", () => this.#tell());
		$("vary").addEventListener("change", () => {
			const now = this.#now();
			if (!now || this.#value() === this.editor.text.slice(now.from, now.to)) return;
			this.editor.replace(now.from, now.to, this.#value());
			run();
		});
	}

	// list offers the numbers of the scenario. The one that is varied stays.
	list() {
		const all = quantities(this.editor.text).filter((q) => !fixed.test(q.path));
		const chosen = $("vary-what").value;
		$("vary-what").replaceChildren(element("option", { value: "" }, "a number …"),
			...all.map((q) => element("option", { value: q.path }, `${q.path}: ${this.editor.text.slice(q.from, q.to)}`)));
		$("vary-what").value = all.some((q) => q.path === chosen) ? chosen : "";
		if (!$("vary-what").value && this.#base) this.#choose();
	}

	#now() { return quantities(this.editor.text).find((q) => q.path === this.#base?.path); }

	#choose() {
		this.#base = quantities(this.editor.text).find((q) => q.path === $("vary-what").value) ?? null;
		this.#runs = [];
		$("vary").value = "0";
		$("vary").disabled = !this.#base;
		$("varied").replaceChildren();
		this.#tell();
		if (this.#base) say(`Move the slider to change ${this.#base.path}; the scenario runs when you let it go.`);
	}

	#value() {
		const { number, unit } = this.#base;
		return `${near(number * 2 ** (Number($("vary").value) / steps), unit === "" && Number.isInteger(number))}${unit}`;
	}

	#tell() {
		$("vary-value").textContent = this.#base ? this.#value() : "";
		$("vary").setAttribute("aria-valuetext", $("vary-value").textContent);
	}

	// ran takes the results of a run, and shows those of all values.
	ran(outcome) {
		const now = this.#now();
		if (!now || outcome.runs.length === 0) return;
		const value = this.editor.text.slice(now.from, now.to);
		this.#runs = [...this.#runs.filter((r) => r.value !== value), { value, size: now.number, outcome }].sort((a, b) => a.size - b.size);
		if (this.#runs.length < 2) return;
		const names = outcome.runs.map((r) => r.summary.controller);
		$("varied").replaceChildren(
			element("h2", {}, `By ${now.path}`),
			element("div", { class: "wide" }, element("table", { class: "compare" },
				element("thead", {}, element("tr", {}, element("th", { scope: "col", class: "left" }, "value"), element("th", { scope: "col", class: "left" }, "controller"),
					measures.map((m) => element("th", { scope: "col" }, m.name)))),
				element("tbody", {}, this.#runs.flatMap((r) => names.flatMap((name) => {
					const s = r.outcome.runs.find((run) => run.summary.controller === name)?.summary;
					return s ? [element("tr", { class: r.value === value ? "now" : "" }, element("td", { class: "left" }, r.value), element("td", { class: "left" }, name),
						measures.map((m) => element("td", {}, m.shown(s))))] : [];
				}))))));
	}
}
