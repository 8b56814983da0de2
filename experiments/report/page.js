// Reads values off the drawings and lets the reader zoom. The page is complete without it.
(() => {
	"use strict";
	const SVG = "http://www.w3.org/2000/svg";

	// An axis as chart.go wrote it.
	const axis = (text) => {
		const [numbers, suffix, name] = text.split("|");
		const [lo, hi, p0, p1, log, div] = numbers.split(" ").map(Number);
		const f = log ? Math.log10 : (v) => v, g = log ? (v) => 10 ** v : (v) => v;
		return {
			lo, hi, p0, p1, log, div, suffix, name,
			at: (v) => p0 + (f(v) - f(lo)) / (f(hi) - f(lo)) * (p1 - p0),
			from: (p) => g(f(lo) + (p - p0) / (p1 - p0) * (f(hi) - f(lo))),
		};
	};

	// A path as path.go wrote it: M absolute; h, v, l relative. Each M starts a piece; between pieces is a gap.
	const pieces = (d) => {
		const out = [];
		let x = 0, y = 0;
		for (const [, command, args] of d.matchAll(/([Mhvl])([^Mhvl]*)/g)) {
			const n = (args.match(/-?(?:\d+\.?\d*|\.\d+)/g) || []).map(Number);
			if (command === "M") { [x, y] = n; out.push([]); }
			else if (command === "h") x += n[0];
			else if (command === "v") y += n[0];
			else { x += n[0]; y += n[1]; }
			out[out.length - 1].push([x, y]);
		}
		return out;
	};

	// The height of a line at px: of a step the last point's, otherwise between its neighbours.
	const heightAt = (line, px) => {
		for (const piece of line.pieces) {
			if (px < piece[0][0] || px > piece[piece.length - 1][0]) continue;
			let a = 0, b = piece.length - 1;
			while (a < b) {
				const m = (a + b + 1) >> 1;
				if (piece[m][0] <= px) a = m; else b = m - 1;
			}
			const [x0, y0] = piece[a], next = piece[a + 1];
			if (line.step || !next || next[0] === x0) return y0;
			return y0 + (next[1] - y0) * (px - x0) / (next[0] - x0);
		}
		return null;
	};

	const digits = (v) => {
		const a = Math.abs(v);
		if (a < 0.0005) return "0";
		return String(Number(v.toFixed(a >= 99.95 ? 0 : a >= 9.995 ? 1 : a >= 0.9995 ? 2 : 3)));
	};
	const named = (a, text) => text + (a.name ? "\u00a0" + a.name : "");
	const number = (a, v) => {
		const s = digits(v / a.div);
		return s === "0" && a.name ? s : s + a.suffix;
	};

	const make = (parent, tag, attributes) => {
		const e = document.createElementNS(SVG, tag);
		for (const k in attributes) e.setAttribute(k, attributes[k]);
		return parent.appendChild(e);
	};

	const charts = [...document.querySelectorAll("svg.chart")].map((svg) => {
		const x = axis(svg.dataset.x), y = axis(svg.dataset.y);
		const lines = [...svg.querySelectorAll("path[data-label]")].map((path) => ({
			label: path.dataset.label, style: path.getAttribute("class"), step: !!path.dataset.step, pieces: pieces(path.getAttribute("d")),
		}));
		const values = svg.closest("figure").querySelector(".values");
		// The cover takes the pointer, so that the drawing's title does not pop up over the values.
		const cover = svg.parentNode.appendChild(document.createElement("div"));
		cover.className = "cover";
		const picked = make(svg, "rect", { class: "picked", y: y.p1, height: y.p0 - y.p1, visibility: "hidden" });
		const cursor = make(svg, "path", { class: "cursor", visibility: "hidden" });
		const dots = lines.map((l) => make(svg, "circle", { class: "dot " + l.style, r: 3, visibility: "hidden" }));
		const happened = [...svg.querySelectorAll(".eventlabels text")].map((e) => ({ e, x: Number(e.getAttribute("x")) }));
		return {
			happened, svg, x, y, names: svg.dataset.names && svg.dataset.names.split("\n"), lines, values, cover, picked, cursor, dots, group: svg.dataset.group, still: [...values.childNodes],
			zoomed: [svg.querySelector(".lines"), svg.querySelector(".spans"), svg.querySelector(".events")].filter(Boolean), labels: svg.querySelector(".spanlabels"),
			ticks: svg.querySelector(".xticks"), marks: svg.querySelector(".xmarks"), tickHTML: svg.querySelector(".xticks").innerHTML,
			markPath: svg.querySelector(".xmarks").getAttribute("d"), scale: 1, shift: 0,
		};
	});

	const rest = (c) => {
		for (const e of [c.cursor, ...c.dots]) e.setAttribute("visibility", "hidden");
		c.values.replaceChildren(...c.still);
	};

	// Shows the values at px of the unzoomed drawing.
	const read = (c, px) => {
		let at = "";
		if (c.names) {
			const i = Math.min(Math.max(Math.round(c.x.from(px)), 0), c.names.length - 1);
			px = c.x.at(i);
			at = c.names[i];
		} else if (c.x.log) at = named(c.x, number(c.x, c.x.from(px)));
		else { // as fine as a pixel of the zoomed drawing
			const decimals = Math.max(0, Math.ceil(-Math.log10((c.x.hi - c.x.lo) / c.x.div / c.scale / 400)));
			at = named(c.x, (c.x.from(px) / c.x.div).toFixed(decimals) + c.x.suffix);
		}
		const where = px * c.scale + c.shift;
		c.cursor.setAttribute("d", `M${where} ${c.y.p0}V${c.y.p1}`);
		c.cursor.setAttribute("visibility", "visible");
		const items = [["at", at]];
		c.lines.forEach((line, i) => {
			const h = heightAt(line, px);
			c.dots[i].setAttribute("visibility", h === null ? "hidden" : "visible");
			if (h !== null) { c.dots[i].setAttribute("cx", where); c.dots[i].setAttribute("cy", h); }
			const text = h === null ? "–" : number(c.y, c.y.from(h));
			items.push([line.label, i === c.lines.length - 1 ? named(c.y, text) : text]);
		});
		c.values.replaceChildren(...items.flatMap(([label, text]) => {
			const span = document.createElement("span"), em = document.createElement("em");
			em.textContent = text;
			span.append(label + " ", em);
			return [span];
		}));
	};

	const niceStep = (span, n) => {
		const e = 10 ** Math.floor(Math.log10(span / n));
		return [1, 2, 5, 10].map((f) => f * e).find((s) => span / s <= n * 1.000000001);
	};

	// Shows only px0 to px1 of the drawing, on all the width.
	const zoom = (c, px0, px1) => {
		const { x, y } = c, whole = px0 <= x.p0 && px1 >= x.p1;
		c.scale = (x.p1 - x.p0) / (px1 - px0);
		c.shift = x.p0 - px0 * c.scale;
		for (const g of c.zoomed) g.setAttribute("transform", whole ? "" : `matrix(${c.scale} 0 0 1 ${c.shift} 0)`);
		if (c.labels) c.labels.setAttribute("visibility", whole ? "visible" : "hidden");
		for (const { e, x: at } of c.happened) {
			const to = at * c.scale + c.shift;
			e.setAttribute("x", whole ? at : to);
			e.setAttribute("visibility", whole || to > x.p0 - 5 && to < x.p1 ? "visible" : "hidden");
		}
		if (whole) {
			c.ticks.innerHTML = c.tickHTML;
			c.marks.setAttribute("d", c.markPath);
			return;
		}
		const lo = x.from(px0) / x.div, hi = x.from(px1) / x.div, step = niceStep(hi - lo, 7);
		const decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
		let d = `M${x.p0} ${y.p0}H${x.p1}`;
		c.ticks.replaceChildren();
		const ticks = [];
		for (let i = Math.ceil(lo / step - 1e-9); i * step <= hi + step * 1e-9; i++) ticks.push(i * step);
		ticks.forEach((v, i) => {
			const at = x.at(v * x.div) * c.scale + c.shift, last = i === ticks.length - 1, edge = last && x.p1 - at < 20;
			d += `M${at} ${y.p0}v4`;
			make(c.ticks, "text", { class: "muted", x: edge ? x.p1 + 13 : at, y: y.p0 + 17, "text-anchor": edge ? "end" : "middle" })
				.textContent = v.toFixed(decimals) + x.suffix + (last && x.name ? " " + x.name : "");
		});
		c.marks.setAttribute("d", d);
	};

	// The values take more lines than the ranges they stand for. Make room now, or the page would jump under the pointer.
	const makeRoom = () => {
		const captions = charts.map((c) => c.values.parentNode);
		for (const e of captions) e.style.minHeight = "";
		for (const c of charts) read(c, (c.x.p0 + c.x.p1) / 2);
		const heights = captions.map((e) => e.offsetHeight);
		captions.forEach((e, i) => { e.style.minHeight = heights[i] + "px"; });
		charts.forEach(rest);
	};
	document.documentElement.classList.add("live");
	makeRoom();
	window.addEventListener("resize", makeRoom);

	// Paper has all that is folded.
	const folded = [];
	window.addEventListener("beforeprint", () => {
		for (const d of document.querySelectorAll("details:not([open])")) { d.open = true; folded.push(d); }
	});
	window.addEventListener("afterprint", () => { for (const d of folded.splice(0)) d.open = false; });

	const reset = document.getElementById("reset");
	const time = charts.filter((c) => c.group === "time");
	const zoomAll = (px0, px1) => {
		for (const c of time) { zoom(c, px0, px1); rest(c); }
		reset.hidden = px0 <= time[0].x.p0 && px1 >= time[0].x.p1;
	};
	const zoomOut = () => { if (time.length) zoomAll(time[0].x.p0, time[0].x.p1); };
	if (reset) reset.addEventListener("click", zoomOut);

	for (const c of charts) {
		const mates = charts.filter((m) => m.group === c.group);
		// Where the pointer is, in units of the unzoomed drawing.
		const unit = (event) => {
			const box = c.cover.getBoundingClientRect();
			const at = (event.clientX - box.left) / box.width * c.svg.viewBox.baseVal.width;
			return (Math.min(Math.max(at, c.x.p0), c.x.p1) - c.shift) / c.scale;
		};
		let from = null;
		const drop = () => { from = null; for (const m of mates) m.picked.setAttribute("visibility", "hidden"); };
		c.cover.addEventListener("pointermove", (event) => {
			const px = unit(event);
			for (const m of mates) {
				read(m, px);
				if (from === null) continue;
				m.picked.setAttribute("x", Math.min(from, px) * m.scale + m.shift);
				m.picked.setAttribute("width", Math.abs(px - from) * m.scale);
				m.picked.setAttribute("visibility", "visible");
			}
		});
		c.cover.addEventListener("pointerleave", () => { if (from === null) mates.forEach(rest); });
		c.cover.addEventListener("pointerdown", (event) => {
			if (event.pointerType !== "mouse" || event.button !== 0 || c.group !== "time") return;
			event.preventDefault();
			c.cover.setPointerCapture(event.pointerId);
			from = unit(event);
		});
		c.cover.addEventListener("pointerup", (event) => {
			if (from === null) return;
			const px = unit(event), lo = Math.min(from, px), hi = Math.max(from, px);
			drop();
			// A drag of a few pixels is a click, and finer than a thousandth of the run there is nothing drawn.
			if ((hi - lo) * c.scale > 6 && hi - lo > (c.x.p1 - c.x.p0) / 1000) zoomAll(lo, hi);
		});
		c.cover.addEventListener("pointercancel", () => { drop(); mates.forEach(rest); });
		c.cover.addEventListener("dblclick", () => { if (c.group === "time") zoomOut(); });
	}
})();
