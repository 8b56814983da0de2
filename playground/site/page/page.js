// The page: two editors, a simulator, and the results of a run.
import { editor } from "./editor.js";
import { Files, grade, task } from "./exercise.js";
import { cards } from "./gallery.js";
import { decode, encode } from "./link.js";
import { bytes, span } from "./format.js";
import { element, flows, summary } from "./results.js";
import { Simulator } from "./simulator.js";
import { Vary } from "./vary.js";
import { $, bars, choose, intoView, read, say, select } from "./view.js";
import { Drafts, Works } from "./works.js";

const first = "incast"; // what one sees who comes without a link
const draft = "pausenet-playground"; // where the browser keeps what one has written
const timeout = 10_000; // ms that a run has to hear that it is to stop

// The editors.
let timer = 0, loading = false, ready = false, running = false;
const changed = () => {
	if (loading) return;
	// The address is of what was loaded: a reload would bring that back in place of what is written.
	if (location.hash && !exercise) history.replaceState(null, "", location.pathname);
	keep();
	clearTimeout(timer);
	timer = setTimeout(check, 300);
};
// What the editors' completion knows is loaded when it is first needed.
const loaded = (file) => {
	let all = null;
	return () => all ??= fetch(file).then((response) => response.json());
};
const help = { keys: loaded("schema.json"), words: loaded("words.json") };
const scenario = editor($("scenario"), { language: "yaml", label: "Scenario, in YAML", help: help.keys, changed: () => { if (!loading) $("examples").value = ""; changed(); } });
const controller = editor($("controller"), {
	language: "starlark", label: "Congestion control, in Starlark", hint: "Empty: the scenario's own congestion controls run.", help: help.words,
	changed: () => { if (!loading) $("controllers").value = ""; changed(); },
});
let exercise = null; // the one that is chosen
const files = new Files($("file-tabs"), $("problems"), help, changed);
const lab = () => exercise ? { exercise: exercise.name, files: files.text, uploads: files.uploads } : { scenario: scenario.text, controller: controller.text };
// load puts other texts into the editors. Those of one's own that are there can be brought back.
let replaced = null;
const own = () => !exercise && scenario.text.trim() && (!examples.scenarios.some((e) => e.text === scenario.text) || controller.text.trim() && !examples.controllers.some((e) => e.text === controller.text));
const load = (l) => {
	if (own() && (l.scenario !== scenario.text || (l.controller || "") !== controller.text)) replaced = { scenario: scenario.text, controller: controller.text };
	$("restore").hidden = !replaced;
	leave();
	loading = true;
	scenario.text = l.scenario;
	controller.text = l.controller || "";
	loading = false;
	select("tab-scenario");
	check();
};
const drafts = new Drafts(() => { $("apart").hidden = false; });
const keep = () => {
	drafts.write(draft, lab());
	if (exercise) drafts.write(`${draft}-${exercise.name}`, lab());
};

// enter begins with an exercise: with what is written in its files, by name, or else with what was written here last.
const enter = (name, { files: written, uploads } = drafts.read(`${draft}-${name}`) ?? {}) => {
	const e = examples.exercises.find((e) => e.name === name);
	if (!e) return false;
	exercise = e;
	home(false);
	files.show(e, Object(written), Object(uploads));
	mode();
	$("panel-task").replaceChildren(...task(e));
	select(files.place(files.names[0])[1]);
	select("tab-task");
	check();
	return true;
};
// leave ends the exercise that is chosen, if there is one.
const leave = () => {
	if (!exercise) return;
	exercise = null;
	files.clear();
	mode();
	select("tab-scenario");
	select("tab-summary");
};
// mode shows what belongs to an exercise, or to none, and no results.
const mode = () => {
	document.body.classList.toggle("exercise", exercise !== null);
	for (const id of ["examples-field", "tab-scenario", "tab-controller", "tab-summary", "tab-watch", "tab-flows"]) $(id).hidden = exercise !== null;
	for (const id of ["panel-scenario", "panel-controller", "panel-summary", "panel-watch", "panel-flows"]) $(id).hidden ||= exercise !== null;
	for (const id of ["tab-task", "anew"]) $(id).hidden = exercise === null;
	lockable();
	$("result-tabs").hidden = exercise === null;
	$("tab-grade").hidden = true;
	for (const id of ["tab-report", "tab-files"]) $(id).hidden = exercise !== null;
	$("quick-field").hidden ||= exercise !== null;
	$("exercises").value = exercise?.name ?? "";
	$("run-text").textContent = exercise ? "Check" : "Run";
	$("summary").replaceChildren();
	$("intro").hidden = false;
	$("about").hidden = true;
};

