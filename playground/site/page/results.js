// The results of a run, as tables. Text is never parsed as HTML, because names and messages may hold anything.

import { bytes, count, span } from "./format.js";

// element makes an element with attributes and children, which are elements or texts.
export const element = (name, attributes = {}, ...children) => {
	const e = document.createElement(name);
	for (const [key, value] of Object.entries(attributes)) {
		if (key.startsWith("on")) e.addEventListener(key.slice(2), value);
		else if (value !== false) e.setAttribute(key, value === true ? "" : value);
	}
	e.append(...children.flat());
	return e;
};

const signs = { PASS: "✓", WARN: "!", FAIL: "✗" };
const words = { PASS: "ok", WARN: "incomplete", FAIL: "broken" };
const badge = (s) => [
	element("span", { class: `badge ${s.verdict.status.toLowerCase()}` }, `${signs[s.verdict.status] || ""} ${words[s.verdict.status] ?? s.verdict.status}`),
	s.partial ? element("span", { class: "badge partial" }, "partial") : "",
];
const done = (s, text) => s.flows.completed > 0 ? text() : "–";

// rows are the rows of the table that compares runs: a name, and a function for a run's value.
const rows = [
	["checks", badge],
	["flows completed", (s) => `${count(s.flows.completed)} of ${count(s.flows.count)}`],
	["FCT mean", (s) => done(s, () => span(s.flows.fct_ns.mean))],
	["FCT p99", (s) => done(s, () => span(s.flows.fct_ns.p99))],
	["slowdown p99", (s) => done(s, () => s.flows.slowdown.p99.toFixed(2))],
	["PAUSE frames", (s) => count(s.pfc.pauses)],
	["PAUSE frames between switches", (s) => count(s.pfc.pauses_between_switches)],
	["hops that PAUSE spread", (s) => count(s.pfc.spread?.depth ?? 0)],
	["victim flows", (s) => count(s.victims.count)],
	["ECN marks", (s) => count(s.ecn_marks)],
	["CNPs", (s) => count(s.cnps)],
	["CNMs", (s) => count(s.cnms)],
	["drops", (s) => count(s.drops.frames)],
	["virtual time", (s) => span(s.virtual_ns)],
	["wall-clock time", (s) => `${s.speed.wall_seconds.toFixed(1)} s`],
	["fingerprint", (s) => element("code", {}, s.fingerprint)],
];

// mostMessages limits the messages of a verdict: an invariant that breaks once often breaks at every frame.
const mostMessages = 5;

const messages = ({ summary: s }) => {
	const all = s.verdict.messages ?? [], notes = s.verdict.notes ?? [];
	const lines = all.slice(0, mostMessages).map((m) => element("li", { class: s.verdict.status === "FAIL" ? "error" : "warning" },
		element("b", { class: "sign" }, `${s.controller} ${words[s.verdict.status]}`), m));
	if (all.length > mostMessages) lines.push(element("li", {}, `${s.controller}: and ${all.length - mostMessages} more, in its summary.json`));
	return [...lines, ...notes.map((n) => element("li", { class: "note" }, element("b", {}, `${s.controller} note`), n))];
};

// summary compares the runs of an outcome.
export const summary = (outcome) => {
	const runs = outcome.runs;
	if (runs.length === 0) return [];
	const lines = runs.flatMap(messages);
	return [
		element("h2", {}, outcome.name),
		element("p", { class: "facts" }, `${outcome.fabric}; seed ${outcome.seed}`),
		element("div", { class: "wide" }, element("table", { class: "compare" },
			element("thead", {}, element("tr", {}, element("td"), runs.map((r) => element("th", { scope: "col" }, r.summary.controller)))),
			element("tbody", {}, rows.map(([name, value]) => element("tr", {},
				element("th", { scope: "row" }, name), runs.map((r) => element("td", {}, value(r.summary)))))))),
		...lines.length > 0 ? [element("h2", {}, "Notes"), element("ul", { class: "messages" }, lines)] : [],
	];
};

// mostFlows limits the flows that the page shows. flows.csv has all.
const mostFlows = 300;

// flows returns tables of each run's flows, from its flows.csv.
export const flows = (runs) => runs.flatMap(({ controller, csv }) => {
	const [names, ...lines] = csv.trimEnd().split("\n").map((line) => line.split(","));
	const cells = (line) => {
		const f = Object.fromEntries(names.map((name, k) => [name, line[k]]));
		return [
			element("td", {}, f.flow), element("td", { class: "left" }, f.tag), element("td", { class: "left" }, `${f.src} → ${f.dst}`),
			element("td", {}, bytes(Number(f.size_bytes))), element("td", {}, span(Number(f.start_ns))),
			element("td", {}, f.fct_ns ? span(Number(f.fct_ns)) : "not finished"), element("td", {}, f.ideal_fct_ns ? span(Number(f.ideal_fct_ns)) : "–"),
			element("td", {}, f.slowdown ? Number(f.slowdown).toFixed(2) : "–"), element("td", {}, bytes(Number(f.retransmitted_bytes))),
		];
	};
	const left = (name) => element("th", { scope: "col", class: "left" }, name), right = (name) => element("th", { scope: "col" }, name);
	return [
		element("h2", {}, controller),
		lines.length > mostFlows ? element("p", { class: "note" }, `The first ${mostFlows} of ${count(lines.length)} flows; flows.csv has all.`) : "",
		element("div", { class: "wide" }, element("table", {},
			element("thead", {}, element("tr", {}, right("flow"), left("tag"), left("from → to"), right("size"), right("start"), right("FCT"),
				right("ideal FCT"), right("slowdown"), right("retransmitted"))),
			element("tbody", {}, lines.slice(0, mostFlows).map((line) => element("tr", {}, cells(line)))))),
	];
});
