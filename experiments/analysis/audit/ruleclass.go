package audit

import (
	"fmt"
	"maps"
	"slices"
)

// usualDSCP is the DSCP that RoCE uses by the manuals of most NICs, if no file tells another.
const usualDSCP = 26

// dscps returns the DSCPs of data, each with who sends it: those of the hosts' cma_roce_tos or, if no file tells,
// 26.
func (a *auditor) dscps() (all []int, by map[int]string) {
	by = map[int]string{}
	for _, h := range a.fabric.Hosts {
		if d, ok := h.dscp(); ok && by[d] == "" {
			by[d] = fmt.Sprintf("%s sends with ToS %d, DSCP %d (%v)", h.Label(), h.ToS, d, h.place("tos"))
			all = append(all, d)
		}
	}
	if len(all) == 0 {
		by[usualDSCP] = fmt.Sprintf("DSCP %d, the usual one of RoCE (no cma_roce_tos among the files)", usualDSCP)
		all = append(all, usualDSCP)
	}
	slices.Sort(all)
	return all, by
}

// landing holds where packets of a DSCP land at a port.
type landing struct {
	tc, group, queue, priority int // priority: of PFC; -1: none
	lossless                   bool
}

// land follows a DSCP through a port's maps.
func (p *Port) land(dscp int) landing {
	l := landing{tc: p.DSCP[dscp], priority: -1}
	l.group, l.queue = p.TCToPG[l.tc], p.TCToQueue[l.tc]
	for _, n := range p.PFC.All() {
		if p.PFCToPG[n] == l.group && l.priority < 0 {
			l.priority = n
		}
	}
	l.lossless = l.priority >= 0
	return l
}

// String describes a landing.
func (l *landing) String() string {
	end := "no PFC: lossy"
	if l.lossless {
		end = fmt.Sprintf("PFC priority %d: lossless", l.priority)
	}
	return fmt.Sprintf("TC %d -> priority group %d, queue %d -> %s", l.tc, l.group, l.queue, end)
}

// path describes a landing at a port.
func (l *landing) path(p *Port, dscp int) string {
	return fmt.Sprintf("%s  DSCP %d -> %v", p.Label(), dscp, l)
}

// landings returns where data's DSCPs land at each device.
func (a *auditor) landings() (all []Landing) {
	dscps, _ := a.dscps()
	for _, dscp := range dscps {
		add := func(device, path string) {
			i := slices.IndexFunc(all, func(l Landing) bool { return l.DSCP == dscp && l.Path == path })
			if i < 0 {
				i = len(all)
				all = append(all, Landing{DSCP: dscp, Path: path})
			}
			all[i].Devices = append(all[i].Devices, device)
		}
		for _, h := range a.fabric.Hosts {
			if n := h.Prio[dscp]; h.HasPrio && h.HasPFC && h.PFC.Has(n) {
				add(h.Label(), fmt.Sprintf("priority %d, with PFC: lossless", n))
			} else if h.HasPrio && h.HasPFC {
				add(h.Label(), fmt.Sprintf("priority %d, without PFC: lossy", n))
			}
		}
		for _, s := range a.fabric.Switches {
			for _, p := range s.Ports {
				if classed(p) {
					l := p.land(dscp)
					add(p.Label(), l.String())
				}
			}
		}
	}
	return all
}

// classed reports whether a port takes part in the fabric's lossless classes.
func classed(p *Port) bool { return p.Up && p.QoS && p.Trusted && !p.Unmapped }

// checkClass follows the DSCPs of data through NICs and switches.
func checkClass(a *auditor) {
	all, by := a.dscps()
	for _, dscp := range all {
		// The class is lossless by what most ports have, so that one wrong port is the one that is reported.
		count := map[int]int{}
		for _, s := range a.fabric.Switches {
			for _, p := range s.Ports {
				if classed(p) {
					count[p.land(dscp).priority]++
				}
			}
		}
		for _, h := range a.fabric.Hosts {
			if h.HasPrio && h.HasPFC {
				if n := h.Prio[dscp]; h.PFC.Has(n) {
					count[n]++
				} else {
					count[-1]++
				}
			}
		}
		usual, most := -1, 0
		for n := -1; n < 8; n++ {
			if count[n] > most {
				usual, most = n, count[n]
			}
		}
		if usual < 0 && len(a.senders(dscp)) > 0 {
			a.lossyClass(dscp, by[dscp])
			continue
		}
		a.hostClass(dscp, usual, by[dscp])
		for _, s := range a.fabric.Switches {
			for _, p := range s.Ports {
				if classed(p) {
					a.portClass(p, dscp, usual, by[dscp])
				}
			}
		}
	}
}

