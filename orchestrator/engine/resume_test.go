package engine

import (
	"fmt"
	"testing"

	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/vtime"
)

// TestThresholdsAct: at no time is a port at or above XOFF without PAUSE, or does one at or below XON keep its peer
// paused, whatever the number of others; with a fixed threshold and with one that follows the free buffer.
func TestThresholdsAct(t *testing.T) {
	for name, pfc := range map[string]switchagent.PFC{
		"static":  {XOFF: 60_000, XON: 40_000},
		"dynamic": {Alpha: 0.25, XOFFToXON: 10_000},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, "rate: 40Gbps\ndelay: 1us\nstar: {hosts: 8}", labOptions{sw: func(s *switchagent.Settings) {
				pfc.Priorities, pfc.Headroom, pfc.Quanta = 1<<3, 50_000, 0xFFFF
				s.PFC, s.Buffer = pfc, 1_200_000
			}})
			// Two incasts of different length at the same switch.
			for i := 2; i < 8; i++ {
				l.send(fmt.Sprintf("h%d", i), fmt.Sprintf("h%d", i%2), int64(i)*80_000, 0, 0)
			}
			pausing, paused := 0, 0
			var poll func(now vtime.Time)
			poll = func(now vtime.Time) {
				// By hand: the headroom of eight ports is set aside.
				xoff, xon := uint32(60_000), uint32(40_000)
				if pfc.Alpha > 0 {
					xoff = uint32(1_200_000-8*50_000-min(l.state.Switches[0].Used, 800_000)) / 4
					xon = max(xoff, 10_000) - 10_000
				}
				pausing = 0
				for _, id := range l.switchPorts(0) {
					r := &l.state.Ports[id]
					// A threshold that falls acts on the next arrival only.
					if pfc.Alpha == 0 && r.Class[3].Pausing == 0 && r.Class[3].Buffered >= xoff {
						t.Errorf("%v: %s holds %d B, XOFF %d, and its peer is not paused", now, l.plan.Ports[id].Name,
							r.Class[3].Buffered, xoff)
					}
					if r.Class[3].Pausing != 0 {
						pausing++
						paused = max(paused, pausing)
						if r.Class[3].Buffered <= xon {
							t.Errorf("%v: %s holds %d B, XON %d, and its peer is paused", now, l.plan.Ports[id].Name, r.Class[3].Buffered,
								xon)
						}
					}
				}
				if l.OpenFlows() > 0 && !t.Failed() {
					l.Call(now+73*vtime.Nanosecond, poll)
				}
			}
			l.Call(0, poll)
			l.run(0)
			if paused < 3 {
				t.Errorf("%d ports were paused at once at most: this case tests nothing", paused)
			}
			for i := 2; i < 8; i++ {
				if r := &l.state.Extras[l.port("s0", fmt.Sprintf("h%d", i))]; r.PausesSent == 0 || r.ResumesSent == 0 {
					t.Errorf("h%d: %d PAUSEs, %d RESUMEs", i, r.PausesSent, r.ResumesSent)
				}
			}
		})
	}
}
