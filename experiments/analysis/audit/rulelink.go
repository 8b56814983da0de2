package audit

// sides returns a setting of both sides of a link, where both are known.
func sides[V comparable](l *Link, port func(*Port) V, host func(*Host) V) (v [2]V, known bool) {
	var zero V
	for side := range 2 {
		if p := l.Ports[side]; p != nil {
			v[side] = port(p)
		} else if h := l.Hosts[side]; h != nil {
			v[side] = host(h)
		}
		if v[side] == zero {
			return v, false
		}
	}
	return v, true
}

// sidePlace returns where a side's setting stands.
func (l *Link) sidePlace(side int, setting string) Place {
	if p := l.Ports[side]; p != nil {
		return p.place(setting)
	}
	if h := l.Hosts[side]; h != nil {
		return h.place(setting)
	}
	return l.Place
}

// differ reports a link whose sides have different values.
func (a *auditor) differ(l *Link, setting, what string, v [2]any, remedy string) {
	a.at(l.sidePlace(0, setting), l.Ports[0], "the ends of %v have different %s", l, what).
		because("%s:%s  %v (%v)", l.Ends[0].Device, l.Ends[0].Port, v[0], l.sidePlace(0, setting)).
		because("%s:%s  %v (%v)", l.Ends[1].Device, l.Ends[1].Port, v[1], l.sidePlace(1, setting)).
		remedy("%s", remedy)
}

// checkMTU compares the MTU of both ends.
func checkMTU(a *auditor) {
	for i := range a.fabric.Links {
		l := &a.fabric.Links[i]
		v, known := sides(l, func(p *Port) int { return p.MTU }, func(h *Host) int { return h.MTU })
		if known && v[0] != v[1] {
			a.differ(l, "mtu", "MTUs: the smaller one drops longer packets", [2]any{v[0], v[1]}, "set the same MTU at both ends")
		}
	}
}

// checkSpeed compares the rates of both ends.
func checkSpeed(a *auditor) {
	for i := range a.fabric.Links {
		l := &a.fabric.Links[i]
		v, known := sides(l, func(p *Port) int64 { return p.Speed }, func(h *Host) int64 { return h.Speed })
		if known && v[0] != v[1] {
			a.differ(l, "speed", "rates in Mb/s: the link does not come up, or not as planned", [2]any{v[0], v[1]},
				"set the same speed at both ends")
		}
	}
}

// checkFEC compares the FEC of both ends.
func checkFEC(a *auditor) {
	for i := range a.fabric.Links {
		l := &a.fabric.Links[i]
		v, known := sides(l, func(p *Port) string { return p.FEC }, func(h *Host) string { return h.FEC })
		if known && v[0] != v[1] && v[0] != "auto" && v[1] != "auto" {
			a.differ(l, "fec", "FEC: the link does not come up", [2]any{v[0], v[1]}, "set the same FEC at both ends")
		}
	}
}

// checkCable compares the lengths that both switches have for a cable.
func checkCable(a *auditor) {
	for i := range a.fabric.Links {
		l := &a.fabric.Links[i]
		x, y := l.Ports[0], l.Ports[1]
		if x == nil || y == nil || x.Metres < 0 || y.Metres < 0 || x.Metres == y.Metres {
			continue
		}
		a.differ(l, "cable", "lengths in metres for one cable, so one end has headroom for a shorter one",
			[2]any{x.Metres, y.Metres},
			"set the cable's true length at both ends")
	}
}

// checkPorts reports cables to ports that do not exist or are down.
func checkPorts(a *auditor) {
	for i := range a.fabric.Links {
		l := &a.fabric.Links[i]
		for side, end := range l.Ends {
			for _, s := range a.fabric.Switches {
				if s.Name != end.Device || len(s.Ports) == 0 {
					continue
				}
				switch p := l.Ports[side]; {
				case p == nil:
					a.at(l.Place, nil, "%s has no port %s, to which a cable from %s:%s leads", s.Name, end.Port, l.Ends[1-side].Device,
						l.Ends[1-side].Port).remedy("correct the cabling, or add the port")
				case !p.Up:
					a.at(p.place("speed"), p, "the port is down, but a cable leads to it").
						because("%v: %v", l.Place, l).remedy("set admin_status to up, or remove the cable")
				}
			}
		}
	}
}

// checkECMP compares the seeds of neighbouring switches that both choose among paths.
func checkECMP(a *auditor) {
	neighbours := map[*Switch]map[*Switch]bool{}
	for i := range a.fabric.Links {
		if x, y := a.fabric.Links[i].Ports[0], a.fabric.Links[i].Ports[1]; x != nil && y != nil && x.Switch != y.Switch {
			for _, pair := range [][2]*Switch{{x.Switch, y.Switch}, {y.Switch, x.Switch}} {
				if neighbours[pair[0]] == nil {
					neighbours[pair[0]] = map[*Switch]bool{}
				}
				neighbours[pair[0]][pair[1]] = true
			}
		}
	}
	for i, s := range a.fabric.Switches {
		for _, o := range a.fabric.Switches[i+1:] {
			if !neighbours[s][o] || s.Seed < 0 || s.Seed != o.Seed || len(neighbours[s]) < 2 || len(neighbours[o]) < 2 {
				continue
			}
			a.at(o.SeedPlace, nil, "%s and its neighbour %s hash with the same seed: flows that %s sends to one port take "+
				"the same port again",
				o.Name, s.Name, s.Name).
				because("%s  seed %d (%v)", s.Name, s.Seed, s.SeedPlace).
				because("%s  seed %d (%v)", o.Name, o.Seed, o.SeedPlace).
				because("both have at least two neighbours to choose from").
				remedy("give each tier a seed of its own (SONiC: DEVICE_METADATA's type, or ecmp_hash_seed in switch.json)")
		}
	}
}

// checkTree compares the scheduler's topology with the cables of devices that both name.
func checkTree(a *auditor) {
	cabled := map[string]map[string]bool{}
	for i := range a.fabric.Links {
		x, y := a.fabric.Links[i].Ends[0].Device, a.fabric.Links[i].Ends[1].Device
		for _, pair := range [][2]string{{x, y}, {y, x}} {
			if cabled[pair[0]] == nil {
				cabled[pair[0]] = map[string]bool{}
			}
			cabled[pair[0]][pair[1]] = true
		}
	}
	for _, of := range a.fabric.Tree {
		if cabled[of.Switch] == nil || cabled[of.Device] == nil || cabled[of.Device][of.Switch] {
			continue
		}
		a.at(of.Place, nil, "%s is below %s for the scheduler, and no cable joins them", of.Device, of.Switch).
			because("%s has cables to %s", of.Device, few(sortedKeys(cabled[of.Device]))).
			because("%s has cables to %s", of.Switch, few(sortedKeys(cabled[of.Switch]))).
			remedy("correct topology.conf, or the cables")
	}
}
