// A chart: uPlot draws its axes and lines, and this the rest.

import uPlot from "../../../../internal/pages/uplot/uPlot.esm.js";
import { ticksBetween, valueAt } from "./data.js";

const letters = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif";

const element = (name, className) => Object.assign(document.createElement(name), { className });

/** colours are those of the style sheet, which differ in the dark and on paper. */
export function colours() {
	const sheet = getComputedStyle(document.documentElement), of = (name) => sheet.getPropertyValue(`--${name}`).trim();
	const all = Object.fromEntries(["paper", "ink", "muted", "grid", "level", "span"].map((name) => [name, of(name)]));
	all.series = Array.from({ length: 8 }, (_, i) => of(`s${i}`));
	return all;
}

/** Chart draws what data.js has read of a chart into a place of the page. */
export class Chart {
	constructor(data, place) {
		this.data = data;
		this.place = place;
		this.shown = [data.x.lo, data.x.hi];
		this.cursor = element("div", "cursor");
		this.dots = data.lines.map(() => element("div", "dot"));
		this.rest();
	}

	/** draw draws the chart anew, as wide as this many pixels, of which each is several on paper. */
	draw(width, colour, scale = 1) {
		this.colour = colour;
		this.scale = scale;
		this.plot?.destroy();
		this.plot = new uPlot(this.options(width), this.points(), this.place);
		this.plot.root.setAttribute("aria-hidden", "true");
		this.plot.over.append(this.cursor, ...this.dots);
		this.dots.forEach((dot, i) => (dot.style.borderColor = colour.series[this.data.lines[i].colour]));
	}

	resize(width) {
		this.plot.setSize(this.size(width));
	}

	size(width) {
		return { width: width * this.scale, height: Math.round(Math.min(Math.max(width * 0.53, 190), 320)) * this.scale };
	}

	/** show shows a stretch of the x axis. */
	show(lo, hi) {
		this.shown = [lo, hi];
		this.plot.setScale("x", { min: lo, max: hi });
	}

	get whole() {
		return this.shown[0] === this.data.x.lo && this.shown[1] === this.data.x.hi;
	}

	/** points are the lines' points as uPlot takes them: under one list of ascending x. */
	points() {
		const { x, y, lines } = this.data, least = (x.hi - x.lo) * 1e-9;
		const up = (xs) => {
			let last = -Infinity;
			// Of points above each other uPlot would draw one.
			return xs.map((v) => (last = v > last ? v : last + least));
		};
		// A logarithmic axis has what it cannot show, zero, at its low end.
		const within = (axis, vs) => (axis.log ? vs.map((v) => (v === null ? null : Math.max(v, axis.lo))) : vs);
		return lines.length === 0 ? [[x.lo, x.hi]] : uPlot.join(lines.map((l) => [up(within(x, l.x)), within(y, l.y)]));
	}

