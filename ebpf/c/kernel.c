// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/* The pipelines' entry points for the kernel: maps, hooks, redirection. No decision is taken here. */
#include <linux/bpf.h>
#include <linux/if_packet.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_helpers.h>

#include "state.h"

/* What comes out of the pipelines has this mark, and nothing that a program sends from a device's namespace: skb->mark is
 * cleared when a frame goes through a veth pair into another namespace, and survives bpf_redirect_peer. */
enum frame_mark { FRAME_MARK = 0x70617573 };

/* Of the first port's outer end, in the hub namespace, and of the inner end of a node's first port, in its own. The others follow. */
enum ifindex { FIRST_OUTER = 2,
	       FIRST_INNER = 2 };

/* What few frames need. The verifier knows most about one function. */
#define COLD static __always_inline

/* What has a long loop. The verifier looks at a function that is not static by itself, once, and not at all that follows for each turn. */
#define APART __noinline

/* The engine sets max_entries to the fabric's size as it loads the object. */
#define TABLE(name, value_type)                    \
	struct {                                   \
		__uint(type, BPF_MAP_TYPE_ARRAY);  \
		__uint(map_flags, BPF_F_MMAPABLE); \
		__uint(max_entries, 1);            \
		__type(key, __u32);                \
		__type(value, value_type);         \
	} name SEC(".maps")

TABLE(passes, struct pass);
TABLE(ports, struct port);
TABLE(extras, struct port_extra);
TABLE(switches, struct switch_state);
TABLE(routes, struct route);
TABLE(next_hops, __u64);
TABLE(hosts, struct host);
TABLE(flows, struct flow);
TABLE(fanouts, __u64);
TABLE(flowlets, struct flowlet);

/* What has come out of the pipelines, for the engine: the frames one after the other, each in the next place. A place's frame is there once
 * filled is the frame's number, from 1 on. */
enum outbox { OUTBOX_PLACES = 32,
	      OUTBOX_FRAME = 9280 };

struct out {
	__u64 filled;
	__u32 ifindex;
	__u32 length;
	__u8 frame[OUTBOX_FRAME];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, OUTBOX_PLACES);
	__type(key, __u32);
	__type(value, struct out);
} outs SEC(".maps");

TABLE(outs_begun, __u64); /* frames that have been given a place */

/* Leaves of the fabric: the width of a row of the route table. Set as the object is loaded. */
const volatile __u32 leaves = 1;

/* 1: programs on hosts send frames of their own. Set as the object is loaded: without, the verifier leaves out what it is asked for. */
const volatile __u32 live = 0;

static __always_inline struct port *port_at(__u32 i)
{
	return bpf_map_lookup_elem(&ports, &i);
}

static __always_inline struct port_extra *extra_at(__u32 port)
{
	return bpf_map_lookup_elem(&extras, &port);
}

static __always_inline struct switch_state *switch_at(__u32 i)
{
	return bpf_map_lookup_elem(&switches, &i);
}

static __always_inline struct route *route_at(__u32 node, __u32 leaf)
{
	__u32 i = node * leaves + leaf;

	return leaf < leaves ? bpf_map_lookup_elem(&routes, &i) : 0;
}

static __always_inline __u64 *next_hop_at(__u32 i)
{
	return bpf_map_lookup_elem(&next_hops, &i);
}

static __always_inline struct host *host_at(__u32 i)
{
	return bpf_map_lookup_elem(&hosts, &i);
}

static __always_inline struct flow *flow_at(__u32 i)
{
	return bpf_map_lookup_elem(&flows, &i);
}

static __always_inline __u64 *fanout_at(__u32 i)
{
	return bpf_map_lookup_elem(&fanouts, &i);
}

static __always_inline struct flowlet *flowlet_at(__u32 i)
{
	return bpf_map_lookup_elem(&flowlets, &i);
}

#include "frame.h"
#include "crc16.h"
#include "pfc.h"
#include "cbfc.h"
#include "burst.h"
#include "ecn.h"
#include "hash.h"
#include "balance.h"
#include "ingress.h"
#include "telemetry.h"
#include "pcn.h"
#include "tcd.h"
#include "egress.h"

static __always_inline struct pass *current_pass(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&passes, &zero);
}

/* What any header that the pipelines look at is within. */
#define HEADERS 128

/* Telemetry at a place that is a constant. */
static __always_inline void stamp_at(struct __sk_buff *skb, struct pass *x, __u32 at)
{
	__u8 *h = (__u8 *)(long)skb->data;

	if (h + at + INT_BYTES > (__u8 *)(long)skb->data_end) {
		bpf_skb_pull_data(skb, at + INT_BYTES);
		h = (__u8 *)(long)skb->data;
	}
	if (h + at + INT_BYTES <= (__u8 *)(long)skb->data_end)
		stamp(x, h + at);
}

