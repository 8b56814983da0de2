/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* ECN by the length of the egress queue: with the packet as it comes, or what it leaves behind as it goes. */
#ifndef PAUSENET_ECN_H
#define PAUSENET_ECN_H

/* The n-th 32-bit random number of a port (SplitMix64, as internal/splitmix): by count, so that no order of events can change it. */
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
	const struct profile *k = profile_of(sw, out);
	__u64 probability;

	if (queue <= k->ecn_kmin)
		return 0;
	if (queue > k->ecn_kmax)
		return 1;
	/* 32 bits of pmax times a queue below 2^32 bytes fit in 64 bits. */
	probability = sw->ecn_pmax * (queue - k->ecn_kmin) / (k->ecn_kmax - k->ecn_kmin);
	return draw(sw, port_id, out->draws++) < probability;
}

/* Whether a packet is marked that meets a queue of so many bytes. */
static __always_inline int queue_marks(const struct switch_state *sw, struct port *out, __u32 port_id, __u64 queue)
{
	if (sw->ecn_mode == ECN_STEP)
		return queue > profile_of(sw, out)->ecn_kmax;
	return red_marks(sw, out, port_id, queue);
}

#endif
