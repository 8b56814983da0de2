package engine

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// TestECNPorts: RED and the step mark at the ports that are selected, in a fabric where an uplink and a port to a host
// are congested.
func TestECNPorts(t *testing.T) {
	for ports, want := range map[switchagent.ECNPorts][2]bool{
		switchagent.ECNPortsAuto: {true, true}, switchagent.ECNPortsAll: {true, true},
		switchagent.ECNPortsToSwitches: {true, false}, switchagent.ECNPortsToHosts: {false, true},
	} {
		for _, mode := range []switchagent.ECNMode{switchagent.ECNRED, switchagent.ECNStep} {
			l := newLab(t, "rate: 40Gbps\ndelay: 1us\nleafspine: {spines: 1, leaves: 2, hosts_per_leaf: 2}", labOptions{
				sw: func(s *switchagent.Settings) {
					s.ECN = switchagent.ECN{
						Mode: mode, Priorities: 1 << 3, KMin: 2 * units.KB, KMax: 4 * units.KB, PMax: 1,
						Ports: ports,
					}
				},
			})
			for _, from := range []string{"h1", "h2", "h3"} {
				l.send(from, "h0", 100_000, 0, 40*units.Gbps)
			}
			l.run(0)
			up, down := l.state.Ports[l.port("leaf1", "spine0")].EcnMarked, l.state.Ports[l.port("leaf0", "h0")].EcnMarked
			if got := [2]bool{up > 0, down > 0}; got != want {
				t.Errorf("ports %v, mode %v: %d marks at the uplink and %d at the host's port", ports, mode, up, down)
			}
		}
	}
}

// drain runs until nothing moves any more, whatever invariants break.
func drain(l *lab) {
	l.Helper()
	if err := l.Run(vtime.Second, vtime.Second, nil); err != nil {
		l.Fatal(err)
	}
}

// The remedy for a headroom that is too small is the number of bytes that the port needs, and with that number nothing
// is lost.
func TestHeadroomRemedy(t *testing.T) {
	incast := func(headroom units.Bytes) *lab {
		l := newFaultLab(t, "name: t\nrate: 400Gbps\nstar: {hosts: 4}\n",
			func(s *switchagent.Settings, _ *hostagent.Settings) {
				s.PFC.Headroom, s.PFC.XOFF = headroom, 300*units.KB
			})
		for _, from := range []string{"h0", "h1", "h2"} {
			l.send(from, "h3", 2_000_000, 0, 0)
		}
		return l
	}
	l := incast(50 * units.KB)
	drain(l)
	const want = "103.564KB can be in flight to this port (100KB on the cable, both ways; 1.116KB past XOFF; 1.14KB " +
		"while a frame is sent that " +
		"PAUSE waits for, 168B while PFC frames are; 1.14KB that the peer is sending) and its headroom is 50KB: " +
		"switch.pfc.headroom must be 103.564KB or more here, or auto"
	broken := l.Check()
	if len(broken) == 0 || broken[0].Invariant != "nothing is dropped in a lossless class" ||
		!strings.HasSuffix(broken[0].Detail, want) {
		t.Errorf("%v\nwant %s", broken, want)
	}
	for _, headroom := range []units.Bytes{103_564, switchagent.Auto} {
		l := incast(headroom)
		drain(l)
		if broken := l.Check(); len(broken) > 0 {
			t.Errorf("headroom %v: %v", headroom, broken[0])
		}
	}
}

