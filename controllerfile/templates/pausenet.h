/* pausenet.h: the interface of congestion controls in C, version 3. docs/controllers-from-files.md describes it.
 *
 *   clang --target=wasm32 -O2 -g -nostdlib -Wl,--no-entry,--stack-first,-z,stack-size=8192 -o mine.wasm mine.c
 *   pausenet cc check mine.wasm
 *   pausenet run incast --cc ./mine.wasm
 *
 * A controller has a struct flow, which holds a flow's state, and functions, each declared by HANDLER:
 *
 *   struct flow { double alpha; };
 *   PAUSENET_CONTROLLER("needs = ['ECN', 'CNP']")
 *
 *   HANDLER(init) { pn.rate = pn.line_rate; flow.alpha = 1; }
 *   HANDLER(on_cnp) { pn.rate = ...; }
 *
 * All numbers are doubles: rates in bits per second, times in picoseconds, sizes in bytes. For equal results everywhere,
 * compile without -ffast-math and with -ffp-contract=off, as wasm32 does by default. */
#ifndef PAUSENET_H
#define PAUSENET_H

/* The data that host and controller share. */
struct pausenet {
	/* Constants of the flow's path, and parameters in the order of declaration: a flag is 0 or 1, a choice its index. */
	double line_rate, base_rtt, mtu, line_mtu;
	double params[32];

	/* Outputs, which keep their values until changed. */
	double rate;   /* b/s of line time, above 0 */
	double window; /* bytes of payload in flight; 0: no window */
	double timer;  /* time of the next on_timer; pn_never: none. It is pn_never when on_timer is called */
	double moves;  /* with departure = "flow.moves": whether a new rate moves the next packet's departure */

	/* Inputs of a call. */
	double now;
	double rtt, acked_bytes;        /* on_ack */
	double ack_sequence, next_send; /* on_ack, on_cnp, on_cnm */
	double ce, ue;                  /* on_ack, on_cnp: 0 or 1 */
	double path_id;                 /* on_ack */
	double received, receiving_rate; /* on_cnp: PCN */
	double flows, cnm_rate;         /* on_cnm: DCON */
	double payload;                 /* on_sent */
	double start_rate;              /* preset */
	double hop_count;               /* on_ack: INT */
	struct { double rate, departed, tx_bytes, queue_bytes; } hops[5];
	double in_flight;               /* on_ack: bytes of payload */
	/* on_ack: the hops since the flow's last ACK on the same path; 0 if there is none, or if it is too long ago.
	 * elapsed in ps, tx_delta in bytes, queue_gradient in b/s. */
	struct { double elapsed, tx_delta, queue_gradient; } since[5];
};

#define pn_never __builtin_inf()
#define pn_us 1e6
#define pn_Mbps 1e6
#define pn_Gbps 1e9

static inline double pn_min(double a, double b) { return a < b ? a : b; }
static inline double pn_max(double a, double b) { return a > b ? a : b; }
static inline double pn_clamp(double x, double lowest, double highest) { return x >= lowest ? pn_min(x, highest) : lowest; }
static inline double pn_sqrt(double x) { return __builtin_sqrt(x); }
static inline double pn_floor(double x) { return __builtin_floor(x); }

#define PAUSENET_EXPORT(name) __attribute__((export_name(#name)))
#define HANDLER(name) PAUSENET_EXPORT(name) void name(void)

/* Defines pn and flow, and exports the declarations: Starlark's, and window = True if it sets windows. */
#define PAUSENET_CONTROLLER(declarations) \
	static struct pausenet pn; \
	static struct flow flow; \
	PAUSENET_EXPORT(pausenet_abi) int pausenet_abi(void) { return 3; } \
	PAUSENET_EXPORT(pausenet_declare) const char *pausenet_declare(void) { return declarations; } \
	PAUSENET_EXPORT(pausenet_block) struct pausenet *pausenet_block(void) { return &pn; } \
	PAUSENET_EXPORT(pausenet_flow) struct flow *pausenet_flow(void) { return &flow; } \
	PAUSENET_EXPORT(pausenet_flow_size) int pausenet_flow_size(void) { return sizeof flow; }

#endif
