// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The table of functions and the tree as text. Only rows that are open are in the document.

const MOST_ROWS = 200;
const count = (n) => n.toLocaleString('en', { maximumFractionDigits: 1 });
const some = (n, word) => `${count(n)} ${word}${n === 1 ? '' : 's'}`;

// An element. PROPS: its properties, and attributes with a '-' or of names in ATTRIBUTES.
const ATTRIBUTES = new Set(['role', 'scope']);
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

const piece = (className, ...children) => make('span', { className }, ...children);

// Set attributes that begin with "aria-".
function aria(element, facts) {
	for (const [name, value] of Object.entries(facts))
		element.setAttribute(`aria-${name}`, value);
}

// Replace the contents of an element.
const fill = (element, ...children) => element.replaceChildren(...children);

const button = (label, onclick, props) => make('button', { type: 'button', onclick, ...props }, label);

// Foreign text, in an element of its own: its direction cannot change what stands beside it.
const bdi = (text) => make('bdi', { dir: 'ltr' }, text);

const times = (ns) => [['s', 1e9 / ns], ['ms', 1e6 / ns], ['µs', 1e3 / ns], ['ns', 1 / ns]];
const SCALES = {
	nanoseconds: times(1), microseconds: times(1e3), milliseconds: times(1e6), seconds: times(1e9),
	bytes: [['GiB', 2 ** 30], ['MiB', 2 ** 20], ['KiB', 1024], ['B', 1]],
	count: 0, '': 0, __proto__: null,
};
// The name of a value, with the unit if amounts do not show it.
const wordOf = ({ name, unit }) => shown(name) + (unit in SCALES ? '' : ` (${shown(unit)})`);
function amount(value, unit) {
	const scale = SCALES[unit];
	if (!scale || !value)
		return count(value);
	const [name, size] = scale.find(([, n]) => abs(value) >= n) || scale[3];
	return `${(value / size).toLocaleString('en', { maximumSignificantDigits: 4 })} ${name}`;
}

function percent(part, all) {
	const p = all ? 100 * part / all : 0;
	return `${p.toFixed(abs(p) < 10 ? 2 : 1)} %`;
}

const signed = (value, unit) =>
	(value > 0 ? '+' : value < 0 ? '−' : '±') + amount(abs(value), unit);

const moduleOf = ({ module, kind }) => shown(module) || (kind === MARK ? '' : KINDS[kind]);

// The numbers of a node, in words.
function numbersOf(tree, node) {
	const { unit, total, totalBefore, self, parent, all } = tree, now = total[node];
	const parts = [`${amount(now, unit)} ${tree.word}`, `${percent(now, all)} of all`];
	if (node > 0 && parent[node] && all === total[0])
		parts.push(`${percent(now, total[parent[node]])} of parent`);
	parts.push(`self ${amount(self[node], unit)}`);
	if (totalBefore !== total)
		parts.push(`before ${amount(totalBefore[node], unit)}`,
			`change ${signed(now - totalBefore[node], unit)}`);
	return parts;
}

// The words of a node for screen readers.
const describe = (tree, node) => [tree.name(node), node > 0 ? moduleOf(tree.of(node)) : '',
	...numbersOf(tree, node)].filter(Boolean).join(', ');

const column = (id, label, of, more) => ({ id, label, of, ...more });
const SHARE = { share: true }, TEXT = { isText: true }, CHANGE = { isChange: true };
const COLUMNS = [column('self', 'Self', (r) => r.self, SHARE),
	column('total', 'Total', (r) => r.total, SHARE)];
const DIFFERENCE_COLUMNS = [
	column('change', 'Change of self', (r) => r.self - r.selfBefore, CHANGE),
	column('selfBefore', 'before', (r) => r.selfBefore), column('self', 'now', (r) => r.self),
	column('totalChange', 'Change of total', (r) => r.total - r.totalBefore, CHANGE),
	column('totalBefore', 'before', (r) => r.totalBefore), column('total', 'now', (r) => r.total)];
const VERDICT = column('verdict', 'Beyond noise', (r) => r.verdict, TEXT);
const TEXT_COLUMNS = [column('name', 'Function', (r) => r.name, TEXT),
	column('module', 'Module', (r) => r.module, TEXT)];

