// Parts of the page: tabs, the line over the results, progress bars, and reports in a frame.
import { span } from "./format.js";
import { element } from "./results.js";

export const $ = (id) => document.getElementById(id);

// say writes the line over the results.
export const say = (text, kind = "") => {
	$("state").textContent = text;
	$("state").className = kind;
};

// intoView shows the line over the results, which on a small screen may be above or below what is seen.
export const intoView = () => {
	const { top } = $("state").getBoundingClientRect();
	if (top < 0 || top > innerHeight * 0.5) $("state").scrollIntoView({ behavior: "smooth" });
};

// Tabs: the arrow keys move between them.
for (const list of document.querySelectorAll("[role=tablist]")) {
	list.addEventListener("click", (event) => {
		const tab = event.target.closest("[role=tab]");
		if (tab) select(tab.id);
	});
	list.addEventListener("keydown", (event) => {
		const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
		if (!step) return;
		const shown = [...list.querySelectorAll("[role=tab]:not([hidden])")];
		const next = shown[(shown.indexOf(event.target) + step + shown.length) % shown.length];
		select(next.id);
		next.focus();
	});
}
export const select = (id) => {
	const chosen = $(id);
	for (const tab of chosen.parentElement.querySelectorAll("[role=tab]")) {
		tab.setAttribute("aria-selected", String(tab === chosen));
		tab.tabIndex = tab === chosen ? 0 : -1;
		$(tab.getAttribute("aria-controls")).hidden = tab !== chosen;
	}
};

// bars shows the progress of each run.
export const bars = () => {
	const all = new Map();
	$("progress").replaceChildren();
	$("progress").hidden = false;
	return (p) => {
		if (!all.has(p.run)) {
			const bar = element("progress", { max: "1", value: "0", "aria-label": p.run }), far = element("span", { class: "far" });
			$("progress").append(element("div", { class: "bar" }, element("span", {}, p.run), bar, far));
			all.set(p.run, { bar, far });
		}
		const { bar, far } = all.get(p.run);
		bar.value = p.ended ? 1 : Math.min(p.now_ns / p.duration_ns, 1);
		far.textContent = p.ended ? "ended" : `${span(p.now_ns)} of ${span(p.duration_ns)}`;
	};
};

// read.text reads a file of the simulator's: the page sets it.
export const read = { text: async () => "" };

// choose shows one of some reports, the first unless another is named.
export const choose = async (reports, path = reports[0]) => {
	$("reports-bar").hidden = reports.length < 2;
	$("reports").replaceChildren(...reports.map((r) => element("option", { value: r }, r.split("/").at(-2))));
	$("reports").value = path ?? "";
	if (path) frame(await read.text(path));
};
$("reports").addEventListener("change", async () => frame(await read.text($("reports").value)));

// frame shows a report in a frame that may run the report's own script and reach nothing else.
let report = null;
const frame = (html) => {
	report = html;
	$("report").contentWindow.postMessage(report, location.origin);
};
addEventListener("message", (event) => { // the frame has loaded
	if (event.source === $("report").contentWindow && event.data === "ready" && report !== null) frame(report);
});
