package audit

// pfcOf returns the priorities with PFC at a side of a link; ok is false if they are unknown.
func (l *Link) pfcOf(side int) (p Priorities, at Place, ok bool) {
	if port := l.Ports[side]; port != nil && (port.QoS || port.Switch.Stated) {
		return port.PFC, port.place("pfc"), true
	}
	if h := l.Hosts[side]; h != nil && h.HasPFC {
		return h.PFC, h.place("pfc"), true
	}
	return 0, Place{}, false
}

// speedOf returns the rate of a side in Mb/s; 0: unknown.
func (l *Link) speedOf(side int) int64 {
	if p := l.Ports[side]; p != nil {
		return p.Speed
	}
	if h := l.Hosts[side]; h != nil {
		return h.Speed
	}
	return 0
}

// checkEnds compares PFC at both ends of each link.
func checkEnds(a *auditor) {
	for i := range a.fabric.Links {
		l := &a.fabric.Links[i]
		x, atX, okX := l.pfcOf(0)
		y, atY, okY := l.pfcOf(1)
		if !okX || !okY || x == y {
			continue
		}
		at, port := atX, l.Ports[0]
		if y&^x == 0 { // the other end lacks some
			at, port = atY, l.Ports[1]
		}
		a.at(at, port, "the ends of %v have PFC on different priorities", l).
			because("%s:%s  %v (%v)", l.Ends[0].Device, l.Ends[0].Port, x, atX).
			because("%s:%s  %v (%v)", l.Ends[1].Device, l.Ends[1].Port, y, atY).
			remedy("enable the same priorities at both ends: %v", x|y).
			shows(lossyScenario(max(l.speedOf(0), l.speedOf(1)), "one end ignores or never sends PAUSE for the class"))
	}
}
