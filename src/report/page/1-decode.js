// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// From the page's text to the messages of pprof's profile.proto. All of it is foreign: a message
// that is not well formed throws an Error.
'use strict';

const { abs, max, min, round } = Math;

function bytesOfBase64(text) {
	const raw = atob(text), bytes = new Uint8Array(raw.length);
	for (let i = 0; i < raw.length; i++)
		bytes[i] = raw.charCodeAt(i);
	return bytes;
}

async function gunzip(bytes) {
	const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
	return new Uint8Array(await new Response(stream).arrayBuffer());
}

function broken() {
	throw Error('the profile is not whole');
}

class Message {
	constructor(bytes, at = 0, end = bytes.length) {
		this.bytes = bytes;
		this.at = at;
		this.end = end;
	}

	// A signed 64-bit number, rounded to the nearest that a double can hold.
	varint() {
		const bytes = this.bytes;
		let byte = bytes[this.at++], low = 0, high = 0, shift = 0;
		if (byte < 128)
			return byte;
		for (;; byte = bytes[this.at++], shift += 7) {
			if (byte === undefined || shift > 63)
				broken();
			if (shift < 28)
				low |= (byte & 127) << shift;
			else if (shift === 28) {
				low |= byte << 28;
				high = (byte & 127) >> 4;
			} else
				high |= (byte & 127) << (shift - 32);
			if (byte < 128)
				return (high | 0) * 4294967296 + (low >>> 0);
		}
	}

	// Go to the next field: its number, and its value as a number or as bytes from begin to stop.
	next() {
		if (this.at >= this.end)
			return this.at > this.end && broken();
		const key = this.varint(), wire = key & 7;
		this.field = key >>> 3;
		this.begin = this.stop = 0;
		if (wire === 0) {
			this.number = this.varint();
			return true;
		}
		const length = wire === 2 ? this.varint() : wire === 1 ? 8 : wire === 5 ? 4 : Infinity;
		this.begin = this.at;
		this.at = this.stop = this.begin + length;
		if (!(length >= 0 && this.at <= this.end))
			broken();
		return true;
	}

	// The message in the field.
	open() {
		return new Message(this.bytes, this.begin, this.stop);
	}

	// Put the field's numbers, packed or not, into TO from number N on. Returns where they end.
	numbers(to, n) {
		if (!this.begin) {
			to[n] = this.number;
			return n + 1;
		}
		const { at } = this;
		for (this.at = this.begin; this.at < this.stop;)
			to[n++] = this.varint();
		this.at = at;
		return n;
	}

	text() {
		return UTF8.decode(this.bytes.subarray(this.begin, this.stop));
	}

	// The numbers of a message, by the names that NAMES has for its fields.
	record(names) {
		const found = {}, message = this.open();
		while (message.next())
			if (names[message.field])
				found[names[message.field]] = message.number;
		return found;
	}
}

const UTF8 = new TextDecoder('utf-8', { ignoreBOM: true });
const PROFILE_FIELDS = {
	1: 'types', 2: 'samples', 3: 'mappings', 4: 'locations', 5: 'functions', 6: 'strings',
	9: 'begin', 10: 'duration', 13: 'comments',
};
const RECORDS = {
	types: { 1: 'type', 2: 'unit' },
	mappings: { 1: 'id', 2: 'start', 5: 'file', 6: 'buildId' },
	functions: { 1: 'id', 2: 'name', 4: 'file' },
};
const LINE_FIELDS = { 1: 'function', 2: 'line' };
const LABEL_FIELDS = { 1: 'key', 2: 'text', 3: 'number', 4: 'unit' };

// The parts of a profile by name. Samples and locations are where they begin and end in bytes.
function readProfile(bytes) {
	const parts = { bytes, types: [], samples: [], mappings: [], locations: [], functions: [],
		strings: [], comments: [], begin: 0, duration: 0 };
	const message = new Message(bytes);
	while (message.next()) {
		const name = PROFILE_FIELDS[message.field], part = parts[name];
		if (name === 'samples' || name === 'locations')
			part.push(message.begin, message.stop);
		else if (name === 'strings')
			part.push(message.text());
		else if (name === 'comments')
			message.numbers(part, part.length);
		else if (RECORDS[name])
			part.push(message.record(RECORDS[name]));
		else if (name)
			parts[name] = message.number;
	}
	return parts;
}
