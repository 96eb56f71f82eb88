/* rooms: report profile base */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Files that are read back, files of others, and hostile ones. */
#include "test.h"

#include "golden.h"
#include "profile/pprof.h"
#include "profile/saved.h"
#include "profiles.h"

static struct profile *read_bytes(const struct strbuf *bytes)
{
	struct profile *p = NULL;
	struct error e = {};

	if (saved_read_bytes(bytes->text, bytes->n, "f.pb.gz", &p, &e))
		fail_msg("%s", e.text);
	return p;
}

/* Written and read, it has what the golden file says. */
static void expect_same_again(struct profile *p, const char *golden)
{
	cleanup_strbuf struct strbuf bytes = {}, document = {};

	profiles_write(p, &bytes);

	cleanup_profile struct profile *again = read_bytes(&bytes);

	strbuf_printf(&document, "%" PRId64 " %s %s\n", again->about.period,
		      again->about.period_type.name ?: "-", again->about.period_type.unit ?: "-");
	profiles_json(again, &document);
	golden_expect(golden, &document);
	profile_free(p);
}

TEST(a_profile_is_the_same_after_writing_and_reading)
{
	expect_same_again(profiles_full(), "saved_full.txt");
	expect_same_again(profiles_difference(), "saved_difference.txt");
	expect_same_again(profiles_finish(profile_builder_new(1)), "saved_empty.txt");
}

static void put(struct strbuf *to, unsigned field, struct strbuf *inner)
{
	proto_bytes(to, field, inner->text, inner->n);
	strbuf_fini(inner);
}

static void put_texts(struct strbuf *file, size_t n, const char *const *texts)
{
	for (size_t i = 0; i < n; i++)
		proto_bytes(file, PPROF_STRING, texts[i], strlen(texts[i]));
}

#define PUT_TEXTS(file, ...)                                             \
	do {                                                             \
		static const char *const texts_[] = { "", __VA_ARGS__ }; \
		put_texts(file, ARRAY_SIZE(texts_), texts_);             \
	} while (0)

/* A message of numbers: pairs of a field and its value. */
static void put_fields(struct strbuf *to, unsigned field, size_t n, const uint64_t (*of)[2])
{
	struct strbuf m = {};

	for (size_t i = 0; i < n; i++)
		proto_number(&m, (unsigned)of[i][0], of[i][1]);
	put(to, field, &m);
}

#define PUT_FIELDS(to, field, ...)                           \
	do {                                                 \
		const uint64_t of_[][2] = { __VA_ARGS__ };   \
		put_fields(to, field, ARRAY_SIZE(of_), of_); \
	} while (0)

static void put_type(struct strbuf *file, uint64_t name, uint64_t unit)
{
	PUT_FIELDS(file, PPROF_SAMPLE_TYPE, { TYPE_NAME, name }, { TYPE_UNIT, unit });
}

static void put_mapping(struct strbuf *file, uint64_t id, uint64_t start, uint64_t path)
{
	PUT_FIELDS(file, PPROF_MAPPING, { MAPPING_ID, id }, { MAPPING_START, start },
		   { MAPPING_LIMIT, start + 0x1000 }, { MAPPING_OFFSET, 0x2000 },
		   { MAPPING_FILE, path });
}

static void put_function(struct strbuf *file, uint64_t id, uint64_t name, uint64_t path)
{
	PUT_FIELDS(file, PPROF_FUNCTION, { FUNCTION_ID, id }, { FUNCTION_NAME, name },
		   { FUNCTION_FILE, path });
}

static void put_label(struct strbuf *sample, uint64_t key, uint64_t text, uint64_t number)
{
	PUT_FIELDS(sample, SAMPLE_LABEL, { LABEL_KEY, key }, { LABEL_STRING, text },
		   { LABEL_NUMBER, number });
}

static void put_location(struct strbuf *file, uint64_t id, uint64_t mapping, uint64_t address,
			 size_t n, const uint64_t *functions)
{
	struct strbuf m = {};

	proto_number(&m, LOCATION_ID, id);
	proto_number(&m, LOCATION_MAPPING, mapping);
	proto_number(&m, LOCATION_ADDRESS, address);
	for (size_t i = 0; i < n; i++)
		PUT_FIELDS(&m, LOCATION_LINE, { LINE_FUNCTION, functions[i] },
			   { LINE_NUMBER, 10 * (i + 1) });
	put(file, PPROF_LOCATION, &m);
}

