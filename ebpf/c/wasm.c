// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/* The pipelines' entry points for WebAssembly: tables in linear memory, one call a pass. No decision is taken here. */
typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef int __s32;
typedef unsigned long long __u64;
#define __always_inline inline __attribute__((always_inline))
#define EXPORT(name) __attribute__((export_name(name)))
#define PAGE 65536u

#include "state.h"

/* What few frames need is kept out of what all do: the compiler in process spends fewer registers on it. */
#define COLD static __attribute__((noinline))
#define APART static __always_inline

/* The frame's first bytes. The engine copies them in, up to the end of what the pipelines will look at, and, where a frame
 * comes out, out again. */
#define HEADER 128

static struct pass pass;
static __u8 header[HEADER] __attribute__((aligned(8)));

/* Where the tables are, for the engine. */
static struct tables {
	__u32 pass;
	__u32 header;
	__u32 ports;
	__u32 extras;
	__u32 switches;
	__u32 routes;
	__u32 next_hops;
	__u32 hosts;
	__u32 flows;
	__u32 fanouts;
	__u32 flowlets;
} tables;

static __u32 n_ports, n_switches, n_hosts, n_leaves, n_next_hops, n_flows, n_fanouts, n_flowlets;
static struct port *ports;
static struct port_extra *extras;
static struct switch_state *switches;
static struct route *routes;
static __u64 *next_hops;
static struct host *hosts;
static struct flow *flows;
static __u64 *fanouts;
static struct flowlet *flowlets;

static __always_inline struct port *port_at(__u32 i)
{
	return i < n_ports ? ports + i : 0;
}

/* Who asks for it has looked the port up before. */
static __always_inline struct port_extra *extra_at(__u32 port)
{
	return extras + port;
}

static __always_inline struct switch_state *switch_at(__u32 i)
{
	return i < n_switches ? switches + i : 0;
}

static __always_inline struct route *route_at(__u32 node, __u32 leaf)
{
	return node < n_switches && leaf < n_leaves ? routes + node * n_leaves + leaf : 0;
}

static __always_inline __u64 *next_hop_at(__u32 i)
{
	return i < n_next_hops ? next_hops + i : 0;
}

static __always_inline struct host *host_at(__u32 i)
{
	return i < n_hosts ? hosts + i : 0;
}

static __always_inline struct flow *flow_at(__u32 i)
{
	return i < n_flows ? flows + i : 0;
}

static __always_inline __u64 *fanout_at(__u32 i)
{
	return i < n_fanouts ? fanouts + i : 0;
}

static __always_inline struct flowlet *flowlet_at(__u32 i)
{
	return i < n_flowlets ? flowlets + i : 0;
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

/* Fresh memory is zero. 0: there is no more. */
static void *table(__u32 *at, __u32 n, __u32 size)
{
	__u64 bytes = (__u64)n * size;
	__u32 start = *at;

	if (bytes > 0xffffffffu - start - PAGE)
		return 0;
	*at = (start + (__u32)bytes + 63) & ~63u;
	while (__builtin_wasm_memory_size(0) * PAGE < *at) {
		__u32 missing = (*at - __builtin_wasm_memory_size(0) * PAGE + PAGE - 1) / PAGE;

		if (__builtin_wasm_memory_grow(0, missing) == (__SIZE_TYPE__)-1)
			return 0;
	}
	return (void *)start;
}

extern __u8 __heap_base;

/* Makes the tables; returns the address of struct tables, 0 without memory for them. To be called once. The tables begin a distance behind
 * this instance's data: instances whose memories begin at different places of one can share them. */
EXPORT("setup")
struct tables *setup(__u32 distance, __u32 n_port, __u32 n_switch, __u32 n_host, __u32 n_leaf, __u32 n_hop, __u32 n_flow, __u32 n_fanout,
		     __u32 n_flowlet)
{
	__u32 at = (((__u32)&__heap_base + 63) & ~63u) + distance;

	n_ports = n_port;
	n_switches = n_switch;
	n_hosts = n_host;
	n_leaves = n_leaf;
	n_next_hops = n_hop;
	n_flows = n_flow;
	n_fanouts = n_fanout;
	n_flowlets = n_flowlet;
	ports = table(&at, n_port, sizeof(*ports));
	extras = table(&at, n_port, sizeof(*extras));
	switches = table(&at, n_switch, sizeof(*switches));
	routes = table(&at, n_switch * n_leaf, sizeof(*routes));
	next_hops = table(&at, n_hop, sizeof(*next_hops));
	hosts = table(&at, n_host, sizeof(*hosts));
	flows = table(&at, n_flow, sizeof(*flows));
	fanouts = table(&at, n_fanout, sizeof(*fanouts));
	flowlets = table(&at, n_flowlet, sizeof(*flowlets));
	if (!ports || !extras || !switches || !routes || !next_hops || !hosts || !flows || !fanouts || !flowlets)
		return 0;
	tables.pass = (__u32)&pass;
	tables.header = (__u32)header;
	tables.ports = (__u32)ports;
	tables.extras = (__u32)extras;
	tables.switches = (__u32)switches;
	tables.routes = (__u32)routes;
	tables.next_hops = (__u32)next_hops;
	tables.hosts = (__u32)hosts;
	tables.flows = (__u32)flows;
	tables.fanouts = (__u32)fanouts;
	tables.flowlets = (__u32)flowlets;
	return &tables;
}

static __always_inline void leave_port(__u32 length)
{
	__u32 telemetry = egress(&pass, header, header + HEADER, length);

	if (telemetry)
		stamp(&pass, header + telemetry);
}

static __always_inline void enter_port(__u32 length)
{
	ingress(&pass, header, header + HEADER, length);
	pass.done++;
}

/* The egress pipeline of the port that the frame left, alone: for a tap on the wire. */
EXPORT("leave")
void leave(__u32 length)
{
	leave_port(length);
}

/* The ingress pipeline of the port that the frame enters. */
EXPORT("enter")
void enter(__u32 length)
{
	enter_port(length);
}

/* Both. */
EXPORT("process")
void process(__u32 length)
{
	leave_port(length);
	enter_port(length);
}
