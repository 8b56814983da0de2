// Plots over time, which share the cursor and the stretch of time that they show.

import uPlot from "../../../../internal/pages/uplot/uPlot.esm.js";
import { lastAtMost } from "./data.js";
import { bytes, element, plural, rate, span } from "./format.js";

const units = { queue: bytes, ingress: bytes, goodput: rate, rate, pause: (v) => `${round(v)}/s`, ce: (v) => `${round(v)}/s`, ue: (v) => `${round(v)}/s` };
const round = (v) => (Math.abs(v) >= 1e6 ? `${+(v / 1e6).toPrecision(3)}M` : Math.abs(v) >= 1e3 ? `${+(v / 1e3).toPrecision(3)}k` : String(+v.toPrecision(3)));
const mostPoints = 3000;
const leastWidth = 260; // of a plot

/** Plots shows plots in a section. */
export class Plots {
	constructor(section, go) {
		this.section = section;
		this.go = go;
		this.shown = [];
		this.sync = uPlot.sync("time");
		this.more = document.getElementById("more");
		this.more.addEventListener("click", () => section.scrollBy({ left: section.clientWidth, behavior: "smooth" }));
		section.addEventListener("scroll", () => this.tellMore(), { passive: true });
		new ResizeObserver(() => this.resize()).observe(section);
	}

	/** show draws what there is to plot of runs: the scenario's own plots, and those of what is selected, and of a port beside it. */
	show(runs, end, chosen, colour, place = null) {
		this.end = end;
		this.range ??= [0, end];
		for (const { plot } of this.shown) plot.destroy();
		this.shown = [];
		this.section.replaceChildren(...allPlots(runs, end, chosen, place).map((one) => this.make(one, runs, colour)));
		this.resize();
		this.resize(); // captions wrap once they have values
	}

	/** update takes over what has come of a run that goes on, and shows a stretch of time unless the user has magnified another. */
	update(runs, from, to, chosen, colour, place = null) {
		if (!this.section.classList.contains("zoomed")) this.range = [from, to];
		const all = allPlots(runs, to, chosen, place);
		const same = all.length === this.shown.length && all.every(({ title, series }, i) => title === this.shown[i].title && series.length === this.shown[i].series.length);
		if (!same) return this.show(runs, to, chosen, colour, place);
		[this.begin, this.end] = [from, to];
		all.forEach(({ series }, i) => {
			this.shown[i].series = series;
			this.shown[i].plot.setData(uPlot.join(series.map((s) => [s.x, s.y])));
		});
	}