static void put_numbers(struct strbuf *m, unsigned field, bool is_packed, size_t n,
			const uint64_t *numbers)
{
	struct strbuf packed = {};

	for (size_t i = 0; i < n; i++) {
		if (is_packed)
			proto_varint(&packed, numbers[i]);
		else
			proto_any_number(m, field, numbers[i]);
	}
	if (is_packed)
		put(m, field, &packed);
}

static void put_sample(struct strbuf *file, size_t n, const uint64_t *locations, size_t n_values,
		       const uint64_t *values)
{
	struct strbuf m = {};

	put_numbers(&m, SAMPLE_LOCATION, true, n, locations);
	put_numbers(&m, SAMPLE_VALUE, true, n_values, values);
	put(file, PPROF_SAMPLE, &m);
}

static void comment(struct strbuf *f, uint64_t text)
{
	struct strbuf numbers = {};

	proto_varint(&numbers, text);
	put(f, PPROF_COMMENT, &numbers);
}

static struct profile *read_made(struct strbuf *file)
{
	struct profile *p = NULL;
	struct error e = {};
	const int err = saved_read_bytes(file->text, file->n, "f", &p, &e);

	strbuf_fini(file);
	if (err)
		fail_msg("%s", e.text);
	return p;
}

/* The file is refused for that reason, which begins with its name. */
static void expect_refused(struct strbuf *file, int code, const char *reason)
{
	struct profile *p = NULL;
	struct error e = {};
	const int err = saved_read_bytes(file->text, file->n, "f", &p, &e);

	strbuf_fini(file);
	assert_null(p);
	assert_string_equal(e.text, reason);
	assert_int_equal(err, code);
}

#define DAMAGED(reason) -EBADMSG, "f: no pprof file, or damaged: " reason

#define SEEMS_TEXT                                                                               \
	"f: no pprof file: it seems to be text; pprof files and stackcount's pages can be read " \
	"(-o FILE.pb.gz, -o FILE.html)"

/* As programs of others write it: unpacked, not in our order, without comments of ours. */
static void put_foreign(struct strbuf *file, bool is_packed)
{
	static const uint64_t kernel[] = { 7 }, inlined[] = { 3, 1ULL << 40 };
	static const uint64_t stack[] = { 9, 1ULL << 50, 2 }, values[] = { 3, -(uint64_t)40 };
	struct strbuf sample = {};

	put_numbers(&sample, SAMPLE_LOCATION, is_packed, 3, stack);
	put_label(&sample, 11, 12, 0);
	put_numbers(&sample, SAMPLE_VALUE, is_packed, 2, values);
	put_label(&sample, 13, 0, 77);
	put_label(&sample, 14, 0, -(uint64_t)1);
	put(file, PPROF_SAMPLE, &sample);
	put_location(file, 1ULL << 50, 4, 0x5010, 2, inlined);
	put_location(file, 9, 3, 0xffffffff81000010, 1, kernel);
	put_location(file, 2, 0, 0x1234, 0, NULL);
	put_mapping(file, 4, 0x5000, 1);
	put_mapping(file, 3, 0xffffffff81000000, 2);
	put_function(file, 7, 3, 0);
	put_function(file, 3, 4, 5);
	put_function(file, 1ULL << 40, 6, 5);
	put_type(file, 7, 8);
	put_type(file, 9, 10);
	PUT_FIELDS(file, PPROF_PERIOD_TYPE, { TYPE_NAME, 9 }, { TYPE_UNIT, 10 });
	PUT_TEXTS(file, "/bin/foreign", "[kernel.kallsyms]", "vfs_read", "inner", "/src/a.c",
		  "outer", "samples", "count", "cpu", "nanoseconds", "thread", "main thread", "pid",
		  "tid");
	proto_number(file, PPROF_TIME_NS, 123456789);
	proto_number(file, PPROF_DURATION_NS, 1000);
	proto_number(file, PPROF_PERIOD, 10000);
	proto_number(file, PPROF_DEFAULT_TYPE, 9);
	proto_number(file, 15, 1); /* a field of later versions */
	proto_bytes(file, 99, "??", 2);
}

