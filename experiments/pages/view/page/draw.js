// The fabric on a canvas: links, queues, PAUSE, marks, at one moment.

import { layout } from "./layout.js";
import { lastAtMost } from "./data.js";

const levels = 8; // of utilisation
const barLength = 46; // of the fullest queue, and
const barWidth = 7;

/** colours returns the colours of the page's theme; a canvas cannot use custom properties. */
export function colours() {
	const probe = document.body.appendChild(document.createElement("span"));
	const of = (name) => {
		probe.style.color = `var(--${name})`;
		return getComputedStyle(probe).color;
	};
	const all = {};
	for (const name of ["paper", "ink", "muted", "rule", "card", "switch", "switch-edge", "host", "host-edge", "queue", "pause", "mark", "cnp", "path"]) all[name] = of(name);
	all.levels = Array.from({ length: levels }, (_, i) => of(`u${i}`));
	all.series = Array.from({ length: 6 }, (_, i) => of(`s${i}`));
	probe.remove();
	return all;
}

/** Fabric is the drawing of a run in a canvas of its own, which can be moved and magnified. */
export class Fabric {
	constructor(run, canvas, pick) {
		this.run = run;
		this.canvas = canvas;
		this.context = canvas.getContext("2d");
		this.layout = layout(run);
		this.peak = Math.max(1, run.most("queue"));
		this.fit();
		this.listen(pick);
	}

	/** resize takes over the size that the canvas has in the page. */
	resize() {
		const { clientWidth: w, clientHeight: h } = this.canvas;
		const density = Math.min(2, devicePixelRatio || 1);
		if (this.width === w && this.height === h && this.density === density) return;
		Object.assign(this, { width: w, height: h, density });
		this.canvas.width = Math.round(w * density);
		this.canvas.height = Math.round(h * density);
		if (!this.fitted) return;
		this.layout = layout(this.run, Math.max(0.7, Math.min(2.6, w / h)));
		this.fit();
	}

	/** fit shows all of the fabric. */
	fit() {
		const { left, right, top, bottom } = this.layout.bounds;
		const { width = 1, height = 1 } = this;
		const [sides, over, under] = [width > 500 ? 54 : 12, 14, 14];
		this.scale = Math.max(0.05, Math.min((width - sides - 12) / (right - left), (height - over - under) / (bottom - top), 1.7));
		this.x = sides + (width - sides - 12 - (right - left) * this.scale) / 2 - left * this.scale;
		this.y = over + (height - over - under - (bottom - top) * this.scale) / 2 - top * this.scale;
		this.fitted = true;
	}

	zoom(factor, x = this.width / 2, y = this.height / 2) {
		const scale = Math.max(0.05, Math.min(12, this.scale * factor));
		this.x = x - ((x - this.x) * scale) / this.scale;
		this.y = y - ((y - this.y) * scale) / this.scale;
		this.scale = scale;
		this.fitted = false;
	}

	listen(pick) {
		const { canvas } = this;
		const fingers = new Map();
		let moved = 0;
		canvas.addEventListener("wheel", (e) => {
			e.preventDefault();
			this.zoom(Math.exp(-e.deltaY / 500), e.offsetX, e.offsetY);
			this.changed?.();
		}, { passive: false });
		canvas.addEventListener("pointerdown", (e) => {
			fingers.set(e.pointerId, [e.offsetX, e.offsetY]);
			canvas.setPointerCapture(e.pointerId);
			moved = 0;
		});
		canvas.addEventListener("pointermove", (e) => {
			const was = fingers.get(e.pointerId);
			if (!was) {
				canvas.style.cursor = this.find(e.offsetX, e.offsetY) ? "pointer" : "grab";
				return;
			}
			const now = [e.offsetX, e.offsetY];
			moved += Math.hypot(now[0] - was[0], now[1] - was[1]);
			const other = [...fingers].find(([id]) => id !== e.pointerId)?.[1];
			if (other) this.zoom(Math.hypot(now[0] - other[0], now[1] - other[1]) / Math.max(1, Math.hypot(was[0] - other[0], was[1] - other[1])), ...other);
			else if (moved > 4) {
				this.x += now[0] - was[0];
				this.y += now[1] - was[1];
				this.fitted = false;
			}
			fingers.set(e.pointerId, now);
			this.changed?.();
		});
		for (const end of ["pointerup", "pointercancel"]) {
			canvas.addEventListener(end, (e) => {
				if (fingers.delete(e.pointerId) && end === "pointerup" && moved <= 4) pick(this.find(e.offsetX, e.offsetY));
			});
		}
	}

