# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# make            build/stackcount, its three other names, completions; installs nothing
# make static     build/static/stackcount, which needs no library of the machine it runs on
# make deb        build/deb/*.deb, packages for this Debian release
# make demo       everything needed, then a small workload and its stacks
# make quick      while working: unit tests of changed rooms, 28 end-to-end tests; 40 s
# make check      everything needed, then the tests that each change has to pass: 5 to 20 minutes
# make check-all  these and all others: 15 to 60 minutes
# make soak       tests that take longer than make check may
# make bench      figures against floors and peers
# make CROSS=aarch64   builds for another architecture, in build/aarch64
ifdef CROSS
include scripts/cross.mk
endif
BUILD   ?= build
CC      ?= gcc
CLANG   ?= clang
OBJCOPY ?= objcopy
BPFTOOL ?= $(firstword $(wildcard /usr/sbin/bpftool) bpftool)
PKG     ?= pkg-config
PREFIX  ?= /usr/local
DESTDIR ?=
SUDO    := $(if $(filter 0,$(shell id -u)),,sudo)
PYTEST  ?= /usr/bin/python3 -m pytest

# The architecture that is built for, which has a folder of its own: see src/arch/arch.h.
ARCH     ?= $(firstword $(subst -, ,$(shell $(CC) -dumpmachine)))
ROOMS    := base arch elf kernel files processes match bpf attach unwind tables store profile symbolize report tool
WARN     := -Wall -Wextra -Wshadow -Wvla -Werror
CPPFLAGS += -D_GNU_SOURCE -Isrc -I$(BUILD)/gen
CFLAGS   ?= -O2 -g
CFLAGS   += -std=gnu17 $(WARN) -fstack-protector-strong
# GCC 15 clears no more of a union than the member that is set, and bpf(2) refuses what is not 0 behind it.
CFLAGS   += $(shell $(CC) -fzero-init-padding-bits=unions -E -x c /dev/null >/dev/null 2>&1 && echo -fzero-init-padding-bits=unions)
LIBS      = $(shell $(PKG) --libs libbpf libelf libdw liblzma zlib libdeflate) -ldl
LIBS     += -Wl,-Bstatic -liberty -Wl,-Bdynamic
STATIC_LIBS = -static -Wl,--wrap=dlopen,--wrap=dlsym,--wrap=dlclose -liberty $(shell $(PKG) --static --libs libbpf libelf libdw liblzma zlib libdeflate)
ifdef SANITIZE
CFLAGS   += -fsanitize=$(SANITIZE) -fno-sanitize-recover=all -fno-omit-frame-pointer
LDFLAGS  += -fsanitize=$(SANITIZE)
endif

