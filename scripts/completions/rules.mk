# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# What shells complete, made from the table of options. Included by the Makefile.
HOSTCC         ?= $(CC)
COMPLETION_DIR := $(BUILD)/completions
COMPLETE       := $(BUILD)/gen/completions
COMPLETIONS    := $(NAMES:%=$(COMPLETION_DIR)/%.bash) $(NAMES:%=$(COMPLETION_DIR)/_%) \
	$(NAMES:%=$(COMPLETION_DIR)/%.fish)
COMPLETE_SRCS  := scripts/completions/generate.c src/tool/option_table.c

all: $(COMPLETIONS)

$(COMPLETE): $(COMPLETE_SRCS) $(wildcard src/base/*.h) src/bpf/abi.h src/match/numbers.h \
		src/tool/options.h src/report/forms.h
	@mkdir -p $(@D) $(COMPLETION_DIR)
	$(HOSTCC) -std=gnu17 -O1 $(WARN) -Isrc -o $@ $(COMPLETE_SRCS)

$(COMPLETION_DIR)/%.bash: scripts/completions/bash.in $(COMPLETE)
	$(COMPLETE) bash $* <$< >$@.tmp && mv $@.tmp $@
$(COMPLETION_DIR)/_%: scripts/completions/zsh.in $(COMPLETE)
	$(COMPLETE) zsh $* <$< >$@.tmp && mv $@.tmp $@
$(COMPLETION_DIR)/%.fish: scripts/completions/fish.in $(COMPLETE)
	$(COMPLETE) fish $* <$< >$@.tmp && mv $@.tmp $@
