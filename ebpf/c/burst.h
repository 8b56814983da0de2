/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* DCON's switch (DCON paper, sections 4.2 to 4.4 and 5): burst detection at the egress queue, identification of the
 * congested flows that share their ingress port with others, and the messages to their senders. */
#ifndef PAUSENET_BURST_H
#define PAUSENET_BURST_H

#define WALK_STEPS 32 /* flows looked at for one trigger */

/* Notes a packet for an uncongested egress: T_last of its ingress port, and that of the egress port before it. */
static __always_inline void note_uncongested(struct port_extra *in, __u32 egress, __u64 now)
{
	if (in->last_egress != egress) {
		in->t_last_other = in->t_last;
		in->last_egress = egress;
	}
	in->t_last = now;
}

/* Whether a packet for an uncongested egress came in by this port less than T before a time, or since. A PAUSE to a host stops
 * that host alone; one to a switch stops whatever would come by that port next, of which none may have come lately. */
static __always_inline int shared(const struct switch_state *sw, const struct port_extra *in, __u32 congested, __u64 at)
{
	__u64 last = in->t_last;

	if (in->last_egress == congested &&
	    (sw->shared_by == SHARED_BY_OTHER || (sw->shared_by == SHARED_BY_EDGE && in->edge)))
		last = in->t_last_other;
	return last && (last >= at || at - last < sw->cnm_window);
}

/* Q_CNM of an egress queue: fixed, or max(Q_ECN, XOFF/M - 3dC(M-1)) (section 4.4), with XOFF of the packet's ingress port. */
static __always_inline __u64 burst_threshold(const struct switch_state *sw, const struct port *in,
					     const struct port *out, const struct port_extra *out_extra)
{
	__u64 m = out_extra->max_fanout ? out_extra->max_fanout : 1;
	__u64 q_ecn = profile_of(sw, out)->q_ecn;
	__u64 share, reserve;

	if (sw->q_cnm)
		return sw->q_cnm;
	share = xoff_threshold(sw, in) / m;
	reserve = out_extra->three_d_c * (m - 1);
	if (share <= reserve || share - reserve < q_ecn)
		return q_ecn;
	return share - reserve;
}

/* M of an ingress port, as a packet for an egress port comes, whose packet before came at the time *last - 1: a port has packets
 * for another as long as T_last takes one for flowing, not as long as some are queued. Counted by periods of T. */
static __always_inline void fan_out(struct port_extra *in, __u64 *last, __u64 window, __u64 now)
{
	__u64 age = now - in->fanout_since;

	if (age >= window) {
		in->fanout_before = age - window < window ? in->fanout : 0;
		in->fanout = 0;
		in->fanout_since = now;
	}
	if (*last <= in->fanout_since)
		in->fanout++;
	*last = now + 1;
}

/* M of an egress port is that of the ingress port that has packets for the most others: the one that PAUSE is closest to. */
static __always_inline void update_max_fanout(const struct switch_state *sw, const struct port_extra *in,
					      struct port_extra *out, __u64 now)
{
	__u32 m = in->fanout > in->fanout_before ? in->fanout : in->fanout_before;

	if (m >= out->max_fanout || now - out->max_fanout_at >= sw->cnm_window) {
		out->max_fanout = m;
		out->max_fanout_at = now;
	}
}

/* Counts the packet under its flow, as buffered in the egress queue until the traffic manager lets it go. out_number is the number of
 * the egress port among its switch's. */
static __always_inline struct flow *flow_list_add(struct pass *x, struct port_extra *in, __u32 out_port,
						  struct port_extra *out, __u32 out_number, __u32 entry, const __u8 *h, __u64 window)
{
	struct flow *f = flow_at(entry);
	__u64 *last = fanout_at(in->fanout_row + out_number);

	if (!f || !last)
		return 0;
	fan_out(in, last, window, x->now);
	f->last_seen = x->now;
	f->ingress = x->in_port;
	put_mac(f->mac, h + 6);
	if (!f->queued) {
		struct flow *head = out->flow_head ? flow_at(out->flow_head - 1) : 0;

		f->egress = out_port;
		f->previous = 0;
		f->next = out->flow_head;
		if (head)
			head->previous = entry + 1;
		out->flow_head = entry + 1;
		out->flows++;
	}
	f->queued++;
	x->flow = entry + 1;
	return f;
}

/* The egress queue's state as a packet of this size joins it, and the CNMs that follow. What dequeues did since the
 * last packet came is seen in the queue's length before this one: it only fell in between. f->egress need not be egress:
 * flows whose ids collide share f, and routes change. */
