package engine

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/orchestrator/engine/paths"
	"github.com/pausenet/pausenet/orchestrator/engine/plane"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// byCredits has flow control go by credits.
func byCredits(edit func(*switchagent.CBFC)) func(*switchagent.Settings) {
	return func(s *switchagent.Settings) {
		s.FlowControl = switchagent.FlowCBFC
		if edit != nil {
			edit(&s.CBFC)
		}
	}
}

// A flow alone takes what it takes under PFC but for the messages' time: the patent's buffer of 280 KB is granted as
// 227 frames of 1058 B, which take 49.1 us at 40 Gb/s, and grants come every 40 us, two delays of 4 us and two frames.
func TestCreditsKeepALinkBusy(t *testing.T) {
	const size = 4_000_000
	run := func(edit func(*switchagent.Settings)) *lab {
		l := newLab(t, "rate: 40Gbps\ndelay: 4us\nleafspine: {spines: 1, leaves: 2, hosts_per_leaf: 1}", labOptions{sw: edit})
		l.send("h0", "h1", size, 0, 0)
		l.run(0)
		return l
	}
	pfc, cbfc := run(nil), run(byCredits(nil))
	// Each message is 86 bytes of line, once in 40 us, and may be before any frame on any of the four links.
	messages := cbfc.fct(0)/(40*vtime.Microsecond) + 4
	if slower := cbfc.fct(0) - pfc.fct(0); slower < 0 || slower > messages*86*200 {
		t.Errorf("%v by credits, %v by PFC", cbfc.fct(0), pfc.fct(0))
	}
	if cbfc.CreditMessages() == 0 {
		t.Error("no message was sent")
	}
}

// A buffer that does not cover period and round trip limits the rate to a buffer each period: the credits of a period's
// messages are all there is to spend until the next.
func TestCreditsLimitTheRate(t *testing.T) {
	l := newLab(t, "rate: 40Gbps\ndelay: 1us\nstar: {hosts: 2}",
		labOptions{sw: byCredits(func(s *switchagent.CBFC) { s.Buffer = 64 * units.KB })})
	l.send("h0", "h1", 0, 0, 0)
	l.run(4 * vtime.Millisecond)
	// A frame of 1058 B takes 17 blocks of 64 B of the 1000; the host keeps those that the longest, of 1116 B, would not
	// get.
	const frames = (1000 - 18 + 17) / 17
	if got, most := l.Flows()[0].Delivered(), int64(4000/40+1)*frames*1000; got > most || got < most*97/100 {
		t.Errorf("%d bytes delivered in 4 ms, by hand %d", got, most)
	}
}

