// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The page: what it shows of a state, and what each key and button does to the state.

const find = (id) => document.getElementById(id);
const dark = matchMedia('(prefers-color-scheme: dark)');
const without = (list, item) => list.filter((i) => i !== item);

class Page {
	constructor(profile, changes) {
		this.profile = profile;
		this.changes = changes;
		this.made = new Map();
		this.pushed = 0;
		this.chosen = null; // { tree, node } or { frame }
		this.state = stateOf(location.hash.slice(1), profile);
		this.makeViews();
		this.makeHeader();
		this.makeTools();
		this.makeAbout();
		this.listen();
		this.render();
	}

	// What make() returns, kept until the key changes.
	keep(name, key, create) {
		const text = JSON.stringify(key), old = this.made.get(name);
		if (old?.text === text)
			return old.value;
		const value = create();
		this.made.set(name, { text, value });
		return value;
	}

	get theme() {
		return this.printing ? 'light' : this.state.theme || (dark.matches ? 'dark' : 'light');
	}

	get unit() {
		const { name, unit } = this.profile.types[this.state.value] || { name: '', unit: '' };
		return unit === 'count' ? name : unit;
	}

	weights() {
		const { value, labels, span } = this.state;
		return this.keep('weights', [value, labels, span], () =>
			this.profile.weights({ value, labels, span }));
	}

	tree(name = 'tree', extra = {}) {
		const { inverted, hide, only, without } = this.state;
		const shape = { inverted, hide, only, without, ...extra };
		const tree = this.keep(name, shape, () => new Tree(this.profile, shape));
		const weights = this.weights();
		if (tree.weights !== weights)
			tree.weigh(weights);
		tree.unit = this.unit;
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
			if (!query)
				return null;
			try {
				const re = new RegExp(query, /\p{Lu}/u.test(query) ? 'u' : 'iu');
				return Uint8Array.from(this.profile.frames, (f) => re.test(f.name.slice(0, 10000)));
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
			if (isPushed) {
				this.pushed++;
				location.hash = fragment;
			} else {
				location.replace(fragment);
			}
		}
		this.render();
	}

	say(text) {
		find('said').textContent = text;
	}

	makeViews() {
		const pick = (node) => this.zoomTo(node);
		const select = (node, flame) => this.choose({ tree: flame.view.tree, node });
		const hover = (flame) => (node, event) => this.tip(flame().view.tree, node, event);
		this.flame = new Flame(find('flame'), { pick, select, hover: hover(() => this.flame) });
		const [callers, callees] = ['callers', 'callees'].map((name) => new Flame(find(name), {
			select, hover: hover(() => this[name]),
			pick: (node) => this.go({ centre: this[name].view.tree.frame[node] }),
		}));
		this.callers = callers;
		this.callees = callees;
		this.table = new Table(find('view-functions'), {
			select: (frame) => this.choose({ frame }),
			open: (frame) => this.go({ view: 'sandwich', centre: frame }),
			sort: (sort) => this.go({ sort }, false),
		});
		this.outline = new Outline(find('outline'), { pick,
			select: (node) => this.choose({ tree: this.outline.tree, node }) });
		if (this.profile.slices.length > 1)
			this.timeline = new Timeline(find('timeline'), this.profile.slices, {
				choose: (span, isDone) => this.go({
					span: span[0] || span[1] < this.profile.slices.length - 1 ? span : null }, isDone),
			});
		else
			find('timeline').remove();
	}

	makeHeader() {
		const { profile } = this, { facts } = profile;
		const title = shown(facts.command || facts.program || 'stackcount');
		document.title = title;
		find('command').textContent = title;
		const sum = profile.weights(START).now.reduce((a, b) => a + b, 0), parts = [];
		const put = (text) => text && parts.push(text);
		put(facts.host && shown(facts.host));
		put(facts.kernel && `Linux ${shown(facts.kernel)}`);
		put(profile.begin && new Date(profile.begin / 1e6).toLocaleString());
		put(profile.duration && amount(profile.duration, 'nanoseconds'));
		const first = profile.types[0];
		put(first && `${amount(sum, first.unit)} ${shown(first.name)}`);
		put(facts.cost_ns && `${amount(Number(facts.cost_ns), 'nanoseconds')} a hit`);
		put(profile.isDifference && 'difference of two runs');
		find('facts').replaceChildren(...parts.flatMap((text, i) => [i ? ' · ' : '', bdi(text)]));
		find('notices').replaceChildren(...this.notices().map((text) => make('li', {}, bdi(text))));
	}

