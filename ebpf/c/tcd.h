/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Ternary congestion detection (patent CN 113572655 A, paragraphs 0090 to 0098): a port that flow control switches ON and
 * OFF is undetermined, as its queue says nothing, until it has stayed ON for T_max. */
#ifndef PAUSENET_TCD_H
#define PAUSENET_TCD_H

static __always_inline void enter_state(struct port_extra *out, struct detector *d, __u32 state)
{
	if (d->ternary == state)
		return;
	d->ternary = state;
	out->entered[state]++;
}

/* Whether a queue above q_len has fallen over the last T_max (step S3), by the authors' simulator's references: at the end
 * of the undetermined period, the queue as the OFF period ended; from then on, every T_max, the queue then. */
static __always_inline int has_fallen(const struct pass *x, const struct switch_state *sw, const struct port_extra *out,
				      struct detector *d)
{
	if (!d->falling) {
		if (x->queue_bytes >= d->reference)
			return 0;
	} else if (x->departed - d->reference_time < out->t_max) {
		return 1;
	} else if (x->queue_bytes >= d->reference + sw->trend_slack) {
		return 0;
	}
	d->falling = 1;
	d->reference = x->queue_bytes;
	d->reference_time = x->departed;
	return 1;
}

/* Takes a packet of this size that left at x->departed into account; what it has met: ECN_CE, ECN_UE, or 0. */
static __always_inline __u32 detect_congestion(const struct pass *x, const struct switch_state *sw, struct port *out,
					       struct port_extra *e, struct detector *d, __u32 size)
{
	if (x->on_since != d->on_seen) {
		/* The first to leave after an OFF period: the queue was what it left behind, and itself. */
		d->on_seen = x->on_since;
		d->reference = x->queue_bytes + size;
		d->falling = 0;
	}
	if (x->on_since && x->departed - x->on_since < e->t_max) {
		enter_state(e, d, TCD_UNDETERMINED);
		return ECN_UE;
	}
	if (x->queue_bytes <= profile_of(sw, out)->q_len) {
		enter_state(e, d, TCD_NONCONGESTED);
		return 0;
	}
	if (d->ternary == TCD_UNDETERMINED && has_fallen(x, sw, e, d))
		return 0;
	enter_state(e, d, TCD_CONGESTED);
	return ECN_CE;
}

#endif