sources_of = $(filter-out %.bpf.c,$(wildcard src/$(1)/*.c $(if $(filter arch,$(1)),src/arch/$(ARCH)/*.c)))
SRCS := $(foreach r,$(ROOMS),$(call sources_of,$(r)))
OBJS := $(SRCS:src/%.c=$(BUILD)/obj/%.o)
BPF_SRC  := src/bpf/stackcount.bpf.c
BPF_ARCH := $(patsubst x86_64,x86,$(patsubst aarch64,arm64,$(ARCH)))
SKELETON := $(BUILD)/gen/stackcount.skel.h
NAMES    := stackcount stacksnoop funccount profile

.PHONY: all deb static clean install deps test-deps demo check check-all quick soak unit e2e vm aarch64 orc lint fuzz fuzz-replay bench format
all: $(NAMES:%=$(BUILD)/%)

# Zydis's decoder, compiled from its sources: scripts/zydis says why, and fetches them.
ZYDIS     ?= $(BUILD)/zydis
ZYDIS_INC := -isystem $(ZYDIS)/include -isystem $(ZYDIS)/zycore/include -DZYDIS_STATIC_BUILD -DZYCORE_STATIC_BUILD \
	-DZYDIS_DISABLE_ENCODER -DZYDIS_DISABLE_FORMATTER -DZYDIS_DISABLE_KNC
CPPFLAGS  += $(ZYDIS_INC)

$(ZYDIS)/unpacked: scripts/zydis
	scripts/zydis $(ZYDIS)
$(BUILD)/obj/zydis/%.o: $(ZYDIS)/unpacked Makefile
	@mkdir -p $(@D)
	$(CC) $(ZYDIS_INC) -I$(ZYDIS)/src -O2 -std=gnu17 -w -c -o $@ $(ZYDIS)/src/$*.c
DECODER := $(if $(filter x86_64,$(ARCH)),$(patsubst %,$(BUILD)/obj/zydis/%.o,Decoder DecoderData SharedData Register))
OBJS_OF_ZYDIS := $(addsuffix /arch/x86_64/instruction.o,$(BUILD)/obj $(BUILD)/uobj)
$(OBJS_OF_ZYDIS): | $(ZYDIS)/unpacked

# Children of the zygote should find all functions bound (files/zygote.h).
$(BUILD)/stackcount: $(OBJS) $(DECODER)
	$(CC) $(CFLAGS) $(LDFLAGS) -Wl,-z,now -o $@ $^ $(LIBS)

# The same objects without shared libraries: one file for machines that have nothing.
static: $(BUILD)/static/stackcount
$(BUILD)/static/stackcount: $(OBJS) $(BUILD)/obj/static/no_loader.o $(BUILD)/static/search_tree.a $(DECODER)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@.debug $(filter %.o,$^) $(STATIC_LIBS) $(filter %.a,$^)
	$(OBJCOPY) --strip-all $@.debug $@

$(BUILD)/static/%.a: $(BUILD)/obj/static/%.o
	@mkdir -p $(@D)
	$(AR) rcs $@ $^

# Packages for this Debian release, with the program's debug symbols apart.
deb:
	@mkdir -p $(BUILD)/deb && rm -f $(BUILD)/deb/*.deb
	dpkg-checkbuilddeps -I
	debian/rules clean
	DEB_BUILD_OPTIONS="parallel=$$(nproc) $$DEB_BUILD_OPTIONS" DEB_RULES_REQUIRES_ROOT=no debian/rules binary

# One program under four names.
$(patsubst %,$(BUILD)/%,$(filter-out stackcount,$(NAMES))): $(BUILD)/stackcount
	ln -sf stackcount $@

$(BUILD)/obj/%.o: src/%.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

# Linux 6.1 and older refuse a loop into whose head the code before it falls ("back-edge"). For aarch64
# clang 14 places such ones, unless it leaves the order of blocks as it is. tests/lint/loops looks.
BPF_LAYOUT := $(if $(filter aarch64,$(ARCH)),-mllvm -disable-block-placement)
$(BUILD)/gen/stackcount.bpf.o: $(BPF_SRC) $(wildcard src/bpf/*.h src/arch/*.h src/arch/*/*.h)
	@mkdir -p $(@D)
	$(CLANG) -O2 -g -target bpf -mcpu=v3 $(BPF_LAYOUT) -D__TARGET_ARCH_$(BPF_ARCH) -Wall -Wextra -Werror \
		-Isrc $(addprefix -I,$(wildcard $(SYSROOT)/usr/include/$(ARCH)-linux-gnu)) -c -o $@ $<

# Linking a file alone leaves out its DWARF, which nothing reads. BTF stays.
$(BUILD)/gen/linked.bpf.o: $(BUILD)/gen/stackcount.bpf.o scripts/without_lines
	cp $< $@.lines && scripts/without_lines $@.lines
	$(BPFTOOL) gen object $@ $@.lines && rm $@.lines
$(SKELETON): $(BUILD)/gen/linked.bpf.o Makefile
	$(BPFTOOL) gen skeleton $< name stackcount_bpf >$@.tmp && mv $@.tmp $@
$(BUILD)/obj/attach/object.o: $(SKELETON)

# The page of src/report/render_html.c.
PAGE := $(BUILD)/gen/page.h
$(PAGE): $(wildcard src/report/page/*) scripts/page
	@mkdir -p $(@D)
	scripts/page >$@.tmp && mv $@.tmp $@
$(addsuffix /report/render_html.o,$(BUILD)/obj $(BUILD)/uobj): $(PAGE)

include scripts/unit.mk
include scripts/completions/rules.mk
include tests/workload/rules.mk
-include bench/rules.mk

deps:
	@scripts/deps build
test-deps:
	@scripts/deps test
demo: deps
	@$(MAKE) -s all $(BUILD)/workload/syscalls $(BUILD)/workload/calls
	@scripts/demo
check: test-deps
	@scripts/check
check-all:
	@scripts/deps all
	@scripts/check all
quick: all workload
	@scripts/quick
soak:
	@scripts/deps all
	@$(MAKE) -s all static workload
	@$(if $(SUDO),$(SUDO) BUILD=$(BUILD)) tests/soak/run $(SOAK)
lint: $(SKELETON) $(PAGE)
	@tests/lint/run
aarch64:
	@$(MAKE) -s CROSS=aarch64 BUILD=$(BUILD)/aarch64 all static workload
	@tests/lint/loops $(BUILD)/aarch64/gen/stackcount.bpf.o
orc: $(BUILD)/unit/test_orc
	@tests/vm/orc.py
vm: all workload aarch64
	@tests/vm/run.py
	@$(MAKE) -s orc
e2e: all static workload
	@$(PYTEST) -q -p no:cacheprovider tests/e2e

SHARE := $(DESTDIR)$(PREFIX)/share
EXAMPLES := $(SHARE)/doc/stackcount/examples
install: all
	install -D -m 755 $(BUILD)/stackcount $(DESTDIR)$(PREFIX)/sbin/stackcount
	for n in $(filter-out stackcount,$(NAMES)); do \
		ln -sf stackcount $(DESTDIR)$(PREFIX)/sbin/$$n || exit 1; done
	install -D -m 644 -t $(SHARE)/man/man8 $(NAMES:%=doc/%.8)
	for n in $(NAMES); do install -D -m 644 $(COMPLETION_DIR)/$$n.bash \
		$(SHARE)/bash-completion/completions/$$n || exit 1; done
	install -D -m 644 -t $(SHARE)/zsh/site-functions $(NAMES:%=$(COMPLETION_DIR)/_%)
	install -D -m 644 -t $(SHARE)/fish/vendor_completions.d $(NAMES:%=$(COMPLETION_DIR)/%.fish)
	install -D -m 644 -t $(EXAMPLES) $(wildcard contrib/*.service contrib/*.path)
	install -m 755 contrib/upload $(EXAMPLES)/upload
	sed -i 's,/usr/local/sbin/,$(PREFIX)/sbin/,' $(EXAMPLES)/stackcount.service

clean:
	rm -rf $(BUILD)

format:
	clang-format -i $(wildcard src/*/*.[ch] src/arch/*/*.[ch] tests/*/*.[ch] bench/*.[ch] scripts/*/*.[ch])

-include $(OBJS:.o=.d) $(wildcard $(BUILD)/obj/static/*.d $(BUILD)/uobj/*/*.d $(BUILD)/unit/*.d)
