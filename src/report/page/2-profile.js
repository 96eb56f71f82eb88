// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The profile as arrays: frames, stacks as rows of frame numbers, values, labels, slices of time.

const KINDS = ['user', 'kernel', 'JIT', 'inlined', 'unknown', 'cut or unverified'];
const [USER, KERNEL, JIT, INLINED, UNKNOWN, MARK] = KINDS.keys();
// A perf map, or memory that no file backs.
const OF_JIT = /^(.*\/)?perf-\d+\.map$|^\[(?!vdso|vsyscall)/;
const MOST_SHOWN = 300; // characters of a name; copies have them all

// Control, format and unassigned characters could hide, reorder or fake text.
const ACTIVE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}]/gu;
function harmless(text) {
	return text.replace(ACTIVE, (c) => `\\u{${c.codePointAt(0).toString(16)}}`);
}

function shown(text) {
	if (text.length <= MOST_SHOWN)
		return harmless(text);
	return `${harmless(text.slice(0, MOST_SHOWN))}… (${count(text.length)} characters)`;
}

// The values of a key, each with a number, and the number that each sample has (0: none).
class Facet {
	constructor(key, n) {
		this.key = key;
		this.values = ['none'];
		this.numbers = new Map();
		this.of = new Int32Array(n);
	}

	put(sample, value) {
		let number = this.numbers.get(value);
		if (number === undefined) {
			number = this.values.push(String(value)) - 1;
			this.numbers.set(value, number);
		}
		this.of[sample] = number;
	}

	// Add to each value the first one of BY that a sample has with it.
	name(by) {
		const named = [1]; // not "none"
		this.of.forEach((v, sample) => {
			if (!named[v])
				this.values[v] += ` ${by.values[by.of[sample]]}`;
			named[v] = 1;
		});
	}
}

const NOWHERE = { path: '', name: '' };

class Profile {
	constructor(parts) {
		this.parts = parts;
		this.string = (number) => parts.strings[number] || '';
		this.begin = parts.begin;
		this.duration = parts.duration;
		this.types = parts.types.map((t) =>
			({ name: this.string(t.type), unit: this.string(t.unit) }));
		this.readComments();
		this.readFrames();
		this.readSamples();
		delete this.parts;
	}

	// Facts are comments of the form "stackcount:KEY=VALUE".
	readComments() {
		this.facts = {};
		this.losses = [];
		this.slices = [];
		for (const text of this.parts.comments.map(this.string)) {
			const [, key, value] = /^stackcount:([\w-]+)=([^]*)$/.exec(text) || [];
			if (key === 'loss') {
				const [, n, reason] = /^(\d+) ([^]*)$/.exec(value) || [0, 0, value];
				this.losses.push({ n: Number(n), reason });
			} else if (key === 'slice') {
				const times = value.split(' ').map(Number);
				for (let i = 0; i < times.length; i += 2)
					this.slices.push({ begin: times[i], end: times[i + 1] });
			} else if (key)
				this.facts[key] = value;
		}
		this.isDifference = 'difference' in this.facts;
	}

	readFrames() {
		const { mappings, functions, locations } = this.parts;
		this.images = [];
		const imageOf = new Map(), functionOf = new Map(), kindOf = [];
		for (const m of mappings) {
			const path = this.string(m.file), isKernel = path.startsWith('[kernel');
			imageOf.set(m.id, this.images.length);
			kindOf.push(isKernel ? KERNEL : OF_JIT.test(path) ? JIT : USER);
			this.images.push({ path, buildId: this.string(m.buildId),
				name: isKernel ? '[kernel]' : path.slice(path.lastIndexOf('/') + 1) });
		}
		for (const f of functions)
			functionOf.set(f.id, f);

		this.frames = [];
		this.numberOf = new Map();
		this.places = []; // by location id: frame numbers, innermost first
		const message = new Message(this.parts.bytes);
		for (let i = 0; i < locations.length; i += 2) {
			const lines = [];
			let id = 0, mapping = 0, address = 0;
			message.at = locations[i];
			message.end = locations[i + 1];
			while (message.next()) {
				const { field, number } = message;
				if (field === 1)
					id = number;
				else if (field === 2)
					mapping = number;
				else if (field === 3)
					address = number;
				else if (field === 4)
					lines.push(message.record(LINE_FIELDS).function);
			}
			const image = imageOf.get(mapping) ?? -1, { path } = this.images[image] || NOWHERE;
			const kind = image >= 0 && address < 0 && path !== '[vsyscall]' ? KERNEL // 2^63 and above
				: kindOf[image] ?? USER;
			this.places[id] = (lines.length ? lines : [0]).map((line, k) => this.frameOfLine(
				functionOf.get(line) || {}, image, k < lines.length - 1 ? INLINED : kind, address));
		}
	}

