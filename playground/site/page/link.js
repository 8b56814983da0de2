// Links that have in their fragment what is in the editors: #scenario=NAME for a built-in, #exercise=NAME for an exercise, #lab=... for a
// text of one's own; #watch=NAME&t=... for a moment of a recorded run. Fragments are not sent to the server.

// most is how long the texts of a link may be together, in bytes: a short link can be of gigabytes, unpacked.
const most = 1 << 20;

const through = (bytes, stream) => new Blob([bytes]).stream().pipeThrough(stream);

// encode returns the fragment of a link.
export const encode = async (lab) => {
	const packed = await new Response(through(JSON.stringify(lab), new CompressionStream("deflate-raw"))).arrayBuffer();
	const letters = Array.from(new Uint8Array(packed), (byte) => String.fromCharCode(byte)).join("");
	return "#lab=" + btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
};

// decode returns the contents of a fragment: {example}, {watch, moment}, {exercise}, {exercise, files} or {scenario, controller}; null if it is empty. It
// throws if it cannot read the fragment.
export const decode = async (fragment) => {
	const values = new URLSearchParams(fragment.replace(/^#/, ""));
	if (values.has("scenario")) return { example: values.get("scenario") };
	if (values.has("watch")) {
		const watch = values.get("watch");
		values.delete("watch");
		return { watch, moment: values.toString() };
	}
	if (values.has("exercise")) return { exercise: values.get("exercise") };
	if (!values.has("lab")) return null;
	const lab = await unpack(values.get("lab"));
	if (typeof lab?.exercise === "string") {
		const files = Object.entries(Object(lab.files)).filter(([, text]) => typeof text === "string");
		return { exercise: lab.exercise, files: Object.fromEntries(files) };
	}
	if (typeof lab?.scenario !== "string") throw new Error("the link has no scenario");
	return { scenario: lab.scenario, controller: typeof lab.controller === "string" ? lab.controller : "" };
};

const unpack = async (letters) => {
	let size = 0;
	try {
		const packed = Uint8Array.from(atob(letters.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));
		const reader = through(packed, new DecompressionStream("deflate-raw")).getReader();
		const parts = [];
		while (size <= most) {
			const { done, value } = await reader.read();
			if (done) return JSON.parse(await new Blob(parts).text());
			size += value.length;
			parts.push(value);
		}
		await reader.cancel();
	} catch {
		throw new Error("the link is damaged");
	}
	throw new Error("the link has more than a megabyte");
};
