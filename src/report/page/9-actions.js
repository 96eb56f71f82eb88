// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The rest of the page, and its beginning: filters, details, keys, printing.

const copyText = async (text) => {
	try {
		await navigator.clipboard.writeText(text);
	} catch {
		const area = document.body.appendChild(make('textarea', { value: text, className: 'unseen' }));
		area.select();
		document.execCommand('copy');
		area.remove();
	}
};

// Each action: its key, its name, what it does with the frame, the name of the elements that do it,
// the word on a button for a frame.
const cycle = (list, item) => list[(list.indexOf(item) + 1) % list.length];
const ACTIONS = [
	...VIEWS.map(([view, name], i) => [String(i + 1), name,
		(p, frame) => (view === 'sandwich' ? p.sandwich(frame) : p.go({ view }))]),
	['i', 'Callees first', (p) => p.go({ inverted: !p.state.inverted, zoom: [] }), 'invert'],
	['o', 'Root at the bottom (flame) or top (icicle)',
		(p) => p.go({ upward: !p.state.upward }), 'flip'],
	['Enter', 'Zoom to the frame', (p) => p.zoomChosen(), 'zoom', 'Zoom'],
	['Backspace', 'Back', (p) => p.back()],
	['u', 'Zoom out by one', (p) => p.go({ zoom: p.state.zoom.slice(0, -1) })],
	['0', 'Zoom out to all', (p) => p.go({ zoom: [] })],
	['s', 'Callers and callees', (p, frame) => p.sandwich(frame), 'sandwich', 'Callers & callees'],
	['f', 'Focus: only its stacks', (p, frame) => p.add('only', frame), 'only', 'Focus'],
	['x', 'Exclude its stacks', (p, frame) => p.add('without', frame), 'without', 'Exclude'],
	['h', 'Hide the function', (p, frame) => p.add('hide', frame), 'hide', 'Hide'],
	['a', 'Show all: no filters', (p) => p.go({ ...UNFILTERED, labels: [], span: [] })],
	['y', 'Copy the name', (p) => p.copy(false), 'copy', 'Copy'],
	['Y', 'Copy the stack', (p) => p.copy(true), 'copy-stack', 'Copy stack'],
	['/', 'Search', () => find('query').focus()],
	['n', 'Next match', (p) => p.nextMatch(1), 'next'],
	['N', 'Previous match', (p) => p.nextMatch(-1), 'previous'],
	['Escape', 'End the search', (p) => p.go({ query: '' }, false)],
	['c', 'Next colours', (p) => p.go({ colour:
		cycle([...find('colour').options].map((o) => o.value), p.painter().by) })],
	['v', 'Next value', (p) => p.go({ value: (p.state.value + 1) % p.profile.types.length })],
	['l', 'Filter by labels', (p) => p.openFacets()],
	['t', 'To the timeline', () => find('from')?.focus()],
	['g', 'To the graph or list', (p) => p.focusView()],
	['d', 'Dark or light',
		(p) => p.go({ theme: p.theme === 'dark' ? 'light' : 'dark' }, false), 'theme'],
	['?', 'These keys', () => find('help').showModal(), 'help'],
].map(([key, name, run, id, deed]) => ({ key, name, run, id, deed }));

