// The page of a live fabric: it follows the fabric through server-sent events, and stops at any moment that the user selects.

import { Actions } from "./actions.js";
import { App } from "./app.js";
import { bytes, element, moment, plural, span, verdictText } from "./format.js";
import { LiveRun, place } from "./liverun.js";
import { bookmarks } from "./timeline.js";

const $ = (id) => document.getElementById(id);
const startsWith = 30e9; // wall-clock ns that the strip has at first

/** watch shows the fabric that the page's server has. */
export function watch() {
	let run = null, app = null, ended = false;
	const said = new Map();
	const notice = (key, text) => {
		if (text) said.set(key, text);
		else said.delete(key);
		$("notice").textContent = [...said.values()].join(" ");
		$("notice").hidden = said.size === 0;
	};
	const open = () => {
		const source = new EventSource("events");
		const on = (kind, take) => source.addEventListener(kind, (e) => take(JSON.parse(e.data)));
		source.addEventListener("open", () => notice("contact", ""));
		source.addEventListener("error", () => {
			if (ended) return;
			notice("contact", "Lost contact with the fabric: the program that serves this page has ended or is stopped. Retrying.");
			document.body.classList.remove("loading");
			if (source.readyState === EventSource.CLOSED) setTimeout(open, 3000);
		});
		on("hello", (hello) => { run ??= new LiveRun(hello); });
		on("sample", (s) => {
			notice("silent", "");
			if (!run.add(s)) return;
			if (app) app.sampled();
			else app = new LiveApp([run]);
			notice("deadlock", s.deadlock ? `Deadlock: ${s.deadlock}.` : "");
		});
		on("happened", ({ events, missed }) => {
			if (missed) run.happen({ kind: "missed", count: missed, wall: events[0].wall, time_ns: events[0].time_ns, detail: "events: too many at once" });
			for (const e of events) run.happen(e);
			app?.happened();
		});
		on("silent", (why) => notice("silent", `${why}.`));
		on("ended", (how) => {
			ended = true;
			source.close();
			document.body.classList.remove("loading");
			const verdict = how.verdict ? `: ${[verdictText(how.verdict.status), ...(how.verdict.reasons ?? [])].join(", ")}` : "";
			notice("ended", `${how.fabric} has ended${verdict}. ${how.why ?? ""} You can still look at what it did.`);
			app?.over(how.verdict?.status ?? "ENDED");
		});
	};
	open();
}

class LiveApp extends App {
	fillChoices() {
		this.following = true;
		document.body.classList.add("live");
		for (const id of ["run-a", "run-b"]) $(id).closest("label").hidden = true;
		this.events = element("ol", { ariaLabel: "Events, newest first" });
		if (this.all[0].hello.changes) {
			this.actions = new Actions(this.all[0]);
			document.querySelector("aside").prepend(this.actions.section);
		}
		$("flows").after(element("section", { id: "happened", ariaLabel: "Events" }, element("div", { className: "bar" }, element("h2", { textContent: "Events" })), this.events));
	}

	show(a, b) {
		this.flows.by = 1;
		super.show(a, b);
		const { hello } = this.all[0];
		$("scenario").textContent = hello.fabric;
		document.title = `${hello.fabric} · pausenet, live`;
		$("speed").title = "Span of the timeline and the plots ( [ and ] )";
		$("speed").previousElementSibling.textContent = "Last";
		this.sampled();
		this.happened();
	}

	notices() {}

	choose(chosen) {
		this.actions?.choose(chosen);
		super.choose(chosen);
		this.askWay();
	}

	// askWay queries the path of the selected flow, which faults may change.
	async askWay() {
		const [run] = this.all;
		const { chosen } = this;
		const f = chosen?.[0] === "flow" ? run.list[chosen[1]] : null;
		if (!f || f.over !== undefined || this.isOver) return;
		this.wayAsked = run.count;
		const path = await fetch(`way?flow=${f.number}`).then((answer) => answer.json()).catch(() => []);
		if (path.length === 0 || String(path) === String(f.path)) return;
		f.path = path;
		if (this.chosen === chosen) this.choose(chosen);
	}

	// speeds offers spans of the past to show.
	speeds() {
		const all = [];
		for (let power = 1e5; power < 1e11; power *= 10) for (const n of [1, 2, 5]) all.push(n * power);
		const wanted = this.speed ?? startsWith / this.all[0].last.slowdown;
		this.speed = all.find((v) => v >= wanted * 0.99) ?? all.at(-1);
		$("speed").replaceChildren(...all.map((v) => element("option", { value: v, textContent: span(v), selected: v === this.speed })));
	}

	key(e) {
		super.key(e);
		if ("[]".includes(e.key)) this.sampled(true);
	}

	listen() {
		super.listen();
		$("speed").addEventListener("change", () => this.sampled(true));
	}

