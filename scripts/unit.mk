# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Unit tests and fuzz targets. Included by the Makefile.
#
# Unit tests are built with ASan and UBSan. A file of them is in the group of the room that its first line names first
# ("rooms: base elf arch": elf), and build/unit/test_X is its group's program, called by this name. Of the rooms
# a program has what it needs. So a file that stands in for functions of a room is a program of its own ("alone"), and
# those that share a stand-in, tests/unit/object.c, are a group ("over object").
.PHONY: unit-programs fuzz-programs
UNIT_base      := base arch bpf attach
UNIT_elf       := elf unwind files
UNIT_processes := kernel processes match symbolize
UNIT_report    := profile report
UNIT_tool      := tables store tool
UNIT_SRCS      := $(wildcard tests/unit/test_*.c)
UNIT_FLAGS     := -O1 -g -std=gnu17 $(WARN) -fsanitize=address,undefined -fno-sanitize-recover=all \
	-fno-omit-frame-pointer -DTEST_BUILD=\"$(abspath $(BUILD))\"
UNIT_OBJS      := $(patsubst src/%.c,$(BUILD)/uobj/%.o,$(filter-out src/tool/main.c,$(SRCS)))
UNIT_ROOMS     := $(BUILD)/uobj/rooms.a $(DECODER)

$(BUILD)/uobj/%.o: src/%.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(UNIT_FLAGS) -MMD -MP -c -o $@ $<
$(BUILD)/uobj/tests/%.o: tests/unit/%.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(UNIT_FLAGS) -Itests -Dmain=$*_main -MMD -MP -c -o $@ $<
$(BUILD)/uobj/attach/object.o: $(SKELETON)
$(BUILD)/uobj/rooms.a: $(UNIT_OBJS)
	rm -f $@
	$(AR) rcsT $@ $^

# ROOM:FILE of each, alone:FILE or over_object:FILE.
unit_places := $(shell grep -m1 -o 'rooms: [^*]*' $(UNIT_SRCS) | sed -E 's,.*/(.*)\.c:.*; alone.*,alone:\1,; \
	s,.*/(.*)\.c:.*; over (object).*,over_\2:\1,; s,.*/(.*)\.c:rooms: *(base +)?([a-z]*).*,\3:\1,; s,^:,base:,')
unit_files   = $(foreach r,$(1),$(patsubst $(r):%,%,$(filter $(r):%,$(unit_places))))
define unit_program
$(BUILD)/unit/$(1): tests/unit/main.c $(2:%=$(BUILD)/uobj/tests/%.o) $(3) $(UNIT_ROOMS)
	@mkdir -p $$(@D)
	$$(CC) $$(CPPFLAGS) $$(UNIT_FLAGS) '-DEACH_FILE(DO)=$(foreach t,$(2),DO($(t)))' -o $$@ $$^ -lcmocka $$(LIBS)
endef
define unit_group
$(call unit_program,$(1),$(2),$(3))
$(2:%=$(BUILD)/unit/%): $(BUILD)/unit/$(1)
	ln -f $$< $$@
endef
$(foreach g,base elf processes report tool,$(eval $(call unit_group,$(g),$(call unit_files,$(UNIT_$(g))))))
$(eval $(call unit_group,object,$(call unit_files,over_object),$(BUILD)/uobj/tests/object.o))
$(foreach t,$(call unit_files,alone),$(eval $(call unit_program,$(t),$(t))))

unit-programs: $(UNIT_SRCS:tests/unit/%.c=$(BUILD)/unit/%)
unit:
	@scripts/unit

# Fuzz targets: build/fuzz/replay fuzz_X FILE... has all of them, as make check runs them over their corpora. make fuzz
# (clang) searches, from there and from parts of this machine's files.
FUZZ      := $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ_SRCS := $(foreach r,base arch elf kernel processes files unwind match profile report,$(call sources_of,$(r))) \
	src/symbolize/jit.c src/tables/late.c src/attach/value_code.c
FUZZ_LIBS := -lbpf -lelf -ldw -llzma -lz -ldeflate -Wl,-Bstatic -liberty -Wl,-Bdynamic
FUZZ_TIME ?= 120

$(BUILD)/uobj/tests/%.o: tests/fuzz/%.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(UNIT_FLAGS) -DLLVMFuzzerTestOneInput=$*_one -MMD -MP -c -o $@ $<
$(BUILD)/fuzz/replay: tests/fuzz/replay.c $(FUZZ:%=$(BUILD)/uobj/tests/fuzz_%.o) $(UNIT_ROOMS)
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(UNIT_FLAGS) '-DEACH_TARGET(DO)=$(foreach f,$(FUZZ),DO(fuzz_$(f)))' -o $@ $^ $(LIBS)
$(BUILD)/fuzz/fuzz_%: tests/fuzz/fuzz_%.c $(FUZZ_SRCS) $(DECODER) | $(PAGE)
	@mkdir -p $(@D)
	$(CLANG) -std=gnu17 -O1 -g $(CPPFLAGS) -fsanitize=fuzzer,address,undefined \
		-fno-sanitize-recover=undefined -o $@ $^ $(FUZZ_LIBS)
fuzz-programs: $(BUILD)/fuzz/replay
fuzz-replay:
	@scripts/unit fuzz
fuzz: $(FUZZ:%=$(BUILD)/fuzz/fuzz_%)
	@tests/fuzz/make_real $(BUILD)/fuzz/real
	@for f in $(FUZZ); do mkdir -p $(BUILD)/fuzz/new_$$f $(BUILD)/fuzz/real/$$f && \
		$(BUILD)/fuzz/fuzz_$$f -max_total_time=$(FUZZ_TIME) -timeout=5 -max_len=32768 \
		$(BUILD)/fuzz/new_$$f tests/fuzz/corpus/$$f $(BUILD)/fuzz/real/$$f || exit 1; done