// Predictions, once locked, are a file of the submission.
const locked = "predictions.yaml";
const lockable = () => {
	$("lock").hidden = !exercise?.predicts;
	$("lock").disabled = locked in files.uploads;
	$("lock").textContent = $("lock").disabled ? "Predictions are locked" : "Lock predictions";
};
const lock = async () => {
	if (!ready || running) return;
	const asked = exercise, { file, error } = await simulator.call("lock", lab());
	if (exercise !== asked) return;
	if (error) return say(`Nothing was locked: ${error}`, "bad");
	files.uploads[locked] = btoa(file);
	lockable();
	keep();
	await check();
	say("Your predictions are locked, and count as they are now.");
};

// problems lists the mistakes and warnings below the editor, and marks those that have a place.
const problems = ({ mistakes, error, warnings }) => {
	const places = exercise ? Object.fromEntries(files.names.map((name) => [name, files.place(name)])) :
		{ "scenario.yaml": [scenario, "tab-scenario"], "controller.star": [controller, "tab-controller"] };
	const first = Object.values(places)[0];
	for (const [file, [where]] of Object.entries(places)) {
		where.mark(mistakes.filter((m) => m.file === file && m.line > 0));
	}
	const line = (kind, place, text, go) => element("button", { class: kind, onclick: go },
		element("span", { class: "sign", "aria-hidden": "true" }, kind === "error" ? "✗" : "!"),
		element("span", { class: "place" }, place), element("span", { class: "text" }, text));
	const lines = mistakes.map((m) => line("error", m.line ? `${m.line}:${m.column}` : "", m.file in places && !exercise ? m.message : `${m.file}: ${m.message}`, () => {
		const [where, tab] = places[m.file] || first;
		select(tab);
		if (m.line) where.goTo(m.line, m.column);
		else where.focus();
	}));
	if (error && lines.length === 0) lines.push(line("error", "", error, () => first[0].focus()));
	lines.push(...warnings.map((w) => line("warning", "", w, () => first[0].focus())));
	$("problems").replaceChildren(...lines);
	$("problems").hidden = lines.length === 0;
};

const listed = (names) => names.length < 2 ? names.join() : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;

// check makes the simulator read the contents of the editors.
let checks = 0;
const check = async () => {
	vary.list();
	if (!ready) return;
	const mine = ++checks;
	try {
		const checked = await simulator.call(exercise ? "readSubmission" : "check", { ...lab(), quick: $("quick").checked });
		if (mine === checks) took(checked);
	} catch (error) {
		if (ready && mine === checks && !running) say(`The check failed: ${error.message}`, "bad"); // otherwise it has ended, and said so
	}
};
const took = (checked) => {
	problems(checked);
	if (exercise) {
		if (!running) say(checked.error ? "There are mistakes; see the list below the editor." : `Ready to check ${exercise.name}: ${exercise.title}.`);
		return;
	}
	$("quick-field").hidden = !checked.has_quick && !$("quick").checked;
	if (running) return;
	const last = $("result-tabs").hidden ? "" : " Below is the last run.";
	if (checked.error) say(`There are mistakes; see the list below the editor.${last}`);
	else say(`Ready to run ${checked.name} under ${listed(checked.controllers)}.${last}`);
	if (checked.error) return;
	$("about").hidden = false;
	$("about").firstElementChild.textContent = checked.name;
	$("about").lastElementChild.replaceChildren(checked.description, element("span", { class: "facts" },
		`${checked.fabric}; ${checked.flows} flow${checked.flows === 1 ? "" : "s"} in ${span(checked.duration_ns)} of virtual time.`));
};

// The simulator.
const simulator = new Simulator((words) => {
	running = ready = false;
	buttons();
	const fatal = words.split("\n").find((line) => /^(panic|fatal error): /.test(line)); // the stack below it is in the console
	const why = /out of memory|cannot allocate/.test(words) ? "the run needed more memory than a tab has: choose a smaller scenario or its quick form" :
		`this is a bug of pausenet, please report it with what is in the editors${fatal ? `: ${fatal}` : ""}`;
	say(`The simulator crashed: ${why}. Restarting it.`, "bad");
	begin(true);
});
read.text = async (path) => new TextDecoder().decode(await simulator.call("read", { path }));
const begin = async (again) => {
	try {
		await simulator.start((loaded) => {
			if (!again) say(loaded > 0 && loaded < 1 ? `Loading the simulator: ${Math.round(100 * loaded)} %` : "Starting the simulator …", "busy");
		});
	} catch (error) {
		say(`Cannot load the simulator (${error.message}). It needs a current browser and a web server, such as python3 -m http.server in this folder.`, "bad");
		return;
	}
	ready = true;
	buttons();
	if (again) return;
	say("");
	await check();
	if (wanted) run();
};
const buttons = () => {
	$("run").hidden = running;
	$("run").disabled = !ready;
	$("stop").hidden = !running;
};