/* The pipeline of the port that a frame left. */
static __always_inline void leave_port(struct __sk_buff *skb, struct pass *x)
{
	__u8 *h = (__u8 *)(long)skb->data;
	__u32 telemetry;

	if (h + FRAME_MIN > (__u8 *)(long)skb->data_end) {
		/* Of a packet socket's frame that does not fit into a page, the kernel leaves only the Ethernet header in the
		 * linear part. What is pulled here stays there for the ingress hook. */
		bpf_skb_pull_data(skb, skb->len < HEADERS ? FRAME_MIN : HEADERS);
		h = (__u8 *)(long)skb->data;
	}
	if (h + FRAME_MIN > (__u8 *)(long)skb->data_end) {
		x->marked++; /* too short: the ingress hook drops it, and says so to the engine that waits for it */
		return;
	}
	telemetry = egress(x, h, (__u8 *)(long)skb->data_end, skb->len);
	if (telemetry == OFF_INT)
		stamp_at(skb, x, OFF_INT);
	else if (telemetry == OFF_INT6)
		stamp_at(skb, x, OFF_INT6);
}

/* TCX or clsact ingress of the entry, into which the engine writes frames: on to the inner end of the port that they enter. */
SEC("tc")
int pausenet_entry(struct __sk_buff *skb)
{
	struct pass *x = current_pass();

	if (!x)
		return TC_ACT_SHOT;
	leave_port(skb, x);
	return bpf_redirect_peer(FIRST_OUTER + x->in_port, 0);
}

/* TCX or clsact egress of a port's outer end: for what the engine sends from there by a packet socket. */
SEC("tc")
int pausenet_egress(struct __sk_buff *skb)
{
	struct pass *x = current_pass();

	if (!x)
		return TC_ACT_SHOT;
	leave_port(skb, x);
	return TC_ACT_OK;
}

/* TCX or clsact ingress of a port's inner end: the pipeline of the port that the frame enters. */
SEC("tc")
int pausenet_ingress(struct __sk_buff *skb)
{
	struct pass *x = current_pass();
	__u8 *h = (__u8 *)(long)skb->data;
	struct port *out;
	__u32 verdict, ifindex = 0;

	/* What a host's kernel sends to a group it gives itself by this hook, too. No port has sent that. */
	if (live && skb->pkt_type == PACKET_LOOPBACK)
		return TC_ACT_OK;
	if (!x)
		return TC_ACT_SHOT;
	if (h + FRAME_MIN > (__u8 *)(long)skb->data_end) {
		x->verdict = VERDICT_DROP;
		x->reason = REASON_MALFORMED;
		x->want = x->changed = x->flow = 0;
		x->done++;
		return TC_ACT_SHOT;
	}
	ingress(x, h, (__u8 *)(long)skb->data_end, skb->len);
	verdict = x->verdict;
	if (verdict == VERDICT_FORWARD || verdict == VERDICT_HOST) {
		out = port_at(x->egress);
		if (out)
			ifindex = FIRST_INNER + x->egress - out->first_port;
	}
	x->done++;
	if (ifindex) {
		skb->mark = FRAME_MARK;
		return bpf_redirect_peer(ifindex, 0);
	}
	return verdict == VERDICT_STACK ? TC_ACT_OK : TC_ACT_SHOT;
}

/* TCX or clsact ingress of a port's outer end: where frames end. What the pipelines sent goes to the engine from here, which costs half of
 * what a packet socket's ring takes; programs' frames have gone to theirs by now. The hub namespace's IP stack would look for a route for
 * each. (That a frame is somebody else's it no longer sees: bpf_redirect_peer says otherwise since Linux 6.16.) */
SEC("tc")
int pausenet_end(struct __sk_buff *skb)
{
	__u32 i = 0, length = skb->len;
	__u64 *begun, n;
	struct out *out;

	if (skb->mark != FRAME_MARK || length < OFF_IP) /* no frame is shorter than its Ethernet header */
		return TC_ACT_SHOT;
	/* Keeps the compiler from one comparison for both bounds, of which the verifier of Linux 6.1 knows no least length. */
	__asm__(""
		: "+r"(length));
	if (length > OUTBOX_FRAME)
		return TC_ACT_SHOT;
	begun = bpf_map_lookup_elem(&outs_begun, &i);
	if (!begun)
		return TC_ACT_SHOT;
	n = __sync_fetch_and_add(begun, 1); /* one that the engine has given up may come on another processor */
	i = n % OUTBOX_PLACES;
	out = bpf_map_lookup_elem(&outs, &i);
	if (!out || bpf_skb_load_bytes(skb, 0, out->frame, length))
		return TC_ACT_SHOT;
	out->ifindex = skb->ifindex;
	out->length = length;
	__sync_lock_test_and_set(&out->filled, n + 1);
	return TC_ACT_SHOT;
}

/* Referenced, so that the object's type information names them for Go. */
const enum trigger *trigger_type __attribute__((unused));
const enum verdict *verdict_type __attribute__((unused));
const enum reason *reason_type __attribute__((unused));
const enum want *want_type __attribute__((unused));
const enum port_kind *port_kind_type __attribute__((unused));
const enum burst_state *burst_state_type __attribute__((unused));
const enum shared_by *shared_by_type __attribute__((unused));
const enum path_choice *path_choice_type __attribute__((unused));
const enum hash_field *hash_field_type __attribute__((unused));
const enum ecn_mode *ecn_mode_type __attribute__((unused));
const enum tcd_state *tcd_state_type __attribute__((unused));
const enum frame_mark *frame_mark_type __attribute__((unused));
const enum ifindex *ifindex_type __attribute__((unused));

char LICENSE[] SEC("license") = "Dual BSD/GPL";
