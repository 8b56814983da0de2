// The selected flow, port or node, with its values at the moment.

import { bytes, count, element, percent, plural, rate, span } from "./format.js";
import { slowdown } from "./table.js";
import { whyParts } from "./why.js";

/** Selected shows the selection in a section. */
export class Selected {
	constructor(section, { close, port, flow, place }) {
		Object.assign(this, { section, close, port, flow, place });
	}

	/** show shows what is selected in some runs, nothing if that is null. */
	show(runs, chosen) {
		this.section.hidden = !chosen;
		this.live = [];
		if (!chosen) return;
		const close = element("button", { className: "close", textContent: "×", title: "Close (Esc)", ariaLabel: "Close" });
		close.addEventListener("click", this.close);
		const [kind, id] = chosen;
		this.section.replaceChildren(element("div", { className: "bar" }, element("h2", { textContent: this.title(runs[0], kind, id) }), close));
		for (const run of runs) {
			if (runs.length > 1) this.section.append(element("h3", { textContent: run.head.label }));
			this.section.append(...(run.parts?.[kind] ?? this[`${kind}Parts`]).call(this, run, id));
		}
	}

	title(run, kind, id) {
		if (kind === "flow") return `Flow ${run.flowName(id)}${run.tag(id) && `, ${run.tag(id)}`}: ${run.nodeName(run.flows.source[id])} to ${run.nodeName(run.flows.destination[id])}`;
		return kind === "port" ? `Port ${run.ports[id].name}, to ${run.nodeName(run.ports[id].peerNode)}` : `${run.head.nodes[id].host ? "Host" : "Switch"} ${run.nodeName(id)}`;
	}

	/** point shows which place of those that a flow's time is told by is in the drawing; null: none. */
	point(port) {
		for (const e of this.section.querySelectorAll(".why [data-port]")) e.setAttribute("aria-pressed", Number(e.dataset.port) === port);
	}

	/** at brings the values to a moment. */
	at(t) {
		for (const [e, value, text, otherwise = "not recorded"] of this.live) {
			const v = value(t);
			const said = v === undefined ? otherwise : text(v);
			if (e.textContent !== said) e.textContent = said;
			e.dataset.raw = v ?? "";
		}
	}

	// facts makes a list of names and values. A value may be a function of the moment; the next entry then formats its result, and the one
	// after that replaces an undefined result.
	facts(rows) {
		const list = element("dl");
		for (const [name, key, value, text, otherwise] of rows) {
			const dd = element("dd");
			dd.dataset.value = key;
			if (typeof value === "function") this.live.push([dd, value, text, otherwise]);
			else dd.textContent = value;
			list.append(element("dt", { textContent: name }), dd);
		}
		return list;
	}

	links(title, ports, run) {
		const p = element("p", { className: "path" }, `${title} `);
		for (const id of ports) {
			const button = element("button", { textContent: run.portName(id), title: `port ${run.ports[id].name}` });
			button.addEventListener("click", () => this.port(id));
			p.append(button, " ");
		}
		return p;
	}

	flowParts(run, i) {
		const f = run.flows;
		if (i >= run.flowCount) return [element("p", { className: "soft", textContent: "This run does not have this flow." })];
		const otherwise = run.has("rate") && run.row("rate", i).length > 0 ? "not active" : undefined;
		const parts = [this.facts([
			["Rate", "rate", (t) => run.flowAt("rate", i, t), rate, otherwise],
			["Goodput", "goodput", (t) => run.flowAt("goodput", i, t), rate, otherwise],
			["RTT", "rtt", (t) => run.flowAt("rtt", i, t), span, otherwise],
			["Size", "size", f.size[i] ? bytes(f.size[i]) : "unbounded"],
			["Start", "start", span(f.start[i])],
			["FCT", "fct", f.fct[i] < 0 ? "not finished" : `${span(f.fct[i])} (ideal ${span(f.ideal[i])})`],
			["Slowdown", "slowdown", slowdown(run, i)],
			["Retransmitted", "resent", bytes(f.resent[i])],
		])];
		const path = run.path(i);
		parts.push(path.length > 0 ? this.links("Path:", path, run) : element("p", { className: "soft", textContent: "The path is not recorded: run with --record." }));
		parts.push(...whyParts(run, i, this.place));
		return parts;
	}

	portParts(run, id) {
		const p = run.ports[id];
		const grown = (name) => (t) => (run.has(name) && p.row >= 0 ? run.grown(name, p.row, run.sample(t)) : undefined);
		const parts = [this.facts([
			["Queue", "queue", (t) => run.at("queue", id, t), bytes],
			["Buffered (ingress)", "ingress", (t) => run.at("ingress", id, t), bytes],
			["Paused", "paused", (t) => (run.paused(id, t) ? 1 : 0), (v) => (v ? "yes" : "no")],
			["Utilisation", "utilisation", (t) => (p.row < 0 ? undefined : run.utilisation(id, run.sample(t))), percent],
			["Sent", "sent", (t) => run.at("sent", id, t), bytes],
			["Marked", "marks", grown("marks"), (v) => plural(v, "packet")],
			["CNMs", "cnms", grown("cnms"), count],
			["Link", "link", `${rate(p.rate)}, ${span(p.delay)}`],
		])];
		const flows = [];
		if (run.has("paths")) {
			for (let i = 0; i < run.flowCount && flows.length <= 12; i++) if (run.path(i).includes(id)) flows.push(i);
		}
		const across = element("p", { className: "path" }, flows.length > 0 ? "Flows: " : "");
		for (const i of flows.slice(0, 12)) {
			const button = element("button", { textContent: `${i} ${run.tag(i)}` });
			button.addEventListener("click", () => this.flow(i));
			across.append(button, " ");
		}
		if (flows.length > 12) across.append("…");
		parts.push(this.links("Opposite direction:", [p.peer], run), across);
		return parts;
	}

	nodeParts(run, id) {
		const ports = run.nodePorts[id];
		const row = run.hostRows.get(id);
		const facts = [
			["Paused ports", "paused", (t) => ports.filter((p) => run.paused(p, t)).length, String],
			["Queued bytes", "queue", (t) => ports.reduce((sum, p) => sum + (run.at("queue", p, t) ?? 0), 0), bytes],
		];
		if (row !== undefined) facts.push(["CNPs received", "cnps", (t) => run.grown("cnps", row, run.sample(t)), count]);
		return [this.facts(facts), this.links("Ports:", ports, run)];
	}
}