	/** sampled shows what has come; without the user's following what is seen stands still, unless it is to be brought up to date. */
	sampled(always = false) {
		const [run] = this.runs;
		const s = run.last;
		$("description").textContent = `${run.hello.scenario}, slow-down ${s.slowdown}, events late by ${span(s.late)} (p99)`;
		this.peaks();
		if (!this.following && !always) return;
		if (this.following) this.end = this.time = run.end;
		this.first = Math.max(0, this.end - this.speed);
		$("scrub").min = this.first;
		$("scrub").max = this.end;
		this.strip.show(this.runs, this.first, this.end, this.marks);
		if (this.chosen && !this.exists(this.chosen)) this.choose(null);
		if (this.colour) this.plots.update(this.runs, this.first, this.end, this.chosen, this.colour);
		this.flows.choose(true);
		if (Math.abs(run.count - this.wayAsked) >= 8) this.askWay();
		$("next").disabled = $("previous").disabled = run.pauseTimes.length === 0;
		this.paint();
	}

	// peaks makes the longest bar the largest queue so far.
	peaks() {
		const [run] = this.runs;
		const known = JSON.stringify(["queue", "marks", "cnms", "cnps"].map((name) => (name === "queue" ? run.most(name) : run.most(name) > 0)).concat(run.ports.some((p) => run.down(p.id, run.end))));
		if (known === this.peaksKnown) return;
		this.peaksKnown = known;
		for (const f of this.fabrics) f.peak = Math.max(1e4, run.most("queue"));
		$("fabrics").querySelector("ul.legend")?.replaceWith(this.legend());
	}

	go(t, options) {
		if (this.ready && this.following) this.follow(t >= this.end);
		super.go(t, options);
	}

	// follow makes the page follow the fabric, or stop.
	follow(on) {
		this.following = on && !this.isOver;
		$("play").classList.toggle("on", this.following);
		$("play").title = this.following ? "Stop at this moment (Space)" : "Follow the fabric (Space)";
		$("play").lastChild.textContent = this.following ? "Stop" : "Follow";
	}

	play(on = !this.following) {
		if (on && !this.following) this.plots.section.classList.remove("zoomed");
		this.follow(on);
		this.sampled(this.isOver);
		this.saveLink();
	}

	step(times, direction) {
		const has = times.some((list) => list.some((t) => (direction > 0 ? t > this.time + 0.5 : t < this.time - 0.5)));
		if (has) super.step(times, direction);
	}

	begin() {
		this.follow(this.following);
		return this.end;
	}

	happened() {
		const [run] = this.runs;
		this.marks = bookmarks(this.runs);
		$("bookmarks").replaceChildren(element("option", { value: "", textContent: "an event …" }), ...this.marks.map((m, i) => element("option", { value: i, textContent: `${moment(m.time, run.end)}  ${m.label}` })));
		const rows = run.happened.slice(-100).reverse();
		this.events.replaceChildren(...rows.map((e) => element("li", { className: e.kind },
			element("time", { textContent: moment(e.time_ns, run.end) }), element("b", { textContent: e.kind.replaceAll("_", " ") }), words(e))));
	}

	/** over says that the fabric has ended. */
	over(verdict) {
		this.isOver = true;
		this.follow(false);
		document.body.classList.add("over");
		const chip = $("fabrics").querySelector(".verdict");
		chip.textContent = `ended: ${verdictText(verdict)}`;
		chip.className = `verdict ${verdict.toLowerCase()}`;
		$("play").disabled = true;
		this.actions?.open(null);
		for (const b of this.actions?.section.querySelectorAll("button") ?? []) b.disabled = true;
		this.sampled(true);
	}

	words(run) {
		let paused = 0, largest = 0, where = -1;
		for (const p of run.ports) {
			if (run.paused(p.id, this.time)) paused++;
			const queue = run.at("queue", p.id, this.time) ?? 0;
			if (queue > largest) [largest, where] = [queue, p.id];
		}
		const flows = this.following ? `${plural(run.open, "flow")} open, ` : "";
		return `${flows}${plural(paused, "port")} paused${where < 0 ? "" : `, longest queue ${bytes(largest)} at ${run.portName(where)}`}.`;
	}
}

// words returns the text of an event without its kind.
function words(e) {
	const said = [place(e)];
	if (e.priority !== undefined) said.push(`priority ${e.priority}`);
	if (e.flow !== undefined) said.push(`flow ${e.flow}${e.size_bytes ? `, ${bytes(e.size_bytes)}` : ""}`);
	if (e.fct_ns) said.push(`FCT ${span(e.fct_ns)}`);
	if (e.count) said.push(plural(e.count, e.kind === "drops" ? "frame" : "event"));
	if (e.detail) said.push(e.detail);
	return said.filter(Boolean).join(", ");
}
