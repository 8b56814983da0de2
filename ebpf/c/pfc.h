/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Priority flow control (IEEE 802.1Qbb): when an ingress port tells its peer to pause, and what a PFC frame from the
 * peer does to the port. */
#ifndef PAUSENET_PFC_H
#define PAUSENET_PFC_H

/* What holds for a port by its rate. */
static __always_inline const struct rate_settings *at_rate_of(const struct switch_state *sw, const struct port *p)
{
	return &sw->at_rate[p->rate_class & (RATE_CLASSES - 1)];
}

/* Bytes of one priority from one ingress port at which its peer is paused: static, or alpha times the free buffer. */
static __always_inline __u64 xoff_threshold(const struct switch_state *sw, const struct port *in)
{
	__u64 alpha = at_rate_of(sw, in)->alpha;
	__u64 threshold;

	if (!alpha)
		return sw->xoff;
	threshold = sw->used < sw->buffer ? (sw->buffer - sw->used) * alpha >> 16 : 0;
	if (sw->xoff && threshold > sw->xoff)
		threshold = sw->xoff;
	return threshold;
}

static __always_inline __u64 xon_threshold(const struct switch_state *sw, const struct port *in)
{
	__u64 threshold;

	if (!at_rate_of(sw, in)->alpha)
		return sw->xon;
	threshold = xoff_threshold(sw, in);
	return threshold > sw->xoff_to_xon ? threshold - sw->xoff_to_xon : 0;
}

/* Takes len bytes onto the ingress port's account and says whether its peer must be paused. */
static __always_inline void account(struct crossing *x, struct switch_state *sw, struct port *in, __u32 priority,
				    __u32 len)
{
	struct port_class *c = &in->class[priority & 7];

	c->held += len;
	if (c->held > c->overshoot)
		c->overshoot = c->held;
	sw->used += len;
	if (sw->lossless >> priority & 1 && !c->pausing && c->held >= xoff_threshold(sw, in))
		x->want |= WANT_PAUSE;
}

/* TICK_PAUSE and TICK_RESUME: builds the frame if it is still due; TICK_PAUSE on a paused port refreshes. */
static __always_inline int build_pause(struct crossing *x, struct switch_state *sw, struct port *in, __u8 *h)
{
	__u32 priority = x->priority & 7;
	struct port_class *c = &in->class[priority];

	if (x->tick == TICK_PAUSE) {
		if (c->pausing ? c->held <= xon_threshold(sw, in) : c->held < xoff_threshold(sw, in))
			return 0;
		c->pausing = 1;
		in->pauses_sent++;
		build_pfc(h, in->mac, priority, (__u16)sw->quanta);
		return 1;
	}
	if (!c->pausing || c->held > xon_threshold(sw, in))
		return 0;
	c->pausing = 0;
	in->resumes_sent++;
	build_pfc(h, in->mac, priority, 0);
	return 1;
}

/* A PFC frame arrived: the port's own queues go ON or OFF. A pause of q quanta lasts q*512 bit times from now. */
COLD void receive_pfc(struct crossing *x, struct port *in, const __u8 *h)
{
	__u32 enabled = h[OFF_PFC_ENABLE + 1];
	__u32 changed = 0;

	for (int i = 0; i < PRIORITIES; i++) {
		struct port_class *c = &in->class[i];
		__u64 quanta;
		int off;

		if (!(enabled >> i & 1))
			continue;
		quanta = get16(h + OFF_PFC_TIME + 2 * i);
		off = c->paused_until > x->now;
		if (quanta) {
			in->pauses_received++;
			if (!off)
				c->off_since = x->now;
			c->paused_until = x->now + quanta * in->quantum;
			changed |= 1u << i;
		} else {
			in->resumes_received++;
			if (off) {
				c->paused_until = x->now;
				changed |= 1u << i;
			}
		}
	}
	x->changed = changed;
	if (changed)
		x->want |= STATE_CHANGED;
}

#endif
