# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# make CROSS=aarch64 - build for another architecture, in build/aarch64. Included by the Makefile.
#
# clang compiles, lld links. Headers and libraries are those of SYSROOT, a root directory of the other
# architecture. By default, tests/vm/fetch.py makes one from Debian's packages, without installing any.
DEBIAN_aarch64 := arm64
ifeq ($(DEBIAN_$(CROSS)),)
$(error CROSS=$(CROSS): the only other architecture is aarch64)
endif
BUILD ?= build/$(CROSS)

# The rule below is the first one that make reads, and would else be what a bare "make" builds.
.DEFAULT_GOAL := all

# make makes this file first, and reads it again.
ifndef SYSROOT
ifneq ($(MAKECMDGOALS),clean)
include $(BUILD)/sysroot.mk
endif
$(BUILD)/sysroot.mk: tests/vm/fetch.py
	@mkdir -p $(@D)
	path=$$(tests/vm/fetch.py --path sysroot-$(DEBIAN_$(CROSS))) && echo "SYSROOT := $$path" >$@
endif

CROSS_FLAGS := --target=$(CROSS)-linux-gnu --sysroot=$(SYSROOT) -fuse-ld=lld -Wno-unused-command-line-argument
CC      := clang $(CROSS_FLAGS)
HOSTCC  ?= gcc
CXX     := clang++ $(CROSS_FLAGS)
AR      := llvm-ar
OBJCOPY := llvm-objcopy
PKG     := PKG_CONFIG_SYSROOT_DIR=$(SYSROOT) \
	PKG_CONFIG_LIBDIR=$(SYSROOT)/usr/lib/$(CROSS)-linux-gnu/pkgconfig:$(SYSROOT)/usr/share/pkgconfig pkg-config