	// What is missing, and why.
	notices() {
		const { profile } = this, found = [];
		for (const { n, reason } of profile.losses)
			found.push(`lost ${n.toLocaleString('en')}: ${shown(reason)}`);
		const marks = new Map(), now = profile.weights(START).now;
		const all = now.reduce((a, b) => a + b, 0);
		for (let s = 0; s < profile.n; s++)
			for (let i = profile.begins[s]; i < profile.begins[s + 1]; i++)
				if (profile.frames[profile.rows[i]].kind === MARK)
					marks.set(profile.rows[i], (marks.get(profile.rows[i]) || 0) + now[s]);
		for (const [frame, n] of marks)
			found.push(`${profile.label(frame).slice(1, -1)}: ${percent(n, all)} of stacks`);
		const [hits, stacks] = (profile.facts.hidden || '').split(' ').map(Number);
		if (hits)
			found.push(`left out: ${hits.toLocaleString('en')} in ${stacks} stacks`);
		return found;
	}

	makeTools() {
		find('views').replaceChildren(...VIEWS.map(([id, label], i) => {
			const tab = make('button', { type: 'button', id: `tab-${id}`, role: 'tab', title: `Key: ${i + 1}`,
				'aria-controls': `view-${id}` }, label);
			tab.addEventListener('click', () => this.go({ view: id }));
			return tab;
		}));
		const ways = [['kind', 'kind'], ['module', 'module']];
		if (this.profile.isDifference)
			ways.unshift(['change', 'change']);
		find('colour').replaceChildren(...ways.map(([value, text]) => make('option', { value }, text)));
		find('value').replaceChildren(...this.profile.types.map((t, i) =>
			make('option', { value: i }, shown(t.name))));
		find('value-label').hidden = this.profile.types.length < 2;
		find('labels').hidden = !this.profile.facets.length;
		for (const { key, name, button, deed } of ACTIONS) {
			const element = button && document.querySelector(`[data-do="${button}"]`);
			if (element)
				element.title = `${name} (key: ${key})`;
			if (deed)
				find('deeds').append(make('button', { type: 'button', 'data-do': button,
					title: `${name} (key: ${key})` }, deed));
		}
		const rows = ACTIONS.map(({ key, name }) =>
			make('tr', {}, make('td', {}, make('kbd', {}, key)), make('td', {}, name)));
		find('help').replaceChildren(make('h2', {}, 'Keys'), make('table', {}, ...rows),
			make('form', { method: 'dialog' }, make('button', {}, 'Close')));
	}

	makeAbout() {
		const { profile } = this, { facts } = profile;
		const pairs = [['Command', facts.command], ['Program', facts.program], ['Host', facts.host],
			['Kernel', facts.kernel],
			['Begin', profile.begin && new Date(profile.begin / 1e6).toISOString()],
			['Duration', profile.duration && amount(profile.duration, 'nanoseconds')],
			['Cost of a hit', facts.cost_ns && amount(Number(facts.cost_ns), 'nanoseconds')],
			['Stacks', profile.n.toLocaleString('en')],
			['Functions', profile.frames.length.toLocaleString('en')],
			['Values', profile.types.map((t) => `${t.name} (${t.unit})`).join(', ')],
			['Noise', profile.isDifference && (this.changes?.noise || 'no claim: too little data')],
			['Losses', this.notices().join('; ') || 'none'],
			...profile.comments.slice(0, 100).map((text) => ['Comment', text])];
		const list = make('dl');
		for (const [name, value] of pairs)
			if (value)
				list.append(make('dt', {}, name), make('dd', {}, bdi(shown(String(value)))));
		const rows = profile.images.slice(0, 1000).map((m) => make('tr', {},
			make('td', { className: 'text' }, bdi(shown(m.path))),
			make('td', { className: 'text' }, bdi(shown(m.buildId)))));
		find('view-about').replaceChildren(make('h2', {}, 'This run'), list,
			make('h2', {}, 'Files'), make('table', {}, make('thead', {}, make('tr', {},
				make('th', { className: 'text' }, 'File'), make('th', { className: 'text' }, 'Build ID'))),
			make('tbody', {}, ...rows)));
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
		const { state, profile } = this;
		document.documentElement.dataset.theme = this.theme;
		for (const [id] of VIEWS) {
			find(`view-${id}`).hidden = id !== state.view;
			find(`tab-${id}`).setAttribute('aria-selected', String(id === state.view));
			find(`tab-${id}`).tabIndex = id === state.view ? 0 : -1;
		}
		document.querySelector('[data-do="invert"]').setAttribute('aria-pressed', String(state.inverted));
		document.querySelector('[data-do="flip"]').setAttribute('aria-pressed', String(state.upward));
		find('colour').value = this.painter().by;
		find('value').value = state.value;
		if (document.activeElement !== find('query'))
			find('query').value = state.query;
		this.renderTimeline();
		this.renderView();
		this.renderFound();
		this.renderWhere();
		this.renderDetails();
		find('legend').replaceChildren(...this.painter().legend().map(([colour, text]) => {
			const swatch = make('i');
			swatch.style.background = colour;
			return make('span', {}, swatch, bdi(text));
		}));
		if (find('labels').open)
			this.renderFacets();
		profile.isShown = true;
	}

