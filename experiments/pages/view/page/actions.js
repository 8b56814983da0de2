// Actions that change the fabric. The server checks every request, and refuses those of a read-only page.

import { element } from "./format.js";

/** Actions are the buttons, and the forms that they open. */
export class Actions {
	constructor(run) {
		this.run = run;
		this.typed = new Map(); // the user's input, by form and field
		this.said = element("p", { className: "said", role: "status" });
		this.place = element("div", { className: "form" });
		this.forms = { incast: () => this.incast(), flow: () => this.flow(), link: () => this.link(), "PFC storm": () => this.storm(), set: () => this.set() };
		this.buttons = Object.keys(this.forms).map((name) => {
			const b = element("button", { textContent: name, ariaExpanded: "false" });
			b.addEventListener("click", () => this.open(this.opened === name ? null : name));
			return b;
		});
		const start = element("button", { textContent: "start", title: "start the flows of the fabric's scenario" });
		start.addEventListener("click", () => this.ask({ do: "start" }));
		this.section = element("section", { id: "actions", ariaLabel: "Change the fabric" },
			element("div", { className: "bar" }, element("h2", { textContent: "Do" }), ...this.buttons, start), this.place, this.said);
	}

	/** choose sets the selection that forms start with. */
	choose(chosen) {
		this.chosen = chosen;
		if (this.opened) this.open(this.opened);
	}

	open(name) {
		this.opened = name;
		for (const b of this.buttons) b.ariaExpanded = String(b.textContent === name);
		this.place.replaceChildren(...(name ? [this.forms[name]()] : []));
	}

	/** ask sends a request, and shows the result. */
	async ask(what) {
		this.tell("", "…");
		let text, bad = true;
		try {
			const answer = await fetch("do", {
				method: "POST", body: JSON.stringify(what), headers: { "Content-Type": "application/json", "Pausenet-Token": location.pathname.split("/")[1] },
			});
			if (!answer.headers.get("Content-Type")?.startsWith("application/json")) throw new Error(await answer.text());
			const { line, said, error } = await answer.json();
			bad = Boolean(error);
			text = [line, [said, error].filter(Boolean).join(" ") || "done"];
		} catch (problem) {
			text = ["", `Failed: ${problem.message}`];
		}
		this.tell(...text, bad);
	}

	tell(line, text, bad = false) {
		this.said.classList.toggle("bad", bad);
		this.said.replaceChildren(...(line ? [element("code", { textContent: line.replace(/ &$/, "") }), " "] : []), text);
	}

	// form makes a form of labelled fields; each of its buttons adds to the request.
	form(what, fields, buttons) {
		const controls = fields.map(([, , control]) => control);
		fields.forEach(([name, , control]) => {
			if (!control.matches("input")) return;
			const key = `${what} ${name}`;
			control.value = this.typed.get(key) ?? control.value;
			control.addEventListener("input", () => this.typed.set(key, control.value));
		});
		const form = element("form", {}, ...fields.map(([, label, control]) => element("label", {}, element("span", { textContent: label }), control)),
			...Object.entries(buttons).map(([text, more]) => {
				const b = element("button", { type: "submit", className: "main", textContent: text });
				b.more = more;
				return b;
			}));
		form.addEventListener("submit", (e) => {
			e.preventDefault();
			this.ask({ do: what, ...Object.fromEntries(fields.map(([name], i) => [name, controls[i].value.trim()])), ...e.submitter?.more });
		});
		return form;
	}

	nodes(host) { return this.run.head.nodes.filter((n) => n.host === host).map((n) => n.name); }

	// chosenNode returns the name of the selected host or switch.
	chosenNode(host) {
		const [kind, id] = this.chosen ?? [];
		const { nodes } = this.run.head;
		const near = kind === "node" ? [id] : kind === "port" ? [this.run.ports[id].node, this.run.ports[id].peerNode] : [];
		return near.map((n) => nodes[n]).find((n) => n.host === host)?.name;
	}

	incast() {
		const hosts = this.nodes(true);
		return this.form("incast", [
			["senders", "hosts", number(Math.min(4, hosts.length - 1), hosts.length - 1)], ["to", "send to", select(hosts, this.chosenNode(true))], ["size", "each", text("1MB", 7)],
		], { Start: {} });
	}

	flow() {
		const hosts = this.nodes(true), to = this.chosenNode(true) ?? hosts.at(-1);
		return this.form("flow", [["from", "from", select(hosts, hosts.find((h) => h !== to))], ["to", "to", select(hosts, to)], ["size", "of", text("10MB", 7)]], { Start: {} });
	}

	link() {
		const { run } = this;
		const links = [...new Set(run.head.links.map((l) => `${run.nodeName(l.a)} ${run.nodeName(l.b)}`))];
		const [kind, id] = this.chosen ?? [];
		const l = kind === "port" ? run.head.links[id >> 1] : null;
		const names = select(links, l ? `${run.nodeName(l.a)} ${run.nodeName(l.b)}` : links.at(-1));
		const form = element("form", {}, element("label", {}, element("span", { textContent: "between" }), names), ...["down", "up"].map((state) => (
			element("button", { type: "submit", className: "main", textContent: state === "down" ? "Take down" : "Bring up", value: state }))));
		form.addEventListener("submit", (e) => {
			e.preventDefault();
			const [a, b] = names.value.split(" ");
			this.ask({ do: "link", a, b, state: e.submitter?.value ?? "down" });
		});
		return form;
	}

	storm() {
		return this.form("pfc-storm", [["host", "from host", select(this.nodes(true), this.chosenNode(true))]], { Begin: { state: "on" }, End: { state: "off" } });
	}

	set() {
		const { settings } = this.run.hello;
		return this.form("set", [
			["node", "of", select(["switch", ...this.nodes(false)], this.chosenNode(false), ["all switches"])], ["setting", "setting", select(settings, this.setting ?? "pfc.xoff", [], (v) => { this.setting = v; })],
			["value", "to", text("", 10, "100KB")],
		], { Set: {} });
	}
}

function select(values, chosen, names = [], changed) {
	const s = element("select", {}, ...values.map((v, i) => element("option", { value: v, textContent: names[i] ?? v, selected: v === chosen })));
	if (changed) s.addEventListener("change", () => changed(s.value));
	return s;
}

const text = (value, size, placeholder = "") => element("input", { type: "text", value, size, placeholder, required: true, spellcheck: false, autocomplete: "off" });

const number = (value, max) => element("input", { type: "number", value, min: 1, max, required: true });
