/* NAME: a congestion control in C. docs/controllers-from-files.md and pausenet.h describe the interface.
 *
 * All numbers are doubles: rates in bits per second, times in picoseconds, sizes in bytes. pn has what is told and what the flow wants,
 * flow is what the flow keeps: state is there, and in no other variable. */
#include "pausenet.h"

struct flow {
	double marked;   /* was any packet of this RTT marked? */
	double rtt_ends; /* an ACK beyond this sequence number ends the RTT */
};

/* What switches and receivers are to do, and what users may set: --set cc.NAME.wasm.gain=0.2 */
PAUSENET_CONTROLLER(
	"summary = 'NAME: less rate when packets are marked, more when they are not'\n"
	"needs = ['ECN', 'ACK']\n"
	"params = {\n"
	"    'gain': number(0.3, min=0, max=1, doc='what a marked RTT takes of the rate'),\n"
	"    'step': rate('line/100', min='1bps', max='line', doc='what an RTT without a mark adds to it'),\n"
	"    'min_rate': rate('line/400', min='1bps', max='line', doc='least rate'),\n"
	"}\n")

enum { GAIN, STEP, MIN_RATE }; /* the parameters, in that order */

/* A flow starts. */
HANDLER(init) { pn.rate = pn.line_rate; }

/* A packet has been acknowledged. Others to be told of: on_cnp, on_cnm, on_nak, on_timeout, on_timer (at pn.timer), on_sent. */
HANDLER(on_ack) {
	if (pn.ce)
		flow.marked = 1;
	if (pn.ack_sequence <= flow.rtt_ends)
		return;
	/* Once an RTT: pn.rtt is how long this packet and its ACK took. */
	if (flow.marked)
		pn.rate = pn_max(pn.params[MIN_RATE], pn.rate * (1 - pn.params[GAIN]));
	else
		pn.rate = pn_min(pn.line_rate, pn.rate + pn.params[STEP]);
	flow.marked = 0;
	flow.rtt_ends = pn.next_send;
}
