# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Programs that make a known number of hits by known call chains and print what a
# correct tool must report. Included by the Makefile; 'make workload' builds all.
WORKLOADS    := calls syscalls usdt dl cxx vector inlined swap signals leader jit ladder programs made \
	unrowed samples returns values places elapsed
WORKLOAD_DIR := $(BUILD)/workload
WORK_FLAGS   := -O1 -g0 -D_GNU_SOURCE -Wall -Wextra -Werror -Itests/workload -fno-pic \
	-fno-omit-frame-pointer -fno-optimize-sibling-calls $(if $(CROSS),,-fcf-protection=none)
WORK_CC       = $(CC) -std=gnu17 $(WORK_FLAGS)
# What marks places to jump to and, where the processor can, signs return addresses.
PROTECTION   := $(if $(CROSS),-mbranch-protection=standard,-fcf-protection=branch)

.PHONY: workload
ifdef CROSS
# What its guest's tests need: SELECTIONS in tests/vm/run.py.
workload: $(patsubst %,$(WORKLOAD_DIR)/%,begins calls calls-cet calls-pie cxx ladder syscalls)
else
workload: $(WORKLOADS:%=$(WORKLOAD_DIR)/%) $(WORKLOAD_DIR)/calls-cet $(WORKLOAD_DIR)/calls-pie \
	$(WORKLOAD_DIR)/liblate.so $(WORKLOAD_DIR)/liblate-nofp.so $(WORKLOAD_DIR)/libnext-nofp.so \
	$(WORKLOAD_DIR)/lives-one $(WORKLOAD_DIR)/lives-two \
	$(patsubst %,$(WORKLOAD_DIR)/%-nofp,calls samples syscalls signals leader ways swap ladder entries makers) \
	$(patsubst %,$(WORKLOAD_DIR)/%-static,ways signals) \
	$(patsubst %,$(WORKLOAD_DIR)/%-musl,ways) \
	$(WORKLOAD_DIR)/stranger $(WORKLOAD_DIR)/bits32 $(WORKLOAD_DIR)/first $(WORKLOAD_DIR)/helpers
endif

$(WORKLOAD_DIR)/%.o: tests/workload/%.c $(wildcard tests/workload/*.h)
	@mkdir -p $(@D)
	$(WORK_CC) -c -o $@ $<

$(WORKLOAD_DIR)/%: $(WORKLOAD_DIR)/%.o $(WORKLOAD_DIR)/work.o
	$(CC) -no-pie -rdynamic -o $@ $^ -pthread -ldl

$(WORKLOAD_DIR)/usdt: $(WORKLOAD_DIR)/usdt_gated.o

$(WORKLOAD_DIR)/cxx: tests/workload/cxx.cc $(WORKLOAD_DIR)/work.o
	$(CXX) -std=gnu++17 $(WORK_FLAGS) -no-pie -o $@ $^ -pthread

# Tail calls and cold parts come with optimization.
$(WORKLOAD_DIR)/returns: tests/workload/returns.cc $(WORKLOAD_DIR)/work.o
	$(CXX) -std=gnu++17 -O2 -D_GNU_SOURCE -DNO_FRAME_POINTERS -Wall -Wextra -Werror -Wno-clobbered -no-pie \
		-o $@ $^ -pthread

# With DWARF.
$(WORKLOAD_DIR)/inlined.o: tests/workload/inlined.c tests/workload/work.h
	@mkdir -p $(@D)
	$(WORK_CC) -g -c -o $@ $<

# Functions that begin with endbr64 (aarch64: paciasp), and a position-independent program.
$(WORKLOAD_DIR)/calls-cet: tests/workload/calls.c $(WORKLOAD_DIR)/work.o
	$(WORK_CC) $(PROTECTION) -no-pie -o $@ $^ -pthread
$(WORKLOAD_DIR)/calls-pie: tests/workload/calls.c tests/workload/work.c
	@mkdir -p $(@D)
	$(WORK_CC) -fPIE -pie -o $@ $^ -pthread

$(WORKLOAD_DIR)/liblate.so: tests/workload/late.c tests/workload/work.h
	@mkdir -p $(@D)
	$(WORK_CC) -fPIC -shared -o $@ $<

# Frames of other sizes. By lld the segment of code lies within one page of the
# file, in which others end and begin.
$(WORKLOAD_DIR)/liblate-nofp.so: tests/workload/late.c tests/workload/work.h
	@mkdir -p $(@D)
	$(WORK_CC) $(NOFP) -fuse-ld=lld -fPIC -shared -o $@ $<

$(WORKLOAD_DIR)/libnext-nofp.so: tests/workload/late.c tests/workload/work.h
	@mkdir -p $(@D)
	$(WORK_CC) $(NOFP) -fuse-ld=lld -DROOM=200 -Dlate_hit=next_hit -Dlate_entry=next_entry -fPIC -shared -o $@ $<

# As distributions build theirs: optimized, without frame pointers.
NOFP := -O2 -fomit-frame-pointer -DNO_FRAME_POINTERS
$(WORKLOAD_DIR)/%-nofp: tests/workload/%.c tests/workload/work.c tests/workload/work.h
	@mkdir -p $(@D)
	$(WORK_CC) $(NOFP) -fPIE -pie -rdynamic -o $@ $< \
		tests/workload/work.c -pthread -ldl

# A program, and a library that does something before it.
$(WORKLOAD_DIR)/libfirst.so: tests/workload/first_library.c tests/workload/work.h
	@mkdir -p $(@D)
	$(WORK_CC) $(NOFP) -fPIC -shared -o $@ $<
$(WORKLOAD_DIR)/first: tests/workload/first.c $(WORKLOAD_DIR)/libfirst.so
	$(WORK_CC) $(NOFP) -fPIE -pie -o $@ $^ -Wl,-rpath,'$$ORIGIN'

# The product's own helpers, as they are built for it.
$(WORKLOAD_DIR)/helpers: tests/workload/helpers.c \
		$(patsubst %,$(BUILD)/obj/files/%.o,sandbox zygote) \
		$(patsubst src/%.c,$(BUILD)/obj/%.o,$(wildcard src/base/*.c))
	@mkdir -p $(@D)
	$(WORK_CC) -Isrc -no-pie -o $@ $^ -pthread

# Two programs with different functions at equal addresses.
$(WORKLOAD_DIR)/lives-%: tests/workload/lives.c $(WORKLOAD_DIR)/work.o
	$(WORK_CC) -DPREFIX=$* -no-pie -o $@ $^ -pthread

# Without a dynamic linker; and with another libc.
$(WORKLOAD_DIR)/%-static: tests/workload/%.c tests/workload/work.c tests/workload/work.h
	@mkdir -p $(@D)
	$(WORK_CC) $(NOFP) -static -o $@ $< tests/workload/work.c -pthread
$(WORKLOAD_DIR)/%-musl: tests/workload/%.c tests/workload/work.c tests/workload/work.h
	@mkdir -p $(@D)
	musl-gcc -std=gnu17 $(WORK_FLAGS) $(NOFP) -static -o $@ $< tests/workload/work.c -pthread

# For any root directory.
$(WORKLOAD_DIR)/stranger: tests/workload/stranger.c $(WORKLOAD_DIR)/work.o
	$(WORK_CC) -static -o $@ $^ -pthread

# No library: there may be none for 32 bits.
$(WORKLOAD_DIR)/bits32: tests/workload/bits32.c
	$(WORK_CC) -m32 -ffreestanding -nostdlib -static -o $@ $<