	place(node) {
		const n = this.layout.at[node];
		const least = this.run.head.nodes[node].host ? 0 : 1; // a switch stays large enough for a short name
		return { x: n.x * this.scale + this.x, y: n.y * this.scale + this.y, w: Math.max(11 * least, n.w * this.scale), h: Math.max(7.5 * least, n.h * this.scale) };
	}

	/** way is the line of a port's direction of its link: beside the other's, from where the port is to its peer. */
	way(port) {
		const p = this.run.ports[port];
		const a = this.place(p.node), b = this.place(p.peerNode);
		const level = Math.abs(a.y - b.y) < 1;
		const edge = (n, to) => (level ? n.y + n.h : n.y + Math.sign(to.y - n.y) * n.h);
		const from = { x: a.x, y: edge(a, b) }, to = { x: b.x, y: edge(b, a) };
		const length = Math.hypot(to.x - from.x, to.y - from.y) || 1;
		const ux = (to.x - from.x) / length, uy = (to.y - from.y) / length;
		const aside = Math.max(0.9, Math.min(3, 2.2 * this.scale)) + this.parallel(port) * 7;
		return { x: from.x - uy * aside, y: from.y + ux * aside, ux, uy, length, toX: to.x - uy * aside, toY: to.y + ux * aside };
	}

	/** ways are the lines of all ports; they are the same until the fabric is moved. */
	ways() {
		const seen = `${this.scale} ${this.x} ${this.y} ${this.width} ${this.height}`;
		if (this.waysSeen !== seen) [this.waysSeen, this.waysNow] = [seen, this.run.ports.map((p) => this.way(p.id))];
		return this.waysNow;
	}

	/** parallel tells cables between the same two nodes apart. */
	parallel(port) {
		const p = this.run.ports[port];
		const together = this.run.nodePorts[p.node].filter((id) => this.run.ports[id].peerNode === p.peerNode);
		return together.length < 2 ? 0 : together.indexOf(port) - (together.length - 1) / 2;
	}

	/** find is the port or node at a place of the canvas. */
	find(x, y) {
		const { run } = this;
		for (let node = 0; node < run.head.nodes.length; node++) {
			const n = this.place(node);
			if (Math.abs(x - n.x) <= Math.max(6, n.w) && Math.abs(y - n.y) <= Math.max(6, n.h)) return { node };
		}
		let best = null, nearest = 7;
		for (const [id, w] of this.ways().entries()) {
			const along = Math.max(0, Math.min(w.length, (x - w.x) * w.ux + (y - w.y) * w.uy));
			const off = Math.hypot(x - w.x - along * w.ux, y - w.y - along * w.uy);
			if (off < nearest) [best, nearest] = [{ port: id }, off];
		}
		return best;
	}

