// Where nodes stand: tiers in rows, hosts at the bottom under their switches, as pausenet graph draws them. Units are pixels at scale 1.

const gap = 26;

/** layout places a run's nodes so that they fill a place of an aspect, width by height: x and y of their middles, half their widths and heights, and whether hosts are dots. */
export function layout(run, aspect = 2.2) {
	const { nodes } = run.head;
	const hosts = nodes.filter((n) => n.host).length;
	const dots = hosts > 48;
	const longest = (some) => Math.max(0, ...nodes.filter(some).map((n) => n.name.length));
	const cell = dots ? [15, 15] : [Math.max(30, longest((n) => n.host) * 7 + 16), 30];
	const half = { host: dots ? [5, 5] : [cell[0] / 2 - 4, 11], sw: [Math.max(23, longest((n) => !n.host) * 4 + 10), 15] };
	const at = nodes.map((n) => ({ x: 0, y: 0, w: n.host ? half.host[0] : half.sw[0], h: n.host ? half.host[1] : half.sw[1] }));
	const tiers = [];
	nodes.forEach((n, i) => (tiers[n.tier] ??= []).push(i));
	const neighbours = (node, tier) => run.nodePorts[node].map((p) => run.ports[p].peerNode).filter((n) => nodes[n].tier === tier);
	const blocks = [];
	const deepest = placeHosts();
	const width = placeSwitches();
	const step = Math.min(width / 2, Math.max(96, (width / aspect - deepest) / Math.max(1, tiers.length - 0.2)));
	tiers.forEach((tier, k) => {
		if (k === 0) return;
		for (const node of tier) at[node].y = -step * (k - 1);
	});
	const first = Math.min(step * 0.8, Math.max(110, step * 0.6));
	for (const block of blocks) for (const h of block.hosts) at[h].y += first;
	const bounds = at.reduce((b, n) => ({
		left: Math.min(b.left, n.x - n.w), right: Math.max(b.right, n.x + n.w), top: Math.min(b.top, n.y - n.h), bottom: Math.max(b.bottom, n.y + n.h),
	}), { left: 0, right: 0, top: 0, bottom: deepest });
	return { at, dots, bounds, tiers: tiers.map((tier, k) => ({ name: k === 0 ? "hosts" : `tier ${k}`, y: k === 0 ? first : -step * (k - 1) })) };

	function placeHosts() {
		let x = 0, deep = 0;
		blocks.push(...hostBlocks());
		for (const { hosts: own, above } of blocks) {
			const columns = own.length <= 6 ? Math.max(1, own.length) : dots ? columnsOf(own.length, blocks.length) : Math.ceil(own.length / 2);
			const over = above.reduce((sum, leaf) => sum + 2 * at[leaf].w + 14, -14);
			const span = Math.max((columns + (own.length > columns ? 0.5 : 0)) * cell[0], over);
			own.forEach((h, i) => {
				const row = Math.floor(i / columns);
				// Rows stand between each other's hosts, so that lines to the lower pass the upper.
				at[h].x = x + span / 2 + ((i % columns) - (columns - 1) / 2 + (dots ? 0 : row % 2 === 0 ? -0.25 : 0.25)) * cell[0];
				at[h].y = row * cell[1] * (dots ? 1 : 1.5);
				deep = Math.max(deep, at[h].y);
			});
			let left = x + (span - over) / 2;
			for (const leaf of above) {
				at[leaf].x = left + at[leaf].w;
				left += 2 * at[leaf].w + 14;
			}
			x += span + (dots ? 14 : gap);
		}
		return deep;
	}

	// hostBlocks are the hosts by the switches that they are cabled to, each with those of the switches that no block before it has over it.
	function hostBlocks() {
		const taken = new Set(), blocks = new Map();
		for (const leaf of tiers[1] ?? []) for (const h of neighbours(leaf, 0)) {
			if (taken.has(h)) continue;
			taken.add(h);
			const switches = [...new Set(run.nodePorts[h].map((p) => run.ports[p].peerNode))].sort((a, b) => a - b);
			const key = switches.join();
			if (!blocks.has(key)) blocks.set(key, { hosts: [], above: switches.filter((s) => !taken.has(s)) });
			for (const s of switches) taken.add(s);
			blocks.get(key).hosts.push(h);
		}
		return [...blocks.values()];
	}

	function columnsOf(n, leaves) {
		let columns = Math.min(12, Math.ceil(Math.sqrt(n * (leaves > 6 ? 0.6 : 1.6))));
		while (columns > 1 && n % columns !== 0 && n % (columns - 1) === 0) columns--;
		return columns;
	}

	// placeSwitches spreads the upper tiers, each ordered by where its neighbours below stand.
	function placeSwitches() {
		const spread = (nodes) => nodes.reduce((sum, n) => sum + 2 * at[n].w + 20, 0);
		const xs = at.map((n) => n.x);
		const right = Math.max(...xs) + half.host[0];
		const width = Math.max(right, ...tiers.slice(2).map(spread));
		const aside = (width - right) / 2;
		for (const n of at) n.x += aside;
		for (const [k, tier] of tiers.entries()) {
			if (k < 2) continue;
			const middle = new Map(tier.map((n) => {
				const below = neighbours(n, k - 1);
				return [n, below.reduce((sum, b) => sum + at[b].x, 0) / below.length];
			}));
			const order = [...tier].sort((a, b) => Math.round(middle.get(a) - middle.get(b)) || a - b);
			order.forEach((n, i) => { at[n].x = ((i + 0.5) * width) / order.length; });
		}
		return width;
	}
}