// An incast over two hops: nothing is lost, the bottleneck is busy all the time, no port ever holds more than its
// buffer, and on both planes it is the same run.
func TestCreditIncast(t *testing.T) {
	plan := parsePlan(t, "rate: 40Gbps\ndelay: 4us\nleafspine: {spines: 1, leaves: 3, hosts_per_leaf: 6}")
	for _, buffer := range []units.Bytes{280 * units.KB, 100 * units.KB} {
		var prints []string
		var pausedTimes [][]vtime.Time
		for _, name := range []string{plane.Wasm, plane.Kernel} {
			t.Run(fmt.Sprint(name, "-", buffer), func(t *testing.T) {
				opened := openPlane(t, name, plan, plane.Features{})
				sw, host := switchagent.Default(), hostagent.Default()
				sw.ECN.Mode = switchagent.ECNOff
				byCredits(func(s *switchagent.CBFC) { s.Buffer = buffer })(&sw)
				settings := []*switchagent.Settings{&sw, &sw, &sw, &sw}
				e := newEngine(t, Config{Plan: plan, Plane: opened, Switches: settings, Hosts: &host})
				const flows, size = 17, 300_000
				for i := range flows {
					e.AddFlow(FlowConfig{
						Source: plan.Hosts[i+1], Destination: plan.Hosts[0], Size: size,
						Ports:         paths.Ports{Source: wire.MinEntropyPort + uint16(i)},
						NewController: func(int) (cc.Controller, error) { return cc.Constant(40e9), nil },
					})
				}
				if err := e.Run(vtime.Second, vtime.Second, nil); err != nil {
					t.Fatal(err)
				}
				for _, v := range e.Check() {
					t.Error(v)
				}
				if e.OpenFlows() != 0 || e.Dropped != 0 || e.Created != e.Ended {
					t.Errorf("%s: %d flows open, %d frames dropped, %+v made, %+v ended", name, e.OpenFlows(), e.Dropped, e.Created,
						e.Ended)
				}
				var last vtime.Time
				for i := range e.Flows() {
					last = max(last, e.Flows()[i].Finished)
				}
				// All frames over the last link one after the other, a path's time before and an ACK's after, and the messages.
				// Of 100 KB, 1562 blocks, 91 frames are granted for each period and what passes until a grant has an effect.
				frames := vtime.Time(0)
				for _, n := range framesOf("ethernet", size) {
					frames += flows * vtime.Time(n) * 200
				}
				least, most := frames, frames+frames/(40*vtime.Microsecond)*86*200+40*vtime.Microsecond
				if buffer < 200*units.KB {
					least = frames / (91 * 1082 * 200) * 40 * vtime.Microsecond
					most = frames/(91*1082*200)*49*vtime.Microsecond + 49*vtime.Microsecond
				}
				if last < least || last > most {
					t.Errorf("%s: the incast took %v, by hand %v to %v", name, last, least, most)
				}
				var stalls, pauses uint64
				for i := range e.state.Ports {
					stalls += e.state.Extras[i].CreditStalls
					pauses += e.state.Extras[i].PausesSent
				}
				if stalls == 0 || pauses != 0 {
					t.Errorf("%s: %d stalls, %d PAUSEs", name, stalls, pauses)
				}
				if e.Now() > last+200*vtime.Microsecond {
					t.Errorf("%s: the run ended at %v, the last flow at %v", name, e.Now(), last)
				}
				prints = append(prints, e.Fingerprint())
				times := make([]vtime.Time, len(e.ports))
				for p := range e.ports {
					times[p] = e.PausedTime(p, 3)
				}
				pausedTimes = append(pausedTimes, times)
				if err := opened.Close(); err != nil {
					t.Error(err)
				}
				if prints[0] != e.Fingerprint() {
					t.Errorf("fingerprint %s, %s on the wasm plane", e.Fingerprint(), prints[0])
				}
				if !slices.Equal(pausedTimes[0], times) || slices.Max(times) == 0 {
					t.Errorf("ports were paused for %v, on the wasm plane for %v", times, pausedTimes[0])
				}
			})
		}
	}
}