	/** draw draws the moment t. phase runs from 0 to 1 while something moves by itself. */
	draw(t, { colour, flow, port, node, place, phase }) {
		const { context: c, run } = this;
		this.resize();
		c.setTransform(this.density, 0, 0, this.density, 0, 0);
		c.clearRect(0, 0, this.width, this.height);
		this.colour = colour;
		this.tierNames();
		const sample = run.sample(t);
		const ways = this.ways();
		if (flow !== null) this.path(run.path(flow), ways);
		if (port !== null) this.path([port], ways);
		if (place !== null) this.path([place], ways, true);
		const paused = [], down = [];
		const byLevel = Array.from({ length: levels + 1 }, () => []);
		for (const p of run.ports) {
			if (run.down?.(p.id, t)) down.push(p.id);
			else if (run.paused(p.id, t)) paused.push(p.id);
			else byLevel[p.row < 0 ? levels : Math.min(levels - 1, Math.floor(run.utilisation(p.id, sample) * levels))].push(p.id);
		}
		this.links(byLevel, ways);
		this.pauses(paused, ways, phase);
		this.down(down, ways);
		this.queues(sample, ways);
		this.underWay(t, ways);
		this.nodes(flow, node);
		this.marks(sample, ways);
	}

	tierNames() {
		if (this.width <= 500) return;
		const { context: c } = this;
		c.font = "12px system-ui, sans-serif";
		c.fillStyle = this.colour.muted;
		c.textAlign = "left";
		c.textBaseline = "middle";
		for (const tier of this.layout.tiers) c.fillText(tier.name, 10, tier.y * this.scale + this.y);
	}

	/** trace strokes the lines of ports. */
	trace(ports, ways) {
		const { context: c } = this;
		c.beginPath();
		for (const id of ports) {
			const w = ways[id];
			c.moveTo(w.x, w.y);
			c.lineTo(w.toX, w.toY);
		}
		c.stroke();
	}

	// path draws a band under ports; edged adds an edge, to tell it from another band.
	path(ports, ways, edged = false) {
		const { context: c } = this;
		c.lineCap = "round";
		const wide = Math.max(9, 12 * this.scale);
		if (edged) {
			c.strokeStyle = this.colour.ink;
			c.lineWidth = wide + 3;
			this.trace(ports, ways);
		}
		c.strokeStyle = this.colour.path;
		c.lineWidth = wide;
		this.trace(ports, ways);
	}

	links(byLevel, ways) {
		const { context: c } = this;
		const crowded = this.run.head.links.length > 100 ? 0.6 : 1;
		const thick = crowded * Math.max(0.6, Math.min(1.6, this.scale * 1.3));
		c.lineCap = "butt";
		byLevel.forEach((ports, level) => {
			if (ports.length === 0) return;
			const known = level < levels;
			c.strokeStyle = known ? this.colour.levels[level] : this.colour.rule;
			c.lineWidth = known ? thick * (0.7 + (1.6 * level) / levels) : thick * 0.7;
			c.setLineDash(known ? [] : [2, 3]);
			this.trace(ports, ways);
		});
		c.setLineDash([]);
	}

	// pauses draws paused directions: dashed, with a sign at the paused port, and arrows from the port that sent the PAUSE.
	pauses(ports, ways, phase) {
		if (ports.length === 0) return;
		const { context: c } = this;
		const size = Math.max(3.2, Math.min(8, 6 * this.scale));
		c.strokeStyle = c.fillStyle = this.colour.pause;
		c.lineWidth = Math.max(1.6, 2.6 * Math.min(1.4, this.scale));
		c.setLineDash([5, 3.5]);
		this.trace(ports, ways);
		c.setLineDash([]);
		c.beginPath();
		for (const id of ports) {
			const w = ways[id];
			const step = Math.max(26, size * 6);
			for (let d = w.length - 6 - phase * step; d > 16; d -= step) {
				const x = w.x + w.ux * d, y = w.y + w.uy * d;
				c.moveTo(x - w.ux * size, y - w.uy * size);
				c.lineTo(x + w.ux * size * 0.5 - w.uy * size * 0.8, y + w.uy * size * 0.5 + w.ux * size * 0.8);
				c.lineTo(x + w.ux * size * 0.5 + w.uy * size * 0.8, y + w.uy * size * 0.5 - w.ux * size * 0.8);
			}
		}
		c.fill();
		for (const id of ports) {
			const w = ways[id];
			const x = w.x + w.ux * size * 1.6, y = w.y + w.uy * size * 1.6;
			c.fillStyle = this.colour.pause;
			c.beginPath();
			c.arc(x, y, size * 1.15, 0, 7);
			c.fill();
			c.fillStyle = this.colour.paper;
			c.fillRect(x - size * 0.5, y - size * 0.55, size * 0.34, size * 1.1);
			c.fillRect(x + size * 0.16, y - size * 0.55, size * 0.34, size * 1.1);
		}
	}

