// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The view as a value, and as the fragment of the page's URL, so that a view can be sent.

const find = (id) => document.getElementById(id);
const VIEWS = [['flame', 'Flame graph'], ['functions', 'Functions'], ['tree', 'Tree'],
	['sandwich', 'Callers & callees'], ['about', 'About']];
const UNFILTERED = { hide: [], only: [], without: [] };
const START = {
	view: 'flame', inverted: false, upward: false, zoom: [], query: '', colour: '', value: 0,
	...UNFILTERED, centre: -1, labels: [], span: [], theme: '', sort: '',
};

function fragmentOf(state) {
	const text = new URLSearchParams();
	for (const [name, value] of Object.entries(state))
		if (String(value) !== String(START[name]))
			text.set(name, Array.isArray(value) ? value.join('.') : value);
	return text.toString();
}

// The fragment may come from anybody: what does not fit the profile is left out.
function stateOf(fragment, { frames, types, slices, isDifference }) {
	const state = { ...START };
	const limits = { value: types.length, span: slices.length, labels: 2 ** 31 };
	for (const [name, text] of new URLSearchParams(fragment)) {
		const start = START[name], limit = limits[name] ?? frames.length;
		const numbers = text.split('.').filter((n) => /^\d+$/.test(n) && n < limit).map(Number);
		if (typeof start === 'boolean')
			state[name] = text === 'true';
		else if (typeof start === 'number')
			state[name] = numbers[0] ?? start;
		else if (Array.isArray(start))
			state[name] = numbers;
		else if (typeof start === 'string')
			state[name] = text.slice(0, 1000);
	}
	const check = (name, list) => {
		if (!list.includes(state[name]))
			state[name] = START[name];
	};
	check('view', VIEWS.map(([id]) => id));
	check('colour', isDifference ? ['kind', 'module', 'change'] : ['kind', 'module']);
	check('theme', Object.keys(THEMES));
	if (state.span.length !== 2 || state.span[0] > state.span[1])
		state.span = [];
	return state;
}

// The slices of time: bars as high as their values, and two sliders for the chosen span.
class Timeline {
	// CHOOSE: choose(span, isDone).
	constructor(slices, choose) {
		this.slices = slices;
		this.canvas = document.querySelector('#timeline canvas');
		this.thumbs = [find('from'), find('to')];
		this.end = slices.at(-1).end || 1;
		const last = slices.length - 1;
		let begin = -1;
		const drag = (event, isDone) => {
			const at = this.at(event);
			if (begin >= 0)
				choose(begin < at ? [begin, at] : [at, begin], isDone);
		};
		Object.assign(this.canvas, {
			onpointerdown: (event) => {
				begin = this.at(event);
				this.canvas.setPointerCapture(event.pointerId);
			},
			onpointermove: (event) => drag(event, false),
			onpointerup: (event) => {
				drag(event, true);
				begin = -1;
			},
		});
		this.thumbs.forEach((thumb, i) => {
			thumb.onkeydown = (event) => {
				const span = [...this.span], at = span[i];
				const to = { ArrowLeft: at - 1, ArrowDown: at - 1, ArrowRight: at + 1, ArrowUp: at + 1,
					Home: 0, End: last }[event.key];
				if (to === undefined)
					return;
				event.preventDefault();
				span[i] = min(max(to, i ? span[0] : 0), i ? last : span[1]);
				choose(span, true);
			};
		});
	}

	at(event) {
		const box = this.canvas.getBoundingClientRect();
		const time = (event.clientX - box.left) / box.width * this.end;
		const i = this.slices.findIndex((s) => time < s.end);
		return i < 0 ? this.slices.length - 1 : i;
	}

	show(sums, span, theme, say) {
		const { canvas, slices, end } = this, context = canvas.getContext('2d');
		const wide = canvas.clientWidth, high = canvas.clientHeight;
		const scale = devicePixelRatio;
		const [from, to] = this.span = span.length ? span : [0, slices.length - 1];
		canvas.width = wide * scale;
		canvas.height = high * scale;
		context.scale(scale, scale);
		context.fillStyle = css(channels(HUES[0]), theme.light);
		const rates = slices.map((s, i) => sums[i] / max(s.end - s.begin, 1));
		const most = rates.reduce((a, b) => max(a, b), 0) || 1;
		slices.forEach((s, i) => {
			const w = (s.end - s.begin) / end * wide;
			const h = max(rates[i] / most * (high - 4), sums[i] > 0 ? 1 : 0);
			context.globalAlpha = i >= from && i <= to ? 1 : .35;
			context.fillRect(s.begin / end * wide, high - h, max(w - (w > 3 ? 1 : 0), .5), h);
		});
		const [begins, ends] = [slices[from].begin, slices[to].end], time = (ns) => amount(ns, 'nanoseconds');
		this.thumbs.forEach((thumb, i) => {
			const at = i ? ends : begins;
			thumb.style.left = `${100 * at / end}%`;
			aria(thumb, { valuemin: 0, valuemax: slices.length - 1, valuenow: this.span[i],
				valuetext: time(at) });
		});
		this.text = `${time(begins)} – ${time(ends)}`;
		find('span').textContent = `${this.text} of ${time(end)}: ` +
			say(sums.slice(from, to + 1).reduce((a, b) => a + b, 0));
	}
}
