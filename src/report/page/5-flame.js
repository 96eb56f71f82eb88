// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The flame graph: a canvas as large as its window, which shows a part of all rows. Only nodes that
// have a width on the screen are laid out.

const ROW = 19, LEAST = .6, REST = -1, FONT = '12px system-ui, sans-serif';
const MOST_PRINTED = 16000; // pixels

const isChord = (event) => event.ctrlKey || event.altKey || event.metaKey;

class Flame {
	// ON: open(node), select(node, flame), hover(node, event).
	constructor(host, on) {
		this.host = host;
		this.on = on;
		this.canvas = host.appendChild(make('canvas'));
		this.spacer = host.appendChild(make('div'));
		this.item = host.appendChild(make('div',
			{ className: 'unseen', id: `${host.id}-item`, role: 'treeitem' }));
		aria(host, { activedescendant: this.item.id });
		this.context = this.canvas.getContext('2d', { alpha: false });
		this.selected = 0;
		this.rows = [];
		Object.assign(host, {
			onscroll: () => this.draw(),
			onmousemove: (event) => on.hover(this.at(event), event),
			onmouseleave: () => on.hover(REST),
			onfocus: () => this.select(this.selected),
			onblur: () => this.draw(),
			onkeydown: (event) => this.onKey(event),
			onclick: (event) => {
				const node = this.at(event);
				if (node > REST) {
					this.select(node);
					on.open(node);
				}
			},
		});
	}

	// VIEW: tree, base (the first node shown), zoom, upward, painter, wanted (frames that match).
	show(view) {
		const moved = this.view?.zoom !== view.zoom || this.view?.tree !== view.tree ||
			this.view?.upward !== view.upward;
		const isOther = this.view && this.view.tree !== view.tree;
		this.view = view;
		if (isOther || !view.tree.isBelow(this.selected, view.zoom))
			this.selected = view.zoom;
		this.layout();
		if (moved)
			this.reveal(view.zoom, true);
		this.draw();
	}

	layout() {
		const { tree, base, zoom } = this.view, { width } = tree;
		const all = this.wide = max(this.host.clientWidth, 1);
		const scale = width[zoom] > 0 ? all / width[zoom] : 0;
		this.rows = [];
		for (let node = zoom; node !== base && node > 0;) {
			node = tree.parent[node];
			this.rows.unshift({ nodes: [node], xs: [0], ws: [all] });
		}
		let row = { nodes: [zoom], xs: [0], ws: [all] };
		while (row.nodes.length) {
			this.rows.push(row);
			const below = { nodes: [], xs: [], ws: [] };
			const put = (node, x, w) => {
				below.nodes.push(node);
				below.xs.push(x);
				below.ws.push(w);
			};
			row.nodes.forEach((parent, i) => {
				if (parent === REST)
					return;
				let x = row.xs[i];
				const own = max(abs(tree.self[parent]), abs(tree.selfBefore[parent]));
				const end = x + max(width[parent] - own, 0) * scale;
				for (const c of tree.children(parent)) {
					const w = width[c] * scale;
					if (w < LEAST)
						break;
					put(c, x, w);
					x += w;
				}
				if (end - x > LEAST)
					put(REST, x, end - x);
			});
			row = below;
		}
		this.high = this.rows.length * ROW + 1;
		this.spacer.style.height = `${this.high}px`;
	}

	size(width, height, scale) {
		const { canvas } = this;
		canvas.width = round(width * scale);
		canvas.height = round(height * scale);
		canvas.style.width = `${width}px`;
		canvas.style.height = `${height}px`;
		this.spacer.style.marginTop = `${-height}px`;
		this.context.setTransform(scale, 0, 0, scale, 0, 0);
	}

	// The top of row I in the window.
	top(i) {
		const room = max(this.high, this.seen);
		return (this.view.upward ? room - (i + 1) * ROW : i * ROW) - this.from;
	}

	draw(printed = false) {
		const { view, context, host } = this, { theme } = view.painter;
		this.seen = printed ? min(this.high, MOST_PRINTED) : host.clientHeight;
		this.from = printed ? 0 : host.scrollTop;
		const scale = printed ? 2 : devicePixelRatio;
		this.size(this.wide, this.seen, scale);
		context.fillStyle = theme.back;
		context.fillRect(0, 0, this.wide, this.seen);
		context.font = FONT;
		context.textBaseline = 'middle';
		context.direction = 'ltr';
		this.measure();
		this.rows.forEach((row, i) => {
			const y = this.top(i);
			if (y > -ROW && y < this.seen)
				row.nodes.forEach((node, k) => this.drawNode(node, row.xs[k], y, row.ws[k]));
		});
		if (!printed)
			this.drawSelected();
	}

	drawNode(node, x, y, w) {
		const { view, context } = this, { tree, painter, wanted, zoom } = view;
		const { theme } = painter, gap = w > 3 ? 1 : 0;
		const isFaded = wanted ? !(node > 0 && wanted[tree.frame[node]]) : node < zoom && node >= 0;
		context.globalAlpha = isFaded ? theme.faded : 1;
		context.fillStyle = node === REST ? theme.line : painter.colour(tree, node);
		if (node === REST)
			context.globalAlpha = .12;
		context.fillRect(x, y, w - gap, ROW - 1);
		if (node === REST)
			return;
		const isNew = this.mark(node);
		if (isNew || (node > 0 && tree.of(node).kind === MARK))
			this.drawEdge(isNew, x, y, w - gap);
		if (w > 28) {
			context.globalAlpha = isFaded ? .75 : 1;
			context.fillStyle = theme.text;
			const name = this.fit((isNew ? `${isNew}: ` : '') + tree.name(node), w - gap - 8);
			if (name)
				context.fillText(name, x + 4, y + ROW / 2 - .5, w);
		}
		context.globalAlpha = 1;
	}

