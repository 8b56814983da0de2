package audit

import "cmp"

// checkWatchdog reports lossless ports without a watchdog.
func checkWatchdog(a *auditor) {
	for _, s := range a.fabric.Switches {
		for _, p := range s.active() {
			if p.Watchdog == nil && s.Whole {
				a.at(p.place("pfc"), p, "the port has PFC, but no watchdog: a NIC that pauses forever stops the fabric").
					because("pfc_enable: %v", p.PFC).because("PFC_WD has no row for it").
					remedy("add the port to PFC_WD (SONiC: config pfcwd start --action drop)")
			}
		}
	}
}

// checkWatchdogTime compares the watchdog's detection time with the longest pause that occurs without a malfunction,
// and with the polling interval and the restoration time.
func checkWatchdogTime(a *auditor) {
	for _, s := range a.fabric.Switches {
		slowest, size := int64(0), int64(0)
		for _, p := range s.active() {
			if p.Speed > 0 && (slowest == 0 || p.Speed < slowest) {
				slowest = p.Speed
			}
			for _, of := range p.Groups {
				if of == nil {
					continue
				}
				if pool := s.pool(of); pool != nil {
					size = max(size, pool.Size)
				}
			}
		}
		for _, p := range s.active() {
			w := p.Watchdog
			if w == nil || w.Detect < 0 {
				continue
			}
			if slowest > 0 && size > 0 {
				// The pool's bytes at the slowest port's rate; 1 Mb/s is 125 B in a millisecond.
				if drain := size/(slowest*125) + 1; int64(w.Detect) < drain {
					a.at(w.Place, p, "the watchdog drops after %d ms, and a full buffer pauses its senders for up to %d ms", w.Detect,
						drain).
						because("%9d B     largest lossless pool", size).
						because("%9d Mb/s  slowest lossless port", slowest).
						because("%9d ms    to drain the pool through that port", drain).
						because("%9d ms    detection_time", w.Detect).
						remedy("set detection_time to %d ms or more (SONiC's default is 200 ms)", max(200, 2*drain)).
						shows(watchdogScenario(p.Speed, w.Detect, w.Restore, size))
				}
			}
			if poll := cmp.Or(w.Poll, s.Poll); poll > w.Detect {
				f := a.at(w.Place, p, "the watchdog polls less often than it should detect").
					because("%9d ms  POLL_INTERVAL", poll).because("%9d ms  detection_time", w.Detect).
					remedy("set POLL_INTERVAL to %d or less", w.Detect)
				f.Severity = Warning
			}
			if w.Restore >= 0 && w.Restore < w.Detect {
				f := a.at(w.Place, p, "the watchdog restores a queue before it could detect that the storm continues").
					because("%9d ms  detection_time", w.Detect).because("%9d ms  restoration_time", w.Restore).
					remedy("set restoration_time to %d or more", w.Detect)
				f.Severity = Warning
			}
		}
	}
}
