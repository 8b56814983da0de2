// The page's plots: pointed at they tell values, those of a group together; what is over time can be zoomed. Without this script the page
// tells in words what they show.

import { Chart, colours } from "./chart.js";
import { named, number, place, read } from "./data.js";

const data = JSON.parse(document.getElementById("chart-data").textContent).map(read);
const reset = document.getElementById("reset");
const paperScale = 2.5; // pixels of a plot on paper

const figures = [...document.querySelectorAll("[data-chart]")].map((plot) => {
	const chart = new Chart(data[Number(plot.dataset.chart)], plot);
	const values = plot.closest("figure").querySelector(".values");
	return { plot, chart, group: chart.data.group, values, still: [...values.childNodes], reader: null };
});

const rest = (f) => {
	f.chart.rest();
	f.values.replaceChildren(...f.still);
};

/** tell shows the values of a group at x. */
function tell(group, x) {
	for (const f of figures) {
		if (f.group !== group) continue;
		const { chart } = f, { data } = chart;
		const at = data.names ? Math.min(Math.max(Math.round(x), 0), data.names.length - 1) : x;
		const found = chart.at(at);
		const items = [["at", place(data, at, chart.shown), at], ...found.map(({ label, value }, i) => {
			const text = value === null ? "–" : number(data.y, value);
			return [label, i === found.length - 1 ? named(data.y, text) : text, value];
		})];
		f.values.replaceChildren(...items.map(([label, text, raw]) => {
			const item = document.createElement("span"), em = document.createElement("em");
			em.textContent = text;
			em.dataset.raw = raw ?? "";
			item.append(`${label} `, em);
			return item;
		}));
	}
}

const still = (group) => figures.filter((f) => f.group === group).forEach(rest);

/** zoom shows a stretch of time in all plots over time. */
function zoom(from, to) {
	const over = figures.filter((f) => f.group === "time");
	const { lo, hi } = over[0].chart.data.x;
	// Finer than a thousandth of the run there is nothing drawn.
	if (to - from < (hi - lo) / 1000) return;
	const shown = [Math.max(from, lo), Math.min(to, hi)];
	for (const f of over) {
		f.chart.show(...shown);
		[f.reader.min, f.reader.max] = shown;
		rest(f);
	}
	reset.hidden = shown[0] === lo && shown[1] === hi;
}
const zoomOut = () => zoom(-Infinity, Infinity);
reset?.addEventListener("click", zoomOut);

/** listen has a drawn plot react to the pointer. */
function listen({ chart, group }) {
	const { plot } = chart;
	const value = (event) => plot.posToVal(Math.min(Math.max(event.clientX - plot.over.getBoundingClientRect().left, 0), plot.over.clientWidth), "x");
	plot.over.addEventListener("pointermove", (event) => tell(group, value(event)));
	plot.over.addEventListener("pointerdown", (event) => tell(group, value(event)));
	plot.over.addEventListener("pointerleave", () => still(group));
	plot.hooks.setSelect = [() => {
		const { left, width } = plot.select;
		if (width === 0) return;
		plot.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
		if (group === "time") zoom(plot.posToVal(left, "x"), plot.posToVal(left + width, "x"));
	}];
	if (group === "time") plot.over.addEventListener("dblclick", zoomOut);
}

/** addReader adds what keys move and what reads values aloud: a slider over the plot, which shows as its frame. */
function addReader(f) {
	const { x, names, title } = f.chart.data, reader = document.createElement("input");
	Object.assign(reader, { type: "range", className: "reader", min: names ? 0 : x.lo, max: names ? names.length - 1 : x.hi, step: names ? 1 : "any" });
	reader.value = reader.min;
	reader.setAttribute("aria-label", `Values of ${title}`);
	reader.setAttribute("aria-describedby", f.plot.querySelector("p").id);
	const say = () => {
		tell(f.group, Number(reader.value));
		reader.setAttribute("aria-valuetext", [...f.values.children].map((e) => e.textContent).join(", "));
	};
	reader.addEventListener("input", say);
	reader.addEventListener("focus", say);
	reader.addEventListener("blur", () => still(f.group));
	reader.addEventListener("keydown", (event) => {
		if (f.group !== "time" || event.ctrlKey || event.metaKey || event.altKey) return;
		const at = Number(reader.value), [lo, hi] = f.chart.shown, factor = { "+": 0.5, "=": 0.5, "-": 2 }[event.key];
		if (factor) zoom(at - (at - lo) * factor, at + (hi - at) * factor);
		else if (event.key === "Escape") zoomOut();
		else return;
		event.preventDefault();
		reader.value = at;
		say();
	});
	f.plot.append(reader);
	f.reader = reader;
}

/** makeRoom makes room for the values, which take more lines than the ranges they stand for: or the page would jump under the pointer. */
function makeRoom() {
	const captions = figures.map((f) => f.values.parentNode);
	for (const e of captions) e.style.minHeight = "";
	for (const [group, x] of new Map(figures.map((f) => [f.group, f.chart.shown[0]]))) tell(group, x);
	const heights = captions.map((e) => e.offsetHeight);
	captions.forEach((e, i) => (e.style.minHeight = `${heights[i]}px`));
	figures.forEach(rest);
}

let printing = false;

/** draw draws all plots anew. */
function draw() {
	const colour = colours();
	// What width paper leaves is not known before it is there: two plots abreast on A4, or one.
	const widths = figures.map((f) => (printing ? (f.plot.closest(".n1") ? 680 : 350) : f.plot.clientWidth || 300));
	figures.forEach((f, i) => {
		f.chart.draw(widths[i], colour, printing ? paperScale : 1);
		listen(f);
	});
}

document.documentElement.classList.add("live");
for (const f of figures) addReader(f);
draw();
makeRoom();
const resized = new ResizeObserver(() => {
	if (printing) return;
	const widths = figures.map((f) => f.plot.clientWidth);
	if (figures.every((f, i) => widths[i] === 0 || widths[i] === f.chart.plot.width)) return;
	figures.forEach((f, i) => widths[i] > 0 && f.chart.resize(widths[i]));
	makeRoom();
});
for (const e of new Set(figures.map((f) => f.plot.closest("figure").parentNode))) resized.observe(e);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);

// Paper has all that is folded, and as many dots as it can show, dark on light.
const folded = [];
addEventListener("beforeprint", () => {
	if (printing) return;
	for (const d of document.querySelectorAll("details:not([open])")) {
		d.open = true;
		folded.push(d);
	}
	document.documentElement.classList.add("paper");
	printing = true;
	draw();
});
addEventListener("afterprint", () => {
	if (!printing) return;
	for (const d of folded.splice(0)) d.open = false;
	document.documentElement.classList.remove("paper");
	printing = false;
	draw();
});
