// The worker in which pausenet runs. It takes {id, call, ...} and answers {id, result} or {id, error}; in between a run tells {id,
// progress}. It is started with the compiled program, or with none and then compiles it and hands it back: the next worker starts sooner.
"use strict";

importScripts("files.js", "wasm_exec.js");

const results = "results", submissions = "submission";

// program returns the compiled program. tell is called with the loaded share, between 0 and 1.
const program = async (tell) => {
	const response = await fetch("pausenet.wasm.gz");
	if (!response.ok) throw new Error(`pausenet.wasm.gz: ${response.status} ${response.statusText}`);
	const all = Number(response.headers.get("Content-Length"));
	const parts = [];
	let have = 0;
	for (const reader = response.body.getReader(); ;) {
		const { done, value } = await reader.read();
		if (done) break;
		parts.push(value);
		have += value.length;
		tell(all ? Math.min(have / all, 1) : 0);
	}
	let file = new Blob(parts);
	// Some servers say that the file is encoded, and then the browser has decoded it.
	const magic = new Uint8Array(await file.slice(0, 2).arrayBuffer());
	if (magic[0] === 0x1f && magic[1] === 0x8b) file = await new Response(file.stream().pipeThrough(new DecompressionStream("gzip"))).blob();
	return WebAssembly.compile(await file.arrayBuffer());
};

const start = async (module) => {
	const go = new Go();
	go.run(await WebAssembly.instantiate(module, go.importObject)).then(() => postMessage({ died: memory.lastWords() }));
};

const request = ({ scenario, controller, quick }) => JSON.stringify({ scenario, controller, quick });
const submission = ({ exercise, files, uploads }) => JSON.stringify({ exercise, files, uploads });

// taken returns a call's answer. A bug of the program becomes an error; its stack goes to the console.
const taken = (text) => {
	const answer = JSON.parse(text);
	if (answer.bug === undefined) return answer;
	console.log(`${answer.bug}\n${answer.stack}`);
	throw new Error(answer.bug);
};

// runs calls something that writes results, and returns their files with its outcome.
const runs = async (id, does) => {
	memory.clear(results);
	const outcome = taken(await does((text) => postMessage({ id, progress: JSON.parse(text) })));
	return { outcome, files: [...memory.list(submissions), ...memory.list(results)] };
};

const calls = {
	async start({ id, module }) {
		const compiled = module || await program((loaded) => postMessage({ id, progress: loaded }));
		await start(compiled);
		return module ? null : compiled;
	},
	check: (m) => taken(pausenet.check(request(m))),
	run: (m) => runs(m.id, (tell) => pausenet.run(request(m), tell)),
	readSubmission: (m) => taken(pausenet.read(submission(m))),
	lock: (m) => taken(pausenet.lock(submission(m))),
	grade: (m) => runs(m.id, (tell) => pausenet.grade(submission(m), tell)),
	watch({ folder }) {
		const { file, error } = taken(pausenet.watch(JSON.stringify(folder)));
		if (error) throw new Error(error);
		return memory.read(file);
	},
	stop: () => pausenet.stop(),
	read: ({ path }) => memory.read(path),
};

onmessage = async ({ data }) => {
	try {
		postMessage({ id: data.id, result: await calls[data.call](data) });
	} catch (error) {
		postMessage({ id: data.id, error: String(error && error.message || error) });
	}
};
