// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The table of functions and the tree as text. Only rows that are open are in the document.

const MOST_ROWS = 200;

// An element. PROPS: its properties, and attributes with a '-' or of names in ATTRIBUTES.
const ATTRIBUTES = new Set(['role', 'scope', 'colspan']);
function make(tag, props = {}, ...children) {
	const element = document.createElement(tag);
	for (const [name, value] of Object.entries(props)) {
		if (name.includes('-') || ATTRIBUTES.has(name))
			element.setAttribute(name, value);
		else
			element[name] = value;
	}
	element.append(...children);
	return element;
}

// Foreign text, in an element of its own: its direction cannot change what stands beside it.
const bdi = (text, props) => make('bdi', { dir: 'ltr', ...props }, text);

const SCALES = {
	nanoseconds: [['s', 1e9], ['ms', 1e6], ['µs', 1e3], ['ns', 1]],
	bytes: [['GiB', 2 ** 30], ['MiB', 2 ** 20], ['KiB', 1024], ['B', 1]],
};
SCALES.microseconds = SCALES.nanoseconds.map(([unit, n]) => [unit, n / 1e3]);
function amount(value, unit) {
	const scale = SCALES[unit];
	if (!scale)
		return value.toLocaleString('en', { maximumFractionDigits: 1 });
	const [name, size] = scale.find(([, n]) => Math.abs(value) >= n) || scale.at(-1);
	return `${(value / size).toLocaleString('en', { maximumSignificantDigits: 4 })} ${name}`;
}

function percent(part, all) {
	const p = all ? 100 * part / all : 0;
	return `${p.toFixed(Math.abs(p) < 10 ? 2 : 1)} %`;
}

function signed(value, unit) {
	return (value > 0 ? '+' : value < 0 ? '−' : '±') + amount(Math.abs(value), unit);
}

function moduleOf(profile, frame) {
	const f = profile.frames[frame];
	return f.module || (f.kind === MARK ? '' : KINDS[f.kind]);
}

// What a screen reader says of a node.
function describe(tree, node) {
	const { profile } = tree, unit = tree.unit, all = tree.total[0];
	const parts = [tree.name(node)];
	if (node > 0)
		parts.push(shown(moduleOf(profile, tree.frame[node])));
	parts.push(`${amount(tree.total[node], unit)}, ${percent(tree.total[node], all)}`,
		`self ${amount(tree.self[node], unit)}`);
	if (tree.total !== tree.totalBefore)
		parts.push(`before ${amount(tree.totalBefore[node], unit)}`);
	return parts.filter(Boolean).join(', ');
}

const COLUMNS = [
	{ id: 'self', label: 'Self', of: (r) => r.self, share: true },
	{ id: 'total', label: 'Total', of: (r) => r.total, share: true },
];
const DIFFERENCE_COLUMNS = [
	{ id: 'change', label: 'Change of self', of: (r) => r.self - r.selfBefore, by: Math.abs, signed: true },
	{ id: 'self', label: 'Self', of: (r) => r.self },
	{ id: 'selfBefore', label: 'before', of: (r) => r.selfBefore },
	{ id: 'totalChange', label: 'Change of total', of: (r) => r.total - r.totalBefore, by: Math.abs,
		signed: true },
	{ id: 'total', label: 'Total', of: (r) => r.total },
	{ id: 'totalBefore', label: 'before', of: (r) => r.totalBefore },
];
const VERDICT = { id: 'verdict', label: 'Beyond noise', of: (r) => r.verdict, isText: true };
const TEXT_COLUMNS = [
	{ id: 'name', label: 'Function', of: (r) => r.name, isText: true },
	{ id: 'module', label: 'Module', of: (r) => r.module, isText: true },
];

class Table {
	// ON: select(frame), open(frame), sort(id).
	constructor(host, on) {
		this.host = host;
		this.on = on;
		this.most = MOST_ROWS;
		host.addEventListener('keydown', (event) => this.onKey(event));
	}