	make({ title, series, format }, runs, colour) {
		const figure = element("figure", {}, element("figcaption", {}, element("span", { textContent: title })));
		const place = element("div", { className: "plot" });
		figure.append(place);
		const labels = [...new Set(series.map((s) => s.label))];
		const data = uPlot.join(series.map((s) => [s.x, s.y]));
		const line = element("div", { className: "now" });
		const keys = element("ul", { className: "legend" });
		figure.firstChild.append(keys);
		const axis = { stroke: colour.muted, grid: { stroke: colour.rule, width: 1 }, ticks: { stroke: colour.rule, width: 1 }, font: "11px system-ui, sans-serif" };
		const options = {
			width: 300, height: 150, legend: { show: false }, padding: [6, 18, 0, 0],
			cursor: { sync: { key: "time" }, drag: { x: true, y: false, setScale: false }, points: { size: 5 } },
			scales: { x: { time: false, range: () => this.range }, y: { range: (_, low, high) => [Math.min(0, low), high > 0 ? high * 1.06 : 1] } },
			axes: [
				{ ...axis, size: 24, space: 70, values: (_, ticks) => ticks.map(span) },
				{ ...axis, size: 70, space: 30, values: (_, ticks) => ticks.map(format) },
			],
			series: [{}, ...series.map((s) => ({
				label: s.name, stroke: colour.series[labels.indexOf(s.label) % colour.series.length], width: 1.5, dash: s.run > 0 ? [6, 4] : undefined, spanGaps: true,
				paths: s.step ? uPlot.paths.stepped({ align: s.step === "mean" ? -1 : 1 }) : undefined, points: { show: false },
			}))],
			hooks: {
				ready: [(u) => u.over.append(line)],
				setSelect: [(u) => {
					if (u.select.width > 4) this.zoom(u.posToVal(u.select.left, "x"), u.posToVal(u.select.left + u.select.width, "x"));
					u.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
				}],
			},
		};
		const plot = new uPlot(options, data, place);
		let pressed = 0;
		plot.over.addEventListener("pointerdown", (e) => (pressed = e.offsetX));
		plot.over.addEventListener("click", (e) => Math.abs(e.offsetX - pressed) < 4 && this.go(plot.posToVal(e.offsetX, "x")));
		plot.over.addEventListener("dblclick", () => this.zoom(this.begin ?? 0, this.end));
		// One entry a label, with a value of each run.
		const entries = new Map(labels.map((label) => [label, element("li", {}, label)]));
		keys.append(...entries.values());
		const values = series.map((s, i) => {
			const swatch = element("span", { className: s.run > 0 ? "swatch dashed" : "swatch" });
			swatch.style.setProperty("--c", plot.series[i + 1].stroke());
			const value = element("em", { title: s.name });
			entries.get(s.label).append(element("span", { className: "value" }, swatch, value));
			return value;
		});
		this.shown.push({ title, plot, figure, series, values, line, format });
		return figure;
	}

	zoom(from, to) {
		if (to - from < 100) return;
		const begin = this.begin ?? 0;
		this.range = [Math.max(begin, from), Math.min(this.end, to)];
		for (const { plot } of this.shown) plot.redraw(true, true);
		for (const { plot } of this.shown) plot.setScale("x", { min: this.range[0], max: this.range[1] });
		this.section.classList.toggle("zoomed", this.range[0] > begin || this.range[1] < this.end);
		this.at(this.time);
	}

	/** tellMore says how many plots are out of sight at the right. */
	tellMore() {
		const { section, shown, more } = this;
		const hidden = shown.filter(({ figure }) => figure.offsetLeft - section.offsetLeft - section.scrollLeft > section.clientWidth - 40).length;
		more.hidden = hidden === 0;
		more.textContent = `${plural(hidden, "more plot")} ›`;
	}

	resize() {
		// No plot is cut off at the right edge.
		const fit = Math.max(1, Math.floor(this.section.clientWidth / leastWidth));
		this.section.style.setProperty("--columns", Math.min(fit, Math.max(1, this.shown.length)));
		this.tellMore();
		for (const { plot, figure } of this.shown) {
			const width = figure.lastChild.clientWidth, height = Math.max(80, figure.clientHeight - figure.firstChild.offsetHeight - 8);
			if (width > 0 && (plot.width !== width || plot.height !== height)) plot.setSize({ width, height });
		}
		this.at(this.time ?? 0);
	}

	/** at moves the line of the moment, and tells the values there. */
	at(t) {
		this.time = t;
		for (const { plot, series, values, line, format } of this.shown) {
			const x = plot.valToPos(t, "x");
			line.style.transform = `translateX(${x}px)`;
			line.hidden = x < 0 || x > plot.over.clientWidth;
			series.forEach((s, i) => {
				const v = s.value(t);
				const said = v === undefined || v === null ? "" : format(v);
				if (values[i].textContent !== said) values[i].textContent = said;
				values[i].dataset.raw = v ?? "";
			});
		}
	}
}

function allPlots(runs, end, chosen, place) {
	return [...selectedPlots(runs, chosen), ...selectedPlots(runs, place === null ? null : ["port", place]), ...panelPlots(runs), ...(runs[0].live ? [] : [pausedPlot(runs, end)])];
}

