/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* What the pipelines know and remember: P4-like tables and registers.
 *
 * Every structure lives in an array that the engine maps into its memory: it fills the tables, the traffic manager
 * keeps the queue lengths and takes departed frames off the accounts, the pipelines do the rest. The engine and a
 * pipeline never run at the same time (a pipeline pass is synchronous), so plain loads and stores suffice.
 *
 * Times are picoseconds of virtual time. Sizes are bytes of the frame without FCS, less what the framing does not count of
 * it (see uncounted). Go's view of these structures is
 * generated from here. */
#ifndef PAUSENET_STATE_H
#define PAUSENET_STATE_H
/* clang-format off */
#define PRIORITIES 8
#define NO_PORT 0xffffffffu
#define FLOW_IDS 65536 /* a CRC-16 flow id is an index */

/* What a pass through the pipelines is for: a frame off the wire, or a generated packet. */
enum trigger {
	TRIGGER_NONE = 0,   /* a frame off the wire */
	TRIGGER_PAUSE = 1,  /* build a PAUSE for (in_port, priority), first or refreshing */
	TRIGGER_RESUME = 2, /* build a RESUME for (in_port, priority) */
	TRIGGER_WALK = 3,   /* build the next CNM of the burst at egress in_port */
	TRIGGER_FLOW = 4,   /* build a CNM for the flow table's entry argument */
	TRIGGER_CREDIT = 5, /* build the credit message of (in_port, priority) */
	TRIGGER_LOST = 6,   /* a frame that left out_port and that the wire lost or damaged. in_port does not get it */
};

/* What became of the frame. */
enum verdict {
	VERDICT_NONE = 0,     /* the pipeline did not run */
	VERDICT_FORWARD = 1,  /* came out of port egress, to be queued there */
	VERDICT_HOST = 2,     /* came out of the port it went in: for the hostagent */
	VERDICT_STACK = 3,    /* went up the host's kernel stack */
	VERDICT_CONSUMED = 4, /* ended here as it should */
	VERDICT_DROP = 5,     /* ended here, counted under reason */
	VERDICT_PROCESSOR = 6, /* ended here: for the switch's own processor */
	VERDICT_FLOOD = 7,    /* ended here: to go to all hosts, in the priority out_priority */
};

enum reason {
	REASON_NONE = 0,
	REASON_NO_ROUTE = 1,   /* no table entry for the destination */
	REASON_TTL = 2,        /* IPv4 TTL ran out */
	REASON_MALFORMED = 3,  /* not a frame the parser knows */
	REASON_CNM_LOST = 4,   /* CNM for a flow this switch has not seen */
	REASONS = 5,
};

/* Requests of a pass to the engine, as bits of want. */
enum want {
	WANT_PAUSE = 1,    /* TRIGGER_PAUSE on (in_port, out_priority) */
	WANT_WALK = 2,     /* TRIGGER_WALK on egress; from a TRIGGER_WALK: on in_port, again */
	WANT_FLOW = 4,     /* TRIGGER_FLOW on want_flow */
	STATE_CHANGED = 8, /* in_port went ON or OFF for the priorities in changed */
};

/* One pass: the engine's input, and the pipelines' output. */
struct pass {
	/* in */
	__u64 now;           /* the frame's arrival at in_port */
	__u32 in_port;       /* where it arrives */
	__u32 trigger;       /* enum trigger */
	__u32 argument;      /* of the trigger */
	__u32 priority;      /* of the trigger */
	/* in: departure record of the port it left, taken as it left */
	__u64 departed;      /* start of serialisation */
	__u64 on_since;      /* end of that queue's last OFF period; 0: never was OFF */
	__u32 out_port;      /* the port it left; NO_PORT of a generated packet */
	__u32 queue_bytes;   /* left behind in its queue */
	__u32 queue_packets;
	__u32 burst;         /* that queue's burst state then */
	/* out */
	__u32 verdict;
	__u32 egress;        /* port it came out of */
	__u32 out_priority;
	__u32 flow;          /* flow table entry + 1 of a counted frame; 0: none */
	__u32 want;          /* WANT_* */
	__u32 want_flow;     /* entry for TRIGGER_FLOW */
	__u32 changed;       /* priorities with STATE_CHANGED */
	__u32 reason;
	__u64 done;          /* passes that ended here: the engine waits for it */
	__u64 marked;        /* frames the egress pipelines looked at: one a pass */
};