// TestCreditsOfAReceiverThatCannotDrain: a port that cannot drain receives at most its buffer, then so does the port
// before it, and the sender stops.
func TestCreditsOfAReceiverThatCannotDrain(t *testing.T) {
	const buffer, frame = 100_000, 17 * 64 // 1562 blocks, of which a frame takes 17
	l := newLab(t, `
delay: 1us
rate: 40Gbps
nodes: [{name: s0..s1, kind: switch}, {name: h0..h2, kind: host}]
links: [{from: h0, to: s0}, {from: h1, to: s0}, {from: s0, to: s1}, {from: s1, to: h2}]
`, labOptions{sw: byCredits(func(s *switchagent.CBFC) { s.Buffer = buffer })})
	last := &l.ports[l.port("s1", "h2")]
	l.Call(0, func(vtime.Time) { l.state.Ports[last.id].Class[3].PausedUntil = uint64(vtime.Never) })
	l.send("h0", "h2", 0, 0, 0)
	l.send("h1", "h2", 0, 0, 0)
	l.drive(2 * vtime.Millisecond)
	into := l.port("s1", "s0")
	if sent := l.TxBytes(l.port("s0", "s1"), 3); sent > buffer || sent < 91*1058 ||
		uint32(sent) != l.state.Ports[into].Class[3].Buffered {
		t.Errorf("%d bytes were sent into a buffer of %d, %d are buffered", sent, buffer,
			l.state.Ports[into].Class[3].Buffered)
	}
	for _, host := range []string{"h0", "h1"} {
		// A host keeps what the longest frame would not get, so that a frame less may come in.
		if buffered := l.state.Ports[l.port("s0", host)].Class[3].Buffered; buffered > buffer || buffered < buffer-3*frame {
			t.Errorf("s0 holds %d bytes of %s", buffered, host)
		}
		if !l.state.Paused(l.port(host, "s0"), 3, l.Now()) {
			t.Errorf("%s is ON", host)
		}
	}
	for _, v := range l.Check() {
		t.Error(v)
	}
	l.Call(l.Now(), func(now vtime.Time) {
		l.state.Ports[last.id].Class[3].PausedUntil = uint64(now)
		if err := l.serve(last); err != nil {
			t.Error(err)
		}
	})
	l.run(4 * vtime.Millisecond)
	// Each period brings a buffer's blocks, which are 91 frames.
	if delivered := l.Flows()[0].Delivered() + l.Flows()[1].Delivered(); delivered < 47*91*1000 {
		t.Errorf("%d bytes in 2 ms after it could drain", delivered)
	}
}

// Credits and TCD: t_off is when a grant comes after there was none, T_max the period's multiple.
func TestCreditsAndTCD(t *testing.T) {
	l := newLab(t, "rate: 40Gbps\ndelay: 4us\nleafspine: {spines: 1, leaves: 2, hosts_per_leaf: 4}",
		labOptions{sw: func(s *switchagent.Settings) {
			byCredits(nil)(s)
			s.ECN = switchagent.Default().ECN
			s.Detector = switchagent.DetectorTCD
		}})
	for _, from := range []string{"h0", "h1", "h2", "h3", "h5", "h6"} {
		l.send(from, "h4", 2_000_000, 0, 0)
	}
	up, sink := l.port("spine0", "leaf1"), l.port("leaf1", "h4")
	if got := vtime.Time(l.state.Extras[up].T_max); got != 42*vtime.Microsecond {
		t.Errorf("T_max %v", got)
	}
	l.Call(vtime.Millisecond, func(now vtime.Time) {
		if c := &l.state.Extras[up].Detector[3]; c.Ternary != ebpf.TCDUndetermined || c.OnSeen == 0 {
			t.Errorf("the spine's port is in state %d, ON since %v", c.Ternary, vtime.Time(c.OnSeen))
		}
		if c := &l.state.Extras[sink].Detector[3]; c.Ternary != ebpf.TCDCongested || c.OnSeen != 0 {
			t.Errorf("the sink's port is in state %d, ON since %v", c.Ternary, vtime.Time(c.OnSeen))
		}
	})
	l.run(0)
}

