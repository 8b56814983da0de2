/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Hashes by which equal-cost ports are chosen. */
#ifndef PAUSENET_HASH_H
#define PAUSENET_HASH_H

/* Mixes the 5-tuple and the switch's seed (the finaliser of MurmurHash3): equal-cost paths are chosen by it. */
static __always_inline __u32 ecmp_hash(__u32 seed, const struct packet *p)
{
	__u32 h = seed ^ p->source;

	h = (h ^ h >> 16) * 0x85ebca6b;
	h ^= p->destination;
	h = (h ^ h >> 13) * 0xc2b2ae35;
	h ^= (__u32)p->sport << 16 | p->dport;
	h = (h ^ h >> 16) * 0x85ebca6b;
	h ^= p->protocol;
	h = (h ^ h >> 13) * 0xc2b2ae35;
	return h ^ h >> 16;
}

/* The host with an address; 0 if there is none. Host n has the address 10.0.0.0 + n + 1. */
static __always_inline struct host *host_of(__u32 address)
{
	return address >> 24 == 10 ? host_at((address & 0xffffff) - 1) : 0;
}

/* What HPCC's simulator has for an address: that of the node's number, which the table has for each host. */
static __always_inline __u32 hpcc_address(__u32 address)
{
	struct host *known = host_of(address);

	return known ? known->address : address;
}

/* MurmurHash3 (x86, 32 bits) takes a word in. */
static __always_inline __u32 murmur_word(__u32 h, __u32 k)
{
	k *= 0xcc9e2d51;
	k = k << 15 | k >> 17;
	h ^= k * 0x1b873593;
	h = h << 13 | h >> 19;
	return h * 5 + 0xe6546b64;
}

/* HPCC's simulator: MurmurHash3 over both addresses and the ports, with the switch's number as its seed (EcmpHash in
 * switch-node.cc). A RoCE packet's destination port is always RoCE's; the flow's there is the packet's IPv4 identification. */
static __always_inline __u32 hpcc_hash(__u32 seed, const struct packet *p, const __u8 *h)
{
	__u32 dport = is_roce(p) ? get16(h + OFF_ID) : p->dport;
	__u32 hash = murmur_word(seed, hpcc_address(p->source));

	hash = murmur_word(hash, hpcc_address(p->destination));
	hash = murmur_word(hash, p->sport | dport << 16);
	hash ^= 12; /* bytes */
	hash = (hash ^ hash >> 16) * 0x85ebca6b;
	hash = (hash ^ hash >> 13) * 0xc2b2ae35;
	return hash ^ hash >> 16;
}

#endif