enum port_kind { PORT_HOST = 0, PORT_SWITCH = 1 };

/* DCON's state of an egress queue (paper, section 4.1). */
enum burst_state { BURST_NONE = 0, BURST_PERSISTENT = 1, BURST_BURST = 2 };

/* What a port remembers of one priority, for each frame. A switch buffers less than 4 GB, so 32 bits count the bytes. */
struct port_class {
	/* of the ingress side */
	__u32 buffered;      /* bytes in the switch that came in here */
	__u32 peak;          /* most bytes ever buffered */
	/* of the egress side */
	__u64 paused_until;  /* OFF while now is less */
	__u64 off_since;     /* start of the last OFF period */
	__u32 queue_bytes;   /* kept by the traffic manager */
	__u8 burst;          /* enum burst_state */
	/* of the ingress side */
	__u8 pausing;        /* 1: the peer was sent PAUSE and no RESUME since */
	__u16 unused;
};

/* What a detector of pauses, PCN or TCD, remembers of an egress queue. */
struct detector {
	__u64 on_seen;       /* of the last departure that it looked at: end of the OFF period before it */
	__u64 reference_time; /* TCD: when the queue was the reference */
	__u32 waited;        /* PCN: packets still queued that were there when the last pause ended */
	__u32 reference;     /* TCD: queue that a later one is compared with */
	__u8 ternary;        /* enum tcd_state */
	__u8 falling;        /* TCD: 1: undetermined after T_max, as the queue falls */
	__u16 unused;
	__u32 unused2;
};

/* TCD's states of an egress port (patent, paragraph 0052): 0, / and 1 there. */
enum tcd_state { TCD_NONCONGESTED = 0, TCD_UNDETERMINED = 1, TCD_CONGESTED = 2 };

/* What a port knows of a priority's credits: blocks, modulo 4096. */
struct credit {
	/* of the egress side */
	__u16 sent;          /* FCTBS, kept by the engine */
	__u16 limit;         /* FCCL: how far sent may go */
	__u16 needed;        /* of the frame that waits for credits; 0: none does */
	/* of the ingress side */
	__u16 received;      /* ABR */
};

/* What frames touch of a port, in cache lines of 64 bytes, as a large fabric's ports are more than the processor's cache holds: a frame
 * touches the first and its priority's. Their number is odd (5), so that the same line of different ports is not always in the same set of
 * the cache. */
struct port {
	__u32 node;          /* index among the switches, or among the hosts */
	__u32 first_port;    /* id of the node's first port */
	__u32 rate_mbps;
	__u32 quantum;       /* 512 bit times */
	__u8 mac[6];
	__u8 peer_mac[6];
	__u8 kind;           /* enum port_kind */
	__u8 profile;        /* which profile of its switch holds for it */
	__u8 credit_vls;     /* bit n: priority n goes by credits */
	__u8 rate_code;      /* of rate_mbps, in telemetry */
	__u64 rx_frames;
	__u64 rx_bytes;
	__u64 ecn_marked;    /* at dequeue or enqueue of this egress port */
	__u64 draws;         /* random numbers drawn */

	struct port_class class[PRIORITIES];
} __attribute__((aligned(64)));

/* What few frames touch of a port: counters of what happens seldom, and the settings and registers of features that a fabric may not have.
 * Without these features little is written here, so that a large fabric does not touch most of its memory for it. */
struct port_extra {
	__u64 pauses_received;
	__u64 resumes_received;
	__u64 pauses_sent;
	__u64 resumes_sent;
	__u64 idle_triggers; /* triggers that built nothing */
	__u64 dropped[REASONS];
	/* With a dynamic threshold: the part of buffered that arrived beyond XOFF. It does not use the shared buffer. */
	__u32 headroom_buffered[PRIORITIES];
	__u64 tx_line_bytes; /* of telemetry: the link's time of what left by this port; see line_overhead */

