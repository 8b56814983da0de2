package engine

import (
	"testing"

	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// TestPausedTime: the queue to a host that sends PAUSE is paused from the first PAUSE's arrival until the last has run
// out, and another that its link's going down ended, until then.
func TestPausedTime(t *testing.T) {
	l := newFaultLab(t, chainFabric, storms(switchagent.Watchdog{}))
	l.monitor.keepPauses() // as in a live fabric
	p := l.port("s2", "h2")
	storm := func(priorities uint8) func() error {
		return func() error { return l.InjectPFCStorm(2, priorities, 50*vtime.Microsecond) }
	}
	l.at(100*vtime.Microsecond, storm(1<<3))
	l.at(1000*vtime.Microsecond, storm(0))
	longest := wire.PauseTime(wire.PauseMax, 40*units.Gbps)
	var times [3]vtime.Time
	l.Call(400*vtime.Microsecond, func(vtime.Time) { times[0] = l.PausedTime(p, 3) })
	l.Call(2900*vtime.Microsecond, func(vtime.Time) { times[1] = l.PausedTime(p, 3) })
	l.at(3000*vtime.Microsecond, storm(1<<3))
	l.at(3010*vtime.Microsecond, storm(0))
	l.at(3100*vtime.Microsecond, func() error { return l.SetLink(p, false) })
	l.Call(4900*vtime.Microsecond, func(vtime.Time) { times[2] = l.PausedTime(p, 3) })
	l.run(5000 * vtime.Microsecond)
	first := 850*vtime.Microsecond + longest
	want := [3]vtime.Time{
		400*vtime.Microsecond - stormAt, first,
		first + 3100*vtime.Microsecond - (stormAt + 2900*vtime.Microsecond),
	}
	if times != want {
		t.Errorf("paused for %v, want %v", times, want)
	}
	if other := l.PausedTime(l.port("s2", "h3"), 3); other != 0 {
		t.Errorf("the queue to h3 was paused for %v", other)
	}
}

// TestPausesOfPriorities: the counts of PAUSEs by priority equal those that the observer sees, lossy priorities
// included, whose queues PAUSE pauses too.
func TestPausesOfPriorities(t *testing.T) {
	l := newFaultLab(t, chainFabric, storms(switchagent.Watchdog{}))
	l.monitor.keepPauses() // as in a live fabric
	for i := range 2 {
		l.send("h"+string(rune('0'+i)), "h2", 2_000_000, 0, 0)
	}
	l.at(100*vtime.Microsecond, func() error { return l.InjectPFCStorm(2, 1<<3|1<<5, 50*vtime.Microsecond) })
	l.at(480*vtime.Microsecond, func() error { return l.InjectPFCStorm(2, 1<<5, 50*vtime.Microsecond) })
	l.at(700*vtime.Microsecond, func() error { return l.InjectPFCStorm(2, 0, 0) })
	l.run(0)
	toStorm := l.port("s2", "h2")
	from := int(l.ports[toStorm].peer)
	if n := [2]uint64{l.sent[[2]int{from, 3}], l.sent[[2]int{from, 5}]}; n != [2]uint64{8, 13} {
		t.Errorf("the storm was %d PAUSEs", n) // at 100, 150, ... 450 us, and anew from 480 us on: 480, 530, ... 680 us
	}
	paused := 0
	for p := range l.ports {
		for priority := range switchagent.Priorities {
			out, _ := l.Pauses(p, uint8(priority))
			_, in := l.Pauses(int(l.ports[p].peer), uint8(priority))
			if want := l.sent[[2]int{p, priority}]; out != want || in != want {
				t.Errorf("%s, priority %d: %d sent and %d received of %d", l.plan.Ports[p].Name, priority, out, in, want)
			}
			paused += min(1, int(out))
		}
	}
	if paused < 4 {
		t.Errorf("%d ports and priorities sent PAUSE: this case tests little", paused)
	}
	// From its first PAUSE, which left after the other priority's, until the last, which left at once, has run out.
	const frame = (60 + 24) * 200
	if got, want := l.PausedTime(toStorm, 5), 580*vtime.Microsecond-frame+wire.PauseTime(wire.PauseMax,
		40*units.Gbps); got != want {
		t.Errorf("the lossy priority was paused for %v, want %v", got, want)
	}
}

// TestPausedTimeByCredits: under credits a queue is paused while its first frame waits for them. The registers, polled
// every 100 ns, agree within the polling interval. While a link is down its ports send nothing, which is no pause.
func TestPausedTimeByCredits(t *testing.T) {
	l := newFaultLab(t, chainFabric, func(s *switchagent.Settings, _ *hostagent.Settings) {
		s.FlowControl, s.CBFC.Buffer = switchagent.FlowCBFC, 64*units.KB
	})
	for i := range 2 {
		l.send("h"+string(rune('0'+i)), "h2", 0, 0, 0)
	}
	const every, end = 100 * vtime.Nanosecond, 1500 * vtime.Microsecond
	trunk := l.port("s1", "s2")
	seen := make([]vtime.Time, len(l.ports))
	periods := make([]int, len(l.ports))
	since := make([]uint64, len(l.ports))
	var down error
	isDown := false
	for at := every; at <= end; at += every {
		l.Call(at, func(now vtime.Time) {
			if now > 700*vtime.Microsecond && !isDown && l.state.Paused(trunk, 3, now) {
				down, isDown = l.SetLink(trunk, false), true
			}
			for p := range l.ports {
				if c := &l.state.Ports[p].Class[3]; l.state.Paused(p, 3, now) && l.LinkUp(p) {
					if seen[p] += every; c.OffSince != since[p] {
						since[p] = c.OffSince
						periods[p]++
					}
				}
			}
		})
	}
	var during, sofar vtime.Time
	l.Call(990*vtime.Microsecond, func(vtime.Time) { during, sofar = l.PausedTime(trunk, 3), seen[trunk] })
	l.at(1000*vtime.Microsecond, func() error { return l.SetLink(trunk, true) })
	l.run(end)
	if down != nil || !isDown {
		t.Errorf("the link went down: %v, %v", isDown, down)
	}
	if during < sofar-5*vtime.Microsecond || during > sofar+5*vtime.Microsecond {
		t.Errorf("while its link was down the trunk's port was paused for %v, seen for %v", during, sofar)
	}
	most := 0
	for p := range l.ports {
		// Each period is off by less than a poll's interval at either end, and may have come and gone unseen.
		off := vtime.Time(2*periods[p]+20) * every
		if got := l.PausedTime(p, 3); got < seen[p]-off || got > seen[p]+off {
			t.Errorf("%s was paused for %v, seen for %v in %d periods", l.plan.Ports[p].Name, got, seen[p], periods[p])
		}
		if other := l.PausedTime(p, 5); other != 0 {
			t.Errorf("%s: a priority without credits was paused for %v", l.plan.Ports[p].Name, other)
		}
		most = max(most, periods[p])
	}
	if most < 20 || l.PausedTime(trunk, 3) == 0 {
		t.Errorf("a port was paused %d times at most, the trunk's for %v: this case tests little", most,
			l.PausedTime(trunk, 3))
	}
}

// TestCountsAddUp: the monitor's counts by priority add up to the counts by port of the registers, the traffic managers
// and the faults.
func TestCountsAddUp(t *testing.T) {
	const star = "delay: 1us\nstar: {hosts: 3, rate: 40Gbps}"
	incast := func(l *lab) {
		l.send("h0", "h2", 1_000_000, 0, 0)
		l.send("h1", "h2", 1_000_000, 0, 30*units.Gbps)
	}
	type sums struct {
		ce, cnms      uint64
		lost, refused [2]uint64 // of data, of all else
		dropped       uint64
	}
	for _, c := range []struct {
		name  string
		until vtime.Time // 0: the end
		set   func(*switchagent.Settings, *hostagent.Settings)
		run   func(l *lab)
		none  func(n sums) bool // says whether the case tests nothing
	}{
		{"marks as frames leave", 0, func(s *switchagent.Settings, _ *hostagent.Settings) {
			s.ECN.Mode, s.ECN.Point, s.ECN.KMin, s.ECN.KMax =
				switchagent.ECNStep, switchagent.ECNDequeue, 20*units.KB, 20*units.KB
		}, incast, func(n sums) bool { return n.ce == 0 }},
		{"marks as frames join", 50 * vtime.Microsecond, func(s *switchagent.Settings, _ *hostagent.Settings) {
			s.ECN.Mode, s.ECN.Point, s.ECN.KMin, s.ECN.KMax =
				switchagent.ECNStep, switchagent.ECNEnqueue, 20*units.KB, 20*units.KB
		}, incast, func(n sums) bool { return n.ce == 0 }},
		{"CNMs", 0, func(s *switchagent.Settings, _ *hostagent.Settings) {
			s.CNM.QCNM, s.CNM.QECN = 30*units.KB, 20*units.KB
		}, func(l *lab) {
			incast(l)
			l.send("h0", "h1", 200_000, 0, 10*units.Gbps) // makes the port of h0 shared
		}, func(n sums) bool { return n.cnms == 0 }},
		{"a lossy queue", 0, func(s *switchagent.Settings, h *hostagent.Settings) {
			s.PFC.Priorities, s.LossyLimit, h.RetransmitTimeout = 0, 30*units.KB, vtime.Millisecond
		}, incast, func(n sums) bool { return n.refused[0] == 0 }},
		{"a wire", 0, timeout(200 * vtime.Microsecond), func(l *lab) {
			incast(l)
			l.at(0, func() error { return l.SetLoss(l.port("h0", "s0"), 0.05) })
			l.at(0, func() error { return l.SetLoss(l.port("s0", "h0"), 0.2) }) // ACKs and PAUSEs
		}, func(n sums) bool { return n.lost[0] == 0 || n.lost[1] == 0 }},
		{"no way", 0, timeout(200 * vtime.Microsecond), func(l *lab) {
			incast(l)
			out := l.port("s0", "h2")
			l.at(100*vtime.Microsecond, func() error { return l.SetLink(out, false) })
			l.at(110*vtime.Microsecond, l.Reroute)
			l.at(500*vtime.Microsecond, func() error { return l.SetLink(out, true) })
			l.at(510*vtime.Microsecond, l.Reroute)
		}, func(n sums) bool { return n.dropped == 0 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLab(t, star, labOptions{seed: 5, burst: true, reroute: true, both: c.set})
			l.monitor.counts = make([]*portCounts, len(l.ports)) // as in a live fabric
			c.run(l)
			l.run(c.until)
			var all sums
			var refused int64
			lost := l.Lost()
			for p := range l.ports {
				var n sums
				for i := range uint8(switchagent.Priorities) {
					c := l.Counts(p, i)
					n.ce, n.cnms = n.ce+c.CE, n.cnms+c.CNMs
					of := 1
					if i == l.hosts.DataPriority {
						of = 0
					} else if c.CE > 0 {
						t.Errorf("%s: %d marks of priority %d", l.plan.Ports[p].Name, c.CE, i)
					}
					for _, k := range c.Lost {
						n.lost[of] += k
					}
					for _, k := range c.Refused {
						n.refused[of] += k
					}
					for _, k := range c.Dropped {
						n.dropped += k
					}
				}
				marks, cnms := l.state.Ports[p].EcnMarked, l.state.Extras[p].CnmsSent
				if n.ce != marks || n.cnms != cnms {
					t.Errorf("%s: %d marks and %d CNMs are counted, its registers have %d and %d", l.plan.Ports[p].Name, n.ce, n.cnms,
						marks, cnms)
				}
				if l.ports[p].isSwitch {
					frames := l.Switch(int(l.ports[p].index)).Port(p).DroppedFrames
					refused += frames[switchagent.DropHeadroom] + frames[switchagent.DropBuffer] + frames[switchagent.DropLossy]
				}
				for i := range n.lost {
					all.lost[i] += n.lost[i]
					all.refused[i] += n.refused[i]
				}
				all.ce, all.cnms, all.dropped = all.ce+n.ce, all.cnms+n.cnms, all.dropped+n.dropped
			}
			var faults int64
			for why, n := range lost {
				if Loss(why) != LossPause && Loss(why) != LossRoute {
					faults += n.Frames
				}
			}
			if sum := int64(all.lost[0] + all.lost[1]); sum != faults {
				t.Errorf("%d lost frames are counted, faults cost %d", sum, faults)
			}
			if sum := int64(all.refused[0] + all.refused[1]); sum != refused {
				t.Errorf("%d refused frames are counted, the traffic managers refused %d", sum, refused)
			}
			if all.dropped != uint64(lost[LossRoute].Frames) {
				t.Errorf("%d frames that a pipeline dropped are counted, %d had no way", all.dropped, lost[LossRoute].Frames)
			}
			if c.none(all) {
				t.Errorf("%+v: this case tests nothing", all)
			}
		})
	}
}
