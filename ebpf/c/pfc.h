/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Priority flow control (IEEE 802.1Qbb): when an ingress port tells its peer to pause, and what a PFC frame from the
 * peer does to the port. */
#ifndef PAUSENET_PFC_H
#define PAUSENET_PFC_H

/* The thresholds that hold for a port. */
static __always_inline const struct profile *profile_of(const struct switch_state *sw, const struct port *p)
{
	return &sw->profiles[p->profile & (PROFILES - 1)];
}

/* Returns the bytes of a frame of len bytes that buffers and thresholds count. */
static __always_inline __u32 counted(__u32 uncounted, __u32 len)
{
	len -= uncounted;
	return len < FRAME_MIN ? FRAME_MIN : len;
}

/* Returns XOFF of an ingress port, in bytes of one priority: static, or alpha times the free shared buffer. Bytes in the
 * ports' headroom do not use the shared buffer (HPCC's simulator: GetPfcThreshold in switch-mmu.cc). */
static __always_inline __u64 xoff_threshold(const struct switch_state *sw, const struct port *in)
{
	const struct profile *k = profile_of(sw, in);
	__u64 shared, threshold;

	if (!k->alpha)
		return k->xoff;
	shared = sw->used - sw->headroom_used;
	threshold = shared < sw->buffer ? (sw->buffer - shared) * k->alpha >> 16 : 0;
	if (k->xoff && threshold > k->xoff)
		threshold = k->xoff;
	return threshold;
}

static __always_inline __u64 xon_threshold(const struct switch_state *sw, const struct port *in)
{
	const struct profile *k = profile_of(sw, in);
	__u64 threshold;

	if (!k->alpha)
		return k->xon;
	threshold = xoff_threshold(sw, in);
	return threshold > sw->xoff_to_xon ? threshold - sw->xoff_to_xon : 0;
}

/* The bytes of a priority in the headroom of an ingress port. */
static __always_inline __u32 headroom_of(const struct switch_state *sw, __u32 port, __u32 priority)
{
	struct port_extra *e = sw->headroom_used ? extra_at(port) : 0;

	return e ? e->headroom_buffered[priority & 7] : 0;
}

/* Whether the peer must be paused, with so much of the priority in the headroom. resume_due: whether it may be resumed. */
static __always_inline int pause_due(const struct switch_state *sw, const struct port *in, __u32 priority, __u32 headroom)
{
	return headroom || in->class[priority & 7].buffered >= xoff_threshold(sw, in);
}

static __always_inline int resume_due(const struct switch_state *sw, const struct port *in, __u32 priority, __u32 headroom)
{
	return !headroom && in->class[priority & 7].buffered <= xon_threshold(sw, in);
}

/* Charges a frame to the account of its ingress port and priority, and requests a PAUSE (WANT_PAUSE) if that reaches XOFF. With
 * a dynamic threshold, a frame that does not fit below XOFF is charged to the headroom. */
static __always_inline void account(struct pass *x, struct switch_state *sw, struct port *in, __u32 priority,
				    __u32 size)
{
	struct port_class *c = &in->class[priority & 7];
	__u32 headroom = headroom_of(sw, x->in_port, priority);

	if (profile_of(sw, in)->alpha && sw->lossless >> priority & 1 && c->buffered - headroom + size > xoff_threshold(sw, in)) {
		struct port_extra *e = extra_at(x->in_port);

		if (!e)
			return;
		headroom += size;
		e->headroom_buffered[priority & 7] = headroom;
		sw->headroom_used += size;
	}
	c->buffered += size;
	if (c->buffered > c->peak)
		c->peak = c->buffered;
	sw->used += size;
	if (sw->lossless >> priority & 1 && !c->pausing && pause_due(sw, in, priority, headroom))
		x->want |= WANT_PAUSE;
}

/* Executes TRIGGER_PAUSE or TRIGGER_RESUME: builds the frame if it is due. If the peer is paused already, TRIGGER_PAUSE refreshes. */
static __always_inline int build_pause(struct pass *x, struct switch_state *sw, struct port *in, __u8 *h)
{
	__u32 priority = x->priority & 7;
	struct port_class *c = &in->class[priority];
	struct port_extra *e = extra_at(x->in_port);
	__u32 headroom = headroom_of(sw, x->in_port, priority);

	if (!e)
		return 0;
	if (x->trigger == TRIGGER_PAUSE) {
		if (c->pausing ? resume_due(sw, in, priority, headroom) : !pause_due(sw, in, priority, headroom))
			return 0;
		c->pausing = 1;
		e->pauses_sent++;
		build_pfc(h, in->mac, priority, (__u16)sw->quanta);
		return 1;
	}
	if (!c->pausing || !resume_due(sw, in, priority, headroom))
		return 0;
	c->pausing = 0;
	e->resumes_sent++;
	build_pfc(h, in->mac, priority, 0);
	return 1;
}

/* A PFC frame arrived: the port's own queues go ON or OFF. A pause of q quanta lasts q*512 bit times from now. */
COLD void receive_pfc(struct pass *x, struct port *in, const __u8 *h)
{
	__u32 enabled = h[OFF_PFC_ENABLE + 1];
	struct port_extra *e = extra_at(x->in_port);
	__u32 changed = 0;

	if (!e)
		return;
	for (int i = 0; i < PRIORITIES; i++) {
		struct port_class *c = &in->class[i];
		__u64 quanta;
		int off;

		if (!(enabled >> i & 1))
			continue;
		quanta = get16(h + OFF_PFC_TIME + 2 * i);
		off = c->paused_until > x->now;
		if (quanta) {
			e->pauses_received++;
			if (!off)
				c->off_since = x->now;
			c->paused_until = x->now + quanta * in->quantum;
			changed |= 1u << i;
		} else {
			e->resumes_received++;
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
