package audit

import (
	"cmp"
	"slices"

	"github.com/pausenet/pausenet/internal/lists"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

const (
	metreDelay = 5 * vtime.Nanosecond
	// headers holds the bytes of a RoCEv2 frame beside its payload: Ethernet, IPv4, UDP, BTH, RETH, ICRC and 42 B of
	// in-band telemetry.
	headers  = 14 + 20 + 8 + 12 + 16 + 4 + 42
	overhead = 24 // preamble, FCS and gap, which take line time but no buffer
	pfcLine  = 84 // line time of a PFC frame
	usualMTU = 9100
)

// need returns the headroom that a lossless priority needs, in parts. speed is in Mb/s; an mtu of 0 is unknown.
func (a *auditor) need(s *Switch, speed, metres int64, mtu int, lossless Priorities) switchagent.InFlight {
	payload := cmp.Or(s.LosslessMTU, a.assume.LosslessMTU)
	frame := payload + headers
	rate := units.Rate(speed) * 1_000_000
	delay := vtime.Time(metres) * metreDelay
	cable := switchagent.Cable{
		Rate: rate, PeerRate: rate, Delay: delay, PeerDelay: delay, Full: frame, Longest: frame,
		LongestLine: int64(frame + overhead), PFCLine: pfcLine,
		AheadLine: int64(max(cmp.Or(mtu, usualMTU), payload) + 14 + overhead),
	}
	pfc := switchagent.PFC{Priorities: uint8(cmp.Or(lossless, 1<<3)), CellSize: a.assume.Cell}
	if a.assume.Response != nil {
		pfc.Response = a.assume.Response(rate)
	}
	return cable.InFlight(&pfc)
}

// needEvidence adds the parts of the needed headroom to a finding, and the headroom that there is.
func (f *Finding) needEvidence(n *switchagent.InFlight, have int64) *Finding {
	row := func(bytes units.Bytes, what string) { f.because("%9d B  %s", int64(bytes), what) }
	row(n.Cable, "propagation on the cable, both ways (5 ns per metre)")
	row(n.PastXOFF, "past XOFF: the frame that reached it")
	row(n.Sending, "a frame that the port is sending when PAUSE is due")
	row(n.PFC, "PFC frames that the port is sending")
	row(n.Peer, "a frame that the peer is sending")
	if n.Response > 0 {
		row(n.Response, "response time of the hardware")
	}
	row(n.Buffered-n.Line(), "preambles, checksums and gaps (not buffered), and rounding up to cells")
	row(n.Buffered, "needed")
	row(units.Bytes(have), "headroom (xoff)")
	return f
}

// checkHeadroom compares each lossless group's headroom with its need.
func checkHeadroom(a *auditor) {
	for _, s := range a.fabric.Switches {
		for _, p := range s.active() {
			if p.Speed == 0 || p.Metres < 0 {
				continue
			}
			for _, n := range p.PFC.All() {
				of := p.Groups[p.PFCToPG[n]]
				if of == nil || of.Dynamic || of.XOFF == 0 {
					continue
				}
				need := a.need(s, p.Speed, p.Metres, p.MTU, p.PFC)
				if of.XOFF >= int64(need.Buffered) {
					continue
				}
				f := a.at(of.Place, p, "profile %s has %d B of headroom, and %v with %d m of cable need %d B", of.Name, of.XOFF,
					units.Rate(p.Speed)*1_000_000, p.Metres, int64(need.Buffered))
				f.needEvidence(&need, of.XOFF).remedy("set xoff to %d or more, or shorten the cable", int64(need.Buffered))
				if of.XOFF >= int64(need.Cable) {
					f.Severity = Warning
				} else {
					f.shows(headroomScenario(p.Speed, p.Metres, cmp.Or(s.LosslessMTU, a.assume.LosslessMTU), of.XOFF))
				}
			}
		}
		if len(s.Ports) == 0 {
			a.checkLookup(s)
		}
	}
}

// checkLookup checks the rows of a lookup table that comes without ports.
func (a *auditor) checkLookup(s *Switch) {
	for _, row := range s.Lookup {
		need := a.need(s, row.Speed, row.Metres, 0, 1<<3|1<<4)
		if row.XOFF >= int64(need.Buffered) {
			continue
		}
		f := a.at(row.Place, nil, "row %s has %d B of headroom, and needs %d B", row.Name, row.XOFF, int64(need.Buffered))
		f.needEvidence(&need, row.XOFF).remedy("set xoff to %d or more", int64(need.Buffered))
		if row.XOFF >= int64(need.Cable) {
			f.Severity = Warning
		} else {
			f.shows(headroomScenario(row.Speed, row.Metres, a.assume.LosslessMTU, row.XOFF))
		}
	}
}

// sized holds the headroom for a rate and a cable.
type sized struct {
	speed, metres, xoff int64
	of                  *Profile
	port                *Port
}

// checkOrder compares the headroom of ports, and of a lookup's rows, with each other.
func checkOrder(a *auditor) {
	for _, s := range a.fabric.Switches {
		all := lists.Map(s.Lookup, func(row *Profile) sized { return sized{row.Speed, row.Metres, row.XOFF, row, nil} })
		a.compare(all)
		all = nil
		for _, p := range s.active() {
			for _, n := range p.PFC.All() {
				of := p.Groups[p.PFCToPG[n]]
				if of == nil || of.Dynamic || p.Speed == 0 || p.Metres < 0 || slices.Contains(s.Lookup, of) {
					continue
				}
				one := sized{p.Speed, p.Metres, of.XOFF, of, p}
				same := func(x sized) bool { return x.speed == one.speed && x.metres == one.metres && x.of.Name == of.Name }
				if !slices.ContainsFunc(all, same) {
					all = append(all, one)
				}
			}
		}
		a.compare(all)
	}
}

// compare reports each headroom that is less than another's with a shorter cable or a lower rate.
func (a *auditor) compare(all []sized) {
	for i := range all {
		x := &all[i]
		var worst *sized
		for k := range all {
			y := &all[k]
			smaller := y.metres < x.metres && y.speed == x.speed || y.speed < x.speed && y.metres == x.metres
			if smaller && y.xoff > x.xoff && (worst == nil || y.xoff > worst.xoff) {
				worst = y
			}
		}
		if worst == nil {
			continue
		}
		a.at(x.of.Place, x.port, "profile %s has less headroom than %s, which needs less", x.of.Name, worst.of.Name).
			because("%9d B  %d Mb/s, %d m (%s)", x.xoff, x.speed, x.metres, x.of.Name).
			because("%9d B  %d Mb/s, %d m (%s, %s)", worst.xoff, worst.speed, worst.metres, worst.of.Name, worst.of.Place).
			remedy("set xoff to at least %d", worst.xoff)
	}
}

// mostSharing limits the lossless groups per headroom in a shared pool: of so many groups, the pool must hold the
// headroom of one.
const mostSharing = 8

// checkSharedPool checks that enough groups can fill their headroom in a shared pool at the same time.
func checkSharedPool(a *auditor) {
	for _, s := range a.fabric.Switches {
		groups, sum, largest := int64(0), int64(0), int64(0)
		var pool *Pool
		for _, p := range s.active() {
			for _, n := range p.PFC.All() {
				of := p.Groups[p.PFCToPG[n]]
				if of == nil || of.Dynamic {
					continue
				}
				groups, sum, largest = groups+1, sum+of.XOFF, max(largest, of.XOFF)
				if at := s.pool(of); at != nil {
					pool = at
				}
			}
		}
		if pool == nil || pool.Shared == 0 || groups == 0 {
			continue
		}
		fanIn := pool.Shared / largest
		if pool.Shared >= largest && fanIn*mostSharing >= groups || pool.Shared >= sum {
			continue
		}
		f := a.at(Place{pool.Place.File, 0, pool.Place.Key + "|xoff"}, nil,
			"the shared headroom pool holds the headroom of %d of %d lossless priority groups at the same time", fanIn, groups)
		f.because("%9d B  shared headroom pool (xoff of %s)", pool.Shared, pool.Name).
			because("%9d B  largest headroom of a group", largest).
			because("%9d B  headroom of all %d groups", sum, groups).
			because("%9d    groups that can be paused at the same time without loss", fanIn).
			remedy("set xoff of %s to %d or more (the headroom of one in %d groups), or give each group its own headroom",
				pool.Name, max(largest, (groups+mostSharing-1)/mostSharing*largest), mostSharing)
		if fanIn == 0 {
			f.Severity = Error
		}
	}
}
