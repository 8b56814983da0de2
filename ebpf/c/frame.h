/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Parser and deparser. A frame is at least FRAME_MIN bytes; h points to that many that may be read and written. RoCE is over IPv4 or IPv6. */
#ifndef PAUSENET_FRAME_H
#define PAUSENET_FRAME_H

#define FRAME_MIN 60

#define ETHERTYPE_IPV4 0x0800
#define ETHERTYPE_ARP 0x0806
#define ETHERTYPE_IPV6 0x86dd
#define ETHERTYPE_MAC_CONTROL 0x8808 /* IEEE 802.3 clause 31 */
#define ETHERTYPE_CNM 0x88b5         /* IEEE local experimental 1 */
#define ETHERTYPE_CREDIT 0x88b6      /* IEEE local experimental 2 */
#define OPCODE_PFC 0x0101            /* IEEE 802.1Qbb */
#define UDP_ROCE 4791
#define IPPROTO_UDP_ 17

/* Offsets. */
#define OFF_ETHERTYPE 12
#define OFF_IP 14
#define OFF_TOS 15
#define OFF_ID 18
#define OFF_TTL 22
#define OFF_PROTOCOL 23
#define OFF_CHECKSUM 24
#define OFF_SOURCE 26
#define OFF_DESTINATION 30
#define OFF_SPORT 34
#define OFF_DPORT 36
#define OFF_BTH 42
#define OFF_NEXT_HEADER6 20
#define OFF_HOP_LIMIT6 21
#define OFF_SOURCE6 22
#define OFF_DESTINATION6 38
#define OFF_SPORT6 54
#define OFF_DPORT6 56
#define OFF_BTH6 62
#define OFF_PFC_OPCODE 14
#define OFF_PFC_ENABLE 16
#define OFF_PFC_TIME 18
#define OFF_CNM_ID8 14
#define OFF_CNM_FLOWS8 15
#define OFF_CNM_ID 16
#define OFF_CNM_FLOWS 18
#define OFF_CNM_RATE 20

#define BTH_ACK 0x11
#define BTH_CNP 0x81

#define CNM_PRIORITY 7

#define ECN_MASK 3
#define ECN_UE 2 /* TCD: undetermined encountered; its senders send ECT(1), 1 (ECT(0) to anybody else) */
#define ECN_CE 3

struct packet {
	__u32 source;
	__u32 destination;
	__u16 sport;
	__u16 dport;
	__u8 protocol;
	__u8 tos;
	__u8 data; /* a RoCE data packet: what DCON calls a flow's packet */
};

/* Whether RoCE packets with this opcode are of data. */
static __always_inline int carries_data(__u8 opcode)
{
	return opcode != BTH_CNP && (opcode & 0x1f) != BTH_ACK;
}

static __always_inline int is_roce(const struct packet *p)
{
	return p->protocol == IPPROTO_UDP_ && p->dport == UDP_ROCE;
}

static __always_inline __u16 get16(const __u8 *p)
{
	return (__u16)p[0] << 8 | p[1];
}

static __always_inline __u32 get32(const __u8 *p)
{
	__u32 word;

	__builtin_memcpy(&word, p, sizeof(word)); /* one load where the machine has any that need not be aligned */
	return __builtin_bswap32(word);
}

static __always_inline void put16(__u8 *p, __u16 v)
{
	p[0] = v >> 8;
	p[1] = (__u8)v;
}

static __always_inline void put32(__u8 *p, __u32 v)
{
	put16(p, v >> 16);
	put16(p + 2, (__u16)v);
}

static __always_inline void put_mac(__u8 *p, const __u8 *mac)
{
	__builtin_memcpy(p, mac, 6);
}

static __always_inline int same_mac(const __u8 *p, const __u8 *mac)
{
	__u32 word, other;
	__u16 half, other_half;

	__builtin_memcpy(&word, p, sizeof(word));
	__builtin_memcpy(&other, mac, sizeof(other));
	__builtin_memcpy(&half, p + 4, sizeof(half));
	__builtin_memcpy(&other_half, mac + 4, sizeof(other_half));
	return !((word ^ other) | (half ^ other_half));
}

/* 0: an IPv4 packet without options, filled into p. A fragment's ports are 0, as it has none that can be trusted. */
static __always_inline int parse_ipv4(const __u8 *h, struct packet *p)
{
	if (h[OFF_IP] != 0x45)
		return -1;
	p->tos = h[OFF_TOS];
	p->protocol = h[OFF_PROTOCOL];
	p->source = get32(h + OFF_SOURCE);
	p->destination = get32(h + OFF_DESTINATION);
	p->sport = p->dport = 0;
	p->data = 0;
	if (!(get16(h + OFF_IP + 6) & 0x3fff) && (p->protocol == IPPROTO_UDP_ || p->protocol == 6)) {
		p->sport = get16(h + OFF_SPORT);
		p->dport = get16(h + OFF_DPORT);
		if (is_roce(p))
			p->data = carries_data(h[OFF_BTH]);
	}
	return 0;
}

/* The traffic class of an IPv6 packet. */
static __always_inline __u8 traffic_class(const __u8 *h)
{
	return (__u8)(get16(h + OFF_IP) >> 4);
}

