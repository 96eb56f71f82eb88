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

// Each action has a key. button: elements that do it. deed: the word on a button for a frame.
const cycle = (list, item) => list[(list.indexOf(item) + 1) % list.length];
const ACTIONS = [
	...VIEWS.map(([view, label], i) => ({ key: String(i + 1), name: label, run: (p) => p.go({ view }) })),
	{ key: 'i', name: 'Callees first, or callers first', button: 'invert',
		run: (p) => p.go({ inverted: !p.state.inverted, zoom: [] }) },
	{ key: 'o', name: 'Root at the top (icicle) or at the bottom (flame)', button: 'flip',
		run: (p) => p.go({ upward: !p.state.upward }) },
	{ key: 'Enter', name: 'Zoom to the frame', button: 'zoom', deed: 'Zoom', run: (p) => p.zoomChosen() },
	{ key: 'Backspace', name: 'Back', button: 'back', run: (p) => p.back() },
	{ key: 'u', name: 'Zoom out by one frame', run: (p) => p.go({ zoom: p.state.zoom.slice(0, -1) }) },
	{ key: '0', name: 'Zoom out to everything', run: (p) => p.go({ zoom: [] }) },
	{ key: 's', name: 'All callers and callees of the function', button: 'sandwich',
		deed: 'Callers & callees', run: (p, frame) => frame >= 0 && p.go({ view: 'sandwich', centre: frame }) },
	{ key: 'f', name: 'Focus: only stacks with the function', button: 'only', deed: 'Focus',
		run: (p, frame) => p.add('only', frame) },
	{ key: 'x', name: 'Only stacks without the function', button: 'without', deed: 'Exclude',
		run: (p, frame) => p.add('without', frame) },
	{ key: 'h', name: 'Hide the function, keep its stacks', button: 'hide', deed: 'Hide',
		run: (p, frame) => p.add('hide', frame) },
	{ key: 'a', name: 'Show all: no filters', button: 'all',
		run: (p) => p.go({ hide: [], only: [], without: [], labels: [], span: null }) },
	{ key: 'y', name: 'Copy the name', button: 'copy', deed: 'Copy', run: (p) => p.copy(false) },
	{ key: 'Y', name: 'Copy the stack', button: 'copy-stack', deed: 'Copy stack', run: (p) => p.copy(true) },
	{ key: '/', name: 'Search', run: () => find('query').focus() },
	{ key: 'n', name: 'Next match', button: 'next', run: (p) => p.nextMatch(1) },
	{ key: 'N', name: 'Previous match', button: 'previous', run: (p) => p.nextMatch(-1) },
	{ key: 'Escape', name: 'End the search', run: (p) => p.go({ query: '' }, false) },
	{ key: 'c', name: 'Colours: kind, module, change', run: (p) => p.go({ colour:
		cycle([...find('colour').options].map((o) => o.value), p.painter().by) }) },
	{ key: 'v', name: 'The next value', run: (p) =>
		p.go({ value: (p.state.value + 1) % p.profile.types.length }) },
	{ key: 'l', name: 'Filter by process, command and other labels', run: (p) => p.openFacets() },
	{ key: 't', name: 'Timeline: arrow keys move its ends', run: () => find('from')?.focus() },
	{ key: 'g', name: 'To the graph, table or tree', run: (p) => p.focusView() },
	{ key: 'd', name: 'Dark or light', button: 'theme',
		run: (p) => p.go({ theme: p.theme === 'dark' ? 'light' : 'dark' }, false) },
	{ key: '?', name: 'These keys', button: 'help', run: () => find('help').showModal() },
];