static void expect_foreign(struct profile *p)
{
	assert_int_equal(p->n_values, 2);
	assert_string_equal(p->values[0].name, "cpu");
	assert_string_equal(p->values[0].unit, "nanoseconds");
	assert_string_equal(p->values[1].name, "samples");
	assert_int_equal(p->about.begin_ns, 123456789);
	assert_int_equal(p->about.duration_ns, 1000);
	assert_string_equal(p->about.period_type.name, "cpu");
	assert_string_equal(p->about.period_type.unit, "nanoseconds");
	assert_int_equal(p->about.period, 10000);
	assert_int_equal(p->n_stacks, 1);

	const struct profile_stack *stack = &p->stacks[0];
	const struct frame *frames[4];

	assert_int_equal(stack->count, -40);
	assert_int_equal(stack->more[0], 3);
	assert_int_equal(stack->n_kernel, 1);
	assert_int_equal(stack->n_user, 3);
	assert_int_equal(stack->pid, 77);
	for (size_t i = 0; i < 4; i++)
		frames[i] = &p->frames.frames[stack->frames[i]];
	assert_int_equal(frames[0]->kind, FRAME_KERNEL);
	assert_null(frames[0]->module);
	assert_string_equal(frames[1]->name, "inner");
	assert_true(frames[1]->is_inlined);
	assert_string_equal(frames[1]->file, "a.c");
	assert_int_equal(frames[1]->line, 10);
	assert_string_equal(frames[2]->name, "outer");
	assert_false(frames[2]->is_inlined);
	assert_string_equal(frames[2]->module, "foreign");
	assert_int_equal(frames[2]->file_offset, 0x2010);
	assert_true(frames[2]->is_in_file);
	assert_null(frames[3]->name);
	assert_int_equal(frames[3]->addr, 0x1234);
	assert_int_equal(frames[3]->image, NO_IMAGE);
	profile_free(p);
}

TEST(files_of_others_are_read)
{
	struct strbuf packed = {}, unpacked = {};

	put_foreign(&packed, true);
	expect_foreign(read_made(&packed));
	put_foreign(&unpacked, false);
	expect_foreign(read_made(&unpacked));
}

/* Slice is a label of ours, so a file may have it twice. Each writing has the same order. */
TEST(of_two_slices_the_first_one_stays)
{
	static const uint64_t value[] = { 5 };
	struct strbuf file = {}, sample = {};
	cleanup_strbuf struct strbuf bytes = {};

	put_type(&file, 1, 2);
	PUT_TEXTS(&file, "hits", "count", "stackcount:slice=0 5 5 9", "slice");
	comment(&file, 3);
	put_numbers(&sample, SAMPLE_VALUE, true, 1, value);
	put_label(&sample, 4, 0, 1);
	put_label(&sample, 4, 0, 0);
	put(&file, PPROF_SAMPLE, &sample);

	cleanup_profile struct profile *p = read_made(&file);

	assert_int_equal(p->n_parts, 1);
	assert_int_equal(p->parts[0].slice, 1);
	profiles_write(p, &bytes);

	cleanup_profile struct profile *again = read_bytes(&bytes);

	profiles_same(p, again);
}

/* Also stacks without frames, which come with some programs' files. */
TEST(labels_of_other_programs_keep_no_stacks_apart)
{
	static const uint64_t one[] = { 1 }, value[] = { 5 };
	struct strbuf file = {};

	put_type(&file, 1, 2);
	PUT_TEXTS(&file, "hits", "count", "thread", "first", "second");
	put_location(&file, 1, 0, 16, 0, NULL);
	for (size_t i = 0; i < 4; i++) {
		struct strbuf sample = {};

		put_numbers(&sample, SAMPLE_LOCATION, true, i / 2, one);
		put_numbers(&sample, SAMPLE_VALUE, true, 1, value);
		put_label(&sample, 3, 4 + i % 2, 0);
		put(&file, PPROF_SAMPLE, &sample);
	}

	cleanup_profile struct profile *p = read_made(&file);

	assert_int_equal(p->n_stacks, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(p->stacks[i].count, 10);
		assert_null(p->stacks[i].comm);
	}
}

/* A good file, to which tests add what spoils it. */
static struct strbuf good_file(void)
{
	static const uint64_t one[] = { 1 };
	struct strbuf file = {};

	put_type(&file, 1, 2);
	PUT_TEXTS(&file, "hits", "count", "stackcount:slice=9 3", "stackcount:loss=x",
		  "stackcount:slice=0 9 9", "stackcount:cost_ns=-1", "stackcount:hidden=1 2 3");
	put_mapping(&file, 1, 0x1000, 0);
	put_function(&file, 1, 1, 0);
	put_location(&file, 1, 1, 16, 1, one);
	return file;
}