	/* Of burst detection. */
	__u64 t_last;        /* last arrival of a packet whose egress was not in BURST; 0: never */
	__u64 t_last_other;  /* t_last of the egress ports but last_egress */
	__u32 last_egress;   /* whose packet t_last is of */
	__u32 edge;          /* 1: of a switch, to a host */
	__u64 max_fanout_at; /* when max_fanout last was so great */
	__u64 fanout_since;  /* start of a period of T */
	__u32 max_fanout;    /* the greatest M of an ingress port whose packets came for this egress port lately */
	__u32 fanout;        /* egress ports that packets came in here for since fanout_since */
	__u32 fanout_before; /* fanout of the period before; 0: none ended just then */
	__u32 fanout_row;    /* where this port's row of the fanout matrix starts */
	__u64 three_d_c;     /* 3*d*C in bytes (DCON section 4.4) */
	__u32 flows;         /* N: flows with packets queued */
	__u32 flow_head;     /* entry + 1 of the first of them; 0: none */
	__u32 walk;          /* entry + 1 of the next flow to notify; 0: done */
	__u32 unused;
	__u64 bursts;        /* times BURST was entered */
	__u64 cnms_sent;
	__u64 cnms_forwarded;
	__u64 burst_since[PRIORITIES]; /* when BURST was entered last */

	/* Of credit-based flow control. */
	__u32 credit_buffer; /* bytes of one priority that may be buffered here */
	__u32 block_shift;   /* a credit is for 1<<block_shift bytes */
	__u32 uncounted;     /* as the switches' */
	__u32 unused2;
	__u64 credits_sent;  /* messages */
	__u64 credits_received;
	__u64 credit_repairs; /* messages that told of other blocks than had come */
	__u64 credit_stalls; /* times that a priority went OFF for want of credits */
	struct credit credit[PRIORITIES];

	struct detector detector[PRIORITIES];

	/* Of ternary congestion detection. */
	__u64 t_max;         /* as long as it has been ON for less, the port is undetermined */
	__u64 ue_marked;
	__u64 entered[3];    /* times that each state of a queue was entered */
} __attribute__((aligned(64)));

/* The thresholds that ports of one kind have in common: their rate's, and their cable's. */
#define PROFILES 32 /* a power of 2 */
struct profile {
	__u64 ecn_kmin;
	__u64 ecn_kmax;
	__u64 xoff;          /* with a dynamic threshold: upper bound, 0 for none */
	__u64 xon;
	__u64 alpha;         /* 16.16 fixed point; 0: XOFF is static */
	__u64 q_ecn;
	__u64 q_len;         /* TCD: longest queue of a port that is not congested */
};

/* A switch's settings and the registers it has once. */
struct switch_state {
	__u64 buffer;
	__u64 used;          /* bytes buffered, all ports */
	__u64 xoff_to_xon;   /* with a dynamic threshold: XON = threshold - this */
	__u32 lossless;      /* bit n: priority n */
	__u32 uncounted;     /* bytes of a frame that its size leaves out; see counted() */
	__u32 ecn_mode;      /* enum ecn_mode */
	__u32 ecn_priorities;
	__u64 ecn_pmax;      /* 0.32 fixed point, 1<<32 is always */
	__u32 cnm;           /* 1: burst detection is on */
	__u32 int_on;        /* 1: data packets are stamped with telemetry */
	__u64 q_cnm;         /* 0: dynamic */
	__u64 cnm_window;    /* T */
	__u64 cnm_repeat;
	__u32 shared_at_onset; /* 1: a port is judged as the burst begins; 0: as each packet comes */
	__u32 shared_by;     /* enum shared_by */
	__u64 headroom_used; /* of used: what ports hold in their headroom, with a dynamic threshold */
	__u64 seed;          /* of this switch's random numbers */
	__u32 ecmp_seed;
	__u32 tcd_red;       /* TCD: 1: a packet that meets congestion is marked by RED; 0: always */
	__u32 trend_slack;   /* TCD: growth of a queue that still counts as falling */
	__u32 quanta;        /* of a PAUSE */
	__u32 ecn_at_enqueue; /* 1: ECN_RED and ECN_STEP mark a packet as it comes; 0: as it leaves */
	__u32 choice;        /* enum path_choice */
	__u64 flowlet_gap;   /* a flow that has sent nothing for so long begins another flowlet */
	__u64 choices;       /* random numbers drawn to choose by */
	__u32 hash_fields;   /* enum hash_field, of CHOICE_FIELDS */
	/* Of telemetry: a frame of n bytes takes the link's time of n + line_overhead bytes, at least line_min. */
	__s32 line_overhead;
	__u32 line_min;
	__u32 unused;
	struct profile profiles[PROFILES];
};