// told reports whether a file tells the DSCP of a host's data.
func (a *auditor) told() bool {
	return slices.ContainsFunc(a.fabric.Hosts, func(h *Host) bool { return h.ToS >= 0 })
}

// senders returns the hosts that send data with a DSCP.
func (a *auditor) senders(dscp int) (all []*Host) {
	for _, h := range a.fabric.Hosts {
		if d, ok := h.dscp(); ok && d == dscp {
			all = append(all, h)
		}
	}
	return all
}

// lossyClass reports the hosts whose data is in a class that is lossy almost everywhere.
func (a *auditor) lossyClass(dscp int, by string) {
	for _, h := range a.senders(dscp) {
		f := a.at(h.place("tos"), nil, "%s sends RDMA with DSCP %d, which is lossy in the fabric", h.Label(),
			dscp).because("%s", by)
		if h.HasPrio {
			f.because("%s  DSCP %d -> priority %d, PFC on %v (%v)", h.Label(), dscp, h.Prio[dscp], h.PFC, h.place("dscp"))
		}
		for _, s := range a.fabric.Switches {
			for _, p := range s.active() {
				if classed(p) && len(f.Evidence) < 4 {
					l := p.land(dscp)
					f.because("%s", l.path(p, dscp))
				}
			}
		}
		f.remedy("set cma_roce_tos to the lossless class's DSCP times 4 (104 for DSCP 26), or map DSCP %d to a lossless "+
			"class everywhere", dscp).
			shows(lossyScenario(h.Speed, "packets of the class land in lossy queues"))
	}
}

// hostClass checks a DSCP of data at the NICs.
func (a *auditor) hostClass(dscp, usual int, by string) {
	for _, h := range a.fabric.Hosts {
		if d, ok := h.dscp(); ok && d != dscp || !h.HasPrio {
			continue
		}
		n := h.Prio[dscp]
		if h.HasPFC && !h.PFC.Has(n) {
			a.at(h.place("dscp"), nil, "%s sends DSCP %d in priority %d, which has no PFC: its packets are not paused",
				h.Label(), dscp, n).
				because("%s", by).
				because("%s  DSCP %d -> priority %d (%v)", h.Label(), dscp, n, h.place("dscp")).
				because("%s  PFC on %v (%v)", h.Label(), h.PFC, h.place("pfc")).
				remedy("map DSCP %d to a priority with PFC (mlnx_qos --dscp2prio=set,%d,PRIO), or correct cma_roce_tos", dscp,
					dscp).
				shows(lossyScenario(h.Speed, "the NIC does not obey PAUSE for the class"))
		} else if usual >= 0 && n != usual {
			a.at(h.place("dscp"), nil, "%s has DSCP %d in priority %d, and the fabric in priority %d", h.Label(), dscp, n,
				usual).
				because("%s", by).
				because("%s  DSCP %d -> priority %d (%v)", h.Label(), dscp, n, h.place("dscp")).
				because("most other devices: priority %d", usual).
				remedy("map DSCP %d to priority %d", dscp, usual).
				shows(lossyScenario(h.Speed, "PAUSE of one priority does not stop packets of the other"))
		}
	}
}

// portClass checks a DSCP of data at a port.
func (a *auditor) portClass(p *Port, dscp, usual int, by string) {
	l := p.land(dscp)
	evidence := func(f *Finding) *Finding { return f.because("%s", by).because("%s", l.path(p, dscp)) }
	setting := "dscp"
	if usual >= 0 && l.tc == usual { // the first map is right
		setting = "pg"
		if l.group == p.PFCToPG[usual] {
			setting = "pfc"
		}
	}
	lossless := 0
	for _, s := range a.fabric.Switches {
		lossless += len(s.active())
	}
	switch {
	case !l.lossless && lossless > 0:
		f := evidence(a.at(p.place(setting), p, "packets with DSCP %d land in TC %d, which is lossy here", dscp, l.tc)).
			remedy("map DSCP %d to a TC whose priority group has PFC", dscp).
			shows(lossyScenario(p.Speed, "packets of the class land in a lossy queue"))
		if usual < 0 && !a.told() { // 26 is a guess
			f.Severity = Note
		}
		return
	case l.lossless && usual >= 0 && l.priority != usual:
		evidence(a.at(p.place(setting), p, "packets with DSCP %d are in priority %d here, and in %d elsewhere", dscp,
			l.priority, usual)).
			remedy("use the same maps on all ports").
			shows(lossyScenario(p.Speed, "PAUSE of one priority does not stop packets of the other"))
		return
	}
	if l.lossless && p.PFCQueue[l.priority] != l.queue {
		evidence(a.at(p.place("queue"), p, "PAUSE of priority %d stops queue %d, and its packets are in queue %d", l.priority,
			p.PFCQueue[l.priority], l.queue)).
			because("pfc_to_queue_map: priority %d -> queue %d", l.priority, p.PFCQueue[l.priority]).
			remedy("make tc_to_queue_map and pfc_to_queue_map agree").
			shows(lossyScenario(p.Speed, "PAUSE stops another queue"))
	}
}

