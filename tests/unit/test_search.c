/* rooms: base */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The searches of bpf/rule.bpf.h among mappings and a table's entries, in the steps they have. */
#include "test.h"

#include "bpf/tables.h"

#define PAGE_ADDRESSES 65536U

/* Of @n rising entries from @first on, how many begin at @addr or before; by looking at each. */
static uint64_t count_of(const uint16_t *entries, uint64_t first, uint64_t n, uint64_t addr)
{
	uint64_t count = 0;

	while (count < n && entries[first + count] <= addr)
		count++;
	return count;
}

/* As search_entries() of bpf/rule.bpf.h does. */
static uint64_t find_entry(const uint16_t *entries, uint64_t first, uint64_t n, uint64_t addr)
{
	struct search s = { first, n };

	for (unsigned step = 0; step < PAGE_CHUNK_STEPS; step++) {
		const uint64_t middle = search_middle_chunk(&s);

		if (!middle)
			break;
		assert_in_range(middle, s.low, s.low + s.n - 1);
		search_step(&s, middle, entries[middle], addr);
	}
	assert_int_equal(search_middle_chunk(&s), 0);
	for (unsigned step = 0; step < CHUNK_ENTRY_STEPS && s.n; step++) {
		const uint64_t middle = s.low + s.n / 2;

		search_step(&s, middle, entries[middle], addr);
	}
	assert_int_equal(s.n, 0);
	return s.low;
}

/* Addresses @gap apart, from entry @first on, with others on both sides that nobody may look at. */
static void check_page(uint64_t first, uint32_t n, uint32_t gap)
{
	uint16_t *entries = xcalloc(first + n + 1, sizeof(*entries));

	for (uint32_t i = 0; i < n; i++)
		entries[first + i] = (uint16_t)(gap * i + gap / 2);
	for (uint32_t addr = 0; addr < PAGE_ADDRESSES; addr += n < 100 ? 1 : 7)
		assert_int_equal(find_entry(entries, first, n, addr),
				 first + (n <= 2000 ? count_of(entries, first, n, addr)
						    : (addr + gap - gap / 2) / gap));
	free(entries);
}

TEST(entries_are_found_wherever_they_lie_in_chunks)
{
	static const uint64_t firsts[] = { 1, 512, CHUNK_ENTRIES - 1, CHUNK_ENTRIES,
					   CHUNK_ENTRIES + 1 };
	static const uint32_t sizes[] = { 0,    1,    2,    3,    10,    1023,
					  1024, 1025, 2000, 5461, 32768, PAGE_ADDRESSES };

	for (size_t i = 0; i < ARRAY_SIZE(firsts); i++)
		for (size_t j = 0; j < ARRAY_SIZE(sizes); j++)
			check_page(firsts[i], sizes[j],
				   sizes[j] < 3 ? 1000 : PAGE_ADDRESSES / sizes[j]);
}

TEST(mappings_are_found_in_their_steps)
{
	static const uint64_t sizes[] = { 0, 1, 2, 3, 1000, MOST_MAPPINGS - 1, MOST_MAPPINGS };
	const uint64_t gap = 4, base = 100;

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		const uint64_t end = base + gap * sizes[i] + 10;

		for (uint64_t page = 0; page < end; page += 1 + sizes[i] / 1000) {
			const uint64_t behind = page < base ? 0 : (page - base) / gap + 1;
			struct search s = { 0, sizes[i] };

			for (unsigned step = 0; step < MAPPING_STEPS && s.n; step++) {
				const uint64_t middle = s.low + s.n / 2;

				search_step(&s, middle, base + gap * middle, page);
			}
			assert_int_equal(s.n, 0);
			assert_int_equal(s.low, behind < sizes[i] ? behind : sizes[i]);
		}
	}
}

TEST_MAIN(NULL, NULL)
