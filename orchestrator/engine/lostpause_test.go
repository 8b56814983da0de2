package engine

import (
	"fmt"
	"testing"

	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// TestLostPauseIsOfItsTime: a frame that overruns a port is a lost PAUSE's fault if it was sent after that should have
// come, and a broken invariant if before, in whatever order the partitions are driven. With a headroom of less than the
// cable holds there are both.
func TestLostPauseIsOfItsTime(t *testing.T) {
	both := 0
	for headroom := units.Bytes(1000); headroom < 9000; headroom += 400 {
		want := ""
		for _, one := range []bool{true, false} {
			// at which all partitions meet
			for _, every := range []vtime.Time{0, 100 * vtime.Nanosecond, 730 * vtime.Nanosecond} {
				overran, breaches := lostPauses(t, headroom, every, one)
				got := fmt.Sprintf("%d of a lost PAUSE, %d breaches", overran, breaches)
				if want == "" {
					want = got
				} else if got != want {
					t.Errorf("headroom %v, partitions meet every %v, one partition %v: %s; else %s", headroom, every, one, got, want)
				}
				if overran > 0 && breaches > 0 {
					both++
				}
			}
		}
	}
	if both == 0 {
		t.Error("no headroom had frames of both kinds")
	}
}

// lostPauses runs two flows through a port whose cable loses half of the PAUSEs, and counts what overran it.
func lostPauses(t *testing.T, headroom units.Bytes, every vtime.Time, one bool) (overran, breaches int64) {
	l := newFaultLab(t, chainFabric, func(s *switchagent.Settings, h *hostagent.Settings) {
		s.PFC.XOFF, s.PFC.XON, s.PFC.Headroom, s.PFC.Quanta = 20*units.KB, 10*units.KB, headroom, 300
		h.RetransmitTimeout = 100 * vtime.Microsecond
	})
	if one {
		unite(l.Engine)
	}
	l.send("h0", "h2", 300_000, 0, 0)
	l.send("h3", "h2", 300_000, 0, 0)
	l.at(0, func() error { return l.SetLoss(l.port("s2", "s1"), 0.5) })
	for at := every; every > 0 && at < 400*vtime.Microsecond; at += every {
		l.Call(at, func(vtime.Time) {})
	}
	if err := l.Run(vtime.Second, vtime.Second, nil); err != nil {
		t.Fatal(err)
	}
	return l.lost(LossPause), l.LosslessDropped
}

// TestLostPausesAreFew: a pause that lasts is sent again and again; however many are lost, the first says it all.
func TestLostPausesAreFew(t *testing.T) {
	l := newFaultLab(t, chainFabric, func(s *switchagent.Settings, _ *hostagent.Settings) {
		s.PFC.XOFF, s.PFC.XON, s.PFC.Headroom, s.PFC.Quanta = 20*units.KB, 10*units.KB, 100*units.KB, 300
	})
	l.send("h0", "h2", 3_000_000, 0, 0)
	l.send("h3", "h2", 3_000_000, 0, 0)
	p, most := l.port("s2", "s1"), 0
	l.at(0, func() error { return l.SetLoss(p, 0.5) })
	l.at(0, func() error { return l.InjectPFCStorm(2, 1<<3, 20*vtime.Microsecond) }) // h2 takes nothing
	for at := vtime.Time(0); at < vtime.Millisecond; at += 10 * vtime.Microsecond {
		l.at(at, func() error {
			most = max(most, len(l.ports[p].fault.lostPauses))
			return nil
		})
	}
	l.run(vtime.Millisecond)
	if lost := l.ports[p].fault.lostPFC[1]; lost < 100 || most == 0 || most > 2 {
		t.Errorf("of %d lost PAUSEs %d were kept", lost, most)
	}
}
