// The simulator: a worker, which the page can terminate and restart.

// Simulator calls the worker. A call is a promise of its result; some tell their progress meanwhile.
export class Simulator {
	#worker = null;
	#module = null;
	#calls = new Map();
	#last = 0;
	#started;

	// died is called when the program ends by itself, with its last words.
	constructor(died) {
		this.died = died;
	}

	// start starts a worker. loaded is called with the loaded share of the program, between 0 and 1.
	start(loaded = () => {}) {
		const worker = this.#worker = new Worker("worker.js");
		worker.onmessage = ({ data }) => {
			if (worker !== this.#worker) return;
			if ("died" in data) return this.#end(new Error("the simulator has ended"), () => this.died(data.died));
			const call = this.#calls.get(data.id);
			if (!call) return;
			if ("progress" in data) return call.told(data.progress);
			this.#calls.delete(data.id);
			if ("error" in data) call.reject(new Error(data.error));
			else call.resolve(data.result);
		};
		worker.onerror = (event) => {
			event.preventDefault();
			this.#end(new Error(event.message || "the worker did not start"), () => this.died(event.message || ""));
		};
		this.#started = this.#send("start", { module: this.#module }, loaded).then((module) => { this.#module ||= module; });
		return this.#started;
	}

	// end terminates the worker at once. Its measurements are lost.
	end() {
		this.#end(new Error("stopped"), () => {});
	}

	#end(why, then) {
		this.#worker.terminate();
		this.#worker = null;
		const open = [...this.#calls.values()];
		this.#calls.clear();
		then();
		for (const call of open) call.reject(why);
	}

	// call sends a request to the worker, once it has started.
	async call(name, values = {}, told = () => {}) {
		await this.#started;
		return this.#send(name, values, told);
	}

	#send(name, values, told) {
		const id = ++this.#last;
		return new Promise((resolve, reject) => {
			this.#calls.set(id, { resolve, reject, told });
			this.#worker.postMessage({ ...values, id, call: name });
		});
	}
}
