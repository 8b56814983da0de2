/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* HPCC's in-band telemetry (HPCC paper, section 4.1): every switch port that a data packet leaves by writes what it was
 * doing into the next free slot of the packet's header. */
#ifndef PAUSENET_TELEMETRY_H
#define PAUSENET_TELEMETRY_H

/* The header stands behind the BTH: 16 bits nHop(4)|pathID(12), then 5 slots of 64 bits, the most significant first:
 * B(4) the port's rate as a code, TS(24) ns, txBytes(20) in 128 B, qLen(16) in 80 B. */
#define OFF_INT (OFF_BTH + 12)
#define OFF_INT6 (OFF_BTH6 + 12)
#define INT_HOPS 5
#define INT_SLOT 8
#define INT_BYTES (2 + INT_HOPS * INT_SLOT)
#define INT_TX_UNIT 128
#define INT_QUEUE_UNIT 80
#define BTH_INT 0xc0 /* 0xc0 | the standard's opcode, of the manufacturer's range, carries telemetry; 0xe0 | it, a timestamp */
#define BTH_SERVICE 0xe0

/* Where a RoCE data packet in a frame of len bytes, of which those up to end may be read, has telemetry: OFF_INT or OFF_INT6. 0: it has none. */
COLD __u32 telemetry_of(const __u8 *h, const __u8 *end, __u32 len)
{
	__u32 ethertype = get16(h + OFF_ETHERTYPE);
	struct packet p;

	if (ethertype == ETHERTYPE_IPV4) {
		if (len >= OFF_INT + INT_BYTES && !parse_ipv4(h, &p) && p.data && (h[OFF_BTH] & BTH_SERVICE) == BTH_INT)
			return OFF_INT;
	} else if (ethertype == ETHERTYPE_IPV6) {
		if (len >= OFF_INT6 + INT_BYTES && !parse_ipv6(h, &p) && has_opcode6(h, end, len, &p) &&
		    carries_data(h[OFF_BTH6]) && (h[OFF_BTH6] & BTH_SERVICE) == BTH_INT)
			return OFF_INT6;
	}
	return 0;
}

/* Counts a frame that leaves the port as the link's time that it takes. The port's rate, with which HPCC compares the
 * growth of this count (U = txRate/B + qLen/(B*T)), is that of the line: were preamble, gap and FCS left out, a saturated
 * link would never be seen at U = 1. Frames pass here in the order in which they left. */
static __always_inline void count_line_bytes(const struct switch_state *sw, __u32 port, __u32 len)
{
	struct port_extra *out = extra_at(port);
	__s32 line = (__s32)len + sw->line_overhead;

	if (out)
		out->tx_line_bytes += line < (__s32)sw->line_min ? (__s32)sw->line_min : line;
}

/* Writes the next slot of the telemetry at t; a frame that has passed more switches than there are slots keeps the first. The count
 * includes the frame itself; the time is the start of its serialisation; the queue is what it left behind. */
COLD void stamp(struct pass *x, __u8 *t)
{
	struct port *out = port_at(x->out_port);
	struct port_extra *e = extra_at(x->out_port);
	__u32 hop = t[0] >> 4;
	__u32 path, time, tx, queue, high, low;

	if (!out || !e || hop >= INT_HOPS)
		return;
	time = (__u32)(x->departed / 1000) & 0xffffff; /* ps to ns */
	tx = (__u32)(e->tx_line_bytes / INT_TX_UNIT) & 0xfffff;
	queue = x->queue_bytes / INT_QUEUE_UNIT;
	if (queue > 0xffff)
		queue = 0xffff;
	high = (__u32)out->rate_code << 28 | time << 4 | tx >> 16;
	low = tx << 16 | queue;
	/* Constant offsets: the verifier forgets a frame's bounds when a variable is added to its address. */
	for (__u32 i = 0; i < INT_HOPS; i++) {
		if (i == hop) {
			put32(t + 2 + i * INT_SLOT, high);
			put32(t + 2 + i * INT_SLOT + 4, low);
		}
	}
	path = get16(t) & 0xfff;
	path ^= (out->node + 1) & 0xfff;
	put16(t, (__u16)((hop + 1) << 12 | path));
}

#endif
