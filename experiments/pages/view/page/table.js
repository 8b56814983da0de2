// The table of flows. It has rows only for what is in sight, so that ten thousand flows scroll as ten do.

import { bytes, count, element, plural, span } from "./format.js";

const rowHeight = 28;
const states = [["○", "not started"], ["●", "active"], ["✓", "finished"]];

const columns = [
	{ name: "#", key: (run, i) => i, text: (run, i) => String(i) },
	{ name: "", title: "now", key: (run, i, t) => run.state(i, t), text: null },
	{ name: "tag", key: (run, i) => run.tag(i), text: (run, i) => run.tag(i), left: true },
	{ name: "from, to", key: (run, i) => ends(run, i), text: (run, i) => ends(run, i), left: true },
	{ name: "size", key: (run, i) => run.flows.size[i] || Infinity, text: (run, i) => (run.flows.size[i] ? bytes(run.flows.size[i]) : "∞") },
	{ name: "start", key: (run, i) => run.flows.start[i], text: (run, i) => span(run.flows.start[i]) },
	{ name: "FCT", key: (run, i) => (run.flows.fct[i] < 0 ? Infinity : run.flows.fct[i]), text: (run, i) => (run.flows.fct[i] < 0 ? "–" : span(run.flows.fct[i])) },
	{ name: "slowdown", key: (run, i) => (run.flows.fct[i] < 0 ? Infinity : run.flows.slowdown[i]), text: (run, i) => slowdown(run, i) },
];

// Some columns are hidden where there is little room.
const classOf = (c) => (c.left ? "left" : ["size", "start", "FCT"].includes(c.name) ? c.name : "");

const ends = (run, i) => `${run.nodeName(run.flows.source[i])} → ${run.nodeName(run.flows.destination[i])}`;

/** slowdown returns a flow's slowdown as text. */
export const slowdown = (run, i) => (run.flows.fct[i] < 0 ? "–" : (run.flows.slowdown[i] / 1e6).toFixed(2));

/** Flows is the table of a run's flows. */
export class Flows {
	constructor(section, pick) {
		this.section = section;
		this.pick = pick;
		this.scroll = section.querySelector(".scroll");
		this.body = section.querySelector("tbody");
		this.search = section.querySelector("input");
		this.by = 0;
		this.down = false;
		this.time = 0;
		this.search.addEventListener("input", () => this.choose());
		this.scroll.addEventListener("scroll", () => this.fill(), { passive: true });
		new ResizeObserver(() => this.fill()).observe(this.scroll);
	}

	show(run, other) {
		this.run = run;
		this.columns = [...(run.flowColumns ?? columns)];
		this.section.classList.toggle("beside", Boolean(other));
		if (other && other.flowCount === run.flowCount) {
			this.columns.push({ name: `under ${other.head.label}`, key: (_, i) => columns[7].key(other, i), text: (_, i) => slowdown(other, i) });
		}
		this.by = Math.min(this.by, this.columns.length - 1);
		this.section.querySelector("thead tr").replaceChildren(...this.columns.map((c, k) => {
			const button = element("button", { textContent: c.name || "now", title: c.title ?? `sort by ${c.name}` });
			button.addEventListener("click", () => {
				this.down = this.by === k ? !this.down : c.down || ["size", "FCT", "slowdown"].includes(c.name) || k >= columns.length - 1;
				this.by = k;
				this.choose();
			});
			return element("th", { scope: "col", className: classOf(c) }, button);
		}));
		this.choose();
	}

