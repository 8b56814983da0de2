// Reads, decodes and queries replays. experiments/results/replay/container.go describes the format, and read.go there the columns.

const magic = "pausenet columns 1\n";

/** load reads all runs: those in this page, or else those of its server. */
export async function load() {
	const inside = [...document.querySelectorAll('script[type="application/x-pausenet-replay"]')];
	const said = document.querySelector("meta[name=runs]")?.content;
	const runs = Number(said ?? 0);
	const packed = said === "posted" ? await posted() : inside.length > 0
		? inside.map((e) => new Blob([Uint8Array.from(atob(e.textContent), (c) => c.charCodeAt(0))]))
		: await Promise.all(Array.from({ length: runs }, (_, i) => fetched(`run/${i}`)));
	return Promise.all(packed.map(async (blob) => new Run(await unpacked(blob))));
}

/** plays says whether the embedding page wants its runs to play at once. */
export let plays = false;

// posted returns a promise of the runs that the embedding page posts.
function posted() {
	return new Promise((resolve) => {
		addEventListener("message", (e) => {
			if (e.source !== parent || e.origin !== location.origin || !Array.isArray(e.data?.runs)) return;
			plays = e.data.play === true;
			resolve(e.data.runs.map((data) => new Blob([data])));
		});
		parent.postMessage("ready", location.origin);
	});
}

async function fetched(address) {
	const answer = await fetch(address);
	if (!answer.ok) throw new Error(`${answer.status} ${answer.statusText}: the program that serves this page has ended or was replaced`);
	return answer.blob();
}