/* The packets that make a port shared as they come for an egress that is not in BURST. */
enum shared_by {
	SHARED_BY_EDGE = 0,  /* of others at the edge, any elsewhere */
	SHARED_BY_ANY = 1,
	SHARED_BY_OTHER = 2, /* of other egress ports than the congested one */
};

enum ecn_mode {
	ECN_OFF = 0,
	ECN_RED = 1,
	ECN_STEP = 2,
	ECN_PCN = 3, /* NP-ECN */
	ECN_TCD = 4, /* by TCD's detector */
};

/* How one of several equal-cost ports is chosen. By the first three a flow keeps its port. */
enum path_choice {
	CHOICE_HASH = 0,             /* by a hash of the 5-tuple */
	CHOICE_HPCC = 1,             /* by that of HPCC's simulator */
	CHOICE_FIELDS = 2,           /* by a hash of some fields */
	CHOICE_FLOWLET = 3,          /* at random for each flowlet */
	CHOICE_RANDOM = 4,           /* at random for each packet */
	CHOICE_ROUND_ROBIN = 5,      /* one after the other */
	CHOICE_ADAPTIVE = 6,         /* the shortest queue, for each packet */
	CHOICE_ADAPTIVE_FLOWLET = 7, /* the shortest queue, for each flowlet */
};

/* What of the 5-tuple is hashed. */
enum hash_field {
	FIELD_SOURCE = 1,
	FIELD_DESTINATION = 2,
	FIELD_PORTS = 4,
	FIELD_PROTOCOL = 8,
};

/* A host, by the lower 24 bits of its address. Hosts of one switch, their leaf, share their routes: the route table has a row a switch
 * and a column a leaf, and does not grow with switches times hosts. */
struct host {
	__u32 address;       /* in HPCC's simulator */
	__u32 leaf;          /* column of the route table */
	__u32 port;          /* of the leaf, towards the host; NO_PORT: there is no way */
	__u32 unused;
};

/* Where to send towards a leaf: one port, or the first of count entries of the next-hop table. */
struct route {
	__u32 port_or_first;
	__u32 count;         /* 0: no route; 1: port; AT_LEAF: this is the leaf, see struct host; else: next hops */
};
#define AT_LEAF 0xffffffffu

/* What a switch remembers of flows that hash alike, or, under CHOICE_ROUND_ROBIN, of packets to a leaf. Of the port it has the number
 * among equal-cost ones, modulo how many there are: that is a port of any route. */
struct flowlet {
	__u64 last;          /* when a packet came; 0: never */
	__u64 choice;        /* the port's number */
};
#define FLOWLETS 16384 /* a switch's entries: a power of 2 */
#define MOST_COMPARED 256 /* equal-cost ports whose queues are looked at */

/* DCON's flow table, indexed by switch and CRC-16 flow id (paper, section 5). */
struct flow {
	__u64 last_seen;     /* 0: never */
	__u64 last_cnm;      /* 0: never */
	__u32 cnm_flows;     /* N in that CNM */
	__u32 queued;        /* packets in the egress queue */
	__u32 ingress;       /* port it last came in by */
	__u32 egress;        /* port whose queue holds its packets */
	__u32 next;          /* entry + 1 of the next flow with packets there */
	__u32 previous;
	__u8 mac[6];         /* previous hop */
	__u16 unused;
};

#endif