static const uint64_t one_two[] = { 1, 2 };

/* With what statement @spoil adds to it, the good file @f is refused: by a code, and a reason. */
#define REFUSED(spoil, ...)                                   \
	do {                                                  \
		struct strbuf made = good_file(), *f = &made; \
		spoil;                                        \
		expect_refused(f, __VA_ARGS__);               \
	} while (0)

TEST(damaged_files_are_refused_with_the_reason)
{
	static const uint64_t zero[] = { 0 }, half[] = { 1ULL << 62 }, least[] = { 1ULL << 63 };

	REFUSED(put_sample(f, 2, one_two, 1, one_two),
		DAMAGED("a sample names location 2, which is not there"));
	REFUSED(put_sample(f, 1, zero, 1, one_two),
		DAMAGED("a sample names location 0, which is not there"));
	REFUSED(put_location(f, 2, 9, 16, 0, NULL),
		DAMAGED("location 2 names mapping 9, which is not there"));
	REFUSED(put_location(f, 2, 1, 16, 2, one_two),
		DAMAGED("a location names function 2, which is not there"));
	REFUSED(put_function(f, 2, 1ULL << 60, 0);
		put_location(f, 2, 1, 16, 1, one_two + 1),
		DAMAGED("it has 8 strings, and names number 1152921504606846976"));
	REFUSED(put_location(f, 1, 1, 17, 0, NULL), DAMAGED("two locations have the id 1"));
	REFUSED(put_mapping(f, 1, 0x1000, 0), DAMAGED("two mappings have the id 1"));
	REFUSED(put_function(f, 1, 1, 0), DAMAGED("two functions have the id 1"));
	REFUSED(put_location(f, 0, 1, 17, 0, NULL), DAMAGED("a location has the id 0"));
	REFUSED(put_sample(f, 1, one_two, 0, NULL), DAMAGED("a sample has 0 values, and not 1"));
	REFUSED(put_sample(f, 1, one_two, 2, one_two),
		DAMAGED("a sample has more than its 1 values"));
	REFUSED(for (int i = 0; i < PROFILE_MOST_VALUES; i++) put_type(f, 1, 2), -E2BIG,
		"f: has more than 8 values for each stack");
	REFUSED(put_sample(f, 1, one_two, 1, half); put_sample(f, 1, one_two, 1, half), -E2BIG,
						    "f: its values add up to more than 2^63");
	REFUSED(put_sample(f, 1, one_two, 1, least), -E2BIG,
		"f: its values add up to more than 2^63");
	REFUSED(proto_bytes(f, PPROF_SAMPLE, "\x0a\x05\x01", 3), DAMAGED("a sample is cut off"));
	REFUSED(proto_bytes(f, PPROF_SAMPLE, "\x0a\x02\x80\x80", 4),
		DAMAGED("the locations of a sample are cut off"));
	REFUSED(proto_bytes(f, PPROF_SAMPLE, "\x1a\x01\x08\x12\x01\x01", 6),
		DAMAGED("a label is cut off"));
	REFUSED(proto_any_number(f, PPROF_SAMPLE, 1), DAMAGED("field 2 has wire type 0"));
	REFUSED(proto_varint(f, 16 << 3 | 4),
		DAMAGED("it is cut off, or no protobuf, at byte 169"));
}

TEST(comments_that_make_no_sense_are_left_out)
{
	struct strbuf file = good_file();

	for (uint64_t text = 3; text <= 7; text++)
		comment(&file, text);

	cleanup_profile struct profile *p = read_made(&file);

	assert_int_equal(p->n_slices, 1); /* "0 9" */
	assert_int_equal(p->n_losses, 0);
	assert_true(p->about.cost_ns == 0);
}

TEST(beginnings_of_a_file_are_refused)
{
	cleanup_profile struct profile *p = profiles_full();
	cleanup_strbuf struct strbuf bytes = {};

	profiles_write(p, &bytes);
	for (size_t n = 0; n < bytes.n; n += 3) {
		struct profile *part = NULL;
		struct error e = {};

		assert_true(saved_read_bytes(bytes.text, n, "f", &part, &e) < 0);
		assert_null(part);
	}
}

