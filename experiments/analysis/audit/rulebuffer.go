package audit

import "slices"

// checkProfiles compares the priorities with PFC with the groups that have lossless profiles.
func checkProfiles(a *auditor) {
	for _, s := range a.fabric.Switches {
		if len(s.Pools) == 0 && len(s.Lookup) == 0 {
			continue // no file about buffers
		}
		made := len(s.Lookup) > 0 // profiles exist, or are made
		for _, p := range s.Ports {
			made = made || slices.ContainsFunc(p.Groups[:], func(of *Profile) bool { return of != nil })
		}
		for _, p := range s.Ports {
			if !p.Up || !p.QoS {
				continue
			}
			lossless := Priorities(0)
			for _, n := range p.PFC.All() {
				lossless |= 1 << p.PFCToPG[n]
			}
			for g := range 8 {
				switch of := p.Groups[g]; {
				case lossless.Has(g) && of == nil && !made:
					f := a.at(p.place("pfc"), p, "the files have no lossless buffer profile: headroom is not checked").
						because("pfc_enable: %v", p.PFC).because("BUFFER_PG: no profile with xoff").
						remedy("add the platform's pg_profile_lookup.ini, from which SONiC makes the profiles")
					f.Severity = Note
				case lossless.Has(g) && of == nil:
					f := a.at(p.place("pfc"), p, "priority group %d has PFC, but no lossless buffer profile", g).
						because("pfc_enable: %v", p.PFC).
						because("BUFFER_PG: no lossless profile for group %d", g).
						remedy("give the group a profile with xoff in BUFFER_PG, or a row for %d Mb/s and %d m in pg_profile_lookup.ini",
							p.Speed, p.Metres)
					f.shows(lossyScenario(p.Speed, "the class has no headroom, so its frames are dropped as in a lossy class"))
				case of != nil && !lossless.Has(g) && (p.NoPGMap || !slices.Contains(p.TCToPG[:], g)):
					f := a.at(p.place("pfc"), p, "priority group %d has the lossless profile %s, but neither PFC nor packets", g,
						of.Name).
						because("pfc_enable: %v", p.PFC).
						because("%s: lossless profile of group %d", of.Place, g).
						because("tc_to_pg_map leads no traffic class to the group, or no file has the map").
						remedy("remove the profile: it takes headroom from other ports")
					f.Severity = Warning
				case of != nil && !lossless.Has(g):
					a.at(p.place("pfc"), p, "priority group %d has the lossless profile %s, but no priority with PFC", g, of.Name).
						because("pfc_enable: %v", p.PFC).
						because("%s: lossless profile of group %d", of.Place, g).
						remedy("add the priority to pfc_enable, or give the group a lossy profile").
						shows(lossyScenario(p.Speed, "PAUSE is never sent for the class, so a full buffer drops its frames"))
				}
			}
		}
	}
}

// leastFrames is the number of full frames that a group's threshold must hold with all groups congested.
const leastFrames = 2

// checkThresholds compares XOFF, XON and alpha with the buffer.
func checkThresholds(a *auditor) {
	for _, s := range a.fabric.Switches {
		groups, static := 0, map[*Pool]int64{}
		for _, p := range s.active() {
			for _, n := range p.PFC.All() {
				if of := p.Groups[p.PFCToPG[n]]; of != nil {
					groups++
					static[s.pool(of)] += of.Static
				}
			}
		}
		for _, p := range s.active() {
			for _, n := range p.PFC.All() {
				of := p.Groups[p.PFCToPG[n]]
				if of == nil {
					continue
				}
				pool := s.pool(of)
				if of.Static > 0 && of.Offset < 0 && of.XON >= of.Static {
					a.at(of.Place, p, "profile %s resumes above the threshold at which it pauses", of.Name).
						because("%9d B  XOFF (static_th)", of.Static).because("%9d B  XON", of.XON).
						remedy("set xon below static_th")
				}
				if pool == nil || pool.Size == 0 {
					continue
				}
				if of.Static > 0 && static[pool] > pool.Size {
					a.at(of.Place, p, "the static thresholds of all groups exceed pool %s", pool.Name).
						because("%9d B  thresholds of all lossless groups", static[pool]).because("%9d B  %s", pool.Size, pool.Name).
						remedy("lower static_th, or use dynamic_th")
				}
				longest := int64(max(p.MTU, a.assume.LosslessMTU) + headers)
				if xoff, ok := of.threshold(pool, groups); ok && xoff < leastFrames*longest {
					a.at(of.Place, p, "with all groups congested, profile %s pauses before %d frames", of.Name, leastFrames).
						because("%9d B  %s", pool.Size, pool.Name).
						because("%9d    lossless groups, with alpha %g", groups, of.Alpha).
						because("%9d B  XOFF = alpha * pool / (1 + alpha * groups)", xoff).
						because("%9d B  %d frames of %d B", leastFrames*longest, leastFrames, longest).
						remedy("raise dynamic_th, or the pool's size")
				}
				if xoff, ok := of.threshold(pool, 1); ok && of.Offset >= 0 && of.Offset >= xoff && xoff > 0 {
					a.at(of.Place, p, "profile %s resumes only when its group is empty: xon_offset is above XOFF", of.Name).
						because("%9d B  XOFF of one congested group", xoff).because("%9d B  xon_offset", of.Offset).
						remedy("set xon_offset below XOFF")
				}
			}
		}
	}
}

// checkUnread reports statements that may change what other rules find, and that no reader understands.
func checkUnread(a *auditor) {
	for _, s := range a.fabric.Switches {
		for _, at := range s.Unread {
			a.at(at, nil, "%s is not read", at.Key).because("other rules ignore the statement").
				remedy("check by hand what it changes, or leave it out of the audited file")
		}
	}
}

// checkReferences reports references to rows that do not exist.
func checkReferences(a *auditor) {
	for _, s := range a.fabric.Switches {
		for _, m := range s.Missing {
			a.at(m.Place, nil, "no row %s in %s", m.Name, m.Table).because("%s names %s|%s", m.Place.Key, m.Table, m.Name).
				remedy("add the row, or name another")
		}
	}
}