	// The number of a frame. Frames of one function are one, wherever they are in it.
	frameOfLine(what, image, kind, address) {
		let { path, name: module } = this.images[image] || NOWHERE, name = this.string(what.name);
		if (!name)
			name = module ? `[${module}]` : '[unknown]';
		if ((image < 0 || kind === KERNEL) && !address && /^\[(cut|unverified): /.test(name)) {
			kind = MARK;
			path = module = '';
		} else if (kind !== KERNEL && (!what.name || /^\[(unknown|.*\+0x[0-9a-f]+)\]$/.test(name)))
			kind = UNKNOWN;
		const key = `${kind} ${path}\n${name}`;
		let number = this.numberOf.get(key);
		if (number === undefined) {
			number = this.frames.length;
			this.frames.push({ name, kind, module, path, text: '', file: this.string(what.file) });
			this.numberOf.set(key, number);
		}
		return number;
	}

	readSamples() {
		const { samples } = this.parts, n = samples.length / 2;
		this.n = n;
		this.begins = new Uint32Array(n + 1); // of stacks, in rows
		this.rows = new Uint32Array(n * 8);
		this.values = this.types.map(() => new Float64Array(n));
		this.isBase = new Uint8Array(n);
		this.sliceOf = new Int32Array(n);
		this.facets = [];
		this.facetOf = new Map();
		const message = new Message(this.parts.bytes), ids = [], values = [];
		for (let sample = 0; sample < n; sample++) {
			let nIds = 0, nValues = 0;
			message.at = samples[2 * sample];
			message.end = samples[2 * sample + 1];
			while (message.next()) {
				if (message.field === 1)
					nIds = message.numbers(ids, nIds);
				else if (message.field === 2)
					nValues = message.numbers(values, nValues);
				else if (message.field === 3)
					this.readLabel(sample, message.record(LABEL_FIELDS));
			}
			this.values.forEach((of, type) => {
				of[sample] = type < nValues ? values[type] : 0;
			});
			if (!nIds) {
				ids[nIds++] = -1;
				this.parts.strings[-1] = '[no stack]';
				this.places[-1] = [this.frameOfLine({ name: -1 }, -1, UNKNOWN, 1)];
			}
			this.putStack(sample, ids, nIds);
		}
		const { facetOf } = this, [comm, pid] = ['comm', 'pid'].map((key) => facetOf.get(key));
		if (comm && pid)
			pid.name(comm);
		this.facets = this.facets.filter((facet) => facet.values.length > 1)
			.sort((a, b) => (b === comm) - (a === comm));
	}

	// Location ids are innermost first, rows are outermost first.
	putStack(sample, ids, nIds) {
		let at = this.begins[sample];
		for (let i = nIds; i-- > 0;) {
			const frames = this.places[ids[i]] || [];
			if (at + frames.length > this.rows.length) {
				const longer = new Uint32Array(2 * at + frames.length);
				longer.set(this.rows);
				this.rows = longer;
			}
			for (let k = frames.length; k-- > 0;)
				this.rows[at++] = frames[k];
		}
		this.begins[sample + 1] = at;
	}

	readLabel(sample, label) {
		const key = this.string(label.key);
		if (key === 'pprof::base') {
			this.isBase[sample] = 1;
			this.isDifference = true;
			return;
		}
		if (key === 'slice' && this.slices.length) {
			this.sliceOf[sample] = label.number || 0;
			return;
		}
		let facet = this.facetOf.get(key);
		if (!facet) {
			facet = new Facet(key, this.n);
			this.facetOf.set(key, facet);
			this.facets.push(facet);
		}
		const unit = label.unit ? ` ${this.string(label.unit)}` : '';
		facet.put(sample, label.text ? this.string(label.text) : (label.number || 0) + unit);
	}

	// The name of a frame as the page shows it. Names that read like marks of ours lose their '['.
	label(frame) {
		const f = this.frames[frame];
		f.text = f.text || (f.kind === MARK || f.kind === UNKNOWN ? shown(f.name)
			: shown(f.name).replace(/^\[(?=cut|unverified|unknown|no stack)/, '\\u{5b}'));
		return f.text;
	}

	// The value of each sample, of the chosen labels and slices. LABELS: numbers of facets, each
	// followed by that of a value.
	weights({ value, labels, span }) {
		const n = this.n, of = this.values[value];
		const now = new Float64Array(n), before = new Float64Array(this.isDifference ? n : 0);
		const wanted = this.facets.map((facet, i) => ({ of: facet.of,
			set: new Set(labels.filter((_, k) => k % 2 && labels[k - 1] === i)) }))
			.filter(({ set }) => set.size);
		for (let i = 0; i < n; i++) {
			if (this.sliceOf[i] < span[0] || this.sliceOf[i] > span[1])
				continue;
			if (wanted.some(({ of, set }) => !set.has(of[i])))
				continue;
			if (this.isBase[i])
				before[i] = -of[i];
			else
				now[i] = of[i];
		}
		return { now, before };
	}
}
