// Completion and explanation of the keys and values of a YAML file, by its JSON Schema. (codemirror-json-schema does this too, but brings
// several megabytes of other packages.)
import { yamlLanguage } from "@codemirror/lang-yaml";

// word returns what the cursor is in or behind: a key, or a value.
const word = (text, position) => {
	let from = position, to = position;
	while (from > 0 && /[\w.-]/.test(text[from - 1])) from--;
	while (to < text.length && /[\w.-]/.test(text[to])) to++;
	return { from, to };
};

const plain = (key) => key.trim().replace(/^(["'])(.*)\1$/, "$2");

// pathOf returns the keys that lead to a node, "*" for an entry of a list. A key's own is not among them, a value's is.
const pathOf = (node, text) => {
	const path = [];
	for (let below = node, n = node.parent; n; below = n, n = n.parent) {
		if (n.name === "Pair") {
			const key = n.getChild("Key");
			if (!key) continue;
			if (below.name !== "Key" || path.length > 0) path.unshift(plain(text.slice(key.from, key.to)));
		} else if (n.name === "Item") {
			path.unshift("*");
		}
	}
	return path;
};

// place returns where in the file a position is: what is written there, the keys that lead to it, and whether it is a value.
export const place = (text, position) => {
	const { from, to } = word(text, position);
	const before = text.slice(0, from), after = text.slice(to);
	const isValue = /:[ \t]+$/.test(before) && !/^[ \t]*:/.test(after);
	// The tree is of the text with a key, or a value, at this place: an empty line has no place in a tree.
	const made = isValue || /^[ \t]*:/.test(after) ? "zz" : "zz: 0";
	const marked = before + made + after;
	const node = yamlLanguage.parser.parse(marked).resolveInner(from + 1, 0);
	return { from, to, isValue, path: pathOf(node, marked) };
};

// variants returns the schemas that a value may have: those of references and alternatives.
const variants = (schema, root, depth = 0) => {
	if (!schema || depth > 20) return [];
	const all = [schema];
	if (schema.$ref) all.push(...variants(schema.$ref.slice(2).split("/").reduce((at, key) => at?.[key], root), root, depth + 1));
	for (const alternative of schema.anyOf ?? []) all.push(...variants(alternative, root, depth + 1));
	return all;
};

// at returns the schemas of what a path leads to.
const at = (root, path) => path.reduce((schemas, key) => schemas.flatMap((s) => {
	if (key === "*") return variants(s.items, root);
	const pattern = Object.entries(s.patternProperties ?? {}).find(([p]) => new RegExp(p, "u").test(key))?.[1];
	const other = typeof s.additionalProperties === "object" ? s.additionalProperties : undefined;
	return variants(s.properties?.[key] ?? pattern ?? other, root);
}), variants(root, root));

// plainText returns a description without its Markdown.
const plainText = (text) => text.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").replaceAll("`", "");

// describe returns what a key means, "" if the schema does not say.
export const describe = (root, path) => {
	if (path.at(-1) === "*") return "";
	// The key's own description comes before that of its kind of value.
	return plainText(at(root, path).find((s) => s.description)?.description ?? "");
};

// proposals returns the keys, or values, that are possible at a place: {label, detail, info} each.
export const proposals = (root, { path, isValue }) => {
	const schemas = at(root, path);
	const found = new Map();
	const add = (label, info) => { if (!found.has(label)) found.set(label, { label, info: plainText(info ?? "") || undefined }); };
	for (const s of schemas) {
		if (isValue) {
			for (const value of [...s.enum ?? [], ..."const" in s ? [s.const] : []]) add(String(value), s.description);
			if (s.type === "boolean") for (const value of ["true", "false"]) add(value, s.description);
		} else {
			for (const [key, of] of Object.entries(s.properties ?? {})) add(key, of.description);
		}
	}
	return [...found.values()];
};

// quantities returns the numbers of a file, with their units, in their order: {path, from, to, number, unit} each.
export const quantities = (text) => {
	const found = [];
	const cursor = yamlLanguage.parser.parse(text).cursor();
	do {
		if (cursor.name !== "Literal" || cursor.node.parent?.name === "Key") continue;
		const [, number, unit] = text.slice(cursor.from, cursor.to).match(/^(\d+(?:\.\d+)?) ?([A-Za-z]*)$/) ?? [];
		if (number === undefined || Number(number) === 0) continue;
		// Entries of a list have their number in the path, so that each path is of one value.
		const path = [];
		for (let below = cursor.node, n = below.parent; n; below = n, n = n.parent) {
			if (n.name === "Pair" && n.getChild("Key")) path.unshift(plain(text.slice(n.getChild("Key").from, n.getChild("Key").to)));
			else if (n.name === "Item") path.unshift(n.parent.getChildren("Item").findIndex((item) => item.from === n.from));
		}
		if (path.length > 0) found.push({ path: path.join("."), from: cursor.from, to: cursor.to, number: Number(number), unit });
	} while (cursor.next());
	return found;
};