static void expect_text_refused(const char *text, int code, const char *reason)
{
	struct strbuf file = {};

	strbuf_puts(&file, text);
	expect_refused(&file, code, reason);
}

TEST(other_files_are_refused)
{
	expect_text_refused("", -ENOEXEC, "f: empty");
	expect_text_refused("main;work;malloc 42\n", -ENOEXEC, SEEMS_TEXT);
	expect_text_refused("x", -ENOEXEC, SEEMS_TEXT);
	expect_text_refused("\n\x02", DAMAGED("it is cut off, or no protobuf, at byte 2"));
	expect_text_refused("\n  main\n    42\n\n", -ENOEXEC, SEEMS_TEXT);
	expect_text_refused("\x48\x01", -ENOEXEC, "f: no pprof file: it has no values");
	expect_text_refused("<!DOCTYPE html><p>no", -ENOEXEC, SEEMS_TEXT);
	expect_text_refused("\x1f\x8b\x08", -EBADMSG, "f: ends within packed data");
	expect_text_refused("\x1f\x8b\x09zzzzzzzzzzz", -EBADMSG,
			    "f: packed data is damaged (unknown compression method)");
}

TEST(packed_data_is_checked)
{
	struct profile *p = profiles_full(), *read = NULL;
	cleanup_strbuf struct strbuf bytes = {};
	struct error e = {};

	profiles_write(p, &bytes);
	bytes.text[bytes.n - 8] ^= 1; /* its checksum */
	assert_int_equal(saved_read_bytes(bytes.text, bytes.n, "f", &read, &e), -EBADMSG);
	assert_string_equal(e.text, "f: packed data is damaged (incorrect data check)");
	bytes.text[bytes.n - 8] ^= 1;
	profile_free(read_bytes(&bytes));
	strbuf_put(&bytes, "x", 1);
	assert_int_equal(saved_read_bytes(bytes.text, bytes.n, "f", &read, &e), -EBADMSG);
	profile_free(p);
}

TEST(several_packed_parts_are_one_file)
{
	cleanup_strbuf struct strbuf file = {};
	struct strbuf bytes = {};

	put_type(&file, 1, 2);
	PUT_TEXTS(&file, "hits", "count");
	for (size_t i = 0; i < file.n; i += 5)
		profiles_pack(file.text + i, file.n - i < 5 ? file.n - i : 5, &bytes);

	cleanup_profile struct profile *p = read_made(&bytes);

	assert_string_equal(p->values[0].name, "hits");
}

/* A field of 65 MiB that nobody reads. What else is in the file decides whether it is a bomb. */
TEST(a_small_file_cannot_unpack_to_much)
{
	enum { N = 65 << 20, NOISE = 1 << 20 };
	cleanup_free char *bytes = xcalloc(1, N);
	struct strbuf file = {};
	cleanup_strbuf struct strbuf packed = {}; /* empty again behind a refusal */
	uint64_t random = 88172645463325252ULL;

	for (size_t round = 0; round < 2; round++) {
		for (size_t i = 0; i < NOISE && round; i++) {
			random = random * 6364136223846793005ULL + 1;
			bytes[i] = (char)(random >> 56);
		}
		put_type(&file, 1, 2);
		PUT_TEXTS(&file, "hits", "count");
		proto_bytes(&file, 99, bytes, N);
		profiles_pack(file.text, file.n, &packed);
		if (round)
			profile_free(read_bytes(&packed));
		else
			expect_refused(&packed, -E2BIG, "f: unpacks to more than 64 MiB");
		strbuf_fini(&file);
	}
}

/* 4 bytes name 100,000 frames. */
TEST(a_small_file_cannot_name_billions_of_frames)
{
	enum { LINES = 100000, SAMPLES = 10000 };
	static uint64_t functions[LINES];
	static const uint64_t location[] = { 2 };
	struct strbuf file = {};

	put_type(&file, 1, 2);
	PUT_TEXTS(&file, "hits", "count");
	put_location(&file, 2, 0, 16, LINES, functions);
	for (size_t i = 0; i < SAMPLES; i++)
		put_sample(&file, 1, location, 1, one_two);
	expect_refused(&file, -E2BIG, "f: has more than 268435456 frames in its stacks");
}

/* test_render_html.c reads whole pages. */
static const char page_begin[] =
	"<!DOCTYPE html>\n<html><head><title>x</title></head><body>"
	"<script type=\"application/octet-stream;base64\" id=\"profile-data\">";

