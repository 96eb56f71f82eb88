# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Figures against floors that are built here, and against peers where they are installed.
# Included by the Makefile. 'make bench BENCH_FLAGS=--vm': also many kernel functions, in a guest.
BENCH_DIR   := $(BUILD)/bench
BENCH_FLAGS ?=

$(BENCH_DIR)/%.bpf.o: bench/%.bpf.c
	@mkdir -p $(@D)
	$(CLANG) -O2 -g -target bpf -mcpu=v3 -D__TARGET_ARCH_$(BPF_ARCH) -Wall -Wextra -Werror \
		-Wno-unused-parameter $(addprefix -I,$(wildcard /usr/include/$(shell uname -m)-linux-gnu)) \
		-c -o $@ $<

$(BENCH_DIR)/%.skel.h: $(BENCH_DIR)/%.bpf.o
	$(BPFTOOL) gen skeleton $< name $*_bpf >$@.tmp && mv $@.tmp $@

.SECONDARY: $(BENCH_DIR)/floor.bpf.o $(BENCH_DIR)/ring.bpf.o
$(BENCH_DIR)/floor $(BENCH_DIR)/multi: $(BENCH_DIR)/floor.skel.h
$(BENCH_DIR)/ring: $(BENCH_DIR)/ring.skel.h
$(BENCH_DIR)/floor $(BENCH_DIR)/multi $(BENCH_DIR)/ring: $(BENCH_DIR)/%: bench/%.c
	$(CC) -D_GNU_SOURCE -I$(BENCH_DIR) $(CFLAGS) -o $@ $< $(shell $(PKG) --libs libbpf libelf)

# As the programs that users trace should be: with frame pointers.
$(BENCH_DIR)/load: bench/load.c
	@mkdir -p $(@D)
	$(CC) -D_GNU_SOURCE -std=gnu17 $(WARN) -O1 -fno-omit-frame-pointer \
		-fno-optimize-sibling-calls -o $@ $<

$(BENCH_DIR)/load-nofp: bench/load.c
	@mkdir -p $(@D)
	$(CC) -D_GNU_SOURCE -std=gnu17 $(WARN) -O1 -fomit-frame-pointer \
		-fno-optimize-sibling-calls -o $@ $<

$(BENCH_DIR)/libs: bench/libs.c
	@mkdir -p $(@D)
	$(CC) -D_GNU_SOURCE -std=gnu17 $(WARN) -O1 -o $@ $<

$(BENCH_DIR)/load-many: bench/load.c bench/many.c
	@mkdir -p $(@D)
	$(CC) -D_GNU_SOURCE -std=gnu17 $(WARN) -O1 -fno-omit-frame-pointer \
		-fno-optimize-sibling-calls -o $@ $^

$(BENCH_DIR)/load-paths: PATHS_FLAGS := -fno-omit-frame-pointer
$(BENCH_DIR)/load-paths-nofp: PATHS_FLAGS := -fomit-frame-pointer
$(BENCH_DIR)/load-paths $(BENCH_DIR)/load-paths-nofp: bench/load.c bench/paths.c
	@mkdir -p $(@D)
	$(CC) -D_GNU_SOURCE -std=gnu17 $(WARN) -O1 $(PATHS_FLAGS) -fno-optimize-sibling-calls -o $@ $^

$(BENCH_DIR)/budget $(BENCH_DIR)/tables $(BENCH_DIR)/forms: $(BENCH_DIR)/%: bench/%.c $(filter-out %/tool/main.o,$(OBJS)) $(DECODER)
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

$(BENCH_DIR)/images: bench/images.c
	@mkdir -p $(@D)
	$(CC) -D_GNU_SOURCE -std=gnu17 $(WARN) -O1 -fno-omit-frame-pointer -o $@ $< -lelf

$(BENCH_DIR)/spawn $(BENCH_DIR)/nothing: $(BENCH_DIR)/%: bench/%.c
	@mkdir -p $(@D)
	$(CC) -D_GNU_SOURCE -std=gnu17 $(WARN) -O1 -static -o $@ $<

.PHONY: bench bench-programs
bench-programs: all workload $(addprefix $(BENCH_DIR)/,floor multi ring load load-nofp load-many \
	load-paths load-paths-nofp libs budget tables forms images spawn nothing)
bench: bench-programs
	@BUILD=$(abspath $(BUILD)) /usr/bin/python3 bench/run.py $(BENCH_FLAGS)
