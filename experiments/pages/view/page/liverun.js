// A live fabric as a run that continues. It keeps only the latest samples and flows.

import { Run } from "./data.js";
import { bytes, element, percent, rate, span } from "./format.js";

const mostNumbers = 6e5; // of a column
const mostSamples = 4800;
const mostFlows = 4000;
const mostEvents = 300;
const columns = ["queue", "ingress", "paused", "stopped", "pauses", "sent", "sending", "marks", "cnms", "drops", "up", "cnps"];

const panels = [
	{ title: "Queues", series: [{ label: "longest", quantity: "queue" }, { label: "sum", quantity: "queue" }] },
	{ title: "Hosts", mean: true, series: [{ label: "send", quantity: "rate" }, { label: "receive", quantity: "rate" }] },
	{ title: "Paused ports", series: [{ label: "ports", quantity: "state" }] },
	{ title: "Signals in virtual time", mean: true, series: ["PAUSE", "marks", "CNMs", "CNPs", "drops"].map((label) => ({ label, quantity: "ce" })) },
];

/** LiveRun is a live fabric with the methods of Run. */
export class LiveRun extends Run {
	constructor(hello) {
		super(null);
		this.live = true;
		this.hello = hello;
		this.head = {
			...hello, label: hello.controller, description: "", status: "complete", verdict: "LIVE", recorded: true, rows: hello.ports.map((_, i) => i), tags: [""],
			panels, events: [], columns: [],
		};
		this.takePorts();
		this.nodesByName = new Map(hello.nodes.map((n, i) => [n.name, i]));
		const capacity = Math.max(120, Math.min(mostSamples, Math.floor(mostNumbers / Math.max(1, hello.ports.length))));
		this.capacity = capacity;
		this.store = new Map(columns.map((name) => {
			const rows = name === "cnps" ? hello.hosts.length : hello.ports.length;
			return [name, { rows, values: new Float64Array(0), starts: new Int32Array(rows + 1), most: 0 }];
		}));
		this.room = 0;
		this.count = 0; // samples
		this.stamps = new Float64Array(capacity);
		this.times = this.stamps.subarray(0, 0);
		this.panelValues = panels.map((p) => p.series.map(() => []));
		this.list = []; // flows
		this.byNumber = new Map();
		this.flows = { source: [], destination: [], size: [], start: [], fct: [], tag: [], ideal: [], slowdown: [], resent: [] };
		this.pfc = { time: [], port: [], priority: [], pause: [] };
		this.pauseTimes = [];
		this.pauseCounts = [];
		this.happened = []; // events, the newest last
		this.open = this.ended = 0;
		this.end = 0;
	}

	column(name) { return this.store.get(name) ?? { values: new Float64Array(0), starts: new Int32Array(1) }; }

	row(name, i = 0) {
		if (name === "times") return this.times;
		if (name === "first") return this.list.map((f) => f.first);
		if (name === "rate" || name === "goodput" || name === "rtt") return Float64Array.from(this.list[i]?.[name] ?? []);
		const [, panel, what] = /^panel\.(\d+)\.(time|value)$/.exec(name) ?? [];
		if (panel) return what === "time" ? this.times : Float64Array.from(this.panelValues[panel][i]);
		const c = this.column(name);
		return i < 0 || i + 1 >= c.starts.length ? c.values.subarray(0, 0) : c.values.subarray(c.starts[i], c.starts[i] + this.count);
	}

	has(name) { return ["rate", "goodput", "rtt"].includes(name) || this.store.has(name); }

	most(name) { return this.store.get(name)?.most ?? 0; }

	get flowCount() { return this.list.length; }

	get flowsSay() { return `${this.open} open, ${this.ended} finished`; }

	/** paused says whether a port may not send, or could not for a tenth of the time since the sample before. */
	paused(port, t) { return this.at("paused", port, t) === 1 || this.at("stopped", port, t) >= 100; }

	down(port, t) { return this.at("up", port, t) === 0; }

	utilisation(port, i) { return i < 1 ? 0 : this.grown("sending", port, i) / (this.times[i] - this.times[i - 1]); }