	show({ profile, sums, all, unit, sort, wanted, verdicts }) {
		const columns = [...(profile.isDifference ? DIFFERENCE_COLUMNS : COLUMNS),
			...(verdicts ? [VERDICT] : []), ...TEXT_COLUMNS];
		const [, id, down] = /^(\w*?)(-?)$/.exec(sort || columns[0].id);
		const column = columns.find((c) => c.id === id) || columns[0];
		const rows = [];
		for (let f = 0; f < profile.frames.length; f++) {
			if (!(sums.total[f] || sums.totalBefore[f]) || (wanted && !wanted[f]))
				continue;
			rows.push({ frame: f, self: sums.self[f], total: sums.total[f],
				selfBefore: sums.selfBefore[f], totalBefore: sums.totalBefore[f],
				verdict: verdicts?.(profile.frames[f]) ?? '', name: profile.frames[f].name,
				module: moduleOf(profile, f) });
		}
		const order = column.isText
			? (a, b) => (column.of(a) < column.of(b) ? -1 : column.of(a) > column.of(b) ? 1 : 0)
			: (a, b) => (column.by || Number)(column.of(b)) - (column.by || Number)(column.of(a));
		rows.sort((a, b) => order(a, b) || a.frame - b.frame);
		if (down)
			rows.reverse();
		this.rows = rows;
		const head = make('tr', {}, ...columns.map((c) => this.head(c, column, down)));
		this.put = (r) => make('tr', { tabIndex: -1, frame: r.frame },
			...columns.map((c) => this.cell(profile, c, r, all, unit)));
		this.body = make('tbody');
		const caption = make('caption', {}, `${rows.length.toLocaleString('en')} functions` +
			(wanted ? ' that match' : ''));
		this.host.replaceChildren(make('table', {}, caption, make('thead', {}, head), this.body));
		this.body.addEventListener('click', (event) => this.focus(event.target.closest('tr')));
		this.body.addEventListener('dblclick', (event) =>
			this.on.open(event.target.closest('tr').frame));
		this.more(MOST_ROWS);
	}

	head(c, column, down) {
		const isSorted = c === column;
		const up = isSorted && !down !== Boolean(c.isText);
		const button = make('button', { type: 'button' }, c.label,
			isSorted ? make('span', { 'aria-hidden': 'true' }, up ? ' ▾' : ' ▴') : '');
		button.addEventListener('click', () => this.on.sort(c.id + (isSorted && !down ? '-' : '')));
		return make('th', { scope: 'col', className: c.isText ? 'text' : '',
			'aria-sort': isSorted ? (up ? 'descending' : 'ascending') : 'none' }, button);
	}

	cell(profile, c, r, all, unit) {
		if (c.id === 'name')
			return make('th', { scope: 'row', className: 'text' }, bdi(profile.label(r.frame)));
		if (c.isText)
			return make('td', { className: 'text' }, bdi(shown(c.of(r))));
		const value = c.of(r);
		const cell = make('td', {}, c.signed ? signed(value, unit) : amount(value, unit));
		if (c.signed)
			cell.className = value > 0 ? 'more' : value < 0 ? 'less' : '';
		if (c.share) {
			cell.append(make('small', {}, ` ${percent(value, all)}`));
			cell.style.setProperty('--part', `${all ? 100 * Math.abs(value / all) : 0}%`);
			cell.className = 'share';
		}
		return cell;
	}

	more(n) {
		const begin = this.body.children.length;
		this.host.querySelector('.more-rows')?.remove();
		this.body.append(...this.rows.slice(begin, begin + n).map(this.put));
		const left = this.rows.length - this.body.children.length;
		if (begin === 0 && this.body.firstChild)
			this.body.firstChild.tabIndex = 0;
		if (left > 0) {
			const button = make('button', { type: 'button', className: 'more-rows' },
				`Show more (${left.toLocaleString('en')} left)`);
			button.addEventListener('click', () => this.more(5 * n));
			this.host.append(button);
		}
	}

	focus(row) {
		if (!row)
			return;
		this.body.querySelector('[tabindex="0"]')?.setAttribute('tabindex', -1);
		this.body.querySelector('[aria-current]')?.removeAttribute('aria-current');
		row.tabIndex = 0;
		row.setAttribute('aria-current', 'true');
		if (!getSelection().toString())
			row.focus();
		this.on.select(row.frame);
	}

	onKey(event) {
		const row = event.target.closest('tbody tr');
		if (!row || event.target !== row)
			return;
		const to = { ArrowDown: row.nextSibling, ArrowUp: row.previousSibling,
			Home: this.body.firstChild, End: this.body.lastChild }[event.key];
		if (event.key === 'Enter')
			this.on.open(row.frame);
		else if (to)
			this.focus(to);
		else
			return;
		event.preventDefault();
	}
}

class Outline {
	// ON: select(node), pick(node).
	constructor(host, on) {
		this.host = host;
		this.on = on;
		host.addEventListener('click', (event) => {
			const row = event.target.closest('[role=treeitem]');
			if (!row)
				return;
			if (event.target.closest('.toggle'))
				this.toggle(row);
			this.focus(row);
		});
		host.addEventListener('dblclick', (event) => {
			const row = event.target.closest('[role=treeitem]');
			if (row)
				on.pick(row.node);
		});
		host.addEventListener('keydown', (event) => this.onKey(event));
	}

