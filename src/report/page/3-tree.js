// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Stacks merged by their common frames. A node's number is above that of its parent.

class Tree {
	// SHAPE: inverted: innermost frames first. hide: frames to leave out. only, without: frames
	// that stacks must have, or not have. centre: a frame at which all stacks begin, if not -1.
	constructor(profile, shape) {
		const most = profile.begins[profile.n] + 1;
		this.profile = profile;
		this.parent = new Int32Array(most);
		this.frame = new Int32Array(most);
		this.first = new Int32Array(most).fill(-1); // child
		this.next = new Int32Array(most).fill(-1); // sibling
		this.level = new Uint16Array(most);
		this.leaf = new Int32Array(profile.n).fill(-1); // of samples; -1: left out
		this.frame[0] = this.parent[0] = -1;
		this.n = 1;
		this.slots = new Int32Array(2 << Math.ceil(Math.log2(most + 8)));
		this.addAll(shape);
		this.slots = null;
	}

	addAll({ inverted = false, hide = [], only = [], without = [], centre = -1 }) {
		const { rows, begins, n, frames } = this.profile;
		const flags = new Uint8Array(frames.length); // 1 hidden, 2 not wanted
		for (const f of hide)
			flags[f] |= 1;
		for (const f of without)
			flags[f] |= 2;
		for (let sample = 0; sample < n; sample++) {
			let begin = begins[sample], end = begins[sample + 1];
			const at = centre < 0 && !only.length && !without.length ? 0
				: this.choose(begin, end, flags, only, centre);
			if (at < 0)
				continue;
			if (centre >= 0 && inverted)
				end = at + 1;
			else if (centre >= 0)
				begin = at;
			let node = 0;
			for (let i = begin; i < end; i++) {
				const f = rows[inverted ? begin + end - 1 - i : i];
				if (!(flags[f] & 1))
					node = this.child(node, f);
			}
			this.leaf[sample] = node;
		}
	}

	// Where the row has frame CENTRE first; -1 if the stack is not wanted.
	choose(begin, end, flags, only, centre) {
		const { rows } = this.profile;
		let at = centre < 0 ? begin : -1;
		for (let i = begin; i < end; i++) {
			if (flags[rows[i]] & 2)
				return -1;
			if (at < 0 && rows[i] === centre)
				at = i;
		}
		return only.every((f) => rows.subarray(begin, end).includes(f)) ? at : -1;
	}

	child(parent, frame) {
		const { slots } = this, mask = slots.length - 1;
		let h = Math.imul(parent, 0x9e3779b1) ^ Math.imul(frame + 1, 0x85ebca6b);
		for (h = (h ^ (h >>> 15)) & mask; slots[h]; h = (h + 1) & mask)
			if (this.parent[slots[h]] === parent && this.frame[slots[h]] === frame)
				return slots[h];
		const node = this.n++;
		slots[h] = node;
		this.parent[node] = parent;
		this.frame[node] = frame;
		this.level[node] = this.level[parent] + 1;
		this.next[node] = this.first[parent];
		this.first[parent] = node;
		return node;
	}

	// Sum up. Of a difference, a node is as wide as the larger one of both sides, stack by stack,
	// so code that vanished stays visible. A value below zero is as wide as one above. Shares are of
	// all values without their signs, as in pprof.
	weigh(weights) {
		const { n, leaf, parent } = this, { now, before } = weights;
		const difference = before.length > 0;
		this.weights = weights;
		this.sorted = new Map();
		this.self = new Float64Array(n);
		this.selfBefore = difference ? new Float64Array(n) : this.self;
		for (let i = 0; i < leaf.length; i++) {
			if (leaf[i] < 0)
				continue;
			this.self[leaf[i]] += now[i];
			if (difference)
				this.selfBefore[leaf[i]] += before[i];
		}
		this.total = this.self.slice();
		this.totalBefore = difference ? this.selfBefore.slice() : this.total;
		const size = this.self.map(abs);
		this.all = sumOf(size);
		this.width = difference ? size.map((v, i) => max(v, abs(this.selfBefore[i])))
			: this.all > sumOf(this.self) ? size : this.total;
		for (let i = n - 1; i > 0; i--) {
			this.total[parent[i]] += this.total[i];
			if (difference)
				this.totalBefore[parent[i]] += this.totalBefore[i];
			if (this.width !== this.total)
				this.width[parent[i]] += this.width[i];
		}
		return this;
	}

	// The children that have a width, widest first.
	children(node) {
		let list = this.sorted.get(node);
		if (!list) {
			list = [];
			for (let c = this.first[node]; c >= 0; c = this.next[c])
				if (this.width[c] > 0)
					list.push(c);
			list.sort((a, b) => this.width[b] - this.width[a] || this.frame[a] - this.frame[b]);
			this.sorted.set(node, list);
		}
		return list;
	}

	// Frame numbers from the root to NODE.
	path(node) {
		const frames = [];
		for (; node > 0; node = this.parent[node])
			frames.unshift(this.frame[node]);
		return frames;
	}

	// The node at PATH, or the last of it that there is.
	find(path) {
		let node = 0;
		for (const frame of path) {
			let c = this.first[node];
			while (c >= 0 && this.frame[c] !== frame)
				c = this.next[c];
			if (c < 0)
				break;
			node = c;
		}
		return node;
	}

	isBelow(node, top) {
		while (node > top)
			node = this.parent[node];
		return node === top;
	}

	of(node) {
		return this.profile.frames[this.frame[node]];
	}

	name(node) {
		return node > 0 ? this.profile.label(this.frame[node]) : 'all';
	}

	// Nodes whose frame is wanted and that have none such above, and what they add up to.
	matches(wanted) {
		const { n, parent, frame, total, width } = this, covered = new Uint8Array(n), found = [];
		let sum = 0;
		for (let i = 1; i < n; i++) {
			if (covered[parent[i]]) {
				covered[i] = 1;
			} else if (wanted[frame[i]]) {
				covered[i] = 1;
				sum += total[i];
				if (width[i] > 0)
					found.push(i);
			}
		}
		found.sort((a, b) => width[b] - width[a] || a - b);
		return { nodes: found, sum };
	}
}

// Self and total of each frame of the stacks in TREE. A stack counts once for a frame.
function sumFunctions(profile, tree, hide) {
	const n = profile.frames.length, { rows, begins } = profile, { now, before } = tree.weights;
	const make = () => new Float64Array(n);
	const sums = { self: make(), total: make(), selfBefore: make(), totalBefore: make() };
	const seen = new Int32Array(n).fill(-1), hidden = new Uint8Array(n);
	for (const f of hide)
		hidden[f] = 1;
	for (let s = 0; s < profile.n; s++) {
		const a = now[s], b = before.length ? before[s] : 0;
		if (tree.leaf[s] < 0 || (!a && !b))
			continue;
		let last = -1;
		for (let i = begins[s]; i < begins[s + 1]; i++) {
			const f = rows[i];
			if (hidden[f])
				continue;
			last = f;
			if (seen[f] === s)
				continue;
			seen[f] = s;
			sums.total[f] += a;
			sums.totalBefore[f] += b;
		}
		if (last >= 0) {
			sums.self[last] += a;
			sums.selfBefore[last] += b;
		}
	}
	return sums;
}