	flowAt(name, flow, t) { return this.list[flow]?.[name][this.sample(t) - this.list[flow].first]; }

	path(flow) { return this.list[flow]?.path ?? []; }

	state(flow, t) {
		const f = this.list[flow];
		return t < f.start ? 0 : f.over !== undefined && t >= f.over ? 2 : 1;
	}

	tag() { return ""; }

	flowName(flow) { return String(this.list[flow]?.number ?? flow); }

	flowIndex(number) { return this.byNumber.get(number) ?? -1; }

	/** add takes a sample; one that it has already it takes not again. */
	add(s) {
		if (this.count > 0 && s.t <= this.end) return false;
		this.makeRoom();
		const k = this.count++;
		this.stamps[k] = s.t;
		this.times = this.stamps.subarray(0, this.count);
		for (const name of columns) {
			const c = this.store.get(name);
			const given = s[name] ?? [];
			for (let r = 0; r < c.rows; r++) c.values[c.starts[r] + k] = given[r] ?? 0;
			c.most = given.reduce((most, v) => Math.max(most, v), c.most);
		}
		this.end = s.t;
		this.last = s;
		[this.open, this.ended] = [s.open, s.ended];
		this.addPanels(s, k);
		this.addFlows(s, k);
		return true;
	}

	// makeRoom widens the columns, or drops their oldest quarter.
	makeRoom() {
		if (this.count < this.room) return;
		const drop = this.room === this.capacity ? Math.floor(this.capacity / 4) : 0;
		const room = drop > 0 ? this.room : Math.min(this.capacity, Math.max(120, this.room * 2));
		for (const c of this.store.values()) {
			const values = new Float64Array(c.rows * room);
			for (let r = 0; r < c.rows; r++) {
				values.set(c.values.subarray(c.starts[r] + drop, c.starts[r] + this.count), r * room);
				c.starts[r] = r * room;
			}
			c.starts[c.rows] = c.rows * room;
			c.values = values;
		}
		this.room = room;
		if (drop === 0) return;
		this.stamps.copyWithin(0, drop, this.count);
		this.count -= drop;
		for (const series of this.panelValues.flat()) series.splice(0, drop);
		for (const f of this.list) {
			const gone = Math.min(drop, f.first);
			f.first -= gone;
			for (const name of ["rate", "goodput", "rtt"]) f[name].splice(0, drop - gone);
		}
		const before = this.pauseTimes.findIndex((t) => t >= this.stamps[0]);
		for (const all of [this.pauseTimes, this.pauseCounts]) all.splice(0, before < 0 ? all.length : before);
	}

	addPanels(s, k) {
		const since = k > 0 ? s.t - this.times[k - 1] : Infinity;
		const grown = (name) => s[name].reduce((sum, _, r) => sum + this.grown(name, r, k), 0);
		const isHost = (node) => this.head.nodes[node].host;
		const sent = (of) => this.ports.reduce((sum, p) => sum + (isHost(of(p)) ? this.grown("sent", p.id, k) : 0), 0);
		const pauses = grown("pauses");
		if (pauses > 0) {
			this.pauseTimes.push(s.t);
			this.pauseCounts.push(pauses);
		}
		const values = [
			[Math.max(0, ...s.queue), s.queue.reduce((sum, v) => sum + v, 0)],
			[(sent((p) => p.node) * 8e9) / since, (sent((p) => p.peerNode) * 8e9) / since],
			[this.ports.reduce((n, p) => n + (this.paused(p.id, s.t) ? 1 : 0), 0)],
			[pauses, grown("marks"), grown("cnms"), grown("cnps"), grown("drops")].map((n) => (n * 1e9) / since),
		];
		values.forEach((series, i) => series.forEach((v, n) => this.panelValues[i][n].push(v)));
	}