// The messages: a frame for each lossless priority every period, at the port's own phase, as docs/schemes/cbfc.md has
// them; and none while nothing moves.
func TestCreditMessages(t *testing.T) {
	l := newLab(t, "rate: 40Gbps\ndelay: 1us\nstar: {hosts: 2}",
		labOptions{sw: byCredits(func(s *switchagent.CBFC) { s.Priorities = 1<<3 | 1<<6 })})
	type message struct {
		at            vtime.Time
		vl            byte
		fctbs, fccl   uint16
		came          uint16 // blocks of data before it
		length, other int
	}
	var seen []message
	came := uint16(0)
	into := l.port("h1", "s0") // what s0 tells h1
	if err := l.plane.Tap(into, func(f []byte) {
		if binary.BigEndian.Uint16(f[12:]) != 0x88b6 {
			came = (came + uint16(len(f)+127)/128) % 4096
			return
		}
		m := message{at: l.Departed(), vl: f[16] >> 4, length: len(f), came: came}
		m.fctbs, m.fccl = binary.BigEndian.Uint16(f[14:])&0xfff, binary.BigEndian.Uint16(f[16:])&0xfff
		for _, b := range f[18:] {
			m.other |= int(b)
		}
		if mac := wire.Ethernet(f).Dst(); mac != wire.PFCMAC || f[14]>>4 != 0 {
			t.Errorf("to %v, Op %d", mac, f[14]>>4)
		}
		seen = append(seen, m)
	}); err != nil {
		t.Fatal(err)
	}
	l.send("h0", "h1", 500_000, 10*vtime.Microsecond, 0)
	l.send("h0", "h1", 500_000, 900*vtime.Microsecond, 0)
	l.run(2 * vtime.Millisecond)
	if len(seen) < 12 {
		t.Fatalf("%d messages", len(seen))
	}
	rests := 0
	for i, m := range seen {
		if m.vl != []byte{3, 6}[i%2] || m.length != 62 || m.other != 0 {
			t.Errorf("message %d: %+v", i, m)
		}
		// s0 sends h1 data only, and has of its data nothing: all that may be granted. (Of its ACKs it does.)
		if m.vl == 3 && (m.fctbs != m.came || m.fccl != 2048) || m.vl == 6 && m.fctbs != 0 {
			t.Errorf("message %d: %+v", i, m)
		}
		if i < 2 {
			continue
		}
		switch gap := m.at - seen[i-2].at; {
		case gap > 200*vtime.Microsecond:
			rests++
		case gap < 39*vtime.Microsecond || gap > 41*vtime.Microsecond:
			t.Errorf("message %d is %v after the one before", i, gap)
		}
	}
	if rests != 2 { // of both priorities
		t.Errorf("the timers rested %d times", rests)
	}
}

// Ports' phases are spread evenly over the period.
func TestCreditPhases(t *testing.T) {
	const period = 40 * vtime.Microsecond
	c := &cbfc{period: slices.Repeat([]vtime.Time{period}, 3000)}
	for _, ports := range []int{8, 100, 3000} {
		bins := make([]int, 8)
		for p := range ports {
			phase := c.phase(p)
			if phase < 0 || phase >= period {
				t.Fatalf("port %d: phase %v", p, phase)
			}
			bins[phase*8/period]++
		}
		for _, n := range bins {
			if n < ports/8-1 || n > ports/8+2 {
				t.Errorf("%d ports: %v", ports, bins)
				break
			}
		}
	}
}

// TestCreditInvariantsCatchWrongs injects one wrong at a time, as TestInvariantsCatchWrongs does.
func TestCreditInvariantsCatchWrongs(t *testing.T) {
	for _, c := range []struct {
		name, location string
		wrong          func(l *lab)
	}{
		{name: "nothing"},
		{"a block sent", "h0-eth1", func(l *lab) { l.state.Extras[l.port("h0", "s0")].Credit[3].Sent++ }},
		{"a block received", "h0-eth1", func(l *lab) { l.state.Extras[l.port("s0", "h0")].Credit[3].Received++ }},
		{"more sent than granted", "s0-eth1", func(l *lab) { l.state.Extras[l.port("s0", "h0")].Credit[3].Limit-- }},
		{
			"more buffered than there is room for", "s0-eth2",
			func(l *lab) { l.state.Ports[l.port("s0", "h1")].Class[3].Peak = 280_001 },
		},
		{"a message built", "s0-eth3", func(l *lab) { l.state.Extras[l.port("s0", "h2")].CreditsSent++ }},
		{"a message received", "h2-eth1", func(l *lab) { l.state.Extras[l.port("s0", "h2")].CreditsReceived++ }},
		{
			"a message that told of other blocks", "h2-eth1",
			func(l *lab) { l.state.Extras[l.port("h2", "s0")].CreditRepairs++ },
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLab(t, "rate: 40Gbps\ndelay: 1us\nstar: {hosts: 3}", labOptions{sw: byCredits(nil)})
			l.send("h0", "h2", 100_000, 0, 0)
			l.send("h1", "h2", 100_000, 0, 0)
			l.drive(0)
			if c.wrong != nil {
				// What the switch may send h0, who has sent all along, is what it was granted: nothing has been sent.
				l.state.Extras[l.port("s0", "h0")].Credit[3].Limit = 0
				l.state.Extras[l.port("s0", "h0")].Credit[3].Sent = 0
				c.wrong(l)
			}
			found := false
			for _, v := range l.Check() {
				found = found || v.Invariant == "credits add up" && v.Location == c.location
				if c.wrong == nil || v.Invariant != "credits add up" {
					t.Error(v)
				}
			}
			if c.wrong != nil && !found {
				t.Error("no invariant of that place is broken")
			}
		})
	}
}

