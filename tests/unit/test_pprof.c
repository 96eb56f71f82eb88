/* rooms: report profile base */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The writer of pprof files. test_saved.c reads them back, and tests/e2e/test_pprof.py reads them
 * by other programs: "test_pprof write FOLDER" makes them.
 */
#include "test.h"

#include "profile/pprof.h"
#include "profiles.h"

static void unpack(const struct strbuf *packed, struct strbuf *to)
{
	z_stream stream = { .next_in = (unsigned char *)packed->text,
			    .avail_in = (unsigned)packed->n };
	char piece[65536];
	int result = Z_OK;

	assert_int_equal(inflateInit2(&stream, 15 + 16), Z_OK);
	while (result == Z_OK) {
		stream.next_out = (unsigned char *)piece;
		stream.avail_out = sizeof(piece);
		result = inflate(&stream, Z_NO_FLUSH);
		strbuf_put(to, piece, sizeof(piece) - stream.avail_out);
	}
	assert_int_equal(result, Z_STREAM_END);
	assert_int_equal(stream.avail_in, 0);
	inflateEnd(&stream);
}

TEST(the_same_profile_gives_the_same_bytes)
{
	cleanup(profile_freep) struct profile *p = profiles_full();
	cleanup_strbuf struct strbuf first = {}, second = {};

	profiles_write(p, &first);
	profiles_write(p, &second);
	assert_int_equal(first.n, second.n);
	assert_memory_equal(first.text, second.text, first.n);
}

TEST(names_that_are_not_utf8_are_escaped)
{
	struct frame frame = { .kind = FRAME_USER,
			       .image = NO_IMAGE,
			       .name = "a\xff\xc3(\xe2\x80" };
	const struct frame_table table = { .frames = &frame, .n = 1 };
	const uint32_t number = 0;
	cleanup(profile_builder_freep) struct profile_builder *b = profile_builder_new(1);
	cleanup_strbuf struct strbuf packed = {}, bytes = {};

	profiles_add(b, 1, 0, 1, &number);

	cleanup(profile_freep) struct profile *p = profile_builder_finish(b, &table);

	profiles_write(p, &packed);
	unpack(&packed, &bytes);
	assert_non_null(memmem(bytes.text, bytes.n, "a\\xff\\xc3(\\xe2\\x80", 17));
	assert_null(memmem(bytes.text, bytes.n, "\xff\xc3", 2));
}

TEST(a_row_of_the_table_writes_pb_gz)
{
	assert_ptr_equal(renderer_of_file("run.pb.gz"), renderer_find("pprof"));
	assert_ptr_equal(renderer_find("pprof")->render, render_pprof);
	assert_null(renderer_of_file("run.gz"));
}

static int write_file(const char *folder, const char *name, struct profile *p)
{
	char path[4096];
	struct strbuf bytes = {};
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = fopen(path, "w");
	if (!f) {
		perror(path);
		return 1;
	}
	profiles_write(p, &bytes);

	const int failed = fwrite(bytes.text, 1, bytes.n, f) != bytes.n;

	strbuf_fini(&bytes);
	profile_free(p);
	return fclose(f) || failed;
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "write") == 0)
		return write_file(argv[2], "full.pb.gz", profiles_full()) ||
		       write_file(argv[2], "difference.pb.gz", profiles_difference()) ||
		       write_file(argv[2], "empty.pb.gz", profiles_finish(profile_builder_new(1)));
	return run_all_tests(NULL, NULL);
}
