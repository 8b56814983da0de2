// The playground's editors: CodeMirror, put together for two languages. `make playground-editor` bundles it into ../page/editor.js.
import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { python } from "@codemirror/lang-python";
import { yaml } from "@codemirror/lang-yaml";
import { bracketMatching, HighlightStyle, indentOnInput, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
import { EditorState } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, highlightActiveLineGutter, hoverTooltip, keymap, lineNumbers, placeholder } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { describe, place, proposals } from "./schema.js";

export { quantities } from "./schema.js";

// Colours are the page's, so that they change with its theme.
const highlight = HighlightStyle.define([
	{ tag: [tags.comment, tags.lineComment], color: "var(--muted)", fontStyle: "italic" },
	{ tag: [tags.propertyName, tags.definition(tags.propertyName), tags.keyword, tags.controlKeyword], color: "var(--key)" },
	{ tag: [tags.string, tags.special(tags.string)], color: "var(--string)" },
	{ tag: [tags.number, tags.bool, tags.null], color: "var(--number)" },
	{ tag: [tags.function(tags.definition(tags.variableName))], fontWeight: "650" },
]);

const languages = {
	yaml: () => [yaml(), indentUnit.of("  ")],
	starlark: () => [python(), indentUnit.of("    ")],
};

// Helpers complete what is being written, and explain what the pointer is on. Both are from help, which is loaded when it is first needed: the
// JSON Schema of a YAML file, or the words of Starlark code with their meaning.
const helpers = {
	yaml: {
		complete(help, text, position, explicit) {
			const here = place(text, position);
			if (!explicit && here.from === position && !here.isValue) return null;
			return {
				from: here.from, validFor: /^[\w.-]*$/,
				options: proposals(help, here).map((o) => ({ ...o, type: here.isValue ? "enum" : "property", apply: here.isValue || text[here.to] === ":" ? o.label : `${o.label}: ` })),
			};
		},
		explain(help, text, position) {
			const here = place(text, position);
			const path = here.isValue ? here.path : [...here.path, text.slice(here.from, here.to)];
			return { ...here, title: path.filter((key) => key !== "*").join("."), info: describe(help, path) };
		},
	},
	starlark: {
		complete(help, text, position, explicit) {
			const word = text.slice(0, position).match(/[\w.]*$/)[0];
			if (!explicit && word === "") return null;
			const dot = word.lastIndexOf(".");
			// Behind a dot come the attributes of what is before it. Of a name that a function gives to an argument it is not known what it is.
			const of = dot < 0 ? "" : word.slice(0, dot), known = help.some((w) => w.of === of);
			const options = help.filter((w) => dot < 0 ? w.of === "" : w.of !== "" && (w.of === of || !known));
			return { from: position - (word.length - dot - 1), validFor: /^\w*$/, options: options.map((w) => ({ label: w.name, info: w.info, detail: w.detail, type: w.of ? "property" : "function" })) };
		},
		explain(help, text, position) {
			let from = position, to = position;
			while (from > 0 && /\w/.test(text[from - 1])) from--;
			while (to < text.length && /\w/.test(text[to])) to++;
			const name = text.slice(from, to), of = text.slice(0, from).match(/(\w+)\.$/)?.[1] ?? "";
			const found = help.find((w) => w.name === name && w.of === of) ?? help.find((w) => w.name === name && (w.of !== "") === (of !== ""));
			return { from, to, title: of ? `${of}.${name}` : name, info: found?.info ?? "" };
		},
	},
};

// helping returns the extensions of a language's helpers. help returns a promise.
const helping = (language, help) => [
	autocompletion({ override: [async (context) => helpers[language].complete(await help(), context.state.doc.toString(), context.pos, context.explicit)] }),
	hoverTooltip(async (view, position) => {
		const { from, to, title, info } = helpers[language].explain(await help(), view.state.doc.toString(), position);
		if (from === to || !info) return null;
		const dom = document.createElement("div");
		dom.className = "cm-explanation";
		dom.append(Object.assign(document.createElement("b"), { textContent: title }), ` ${info}`);
		return { pos: from, end: to, above: true, create: () => ({ dom }) };
	}),
];

