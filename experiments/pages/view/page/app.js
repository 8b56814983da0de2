// The page: what it shows, at which moment, and how it handles the user's input.

import { colours, Fabric } from "./draw.js";
import { bytes, element, moment, plural, span, verdictText } from "./format.js";
import { help } from "./help.js";
import { Plots } from "./plots.js";
import { Selected } from "./selected.js";
import { Flows } from "./table.js";
import { bookmarks, Strip } from "./timeline.js";

const $ = (id) => document.getElementById(id);
const slow = matchMedia("(prefers-reduced-motion: reduce)");

/** App is the page of some runs. */
export class App {
	constructor(runs) {
		this.all = runs;
		this.first = 0; // the time at which the strip begins
		this.time = 0;
		this.playing = false;
		this.chosen = null; // ["flow", 3], ["port", 17] or ["node", 2]
		this.place = null; // a port that a flow's time is told by
		this.strip = new Strip(document.querySelector("#strip canvas"));
		this.flows = new Flows($("flows"), (flow) => this.choose(flow === null ? null : ["flow", flow]));
		this.selected = new Selected($("selected"), {
			close: () => this.choose(null), port: (id) => this.choose(["port", id]), flow: (id) => this.choose(["flow", id]),
			place: (id) => this.point(id === this.place ? null : id),
		});
		this.plots = new Plots($("plots"), (t) => this.go(t));
		this.fillChoices();
		this.listen();
		this.readLink();
		this.ready = true;
		document.body.classList.remove("loading");
		this.paint();
	}

	fillChoices() {
		const options = this.all.map((run, i) => element("option", { value: i, textContent: run.head.label }));
		$("run-a").replaceChildren(...options);
		$("run-b").replaceChildren(element("option", { value: "", textContent: "nothing" }), ...options.map((o) => o.cloneNode(true)));
		$("run-a").disabled = this.all.length < 2;
		$("run-b").closest("label").hidden = this.all.length < 2;
	}

	/** show takes the runs that are to be seen: one, or two side by side. */
	show(a, b) {
		this.runs = [this.all[a]];
		if (b !== null && b !== a && this.all[b]) this.runs.push(this.all[b]);
		[this.a, this.b] = [a, this.runs.length > 1 ? b : null];
		$("run-a").value = a;
		$("run-b").value = this.b ?? "";
		const [run] = this.runs;
		this.end = Math.max(...this.runs.map((r) => r.end));
		$("scenario").textContent = run.head.scenario;
		$("description").textContent = run.head.description;
		$("scrub").max = this.end;
		this.marks = bookmarks(this.runs);
		this.strip.show(this.runs, this.first, this.end, this.marks);
		this.flows.show(run, this.runs[1]);
		$("bookmarks").replaceChildren(element("option", { value: "", textContent: "a moment …" }),
			...this.marks.map((m, i) => element("option", { value: i, textContent: `${moment(m.time, this.end)}  ${m.label}` })));
		this.fabrics = this.runs.map((r) => this.fabric(r));
		$("fabrics").replaceChildren(...this.fabrics.map((f) => f.canvas.parentElement));
		$("fabrics").append(this.legend());
		$("next").disabled = $("previous").disabled = this.runs.every((r) => r.pauseTimes.length === 0);
		this.notices();
		this.speeds();
		this.choose(this.chosen && this.exists(this.chosen) ? this.chosen : null);
		this.plots.zoom?.(0, this.end);
	}

	exists([kind, id]) {
		const [run] = this.runs;
		return id >= 0 && id < { flow: run.flowCount, port: run.ports.length, node: run.head.nodes.length }[kind];
	}

	fabric(run) {
		const canvas = element("canvas", { tabIndex: 0, role: "img" });
		canvas.setAttribute("aria-label", `The fabric under ${run.head.label}: ${run.head.fabric}. The text below describes this moment.`);
		const { verdict, status } = run.head;
		element("figure", {}, element("figcaption", {}, element("b", { textContent: run.head.label }),
			this.runs.length > 1 ? element("span", { className: run === this.runs[0] ? "swatch" : "swatch dashed", title: "its lines in the plots" }) : null,
			element("span", { className: `verdict ${verdict.toLowerCase()}`, textContent: status === "complete" ? verdictText(verdict) : `${verdictText(verdict)} (${status})` }),
			element("span", { className: "now-paused" })), canvas);
		const f = new Fabric(run, canvas, (found) => this.choose(!found ? null : "port" in found ? ["port", found.port] : ["node", found.node]));
		f.changed = () => this.paint();
		f.count = canvas.parentElement.querySelector(".now-paused");
		return f;
	}

