// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Colours of frames. The hues are Paul Tol's "light" scheme, made for dark text on colours that all
// forms of colour vision tell apart. On a dark page they are darker, with light text.

const HUES = ['77aadd', 'ee8866', '44bb99', 'ffaabb', 'eedd88', 'dddddd', '99ddff', 'bbcc33', 'aaaa00'];
const HUE_OF_KIND = [0, 1, 2, 4, 5, 8]; // by number in KINDS
const HUES_OF_MODULES = [0, 1, 2, 3, 4, 6, 7, 8];
const LESS = [51, 119, 187], SAME = [222, 222, 222], MORE = [238, 119, 51];
const THEMES = {
	light: { back: '#fff', text: '#111', light: 1, line: '#111', faded: .35 },
	dark: { back: '#16181c', text: '#f2f2f2', light: .5, line: '#fff', faded: .43 },
};

const channels = (hex) => [0, 2, 4].map((i) => parseInt(hex.slice(i, i + 2), 16));
const css = (rgb, light) => `rgb(${rgb.map((v) => round(min(255, v * light)))})`;

function hash(text) {
	let h = 0;
	for (let i = 0; i < min(text.length, 64); i++)
		h = Math.imul(h, 31) + text.charCodeAt(i) | 0;
	return (h ^ (h >>> 15)) >>> 0;
}

// -1: gone, 0: as before, 1: new.
function change(now, before) {
	const most = max(abs(now), abs(before), abs(now - before));
	return most ? (now - before) / most : 0;
}

class Painter {
	// BY: 'kind', 'module' or 'change'.
	constructor(profile, by, themeName) {
		this.theme = THEMES[themeName];
		this.by = by;
		// Below zero, code that is gone is a change upwards, as code is that is new.
		this.isSigned = profile.values.some((of) =>
			of.some((v, i) => (profile.isBase[i] ? v > 0 : v < 0)));
		if (by === 'change')
			this.steps = Array.from({ length: 17 }, (_, i) => this.step((i - 8) / 8));
		else
			this.ofFrame = this.paint(profile, by === 'module' ? this.byModule(profile)
				: profile.frames.map((f) => f.kind), by === 'module' ? HUES_OF_MODULES : HUE_OF_KIND);
	}

	step(c) {
		const end = c < 0 ? LESS : MORE, part = abs(c) ** .7;
		return css(SAME.map((v, i) => v + (end[i] - v) * part), this.theme.light);
	}

	// The number of each frame's module, those with most samples first. -1: of none of them.
	byModule(profile) {
		const counts = new Map();
		for (const f of profile.rows.subarray(0, profile.begins[profile.n])) {
			const { module } = profile.frames[f];
			if (module)
				counts.set(module, (counts.get(module) || 0) + 1);
		}
		this.modules = [...counts].sort((a, b) => b[1] - a[1]).slice(0, HUES_OF_MODULES.length)
			.map(([module]) => module);
		return profile.frames.map((f) => this.modules.indexOf(f.module));
	}

	// Neighbours of one hue differ a little in lightness.
	paint(profile, numbers, hues) {
		const used = new Set(), colours = new Map();
		const found = profile.frames.map((f, i) => {
			const key = numbers[i] * 4 + hash(f.name) % 3;
			used.add(numbers[i]);
			if (!colours.has(key))
				colours.set(key, css(channels(HUES[hues[numbers[i]] ?? 5]),
					this.theme.light * (1 - .05 * (key & 3))));
			return colours.get(key);
		});
		this.used = [...used].sort((a, b) => (a < 0) - (b < 0) || a - b);
		this.hues = hues;
		return found;
	}

	colour(tree, node) {
		if (this.by === 'change')
			return this.steps[round(change(tree.total[node], tree.totalBefore[node]) * 8) + 8];
		return node > 0 ? this.ofFrame[tree.frame[node]]
			: css(channels(HUES[5]), this.theme.light);
	}

	// Pairs of a colour and its meaning.
	legend() {
		const { steps, by, isSigned } = this;
		if (by === 'change')
			return (isSigned ? ['less', '', 'as before', '', 'more']
				: ['gone', 'less', 'as before', 'more', 'new']).map((text, i) => [steps[4 * i], text]);
		return this.used.map((number) => [
			css(channels(HUES[this.hues[number] ?? 5]), this.theme.light),
			by === 'kind' ? KINDS[number] : number < 0 ? 'others' : shown(this.modules[number])]);
	}
}