let wanted = false; // a run is to begin once the simulator has started, and is then shown in the fabric
const run = async () => {
	if (!ready || running) return;
	const watching = wanted;
	running = true;
	wanted = false;
	stopping = false;
	clearTimeout(timer); // the run reads what is in the editors itself: a check that is to come, or under way, would speak of it after the run
	checks++;
	buttons();
	const asked = exercise;
	say(asked ? "Checking …" : "Running …", "busy");
	intoView();
	const request = { ...lab(), quick: $("quick").checked };
	try {
		if (asked) {
			const { outcome, files } = await simulator.call("grade", request, bars());
			if (exercise === asked) await showGrade(outcome, files);
			return;
		}
		const checked = await simulator.call("check", request);
		took(checked);
		if (checked.error) {
			say("Nothing ran: there are mistakes; see the list below the editor.", "bad");
			return;
		}
		const { outcome, files } = await simulator.call("run", request, bars());
		if (!exercise) await show(outcome, files, watching);
	} catch (error) {
		if (error.message === "stopped") say("Stopped; the run's measurements are lost.");
		else if (ready) say(`The run failed: ${error.message}`, "bad");
	} finally {
		running = false;
		$("progress").hidden = true;
		buttons();
	}
};

// stop asks the run to end with its results so far. If it does not answer, or on a second stop, the worker is terminated.
let stopping = false;
const stop = () => {
	const end = () => {
		if (!running) return;
		simulator.end();
		ready = false;
		begin(true);
	};
	if (stopping) return end();
	stopping = true;
	say("Stopping; measurements so far are kept … Press again to stop at once and discard them.", "busy");
	const hurry = setTimeout(end, timeout);
	const answered = () => clearTimeout(hurry);
	simulator.call("stop").then(answered, answered);
};

// show shows the results of a run.
const show = async (outcome, files, watching) => {
	$("intro").hidden = $("about").hidden = true;
	problems(outcome); // of a controller, where a run has met them
	$("summary").replaceChildren(...summary(outcome));
	vary.ran(outcome);
	$("result-tabs").hidden = outcome.runs.length === 0;
	const has = new Set(files.map((f) => f.path));
	const tables = [];
	for (const r of outcome.runs) {
		if (has.has(`${r.folder}/flows.csv`)) tables.push({ controller: r.summary.controller, csv: await read.text(`${r.folder}/flows.csv`) });
	}
	$("panel-flows").replaceChildren(...flows(tables));
	showFiles(files);
	for (const id of notRecorded) $(id).hidden = false;
	[watchable, posted.play] = [outcome.runs.map((r) => r.folder), watching];
	await choose(outcome.report ? [outcome.report] : []);
	select(watching && outcome.runs.length > 0 ? "tab-watch" : "tab-summary");
	const worst = ["FAIL", "WARN", "PASS"].find((status) => outcome.runs.some((r) => r.summary.verdict.status === status));
	if (outcome.failed) say(`The run failed: ${outcome.failed}`, "bad");
	else if (outcome.stopped) say("Stopped. The results so far are shown, marked as partial.");
	else if (worst === "FAIL") say("Checks broken: the numbers cannot be trusted. The reasons are below.", "bad");
	else if (worst === "WARN") say("Checks incomplete: the numbers are valid, but something that the scenario asks for did not happen. The details are below.");
	else say("Checks ok: all invariants hold.");
};