	legend() {
		const item = (kind, text) => element("li", {}, element("span", { className: `key ${kind}` }), text);
		const peak = Math.max(...this.fabrics.map((f) => f.peak));
		const scale = element("li", {}, element("span", { className: "key scale" }), "link 0 to 100 % busy");
		const all = [scale, item("queue", `queue, to ${bytes(peak)}`), item("pause", "paused")];
		if (!this.runs[0].live) all.push(item("frame", "PAUSE in flight"));
		if (this.runs.some((r) => r.has("marks") && r.most("marks") > 0)) all.push(item("mark", "ECN marks"));
		if (this.runs.some((r) => r.most("cnms") > 0)) all.push(item("cnm", "CNMs"));
		if (this.runs.some((r) => r.most("cnps") > 0)) all.push(item("cnp", "CNPs"));
		if (this.runs.some((r) => !r.head.recorded)) all.push(item("unknown", "not recorded"));
		if (this.runs.some((r) => r.down && r.ports.some((p) => r.down(p.id, r.end)))) all.push(item("down", "link is down"));
		return element("ul", { className: "legend", ariaLabel: "Legend" }, ...all);
	}

	notices() {
		const said = [], sampled = new Map(); // what is to be said once: of which runs
		for (const r of this.runs) {
			const of = this.runs.length > 1 ? `${r.head.label}: ` : "";
			if (!r.head.recorded) {
				const text = `Queues and link loads are recorded at ${sampledPorts(r)}; PAUSE at all ${r.ports.length} ports. To record everything: pausenet view ${r.head.scenario}, or pausenet run ${r.head.scenario} --record.`;
				sampled.set(text, [...(sampled.get(text) ?? []), r.head.label]);
			}
			for (const m of r.head.missing ?? []) said.push(of + m);
		}
		for (const [text, labels] of sampled) said.unshift(labels.length < this.runs.length ? `${labels.join(", ")}: ${text}` : text);
		$("notice").textContent = said.join(" ");
		$("notice").hidden = said.length === 0;
	}

	// speeds offers virtual times a second, in steps of 1, 2 and 5, about the one by which the run takes half a minute.
	speeds() {
		const all = [];
		for (let power = 1e2; power <= this.end * 2; power *= 10) for (const n of [1, 2, 5]) all.push(n * power);
		const before = this.speed;
		const wanted = before ?? this.end / 30;
		this.speed = all.find((v) => v >= wanted * 0.99) ?? all.at(-1);
		$("speed").replaceChildren(...all.map((v) => element("option", { value: v, textContent: `${span(v)} / s`, selected: v === this.speed })));
	}

	go(t, { from = "user" } = {}) {
		this.time = Math.max(this.first, Math.min(this.end, t));
		if (from !== "clock") this.saveLink();
		this.paint();
	}

	play(on = !this.playing) {
		if (on && this.time >= this.end) this.time = 0;
		this.playing = on;
		$("play").classList.toggle("on", on);
		$("play").lastChild.textContent = on ? "Pause" : "Play";
		this.last = undefined;
		this.saveLink();
		this.paint();
	}

	/** step goes to the next or the previous PAUSE of any run that is shown, or sample, or bookmark. */
	step(times, direction) {
		const near = times.map((list) => {
			if (direction > 0) return list.find((t) => t > this.time + 0.5);
			let found;
			for (const t of list) {
				if (t >= this.time - 0.5) break;
				found = t;
			}
			return found;
		}).filter((t) => t !== undefined);
		if (near.length === 0) return;
		this.play(false);
		this.go(direction > 0 ? Math.min(...near) : Math.max(...near));
	}

	pauses() { return this.runs.map((r) => r.pauseTimes); }

	choose(chosen) {
		[this.chosen, this.place] = [chosen, null];
		this.selected.show(this.runs, chosen);
		this.flows.select(chosen?.[0] === "flow" ? chosen[1] : null, true);
		this.plots.show(this.runs, this.end, chosen, (this.colour ??= colours()));
		this.saveLink();
		this.paint();
	}

	/** point shows a port in the drawing and the plots, beside the flow that is selected. */
	point(port) {
		this.place = port;
		this.selected.point(port);
		this.plots.show(this.runs, this.end, this.chosen, this.colour, port);
		this.saveLink();
		this.paint();
	}

	/** paint draws once, in the next frame, however often it is asked to. */
	paint() {
		if (!this.ready || this.asked) return;
		this.asked = requestAnimationFrame((now) => {
			this.asked = 0;
			this.frame(now);
		});
	}

