// A file system in memory, of the shape of Node's fs, as wasm_exec.js and Go's package syscall want it. It has what a run of pausenet
// asks for: files and folders, no links, no owners, no rights. The worker has one; it lasts as long as the worker.
"use strict";

const memory = (() => {
	const FLAGS = { O_RDONLY: 0, O_WRONLY: 1, O_RDWR: 2, O_CREAT: 64, O_EXCL: 128, O_TRUNC: 512, O_APPEND: 1024, O_DIRECTORY: 65536 };
	const HOME = "/lab";
	let numbers = 0;
	const folder = () => ({ number: ++numbers, entries: new Map(), changed: Date.now() });
	const file = () => ({ number: ++numbers, data: new Uint8Array(0), size: 0, changed: Date.now() });
	const root = folder();
	const open = new Map(); // by descriptor: {node, flags, at}
	let descriptors = 2; // 0 to 2 are standard input, output and error
	const console_ = { 1: "", 2: "" };
	const said = []; // the last lines of standard error

	const failure = (code) => Object.assign(new Error(code), { code });
	// resolve returns an absolute path without . and ..
	const resolve = (path) => {
		const parts = [];
		for (const part of (path.startsWith("/") ? path : HOME + "/" + path).split("/")) {
			if (part === "..") parts.pop();
			else if (part !== "" && part !== ".") parts.push(part);
		}
		return "/" + parts.join("/");
	};
	// place returns a path's folder, its name there, and its entry.
	const place = (path) => {
		const parts = resolve(path).split("/").slice(1);
		const name = parts.pop();
		let at = root;
		for (const part of parts) {
			at = at.entries.get(part);
			if (!at) throw failure("ENOENT");
			if (!at.entries) throw failure("ENOTDIR");
		}
		return { at, name, node: name === "" ? root : at.entries.get(name) };
	};
	const there = (path) => {
		const { node } = place(path);
		if (!node) throw failure("ENOENT");
		return node;
	};
	const opened = (fd) => {
		const o = open.get(fd);
		if (!o) throw failure("EBADF");
		return o;
	};
	const resize = (node, size) => {
		if (size > node.data.length) {
			const data = new Uint8Array(Math.max(size, 2 * node.data.length));
			data.set(node.data.subarray(0, node.size));
			node.data = data;
		} else if (size < node.size) {
			node.data.fill(0, size, node.size);
		}
		node.size = size;
		node.changed = Date.now();
	};
	const status = (node) => ({
		dev: 0, ino: node.number, mode: node.entries ? 0o40755 : 0o100644, nlink: 1, uid: 0, gid: 0, rdev: 0, size: node.size || 0,
		blksize: 4096, blocks: Math.ceil((node.size || 0) / 512), atimeMs: node.changed, mtimeMs: node.changed, ctimeMs: node.changed,
		isDirectory: () => !!node.entries,
	});
	const remove = (path, isFolder) => {
		const { at, name, node } = place(path);
		if (!node) throw failure("ENOENT");
		if (!!node.entries !== isFolder) throw failure(isFolder ? "ENOTDIR" : "EISDIR");
		if (isFolder && node.entries.size > 0) throw failure("ENOTEMPTY");
		at.entries.delete(name);
	};
	// print writes Go's output to the console, line by line.
	const print = (fd, bytes) => {
		const lines = (console_[fd] + new TextDecoder().decode(bytes)).split("\n");
		console_[fd] = lines.pop();
		for (const line of lines) {
			console.log(line);
			if (fd === 2 && said.push(line) > 50) said.shift();
		}
	};

	const calls = {
		open(path, flags) {
			const { at, name, node: old } = place(path);
			if (old && flags & FLAGS.O_CREAT && flags & FLAGS.O_EXCL) throw failure("EEXIST");
			if (!old && !(flags & FLAGS.O_CREAT)) throw failure("ENOENT");
			const writes = (flags & (FLAGS.O_WRONLY | FLAGS.O_RDWR)) !== 0;
			if (old && old.entries && writes) throw failure("EISDIR");
			if (old && !old.entries && flags & FLAGS.O_DIRECTORY) throw failure("ENOTDIR");
			const node = old || file();
			if (!old) at.entries.set(name, node);
			if (writes && flags & FLAGS.O_TRUNC) resize(node, 0);
			open.set(++descriptors, { node, flags, at: 0 });
			return descriptors;
		},
		close(fd) { opened(fd); open.delete(fd); },
		read(fd, buffer, offset, length, position) {
			const o = opened(fd);
			if (o.node.entries) throw failure("EISDIR");
			const from = position ?? o.at;
			const part = o.node.data.subarray(Math.min(from, o.node.size), Math.min(from + length, o.node.size));
			buffer.set(part, offset);
			if (position === null) o.at += part.length;
			return part.length;
		},
		write(fd, buffer, offset, length, position) {
			const bytes = buffer.subarray(offset, offset + length);
			if (fd === 1 || fd === 2) {
				print(fd, bytes);
				return length;
			}
			const o = opened(fd);
			const from = o.flags & FLAGS.O_APPEND ? o.node.size : position ?? o.at;
			if (from + length > o.node.size) resize(o.node, from + length);
			o.node.data.set(bytes, from);
			if (position === null) o.at = from + length;
			return length;
		},
		mkdir(path) {
			const { at, name, node } = place(path);
			if (node) throw failure("EEXIST");
			at.entries.set(name, folder());
		},
		readdir(path) {
			const node = there(path);
			if (!node.entries) throw failure("ENOTDIR");
			return [...node.entries.keys()];
		},
		rename(from, to) {
			const old = place(from), fresh = place(to);
			if (!old.node) throw failure("ENOENT");
			old.at.entries.delete(old.name);
			fresh.at.entries.set(fresh.name, old.node);
		},
		stat: (path) => status(there(path)),
		lstat: (path) => status(there(path)),
		fstat: (fd) => status(opened(fd).node),
		unlink: (path) => remove(path, false),
		rmdir: (path) => remove(path, true),
		truncate: (path, size) => resize(there(path), size),
		ftruncate: (fd, size) => resize(opened(fd).node, size),
		fsync() {},
		chmod() {},
		fchmod() {},
		utimes() {},
		readlink() { throw failure("EINVAL"); },
		link() { throw failure("ENOSYS"); },
		symlink() { throw failure("ENOSYS"); },
		chown() { throw failure("ENOSYS"); },
		fchown() { throw failure("ENOSYS"); },
		lchown() { throw failure("ENOSYS"); },
	};
	// Go waits for each call's callback; it may come at once.
	const fs = { constants: FLAGS };
	for (const [name, call] of Object.entries(calls)) {
		fs[name] = (...args) => {
			const callback = args.pop();
			let result;
			try {
				result = call(...args);
			} catch (error) {
				callback(error.code ? error : failure("EIO"));
				return;
			}
			callback(null, result);
		};
	}
	// Go's runtime prints its fatal error through this.
	fs.writeSync = (fd, bytes) => { print(fd, bytes); return bytes.length; };
	globalThis.fs = fs;
	globalThis.process = {
		pid: 1, ppid: 0, getuid: () => 0, getgid: () => 0, geteuid: () => 0, getegid: () => 0, getgroups: () => [], umask: () => 0o22,
		cwd: () => HOME, chdir() { throw failure("ENOSYS"); },
	};
	globalThis.path = { resolve: (...parts) => resolve(parts.join("/")) };
	calls.mkdir(HOME);

	// Operations of the worker.
	const walk = function* (node, path) {
		for (const [name, child] of node.entries) {
			if (child.entries) yield* walk(child, path + name + "/");
			else yield { path: path + name, node: child };
		}
	};
	return {
		// read returns a copy of a file's bytes.
		read(path) {
			const node = there(path);
			return node.data.slice(0, node.size);
		},
		// list returns all files below a folder: {path, size}.
		list(path) {
			const { node } = place(path);
			return node ? [...walk(node, path + "/")].map((f) => ({ path: f.path, size: f.node.size })) : [];
		},
		// clear removes a folder with all that is in it.
		clear(path) {
			const { at, name } = place(path);
			at.entries.delete(name);
		},
		// lastWords returns the last lines that Go wrote to standard error.
		lastWords: () => said.join("\n"),
	};
})();