	// down draws links that are down: dotted, with a cross.
	down(ports, ways) {
		const { context: c } = this;
		const size = Math.max(4, Math.min(9, 7 * this.scale));
		c.strokeStyle = this.colour.muted;
		for (const id of ports) {
			const w = ways[id];
			c.lineWidth = 1.4;
			c.setLineDash([2, 4]);
			c.beginPath();
			c.moveTo(w.x, w.y);
			c.lineTo(w.toX, w.toY);
			c.stroke();
			c.setLineDash([]);
			if (id % 2 === 1) continue;
			const x = (w.x + w.toX) / 2, y = (w.y + w.toY) / 2;
			c.lineWidth = 2.6;
			c.beginPath();
			for (const k of [-1, 1]) {
				c.moveTo(x - size, y - k * size);
				c.lineTo(x + size, y + k * size);
			}
			c.stroke();
		}
	}

	queues(sample, ways) {
		const { context: c, run } = this;
		if (sample < 0 || !run.has("queue")) return;
		const queue = run.column("queue");
		const longest = barLength * Math.max(0.45, Math.min(1.5, this.scale)), wide = barWidth * Math.max(0.5, Math.min(1.4, this.scale));
		c.fillStyle = this.colour.queue;
		c.beginPath();
		for (const p of run.ports) {
			if (p.row < 0) continue;
			const v = queue.values[queue.starts[p.row] + sample];
			if (v <= 0) continue;
			const w = ways[p.id];
			const long = Math.min(w.length * 0.7, Math.max(1.5, (longest * v) / this.peak));
			const x = w.x - w.uy * wide * 0.8, y = w.y + w.ux * wide * 0.8;
			c.moveTo(x - w.uy * wide * 0.5, y + w.ux * wide * 0.5);
			c.lineTo(x + w.uy * wide * 0.5, y - w.ux * wide * 0.5);
			c.lineTo(x + w.uy * wide * 0.5 + w.ux * long, y - w.ux * wide * 0.5 + w.uy * long);
			c.lineTo(x - w.uy * wide * 0.5 + w.ux * long, y + w.ux * wide * 0.5 + w.uy * long);
			c.closePath();
		}
		c.fill();
	}

	// underWay draws the PFC frames in flight at t: a PAUSE filled, a RESUME empty.
	underWay(t, ways) {
		const { context: c, run } = this;
		const { pfc } = run;
		const size = Math.max(3, Math.min(6, 5 * this.scale));
		c.lineWidth = 1.6;
		c.strokeStyle = this.colour.pause;
		for (let i = lastAtMost(pfc.time, t); i >= 0 && i > lastAtMost(pfc.time, t) - 400; i--) {
			const p = run.ports[pfc.port[i]];
			const part = (t - pfc.time[i]) / p.delay;
			if (part > 1) {
				if (t - pfc.time[i] > 1e6) break;
				continue;
			}
			const w = ways[p.id];
			c.fillStyle = pfc.pause[i] ? this.colour.pause : this.colour.paper;
			c.beginPath();
			c.arc(w.x + w.ux * w.length * part, w.y + w.uy * w.length * part, size, 0, 7);
			c.fill();
			c.stroke();
		}
	}

