/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The egress pipeline: what depends on the queue as the frame left it. It runs when the frame reaches the far end of the
 * cable, on the departure record that was taken as it left; nobody sees a frame in flight, so nothing can tell. */
#ifndef PAUSENET_EGRESS_H
#define PAUSENET_EGRESS_H

/* The n-th 32-bit random number of a port (SplitMix64): by count, so that no order of events can change it. */
static __always_inline __u32 draw(const struct switch_state *sw, __u32 port_id, __u64 n)
{
	__u64 z = sw->seed + ((__u64)port_id << 40) + (n + 1) * 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return (z ^ z >> 31) >> 32;
}

/* RED on the instantaneous queue (DCQCN paper, section 3.1): never up to Kmin, Pmax*(q-Kmin)/(Kmax-Kmin) up to Kmax,
 * always above. */
static __always_inline int red_marks(const struct switch_state *sw, struct port *out, __u32 port_id, __u64 queue)
{
	const struct rate_settings *k = at_rate_of(sw, out);
	__u64 probability;

	if (queue <= k->ecn_kmin)
		return 0;
	if (queue > k->ecn_kmax)
		return 1;
	/* 32 bits of pmax times a queue below 2^32 bytes fit in 64 bits. */
	probability = sw->ecn_pmax * (queue - k->ecn_kmin) / (k->ecn_kmax - k->ecn_kmin);
	return draw(sw, port_id, out->draws++) < probability;
}

/* DCON: no ECN from the start of a burst until the queue is below Q_ECN (section 4.1). */
static __always_inline int in_burst(const struct crossing *x, const struct switch_state *sw)
{
	return sw->cnm && x->burst == BURST_BURST && x->queue_bytes >= sw->q_ecn;
}

/* A mark by a detector of pauses, which sees every packet of its priorities, whether it can be marked or not. It only ever
 * makes the field greater: CE over UE over ECT(1). */
COLD void mark_detected(struct crossing *x, struct switch_state *sw, struct port *out,
					  struct port_class *c, __u8 *h, __u32 len)
{
	__u32 field = h[OFF_TOS] & ECN_MASK;
	__u32 to;

	if (sw->ecn_mode == ECN_PCN)
		to = np_ecn_marks(x, c) ? ECN_CE : 0;
	else
		to = detect_congestion(x, sw, out, c, len);
	if (to == ECN_CE && (!field || in_burst(x, sw) ||
			     (sw->ecn_mode == ECN_TCD && sw->tcd_red && !red_marks(sw, out, x->out_port, x->queue_bytes))))
		return;
	if (!field || to <= field)
		return;
	set_ecn(h, to);
	if (to == ECN_CE)
		out->ecn_marked++;
	else
		out->ue_marked++;
}

/* ECN at dequeue. */
static __always_inline void mark(struct crossing *x, struct switch_state *sw, struct port *out, __u8 *h, __u32 len)
{
	__u32 priority;

	if (sw->ecn_mode == ECN_OFF || sw->ecn_mode == ECN_STEP || get16(h + OFF_ETHERTYPE) != ETHERTYPE_IPV4)
		return;
	priority = h[OFF_TOS] >> 5;
	if (!(sw->ecn_priorities >> priority & 1))
		return;
	if (sw->ecn_mode != ECN_RED) {
		mark_detected(x, sw, out, &out->class[priority & 7], h, len);
		return;
	}
	if (!(h[OFF_TOS] & ECN_MASK) || in_burst(x, sw))
		return;
	if (red_marks(sw, out, x->out_port, x->queue_bytes) && (h[OFF_TOS] & ECN_MASK) != ECN_CE) {
		set_ecn(h, ECN_CE);
		out->ecn_marked++;
	}
}

/* 1: the frame has telemetry. The rim is to call stamp() on it, with INT_END bytes that may be read and written. */
static __always_inline int egress(struct crossing *x, __u8 *h, __u32 len)
{
	struct port *out;
	struct switch_state *sw;

	x->marked++;
	if ((x->tick && x->tick != TICK_LOST) || x->out_port == NO_PORT)
		return 0;
	out = port_at(x->out_port);
	if (!out || out->kind != PORT_SWITCH)
		return 0;
	sw = switch_at(out->node);
	if (!sw)
		return 0;
	mark(x, sw, out, h, len);
	if (!sw->int_on)
		return 0;
	count_line_bytes(out, len);
	return has_telemetry(h, len);
}

#endif
