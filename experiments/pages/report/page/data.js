// The charts as data.go wrote them, and what their values are at any place.

/** column is the numbers of a column, which may be the differences of neighbours, equal ones as one and how many. null is a gap. */
export function column(written) {
	if (Array.isArray(written)) return written;
	let sum = 0;
	const all = [];
	for (const d of written.d) {
		const [step, times] = Array.isArray(d) ? d : [d, 1];
		for (let i = 0; i < times; i++) all.push(step === null ? null : (sum += step));
	}
	return all;
}

/** read makes a chart's columns lists of numbers. */
export function read(chart) {
	chart.lines = (chart.lines ?? []).map((l) => ({ ...l, x: column(l.x), y: column(l.y), half: l.half && column(l.half) }));
	for (const list of ["levels", "spans", "events"]) chart[list] ??= [];
	return chart;
}

/** valueAt is a line's value at x: of a step the last point's, otherwise between its neighbours; null where it has none. */
export function valueAt(line, x) {
	const { x: xs, y: ys } = line;
	let a = -1, b = xs.length - 1;
	while (a < b) {
		const m = (a + b + 1) >> 1;
		if (xs[m] <= x) a = m;
		else b = m - 1;
	}
	if (a < 0 || ys[a] === null || xs[a] === x) return a < 0 ? null : ys[a];
	if (a === xs.length - 1) return null;
	if (line.step) return ys[a];
	return ys[a + 1] === null ? null : ys[a] + ((ys[a + 1] - ys[a]) * (x - xs[a])) / (xs[a + 1] - xs[a]);
}

const digits = (v) => {
	const a = Math.abs(v);
	return a < 0.0005 ? "0" : String(Number(v.toFixed(a >= 99.95 ? 0 : a >= 9.995 ? 1 : a >= 0.9995 ? 2 : 3)));
};

/** named puts an axis' unit behind a number. */
export const named = (axis, text) => text + (axis.unit ? `\u00a0${axis.unit}` : "");

/** number is a value as it is read, without the unit. */
export const number = (axis, v) => {
	const s = digits(v / axis.div);
	return s === "0" && axis.unit ? s : s + axis.suffix;
};

/** place is a value of the x axis, as fine as a pixel of what is shown from lo to hi. */
export function place(chart, x, [lo, hi]) {
	const axis = chart.x;
	if (chart.names) return chart.names[x];
	if (axis.log) return named(axis, number(axis, x));
	const decimals = Math.max(0, Math.ceil(-Math.log10((hi - lo) / axis.div / 400)));
	return named(axis, (x / axis.div).toFixed(decimals) + axis.suffix);
}

/** ticksBetween are the ticks of a linear axis from lo to hi: round numbers, at most n parts. */
export function ticksBetween(axis, lo, hi, n) {
	const span = (hi - lo) / axis.div, e = 10 ** Math.floor(Math.log10(span / n));
	const step = [1, 2, 5, 10].map((f) => f * e).find((s) => span / s <= n * 1.000000001);
	const decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
	const ticks = [];
	for (let i = Math.ceil(lo / axis.div / step - 1e-9); i * step * axis.div <= hi + step * axis.div * 1e-9; i++) {
		ticks.push([i * step * axis.div, (i * step).toFixed(decimals) + axis.suffix]);
	}
	return ticks;
}