// editor makes an editor in the shadow of an element: there its styles need no exception from the page's content security policy.
// hint stands in an empty one; changed is called after each change of the user's. help returns a promise of what its helpers know.
export function editor(host, { language, label, hint = "", help, changed }) {
	const root = host.attachShadow({ mode: "open" });
	const state = (text) => EditorState.create({
		doc: text,
		extensions: [
			lineNumbers(), EditorView.lineWrapping, highlightActiveLineGutter(), history(), drawSelection(), indentOnInput(), bracketMatching(), closeBrackets(),
			highlightActiveLine(), highlightSelectionMatches(), search({ top: true }), lintGutter(), placeholder(hint),
			syntaxHighlighting(highlight), ...languages[language](), ...help ? helping(language, help) : [],
			// The page has Ctrl+Enter. Escape and then Tab leaves the editor, as CodeMirror has it for the keyboard.
			keymap.of([{ key: "Mod-Enter", run: () => true }, ...closeBracketsKeymap, ...completionKeymap, ...defaultKeymap, ...searchKeymap, ...historyKeymap, ...lintKeymap, indentWithTab]),
			EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "false", autocapitalize: "off" }),
			EditorView.updateListener.of((update) => { if (update.docChanged) changed(); }),
			EditorView.theme({
				"&": { height: "100%", color: "var(--ink)", backgroundColor: "var(--paper)", fontSize: "var(--code-size)" },
				"&.cm-focused": { outline: "2px solid var(--focus)", outlineOffset: "-2px" },
				".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.55" },
				".cm-content": { caretColor: "var(--ink)", paddingBottom: "40vh" },
				".cm-cursor": { borderLeftColor: "var(--ink)" },
				".cm-gutters": { backgroundColor: "var(--paper)", color: "var(--muted)", border: "none" },
				".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--line)" },
				".cm-selectionBackground, &.cm-focused .cm-selectionBackground, ::selection": { backgroundColor: "var(--selection) !important" },
				".cm-selectionMatch": { backgroundColor: "var(--line)" },
				".cm-matchingBracket": { backgroundColor: "var(--selection) !important" },
				".cm-tooltip, .cm-panels": { backgroundColor: "var(--card)", color: "var(--ink)", borderColor: "var(--rule)" },
				".cm-panels input, .cm-panels button": { font: "inherit", color: "inherit" },
				".cm-button": { backgroundImage: "none", backgroundColor: "var(--paper)" },
				".cm-explanation, .cm-completionInfo": { fontFamily: "var(--sans)", maxWidth: "60ch", padding: "4px 8px" },
				".cm-tooltip-autocomplete > ul > li[aria-selected]": { backgroundColor: "var(--selection)", color: "var(--ink)" },
				".cm-diagnostic": { fontFamily: "var(--sans)", whiteSpace: "pre-wrap", maxWidth: "70ch" },
				".cm-lintRange-error": { backgroundImage: "none", textDecoration: "underline wavy var(--fail) 1.5px", textUnderlineOffset: "3px" },
				".cm-lintRange-warning": { backgroundImage: "none", textDecoration: "underline wavy var(--warn) 1.5px", textUnderlineOffset: "3px" },
			}),
		],
	});
	const view = new EditorView({ parent: root, root, state: state("") });
	// Where a place of the file is, as the messages name places: lines and columns, in characters, count from 1.
	const at = (line, column) => {
		const l = view.state.doc.line(Math.min(Math.max(line, 1), view.state.doc.lines));
		const before = [...l.text].slice(0, Math.max(column - 1, 0)).join("");
		return Math.min(l.from + before.length, l.to);
	};
	return {
		get text() { return view.state.doc.toString(); },
		// Another text takes the place of this one, and of what could be undone.
		set text(text) { view.setState(state(text)); },
		// replace changes a part of the text, which can be undone.
		replace(from, to, text) { view.dispatch({ changes: { from, to, insert: text } }); },
		focus() { view.focus(); },
		// goTo puts the cursor to a place.
		goTo(line, column) {
			view.dispatch({ selection: { anchor: at(line, column) }, effects: EditorView.scrollIntoView(at(line, column), { y: "center" }) });
			view.focus();
		},
		// mark underlines mistakes: {line, column, width, message, severity} each.
		mark(mistakes) {
			view.dispatch(setDiagnostics(view.state, mistakes.map((m) => {
				const from = at(m.line, m.column);
				return { from, to: Math.min(from + Math.max(m.width || 1, 1), view.state.doc.lineAt(from).to), severity: m.severity || "error", message: m.message };
			})));
		},
	};
}