// checkTrust checks that both ends of a cable classify by DSCP.
func checkTrust(a *auditor) {
	for _, h := range a.fabric.Hosts {
		if h.Trust != "" && h.Trust != "dscp" {
			a.at(h.place("trust"), nil, "%s trusts %s, so its routed, untagged packets are all in the default priority",
				h.Label(), h.Trust).
				because("Priority trust state: %s", h.Trust).
				remedy("mlnx_qos -i INTERFACE --trust=dscp").
				shows(lossyScenario(h.Speed, "all packets are in the default, lossy priority"))
		}
		if d, ok := h.dscp(); ok && d == 0 && h.PFC != 0 {
			a.at(h.place("tos"), nil, "%s sends RDMA with ToS %d, the default class", h.Label(), h.ToS).
				because("DSCP = ToS / 4 = 0").remedy("set cma_roce_tos to the lossless class's DSCP times 4, such as 104 for " +
				"DSCP 26")
		}
	}
	for _, s := range a.fabric.Switches {
		for _, p := range s.active() {
			if p.QoS && !p.Trusted {
				a.at(p.place("dscp"), p, "the port has PFC, but no dscp_to_tc_map: all packets are in the default class").
					because("PORT_QOS_MAP|%s has no dscp_to_tc_map", p.Name).remedy("set dscp_to_tc_map").
					shows(lossyScenario(p.Speed, "all packets are in the default, lossy class"))
			}
		}
	}
}

// checkCNP checks the class of CNPs.
func checkCNP(a *auditor) {
	all, _ := a.dscps()
	cnps := map[int]*Host{}
	for _, h := range a.fabric.Hosts {
		if h.CNPDSCP >= 0 && cnps[h.CNPDSCP] == nil {
			cnps[h.CNPDSCP] = h
		}
		if h.CNPDSCP >= 0 && h.CNPPrio >= 0 && h.HasPrio && h.Trust == "dscp" && h.Prio[h.CNPDSCP] != h.CNPPrio {
			a.at(h.place("cnp_802p_prio"), nil, "%s has CNPs in priority %d by cnp_802p_prio, and in %d by DSCP %d", h.Label(),
				h.CNPPrio,
				h.Prio[h.CNPDSCP], h.CNPDSCP).remedy("make both agree")
		}
	}
	for _, dscp := range sortedInts(cnps) {
		h := cnps[dscp]
		for _, s := range a.fabric.Switches {
			for _, p := range s.active() {
				if !classed(p) {
					continue
				}
				cnp := p.land(dscp)
				for _, d := range all {
					data := p.land(d)
					if data.queue != cnp.queue {
						continue
					}
					a.at(p.place("dscp"), p, "CNPs (DSCP %d) wait in queue %d behind the data that they should slow down", dscp,
						cnp.queue).
						because("%s sends CNPs with DSCP %d (%v)", h.Label(), dscp, h.place("cnp_dscp")).
						because("%s", cnp.path(p, dscp)).because("%s", data.path(p, d)).
						remedy("give CNPs a TC and a strict queue of their own (usually DSCP 48, priority 6)")
				}
				if q := p.Queues[min(cnp.queue, 7)]; q.Scheduler != "" && q.Scheduler != "STRICT" && cnp.queue < 8 {
					f := a.at(q.Place, p, "CNPs (DSCP %d) are in queue %d, which shares the link by %s", dscp, cnp.queue, q.Scheduler).
						because("%s", cnp.path(p, dscp)).remedy("schedule queue %d STRICT", cnp.queue)
					f.Severity = Note
				}
			}
		}
	}
}

func sortedInts[V any](m map[int]V) []int { return slices.Sorted(maps.Keys(m)) }