Object.assign(Page.prototype, {
	add(list, frame) {
		if (frame >= 0 && !this.state[list].includes(frame))
			this.go({ [list]: [...this.state[list], frame],
				zoom: list === 'hide' ? without(this.state.zoom, frame) : this.state.zoom });
	},

	// Without a frame: the last one, or the widest.
	sandwich(frame) {
		const tree = this.tree(), { centre } = this.state;
		this.go({ view: 'sandwich', centre: frame >= 0 ? frame : centre >= 0 ? centre
			: tree.frame[tree.children(0)[0] ?? 0] });
	},

	back() {
		if (this.pushed > 0) {
			this.pushed--;
			history.back();
		} else {
			this.go({ zoom: this.state.zoom.slice(0, -1) });
		}
	},

	zoomChosen() {
		const { chosen } = this;
		if (chosen?.tree === this.tree())
			this.go({ view: 'flame', zoom: chosen.tree.path(chosen.node) });
	},

	copy(isStack) {
		const { chosen, frame } = this;
		if (frame < 0)
			return;
		const frames = isStack && chosen.tree ? chosen.tree.path(chosen.node) : [frame];
		copyText(frames.map((f) => harmless(this.profile.frames[f].name)).join('\n'));
		this.say('copied');
	},

	openFacets() {
		const { facets } = this.profile;
		find('labels').open = facets.length > 0 && !find('labels').open;
		this.renderFacets();
		(find('labels').open ? find('facets').querySelector('input') : find('flame'))?.focus();
	},

	focusView() {
		const { view } = this.state;
		const target = { flame: '#flame', sandwich: '#callees' }[view] || `#view-${view} [tabindex="0"]`;
		document.querySelector(target)?.focus();
	},

	renderWhere() {
		const { state, profile } = this, { view, zoom, labels, span, centre } = state, tree = this.tree();
		const nodes = [], chips = [];
		for (let node = tree.find(zoom); node > 0; node = tree.parent[node])
			nodes.unshift(node);
		if (nodes.length > 8)
			nodes.splice(3, nodes.length - 7, -1);
		const crumbs = nodes.length && (view === 'flame' || view === 'tree') ? [0, ...nodes] : [];
		fill(find('crumbs'), ...crumbs.map((node) => (node < 0 ? make('span', {}, '…')
			: button(bdi(tree.name(node)), () => this.zoomTo(node)))));
		if (crumbs.length)
			aria(find('crumbs').lastChild, { current: true });
		const put = (words, name, undo) => chips.push(make('li', {}, words, bdi(name), undo ? button('×',
			() => this.go(undo), { 'aria-label': `Remove: ${words} ${name}` }) : ''));
		if (view === 'sandwich' && centre >= 0)
			put('callers and callees of', profile.label(centre));
		for (const [list, words] of [['only', 'only'], ['without', 'without'], ['hide', 'hidden:']])
			for (const f of state[list])
				put(words, profile.label(f), { [list]: without(state[list], f) });
		profile.facets.forEach(({ key, values }, i) => labels.forEach((v, k) => {
			if (k % 2 && labels[k - 1] === i && values[v] !== undefined)
				put(`${shown(key)}:`, shown(values[v]), { labels: labels.toSpliced(k - 1, 2) });
		}));
		if (span.length && this.timeline)
			put('time:', this.timeline.text, { span: [] });
		fill(find('chips'), ...chips);
		find('where').hidden = !chips.length && !crumbs.length;
	},

	renderDetails() {
		const { chosen, profile, frame } = this, line = find('chosen');
		find('deeds').hidden = frame < 0;
		if (frame < 0) {
			line.textContent = 'Click a frame, or use the arrow keys. ? shows all keys.';
			return;
		}
		const f = profile.frames[frame];
		const numbers = chosen.tree ? numbersOf(chosen.tree, chosen.node) : [];
		fill(line, make('strong', {}, bdi(profile.label(frame))), ' ',
			piece('module', bdi([f.path, f.file].filter(Boolean).map(shown).join(', '))),
			make('br'), [KINDS[f.kind], ...numbers].join(' · '));
	},

	// Show numbers of NODE beside the pointer.
	tip(tree, node, event) {
		const tip = find('tip'), { style } = tip;
		tip.hidden = node < 0;
		if (node < 0)
			return;
		fill(tip, make('strong', {}, bdi(tree.name(node))), piece('module',
			bdi(node > 0 ? moduleOf(tree.of(node)) : '')), numbersOf(tree, node).join('\n'));
		const { clientX: x, clientY: y } = event, high = tip.offsetHeight;
		style.left = `${max(4, min(x + 14, innerWidth - tip.offsetWidth - 8))}px`;
		style.top = `${y + high + 24 > innerHeight ? y - high - 10 : y + 18}px`;
	},

	// For each label its values, most frequent first.
	renderFacets() {
		const { profile, state } = this, { value, span, labels } = state;
		const { now, before } = profile.weights({ value, span, labels: [] });
		const all = sumOf(now.map(abs));
		fill(find('facets'), ...profile.facets.map(({ key, values, of }, i) => {
			const sums = new Float64Array(values.length);
			const at = (v) => labels.findIndex((n, k) => k % 2 && n === v && labels[k - 1] === i);
			now.forEach((v, s) => {
				sums[of[s]] += max(abs(v), abs(before[s] || 0));
			});
			const order = [...sums.keys()].filter((v) => sums[v] > 0)
				.sort((a, b) => sums[b] - sums[a] || a - b);
			const choose = (v) => {
				this.go({ labels: at(v) < 0 ? [...labels, i, v] : labels.toSpliced(at(v) - 1, 2) });
				find(`facet-${i}-${v}`)?.focus();
			};
			const list = make('div', { className: 'values' });
			const put = (text) => fill(list, ...order.filter((v) => values[v].includes(text))
				.slice(0, 100).map((v) => make('label', {}, make('input', { type: 'checkbox',
					id: `facet-${i}-${v}`, checked: at(v) >= 0,
					onchange: () => choose(v) }),
				bdi(shown(values[v])), make('small', {}, percent(sums[v], all)))));
			put('');
			const filter = make('input', { type: 'search', placeholder: 'Find',
				'aria-label': `Find ${shown(key)}`, oninput: () => put(filter.value) });
			return make('fieldset', {}, make('legend', {}, bdi(shown(key))),
				order.length > 12 ? filter : '', list);
		}));
	},

	onKey(event) {
		const { target, key } = event, isTyping = target.matches('input, select');
		const isButton = target.closest('button, summary') && key === 'Enter';
		const action = ACTIONS.find((a) => a.key === key);
		if (!action || isChord(event) || event.defaultPrevented ||
			isButton || (isTyping && key !== 'Escape') || find('help').open)
			return;
		event.preventDefault();
		find('labels').open = false;
		if (isTyping)
			this.focusView();
		action.run(this, this.frame);
	},

	listen() {
		const { profile } = this;
		document.onkeydown = (event) => this.onKey(event);
		document.onclick = ({ target }) => {
			const id = target.closest('[data-do]')?.dataset.do;
			if (id)
				ACTIONS.find((a) => a.id === id).run(this, this.frame);
			if (target.isConnected && !target.closest('#labels'))
				find('labels').open = false;
		};
		find('views').onkeydown = ({ key }) => {
			const step = { ArrowLeft: 4, ArrowRight: 1 }[key] || 0;
			const at = VIEWS.findIndex(([id]) => id === this.state.view) + step;
			if (!step)
				return;
			this.go({ view: VIEWS[at % VIEWS.length][0] });
			find(`tab-${this.state.view}`).focus();
		};
		find('search').onsubmit = (event) => {
			event.preventDefault();
			this.nextMatch(1);
		};
		find('query').oninput = () => this.go({ query: find('query').value }, false);
		find('colour').onchange = () => this.go({ colour: find('colour').value });
		find('value').onchange = () => this.go({ value: Number(find('value').value) });
		find('labels').ontoggle = () => find('labels').open && this.renderFacets();
		onhashchange = () => {
			if (location.hash !== this.ours) {
				this.state = stateOf(location.hash.slice(1), profile);
				this.render();
			}
			this.ours = null;
		};
		onresize = dark.onchange = () => this.isPrinting || this.render();
		onbeforeprint = () => this.print(true);
		onafterprint = () => this.print(false);
	},

	print(isPrinting) {
		const { view } = this.state;
		this.isPrinting = isPrinting;
		this.render();
		for (const flame of view === 'flame' ? [this.flame]
			: view === 'sandwich' ? [this.callers, this.callees] : [])
			flame.print(isPrinting);
	},
});

async function start() {
	try {
		const data = find('profile-data'), changes = find('profile-changes');
		const bytes = await gunzip(bytesOfBase64(data.textContent.trim()));
		data.remove();
		START.inverted = !!find('inverted');
		window.page = new Page(new Profile(readProfile(bytes)),
			changes && JSON.parse(changes.textContent));
		performance.mark('first-picture');
	} catch (error) {
		find('facts').className = 'failure';
		find('facts').textContent = `cannot show this profile: ${harmless(String(error.message))}`;
		throw error;
	}
}
start();
