// The gallery: a card for each built-in scenario and each exercise.
import { element } from "./results.js";

// best are the scenarios that come first.
const best = ["dcon-burst", "pfc-storm", "deadlock", "incast", "allreduce-16", "convergence-2", "load-balancing", "link-failure"];

// cards fills two lists. open has what a card's button does.
export const cards = (scenarios, exercises, examples, open) => {
	const rank = ({ name }) => (best.includes(name) ? best.indexOf(name) : best.length);
	scenarios.append(...[...examples.scenarios].sort((a, b) => rank(a) - rank(b)).map((e) => element("li", {},
		element("div", { class: "picture" }, element("img", { src: `cards/${e.name}.png`, alt: "", width: "480", height: "360", loading: "lazy" })),
		element("h3", {}, e.name),
		element("p", {}, e.description),
		element("p", { class: "row" },
			element("button", { onclick: () => open.run(e.name), "aria-label": `Run ${e.name} here` }, "▶ Run it here"),
			element("a", { href: `#scenario=${encodeURIComponent(e.name)}` }, "Read it")))));
	exercises.append(...examples.exercises.map((e, i) => element("li", {},
		element("h3", {}, `${i + 1}. ${e.title}`),
		element("p", {}, e.goal),
		element("p", { class: "row" }, element("button", { onclick: () => open.exercise(e.name), "aria-label": `Open the exercise ${e.title}` }, "Open")))));
};