// The base of Table and Outline: one row is current, and Tab goes to it.
class List {
	constructor(host, rows, on) {
		Object.assign(this, { host, on });
		const rowOf = (event) => event.target.closest(rows);
		host.onclick = (event) => rowOf(event) && this.onClick(rowOf(event), event);
		host.ondblclick = (event) => rowOf(event) && on.open(rowOf(event).value);
		host.onkeydown = (event) => {
			const row = rowOf(event);
			const to = row && event.target === row ? this.move(row, event.key) : undefined;
			if (to === undefined && !(row && event.key === 'Enter'))
				return;
			event.preventDefault();
			if (event.key === 'Enter')
				on.open(row.value);
			else if (to)
				this.focus(to);
		};
	}

	onClick(row) {
		this.focus(row);
	}

	focus(row) {
		for (const old of this.host.querySelectorAll('[tabindex="0"]')) {
			old.tabIndex = -1;
			old.ariaSelected = null;
		}
		row.tabIndex = 0;
		row.ariaSelected = true;
		if (!getSelection().toString())
			row.focus();
		this.on.select(row.value);
	}
}

// ON: select(frame), open(frame), sort(id).
class Table extends List {
	constructor(host, on) {
		super(host, 'tbody tr', on);
	}

	show({ profile, sums, sort, wanted, verdicts, tree: { all, unit, word } }) {
		const columns = [...(profile.isDifference ? DIFFERENCE_COLUMNS : COLUMNS),
			...(verdicts ? [VERDICT] : []), ...TEXT_COLUMNS];
		const sorted = columns.find((c) => c.id === sort.replace('-', '')) || columns[0];
		const isReversed = sort.endsWith('-'), rows = [];
		profile.frames.forEach((f, frame) => {
			const row = { frame, name: f.name, verdict: verdicts?.(f) ?? '' };
			for (const [name, list] of Object.entries(sums))
				row[name] = list[frame];
			if ((row.total || row.totalBefore) && (!wanted || wanted[frame]))
				rows.push({ ...row, module: moduleOf(f) });
		});
		const { of, isText } = sorted, sign = isText ? 1 : -1;
		const by = (row) => (isText ? of(row) : abs(of(row)));
		const moved = (row) => abs(row.total - row.totalBefore);
		rows.sort((a, b) => (by(a) > by(b) ? sign : by(a) < by(b) ? -sign
			: moved(b) - moved(a) || b.total - a.total || a.frame - b.frame));
		if (isReversed)
			rows.reverse();
		const isDown = isReversed === !!isText;
		const head = columns.map((c) => make('th', { scope: 'col', className: c.isText ? 'text' : '',
			'aria-sort': c !== sorted ? 'none' : isDown ? 'descending' : 'ascending' },
		button(c.label, () => this.on.sort(c.id + (c === sorted && !isReversed ? '-' : '')))));
		this.rows = rows;
		this.put = (r) => make('tr', { tabIndex: -1, value: r.frame },
			...columns.map((c) => this.cell(profile, c, r, all, unit)));
		this.body = make('tbody');
		fill(this.host, make('table', {}, make('caption', {},
			`${some(rows.length, 'function')}${wanted ? ' that match' : ''}, by ${word}`),
		make('thead', {}, make('tr', {}, ...head)), this.body));
		this.more(MOST_ROWS);
		if (rows.length)
			this.body.firstChild.tabIndex = 0;
	}

	cell(profile, c, r, all, unit) {
		const value = c.of(r);
		if (c.isText)
			return make(c.id === 'name' ? 'th' : 'td', { className: `text ${c.id}`,
				...(c.id === 'name' && { scope: 'row' }) },
			bdi(c.id === 'name' ? profile.label(r.frame) : value));
		const cell = make('td', {}, c.isChange ? signed(value, unit) : amount(value, unit));
		if (c.isChange)
			cell.className = value > 0 ? 'more' : value < 0 ? 'less' : '';
		if (c.share) {
			cell.append(make('small', {}, percent(value, all)));
			cell.style.setProperty('--part', `${all ? 100 * abs(value) / all : 0}%`);
			cell.className = 'share';
		}
		return cell;
	}