// Where hosts answer although they are paused, no headroom holds what they send: that is the cause then, and no late
// PAUSE.
func TestHeadroomOfPausedAnswers(t *testing.T) {
	for _, c := range []struct {
		headroom units.Bytes
		want     string
	}{
		{13_564, "priority 3: headroom overrun: h1 sends ACK, NAK and CNP of this priority although it is paused " +
			"(host.ack_when_paused), without end, and the 13.564KB of headroom"},
		{5_000, "; and h1 sends ACK, NAK and CNP of this priority although it is paused (host.ack_when_paused), which comes on top"},
	} {
		l := newFaultLab(t, "name: t\nrate: 40Gbps\nmtu: 256\nstar: {hosts: 14}\n",
			func(s *switchagent.Settings, h *hostagent.Settings) {
				s.PFC.Headroom, s.PFC.XOFF = c.headroom, 20*units.KB
				s.PFC.XON = 10 * units.KB
				h.ACKsWithData, h.ACKsWhenPaused, h.RetransmitTimeout = true, true, 0
			})
		l.send("h0", "h1", 1_000_000, 0, 0)
		for i := 2; i < 14; i++ {
			l.send(fmt.Sprintf("h%d", i), "h0", 300_000, 0, 0)
		}
		drain(l)
		details := ""
		for _, broken := range l.Check() {
			if broken.Location == l.plan.Ports[l.port("s0", "h1")].Name {
				details += broken.Detail
			}
		}
		if !strings.Contains(details, c.want) {
			t.Errorf("headroom %v: %q, want %q", c.headroom, details, c.want)
		}
	}
}

// TestBufferRemedy: the remedy for a buffer smaller than XOFF and headroom works.
func TestBufferRemedy(t *testing.T) {
	incast := func(buffer units.Bytes) *lab {
		l := newFaultLab(t, "name: t\nrate: 40Gbps\nstar: {hosts: 4}\n",
			func(s *switchagent.Settings, _ *hostagent.Settings) {
				s.Buffer, s.PFC.XOFF = buffer, 300*units.KB
			})
		for _, from := range []string{"h0", "h1", "h2"} {
			l.send(from, "h3", 1_000_000, 0, 0)
		}
		drain(l)
		return l
	}
	const want = "XOFF and headroom of all its lossless ports add up to 1.254256MB, but the buffer is 500KB: " +
		"set switch.buffer to 1.254256MB or more, or to auto, or lower switch.pfc.xoff (or set it to auto)"
	broken := incast(500 * units.KB).Check()
	if len(broken) == 0 || !strings.HasSuffix(broken[0].Detail, want) {
		t.Errorf("%v\nwant %s", broken, want)
	}
	for _, buffer := range []units.Bytes{1_254_256, switchagent.Auto} {
		if broken := incast(buffer).Check(); len(broken) > 0 {
			t.Errorf("buffer %v: %v", buffer, broken[0])
		}
	}
}

// TestHeadroomFollowsTheCable: with auto a switch grows its headroom for a cable that becomes longer while the fabric
// works. It keeps the headroom when the cable becomes shorter, because frames on it still arrive.
func TestHeadroomFollowsTheCable(t *testing.T) {
	for _, c := range []struct {
		headroom units.Bytes
		lost     bool
	}{{switchagent.Auto, false}, {75 * units.KB, true}} {
		l := newFaultLab(t, "name: t\nrate: 100Gbps\nstar: {hosts: 4}\n",
			func(s *switchagent.Settings, _ *hostagent.Settings) {
				s.PFC.Headroom = c.headroom
			})
		h0, s0 := l.port("h0", "s0"), l.port("s0", "h0")
		set := func(at, delay vtime.Time) {
			l.At(at, func(vtime.Time) error {
				for _, p := range []int{h0, s0} {
					if err := l.SetDelay(p, delay); err != nil {
						return err
					}
				}
				return nil
			})
		}
		set(20*vtime.Microsecond, 50*vtime.Microsecond)
		set(600*vtime.Microsecond, vtime.Microsecond)
		for _, from := range []string{"h0", "h1", "h2"} {
			l.send(from, "h3", 8_000_000, 0, 0)
		}
		drain(l)
		if broken := l.Check(); (len(broken) > 0) != c.lost {
			t.Errorf("headroom %v: %v", c.headroom, broken)
		}
		if got := l.Switch(0).Headroom(s0); c.headroom == switchagent.Auto && got != 2*625_000+3_564 {
			t.Errorf("headroom %d", got)
		}
	}
}
