# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The page of src/report/render_html.c, packed. Included by the Makefile.
PAGE    := $(BUILD)/gen/page.h
SQUEEZE := $(BUILD)/gen/squeeze

$(SQUEEZE): scripts/page/squeeze.c
	@mkdir -p $(@D)
	$(HOSTCC) -std=gnu17 -O1 $(WARN) -o $@ $<

$(PAGE): $(wildcard src/report/page/*) scripts/page/assemble $(SQUEEZE) $(PACK)
	scripts/page/assemble $(SQUEEZE) $(@:.h=) $(PACK)

$(addsuffix /report/render_html.o,$(BUILD)/obj $(BUILD)/uobj): | $(PAGE)
lint $(FUZZ:%=$(BUILD)/fuzz/fuzz_%): | $(PAGE)
