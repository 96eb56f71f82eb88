/* tool/probing.h - a run's targets, planned, with programs loaded and attached. */
#pragma once

#include <stdbool.h>

#include "base/error.h"

struct run;

/* What this kernel has of what the patterns need. */
void probing_features(struct run *r);

/* Which backend serves which target. Errors: nothing serves one. */
must_check int probing_plan(struct run *r, struct error *e);

/* With --debug, and where many probes will take long to go. */
void probing_tell_plan(const struct run *r);

/* Load programs and maps. Errors: from the kernel, explained. */
must_check int probing_load(struct run *r, struct error *e);

/* Would a report hit the probes all the time? */
bool probing_hits_report(const struct run *r);

/* Attach every target; what is refused is told. Errors: nothing could be attached. */
must_check int probing_attach(struct run *r, struct error *e);