// line returns a series with sorted x. With the step "mean" each value covers the time before it. Very long series are reduced to the largest
// value of each stretch.
function line(run, k, runs, label, x, y, step) {
	const [allX, allY] = [x, y]; // of which the value at a moment is
	if (x.length > mostPoints) {
		const stride = Math.ceil(x.length / mostPoints);
		const few = Math.ceil(x.length / stride);
		const [fx, fy] = [new Float64Array(few), new Float64Array(few)];
		for (let i = 0; i < few; i++) {
			fx[i] = x[i * stride];
			fy[i] = y.subarray(i * stride, (i + 1) * stride).reduce((most, v) => Math.max(most, v));
		}
		[x, y] = [fx, fy];
	}
	const value = (t) => allY[lastAtMost(allX, t)];
	return { label, name: runs.length > 1 ? `${label}, ${run.head.label}` : label, run: k, x, y, step, value };
}

function panelPlots(runs) {
	const { panels, report_default: byDefault } = runs[0].head;
	// Default panels about PAUSE are omitted if there was none.
	const idle = byDefault && runs.every((run) => run.row("pfc.time", 0).length === 0);
	return (panels ?? []).filter((panel) => !(idle && panel.series.some((s) => s.quantity === "pause" || s.reference_to === "pfc.xoff"))).map((panel) => ({
		title: panel.title,
		format: units[panel.series.at(-1)?.quantity] ?? round,
		series: runs.flatMap((run, k) => {
			const same = (run.head.panels ?? []).findIndex((p) => p.title === panel.title);
			return same < 0 ? [] : run.head.panels[same].series.map((s, n) => line(
				run, k, runs, s.label, run.row(`panel.${same}.time`, n), run.row(`panel.${same}.value`, n), panel.mean ? "mean" : ["queue", "ingress", "state", "collective"].includes(s.quantity),
			));
		}),
	})).filter((p) => p.series.length > 0);
}

// pausedPlot returns the plot of how many ports are paused.
function pausedPlot(runs, end) {
	return {
		title: "Paused ports", format: round,
		series: runs.map((run, k) => {
			const bins = mostPoints - 1;
			const changes = new Int32Array(bins + 2);
			const bin = (t) => Math.max(0, Math.min(bins, Math.ceil((t / end) * bins)));
			for (const { from, to } of run.stretches) {
				for (let i = 0; i < from.length; i++) {
					// A pause shorter than a bin is still visible.
					const b = bin(from[i]);
					changes[b]++;
					changes[Math.max(b + 1, bin(to[i]))]--;
				}
			}
			const x = Float64Array.from({ length: bins + 1 }, (_, i) => (i * end) / bins);
			let n = 0;
			return line(run, k, runs, "ports", x, Float64Array.from(x, (_, i) => (n += changes[i])), true);
		}),
	};
}

function selectedPlots(runs, chosen) {
	if (!chosen) return [];
	const [kind, id] = chosen;
	const plot = (title, names, format, rowOf, step) => {
		const series = runs.flatMap((run, k) => names.filter(([name]) => run.has(name)).flatMap(([name, label]) => {
			const [row, first] = rowOf(run);
			const y = run.row(name, row);
			return y.length === 0 ? [] : [line(run, k, runs, label, run.times.subarray(first, first + y.length), y, step)];
		}));
		return series.length > 0 ? [{ title, format, series }] : [];
	};
	if (kind === "port") return plot(`${runs[0].portName(id)}: bytes`, [["queue", "queue"], ["ingress", "buffered from it"]], bytes, (run) => [run.ports[id]?.row ?? -1, 0], true);
	if (kind !== "flow") return [];
	const rowOf = (run) => [id, run.row("first")[id] ?? 0];
	return [
		...plot(`Flow ${runs[0].flowName(id)}: rates`, [["rate", "rate"], ["goodput", "goodput"]], rate, rowOf, false),
		...plot(`Flow ${runs[0].flowName(id)}: RTT`, [["rtt", "RTT"]], span, rowOf, true),
	];
}
