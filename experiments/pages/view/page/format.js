// Numbers as people read them.

// The units of output, the base unit first, as in Go's package units.
const rates = [["bps", 1], ["Kbps", 1e3], ["Mbps", 1e6], ["Gbps", 1e9], ["Tbps", 1e12]];
const sizes = [["B", 1], ["KB", 1e3], ["MB", 1e6], ["GB", 1e9], ["TB", 1e12]];
const times = [["ns", 1], ["us", 1e3], ["ms", 1e6], ["s", 1e9]];

const scaled = (v, units) => {
	if (v === 0) return "0";
	const [name, size] = units.findLast(([, size]) => Math.abs(v) >= size) ?? units[0];
	const n = v / size;
	return `${trim(n, Math.abs(n) >= 100 ? 0 : Math.abs(n) >= 10 ? 1 : 2)} ${name}`;
};

const trim = (v, digits) => v.toFixed(digits).replace(/\.0+$|(\.\d*?)0+$/, "$1");

/** bytes prints a size in bytes. */
export const bytes = (v) => scaled(v, sizes);

/** rate prints a rate in bits per second. */
export const rate = (v) => scaled(v, rates);

/** span prints a length of time in ns. */
export const span = (v) => scaled(v, times);

/** moment prints a point in time in ns, always with the same digits, so that a running clock stands still. */
export const moment = (v, end) => (end >= 1e10 ? `${(v / 1e9).toFixed(6)} s` : `${(v / 1e6).toFixed(6)} ms`);

export const percent = (v) => `${trim(100 * v, v < 0.1 ? 1 : 0)} %`;

export const count = (v) => v.toLocaleString("en").replaceAll(",", "\u202f");

/** plural prints a count and a noun, such as "3 ports". */
export const plural = (n, one, many = one + "s") => `${count(n)} ${n === 1 ? one : many}`;

/** element makes an element. Text is never parsed as HTML. */
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

/** verdictText returns a verdict in words that readers do not take for a grade of the congestion control. */
export const verdictText = (verdict) => checks[verdict] ?? verdict;
