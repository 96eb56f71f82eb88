/* tool/setup.h - from options to what the BPF programs are loaded with. */
#pragma once

#include "attach/plan.h"
#include "base/error.h"
#include "bpf/object.h"
#include "kernel/host.h"
#include "tool/options.h"

/* What the object is made for. All is lent. */
struct setup {
	const struct options *options;
	const struct plan *plan;
	const struct features *features;
	uint32_t n_cpus;       /* possible ones */
	uint32_t command_tgid; /* 0 without a command */
};

/* All of @features: what the kernel can do, of the groups asked for, and what this user may. */
void setup_features(struct features *features, struct host *host, unsigned groups);

/* Fill in @ret: filters, depths, what is not a tool's own. Errors: tracefs, with a command. */
must_check int setup_object(const struct setup *setup, struct host *host,
			    struct object_options *ret, struct error *e);

/* And what tells processes apart, and user stacks' tables; when the tool has said what it takes. */
void setup_following(const struct setup *setup, struct object_options *o);

/* What -p and -c name must be there. Errors: -ESRCH, -EINVAL. */
must_check int setup_check(const struct options *opt, struct error *e);

/* The programs could not be loaded: say so if lockdown may be the reason. Returns the code. */
must_check int setup_explain_load(bool has_command, struct error *e);