// TestNoPauseUnderCredits: a PAUSE or RESUME of any port is a wrong where flow control goes by credits.
func TestNoPauseUnderCredits(t *testing.T) {
	for name, wrong := range map[string]func(p *ebpf.PortExtra){
		"PAUSE built":     func(p *ebpf.PortExtra) { p.PausesSent++ },
		"RESUME built":    func(p *ebpf.PortExtra) { p.ResumesSent++ },
		"PAUSE received":  func(p *ebpf.PortExtra) { p.PausesReceived++ },
		"RESUME received": func(p *ebpf.PortExtra) { p.ResumesReceived++ },
	} {
		l := newLab(t, "rate: 40Gbps\ndelay: 1us\nstar: {hosts: 2}", labOptions{sw: byCredits(nil)})
		l.send("h0", "h1", 10_000, 0, 0)
		l.drive(0)
		wrong(&l.state.Extras[l.port("s0", "h1")])
		if !slices.ContainsFunc(l.Check(), func(v Violation) bool { return v.Invariant == "every pause arrives" && v.Location == "s0-eth2" }) {
			t.Errorf("%s: no invariant is broken", name)
		}
	}
}

// TestTimersWakeAfterATime: each timer that rests has its first message at its port's first time after the given one,
// not at that.
func TestTimersWakeAfterATime(t *testing.T) {
	l := newLab(t, "rate: 40Gbps\ndelay: 1us\nstar: {hosts: 2}", labOptions{sw: byCredits(nil)})
	c := l.flowControl.(*cbfc)
	period, phase := c.period[1], c.phase(1)
	for _, now := range []struct{ after, want vtime.Time }{
		{phase - 1, phase},
		{phase, phase + period},
		{phase + 1, phase + period},
		{phase + 5*period, phase + 6*period},
	} {
		for port := range c.resting {
			c.resting[port] = port == 1
		}
		c.wake(&l.worker, now.after)
		if got := l.partitions[0].events.Pop(); got.Kind != uint8(eventCredit) || got.ID != 1 || got.At != now.want {
			t.Errorf("woken at %v: %+v, want %v", now.after, got, now.want)
		}
	}
}

// TestCreditsOfARepairedLink: the ports of a link that comes up know of each other what they know of a new one,
// whatever they knew before.
func TestCreditsOfARepairedLink(t *testing.T) {
	newly := func() *lab {
		return newLab(t, "rate: 40Gbps\ndelay: 1us\nstar: {hosts: 2}", labOptions{sw: byCredits(nil)})
	}
	l, fresh := newly(), newly()
	ends := [2]*port{&l.ports[l.port("h0", "s0")], &l.ports[l.port("s0", "h0")]}
	for _, p := range ends {
		l.state.Extras[p.id].Credit[3].Sent, l.state.Extras[p.id].Credit[3].Received = 17, 19
		l.state.Extras[p.id].Credit[3].Limit, l.state.Extras[p.id].Credit[3].Needed = 23, 29
	}
	if err := l.flowControl.(*cbfc).linkUp(&l.worker, ends); err != nil {
		t.Fatal(err)
	}
	for _, p := range ends {
		if got, want := l.state.Extras[p.id].Credit, fresh.state.Extras[p.id].Credit; got != want {
			t.Errorf("%s: %+v, want %+v", l.plan.Ports[p.id].Name, got, want)
		}
	}
}