	frame(now) {
		if (this.playing) {
			this.time = Math.min(this.end, this.time + ((now - (this.last ?? now)) / 1e3) * this.speed);
			this.last = now;
			if (this.time >= this.end) this.play(false);
		}
		this.colour ??= colours();
		const [kind, id] = this.chosen ?? [];
		const of = (k) => (kind === k ? id : null);
		const moving = !slow.matches && this.playing;
		for (const f of this.fabrics) {
			f.draw(this.time, { colour: this.colour, flow: of("flow"), port: of("port"), node: of("node"), place: this.place, phase: moving ? (now / 900) % 1 : 0.4 });
		}
		this.strip.draw(this.time, this.colour);
		this.plots.at(this.time);
		this.selected.at(this.time);
		$("clock").textContent = moment(this.time, this.end);
		$("scrub").value = this.time;
		$("scrub").setAttribute("aria-valuetext", moment(this.time, this.end));
		if (!(now - this.told < 250)) this.tell(now);
		else if (!this.playing) this.paint();
		if (this.playing) this.paint();
	}

	// tell updates what need not change in each frame: the active flows, and the moment in words. A screen reader reads all of the text, so
	// tell updates it less often while time runs.
	tell(now) {
		this.told = now;
		this.flows.at(this.time);
		for (const f of this.fabrics) {
			const n = f.run.ports.reduce((sum, p) => sum + (f.run.paused(p.id, this.time) ? 1 : 0), 0);
			const said = n === 0 ? "nothing is paused" : `${plural(n, "port")} paused`;
			if (f.count.textContent !== said) f.count.textContent = said;
			f.count.classList.toggle("some", n > 0);
		}
		const said = this.runs.map((r) => this.words(r)).join(" ");
		if ($("moment").textContent !== said) $("moment").textContent = said;
		if ((this.playing || this.following) && now - (this.spoke ?? 0) < 5000) return;
		this.spoke = now;
		if ($("spoken").textContent !== said) $("spoken").textContent = said;
	}

	words(run) {
		let paused = 0, largest = 0, where = -1, under = 0;
		for (const p of run.ports) {
			if (run.paused(p.id, this.time)) paused++;
			const queue = run.at("queue", p.id, this.time) ?? 0;
			if (queue > largest) [largest, where] = [queue, p.id];
		}
		for (let i = 0; i < run.flowCount; i++) if (run.state(i, this.time) === 1) under++;
		const of = this.runs.length > 1 ? `${run.head.label}: ` : "";
		return `${of}${plural(under, "flow")} active, ${plural(paused, "port")} paused${where < 0 ? "" : `, longest queue ${bytes(largest)} at ${run.portName(where)}`}.`;
	}

	// The address has the runs, the selection and the moment, so that users can share it.
	saveLink() {
		if (!this.ready) return;
		const parts = this.following ? [] : [`t=${Math.round(this.time)}`];
		if (this.all.length > 1) parts.push(`run=${this.a}`);
		if (this.b !== null) parts.push(`beside=${this.b}`);
		if (this.chosen) {
			const [kind, id] = this.chosen;
			parts.push(`${kind}=${kind === "flow" ? this.runs[0].flowName(id) : encodeURIComponent(kind === "port" ? this.runs[0].ports[id].name : this.runs[0].nodeName(id))}`);
		}
		if (this.place !== null) parts.push(`at=${encodeURIComponent(this.runs[0].ports[this.place].name)}`);
		const hash = parts.length > 0 ? `#${parts.join("&")}` : "";
		clearTimeout(this.saving);
		this.saving = setTimeout(() => {
			// The user has changed the address in the meantime: it is about to be read.
			if (location.hash !== this.known) return;
			if (location.hash !== hash) history.replaceState(null, "", hash || location.pathname);
			this.known = hash;
		}, 100);
	}

	readLink() {
		this.known = location.hash;
		const said = new URLSearchParams(location.hash.slice(1));
		const run = (name, otherwise) => {
			const i = Number(said.get(name) ?? NaN);
			return Number.isInteger(i) && i >= 0 && i < this.all.length ? i : otherwise;
		};
		const a = run("run", 0);
		// A link without a run shows the first two; a link with only the first run shows that run.
		const b = run("beside", !said.has("run") && this.all.length > 1 ? 1 : null);
		if (!this.ready || a !== this.a || b !== this.b) this.show(a, b);
		const [r] = this.runs;
		const index = (list, name) => (name === null ? -1 : list.findIndex((each) => each.name === name));
		for (const [kind, id] of [["flow", r.flowIndex(Number(said.get("flow") ?? -1))], ["port", index(r.ports, said.get("port"))], ["node", index(r.head.nodes, said.get("node"))]]) {
			if (Number.isInteger(id) && this.exists([kind, id])) this.choose([kind, id]);
		}
		const at = index(r.ports, said.get("at"));
		if (at >= 0 && this.chosen?.[0] === "flow") this.point(at);
		const t = Number(said.get("t") ?? NaN);
		this.go(Number.isFinite(t) ? t : this.begin());
	}