TEST(damaged_pages_are_refused)
{
	static const struct {
		const char *data;
		const char *reason;
	} cases[] = {
		{ "H4sI", "f: ends within its profile" },
		{ "H4sI?</script>", "f: its profile is no base64" },
		{ "H4==sIAA</script>", "f: its profile is not packed by gzip" },
		{ "AAAA</script>", "f: its profile is not packed by gzip" },
		{ "</script>", "f: its profile is not packed by gzip" },
		{ "H4sI</script>", "f: ends within packed data" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		cleanup_strbuf struct strbuf page = {};

		strbuf_puts(&page, page_begin);
		strbuf_puts(&page, cases[i].data);
		expect_text_refused(page.text, -EBADMSG, cases[i].reason);
	}
}

TEST(a_pipe_is_read_and_a_folder_is_not)
{
	struct profile *p = profiles_difference(), *again = NULL;
	cleanup_strbuf struct strbuf bytes = {};
	struct error e = {};
	int ends[2];

	profiles_write(p, &bytes);
	profile_free(p);
	p = read_bytes(&bytes);
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], bytes.text, bytes.n), bytes.n);
	close(ends[1]);
	assert_int_equal(saved_read(ends[0], "pipe", &again, &e), 0);
	close(ends[0]);
	profiles_same(p, again);
	profile_free(again);
	profile_free(p);
	again = NULL;
	ends[0] = open("/", O_RDONLY);
	assert_int_equal(saved_read(ends[0], "/", &again, &e), -EISDIR);
	assert_string_equal(e.text, "/: is a directory");
	close(ends[0]);
}

/* As other programs write our files anew, with other numbers of mappings. */
TEST(kernel_frames_marks_and_jit_code_are_told_by_standard_fields)
{
	static const uint64_t frames[] = { 1, 2, 3, 4, 5, 6 }, value[] = { 1 };
	static const struct {
		enum frame_kind kind;
		bool is_jit;
		const char *name, *module;
	} expected[] = {
		{ FRAME_KERNEL, false, "ext4_read", "ext4" }, { FRAME_CUT, false, "depth", NULL },
		{ FRAME_UNVERIFIED, false, "32-bit", NULL },  { FRAME_USER, false, "main", "x" },
		{ FRAME_USER, true, "jitted", "perf-7.map" }, { FRAME_USER, false, NULL, "x" },
	};
	struct strbuf file = {};

	put_type(&file, 1, 2);
	PUT_TEXTS(&file, "hits", "count", "[ext4]", "/bin/x", "[kernel.kallsyms]", "perf-7.map",
		  "ext4_read", "[cut: depth]", "[unverified: 32-bit]", "main", "jitted",
		  "[x+0x12]");
	put_mapping(&file, 1, 0x4000, 4);
	put_mapping(&file, 2, 0, 3);
	put_mapping(&file, 3, 0, 5);
	put_mapping(&file, 4, 0, 6);
	for (uint64_t i = 0; i < 6; i++)
		put_function(&file, i + 1, 7 + i, 0);
	put_location(&file, 1, 2, 0xffffffffc0001000, 1, &frames[0]);
	put_location(&file, 2, 3, 0, 1, &frames[1]);
	put_location(&file, 3, 0, 0, 1, &frames[2]);
	put_location(&file, 4, 1, 0x4010, 1, &frames[3]);
	put_location(&file, 5, 4, 0x10, 1, &frames[4]);
	put_location(&file, 6, 1, 0x4020, 1, &frames[5]);
	put_sample(&file, 6, frames, 1, value);

	cleanup_profile struct profile *p = read_made(&file);

	assert_int_equal(p->stacks[0].n_kernel, 2);
	assert_int_equal(p->stacks[0].n_user, 4);
	for (size_t i = 0; i < 6; i++) {
		const struct frame *frame = &p->frames.frames[p->stacks[0].frames[i]];

		assert_int_equal(frame->kind, expected[i].kind);
		assert_int_equal(frame->is_jit, expected[i].is_jit);
		assert_true(text_is_same(frame->name, expected[i].name));
		assert_true(text_is_same(frame->module, expected[i].module));
		assert_int_equal(frame->has_start, i == 5);
	}
	assert_int_equal(p->frames.frames[p->stacks[0].frames[5]].module_offset, 0x12);
}

TEST_MAIN(NULL, NULL)