	nodes(flow, selected) {
		const { context: c, run } = this;
		const ends = flow === null ? [] : [run.flows.source[flow], run.flows.destination[flow]];
		c.textAlign = "center";
		c.textBaseline = "middle";
		run.head.nodes.forEach((node, i) => {
			const n = this.place(i);
			if (n.x + n.w < 0 || n.x - n.w > this.width || n.y + n.h < 0 || n.y - n.h > this.height) return;
			const chosen = ends.includes(i) || selected === i;
			c.fillStyle = node.host ? this.colour.host : this.colour.switch;
			c.strokeStyle = chosen ? this.colour.ink : node.host ? this.colour["host-edge"] : this.colour["switch-edge"];
			c.lineWidth = chosen ? 2.5 : 1.2;
			c.beginPath();
			if (node.host && this.layout.dots) c.arc(n.x, n.y, Math.max(2, n.w), 0, 7);
			else c.roundRect(n.x - n.w, n.y - n.h, 2 * n.w, 2 * n.h, Math.min(6, n.h * 0.4));
			c.fill();
			c.stroke();
			const room = n.w * 1.9;
			const size = Math.min(n.h * 0.95, (room * 1.7) / node.name.length, 22);
			if (size >= 6.5) {
				c.font = `${node.host ? 400 : 600} ${size}px system-ui, sans-serif`;
				c.fillStyle = this.colour.ink;
				c.fillText(node.name, n.x, n.y + 0.5);
			} else if (chosen) this.caption(node.name, n);
		});
	}

	// caption writes the name of a node that has no room for it inside.
	caption(text, n) {
		const { context: c } = this;
		c.font = "600 12px system-ui, sans-serif";
		const wide = c.measureText(text).width + 10;
		c.fillStyle = this.colour.paper;
		c.strokeStyle = this.colour.ink;
		c.lineWidth = 1;
		c.beginPath();
		c.roundRect(n.x - wide / 2, n.y + n.h + 4, wide, 18, 4);
		c.fill();
		c.stroke();
		c.fillStyle = this.colour.ink;
		c.fillText(text, n.x, n.y + n.h + 13.5);
	}

	// marks draws the signals since the last sample: marked packets, CNMs, and CNPs that hosts received.
	marks(sample, ways) {
		const { context: c, run } = this;
		const unit = Math.max(0.6, Math.min(1.3, this.scale));
		const radius = (n) => Math.min(8, 3.2 + 1.1 * Math.log2(n)) * unit;
		for (const p of run.ports) {
			const marks = run.grown("marks", p.row, sample), cnms = run.grown("cnms", p.row, sample);
			if (marks + cnms === 0) continue;
			const w = ways[p.id];
			const d = Math.min(w.length * 0.3, 20 * unit);
			const x = w.x + w.ux * d + w.uy * 8 * unit, y = w.y + w.uy * d - w.ux * 8 * unit;
			c.fillStyle = this.colour.mark;
			if (marks > 0) this.shape(x, y, radius(marks), 4);
			c.fillStyle = this.colour.cnp;
			if (cnms > 0) this.shape(x + (marks > 0 ? 10 * unit : 0), y, radius(cnms), 3);
		}
		c.strokeStyle = this.colour.cnp;
		c.lineWidth = 2;
		for (const [node, row] of run.hostRows) {
			if (run.grown("cnps", row, sample) === 0) continue;
			const n = this.place(node);
			c.beginPath();
			if (this.layout.dots) c.arc(n.x, n.y, Math.max(2, n.w) + 2.5, 0, 7);
			else c.roundRect(n.x - n.w - 3, n.y - n.h - 3, 2 * n.w + 6, 2 * n.h + 6, 7);
			c.stroke();
		}
	}

	// shape draws a regular polygon.
	shape(x, y, radius, corners) {
		const { context: c } = this;
		c.beginPath();
		for (let i = 0; i < corners; i++) c.lineTo(x + radius * Math.sin((2 * Math.PI * i) / corners), y - radius * Math.cos((2 * Math.PI * i) / corners));
		c.closePath();
		c.fill();
	}
}
