// Numbers as people read them.

const scaled = (v, steps) => {
	const step = steps.find(([least]) => Math.abs(v) >= least) ?? steps.at(-1);
	const n = v / step[0];
	return `${trim(n, Math.abs(n) >= 100 ? 0 : Math.abs(n) >= 10 ? 1 : 2)} ${step[1]}`;
};

const trim = (v, digits) => v.toFixed(digits).replace(/\.0+$|(\.\d*?)0+$/, "$1");

/** bytes, decimal as in the scenarios. */
export const bytes = (v) => (v === 0 ? "0" : scaled(v, [[1e9, "GB"], [1e6, "MB"], [1e3, "KB"], [1, "B"]]));

/** bits a second. */
export const rate = (v) => (v === 0 ? "0" : scaled(v, [[1e12, "Tb/s"], [1e9, "Gb/s"], [1e6, "Mb/s"], [1e3, "kb/s"], [1, "b/s"]]));

/** a length of time, in ns. */
export const span = (v) => (v === 0 ? "0" : scaled(v, [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]]));

/** a moment, in ns, always with the same digits, so that a clock stands still while it runs. */
export const moment = (v, end) => (end >= 1e10 ? `${(v / 1e9).toFixed(6)} s` : `${(v / 1e6).toFixed(6)} ms`);

export const percent = (v) => `${trim(100 * v, v < 0.1 ? 1 : 0)} %`;

export const count = (v) => v.toLocaleString("en").replaceAll(",", "\u202f");

/** plural, as "3 ports". */
export const plural = (n, one, many = one + "s") => `${count(n)} ${n === 1 ? one : many}`;

/** element makes an element. Text is set as text, whatever is in it. */
export function element(name, properties = {}, ...inside) {
	const e = document.createElement(name);
	for (const [key, value] of Object.entries(properties)) {
		if (key in e) e[key] = value;
		else e.setAttribute(key, value);
	}
	e.append(...inside.filter((i) => i !== null && i !== undefined));
	return e;
}

const checks = { PASS: "checks ok", WARN: "checks incomplete", FAIL: "checks broken" };

/** verdictText says a verdict in words that nobody takes for a grade of the congestion control. */
export const verdictText = (verdict) => checks[verdict] ?? verdict;
