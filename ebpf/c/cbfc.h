/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Credit-based flow control, InfiniBand's (IBTA vol. 1, section 7.9; patent CN 113572655 A, paragraph 0004), in place of
 * PFC: a port sends only what its peer has said that it has room for. What has been sent and may be sent is counted in
 * blocks, modulo 4096, by virtual lane, which is a priority here. */
#ifndef PAUSENET_CBFC_H
#define PAUSENET_CBFC_H

/* A flow-control packet of the link: Op(4) FCTBS(12) | VL(4) FCCL(12) | LPCRC(16), which is 0, as the frame has an FCS. */
#define OFF_CREDIT 14
#define CREDIT_MASK 0xfff
#define CREDIT_MOST 2048 /* blocks that may be granted: half the counters' range tells more from less */

/* A frame came in: ABR. */
COLD void receive_blocks(__u32 port, __u32 vl, __u32 len)
{
	struct port_extra *e = extra_at(port);
	struct credit *c;
	__u32 size;

	if (!e)
		return;
	c = &e->credit[vl & 7];
	size = counted(e->uncounted, len);
	c->received = (c->received + ((size + (1u << (e->block_shift & 31)) - 1) >> (e->block_shift & 31))) & CREDIT_MASK;
}

/* TRIGGER_CREDIT: builds the message for the peer: how much this port has sent on the lane, and how far the peer may go. */
static __always_inline int build_credit(struct pass *x, struct port *in, __u8 *h)
{
	__u32 vl = x->priority & 7;
	struct port_extra *e = extra_at(x->in_port);
	__u64 buffered = in->class[vl].buffered;
	struct credit *c;
	__u32 granted;

	if (!e || !(in->credit_vls >> vl & 1))
		return 0;
	c = &e->credit[vl];
	granted = buffered < e->credit_buffer ? (__u32)(e->credit_buffer - buffered) >> (e->block_shift & 31) : 0;
	if (granted > CREDIT_MOST)
		granted = CREDIT_MOST;
	put_control(h, in->mac, ETHERTYPE_CREDIT);
	put16(h + OFF_CREDIT, c->sent); /* Op 0: normal */
	put16(h + OFF_CREDIT + 2, (__u16)(vl << 12 | ((c->received + granted) & CREDIT_MASK)));
	for (int i = OFF_CREDIT + 4; i < FRAME_MIN; i++)
		h[i] = 0;
	e->credits_sent++;
	return 1;
}

/* The peer's message. What this port has received of the lane becomes what the peer has sent: a lost frame must not cost
 * its blocks for ever. The lane is ON again as soon as the frame that it wants to send fits. */
COLD int receive_credit(struct pass *x, struct port *in, const __u8 *h)
{
	__u32 vl = h[OFF_CREDIT + 2] >> 4;
	struct port_class *class = &in->class[vl & 7];
	struct port_extra *e = extra_at(x->in_port);
	__u32 sent = get16(h + OFF_CREDIT) & CREDIT_MASK;
	struct credit *c;

	if (!e || !(in->credit_vls >> vl & 1))
		return 0;
	c = &e->credit[vl & 7];
	e->credits_received++;
	if (c->received != sent) {
		c->received = (__u16)sent;
		e->credit_repairs++;
	}
	c->limit = get16(h + OFF_CREDIT + 2) & CREDIT_MASK;
	if (c->needed && ((c->limit - c->sent - c->needed) & CREDIT_MASK) <= CREDIT_MOST) {
		c->needed = 0;
		class->paused_until = x->now;
		x->changed = 1u << (vl & 7);
		x->want |= STATE_CHANGED;
	}
	return 1;
}

#endif
