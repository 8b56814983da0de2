/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The ingress pipeline: parse, forward, account, detect. */
#ifndef PAUSENET_INGRESS_H
#define PAUSENET_INGRESS_H

/* The egress port towards p's destination; NO_PORT if there is none. */
static __always_inline __u32 choose_port(struct pass *x, struct switch_state *sw, __u32 node, const struct packet *p, const __u8 *h)
{
	struct host *to = host_of(p->destination);
	struct route *r = to ? route_at(node, to->leaf) : 0;
	__u32 pick;
	__u64 *hop;

	if (!r || !r->count)
		return NO_PORT;
	if (r->count == 1)
		return r->port_or_first;
	if (r->count == AT_LEAF)
		return to->port;
	if (sw->choice == CHOICE_HASH) {
		pick = ecmp_hash(sw->ecmp_seed, p) % r->count;
	} else {
		struct packet copy = *p; /* p itself stays in registers */

		pick = balance(x, sw, node, to->leaf, r->port_or_first, r->count, &copy, h);
	}
	hop = next_hop_at(r->port_or_first + pick);
	return hop ? (__u32)*hop : NO_PORT;
}

static __always_inline void drop(struct pass *x, __u32 reason)
{
	x->verdict = VERDICT_DROP;
	x->reason = reason;
}

/* Switch n has the address 10.254.0.0 + n + 1. No table has it: their processors know the way. */
#define SWITCHES 0x0afe

static __always_inline void no_way(struct pass *x, __u32 destination)
{
	drop(x, REASON_NO_ROUTE);
	if (destination >> 16 == SWITCHES)
		x->verdict = VERDICT_PROCESSOR;
}

/* Sends a parsed packet of IP on to its destination. six: it is IPv6, a constant. */
static __always_inline void forward(struct pass *x, struct switch_state *sw, struct port *in, __u8 *h, __u32 size,
				    const struct packet *p, int six)
{
	__u32 egress = choose_port(x, sw, in->node, p, h);
	struct port *out = egress == NO_PORT ? 0 : port_at(egress);
	__u32 priority;

	if (!out)
		return no_way(x, p->destination);
	priority = p->tos >> 5; /* the class selector bits of the DSCP */
	account(x, sw, in, priority, size);
	if (sw->cnm && p->data && sw->lossless >> priority & 1)
		detect_burst(x, sw, in, egress, out, in->node * FLOW_IDS + flow_id(p), h, priority, size);
	if (sw->ecn_at_enqueue && sw->ecn_priorities >> priority & 1 && p->tos & ECN_MASK &&
	    out->class[priority & 7].burst != BURST_BURST &&
	    queue_marks(sw, out, egress, out->class[priority & 7].queue_bytes + size) && (p->tos & ECN_MASK) != ECN_CE) {
		if (six)
			set_ecn6(h, ECN_CE);
		else
			set_ecn(h, ECN_CE);
		out->ecn_marked++;
	}
	if (six)
		h[OFF_HOP_LIMIT6]--;
	else
		decrement_ttl(h);
	put_mac(h, out->peer_mac);
	put_mac(h + 6, out->mac);
	x->verdict = VERDICT_FORWARD;
	x->egress = egress;
	x->out_priority = priority;
}

static __always_inline void forward_ipv4(struct pass *x, struct switch_state *sw, struct port *in, __u8 *h,
					 __u32 size)
{
	struct packet p;

	if (parse_ipv4(h, &p))
		return drop(x, REASON_MALFORMED);
	if (h[OFF_TTL] <= 1)
		return drop(x, REASON_TTL);
	forward(x, sw, in, h, size, &p, 0);
}

static __always_inline void forward_ipv6(struct pass *x, struct switch_state *sw, struct port *in, __u8 *h,
					 const __u8 *end, __u32 len)
{
	struct packet p;

	if (parse_ipv6(h, &p))
		return drop(x, REASON_MALFORMED);
	if ((get16(h + OFF_DESTINATION6) & 0xffc0) == 0xfe80) { /* of this link alone */
		x->verdict = VERDICT_PROCESSOR;
		return;
	}
	if (h[OFF_HOP_LIMIT6] <= 1)
		return drop(x, REASON_TTL);
	if (sw->cnm && has_opcode6(h, end, len, &p))
		p.data = carries_data(h[OFF_BTH6]);
	forward(x, sw, in, h, counted(sw->uncounted, len), &p, 1);
}

/* To a group of stations, but of those that no bridge forwards (IEEE 802.1D, table 7-10). */
static __always_inline int to_group(const __u8 *h)
{
	return h[0] & 1 && (get32(h) != 0x0180c200 || get16(h + 4) > 0x0f);
}

