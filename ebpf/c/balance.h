/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Load balancing: which of several equal-cost ports a packet takes, where that is not by a hash of its 5-tuple. Flowlets that take a port at
 * random are LetFlow's (Vanini et al., NSDI 2017); the shortest queue is DRILL's choice (Ghorbani et al., SIGCOMM 2017) with all ports as samples. */
#ifndef PAUSENET_BALANCE_H
#define PAUSENET_BALANCE_H

/* Where the switches' own random numbers are among those of ports. */
#define CHOICE_DRAWS 0xfffffeu

/* A random number below count. */
static __always_inline __u32 random_below(struct switch_state *sw, __u32 count)
{
	return (__u32)((__u64)draw(sw, CHOICE_DRAWS, sw->choices++) * count >> 32);
}

/* A hash of some fields of the 5-tuple. */
static __always_inline __u32 fields_hash(const struct switch_state *sw, const struct packet *p)
{
	__u32 fields = sw->hash_fields;
	struct packet q = {};

	if (fields & FIELD_SOURCE)
		q.source = p->source;
	if (fields & FIELD_DESTINATION)
		q.destination = p->destination;
	if (fields & FIELD_PORTS) {
		q.sport = p->sport;
		q.dport = p->dport;
	}
	if (fields & FIELD_PROTOCOL)
		q.protocol = p->protocol;
	return ecmp_hash(sw->ecmp_seed, &q);
}

/* The number of the port whose queue of the priority takes the least time to send, of count ports from the one at first in the table of next
 * hops on. The search begins at start, so that none is preferred among equal ones if that is at random. */
APART __u32 shortest_queue(__u32 start, __u32 first, __u32 count, __u32 priority)
{
	__u32 best = start;
	__u64 best_queue = 0, best_rate = 0;

	for (__u32 i = 0; i < MOST_COMPARED; i++) {
		__u32 at = start + i;
		struct port *out;
		__u64 queue, *hop;

		if (i >= count)
			break;
		if (at >= count)
			at -= count;
		hop = next_hop_at(first + at);
		out = hop ? port_at((__u32)*hop) : 0;
		if (!out)
			break;
		queue = out->class[priority & 7].queue_bytes;
		if (!i || queue * best_rate < best_queue * out->rate_mbps) {
			best = at;
			best_queue = queue;
			best_rate = out->rate_mbps;
		}
	}
	return best;
}

/* The number of a packet's port among count equal-cost ones, the first of which is at first in the table of next hops. */
COLD __u32 balance(struct pass *x, struct switch_state *sw, __u32 node, __u32 leaf, __u32 first, __u32 count, const struct packet *p,
		   const __u8 *h)
{
	__u32 choice = sw->choice;
	__u32 hash, pick;
	struct flowlet *f;

	if (choice == CHOICE_HPCC)
		return hpcc_hash(sw->ecmp_seed, p, h) % count;
	if (choice == CHOICE_FIELDS)
		return fields_hash(sw, p) % count;
	if (choice == CHOICE_RANDOM)
		return random_below(sw, count);
	if (choice == CHOICE_ADAPTIVE)
		return shortest_queue(random_below(sw, count), first, count, p->tos >> 5);
	hash = ecmp_hash(sw->ecmp_seed, p);
	f = flowlet_at(node * FLOWLETS + ((choice == CHOICE_ROUND_ROBIN ? leaf : hash) & (FLOWLETS - 1)));
	if (!f)
		return hash % count;
	if (choice == CHOICE_ROUND_ROBIN) /* from somewhere of its own at each switch and for each leaf */
		return (__u32)((f->choice++ + murmur_word(sw->ecmp_seed, leaf)) % count);
	if (!f->last || x->now - f->last >= sw->flowlet_gap) {
		if (choice == CHOICE_ADAPTIVE_FLOWLET)
			pick = shortest_queue(random_below(sw, count), first, count, p->tos >> 5);
		else
			pick = random_below(sw, count);
		f->choice = pick;
	}
	f->last = x->now;
	return (__u32)(f->choice % count);
}

#endif
