/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The egress pipeline: what depends on the queue as the frame left it. It runs when the frame reaches the far end of the
 * cable, on the departure record that was taken as it left; nobody sees a frame in flight, so nothing can tell. */
#ifndef PAUSENET_EGRESS_H
#define PAUSENET_EGRESS_H

/* DCON: no ECN from the start of a burst until the queue is below Q_ECN (section 4.1). */
static __always_inline int in_burst(const struct pass *x, const struct switch_state *sw, const struct port *out)
{
	return sw->cnm && x->burst == BURST_BURST && x->queue_bytes >= profile_of(sw, out)->q_ecn;
}

/* The mark that a detector of pauses gives a packet of this priority with this field, 0 for none: it sees every packet of its priorities,
 * whether it can be marked or not. It only ever makes the field greater: CE over UE over ECT(1). */
COLD __u32 detected_mark(struct pass *x, struct switch_state *sw, struct port *out,
			 __u32 priority, __u32 field, __u32 len)
{
	struct port_extra *e = extra_at(x->out_port);
	struct detector *d;
	__u32 to;

	if (!e)
		return 0;
	d = &e->detector[priority & 7];
	if (sw->ecn_mode == ECN_PCN)
		to = np_ecn_marks(x, d) ? ECN_CE : 0;
	else
		to = detect_congestion(x, sw, out, e, d, counted(sw->uncounted, len));
	if (to == ECN_CE && (!field || in_burst(x, sw, out) ||
			     (sw->ecn_mode == ECN_TCD && sw->tcd_red && !red_marks(sw, out, x->out_port, x->queue_bytes))))
		return 0;
	if (!field || to <= field)
		return 0;
	if (to == ECN_CE)
		out->ecn_marked++;
	else
		e->ue_marked++;
	return to;
}

/* ECN at dequeue of an IPv6 packet. */
COLD void mark6(struct pass *x, struct switch_state *sw, struct port *out, __u8 *h, __u32 len)
{
	__u32 priority = traffic_class(h) >> 5;
	__u32 field = traffic_class(h) & ECN_MASK;
	__u32 to = 0;

	if (!(sw->ecn_priorities >> priority & 1))
		return;
	if (sw->ecn_mode != ECN_RED && sw->ecn_mode != ECN_STEP) {
		to = detected_mark(x, sw, out, priority, field, len);
	} else if (field && !in_burst(x, sw, out) && queue_marks(sw, out, x->out_port, x->queue_bytes) && field != ECN_CE) {
		to = ECN_CE;
		out->ecn_marked++;
	}
	if (to)
		set_ecn6(h, to);
}

/* ECN at dequeue, by the queue that the packet left behind. */
static __always_inline void mark(struct pass *x, struct switch_state *sw, struct port *out, __u8 *h, __u32 len)
{
	__u32 ethertype, priority;

	if (sw->ecn_mode == ECN_OFF || sw->ecn_at_enqueue)
		return;
	ethertype = get16(h + OFF_ETHERTYPE);
	if (ethertype != ETHERTYPE_IPV4) {
		if (ethertype == ETHERTYPE_IPV6)
			mark6(x, sw, out, h, len);
		return;
	}
	priority = h[OFF_TOS] >> 5;
	if (!(sw->ecn_priorities >> priority & 1))
		return;
	if (sw->ecn_mode != ECN_RED && sw->ecn_mode != ECN_STEP) {
		__u32 to = detected_mark(x, sw, out, priority, h[OFF_TOS] & ECN_MASK, len);

		if (to)
			set_ecn(h, to);
		return;
	}
	if (!(h[OFF_TOS] & ECN_MASK) || in_burst(x, sw, out))
		return;
	if (queue_marks(sw, out, x->out_port, x->queue_bytes) && (h[OFF_TOS] & ECN_MASK) != ECN_CE) {
		set_ecn(h, ECN_CE);
		out->ecn_marked++;
	}
}

/* A frame of len bytes, of which those up to end may be read. OFF_INT or OFF_INT6: it has telemetry there. The target is to call stamp()
 * on it, with INT_BYTES that may be read and written. */
static __always_inline __u32 egress(struct pass *x, __u8 *h, const __u8 *end, __u32 len)
{
	struct port *out;
	struct switch_state *sw;

	x->marked++;
	if ((x->trigger && x->trigger != TRIGGER_LOST) || x->out_port == NO_PORT)
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
	count_line_bytes(sw, x->out_port, len);
	return telemetry_of(h, end, len);
}

#endif
