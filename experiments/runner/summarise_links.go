package runner

import "github.com/pausenet/pausenet/experiments/measure"

// links returns all links, by port.
func (r *runner) links() []measure.Link {
	plan, now := r.Scenario.Topology, r.engine.Now()
	all := make([]measure.Link, len(plan.Ports))
	for i := range plan.Ports {
		p := &plan.Ports[i]
		node, peer, w := &plan.Nodes[p.Node], plan.PeerNode(p.ID), &r.recorder.congestion.ports[i]
		l := measure.Link{
			Node: node.Name, Port: p.Name, Peer: peer.Name, RateBPS: int64(p.Rate), TxFrames: r.engine.TxFrames(i),
			PeakQueue: w.peak, CongestedNS: w.congested.within(now).RoundNanoseconds(),
		}
		for priority := range uint8(classes) {
			l.TxBytes += r.engine.TxBytes(i, priority)
		}
		if now > 0 {
			l.Utilisation = r.engine.BusyTime(i).Seconds() / now.Seconds()
		}
		if by := r.recorder.pfc.byPort[int(p.Peer)]; by != nil {
			l.Pauses, l.Resumes, l.PausedNS = by.pauses, by.resumes, by.pausedTime(now).RoundNanoseconds()
			l.PauseRate = float64(by.pauses) / now.Seconds()
		}
		if r.byCredits() {
			l.PausedNS = r.stalled(i)
		}
		all[i] = l
	}
	return all
}
