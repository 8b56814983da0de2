// What the keys do, and what is drawn.

import { element } from "./format.js";

const keys = [
	["Space", "play or pause"], ["N  P", "to the next or previous PAUSE"], ["→  ←", "to the next or previous sample; with Shift, a fiftieth of the run"],
	["B  Shift+B", "to the next or previous bookmark: first PAUSE, storm, deadlock, fault, first flow of a tag"], ["Home  End", "to the begin or the end"],
	["[  ]", "slower, faster"], ["+  −  F", "magnify the fabric, make it smaller, show all of it; also by wheel, by two fingers, and by dragging"],
	["/", "search flows"], ["Esc", "let go of what is selected"], ["D", "dark or light"], ["?", "this"],
];

const drawn = [
	"Each link has two lines, one each way: the one on the right of a frame's way is its own. Its colour and width say how busy it was since the last sample.",
	"A bar at a port is its egress queue; the longest is the largest queue of the run.",
	"A red hatched line with a pause sign is paused: the port at the sign may not send. Arrows lead to it from who has paused it. A full red dot is a PAUSE under way, an empty one a RESUME.",
	"Diamonds are packets marked since the last sample, triangles CNMs, rings around hosts CNPs that came to them.",
	"Click on a link, a node or a flow for its values. In the plots a click goes to a moment, dragging magnifies a stretch of time, and a double click shows all.",
];

// Of a live fabric some of that is otherwise.
const liveKeys = { Space: "stand still at this moment, or go on with the fabric", "[  ]": "less, more of the past in the strip and the plots", "B  Shift+B": "to the next or previous event that is no flow's: storm, deadlock, fault" };
const liveDrawn = [
	"The page goes on with the fabric: it looks four times a second at most, and knows of PAUSE, marks and drops in between how many there were.",
	drawn[0], drawn[1].replace("of the run", "that was seen"),
	"A red hatched line with a pause sign is paused: the port at the sign may not send, or could not for a tenth of the time since the look before. Arrows lead to it from who has paused it. A dotted line with a cross is down.",
	drawn[3].replace("sample", "look"), drawn[4],
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
		element("h2", { textContent: "What is drawn" }), ...(live ? liveDrawn : drawn).map((text) => element("p", { textContent: text })));
	dialog.showModal();
}