	more(n) {
		const begin = this.body.children.length, left = this.rows.length - begin - n;
		this.host.querySelector('.rest')?.remove();
		this.body.append(...this.rows.slice(begin, begin + n).map(this.put));
		if (left > 0)
			this.host.append(button(`Show more (${count(left)} left)`, () => this.more(5 * n),
				{ className: 'rest' }));
	}

	move(row, key) {
		return { ArrowDown: row.nextSibling, ArrowUp: row.previousSibling,
			Home: this.body.firstChild, End: this.body.lastChild }[key];
	}
}

const levelOf = (row) => +row.ariaLevel;

// ON: select(node), open(node).
class Outline extends List {
	constructor(host, on) {
		super(host, '[role=treeitem]', on);
	}

	show({ tree, zoom, wanted }) {
		Object.assign(this, { tree, wanted });
		let row = this.row(zoom, 1, 1, 1);
		row.tabIndex = 0;
		fill(this.host, row);
		// Open the hottest path, as far as most goes one way.
		for (let i = 0; i < 40; i++) {
			this.toggle(row, true);
			const next = row.nextSibling;
			if (!next || tree.width[next.value] < tree.width[row.value] / 2)
				break;
			row = next;
		}
	}

	row(node, level, place, size) {
		const { tree, wanted } = this, { unit, total, totalBefore, width } = tree, now = total[node];
		const numbers = totalBefore !== total
			? [amount(totalBefore[node], unit), amount(now, unit), signed(now - totalBefore[node], unit)]
			: [percent(now, tree.all), amount(now, unit), amount(tree.self[node], unit)];
		const isMatch = wanted && node > 0 && wanted[tree.frame[node]];
		const row = make('div', { role: 'treeitem', tabIndex: -1, value: node, 'aria-level': level,
			'aria-posinset': place, 'aria-setsize': size, 'aria-label': describe(tree, node),
			className: isMatch ? 'match' : '' },
		...numbers.map((text) => piece('number', text)),
		piece('toggle'), piece('name', bdi(tree.name(node))),
		piece('module', node > 0 ? bdi(moduleOf(tree.of(node))) : ''));
		row.style.setProperty('--level', min(level, 60));
		row.style.setProperty('--part', `${width[0] ? 100 * width[node] / width[0] : 0}%`);
		if (tree.children(node).length)
			row.ariaExpanded = false;
		return row;
	}

	// Open or close; with OPEN, only open.
	toggle(row, open = row.ariaExpanded === 'false') {
		const level = levelOf(row);
		if (!row.ariaExpanded)
			return;
		row.ariaExpanded = open;
		if (open)
			this.append(row, row.value, level + 1, 0);
		while (!open && row.nextSibling && levelOf(row.nextSibling) > level)
			row.nextSibling.remove();
	}

	// The children of NODE from number BEGIN on, behind row AFTER.
	append(after, node, level, begin) {
		const children = this.tree.children(node), end = begin + MOST_ROWS, n = children.length;
		const rows = children.slice(begin, end).map((c, i) => this.row(c, level, begin + i + 1, n));
		if (n > end) {
			const rest = make('div', { className: 'rest', 'aria-level': level },
				button(`Show more (${count(n - end)} left)`, () => {
					this.append(rest, node, level, end);
					rest.remove();
				}));
			rows.push(rest);
		}
		after.after(...rows);
	}

	onClick(row, event) {
		if (event.target.className === 'toggle')
			this.toggle(row);
		this.focus(row);
	}

	// The row that KEY goes to; null: none, but the key did its work.
	move(row, key) {
		const beside = (step) => {
			let to = row[step];
			while (to && to.className === 'rest')
				to = to[step];
			return to;
		};
		const isOpen = row.ariaExpanded === 'true';
		if (key === 'ArrowDown')
			return beside('nextSibling');
		if (key === 'ArrowUp')
			return beside('previousSibling');
		if (key === 'ArrowRight' && isOpen)
			return row.nextSibling;
		if (key === 'ArrowRight' || (key === 'ArrowLeft' && isOpen)) {
			this.toggle(row);
			return null;
		}
		if (key !== 'ArrowLeft')
			return undefined;
		let to = row.previousSibling;
		while (to && levelOf(to) >= levelOf(row))
			to = to.previousSibling;
		return to;
	}
}
