// The dialog with the keys and symbols.

import { element } from "./format.js";

const keys = [
	["Space", "play or pause"], ["N  P", "go to the next or previous PAUSE"], ["→  ←", "go to the next or previous sample; with Shift, skip 1/50 of the run"],
	["B  Shift+B", "go to the next or previous bookmark: first PAUSE, storm, deadlock, fault, first flow of a tag"], ["Home  End", "go to the start or the end"],
	["[  ]", "slower, faster"], ["+  −  F", "zoom in, zoom out, fit the fabric; the wheel and two fingers zoom too, and dragging moves it"],
	["/", "search flows"], ["Esc", "clear the selection"], ["D", "switch between dark and light"], ["?", "show this help"],
];

const drawn = [
	"Each link has two lines, one per direction; frames travel on the right. Colour and width show how busy the direction was since the last sample.",
	"A bar at a port is its egress queue. The longest bar is the largest queue of the run.",
	"A red dashed line with a pause sign is paused: the port at the sign may not send. Arrows point to it from the port that paused it. A filled red dot is a PAUSE in flight, an empty one a RESUME.",
	"Since the last sample: diamonds are packets marked, triangles are CNMs sent, rings are CNPs received by hosts.",
	"Click a link, a node or a flow to see its values. In a plot, click to go to a moment, drag to zoom in, and double-click to zoom out.",
];

// On the page of a live fabric these replace some of the above.
const liveKeys = { Space: "stop at this moment, or follow the fabric again", "[  ]": "show less or more of the past in the timeline and the plots", "B  Shift+B": "go to the next or previous storm, deadlock or fault" };
const liveDrawn = [
	"The page follows the fabric with up to four snapshots per second. Between snapshots it only counts PAUSE, marks and drops.",
	drawn[0], drawn[1].replace("of the run", "seen so far"),
	"A red dashed line with a pause sign is paused: the port at the sign may not send, or could not for a tenth of the time since the last snapshot. Arrows point to it from the port that paused it. A dotted line with a cross is down.",
	drawn[3].replace("sample", "snapshot"), drawn[4],
];

/** help opens the dialog. */
export function help(dialog) {
	const live = document.body.classList.contains("live");
	const close = element("button", { className: "close", textContent: "×", ariaLabel: "Close" });
	close.addEventListener("click", () => dialog.close());
	const list = element("dl");
	for (const [key, often] of keys) {
		const what = (live && liveKeys[key]) || often;
		list.append(element("dt", {}, ...key.split("  ").map((k) => element("kbd", { textContent: k }))), element("dd", { textContent: what }));
	}
	dialog.replaceChildren(element("div", { className: "bar" }, element("h2", { id: "keys-title", textContent: "Keys" }), close), list,
		element("h2", { textContent: "Symbols" }), ...(live ? liveDrawn : drawn).map((text) => element("p", { textContent: text })));
	dialog.showModal();
}
