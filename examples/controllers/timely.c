/* TIMELY: once per RTT, a rising RTT cuts the rate and a falling or small one raises it.
 * Mittal et al., "TIMELY: RTT-based Congestion Control for the Datacenter", SIGCOMM 2015, algorithm 1; as timely.star. */
#include "pausenet.h"

struct flow {
	double rtt_diff;  /* smoothed difference of successive RTTs */
	double prev_rtt;
	double increases; /* in a row */
	double update_at; /* an ACK beyond this sequence number ends the RTT; below 0: none has come */
};

PAUSENET_CONTROLLER(
	"summary = 'TIMELY: once per RTT, a rising RTT cuts the rate and a falling or small one raises it'\n"
	"source = 'Mittal et al., SIGCOMM 2015, algorithm 1'\n"
	"needs = ['ACK', 'timestamps']\n"
	"params = {\n"
	"    't_low': time('50us', max='10s', doc='RTT below which the rate rises whatever the gradient'),\n"
	"    't_high': time('500us', max='10s', doc='RTT above which the rate falls whatever the gradient'),\n"
	"    'min_rtt': time('20us', min='1ns', max='10s', doc='what differences of RTTs are divided by to make the gradient'),\n"
	"    'alpha': number(0.875, min=0, max=1, doc='weight of the newest difference of RTTs'),\n"
	"    'beta': number(0.8, min=0, max=1, doc='cut per gradient, and per relative excess of the RTT over t_high'),\n"
	"    'ai': rate('line/1000', max='line', doc='step of an increase'),\n"
	"    'hai': rate('line/200', max='line', doc='step of an increase after hai_after of them in a row'),\n"
	"    'hai_after': integer(5, min=0, doc='N: increases in a row that take ai before hai'),\n"
	"    'min_rate': rate('min(1Gbps, line/25)', min='1bps', max='line', doc='least rate'),\n"
	"}\n")

enum { T_LOW, T_HIGH, MIN_RTT, ALPHA, BETA, AI, HAI, HAI_AFTER, MIN_RATE };
#define param(name) pn.params[name]

HANDLER(init) {
	pn.rate = pn.line_rate;
	flow.update_at = -1;
}

HANDLER(preset) { pn.rate = pn_clamp(pn.start_rate, param(MIN_RATE), pn.line_rate); }

static void increase(void) {
	double step = flow.increases >= param(HAI_AFTER) ? param(HAI) : param(AI);
	flow.increases += 1;
	pn.rate = pn_min(pn.line_rate, pn.rate + step);
}

static void decrease(double factor) {
	flow.increases = 0;
	pn.rate = pn_max(param(MIN_RATE), pn.rate * factor);
}

static void update(double new_rtt) {
	double new_rtt_diff = new_rtt - flow.prev_rtt;
	flow.rtt_diff = (1 - param(ALPHA)) * flow.rtt_diff + param(ALPHA) * new_rtt_diff;
	double gradient = flow.rtt_diff / param(MIN_RTT);
	if (new_rtt < param(T_LOW))
		increase();
	else if (new_rtt > param(T_HIGH))
		decrease(1 - param(BETA) * (1 - param(T_HIGH) / new_rtt));
	else if (gradient <= 0)
		increase();
	else
		decrease(1 - param(BETA) * gradient);
}

HANDLER(on_ack) {
	if (pn.rtt == 0 || pn.ack_sequence <= flow.update_at)
		return;
	if (flow.update_at >= 0)
		update(pn.rtt);
	flow.prev_rtt = pn.rtt;
	flow.update_at = pn.next_send;
}