	options(width) {
		const { data, colour, scale: k } = this, { x, y } = data;
		const axis = { stroke: colour.muted, font: `${11.5 * k}px ${letters}`, labelFont: `${11.5 * k}px ${letters}`, labelSize: 20 * k, labelGap: 0 };
		const ticks = () => (this.whole ? x.ticks : ticksBetween(x, ...this.shown, 7));
		// The last tick names the unit, where not each does.
		const label = (i, all) => (i === all.length - 1 && x.unit && !all[i][1].endsWith(x.unit) ? `${all[i][1]} ${x.unit}` : all[i][1]);
		const crisp = (w) => Math.max(1, Math.round(w * k * uPlot.pxRatio)) / uPlot.pxRatio;
		const above = data.yName || data.spans.length > 0 || data.room;
		return {
			...this.size(width),
			padding: [(above ? 29 : 12) * k, 22 * k, 0, 0],
			legend: { show: false },
			cursor: { x: false, y: false, points: { show: false }, drag: { x: data.group === "time", y: false, setScale: false, dist: 6 }, sync: { key: data.group, scales: ["x", null] } },
			scales: {
				x: { time: false, distr: x.log ? 3 : 1, range: () => this.shown },
				y: { distr: y.log ? 3 : 1, range: () => [y.lo, y.hi] },
			},
			axes: [
				{
					...axis, size: 28 * k, gap: 5 * k, label: data.xTitle || undefined, grid: { show: false },
					ticks: { stroke: colour.muted, width: k, size: 4 * k }, splits: () => ticks().map(([v]) => v), filter: (_, splits) => splits,
					values: () => ticks().map((_, i, all) => label(i, all)),
				},
				{
					...axis, size: 50 * k, gap: 7 * k, grid: { stroke: colour.grid, width: k }, ticks: { show: false },
					splits: () => y.ticks.map(([v]) => v), filter: (_, splits) => splits, values: () => y.ticks.map(([, text]) => text),
				},
			],
			series: [{}, ...data.lines.map((l) => ({
				label: l.label, stroke: colour.series[l.colour], dash: l.dash?.map((d) => d * k), width: crisp(l.thin ? 1 : 1.6),
				paths: l.step ? uPlot.paths.stepped({ align: 1, alignGaps: 1 }) : uPlot.paths.linear(),
				points: { show: Boolean(l.dots), size: 6.8 * k, width: 1.6 * k, fill: colour.paper, stroke: colour.series[l.colour] },
			}))],
			hooks: {
				drawClear: [(u) => this.drawSpans(u)],
				drawAxes: [(u) => this.drawLevels(u)],
				draw: [(u) => this.drawOver(u)],
			},
		};
	}

	/** ready sets the canvas to a colour, and to pixels of the page. */
	ready(u, colour, width = 1, dash = []) {
		const { ctx } = u, px = uPlot.pxRatio * this.scale;
		Object.assign(ctx, { fillStyle: colour, strokeStyle: colour, lineWidth: width * px, lineJoin: "round", font: `${11.5 * px}px ${letters}`, textBaseline: "alphabetic" });
		ctx.setLineDash(dash.map((d) => d * px));
		return { ctx, px, left: u.bbox.left, top: u.bbox.top, right: u.bbox.left + u.bbox.width, bottom: u.bbox.top + u.bbox.height };
	}

	/** text writes text, clear of what is under it. */
	text(u, text, x, y, align, colour) {
		const { ctx } = this.ready(u, colour, 3);
		ctx.textAlign = align;
		ctx.strokeStyle = this.colour.paper;
		ctx.strokeText(text, x, y);
		ctx.fillText(text, x, y);
	}

	drawSpans(u) {
		const { ctx, px, left, right, top, bottom } = this.ready(u, this.colour.span);
		ctx.save();
		for (const s of this.data.spans) {
			const x0 = Math.max(left, u.valToPos(s.from, "x", true)), x1 = Math.min(right, Math.max(u.valToPos(s.to, "x", true), x0 + px));
			if (x1 > x0) ctx.fillRect(x0, top, x1 - x0, bottom - top);
		}
		ctx.restore();
	}

	drawLevels(u) {
		const { ctx } = u;
		ctx.save();
		const { left, right, top, bottom } = this.ready(u, this.colour.muted);
		const line = (x0, y0, x1, y1) => {
			ctx.beginPath();
			ctx.moveTo(x0, y0);
			ctx.lineTo(x1, y1);
			ctx.stroke();
		};
		line(left, bottom, right, bottom); // the axis, over the grid
		this.ready(u, this.colour.muted, 1, [5, 3]);
		let drawn;
		for (const { time } of this.data.events) {
			const x = Math.round(u.valToPos(time, "x", true));
			if (x !== drawn && x >= left && x <= right) line(x, top, x, bottom);
			drawn = x;
		}
		this.ready(u, this.colour.level, 1, [3, 2]);
		for (const { value } of this.data.levels) line(left, u.valToPos(value, "y", true), right, u.valToPos(value, "y", true));
		ctx.restore();
	}

