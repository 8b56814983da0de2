// Where a flow's time went: the tree that pausenet why prints, of the parts in the replay (experiments/results/replay/why.go).

import { count, element, span } from "./format.js";
import { slowdown } from "./table.js";

const least = 0.005; // of all: what is less is told of together

/** microseconds prints a time in ps exactly, in us. */
const microseconds = (ps) => `${Math.floor(ps / 1e6)}.${String(ps % 1e6).padStart(6, "0")} us`;

const smaller = (n) => (n === 1 ? "a smaller part" : `${count(n)} smaller parts`);

/** trees returns a flow's root causes, and where its time went: nodes with a text, a port (-1 for none), ps, and parts. */
export function trees(run, flow) {
	const [nodes, reasons, times] = ["node", "root", "time"].map((name) => run.row(`why.${name}`, flow));
	const parent = run.row("why.parent"), word = run.row("why.word");
	const node = (text, port) => ({ text, port, ps: 0, parts: new Map() });
	const roots = node("", -1), top = node("", -1);
	// Cables side by side have the same text.
	const below = (at, w, ps) => {
		const text = run.head.why.words[w];
		if (!at.parts.has(text)) at.parts.set(text, node(text, run.head.why.ports[w]));
		const part = at.parts.get(text);
		part.ps += ps;
		return part;
	};
	nodes.forEach((leaf, i) => {
		const way = [];
		for (let n = leaf; n >= 0; n = parent[n]) way.push(word[n]);
		roots.ps += times[i];
		top.ps += times[i];
		below(roots, reasons[i], times[i]);
		let at = top;
		while (way.length > 0) at = below(at, way.pop(), times[i]);
	});
	const order = (n) => {
		n.parts = [...n.parts.values()].sort((a, b) => b.ps - a.ps || (a.text < b.text ? -1 : 1));
		n.parts.forEach(order);
		return n;
	};
	return [order(roots), order(top)];
}

/** whyParts shows both trees. pick is called with a port that the user selects. */
export function whyParts(run, flow, pick) {
	const title = element("h3", { textContent: "Why it took so long" });
	const soft = (...text) => element("p", { className: "soft" }, ...text);
	if (!run.head.why) {
		const command = /^pausenet run /.test(run.head.command) ? run.head.command : `pausenet run ${run.head.scenario}`;
		return [title, soft("Not recorded. Run with --why: ", element("code", { textContent: `${command} --why` }), ".")];
	}
	if (run.row("why.node", flow).length === 0) {
		const { slowest } = run.head.why;
		return [title, soft(...(slowest === 0 ? ["The flow has not started."] : [
			`The page has this only for the ${count(slowest)} flows with the largest slowdown. For other flows, run `, element("code", { textContent: `pausenet why DIR ${flow}` }), ".",
		]))];
	}
	const [roots, top] = trees(run, flow);
	const time = run.flows.fct[flow] < 0 ? `${span(top.ps / 1e3)} so far; the flow has not finished.` : `FCT ${span(top.ps / 1e3)}, slowdown ${slowdown(run, flow)}.`;
	const place = element("div", { className: "why" });
	place.dataset.ps = top.ps;
	let hidden = false;
	const show = (all) => {
		place.replaceChildren(element("p", { textContent: time }), element("h4", { textContent: "Root causes" }), list(roots, 0, all),
			element("h4", { textContent: "Where the time went" }), list(top, 0, all));
		if (!hidden) return;
		const more = element("button", { className: "all", textContent: all ? "Show fewer parts" : "Show all parts" });
		more.addEventListener("click", () => show(!all));
		place.append(more);
	};
	const list = (n, depth, all) => {
		const ul = element("ul");
		let rest = 0, few = 0;
		for (const p of n.parts) {
			if (!all && p.ps < least * top.ps) {
				rest += p.ps;
				few++;
				hidden = true;
			} else {
				ul.append(item(p, depth, n.parts.length === 1 && depth > 0));
				if (p.parts.length > 0) ul.lastChild.append(list(p, depth + 1, all));
			}
		}
		if (few > 0 && (depth === 0 || few < n.parts.length)) ul.append(line(rest, element("span", { textContent: smaller(few) })));
		return ul;
	};
	const line = (ps, what) => {
		const part = ps / (top.ps || 1);
		const numbers = [element("b", { textContent: `${(100 * part).toFixed(1)} %` }), element("span", { className: "time", textContent: span(ps / 1e3) })];
		const li = element("li", {}, element("div", { className: "share", title: microseconds(ps) }, ...numbers, what));
		li.firstChild.style.setProperty("--part", part);
		return li;
	};
	// An only part equals its parent.
	const item = (p, depth, only) => {
		const what = p.port < 0 ? element("span", { textContent: p.text }) : element("button", { textContent: p.text, title: `show port ${run.ports[p.port].name} in the fabric` });
		if (p.port >= 0) {
			what.dataset.port = p.port;
			what.addEventListener("click", () => pick(p.port));
		}
		const li = only ? element("li", {}, element("div", { className: "share only" }, what)) : line(p.ps, what);
		li.dataset.ps = p.ps;
		li.dataset.what = p.text;
		return li;
	};
	show(false);
	return [title, place];
}
