// The Markdown of exercises' texts, as elements: headings, paragraphs, lists, code and emphasis. They have nothing else.
import { element } from "./results.js";

// inline is a text's `code` and *emphasis*.
const inline = (text) => text.split(/(`[^`]+`|\*[^*]+\*)/).map((part) =>
	/^`.+`$/s.test(part) ? element("code", {}, part.slice(1, -1)) : /^\*.+\*$/s.test(part) ? element("em", {}, part.slice(1, -1)) : part);

// markdown is a text's elements.
export const markdown = (text) => text.trim().split(/\n{2,}/).map((block) => {
	const heading = /^(#{1,3}) (.*)$/.exec(block);
	if (heading) return element(heading[1].length === 1 ? "h2" : "h3", {}, inline(heading[2]));
	const first = /^(\d+)\. /.exec(block);
	if (!first) return element("p", {}, inline(block));
	return element("ol", { start: first[1] }, block.split(/\n(?=\d+\. )/).map((item) => element("li", {}, inline(item.replace(/^\d+\. /, "")))));
});
