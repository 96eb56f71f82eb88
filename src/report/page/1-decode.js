// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// From the page's text to the messages of pprof's profile.proto. All of it is foreign: a message
// that is not well formed throws an Error.
'use strict';

function bytesOfBase64(text) {
	if (Uint8Array.fromBase64)
		return Uint8Array.fromBase64(text);
	const raw = atob(text), bytes = new Uint8Array(raw.length);
	for (let i = 0; i < raw.length; i++)
		bytes[i] = raw.charCodeAt(i);
	return bytes;
}

async function gunzip(bytes) {
	const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
	return new Uint8Array(await new Response(stream).arrayBuffer());
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
				throw Error('a number of the profile is not whole');
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

	// Call take(field, number, message) for each field. Either number or message has the value.
	each(take) {
		while (this.at < this.end) {
			const key = this.varint(), wire = key & 7;
			if (wire === 0) {
				take(key >>> 3, this.varint());
			} else if (wire === 2) {
				const length = this.varint(), begin = this.at;
				if (!(length >= 0 && length <= this.end - begin))
					throw Error('a part of the profile is not whole');
				this.at += length;
				take(key >>> 3, 0, new Message(this.bytes, begin, this.at));
			} else {
				this.at += wire === 1 ? 8 : wire === 5 ? 4 : Infinity;
			}
		}
		if (this.at !== this.end)
			throw Error('the profile is not whole');
	}

	numbers() {
		const found = [];
		while (this.at < this.end)
			found.push(this.varint());
		return found;
	}

	// An object with a member for each field that NAMES has: a number, or a Message.
	record(names) {
		const found = {};
		this.each((field, number, message) => {
			const name = names[field];
			if (name)
				found[name] = message || number;
		});
		return found;
	}

	text() {
		return UTF8.decode(this.bytes.subarray(this.at, this.end));
	}
}

const UTF8 = new TextDecoder('utf-8', { ignoreBOM: true });
const PROFILE_FIELDS = {
	1: 'types', 2: 'samples', 3: 'mappings', 4: 'locations', 5: 'functions', 6: 'strings',
	9: 'begin', 10: 'duration', 13: 'comments',
};
const MAPPING_FIELDS = { 1: 'id', 2: 'start', 5: 'file', 6: 'buildId' };
const FUNCTION_FIELDS = { 1: 'id', 2: 'name', 3: 'rawName', 4: 'file' };
const LINE_FIELDS = { 1: 'function', 2: 'line' };
const LABEL_FIELDS = { 1: 'key', 2: 'text', 3: 'number', 4: 'unit' };

// The parts of a profile by name: lists of messages, of which types, mappings and functions are
// records already, strings are text, and comments are numbers of strings.
function readProfile(bytes) {
	const parts = { types: [], samples: [], mappings: [], locations: [], functions: [], strings: [],
		comments: [], begin: 0, duration: 0 };
	new Message(bytes).each((field, number, message) => {
		const name = PROFILE_FIELDS[field];
		if (name === 'comments')
			parts.comments.push(...(message ? message.numbers() : [number]));
		else if (name && message)
			parts[name].push(message);
		else if (name)
			parts[name] = number;
	});
	parts.types = parts.types.map((m) => m.record({ 1: 'type', 2: 'unit' }));
	parts.mappings = parts.mappings.map((m) => m.record(MAPPING_FIELDS));
	parts.functions = parts.functions.map((m) => m.record(FUNCTION_FIELDS));
	parts.strings = parts.strings.map((m) => m.text());
	return parts;
}
