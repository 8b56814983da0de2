// The entry point: it loads runs, or shows a live fabric.

import { App } from "./app.js";
import { load, plays } from "./data.js";
import { watch } from "./live.js";

async function begin() {
	const live = document.querySelector("meta[name=live]");
	if (live) return watch();
	const runs = await load();
	if (runs.length === 0) throw new Error("it contains no run");
	const app = new App(runs);
	if (plays) app.play(true);
	return app;
}

begin().catch((problem) => {
	document.body.classList.remove("loading");
	document.getElementById("notice").hidden = false;
	document.getElementById("notice").textContent = `Cannot show the page: ${problem.message}.`;
});