	/** choose finds and sorts the flows that are wanted, and goes to the first unless it is to stay. */
	choose(stay) {
		const { run } = this;
		const words = this.search.value.toLowerCase().split(/\s+/).filter(Boolean);
		const text = (i) => `${run.flowName(i)} ${run.tag(i)} ${run.nodeName(run.flows.source[i])} ${run.nodeName(run.flows.destination[i])}`.toLowerCase();
		this.rows = Array.from({ length: run.flowCount }, (_, i) => i).filter((i) => words.length === 0 || words.every((w) => text(i).split(" ").some((part) => part.includes(w))));
		const { key } = this.columns[this.by];
		const keys = new Map(this.rows.map((i) => [i, key(run, i, this.time)]));
		const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
		this.rows.sort((a, b) => (this.down ? compare(keys.get(b), keys.get(a)) : compare(keys.get(a), keys.get(b))) || a - b);
		this.section.querySelectorAll("th").forEach((th, k) => th.setAttribute("aria-sort", k !== this.by ? "none" : this.down ? "descending" : "ascending"));
		this.section.querySelector("#found").textContent = words.length > 0 ? `${count(this.rows.length)} of ${count(run.flowCount)}` : run.flowsSay ?? plural(run.flowCount, "flow");
		if (!stay) this.scroll.scrollTop = 0;
		this.fill();
	}

	/** select marks a flow, and brings it into sight if it is elsewhere. */
	select(flow, show) {
		this.selected = flow;
		const at = this.rows.indexOf(flow) * rowHeight;
		if (show && at >= 0 && (at < this.scroll.scrollTop || at > this.scroll.scrollTop + this.scroll.clientHeight - 2 * rowHeight)) {
			this.scroll.scrollTop = Math.max(0, at - this.scroll.clientHeight / 2);
		}
		this.fill();
	}

	/** at tells the time: what is under way changes. */
	at(t) {
		this.time = t;
		for (const tr of this.body.querySelectorAll("tr[data-flow]")) this.mark(tr, Number(tr.dataset.flow));
	}

	mark(tr, flow) {
		const state = this.run.state(flow, this.time);
		if (tr.dataset.state === String(state)) return;
		tr.dataset.state = state;
		const cell = tr.children[1];
		cell.textContent = states[state][0];
		cell.title = states[state][1];
	}

	/** fill makes the rows in sight. */
	fill() {
		if (!this.run) return;
		const first = Math.max(0, Math.floor(this.scroll.scrollTop / rowHeight) - 4);
		const shown = this.rows.slice(first, first + Math.ceil(this.scroll.clientHeight / rowHeight) + 8);
		const before = [...this.body.querySelectorAll("tr[data-flow]")];
		if (this.run.live && before.length === shown.length && shown.every((i, k) => before[k].dataset.flow === String(i))) {
			before.forEach((tr, k) => this.renew(tr, shown[k])); // rows that stay can be clicked, and keep the focus
			return;
		}
		const focus = document.activeElement?.closest("tr[data-flow]")?.dataset.flow;
		const space = (n) => element("tr", { className: "space", ariaHidden: "true" }, element("td", { colSpan: this.columns.length, style: `height:${n * rowHeight}px` }));
		this.body.replaceChildren(space(first), ...shown.map((i) => this.row(i)), space(this.rows.length - first - shown.length));
		this.body.parentElement.setAttribute("aria-rowcount", this.rows.length + 1);
		if (focus !== undefined) this.body.querySelector(`tr[data-flow="${focus}"]`)?.focus({ preventScroll: true });
	}

	/** renew brings a row up to date. */
	renew(tr, flow) {
		tr.className = flow === this.selected ? "chosen" : "";
		this.columns.forEach((c, k) => {
			const said = c.text?.(this.run, flow);
			if (said !== undefined && tr.children[k].textContent !== said) tr.children[k].textContent = said;
		});
		this.mark(tr, flow);
	}

	row(flow) {
		const tr = element("tr", { tabIndex: 0, className: flow === this.selected ? "chosen" : "" });
		tr.dataset.flow = flow;
		tr.append(...this.columns.map((c) => element("td", { className: classOf(c), textContent: c.text ? c.text(this.run, flow) : "" })));
		this.mark(tr, flow);
		const pick = () => this.pick(flow === this.selected ? null : flow);
		tr.addEventListener("click", pick);
		tr.addEventListener("keydown", (e) => {
			if (e.key === "Enter") pick();
			const next = e.key === "ArrowDown" ? tr.nextElementSibling : e.key === "ArrowUp" ? tr.previousElementSibling : null;
			if (next?.dataset.flow) {
				e.preventDefault();
				e.stopPropagation();
				next.focus();
			}
		});
		return tr;
	}
}
