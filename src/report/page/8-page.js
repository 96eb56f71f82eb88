// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The page: its views of a state.

const dark = matchMedia('(prefers-color-scheme: dark)');
const without = (list, item) => list.filter((i) => i !== item);
const sumOf = (list) => list.reduce((a, b) => a + b, 0);
const doing = (name) => document.querySelector(`[data-do="${name}"]`);

class Page {
	constructor(profile, changes) {
		Object.assign(this, { profile, changes, made: new Map(), pushed: 0 });
		this.chosen = null; // { tree, node } or { frame }
		this.state = stateOf(location.hash.slice(1), profile);
		this.makeViews();
		this.makeHeader();
		this.makeTools();
		this.listen();
		this.render();
	}

	// The result of create(), kept until the key changes.
	keep(name, key, create) {
		const text = JSON.stringify(key), old = this.made.get(name);
		if (old?.text === text)
			return old.value;
		// Of a tree that goes, the frame stays chosen, without numbers.
		if (old && this.chosen?.tree === old.value)
			this.chosen = { frame: this.frame };
		const value = create();
		this.made.set(name, { text, value });
		return value;
	}

	get theme() {
		return this.isPrinting ? 'light' : this.state.theme || (dark.matches ? 'dark' : 'light');
	}

	get type() {
		return this.profile.types[this.state.value] || { name: 'total', unit: '' };
	}

	weights() {
		const { value, labels, span } = this.state;
		return this.keep('weights', [value, labels, span], () =>
			this.profile.weights({ value, labels, span }));
	}

	tree(name = 'tree', extra = {}) {
		const { inverted, hide, only, without } = this.state, weights = this.weights();
		const shape = { inverted, hide, only, without, ...extra };
		const tree = this.keep(name, shape, () => new Tree(this.profile, shape));
		if (tree.weights !== weights)
			tree.weigh(weights);
		tree.unit = this.type.unit;
		tree.word = wordOf(this.type);
		return tree;
	}

	painter() {
		const by = this.state.colour || (this.profile.isDifference ? 'change' : 'kind');
		return this.keep('painter', [by, this.theme], () => new Painter(this.profile, by, this.theme));
	}

	// 1 for each frame that the search finds; null without a search; undefined: no expression.
	wanted() {
		const { query } = this.state;
		return this.keep('wanted', query, () => {
			try {
				const re = new RegExp(query, /\p{Lu}/u.test(query) ? 'u' : 'iu');
				return query
					? Uint8Array.from(this.profile.frames, (f) => re.test(f.name.slice(0, 10000))) : null;
			} catch {
				return undefined;
			}
		});
	}

	// Change the state. The browser's "back" undoes a change that is pushed.
	go(changes, isPushed = true) {
		this.state = { ...this.state, ...changes };
		const fragment = `#${fragmentOf(this.state)}`;
		if (fragment !== (location.hash || '#')) {
			this.ours = fragment;
			this.pushed += isPushed;
			if (isPushed)
				location.hash = fragment;
			else
				location.replace(fragment);
		}
		this.render();
	}

	say(text) {
		find('said').textContent = text;
	}

	makeViews() {
		const flameOf = (name, open) => new Flame(find(name), { open,
			select: (node, flame) => this.choose({ tree: flame.view.tree, node }),
			hover: (node, event) => this.tip(this[name].view.tree, node, event) });
		const open = (node) => this.zoomTo(node);
		this.flame = flameOf('flame', open);
		for (const name of ['callers', 'callees'])
			this[name] = flameOf(name, (node) => this.go({ centre: this[name].view.tree.frame[node] }));
		this.table = new Table(find('view-functions'), {
			select: (frame) => this.choose({ frame }),
			open: (frame) => this.go({ view: 'sandwich', centre: frame }),
			sort: (sort) => this.go({ sort }, false),
		});
		this.outline = new Outline(find('outline'), { open,
			select: (node) => this.choose({ tree: this.outline.tree, node }) });
		const { slices } = this.profile;
		find('timeline').hidden = slices.length < 2;
		if (slices.length > 1)
			this.timeline = new Timeline(slices, (span, isDone) =>
				this.go({ span: span[0] || span[1] < slices.length - 1 ? span : [] }, isDone));
	}