	show({ tree, zoom, wanted }) {
		this.tree = tree;
		this.zoom = zoom;
		this.wanted = wanted;
		this.host.replaceChildren(this.row(zoom, 1, 1, 1));
		let row = this.host.firstChild;
		row.tabIndex = 0;
		// Open the hottest path, as far as most goes one way.
		for (let i = 0; row && i < 40; i++) {
			this.toggle(row, true);
			const next = row.nextSibling;
			if (!next || tree.width[next.node] < tree.width[row.node] / 2)
				break;
			row = next;
		}
	}

	row(node, level, place, size) {
		const { tree } = this, { unit } = tree, all = tree.total[0], hasMore = tree.children(node).length;
		const isDifference = tree.total !== tree.totalBefore;
		const numbers = isDifference
			? [amount(tree.totalBefore[node], unit), amount(tree.total[node], unit),
				signed(tree.total[node] - tree.totalBefore[node], unit)]
			: [percent(tree.total[node], all), amount(tree.total[node], unit),
				amount(tree.self[node], unit)];
		const row = make('div', { role: 'treeitem', tabIndex: -1, node, 'aria-level': level,
			'aria-posinset': place, 'aria-setsize': size, 'aria-label': describe(tree, node) },
		...numbers.map((text) => make('span', { className: 'number' }, text)),
		make('span', { className: 'toggle', 'aria-hidden': 'true' }),
		bdi(tree.name(node), { className: 'name' }),
		make('span', { className: 'module' },
			node > 0 ? bdi(shown(moduleOf(tree.profile, tree.frame[node]))) : ''));
		row.style.setProperty('--level', Math.min(level, 60));
		row.style.setProperty('--part', `${tree.width[0] ? 100 * tree.width[node] / tree.width[0] : 0}%`);
		if (this.wanted && node > 0 && this.wanted[tree.frame[node]])
			row.classList.add('match');
		if (hasMore)
			row.setAttribute('aria-expanded', 'false');
		return row;
	}

	level(row) {
		return Number(row.getAttribute('aria-level'));
	}

	// Open or close; with OPEN, only open.
	toggle(row, open = row.getAttribute('aria-expanded') === 'false') {
		if (!row.hasAttribute('aria-expanded') || open === (row.getAttribute('aria-expanded') === 'true'))
			return;
		row.setAttribute('aria-expanded', String(open));
		const level = this.level(row);
		if (open) {
			this.append(row, row.node, level + 1, 0);
			return;
		}
		while (row.nextSibling && this.level(row.nextSibling) > level)
			row.nextSibling.remove();
	}

	// The children of NODE from number BEGIN on, behind row AFTER.
	append(after, node, level, begin) {
		const children = this.tree.children(node), end = begin + MOST_ROWS;
		const rows = children.slice(begin, end)
			.map((c, i) => this.row(c, level, begin + i + 1, children.length));
		if (children.length > end) {
			const rest = make('div', { className: 'rest', 'aria-level': level }, make('button',
				{ type: 'button' }, `Show more (${(children.length - end).toLocaleString('en')} left)`));
			rest.firstChild.addEventListener('click', () => {
				this.append(rest, node, level, end);
				rest.remove();
			});
			rows.push(rest);
		}
		after.after(...rows);
	}

	focus(row) {
		this.host.querySelector('[tabindex="0"]')?.setAttribute('tabindex', -1);
		this.host.querySelector('[aria-selected]')?.removeAttribute('aria-selected');
		row.tabIndex = 0;
		row.setAttribute('aria-selected', 'true');
		if (!getSelection().toString())
			row.focus();
		this.on.select(row.node);
	}

	onKey(event) {
		const row = event.target.closest('[role=treeitem]');
		if (!row)
			return;
		const beside = (step) => {
			let to = row[step];
			while (to && to.className === 'rest')
				to = to[step];
			return to;
		};
		const expanded = row.getAttribute('aria-expanded');
		let to = null;
		if (event.key === 'ArrowDown') {
			to = beside('nextSibling');
		} else if (event.key === 'ArrowUp') {
			to = beside('previousSibling');
		} else if (event.key === 'ArrowRight') {
			if (expanded === 'false')
				this.toggle(row);
			else if (expanded)
				to = row.nextSibling;
		} else if (event.key === 'ArrowLeft') {
			if (expanded === 'true')
				this.toggle(row);
			else
				for (to = row.previousSibling; to && this.level(to) >= this.level(row);)
					to = to.previousSibling;
		} else if (event.key === 'Enter') {
			this.on.pick(row.node);
		} else {
			return;
		}
		event.preventDefault();
		if (to)
			this.focus(to);
	}
}
