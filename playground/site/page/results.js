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
// measures are what is compared between runs, the less the better: {name, of, shown} each. of is null if a run has none.
export const measures = [
	["FCT mean", (s) => s.flows.completed > 0 ? s.flows.fct_ns.mean : null, span],
	["FCT p99", (s) => s.flows.completed > 0 ? s.flows.fct_ns.p99 : null, span],
	["slowdown p99", (s) => s.flows.completed > 0 ? s.flows.slowdown.p99 : null, (v) => v.toFixed(2)],
	["PAUSE frames", (s) => s.pfc.pauses, count],
	["PAUSE frames between switches", (s) => s.pfc.pauses_between_switches, count],
	["hops that PAUSE spread", (s) => s.pfc.spread?.depth ?? 0, count],
	["victim flows", (s) => s.victims.count, count],
	["drops", (s) => s.drops.frames, count],
].map(([name, of, text]) => ({ name, of, shown: (s) => of(s) === null ? "–" : text(of(s)) }));

// best returns the runs with the least of a measure, of those that completed most flows; none if all are equal.
const best = (runs, { of, shown }) => {
	const most = Math.max(...runs.map((r) => r.summary.flows.completed));
	const fair = runs.filter((r) => r.summary.flows.completed === most && !r.summary.partial && of(r.summary) !== null);
	const least = Math.min(...fair.map((r) => of(r.summary)));
	const found = fair.filter((r) => shown(r.summary) === shown(fair.find((f) => of(f.summary) === least).summary));
	return found.length < runs.length ? found : [];
};

// The other rows of the table that compares runs: a name, and a function for a run's value.
const head = [["checks", badge], ["flows completed", (s) => `${count(s.flows.completed)} of ${count(s.flows.count)}`]];
const foot = [
	["ECN marks", (s) => count(s.ecn_marks)],
	["CNPs", (s) => count(s.cnps)],
	["CNMs", (s) => count(s.cnms)],
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
	const plain = ([name, value]) => element("tr", {}, element("th", { scope: "row" }, name), runs.map((r) => element("td", {}, value(r.summary))));
	const compared = (m) => {
		const winners = best(runs, m);
		return element("tr", {}, element("th", { scope: "row" }, m.name), runs.map((r) => element("td", { class: winners.includes(r) ? "best" : "" },
			winners.includes(r) ? element("span", { class: "star", role: "img", "aria-label": "best" }, "★") : "", m.shown(r.summary))));
	};
	return [
		element("h2", {}, outcome.name),
		element("p", { class: "facts" }, `${outcome.fabric}; seed ${outcome.seed}`),
		element("div", { class: "wide" }, element("table", { class: "compare" },
			element("thead", {}, element("tr", {}, element("td"), runs.map((r) => element("th", { scope: "col" }, r.summary.controller)))),
			element("tbody", {}, head.map(plain), measures.map(compared), foot.map(plain)))),
		...runs.length > 1 ? [element("p", { class: "note" }, "★ the best of a row, among the runs that completed most flows.")] : [],
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