/* A frame of neither IPv4 nor a kind that switches send: of programs on hosts, or RoCE over IPv6. */
COLD void enter_other(struct pass *x, struct switch_state *sw, struct port *in, __u8 *h, const __u8 *end, __u32 len, int own)
{
	__u32 ethertype = get16(h + OFF_ETHERTYPE);

	if (!own && !to_group(h))
		return;
	if (ethertype == ETHERTYPE_ARP) {
		x->verdict = VERDICT_PROCESSOR;
	} else if (own) {
		if (ethertype == ETHERTYPE_IPV6)
			forward_ipv6(x, sw, in, h, end, len);
	} else if ((ethertype == ETHERTYPE_IPV4 && h[OFF_IP] >> 4 == 4) || (ethertype == ETHERTYPE_IPV6 && h[OFF_IP] >> 4 == 6)) {
		x->verdict = VERDICT_FLOOD;
		x->out_priority = priority_of(h, ethertype);
	}
}

/* Executes a trigger: builds a packet in the blank frame h. sw is 0 at a host's port, which knows only TRIGGER_CREDIT. */
COLD void generate(struct pass *x, struct switch_state *sw, struct port *in, __u8 *h)
{
	struct port_extra *e;
	int built = 0;

	if (x->trigger == TRIGGER_CREDIT) {
		built = build_credit(x, in, h);
		x->verdict = VERDICT_FORWARD;
		x->egress = x->in_port;
	} else if (!sw) {
		return;
	} else if (x->trigger == TRIGGER_PAUSE || x->trigger == TRIGGER_RESUME) {
		built = build_pause(x, sw, in, h);
		x->verdict = VERDICT_FORWARD;
		x->egress = x->in_port;
	} else if (x->trigger == TRIGGER_WALK) {
		built = notify_next(x, sw, in, h);
	} else if (x->trigger == TRIGGER_FLOW) {
		built = notify_flow(x, h);
	}
	if (built)
		return;
	x->verdict = VERDICT_CONSUMED;
	e = extra_at(x->in_port);
	if (e)
		e->idle_triggers += x->trigger != TRIGGER_WALK;
}

/* Whether an IPv6 packet is of RoCE. */
COLD int is_roce6(const __u8 *h)
{
	struct packet p;

	return !parse_ipv6(h, &p) && is_roce(&p);
}

/* A frame of len bytes, of which those up to end may be read. */
static __always_inline void ingress(struct pass *x, __u8 *h, const __u8 *end, __u32 len)
{
	struct port *in = port_at(x->in_port);
	struct switch_state *sw;
	__u16 ethertype;

	x->verdict = VERDICT_DROP;
	x->reason = REASON_MALFORMED;
	x->egress = NO_PORT;
	x->out_priority = 0;
	x->flow = 0;
	x->want = 0;
	x->changed = 0;
	if (!in || len < FRAME_MIN)
		return;
	sw = in->kind == PORT_SWITCH ? switch_at(in->node) : 0;
	if (x->trigger) {
		if (x->trigger == TRIGGER_LOST)
			x->reason = REASON_NONE;
		else if (sw || x->trigger == TRIGGER_CREDIT)
			generate(x, sw, in, h);
		return;
	}
	in->rx_frames++;
	in->rx_bytes += len;
	ethertype = get16(h + OFF_ETHERTYPE);
	if (in->credit_vls && ethertype != ETHERTYPE_MAC_CONTROL && ethertype != ETHERTYPE_CREDIT &&
	    in->credit_vls >> priority_of(h, ethertype) & 1)
		receive_blocks(x->in_port, priority_of(h, ethertype), len);
	if (ethertype == ETHERTYPE_MAC_CONTROL) {
		if (is_control(h) && get16(h + OFF_PFC_OPCODE) == OPCODE_PFC) {
			receive_pfc(x, in, h);
			x->verdict = VERDICT_CONSUMED;
		}
	} else if (!sw) {
		struct packet p;

		x->verdict = VERDICT_STACK;
		if (ethertype == ETHERTYPE_CREDIT && in->credit_vls)
			x->verdict = receive_credit(x, in, h) ? VERDICT_CONSUMED : VERDICT_DROP;
		if (ethertype == ETHERTYPE_CNM || (ethertype == ETHERTYPE_IPV4 && !parse_ipv4(h, &p) && is_roce(&p)) ||
		    (ethertype == ETHERTYPE_IPV6 && is_roce6(h))) {
			x->verdict = VERDICT_HOST;
			x->egress = x->in_port;
		}
	} else if (same_mac(h, in->mac)) {
		if (ethertype == ETHERTYPE_IPV4) {
			forward_ipv4(x, sw, in, h, counted(sw->uncounted, len));
		} else if (ethertype == ETHERTYPE_CNM) {
			forward_cnm(x, in, h);
			if (x->verdict == VERDICT_FORWARD)
				account(x, sw, in, CNM_PRIORITY, counted(sw->uncounted, len));
		} else {
			enter_other(x, sw, in, h, end, len, 1);
		}
	} else if (ethertype == ETHERTYPE_CREDIT) {
		if (receive_credit(x, in, h))
			x->verdict = VERDICT_CONSUMED;
	} else {
		enter_other(x, sw, in, h, end, len, 0);
	}
	if (x->verdict == VERDICT_DROP) {
		struct port_extra *e = extra_at(x->in_port);

		if (e && x->reason < REASONS)
			e->dropped[x->reason]++;
	}
}

#endif
