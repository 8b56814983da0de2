/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* PCN's non-PAUSE ECN (PCN, NSDI'20, section 4.1; its authors' simulator): a packet that waited because the port was paused
 * says nothing about congestion here. */
#ifndef PAUSENET_PCN_H
#define PAUSENET_PCN_H

/* Whether a packet that leaves now is marked: never if it was in the queue when a pause ended, else if it leaves anything
 * behind. How many were, is known from the first that leaves after the pause: itself and what it left behind. A port whose
 * pause ends sends at once, so that nothing has joined the queue by then; unless it was about to send another priority's
 * packet, and then what came in during that one packet is spared too. */
static __always_inline int np_ecn_marks(const struct pass *x, struct detector *d)
{
	if (x->on_since != d->on_seen) {
		d->on_seen = x->on_since;
		d->waited = x->queue_packets + 1;
	}
	if (d->waited) {
		d->waited--;
		return 0;
	}
	return x->queue_bytes > 0;
}

#endif
