// The Markdown of exercises' texts, as elements: headings, paragraphs, lists, tables, code and emphasis. They have nothing else.
import { element } from "./results.js";

// inline returns the parts of a text: `code`, **strong** and *emphasis*.
const inline = (text) => text.split(/(`[^`]+`|\*\*[^*]+\*\*|\*[^*]+\*)/).map((part) => {
	const [, sign, inner] = /^(`|\*\*|\*)(.+)\1$/s.exec(part) ?? [];
	return sign ? element({ "`": "code", "**": "strong", "*": "em" }[sign], {}, inner) : part;
});

// blocks returns the lines of each block. Those between two lines of ``` are one.
const blocks = (text) => {
	const all = [];
	let now = null;
	for (const line of text.trim().split("\n")) {
		const edge = /^ *```/.test(line);
		if (now?.code) {
			if (edge) now = null;
			else now.lines.push(line);
		} else if (edge) all.push(now = { code: true, lines: [] });
		else if (line.trim() === "") now = null;
		else if (now) now.lines.push(line);
		else all.push(now = { lines: [line] });
	}
	return all;
};

const cells = (line, kind) => line.slice(1, -1).split("|").map((cell) => element(kind, {}, inline(cell.trim())));

// markdown returns a text's elements.
export const markdown = (text) => blocks(text).map(({ code, lines }) => {
	const block = lines.join("\n");
	if (code) return element("pre", {}, block.replaceAll(`\n${/^ */.exec(block)[0]}`, "\n").trimStart());
	const heading = /^(#{1,3}) (.*)$/.exec(block);
	if (heading) return element(heading[1].length === 1 ? "h2" : "h3", {}, inline(heading[2]));
	if (lines[0].startsWith("|")) {
		const [head, , ...rows] = lines;
		return element("table", {}, element("thead", {}, element("tr", {}, cells(head, "th"))),
			element("tbody", {}, rows.map((row) => element("tr", {}, cells(row, "td")))));
	}
	const [, number] = /^(?:(\d+)\.|-) /.exec(block) ?? [null, null];
	if (number === null) return element("p", {}, inline(block));
	return element(number ? "ol" : "ul", number ? { start: number } : {},
		block.split(/\n(?=(?:\d+\.|-) )/).map((item) => element("li", {}, inline(item.replace(/^(\d+\.|-) /, "")))));
});
