/* DCQCN: cut by a congestion estimate on each CNP, recover by timer and byte counter.
 * Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015, section 3.1; as dcqcn.star. */
#include "pausenet.h"

struct flow {
	double target;                /* R_T; R_C is pn.rate */
	double alpha;
	double alpha_at, increase_at; /* the timers begin with the first CNP */
	double sent, byte_period;     /* line bytes since the last byte event, and until the next */
	double T, BC;                 /* timer and byte events since the last cut */
};

PAUSENET_CONTROLLER(
	"summary = 'DCQCN: cut by a congestion estimate on each CNP, recover by timer and byte counter'\n"
	"source = 'Zhu et al., SIGCOMM 2015, section 3.1, with the constants of its authors\\' ns-3 simulator'\n"
	"needs = ['ECN', 'CNP']\n"
	"params = {\n"
	"    'g': number(1 / 256, min=0, max=1, doc='weight of the newest observation in alpha'),\n"
	"    'initial_alpha': number(1, min=0, max=1, doc='congestion estimate of a new flow'),\n"
	"    'alpha_timer': time('55us', min='1ns', max='1s', doc='time without a CNP after which alpha decays'),\n"
	"    'increase_timer': time('55us', min='1ns', max='1s', doc='time between increases; half in the hyper stage'),\n"
	"    'byte_counter': size('10MB', min='1B', doc='line bytes sent between increases; half in the hyper stage'),\n"
	"    'fast_recovery': integer(5, min=1, doc='F: increases of one kind before additive increase, of both before hyper increase'),\n"
	"    'rai': rate('line/1000', max='line', doc='R_AI: step of the target rate in the additive stage'),\n"
	"    'rhai': rate('line/200', max='line', doc='R_HAI: step in the hyper stage, times the number of hyper increases'),\n"
	"    'min_rate': rate('min(100Mbps, line/400)', min='1bps', max='line', doc='least rate'),\n"
	"    'clamp_target': flag(False, doc='every cut makes the current rate the target (equation 1); False: only a cut after an increase does'),\n"
	"}\n")

enum { G, INITIAL_ALPHA, ALPHA_TIMER, INCREASE_TIMER, BYTE_COUNTER, FAST_RECOVERY, RAI, RHAI, MIN_RATE, CLAMP_TARGET };
#define param(name) pn.params[name]

HANDLER(init) {
	pn.rate = flow.target = pn.line_rate;
	flow.alpha = param(INITIAL_ALPHA);
	flow.alpha_at = flow.increase_at = pn_never;
}

static int hyper(void) { return pn_min(flow.T, flow.BC) >= param(FAST_RECOVERY); }

static void restart(void) {
	flow.alpha_at = pn.now + param(ALPHA_TIMER);
	flow.increase_at = pn.now + param(INCREASE_TIMER);
	flow.sent = flow.T = flow.BC = 0;
	flow.byte_period = param(BYTE_COUNTER);
	pn.timer = pn_min(flow.alpha_at, flow.increase_at);
}

static void increase(void) {
	double F = param(FAST_RECOVERY);
	if (hyper()) /* hyper increase */
		flow.target += (pn_min(flow.T, flow.BC) - F + 1) * param(RHAI);
	else if (pn_max(flow.T, flow.BC) >= F) /* additive increase */
		flow.target += param(RAI);
	flow.target = pn_min(flow.target, pn.line_rate);
	pn.rate = (pn.rate + flow.target) / 2; /* and fast recovery */
}

/* As if the flow had converged: alpha^2 = 2 R_AI / R, in the additive stage. */
HANDLER(preset) {
	pn.rate = flow.target = pn_clamp(pn.start_rate, param(MIN_RATE), pn.line_rate);
	flow.alpha = pn_min(param(INITIAL_ALPHA), pn_sqrt(2 * param(RAI) / pn.rate));
	restart();
	flow.T = param(FAST_RECOVERY);
}

HANDLER(on_cnp) {
	if (pn.ue && !pn.ce)
		return;
	if (param(CLAMP_TARGET) || flow.T > 0 || flow.BC > 0)
		flow.target = pn.rate;
	flow.alpha = (1 - param(G)) * flow.alpha + param(G);
	pn.rate = pn_max(param(MIN_RATE), pn.rate * (1 - flow.alpha / 2));
	restart();
}

HANDLER(on_sent) {
	if (flow.increase_at == pn_never)
		return;
	flow.sent += pn.payload + (pn.line_mtu - pn.mtu);
	if (flow.sent < flow.byte_period)
		return;
	flow.BC += 1;
	increase();
	flow.sent = 0;
	flow.byte_period = hyper() ? pn_floor(param(BYTE_COUNTER) / 2) : param(BYTE_COUNTER);
}

HANDLER(on_timer) {
	double at = pn_min(flow.alpha_at, flow.increase_at);
	while (at <= pn.now) {
		if (flow.alpha_at == at) {
			flow.alpha *= 1 - param(G);
			flow.alpha_at = at + param(ALPHA_TIMER);
		}
		if (flow.increase_at == at) {
			flow.T += 1;
			increase();
			flow.increase_at = at + (hyper() ? pn_floor(param(INCREASE_TIMER) / 2) : param(INCREASE_TIMER));
		}
		at = pn_min(flow.alpha_at, flow.increase_at);
	}
	pn.timer = at;
}