// Watch replays the runs. It loads them when the tab is selected.
let watchable = [], posted = { runs: [], play: false };
// A recording came with the page: it is watched without the simulator, at a moment that the replay's own address names.
const notRecorded = ["tab-report", "tab-flows", "tab-files"];
const replayRecording = async (e, moment) => {
	if (!example(e.name)) return;
	const runs = await Promise.all(e.recordings.map(async (file) => {
		const response = await fetch(file);
		if (!response.ok) throw new Error(`${file}: ${response.status} ${response.statusText}`);
		return response.arrayBuffer();
	}));
	[watchable, posted] = [[], { runs, play: false }];
	$("watch-problem").hidden = $("result-tabs").hidden = true;
	for (const id of notRecorded) $(id).hidden = true;
	$("result-tabs").hidden = false;
	select("tab-watch");
	$("watch").contentWindow.location.replace(`watch.html#${moment}`);
	intoView();
};
const watch = async () => {
	const folders = watchable;
	if (folders.length === 0) return;
	watchable = [];
	$("watch-problem").hidden = true;
	try {
		posted.runs = [];
		for (const folder of folders) posted.runs.push(await simulator.call("watch", { folder }));
		$("watch").contentWindow.location.replace("watch.html"); // it adds no step to the history
	} catch (error) {
		$("watch-problem").textContent = `Cannot show the run: ${error.message}`;
		$("watch-problem").hidden = false;
	}
};
new MutationObserver(() => {
	const on = $("tab-watch").getAttribute("aria-selected") === "true" && !$("tab-watch").hidden;
	document.body.classList.toggle("watching", on);
	if (on) watch();
}).observe($("tab-watch"), { attributes: true });
addEventListener("message", (event) => {
	if (event.source === $("watch").contentWindow && event.origin === location.origin && event.data === "ready") event.source.postMessage(posted, location.origin);
});

// showGrade shows the points of a submission.
const showGrade = async (g, files) => {
	if (g.failed || g.stopped) {
		say(g.failed ? `The check failed: ${g.failed}` : "Stopped: nothing was graded.", g.failed ? "bad" : "");
		return;
	}
	const reports = files.map((f) => f.path).filter((path) => path.endsWith("/report.html"));
	showFiles(files);
	await choose(reports);
	$("panel-grade").replaceChildren(...grade(g, async (path) => {
		await choose(reports, path);
		select("tab-report");
	}));
	$("tab-grade").hidden = $("tab-files").hidden = false;
	$("tab-report").hidden = reports.length === 0;
	select("tab-grade");
	$("panel-grade").scrollTop = 0;
	intoView();
	say(`${g.points} of ${g.of} points.${g.points === g.of ? " That is all of them." : " What is missing has a hint."}`, g.points === g.of ? "good" : "");
};