	makeHeader() {
		const { profile } = this, { facts, begin, duration, types } = profile;
		const date = (ns) => +ns &&
			`${new Date(ns / 1e6).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
		const now = profile.weights(START).now, notices = this.notices(now);
		const time = (ns) => +ns && amount(+ns, 'nanoseconds');
		const linux = (release) => release && `Linux ${release}`;
		const was = (key) => facts[`before-${key}`];
		const earlier = [was('host'), linux(was('kernel')), date(was('begin_ns')),
			time(was('duration_ns')), was('command')].filter(Boolean).join(' · ');
		const pairs = [['Command', facts.command], ['Host', facts.host],
			['Kernel', linux(facts.kernel)], ['Begin', date(begin)], ['Duration', time(duration)],
			['Sum', types[0] && `${amount(sumOf(now), types[0].unit)} ${wordOf(types[0])}`],
			['Cost', facts.cost_ns && `${time(facts.cost_ns)} a hit`],
			['Form', profile.isDifference && `difference${
				facts.normalized ? ', scaled to equal sums,' : ''} from ${earlier || 'another run'}`],
			['Noise', profile.isDifference && this.noise()],
			['Program', facts.program],
			['Stacks', count(new Set(this.tree('tree', UNFILTERED).leaf).size)],
			['Values', types.map((t) => `${t.name} (${t.unit})`).join(', ')],
			['Losses', notices.join('; ') || 'none']]
			.filter(([, text]) => text).map(([name, text]) => [name, bdi(shown(text))]);
		document.title = find('command').textContent = shown(facts.command || 'stackcount');
		const brief = pairs.filter(([name]) => /Host|Kernel|Begin|Duration|Sum|Cost|Form/.test(name));
		fill(find('facts'), ...brief.flatMap(([, text], i) =>
			[i ? ' · ' : '', text.cloneNode(true)]));
		fill(find('notices'), ...notices.map((text) => make('li', {}, bdi(text))));
		const cell = (text) => make('td', { className: 'text' }, bdi(shown(text)));
		fill(find('run'), ...pairs.flatMap(([name, text]) =>
			[make('dt', {}, name), make('dd', {}, text)]));
		fill(find('files'), ...profile.images.slice(0, 1000).map((m) =>
			make('tr', {}, cell(m.path), cell(m.buildId))));
	}

	// What is missing, and why.
	notices(now) {
		const { profile } = this, all = sumOf(now), marks = new Map();
		const { rows, begins, frames } = profile;
		const found = profile.losses.map(({ n, reason }) => `lost ${count(n)}: ${shown(reason)}`);
		for (let s = 0; s < profile.n; s++)
			for (let i = begins[s]; i < begins[s + 1]; i++)
				if (frames[rows[i]].kind === MARK)
					marks.set(rows[i], (marks.get(rows[i]) || 0) + now[s]);
		for (const [frame, n] of marks)
			found.push(`${profile.label(frame).slice(1, -1)}: ${percent(n, all)}`);
		const [hits, hidden] = (profile.facts.hidden || '').split(' ').map(Number);
		if (hidden)
			found.push(`left out: ${amount(hits, profile.types[0]?.unit)} in ${some(hidden, 'row')}`);
		return found;
	}

	makeTools() {
		const { types, facets, isDifference } = this.profile;
		fill(find('views'), ...VIEWS.map(([id, label], i) => button(label,
			() => ACTIONS[i].run(this, this.frame), { id: `tab-${id}`, role: 'tab', title: `Key: ${i + 1}`,
				'aria-controls': `view-${id}` })));
		const offer = (id, options) => fill(find(id), ...options.map(([value, text]) =>
			make('option', { value }, text)));
		offer('colour', ['change', 'kind', 'module'].slice(isDifference ? 0 : 1).map((by) =>
			[by, `Colour: ${by}`]));
		offer('value', types.map((t, i) => [i, `Value: ${wordOf(t)}`]));
		find('value').hidden = types.length < 2;
		find('labels').hidden = !facets.length;
		for (const { key, name, id, deed } of ACTIONS) {
			if (deed)
				find('deeds').append(button(deed, null, { 'data-do': id }));
			if (id)
				doing(id).title = `${name} (key: ${key})`;
		}
		fill(find('keys'), ...ACTIONS.map(({ key, name }) =>
			make('tr', {}, make('td', {}, make('kbd', {}, key)), make('td', {}, name))));
	}

	zoomTo(node) {
		const tree = this.tree();
		this.go({ zoom: tree.path(node) });
		this.say(`zoomed to ${describe(tree, node)}`);
	}

	choose(chosen) {
		this.chosen = chosen;
		this.renderDetails();
	}

	// The frame that keys act on; -1: none.
	get frame() {
		const { chosen } = this;
		return !chosen ? -1 : chosen.tree ? chosen.tree.frame[chosen.node] : chosen.frame;
	}

	render() {
		const { state } = this;
		document.documentElement.dataset.theme = this.theme;
		for (const [id] of VIEWS) {
			const tab = find(`tab-${id}`), isShown = id === state.view;
			find(`view-${id}`).hidden = !isShown;
			aria(tab, { selected: isShown });
			tab.tabIndex = isShown ? 0 : -1;
		}
		aria(doing('invert'), { pressed: state.inverted });
		aria(doing('flip'), { pressed: state.upward });
		find('colour').value = this.painter().by;
		find('value').value = state.value;
		if (document.activeElement !== find('query'))
			find('query').value = state.query;
		fill(find('legend'), ...this.painter().legend().map(([colour, text]) => {
			const swatch = make('i');
			swatch.style.background = colour;
			return make('span', {}, swatch, bdi(text));
		}));
		this.renderTimeline();
		this.renderWhere();
		this.renderView();
		this.renderFound();
		this.renderDetails();
		if (find('labels').open)
			this.renderFacets();
	}

	renderTimeline() {
		const { value, labels, span } = this.state, { profile, type } = this;
		const sums = this.keep('slices', [value, labels], () => {
			const found = profile.slices.map(() => 0), { now } = profile.weights({ value, labels, span: [] });
			now.forEach((v, i) => {
				found[profile.sliceOf[i]] += v;
			});
			return found;
		});
		this.timeline?.show(sums, span, this.painter().theme, (sum) =>
			`${amount(sum, type.unit)} ${wordOf(type)}`);
	}

	renderView() {
		const { state, profile } = this, { view, hide, sort } = state, wanted = this.wanted() || null;
		const tree = this.tree(), zoom = tree.find(state.zoom), painter = this.painter();
		if (view === 'flame') {
			this.flame.show({ tree, base: 0, zoom, upward: state.upward, painter, wanted });
		} else if (view === 'functions') {
			if (this.summed?.weights !== tree.weights || this.summed.tree !== tree)
				this.summed = { tree, weights: tree.weights, sums: sumFunctions(profile, tree, hide) };
			this.table.show({ profile, sums: this.summed.sums, tree, sort, wanted,
				verdicts: this.verdicts() });
		} else if (view === 'tree') {
			const words = profile.isDifference ? ['before', 'now', 'change'] : ['share', 'total', 'self'];
			fill(find('columns'), ...words.map((text) => piece('number', text)));
			this.outline.show({ tree, zoom, wanted });
		} else if (view === 'sandwich' && state.centre >= 0) {
			for (const name of ['callers', 'callees']) {
				const half = this.tree(name, { inverted: name === 'callers', centre: state.centre, hide: [] });
				const base = max(half.first[0], 0);
				this[name].show({ tree: half, base, zoom: base, upward: name === 'callers', painter, wanted });
			}
		}
	}

	// For a frame: which of its changes are beyond noise; null without data about noise.
	verdicts() {
		const { changes } = this;
		if (!changes)
			return null;
		const key = (name, module, isKernel) => JSON.stringify([name, module, isKernel]);
		const known = new Map(changes.functions.map((f) => [key(f.name, f.module || '', f.kind === 'kernel'),
			['self', 'total'].filter((side) => f[side].beyond_noise).join(', ') || 'no']));
		return ({ name, module, kind }) => known.get(kind !== KERNEL ? key(name, module, false)
			: key(name, module === '[kernel]' ? '' : module.replace(/[[\]]/g, ''), true)) || '';
	}

	noise() {
		const { n_before, n_after } = this.changes || {};
		return n_after ? 'beyond noise: by more than three standard errors, known from slices of time ' +
			`(${n_before} before, ${n_after} after)` : 'too little data for a claim';
	}

	renderFound() {
		const wanted = this.wanted(), found = find('found');
		aria(find('query'), { invalid: wanted === undefined });
		this.matches = null;
		found.textContent = wanted === undefined ? 'no regular expression' : '';
		if (!wanted)
			return;
		const tree = this.tree(), n = sumOf(wanted);
		this.matches = tree.matches(wanted);
		found.textContent = `${some(n, 'function')}, ${percent(this.matches.sum, tree.all)}`;
	}

	nextMatch(step) {
		const nodes = this.matches?.nodes || [], n = nodes.length;
		if (!n)
			return;
		const from = nodes.indexOf(this.flame.selected);
		const at = from < 0 ? (step < 0 ? n - 1 : 0) : (from + step + n) % n;
		const node = nodes[at], tree = this.tree(), { width, parent } = tree;
		// Zoom so that it can be seen, and no more.
		let zoom = tree.find(this.state.zoom);
		if (!tree.isBelow(node, zoom))
			zoom = 0;
		if (width[node] < width[zoom] / 200)
			for (zoom = node; zoom && width[zoom] < width[node] * 5;)
				zoom = parent[zoom];
		this.go({ view: 'flame', zoom: tree.path(zoom) });
		find('flame').focus({ preventScroll: true });
		this.flame.select(node);
		this.say(`match ${at + 1} of ${n}: ${describe(tree, node)}`);
	}
}
