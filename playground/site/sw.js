// The service worker: it keeps the playground's files, so that the page works without a network. With one the files come from the server.
"use strict";

const files = FILES; // beside this script
const name = "pausenet-HASH"; // of the files

addEventListener("install", (event) => event.waitUntil(caches.open(name).then((cache) => cache.addAll(files))));

addEventListener("activate", (event) => event.waitUntil((async () => {
	for (const other of await caches.keys()) if (other.startsWith("pausenet-") && other !== name) await caches.delete(other);
	await clients.claim();
})()));

addEventListener("fetch", (event) => {
	if (event.request.method === "GET" && new URL(event.request.url).origin === location.origin) event.respondWith(answer(event.request));
});

const answer = async (request) => {
	try {
		return await fetch(request);
	} catch (error) {
		const kept = await (await caches.open(name)).match(request, { ignoreSearch: true });
		if (!kept) throw error;
		return kept;
	}
};
