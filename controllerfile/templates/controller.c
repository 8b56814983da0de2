/* NAME: a congestion control in C. docs/controllers-from-files.md and pausenet.h describe the interface.
 *
 * All numbers are doubles: rates in bits per second, times in picoseconds, sizes in bytes. pn has the inputs of a call
 * and the outputs. Keep all state in flow: no other variable may change. */
#include "pausenet.h"

struct flow {
	double marked;   /* was any packet of this RTT marked? */
	double rtt_ends; /* an ACK beyond this sequence number ends the RTT */
};

/* Needs: what switches and receivers must do. Parameters: --set cc.NAME.wasm.gain=0.2 */
PAUSENET_CONTROLLER(
	"summary = 'NAME: cuts the rate after marks, raises it after an RTT without'\n"
	"needs = ['ECN', 'ACK']\n"
	"params = {\n"
	"    'gain': number(0.3, min=0, max=1, doc='share of the rate to cut after an RTT with marks'),\n"
	"    'step': rate('line/100', min='1bps', max='line', doc='added to the rate after an RTT without marks'),\n"
	"    'min_rate': rate('line/400', min='1bps', max='line', doc='minimum rate'),\n"
	"}\n")

enum { GAIN, STEP, MIN_RATE }; /* the parameters, in that order */

/* Called when a flow starts. */
HANDLER(init) { pn.rate = pn.line_rate; }

/* Called on each ACK. Other functions: on_cnp, on_cnm, on_nak, on_timeout, on_timer (at pn.timer), on_sent. */
HANDLER(on_ack) {
	if (pn.ce)
		flow.marked = 1;
	if (pn.ack_sequence <= flow.rtt_ends)
		return;
	/* Once per RTT. pn.rtt is the RTT of this packet. */
	if (flow.marked)
		pn.rate = pn_max(pn.params[MIN_RATE], pn.rate * (1 - pn.params[GAIN]));
	else
		pn.rate = pn_min(pn.line_rate, pn.rate + pn.params[STEP]);
	flow.marked = 0;
	flow.rtt_ends = pn.next_send;
}
