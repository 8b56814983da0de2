// The timeline of the whole run: PAUSE frames over time, spans, bookmarks, and the moment.

import { span } from "./format.js";

/** bookmarks returns the moments worth going to, in order. */
export function bookmarks(runs) {
	const all = [];
	for (const run of runs) {
		const of = runs.length > 1 ? ` (${run.head.label})` : "";
		const add = (time, kind, label) => all.push({ time, kind, label: label + of });
		if (run.pauseTimes.length > 0) add(run.pauseTimes[0], "pause", "first PAUSE");
		const storms = new Map();
		for (const e of run.head.events ?? []) {
			const key = e.kind + e.place;
			if (e.detail === "ends" || storms.get(key) > 3) continue;
			storms.set(key, (storms.get(key) ?? 0) + 1);
			add(e.time, "event", `${e.kind} ${e.place}`.trim());
		}
		if (run !== runs[0] || run.live) continue;
		for (const s of run.head.spans ?? []) add(s.from_ns, "span", s.label);
		const seen = new Set();
		const order = Array.from(run.flows.start, (_, i) => i).sort((a, b) => run.flows.start[a] - run.flows.start[b]);
		for (const flow of order) {
			const tag = run.tag(flow);
			if (seen.has(tag) || seen.size >= 12) continue;
			seen.add(tag);
			add(run.flows.start[flow], "flow", `first flow of ${tag}`);
		}
	}
	return all.sort((a, b) => a.time - b.time);
}

/** Strip draws the timeline. */
export class Strip {
	constructor(canvas) {
		this.canvas = canvas;
		this.context = canvas.getContext("2d");
		this.still = document.createElement("canvas"); // all but the moment
	}

	show(runs, first, end, marks) { Object.assign(this, { runs, first, end, marks, drawn: "" }); }

	draw(t, colour) {
		const { canvas, context: c, still } = this;
		const { clientWidth: w, clientHeight: h } = canvas;
		if (w === 0 || h === 0) return; // it is not laid out
		const density = Math.min(2, devicePixelRatio || 1);
		const wanted = [w, h, density, colour.paper].join();
		if (this.drawn !== wanted) {
			for (const each of [canvas, still]) [each.width, each.height] = [Math.round(w * density), Math.round(h * density)];
			this.drawStill(still.getContext("2d"), w, h, density, colour);
			this.drawn = wanted;
		}
		c.setTransform(1, 0, 0, 1, 0, 0);
		c.clearRect(0, 0, canvas.width, canvas.height);
		c.drawImage(still, 0, 0);
		c.scale(density, density);
		const x = this.x(t, w);
		c.fillStyle = colour.ink;
		c.fillRect(x - 1, 0, 2, h);
		c.beginPath();
		c.moveTo(x - 6, 0);
		c.lineTo(x + 6, 0);
		c.lineTo(x, 8);
		c.fill();
	}

	// The thumb of the range below is as wide as this: both go from middle to middle of it.
	x(t, w) { return 8 + ((t - this.first) / (this.end - this.first || 1)) * (w - 16); }

	drawStill(c, w, h, density, colour) {
		c.setTransform(density, 0, 0, density, 0, 0);
		const low = h - 16; // below it times, above it PAUSEs
		c.fillStyle = colour.card;
		c.fillRect(8, 0, w - 16, low);
		for (const s of this.runs[0].head.spans ?? []) {
			c.fillStyle = colour.rule;
			c.fillRect(this.x(s.from_ns, w), 0, Math.max(1, this.x(s.to_ns, w) - this.x(s.from_ns, w)), low);
		}
		this.runs.forEach((run, k) => this.density(c, run, w, (low * k) / this.runs.length, low / this.runs.length, colour));
		c.font = "11px system-ui, sans-serif";
		c.textBaseline = "middle";
		c.fillStyle = colour.muted;
		const step = niceStep(this.end - this.first || 1, Math.max(2, w / 110));
		for (let at = Math.ceil(this.first / step) * step; at <= this.end; at += step) {
			const x = this.x(at, w);
			c.fillRect(x - 0.5, low, 1, 4);
			c.textAlign = x < 40 ? "left" : x > w - 40 ? "right" : "center";
			c.fillText(span(at), Math.max(8, Math.min(x, w - 8)), h - 5);
		}
		for (const m of this.marks) {
			if (m.time < this.first) continue;
			const x = this.x(m.time, w);
			c.fillStyle = m.kind === "pause" ? colour.pause : m.kind === "event" ? colour.queue : colour.muted;
			c.fillRect(x - 0.75, 0, 1.5, low);
			c.beginPath();
			if (m.kind === "event") c.rect(x - 4, low - 8, 8, 8);
			else c.arc(x, low - 4, 4, 0, 7);
			c.fill();
		}
		c.textAlign = "left";
		c.fillStyle = colour.ink;
		this.runs.forEach((run, k) => {
			const text = `${this.runs.length > 1 ? run.head.label + ": " : ""}${run.pauseTimes.length === 0 ? "no PAUSE" : "PAUSEs"}`;
			c.strokeStyle = colour.card;
			c.lineWidth = 4;
			c.strokeText(text, 14, (low * k) / this.runs.length + 10);
			c.fillText(text, 14, (low * k) / this.runs.length + 10);
		});
	}

	density(c, run, w, top, high, colour) {
		const wide = 2, bins = new Float64Array(Math.max(1, Math.ceil((w - 16) / wide)));
		run.pauseTimes.forEach((t, i) => {
			const bin = Math.floor(((t - this.first) / (this.end - this.first || 1)) * bins.length);
			if (bin >= 0) bins[Math.min(bins.length - 1, bin)] += run.pauseCounts?.[i] ?? 1;
		});
		const most = Math.log1p(Math.max(1, ...bins));
		c.fillStyle = colour.pause;
		bins.forEach((n, i) => {
			if (n === 0) return;
			const tall = Math.max(2, (Math.log1p(n) / most) * (high - 4));
			c.fillRect(8 + (i * (w - 16)) / bins.length, top + high - tall, wide, tall);
		});
	}
}

/** niceStep returns a round step that divides a length into about that many parts. */
export function niceStep(length, parts) {
	const raw = length / parts;
	const power = 10 ** Math.floor(Math.log10(raw));
	return [1, 2, 5, 10].map((n) => n * power).find((n) => n >= raw);
}