static __always_inline void detect_burst(struct pass *x, struct switch_state *sw, struct port *in, __u32 egress,
					 struct port *out, __u32 entry, const __u8 *h, __u32 priority, __u32 size)
{
	struct port_extra *in_extra = extra_at(x->in_port), *out_extra = extra_at(egress);
	struct port_class *c = &out->class[priority & 7];
	__u64 before = c->queue_bytes;
	__u64 q_ecn = profile_of(sw, out)->q_ecn;
	__u32 state = c->burst;
	struct flow *f;

	if (!in_extra || !out_extra)
		return;
	f = flow_list_add(x, in_extra, egress, out_extra, egress - in->first_port, entry, h, sw->cnm_window);
	if (!f)
		return;
	if (state == BURST_BURST && before < q_ecn)
		state = BURST_NONE;
	if (state != BURST_BURST) {
		note_uncongested(in_extra, egress, x->now);
		update_max_fanout(sw, in_extra, out_extra, x->now);
		if (before + size >= burst_threshold(sw, in, out, out_extra)) {
			state = BURST_BURST;
			out_extra->bursts++;
			out_extra->burst_since[priority & 7] = x->now;
			out_extra->walk = out_extra->flow_head;
			x->want |= WANT_WALK;
		} else {
			state = before + size >= q_ecn ? BURST_PERSISTENT : BURST_NONE;
		}
	} else if (shared(sw, in_extra, egress, sw->shared_at_onset ? out_extra->burst_since[priority & 7] : x->now) &&
		   (!f->last_cnm || x->now - f->last_cnm >= sw->cnm_repeat || out_extra->flows * 8 > f->cnm_flows * 9)) {
		x->want |= WANT_FLOW;
		x->want_flow = x->flow - 1;
	}
	c->burst = state;
}

/* Builds the CNM for a flow of the congested port, which has this extra, to leave by the port the flow came in by, for the previous
 * hop. */
static __always_inline void notify(struct pass *x, struct flow *f, __u32 entry, const struct port *back,
				   const struct port *congested, struct port_extra *extra, __u8 *h)
{
	f->last_cnm = x->now;
	f->cnm_flows = extra->flows;
	extra->cnms_sent++;
	build_cnm(h, f->mac, back->mac, (__u16)entry, extra->flows, congested->rate_mbps);
	x->verdict = VERDICT_FORWARD;
	x->egress = f->ingress;
	x->out_priority = CNM_PRIORITY;
}

/* TRIGGER_FLOW. */
static __always_inline int notify_flow(struct pass *x, __u8 *h)
{
	struct flow *f = flow_at(x->argument);
	struct port *back, *congested;
	struct port_extra *extra;

	if (!f)
		return 0;
	back = port_at(f->ingress);
	congested = port_at(f->egress);
	extra = extra_at(f->egress);
	if (!back || !congested || !extra)
		return 0;
	notify(x, f, x->argument, back, congested, extra, h);
	return 1;
}

/* TRIGGER_WALK: the next identified flow of the burst at port x->in_port. Asks for another trigger while flows are left. */
static __always_inline int notify_next(struct pass *x, struct switch_state *sw, struct port *congested, __u8 *h)
{
	struct port_extra *extra = extra_at(x->in_port);
	int built = 0;

	if (!extra)
		return 0;
	for (int i = 0; i < WALK_STEPS && !built && extra->walk; i++) {
		__u32 entry = extra->walk - 1;
		struct flow *f = flow_at(entry);
		struct port_extra *back_extra;
		struct port *back;

		if (!f)
			return 0;
		extra->walk = f->next;
		back = port_at(f->ingress);
		back_extra = extra_at(f->ingress);
		if (back && back_extra && shared(sw, back_extra, f->egress, x->now)) { /* the walk is at the onset */
			notify(x, f, entry, back, congested, extra, h);
			built = 1;
		}
	}
	if (extra->walk)
		x->want |= WANT_WALK;
	x->egress = built ? x->egress : x->in_port;
	return built;
}

/* A CNM from the next switch: on to the hop before this one, as the flow table has it. */
COLD void forward_cnm(struct pass *x, struct port *in, __u8 *h)
{
	struct flow *f = flow_at(in->node * FLOW_IDS + get16(h + OFF_CNM_ID));
	struct port_extra *back_extra;
	struct port *back;

	x->verdict = VERDICT_DROP;
	x->reason = REASON_CNM_LOST;
	if (!f || !f->last_seen)
		return;
	back = port_at(f->ingress);
	back_extra = extra_at(f->ingress);
	if (!back || !back_extra)
		return;
	put_mac(h, f->mac);
	put_mac(h + 6, back->mac);
	back_extra->cnms_forwarded++;
	x->verdict = VERDICT_FORWARD;
	x->egress = f->ingress;
	x->out_priority = CNM_PRIORITY;
}

#endif