async function unpacked(blob) {
	return new Uint8Array(await new Response(blob.stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer());
}

/** lastAtMost returns the index of the last sorted value that is at most v, or -1 for none. */
export function lastAtMost(values, v, from = 0, to = values.length) {
	let low = from, high = to;
	while (low < high) {
		const middle = (low + high) >> 1;
		if (values[middle] <= v) low = middle + 1;
		else high = middle;
	}
	return low === from ? -1 : low - 1;
}

/** Run is one run. Times are in ns, ports are numbered as in the header: link l has 2l and 2l+1. */
export class Run {
	constructor(data) {
		if (!data) return; // a live fabric's fills it by and by
		if (new TextDecoder().decode(data.subarray(0, magic.length)) !== magic) throw new Error("this is not a replay, or another version of pausenet wrote it");
		const length = new DataView(data.buffer, data.byteOffset + magic.length).getUint32(0, true);
		const begin = magic.length + 4;
		this.head = JSON.parse(new TextDecoder().decode(data.subarray(begin, begin + length)));
		this.places = new Map();
		let at = begin + length;
		for (const c of this.head.columns) {
			this.places.set(c.name, { ...c, data: data.subarray(at, at + c.bytes) });
			at += c.bytes;
		}
		this.decoded = new Map();
		this.takePorts();
		this.takeFlows();
		this.takePauses();
		this.times = this.row("times");
		this.end = Math.max(this.head.duration, this.times.at(-1) ?? 0, this.pfc.time.at(-1) ?? 0);
	}

	/** column is a column's values, row after row, and where each row begins; it is decoded when it is first asked for. */
	column(name) {
		let c = this.decoded.get(name);
		if (!c) this.decoded.set(name, (c = decode(this.places.get(name))));
		return c;
	}

	/** row is a row of a column; empty if there is none. */
	row(name, i = 0) {
		const c = this.column(name);
		return i < 0 || i + 1 >= c.starts.length ? c.values.subarray(0, 0) : c.values.subarray(c.starts[i], c.starts[i + 1]);
	}

	has(name) { return (this.places.get(name)?.count ?? 0) > 0; }

	/** most is the largest number of a column. */
	most(name) { return this.places.get(name)?.most ?? 0; }

	takePorts() {
		const { head } = this;
		const rows = new Map(head.rows?.map((port, row) => [port, row]));
		this.ports = head.ports.map((name, id) => {
			const link = head.links[id >> 1];
			const [node, peerNode] = id % 2 === 0 ? [link.a, link.b] : [link.b, link.a];
			return { id, name, node, peerNode, peer: id ^ 1, rate: link.rate, delay: link.delay, row: rows.get(id) ?? -1 };
		});
		this.hostRows = new Map(head.hosts?.map((node, row) => [node, row]));
		this.nodePorts = head.nodes.map(() => []);
		for (const p of this.ports) this.nodePorts[p.node].push(p.id);
	}

	takeFlows() {
		this.flows = {};
		for (const name of ["tag", "source", "destination", "size", "start", "fct", "ideal", "slowdown", "resent"]) this.flows[name] = this.row(`flow.${name}`);
		this.flowCount = this.flows.tag.length;
	}

	/** takePauses works out when each port was paused: from when a PAUSE has come, until a RESUME has, or it has run out. */
	takePauses() {
		const pfc = this.pfc = {};
		for (const name of ["time", "port", "priority", "pause"]) pfc[name] = this.row(`pfc.${name}`);
		this.pauseTimes = pfc.time.filter((_, i) => pfc.pause[i] === 1);
		const open = new Map(); // by port and priority: [since, until]
		const stretches = this.ports.map(() => []);
		for (let i = 0; i < pfc.time.length; i++) {
			const sender = this.ports[pfc.port[i]];
			const key = sender.peer * 8 + pfc.priority[i];
			const at = pfc.time[i] + sender.delay;
			const now = open.get(key);
			if (now && now[1] < at) {
				stretches[sender.peer].push(now);
				open.delete(key);
			}
			if (pfc.pause[i]) {
				const until = at + (this.head.quanta * 512e9) / sender.rate;
				if (open.has(key)) open.get(key)[1] = until;
				else open.set(key, [at, until]);
			} else if (open.has(key)) {
				stretches[sender.peer].push([open.get(key)[0], at]);
				open.delete(key);
			}
		}
		for (const [key, stretch] of open) stretches[key >> 3].push(stretch);
		for (const list of stretches) list.sort((a, b) => a[0] - b[0]);
		this.stretches = stretches.map((list) => ({ from: Float64Array.from(list, (s) => s[0]), to: Float64Array.from(list, (s) => s[1]) }));
	}

	/** paused says whether a port may not send data at a time: by the PFC frames, or without any by the samples. */
	paused(port, t) {
		const { from, to } = this.stretches[port];
		const i = lastAtMost(from, t);
		// Those of several priorities overlap.
		for (let k = i; k >= 0 && k > i - 8; k--) if (t < to[k]) return true;
		return this.pfc.time.length === 0 && this.at("paused", port, t) === 1;
	}

	/** sample is the number of the last sample at or before a time. */
	sample(t) { return lastAtMost(this.times, t); }

	/** at is a port's value at the last sample; undefined: it is not recorded. */
	at(name, port, t) {
		const { row } = this.ports[port];
		const i = this.sample(t);
		return row < 0 || i < 0 || !this.has(name) ? undefined : this.row(name, row)[i];
	}

	/** grown is by how much a count of a row has grown between the last two samples. */
	grown(name, row, i) {
		if (row < 0 || i < 1 || !this.has(name)) return 0;
		const c = this.column(name);
		const at = c.starts[row] + i;
		return c.values[at] - c.values[at - 1];
	}

	/** utilisation is the part of its rate that a port has sent at between the last two samples. */
	utilisation(port, i) {
		if (i < 1) return 0;
		const p = this.ports[port];
		return (this.grown("sent", p.row, i) * 8e9) / (this.times[i] - this.times[i - 1]) / p.rate;
	}

	/** flowAt is a flow's rate, goodput and RTT at the last sample; undefined where it was not under way, or not recorded. */
	flowAt(name, flow, t) {
		if (!this.has(name)) return undefined;
		return this.row(name, flow)[this.sample(t) - this.row("first")[flow]];
	}

	/** path are the ports that a flow's packets leave. */
	path(flow) { return this.has("paths") ? this.row("paths", flow) : []; }

	/** state is where a flow stands: 0 has not begun, 1 is under way, 2 has ended. */
	state(flow, t) {
		const { start, fct } = this.flows;
		return t < start[flow] ? 0 : fct[flow] >= 0 && t >= start[flow] + fct[flow] ? 2 : 1;
	}

	nodeName(node) { return this.head.nodes[node].name; }

	/** portName is a port as pausenet's commands name it, node:peer. */
	portName(port) { return `${this.nodeName(this.ports[port].node)}:${this.nodeName(this.ports[port].peerNode)}`; }

	/** flowName is what people call a flow: its number. */
	flowName(flow) { return String(flow); }

	/** flowIndex is the flow of a number; -1: there is none. */
	flowIndex(number) { return number; }

	tag(flow) { return this.head.tags[this.flows.tag[flow]]; }
}

function decode(place) {
	if (!place) return { values: new Float64Array(0), starts: new Int32Array(1) };
	const { data, rows, count, most } = place;
	const values = most < 2 ** 31 ? new Int32Array(count) : new Float64Array(count);
	const starts = new Int32Array(rows + 1);
	let at = 0, n = 0;
	const number = () => {
		let v = 0, scale = 1, byte;
		do {
			byte = data[at++];
			v += (byte & 127) * scale;
			scale *= 128;
		} while (byte > 127);
		return v;
	};
	for (let i = 0; i < rows; i++) {
		const end = n + number();
		let last = 0;
		while (n < end) {
			const v = number();
			if (v === 0) {
				const still = number() + 1;
				values.fill(last, n, n + still);
				n += still;
			} else {
				last += v % 2 === 0 ? v / 2 : -(v + 1) / 2;
				values[n++] = last;
			}
		}
		starts[i + 1] = n;
	}
	return { values, starts };
}