const showFiles = (files) => $("panel-files").replaceChildren(element("p", { class: "note" }, exercise ? "Your files to submit, and the files that the command line writes into its folder of results." : "What the command line writes into its folder of results."),
	element("ul", { class: "files" }, files.map((f) => element("li", {},
		element("button", { class: "link", onclick: () => download(f.path) }, f.path.replace(/^results\//, "")), element("span", { class: "soft" }, bytes(f.size))))));

const download = async (path) => {
	const url = URL.createObjectURL(new Blob([await simulator.call("read", { path })]));
	element("a", { href: url, download: path.startsWith("submission/") ? path.split("/")[1] : path.split("/").slice(-2).join("-") }).click();
	setTimeout(() => URL.revokeObjectURL(url), 10_000);
};

const vary = new Vary(scenario, () => run());
const works = new Works({ form: $("works-form"), name: $("works-name"), list: $("works-list"), note: $("works-note") }, lab, (work, name) => {
	if (work.exercise) enter(work.exercise, work);
	else {
		load(work);
		$("examples").value = $("controllers").value = "";
	}
	works.name.value = name;
	history.replaceState(null, "", location.pathname);
	keep();
	showWorks(false);
});
const showWorks = (on) => {
	$("works").hidden = !on;
	$("works-button").setAttribute("aria-expanded", String(on));
	if (on) works.name.focus();
};

// Buttons and keys.
$("restore").addEventListener("click", () => {
	const texts = replaced;
	replaced = null;
	load(texts);
	$("examples").value = $("controllers").value = "";
	history.replaceState(null, "", location.pathname);
	keep();
});
$("works-button").addEventListener("click", () => showWorks($("works").hidden));
$("apart-save").addEventListener("click", () => showWorks(true));
$("lock").addEventListener("click", lock);
$("run").addEventListener("click", run);
$("stop").addEventListener("click", stop);
$("quick").addEventListener("change", check);
addEventListener("keydown", (event) => {
	if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && $("home").hidden) {
		event.preventDefault();
		run();
	}
});
$("share").addEventListener("click", async () => {
	const name = exercise ? "" : $("examples").value;
	const recorded = document.body.classList.contains("watching") && !controller.text && examples.scenarios.find((e) => e.name === name)?.recordings;
	if (recorded) history.replaceState(null, "", `#watch=${encodeURIComponent(name)}&${$("watch").contentWindow.location.hash.slice(1)}`);
	else history.replaceState(null, "", name && !controller.text ? `#scenario=${encodeURIComponent(name)}` : await encode({ ...lab(), uploads: undefined }));
	const done = await navigator.clipboard?.writeText(location.href).then(() => true, () => false);
	$("share").textContent = done ? "Link copied" : "Link is in the address bar";
	setTimeout(() => { $("share").textContent = "Copy link"; }, 2500);
});

// The initial contents: the link's, or what the user wrote here last, or the first example.
const examples = await (await fetch("examples.json")).json();
for (const [id, all] of [["examples", examples.scenarios], ["controllers", examples.controllers]]) {
	$(id).append(...all.map((e) => element("option", { value: e.name, title: e.description }, e.name)));
}
$("exercises").append(...examples.exercises.map((e, i) => element("option", { value: e.name, title: e.goal }, `${i + 1}. ${e.title}`)));
const example = (name, own = "") => {
	const e = examples.scenarios.find((e) => e.name === name);
	if (!e) return false;
	$("quick").checked = e.has_quick;
	load({ scenario: e.text, controller: own });
	$("examples").value = name;
	return true;
};
// home shows the gallery, or what is in the editors.
const home = (on) => {
	$("home").hidden = !on;
	document.body.classList.toggle("home", on);
	if (on) scrollTo(0, 0);
};
// leaveHome goes to an address; Back leads to the gallery again.
const leaveHome = (address) => {
	if (!location.hash) history.replaceState(null, "", "#gallery");
	history.pushState(null, "", address);
	home(false);
};
const runHere = (name) => {
	if (running) return leaveHome(location.pathname); // to the run that goes on
	example(name);
	leaveHome(`#scenario=${encodeURIComponent(name)}`);
	keep();
	wanted = true;
	if (ready) run();
};
cards($("cards"), $("exercise-cards"), examples, { run: runHere, exercise: (name) => { location.hash = `#exercise=${encodeURIComponent(name)}`; } });
$("program-size").textContent = (examples.program_bytes / 1e6).toFixed(0);
$("run-first").addEventListener("click", () => runHere("dcon-burst"));
$("write-own").addEventListener("click", () => leaveHome(location.pathname));
$("controllers").addEventListener("change", () => {
	const name = $("controllers").value;
	const e = examples.controllers.find((e) => e.name === name);
	if (!e) return;
	load({ scenario: scenario.text, controller: e.text });
	$("controllers").value = name;
	select("tab-controller");
	keep();
});
$("examples").addEventListener("change", () => {
	if (!example($("examples").value, controller.text)) return;
	history.replaceState(null, "", `#scenario=${encodeURIComponent($("examples").value)}`);
	keep();
});
$("exercises").addEventListener("change", () => {
	const name = $("exercises").value;
	if (name) enter(name);
	else example(first);
	history.replaceState(null, "", name ? `#exercise=${encodeURIComponent(name)}` : location.pathname);
	keep();
});
$("anew").addEventListener("click", () => {
	if (!confirm("Restore the original files of the exercise? Your changes are lost.")) return;
	enter(exercise.name, {});
	keep();
});
// follow loads the contents of the address. It returns false if the address has none, or none that can be read; trouble then says why.
let trouble = "";
const follow = async () => {
	trouble = "";
	if (location.hash === "#gallery") {
		home(true);
		return false;
	}
	home(false);
	try {
		const said = await decode(location.hash);
		if (said?.scenario !== undefined) load(said);
		else if (!said) return false;
		else if (said.exercise) {
			if (!enter(said.exercise, said.files ? said : undefined)) throw new Error(`there is no exercise ${said.exercise}`);
		}
		else if (said.watch) {
			const e = examples.scenarios.find((e) => e.name === said.watch && e.recordings);
			if (!e) throw new Error(`there is no recording of ${said.watch}`);
			await replayRecording(e, said.moment);
		}
		else if (!example(said.example)) throw new Error(`there is no built-in scenario ${said.example}`);
		return true;
	} catch (error) {
		trouble = `The link could not be read: ${error.message}.`;
		return false;
	}
};
addEventListener("hashchange", async () => {
	await follow();
	if (trouble) say(trouble, "bad");
});
if (!await follow()) {
	const l = drafts.read(draft);
	if (typeof l?.scenario === "string" && l.scenario.trim()) load(l);
	else if (typeof l?.exercise !== "string" || !enter(l.exercise)) {
		example(first);
		home(!trouble);
	}
}
$("apart").hidden = !drafts.apart;
document.body.classList.remove("loading");
await begin(false);
if (trouble) say(trouble, "bad");
navigator.serviceWorker?.register("sw.js").catch(() => {}); // without it the page works as long as its server does