	mark(node) {
		const { total, totalBefore } = this.view.tree, now = total[node], before = totalBefore[node];
		return total === totalBefore ? (now < 0 ? 'less' : '') : now && !before ? 'new'
			: before && !now ? 'gone' : '';
	}

	// A dashed line for code that has gone, for marks and below zero, a whole one for new code.
	drawEdge(mark, x, y, w) {
		const { context } = this;
		if (w < 4)
			return;
		context.strokeStyle = this.view.painter.theme.line;
		context.lineWidth = 1;
		context.setLineDash(mark === 'new' ? [] : [3, 3]);
		context.strokeRect(x + .5, y + .5, w - 1, ROW - 2);
		context.setLineDash([]);
	}

	// In bands of rows, because a page ends between pictures only.
	print(isPrinting) {
		this.bands?.remove();
		this.draw(isPrinting);
		const { canvas, host } = this, { width, height } = canvas, high = 20 * ROW;
		this.bands = host.appendChild(make('section'));
		for (let y = isPrinting ? 0 : height; y < height; y += high)
			this.bands.appendChild(make('canvas', { width, height: min(high, height - y) }))
				.getContext('2d').drawImage(canvas, 0, -y);
	}

	drawSelected() {
		const place = this.place(this.selected);
		if (!place || document.activeElement !== this.host)
			return;
		const { context } = this, y = this.top(place.row);
		context.strokeStyle = this.view.painter.theme.line;
		context.lineWidth = 2;
		context.strokeRect(place.x + 1, y + 1, max(place.w - 3, 1), ROW - 3);
	}

	measure() {
		if (this.widths)
			return;
		this.widths = new Float32Array(128);
		for (let c = 32; c < 127; c++)
			this.widths[c] = this.context.measureText(String.fromCharCode(c)).width;
	}

	// The beginning of NAME that is WIDTH wide.
	fit(name, width) {
		let used = 0;
		for (let i = 0; i < name.length; i++) {
			const code = name.charCodeAt(i);
			used += code < 127 ? this.widths[code] : 12;
			if (used > width) {
				for (used += 12; i > 0 && used > width; i--)
					used -= this.widths[name.charCodeAt(i)] || 12;
				return i > 1 ? `${name.slice(0, i + 1)}…` : '';
			}
		}
		return name;
	}

	place(node) {
		const { tree, base, zoom } = this.view;
		const row = tree.level[node] - tree.level[base], at = this.rows[row];
		const i = at ? at.nodes.indexOf(node) : -1;
		return i < 0 || (row < tree.level[zoom] - tree.level[base] && node > zoom) ? null
			: { row, i, x: at.xs[i], w: at.ws[i] };
	}

	at(event) {
		if (event.target !== this.canvas)
			return REST;
		const box = this.canvas.getBoundingClientRect();
		const x = event.clientX - box.left, y = event.clientY - box.top;
		const room = max(this.high, this.seen);
		const i = Math.floor((this.view.upward ? room - y - this.from : y + this.from) / ROW);
		const row = this.rows[i];
		if (!row)
			return REST;
		let low = 0, high = row.xs.length - 1;
		while (low < high) {
			const middle = (low + high + 1) >> 1;
			if (row.xs[middle] <= x)
				low = middle;
			else
				high = middle - 1;
		}
		return x < row.xs[low] + row.ws[low] ? row.nodes[low] : REST;
	}

	// Scroll until the row of NODE is in the window. With ZOOMED, callers above it stay in sight.
	reveal(node, zoomed = false) {
		const { tree, base, upward } = this.view;
		const row = tree.level[node] - tree.level[base], window = this.host.clientHeight;
		const y = upward ? max(this.high, window) - (row + 1) * ROW : row * ROW;
		if (zoomed)
			this.host.scrollTop = upward ? y - window + 4 * ROW : y - 3 * ROW;
		else if (y < this.host.scrollTop || y + ROW > this.host.scrollTop + window)
			this.host.scrollTop = y - window / 2;
	}

	select(node) {
		const { tree, base } = this.view, isBase = node === base;
		const brothers = isBase ? [node] : tree.children(tree.parent[node]);
		aria(this.item, { level: tree.level[node] - tree.level[base] + 1, setsize: brothers.length,
			posinset: brothers.indexOf(node) + 1 });
		this.item.textContent = describe(tree, node);
		this.selected = node;
		this.reveal(node);
		this.draw();
		this.on.select(node, this);
	}

	onKey(event) {
		const { tree, upward, base } = this.view, node = this.selected;
		const deeper = upward ? 'ArrowUp' : 'ArrowDown', outer = upward ? 'ArrowDown' : 'ArrowUp';
		let to = REST;
		if (isChord(event))
			return;
		if (event.key === deeper)
			to = tree.children(node)[0] ?? node;
		else if (event.key === outer)
			to = node === base ? node : tree.parent[node];
		else if (event.key === 'ArrowLeft' || event.key === 'ArrowRight')
			to = this.beside(node, event.key === 'ArrowLeft' ? -1 : 1);
		else if (event.key === 'Enter')
			this.on.open(node);
		else
			return;
		event.preventDefault();
		event.stopPropagation();
		if (to > REST)
			this.select(to);
	}

	// The next node on the screen to the left or right.
	beside(node, step) {
		const place = this.place(node);
		if (!place)
			return node;
		const { nodes } = this.rows[place.row];
		for (let i = place.i + step; i >= 0 && i < nodes.length; i += step)
			if (nodes[i] !== REST)
				return nodes[i];
		return node;
	}
}