	/** begin is where the page opens: at the first PAUSE, where there is something to see. */
	begin() { return Math.min(...this.pauses().map((list) => list[0] ?? Infinity), this.end) % this.end; }

	theme() {
		const root = document.documentElement;
		const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
		root.dataset.theme = dark ? "light" : "dark";
		this.recolour();
	}

	recolour() {
		this.colour = colours();
		this.plots.show(this.runs, this.end, this.chosen, this.colour, this.place);
		this.paint();
	}

	listen() {
		$("play").addEventListener("click", () => this.play());
		$("next").addEventListener("click", () => this.step(this.pauses(), 1));
		$("previous").addEventListener("click", () => this.step(this.pauses(), -1));
		$("scrub").addEventListener("input", () => this.go(Number($("scrub").value)));
		$("speed").addEventListener("change", () => { this.speed = Number($("speed").value); });
		$("bookmarks").addEventListener("change", () => {
			const m = this.marks[$("bookmarks").value];
			if (m) this.go(m.time);
			$("bookmarks").value = "";
		});
		$("run-a").addEventListener("change", () => this.show(Number($("run-a").value), this.b));
		$("run-b").addEventListener("change", () => this.show(this.a, $("run-b").value === "" ? null : Number($("run-b").value)));
		$("theme").addEventListener("click", () => this.theme());
		$("help").addEventListener("click", () => help($("keys")));
		matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.recolour());
		addEventListener("resize", () => this.paint());
		addEventListener("hashchange", () => this.readLink());
		document.addEventListener("keydown", (e) => this.key(e));
		new ResizeObserver(() => this.paint()).observe($("fabrics"));
	}

	key(e) {
		if (e.ctrlKey || e.metaKey || e.altKey || $("keys").open) return;
		const typing = e.target.matches("input:not([type=range]), select");
		if (e.key === "Escape") {
			if (typing) e.target.blur();
			else if (this.place !== null) this.point(null);
			else this.choose(null);
			return;
		}
		if (typing) return;
		const samples = () => this.runs.map((r) => r.times);
		const speed = (by) => {
			const s = $("speed");
			s.selectedIndex = Math.max(0, Math.min(s.options.length - 1, s.selectedIndex + by));
			this.speed = Number(s.value);
		};
		const zoom = (factor) => {
			for (const f of this.fabrics) f.zoom(factor);
			this.paint();
		};
		const keys = {
			" ": () => this.play(), n: () => this.step(this.pauses(), 1), p: () => this.step(this.pauses(), -1),
			ArrowRight: () => (e.shiftKey ? this.go(this.time + this.end / 50) : this.step(samples(), 1)),
			ArrowLeft: () => (e.shiftKey ? this.go(this.time - this.end / 50) : this.step(samples(), -1)),
			Home: () => this.go(0), End: () => this.go(this.end), "[": () => speed(-1), "]": () => speed(1),
			b: () => this.step([this.marks.map((m) => m.time)], 1), B: () => this.step([this.marks.map((m) => m.time)], -1),
			"+": () => zoom(1.25), "=": () => zoom(1.25), "-": () => zoom(0.8),
			f: () => { for (const each of this.fabrics) each.fit(); this.paint(); },
			"/": () => $("search").focus(), d: () => this.theme(), "?": () => help($("keys")),
		};
		const does = keys[e.key] ?? (e.key.length === 1 ? keys[e.key.toLowerCase()] : undefined);
		if (!does || (e.key === " " && e.target.matches("button"))) return;
		e.preventDefault();
		does();
	}
}

const fewPorts = 6; // that a notice names

/** sampledPorts names the ports whose queues and links a run without --record has. */
export function sampledPorts(run) {
	const rows = run.head.rows ?? [];
	const ofSwitches = run.ports.filter((p) => !run.head.nodes[p.node].host);
	if (rows.length === ofSwitches.length && ofSwitches.every((p) => p.row >= 0)) return "the ports of switches only";
	const names = rows.slice(0, rows.length > fewPorts ? fewPorts - 1 : fewPorts).map((id) => run.ports[id].name);
	const more = rows.length - names.length;
	return `the ports that the scenario samples only (${names.join(", ")}${more > 0 ? `, and ${more} more` : ""})`;
}