Object.assign(Page.prototype, {
	add(list, frame) {
		if (frame >= 0 && !this.state[list].includes(frame))
			this.go({ [list]: [...this.state[list], frame],
				zoom: list === 'hide' ? without(this.state.zoom, frame) : this.state.zoom });
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
		const { state, profile } = this, tree = this.tree(), crumbs = find('crumbs');
		const nodes = [];
		for (let node = tree.find(state.zoom); node > 0; node = tree.parent[node])
			nodes.unshift(node);
		const shownNodes = nodes.length > 8 ? [...nodes.slice(0, 3), -1, ...nodes.slice(-4)] : nodes;
		const isZoomed = nodes.length > 0 && (state.view === 'flame' || state.view === 'tree');
		const crumb = (node) => {
			if (node < 0)
				return make('span', {}, '…');
			const button = make('button', { type: 'button' }, bdi(tree.name(node)));
			button.addEventListener('click', () => this.zoomTo(node));
			return button;
		};
		crumbs.replaceChildren(...(isZoomed ? [0, ...shownNodes].map(crumb) : []));
		if (isZoomed)
			crumbs.lastChild.setAttribute('aria-current', 'true');
		const chips = [];
		const put = (words, name, undo) => {
			const button = make('button', { type: 'button', 'aria-label': `Remove: ${words} ${name}` }, '×');
			button.addEventListener('click', () => this.go(undo));
			chips.push(make('li', {}, `${words} `, bdi(name), button));
		};
		for (const [list, words] of [['only', 'only'], ['without', 'without'], ['hide', 'hidden:']])
			for (const f of state[list])
				put(words, profile.label(f), { [list]: without(state[list], f) });
		state.labels.forEach((set, i) => set && put(`${shown(profile.facets[i].key)}:`,
			set.map((v) => shown(profile.facets[i].values[v])).slice(0, 5).join(', '),
			{ labels: state.labels.map((s, k) => (k === i ? undefined : s)) }));
		if (state.span)
			put('time:', find('span').textContent.split(' of ')[0], { span: null });
		if (state.view === 'sandwich' && state.centre >= 0)
			chips.unshift(make('li', { className: 'centre' }, 'callers and callees of ',
				bdi(profile.label(state.centre))));
		find('chips').replaceChildren(...chips);
		find('where').hidden = !chips.length && !isZoomed;
	},

	renderDetails() {
		const { chosen, profile, frame } = this, line = find('chosen');
		find('deeds').hidden = frame < 0;
		if (!chosen || frame < 0) {
			line.textContent = 'Click a frame, or move with the arrow keys. Key ? shows all keys.';
			return;
		}
		const f = profile.frames[frame], parts = [make('strong', {}, bdi(profile.label(frame)))];
		const where = [f.path, f.file].filter(Boolean).map(shown).join(', ');
		if (where)
			parts.push(' ', make('span', { className: 'module' }, bdi(where)));
		parts.push(make('br'), KINDS[f.kind]);
		if (chosen.tree) {
			const { tree, node } = chosen;
			const up = tree.total[tree.parent[node]];
			parts.push(` · ${amount(tree.total[node], tree.unit)} ${this.word()} · ` +
				`${percent(tree.total[node], tree.total[0])} of all · ${percent(tree.total[node], up)} ` +
				`of the frame before · self ${amount(tree.self[node], tree.unit)}`);
			if (profile.isDifference)
				parts.push(` · before ${amount(tree.totalBefore[node], tree.unit)}, change ` +
					signed(tree.total[node] - tree.totalBefore[node], tree.unit));
		}
		line.replaceChildren(...parts);
	},

	word() {
		const { name, unit } = this.profile.types[this.state.value];
		return SCALES[unit] ? '' : shown(name);
	},

	// Show numbers of NODE beside the pointer.
	tip(tree, node, event) {
		const tip = find('tip');
		tip.hidden = node < 0;
		if (node < 0)
			return;
		const rows = [[this.word() || 'total', amount(tree.total[node], tree.unit)],
			['of all', percent(tree.total[node], tree.total[0])],
			['self', amount(tree.self[node], tree.unit)]];
		if (this.profile.isDifference)
			rows.push(['before', amount(tree.totalBefore[node], tree.unit)], ['change',
				signed(tree.total[node] - tree.totalBefore[node], tree.unit)]);
		const module = node > 0 ? moduleOf(this.profile, tree.frame[node]) : '';
		tip.replaceChildren(make('strong', {}, bdi(tree.name(node))),
			make('span', { className: 'module' }, bdi(shown(module))),
			make('dl', {}, ...rows.flatMap(([k, v]) => [make('dt', {}, k), make('dd', {}, v)])));
		const { innerWidth, innerHeight } = window;
		tip.style.left = `${Math.max(4, Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8))}px`;
		tip.style.top = `${event.clientY + tip.offsetHeight + 24 > innerHeight
			? event.clientY - tip.offsetHeight - 10 : event.clientY + 18}px`;
	},

	// For each label its values, most frequent first.
	renderFacets() {
		const { profile, state } = this, { now, before } = profile.weights({ value: state.value,
			labels: [], span: state.span });
		const all = now.reduce((a, b) => a + b, 0);
		find('facets').replaceChildren(...profile.facets.map((facet, i) => {
			const sums = new Float64Array(facet.values.length);
			now.forEach((v, s) => {
				sums[facet.of[s]] += Math.max(v, before[s] || 0);
			});
			const set = new Set(state.labels[i] || []);
			const order = [...sums.keys()].filter((v) => sums[v] > 0 || set.has(v))
				.sort((a, b) => sums[b] - sums[a] || a - b);
			const list = make('div', { className: 'values' });
			const put = (text) => list.replaceChildren(...order.filter((v) =>
				facet.values[v].includes(text)).slice(0, 100).map((v) => {
				const box = make('input', { type: 'checkbox', checked: set.has(v) });
				box.addEventListener('change', () => {
					set[box.checked ? 'add' : 'delete'](v);
					const labels = profile.facets.map((_, k) => state.labels[k]);
					labels[i] = set.size ? [...set] : undefined;
					this.facetFocus = [i, v];
					this.go({ labels });
				});
				if (this.facetFocus?.[0] === i && this.facetFocus[1] === v)
					setTimeout(() => box.focus());
				return make('label', {}, box, bdi(shown(facet.values[v])),
					make('small', {}, percent(sums[v], all)));
			}));
			put('');
			const filter = make('input', { type: 'search', placeholder: 'Find', 'aria-label':
				`Find ${shown(facet.key)}` });
			filter.addEventListener('input', () => put(filter.value));
			return make('fieldset', {}, make('legend', {}, bdi(shown(facet.key))),
				...(order.length > 12 ? [filter] : []), list);
		}));
	},

	listen() {
		const run = (action) => action.run(this, this.frame);
		document.addEventListener('click', (event) => {
			const button = event.target.closest('[data-do]');
			if (button)
				run(ACTIONS.find((a) => a.button === button.dataset.do));
			if (!event.target.closest('#labels'))
				find('labels').open = false;
		});
		document.addEventListener('keydown', (event) => {
			const isTyping = event.target.matches('input, select, textarea');
			const isButton = event.target.closest('button, summary, dialog') && event.key === 'Enter';
			if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || isButton ||
				(isTyping && event.key !== 'Escape') || find('help').open)
				return;
			const action = ACTIONS.find((a) => a.key === event.key);
			if (!action)
				return;
			event.preventDefault();
			find('labels').open = false;
			if (isTyping)
				this.focusView();
			run(action);
		});
		find('views').addEventListener('keydown', (event) => {
			const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
			if (!step)
				return;
			const at = VIEWS.findIndex(([id]) => id === this.state.view) + step + VIEWS.length;
			this.go({ view: VIEWS[at % VIEWS.length][0] });
			find(`tab-${this.state.view}`).focus();
		});
		find('search').addEventListener('submit', (event) => {
			event.preventDefault();
			this.nextMatch(1);
		});
		find('query').addEventListener('input', () => this.go({ query: find('query').value }, false));
		find('colour').addEventListener('change', () => this.go({ colour: find('colour').value }));
		find('value').addEventListener('change', () => this.go({ value: Number(find('value').value) }));
		find('labels').addEventListener('toggle', () => find('labels').open && this.renderFacets());
		window.addEventListener('hashchange', () => {
			if (location.hash !== this.ours)
				this.state = stateOf(location.hash.slice(1), this.profile);
			if (location.hash !== this.ours)
				this.render();
			this.ours = null;
		});
		window.addEventListener('resize', () => this.render());
		dark.addEventListener('change', () => this.render());
		window.addEventListener('beforeprint', () => this.print(true));
		window.addEventListener('afterprint', () => this.print(false));
	},

	print(isPrinting) {
		this.printing = isPrinting;
		this.render();
		if (isPrinting && this.state.view === 'flame')
			this.flame.draw(true);
		if (isPrinting && this.state.view === 'sandwich')
			[this.callers, this.callees].forEach((flame) => flame.draw(true));
	},
});

async function start() {
	try {
		const bytes = await gunzip(bytesOfBase64(find('profile-data').textContent.trim()));
		const changes = find('profile-changes');
		find('profile-data').remove();
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