	addFlows(s, k) {
		for (const f of s.flows) {
			const own = this.flow(f.n, f.from, f.to, f.size, f.start, k);
			while (own.first + own.rate.length < k) for (const name of ["rate", "goodput", "rtt"]) own[name].push(NaN);
			const since = k > 0 ? s.t - Math.max(this.times[k - 1], f.start) : s.t - f.start;
			own.goodput.push(since > 0 ? Math.max(0, f.done - own.done) * 8e9 / since : 0);
			own.rate.push(f.rate);
			own.rtt.push(f.rtt);
			own.done = f.done;
			own.seen = s.t;
		}
		// A flow that is not open has finished, even if the page missed its end; but a sample lists only a limited number of open flows.
		if (s.open <= s.flows.length) for (const f of this.list) if (f.over === undefined && f.seen < s.t) f.over = s.t;
		if (this.list.length > mostFlows) this.forget();
	}

	// flow returns the flow with a number, and creates it if there is none.
	flow(number, from, to, size, start, first) {
		const known = this.byNumber.get(number);
		if (known !== undefined) {
			const f = this.list[known];
			if (f.rate.length === 0 && first !== undefined) f.first = first;
			return f;
		}
		const f = {
			number, start, size, source: this.nodesByName.get(from) ?? 0, destination: this.nodesByName.get(to) ?? 0, first: first ?? this.count, rate: [], goodput: [], rtt: [], done: 0, seen: Infinity,
		};
		this.byNumber.set(number, this.list.length);
		this.list.push(f);
		this.index(f);
		return f;
	}

	index(f) {
		for (const name of ["source", "destination", "size", "start"]) this.flows[name].push(f[name]);
		this.flows.fct.push(f.fct ?? -1);
	}

	// forget drops the oldest half of the finished flows.
	forget() {
		const over = this.list.filter((f) => f.over !== undefined);
		const gone = new Set(over.slice(0, over.length / 2));
		this.list = this.list.filter((f) => !gone.has(f));
		this.byNumber = new Map(this.list.map((f, i) => [f.number, i]));
		for (const all of Object.values(this.flows)) all.length = 0;
		for (const f of this.list) this.index(f);
	}

	/** happen takes an event. */
	happen(e) {
		if (this.happened.some((o) => o.wall === e.wall && o.kind === e.kind && o.flow === e.flow && o.time_ns === e.time_ns && o.port === e.port)) return;
		this.happened.push(e);
		if (this.happened.length > mostEvents) this.happened.shift();
		if (e.kind === "flow_start" || e.kind === "flow_end") {
			const start = e.kind === "flow_start" ? e.time_ns : e.time_ns - (e.fct_ns ?? 0);
			const f = this.flow(e.flow, e.node, e.peer, e.size_bytes ?? 0, start);
			if (e.kind === "flow_end") {
				[f.over, f.fct, f.done] = [e.time_ns, e.fct_ns, f.size || f.done];
				this.flows.fct[this.byNumber.get(e.flow)] = e.fct_ns;
			}
			return;
		}
		if (["drops", "missed", "slowdown"].includes(e.kind)) return;
		this.head.events.push({ time: e.time_ns, kind: e.kind.replaceAll("_", " "), place: place(e), detail: e.detail ?? "" });
		if (this.head.events.length > mostEvents) this.head.events.shift();
	}

	get flowColumns() { return flowColumns; }

	get parts() { return parts; }
}

/** place returns where an event happened. */
export function place(e) {
	if (e.port) return `${e.node}:${e.peer}`;
	return e.node && e.peer ? `${e.node} → ${e.peer}` : e.node ?? "";
}

const now = (run, i, name) => (run.state(i, run.end) !== 1 ? undefined : run.list[i][name].at(-1));
const shown = (v, text) => (v === undefined || Number.isNaN(v) ? "" : text(v));
const ends = (run, i) => `${run.nodeName(run.flows.source[i])} → ${run.nodeName(run.flows.destination[i])}`;

