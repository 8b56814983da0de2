package audit

import (
	"cmp"

	"github.com/pausenet/pausenet/units"
)

// losslessQueues calls each for the egress queues of a port's lossless classes, once per queue.
func losslessQueues(p *Port, each func(priority, queue int)) {
	seen := map[int]bool{}
	for _, n := range p.PFC.All() {
		for tc := range p.TCToPG {
			if q := p.TCToQueue[tc]; p.TCToPG[tc] == p.PFCToPG[n] && q < 8 && !seen[q] {
				seen[q] = true
				each(n, q)
			}
		}
	}
}

// checkECN compares the marking thresholds of lossless queues with XOFF of the ingress groups that fill them.
func checkECN(a *auditor) {
	for _, s := range a.fabric.Switches {
		for _, p := range s.active() {
			losslessQueues(p, func(n, q int) {
				of, w := p.Groups[p.PFCToPG[n]], p.Queues[q].WRED
				if w == nil || !w.ECN {
					return
				}
				var pool *Pool
				var xoff int64
				if of != nil {
					pool = s.pool(of)
					xoff, _ = of.threshold(pool, 1)
				}
				if xoff == 0 { // unknown: only the thresholds' order can be judged
					if w.KMax > 0 && w.KMax < w.KMin {
						a.at(w.Place, p, "green_max_threshold is below green_min_threshold").
							because("%9d %s  green_min_threshold of queue %d", w.KMin, cmp.Or(w.Unit, "B"), q).
							because("%9d %s  green_max_threshold", w.KMax, cmp.Or(w.Unit, "B")).remedy("swap the thresholds")
					}
					return
				}
				evidence := func(f *Finding) {
					if of.Static == 0 {
						f.because("%9d B  %s, alpha %g", pool.Size, pool.Name, of.Alpha)
					}
					f.because("%9d B  XOFF of one congested group at %v", xoff, units.Rate(p.Speed)*1_000_000).
						because("%9d B  green_min_threshold of %s", w.KMin, w.Name).
						because("%9d B  green_max_threshold", w.KMax).
						because("a queue that one ingress group fills marks from the minimum on, and its sender is paused at XOFF")
				}
				switch {
				case w.KMin >= xoff:
					f := a.at(w.Place, p, "queue %d is paused before it marks: congestion control never acts", q)
					evidence(f)
					f.remedy("set green_min_threshold below %d", xoff).shows(ecnScenario(p.Speed, w.KMin, w.KMax, w.PMax, xoff))
				case w.KMax > xoff:
					f := a.at(w.Place, p, "queue %d is paused before it marks all packets", q)
					f.Severity = Warning
					evidence(f)
					f.remedy("set green_max_threshold to %d or less", xoff)
				case w.KMax < w.KMin:
					f := a.at(w.Place, p, "green_max_threshold is below green_min_threshold")
					evidence(f)
					f.remedy("swap the thresholds")
				}
			})
		}
	}
}

// checkWRED checks that lossless queues have a WRED profile that marks.
func checkWRED(a *auditor) {
	for _, s := range a.fabric.Switches {
		for _, p := range s.active() {
			losslessQueues(p, func(n, q int) {
				switch of := &p.Queues[q]; {
				case of.WRED == nil && of.Place.File == "":
					if len(s.queues()) == 0 {
						return // no file about queues
					}
					fallthrough
				case of.WRED == nil:
					at := of.Place
					if at.File == "" {
						at = p.place("queue")
					}
					a.at(at, p, "queue %d of lossless priority %d has no WRED profile, so nothing marks", q, n).
						because("tc_to_queue_map leads priority %d to queue %d", n, q).
						because("QUEUE|%s|%d: no wred_profile", p.Name, q).
						remedy("give the queue a WRED profile with ecn_all")
				case !of.WRED.ECN && !of.WRED.Unknown:
					f := a.at(of.WRED.Place, p, "WRED profile %s of lossless queue %d drops packets instead of marking them",
						of.WRED.Name, q)
					f.because("ecn is not ecn_all or ecn_green").because("queue %d has lossless priority %d", q, n).
						remedy("set ecn to ecn_all")
					f.Severity = Error
				}
			})
		}
	}
}

// queues returns the ports' queues that a file describes.
func (s *Switch) queues() (all []*Queue) {
	for _, p := range s.Ports {
		for q := range p.Queues {
			if p.Queues[q].Place.File != "" {
				all = append(all, &p.Queues[q])
			}
		}
	}
	return all
}