/* An address of the fabric stands for an IPv4 address, in its last 32 bits: fd00::/96. 0 is none. */
static __always_inline __u32 mapped(const __u8 *address)
{
	if (get32(address) != 0xfd000000 || get32(address + 4) || get32(address + 8))
		return 0;
	return get32(address + 12);
}

/* 0: an IPv6 packet, filled into p, but for whether it is data: see has_opcode6. Behind an extension header its ports are 0. */
static __always_inline int parse_ipv6(const __u8 *h, struct packet *p)
{
	if (h[OFF_IP] >> 4 != 6)
		return -1;
	p->tos = traffic_class(h);
	p->protocol = h[OFF_NEXT_HEADER6];
	p->source = mapped(h + OFF_SOURCE6);
	p->destination = mapped(h + OFF_DESTINATION6);
	p->sport = p->dport = 0;
	p->data = 0;
	if (p->protocol == IPPROTO_UDP_ || p->protocol == 6) {
		p->sport = get16(h + OFF_SPORT6);
		p->dport = get16(h + OFF_DPORT6);
	}
	return 0;
}

/* Whether a parsed IPv6 packet of RoCE, in a frame of len bytes, has an opcode. That is beyond FRAME_MIN: h may be read up to end. */
static __always_inline int has_opcode6(const __u8 *h, const __u8 *end, __u32 len, const struct packet *p)
{
	return is_roce(p) && len > OFF_BTH6 && h + OFF_BTH6 + 1 <= end;
}

static __always_inline void set_ecn6(__u8 *h, __u32 field)
{
	h[OFF_TOS] = (__u8)((h[OFF_TOS] & ~(ECN_MASK << 4)) | field << 4);
}

/* The priority of a frame that hosts and switches' pipelines send, but of MAC control. */
static __always_inline __u32 priority_of(const __u8 *h, __u32 ethertype)
{
	if (ethertype == ETHERTYPE_IPV4)
		return h[OFF_TOS] >> 5;
	if (ethertype == ETHERTYPE_IPV6)
		return traffic_class(h) >> 5;
	return ethertype == ETHERTYPE_CNM ? CNM_PRIORITY : 0;
}

/* Changes one 16-bit word under the IPv4 checksum (RFC 1624, equation 3). */
static __always_inline void checksum_replace(__u8 *h, __u16 old, __u16 new)
{
	__u32 sum = (__u16)~get16(h + OFF_CHECKSUM) + (__u16)~old + new;

	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	put16(h + OFF_CHECKSUM, (__u16)~sum);
}

static __always_inline void set_ecn(__u8 *h, __u32 field)
{
	__u16 old = get16(h + OFF_IP);
	__u16 new = (__u16)((old & ~ECN_MASK) | field);
	/* clang-format off */
	h[OFF_TOS] = (__u8)new;
	checksum_replace(h, old, new);
}
/* clang-format on */
static __always_inline void decrement_ttl(__u8 *h)
{
	__u16 old = get16(h + OFF_TTL);

	h[OFF_TTL]--;
	checksum_replace(h, old, old - 0x100);
}

/* For this end of the link, as MAC control frames are that no bridge forwards (IEEE 802.3 annex 31A). */
static __always_inline int is_control(const __u8 *h)
{
	return get32(h) == 0x0180c200 && get16(h + 4) == 1;
}

/* The Ethernet header of a frame for the other end of the link alone (IEEE 802.3 annex 31A: 01-80-C2-00-00-01). */
static __always_inline void put_control(__u8 *h, const __u8 *mac, __u16 ethertype)
{
	h[0] = 0x01;
	h[1] = 0x80;
	h[2] = 0xc2;
	h[3] = h[4] = 0;
	h[5] = 1;
	put_mac(h + 6, mac);
	put16(h + OFF_ETHERTYPE, ethertype);
}

/* A PFC frame for one priority: time in quanta, 0 resumes (IEEE 802.1Qbb; 802.3 annex 31D). */
static __always_inline void build_pfc(__u8 *h, const __u8 *mac, __u32 priority, __u16 quanta)
{
	put_control(h, mac, ETHERTYPE_MAC_CONTROL);
	put16(h + OFF_PFC_OPCODE, OPCODE_PFC);
	put16(h + OFF_PFC_ENABLE, 1u << (priority & 7));
	for (int i = 0; i < PRIORITIES; i++)
		put16(h + OFF_PFC_TIME + 2 * i, (__u32)i == priority ? quanta : 0);
	for (int i = OFF_PFC_TIME + 2 * PRIORITIES; i < FRAME_MIN; i++)
		h[i] = 0;
}

/* A CNM: DCON's figure 5, its padding filled with the whole id, N and C. */
static __always_inline void build_cnm(__u8 *h, const __u8 *destination, const __u8 *source, __u16 id, __u32 flows,
				      __u32 rate_mbps)
{
	put_mac(h, destination);
	put_mac(h + 6, source);
	put16(h + OFF_ETHERTYPE, ETHERTYPE_CNM);
	h[OFF_CNM_ID8] = (__u8)id;
	h[OFF_CNM_FLOWS8] = flows > 255 ? 255 : flows;
	put16(h + OFF_CNM_ID, id);
	put16(h + OFF_CNM_FLOWS, flows > 65535 ? 65535 : flows);
	put32(h + OFF_CNM_RATE, rate_mbps);
	for (int i = OFF_CNM_RATE + 4; i < FRAME_MIN; i++)
		h[i] = 0;
}

#endif