	drawOver(u) {
		const { data, colour } = this, { ctx } = u;
		ctx.save();
		this.drawBars(u);
		const { px, left, right, top } = this.ready(u, colour.muted);
		if (data.yName) this.text(u, data.yName, px, top - 17 * px, "left", colour.muted);
		for (const l of data.levels) {
			const y = u.valToPos(l.value, "y", true) - 4 * px;
			// Under the line where there is no room above it.
			this.text(u, l.label ?? "", l.left ? left + 5 * px : right - 3 * px, y < top + 8 * px ? y + 16 * px : y, l.left ? "left" : "right", colour.muted);
		}
		let free = left;
		for (const s of data.spans) {
			const from = Math.max(left, u.valToPos(s.from, "x", true)), to = Math.min(right, u.valToPos(s.to, "x", true)), half = ctx.measureText(s.label).width / 2;
			const middle = (from + to) / 2;
			if (to < from || middle - half < free) continue;
			this.text(u, s.label, middle, top - 7 * px, "center", colour.muted);
			free = middle + half + 6 * px;
		}
		this.nameEvents(u);
		ctx.restore();
	}

	/** drawBars draws the confidence intervals of points. */
	drawBars(u) {
		for (const l of this.data.lines) {
			if (!l.half) continue;
			const { ctx, px, left, right, top, bottom } = this.ready(u, this.colour.series[l.colour], 1.1);
			ctx.save();
			ctx.beginPath();
			ctx.rect(left, top - px, right - left, bottom - top + 2 * px); // an interval may reach below the axis
			ctx.clip();
			ctx.beginPath();
			l.x.forEach((v, i) => {
				if (!(l.half[i] > 0) || l.y[i] === null) return;
				const x = u.valToPos(v, "x", true), [low, high] = [l.y[i] - l.half[i], l.y[i] + l.half[i]].map((y) => u.valToPos(this.data.y.log ? Math.max(y, this.data.y.lo) : y, "y", true));
				ctx.moveTo(x, low);
				ctx.lineTo(x, high);
				for (const y of [low, high]) {
					ctx.moveTo(x - 3 * px, y);
					ctx.lineTo(x + 3 * px, y);
				}
			});
			ctx.stroke();
			ctx.restore();
		}
	}

	/** nameEvents writes each event's number in the table of events over its line, or beside it, and its name as far as there is room. */
	nameEvents(u) {
		const { px, left, right, top } = this.ready(u, this.colour.ink), width = (text) => u.ctx.measureText(text).width + 6 * px;
		const marks = [];
		this.data.events.forEach(({ time, name }, i) => {
			const at = u.valToPos(time, "x", true), last = marks.at(-1);
			if (at < left - px || at > right + px) return;
			if (last && at < last.at + width(last.text())) {
				last.to = i + 1;
				if (last.name !== name) last.name = "";
			} else {
				const mark = { from: i + 1, to: i + 1, at, name };
				mark.text = () => (mark.from === mark.to ? String(mark.from) : `${mark.from}–${mark.to}`);
				marks.push(mark);
			}
		});
		const beside = this.data.spans.length > 0, y = beside ? top + 12 * px : top - 5 * px, aside = (beside ? 3 : -3) * px;
		marks.forEach((mark, i) => {
			const end = marks[i + 1]?.at ?? right + 20 * px, full = `${mark.text()} ${mark.name}`;
			if (mark.name && mark.at + aside + width(full) <= end) this.text(u, full, mark.at + aside, y, "left", this.colour.ink);
			else if (mark.at + aside + width(mark.text()) > right + 20 * px) this.text(u, mark.text(), mark.at - aside, y, "right", this.colour.ink);
			else this.text(u, mark.text(), mark.at + aside, y, "left", this.colour.ink);
		});
	}

	/** at marks x, and says what the lines are there. */
	at(x) {
		const { plot, data } = this, left = plot.valToPos(x, "x");
		this.cursor.style.transform = `translateX(${left}px)`;
		this.cursor.hidden = false;
		return data.lines.map((line, i) => {
			const v = valueAt(line, x), dot = this.dots[i];
			dot.hidden = v === null;
			if (v !== null) dot.style.transform = `translate(${left}px, ${plot.valToPos(data.y.log ? Math.max(v, data.y.lo) : v, "y")}px)`;
			return { label: line.label, value: v };
		});
	}

	/** rest marks nothing. */
	rest() {
		for (const e of [this.cursor, ...this.dots]) e.hidden = true;
	}
}