const flowColumns = [
	{ name: "#", key: (run, i) => run.list[i].number, text: (run, i) => run.flowName(i), down: true },
	{ name: "", title: "now: active flows, then the latest", key: (run, i) => [2, 0, 1][run.state(i, run.end)] * 1e9 - run.list[i].number, text: null },
	{ name: "from, to", key: ends, text: ends, left: true },
	{ name: "size", key: (run, i) => run.flows.size[i] || Infinity, text: (run, i) => (run.flows.size[i] ? bytes(run.flows.size[i]) : "∞") },
	{ name: "sent", title: "sort by delivered bytes", key: (run, i) => run.list[i].done, text: (run, i) => done(run.list[i]), down: true },
	{ name: "rate", key: (run, i) => now(run, i, "rate") ?? -1, text: (run, i) => shown(now(run, i, "rate"), rate), down: true },
	{ name: "RTT", key: (run, i) => now(run, i, "rtt") ?? -1, text: (run, i) => shown(now(run, i, "rtt"), span), down: true },
	{ name: "FCT", key: (run, i) => run.list[i].fct ?? Infinity, text: (run, i) => (run.list[i].fct === undefined ? "" : span(run.list[i].fct)), down: true },
];

const done = (f) => (f.size > 0 ? percent(f.done / f.size) : bytes(f.done));

// parts has the contents of the selection, as methods of Selected.
const parts = {
	flow(run, i) {
		const f = run.list[i];
		if (!f) return [element("p", { className: "soft", textContent: "The page no longer has this flow." })];
		return [this.facts([
			["Rate", "rate", (t) => run.flowAt("rate", i, t) ?? NaN, (v) => shown(v, rate) || "–"],
			["Goodput", "goodput", (t) => run.flowAt("goodput", i, t) ?? NaN, (v) => shown(v, rate) || "–"],
			["RTT", "rtt", (t) => run.flowAt("rtt", i, t) ?? NaN, (v) => shown(v, span) || "–"],
			["Size", "size", f.size ? bytes(f.size) : "unbounded"],
			["Delivered", "delivered", () => f.done, () => `${bytes(f.done)}${f.size ? `, ${done(f)}` : ""}`],
			["Start", "start", span(f.start)],
			["FCT", "fct", () => f.fct ?? -1, (v) => (v >= 0 ? span(v) : f.over === undefined ? "not finished" : "finished unseen")],
		]), ...(run.path(i).length > 0 ? [this.links("Path:", run.path(i), run)] : [])];
	},

	port(run, id) {
		const p = run.ports[id];
		const grown = (name) => (t) => run.grown(name, id, run.sample(t));
		const stopped = (t) => run.at("stopped", id, t);
		return [this.facts([
			["Link", "up", (t) => run.at("up", id, t), (v) => (v ? `up, ${rate(p.rate)}` : "down")],
			["Queue", "queue", (t) => run.at("queue", id, t), bytes],
			["Buffered (ingress)", "ingress", (t) => run.at("ingress", id, t), bytes],
			["Paused now", "paused", (t) => run.at("paused", id, t), (v) => (v ? "yes" : "no")],
			["Share of time paused", "stopped", stopped, (v) => percent(v / 1e3)],
			["Utilisation", "utilisation", (t) => run.utilisation(id, run.sample(t)), percent],
			["Sent", "sent", (t) => run.at("sent", id, t), bytes],
			["PAUSE sent", "pauses", (t) => run.at("pauses", id, t), String],
			["Marked", "marks", grown("marks"), String],
			["CNMs", "cnms", grown("cnms"), String],
			["Dropped", "drops", (t) => run.at("drops", id, t), String],
		]), this.links("Opposite direction:", [p.peer], run)];
	},

	node(run, id) {
		const ports = run.nodePorts[id];
		const row = run.hostRows.get(id);
		const facts = [
			["Paused ports", "paused", (t) => ports.filter((p) => run.paused(p, t)).length, String],
			["Queued bytes", "queue", (t) => ports.reduce((sum, p) => sum + (run.at("queue", p, t) ?? 0), 0), bytes],
		];
		if (row !== undefined) facts.push(["CNPs received", "cnps", (t) => run.row("cnps", row)[run.sample(t)], String]);
		return [this.facts(facts), this.links("Ports:", ports, run)];
	},
};