	renderTimeline() {
		if (!this.timeline)
			return;
		const { value, labels, span } = this.state, { profile } = this;
		const sums = this.keep('slices', [value, labels], () => {
			const found = profile.slices.map(() => 0), { now } = profile.weights({ value, labels });
			now.forEach((v, i) => {
				found[profile.sliceOf[i]] += v;
			});
			return found;
		});
		this.timeline.show(sums, span, this.painter().theme, this.unit);
	}

	renderView() {
		const { state, profile } = this, wanted = this.wanted() || null;
		if (state.view === 'flame') {
			const tree = this.tree();
			this.flame.show({ tree, base: 0, zoom: tree.find(state.zoom), upward: state.upward,
				painter: this.painter(), wanted });
		} else if (state.view === 'functions') {
			const tree = this.tree(), { sort, hide } = state;
			const key = [tree.weights, hide, state.only, state.without].map((v) => v.now ? 0 : v);
			if (this.summed !== tree.weights)
				this.made.delete('sums');
			this.summed = tree.weights;
			const sums = this.keep('sums', key, () => sumFunctions(profile, tree, hide));
			this.table.show({ profile, sums, all: tree.total[0], unit: this.unit, sort, wanted,
				verdicts: this.verdicts() });
		} else if (state.view === 'tree') {
			const tree = this.tree();
			document.querySelector('#view-tree .columns').replaceChildren(
				...(profile.isDifference ? ['before', 'now', 'change'] : ['share', 'total', 'self'])
					.map((text) => make('span', { className: 'number' }, text)));
			this.outline.show({ tree, zoom: tree.find(state.zoom), wanted });
		} else if (state.view === 'sandwich') {
			this.renderSandwich(wanted);
		}
	}

	renderSandwich(wanted) {
		let { centre } = this.state;
		if (centre < 0)
			centre = Math.max(this.frame, this.tree().frame[this.tree().children(0)[0] ?? 0]);
		if (centre < 0)
			return;
		this.state.centre = centre;
		for (const name of ['callers', 'callees']) {
			const tree = this.tree(name, { inverted: name === 'callers', centre, hide: [] });
			const base = Math.max(tree.first[0], 0);
			this[name].show({ tree, base, zoom: base, upward: name === 'callers',
				painter: this.painter(), wanted });
		}
	}

	// Says for a frame whether its change is beyond noise; null without such knowledge.
	verdicts() {
		if (!this.changes?.functions || !this.profile.isDifference)
			return null;
		const known = new Map(this.changes.functions.map(([name, module, beyond]) =>
			[`${module || ''}\n${name}`, beyond]));
		return (f) => ({ true: 'yes', false: 'no' }[known.get(`${f.module}\n${f.name}`)] || '');
	}

	renderFound() {
		const wanted = this.wanted(), found = find('found'), query = find('query');
		query.setAttribute('aria-invalid', String(wanted === undefined));
		this.matches = null;
		if (!wanted) {
			found.textContent = wanted === undefined ? 'no regular expression' : '';
			return;
		}
		const tree = this.state.view === 'sandwich' ? this.callees.view.tree : this.tree();
		this.matches = tree.matches(wanted);
		this.matchTree = tree;
		const n = wanted.reduce((sum, v) => sum + v, 0);
		found.textContent = `${n.toLocaleString('en')} ${n === 1 ? 'function' : 'functions'}, ` +
			percent(this.matches.sum, tree.total[0]);
	}

	nextMatch(step) {
		const nodes = this.matches?.nodes;
		if (!nodes?.length)
			return;
		const from = nodes.indexOf(this.flame.selected);
		const at = from < 0 ? (step < 0 ? nodes.length - 1 : 0)
			: (from + step + nodes.length) % nodes.length;
		const node = nodes[at], tree = this.tree(), { width } = tree;
		this.state.view = 'flame';
		// Zoom so that it can be seen, and no more.
		let zoom = tree.find(this.state.zoom);
		const isIn = (top) => {
			let n = node;
			while (n > top)
				n = tree.parent[n];
			return n === top;
		};
		if (!isIn(zoom))
			zoom = 0;
		if (width[node] < width[zoom] / 200)
			for (zoom = node; zoom && width[zoom] < width[node] * 5; zoom = tree.parent[zoom]);
		this.flame.selected = node;
		this.go({ zoom: tree.path(zoom) });
		find('flame').focus({ preventScroll: true });
		this.flame.select(node);
		this.say(`match ${at + 1} of ${nodes.length}: ${describe(tree, node)}`);
	}
}
