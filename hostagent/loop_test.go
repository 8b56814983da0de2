package hostagent

import (
	"container/heap"
	"testing"

	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// loop is one flow from h0 to h1 through one switch, closed: what the switch does to packets by its queue comes back
// to the flow's controller. There is no PAUSE; the switch's buffer has no end.
//
//	h0 --40 Gb/s, 9 us-- switch --port rate, 9 us-- h1, and 18 us back for what h1 says
type loop struct {
	testing.TB
	pool     *frame.Pool
	from, to *NIC
	sender   *Sender
	receiver *Receiver
	needs    cc.SwitchNeeds

	now    vtime.Time
	events loopEvents
	order  int

	free      vtime.Time // when h0's port is
	answersAt vtime.Time
	wakeAt    vtime.Time // of h0's next look at its NIC
	port      units.Rate // of the switch towards h1
	portFree  vtime.Time
	queued    int64 // bytes of line in the switch's queue
	deepest   int64
	sent      int64 // bytes by the switch's port
	red       uint64
	lastCNM   vtime.Time
	resumed   vtime.Time // when a pause of the switch's port ended
}

const (
	loopHop  = 9 * us
	loopBack = 2 * loopHop
	// undetermined sets how long after a pause a switch cannot tell the cause of its queue (TCD's T_max).
	undetermined = 100 * us
)

type loopEvent struct {
	at    vtime.Time
	order int
	do    func()
}

type loopEvents []loopEvent

func (h loopEvents) Len() int { return len(h) }
func (h loopEvents) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].order < h[j].order
}
func (h loopEvents) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *loopEvents) Push(x any)   { *h = append(*h, x.(loopEvent)) }
func (h *loopEvents) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}

func (l *loop) at(t vtime.Time, do func()) {
	l.order++
	heap.Push(&l.events, loopEvent{t, l.order, do})
}

func (l *loop) Arm(s *Sender, at vtime.Time) {
	l.at(max(at, l.now), func() {
		if s.Armed() <= l.now {
			s.OnTimer(l.now)
			l.pull()
		}
	})
}

func (l *loop) ArmReceiver(r *Receiver, at vtime.Time) {
	l.at(at, func() {
		if r.Armed() == l.now {
			r.OnTimer(l.now)
			l.answer()
		}
	})
}

func (l *loop) Done(vtime.Time, *Sender) {}

func (l *loop) Sent(vtime.Time, *Sender) {}

func (l *loop) Delivered(vtime.Time, *Receiver) {}

func (l *loop) Worker() int { return 0 }

func (l *loop) Frame(n int) *frame.Frame { return l.pool.Get(n) }
func (l *loop) Brief(n int, form *wire.Form, b wire.Brief) *frame.Frame {
	return l.pool.GetBrief(n, form, b)
}

// newLoop starts an unbounded flow under the named controller, with the host settings that it requires.
func newLoop(t testing.TB, name string) *loop {
	spec, err := cc.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	s := Default()
	s.INT, s.Ternary, s.Grants = spec.Needs.INT, spec.Needs.TCD, spec.Needs.Grants
	if spec.Needs.PCN {
		s.Notify = NotifyPCN
	}
	l := &loop{
		TB: t, pool: frame.NewPool(1200), needs: spec.Needs, wakeAt: vtime.Never, answersAt: vtime.Never,
		lastCNM: longAgo, resumed: longAgo, red: 1,
	}
	l.pool.HeadersOnly(spec.Needs.INT)
	l.from, l.to = NewNIC(&s, l, mtu, lineBytes, new(Scratch)), NewNIC(&s, l, mtu, lineBytes, new(Scratch))
	l.from.HeadersOnly, l.to.HeadersOnly = true, true
	l.to.Rate = line // of its own port: the narrow one is on the way
	// 18 us there, 18 back, two serialisations of a packet and none of an ACK.
	env := cc.Env{
		LineRate: line, BaseRTT: 4*loopHop + 2*216*vtime.Nanosecond, MTU: mtu,
		LineMTU: lineBytes(dataFrame(mtu, false)),
	}
	settings, err := cc.Resolve(name, nil, env)
	if err != nil {
		t.Fatal(err)
	}
	controller, err := spec.New(env, settings)
	if err != nil {
		t.Fatal(err)
	}
	forward := wire.FlowParams{
		Src: wire.Addr{10, 0, 0, 1}, Dst: wire.Addr{10, 0, 0, 2}, SrcPort: wire.MinEntropyPort, DestQP: 1, TOS: s.DataTOS(),
		HeadersOnly: true,
	}
	if l.receiver, err = l.to.Expect(0, forward.Reverse(1, wire.ControlTOS(6)), nil); err != nil {
		t.Fatal(err)
	}
	if by, ok := controller.(cc.ByGrants); ok {
		l.receiver.GrantBy(by)
	}
	l.receiver.Begin()
	if l.sender, err = l.from.Start(0, SenderConfig{Controller: controller, Wire: forward}); err != nil {
		t.Fatal(err)
	}
	l.pull()
	return l
}

// pull has h0 send if its port is free.
func (l *loop) pull() {
	look := func(at vtime.Time) {
		if at < l.wakeAt {
			l.wakeAt = at
			l.at(at, func() {
				if l.wakeAt == l.now {
					l.wakeAt = vtime.Never
					l.pull()
				}
			})
		}
	}
	if l.now < l.free {
		look(l.free)
		return
	}
	f, wake := l.from.Dequeue(l.now, 0)
	if f == nil {
		if wake != vtime.Never {
			look(wake)
		}
		return
	}
	l.free = l.now + vtime.Time(bytePS*lineBytes(int(f.Length)))
	l.at(l.free+loopHop, func() { l.enqueue(f) })
	look(l.free)
}

// enqueue puts a packet into the switch's queue; it leaves in its turn.
func (l *loop) enqueue(f *frame.Frame) {
	n := lineBytes(int(f.Length))
	l.queued += n
	l.deepest = max(l.deepest, l.queued)
	if l.needs.CNM && l.queued >= 320_000 && l.now-l.lastCNM >= 50*us {
		l.lastCNM = l.now
		cnm := l.pool.Get(wire.CNMLen)
		wire.PutCNM(cnm.Data(), wire.MAC{}, wire.MAC{}, l.sender.flowID, 1, uint32(l.port/units.Mbps))
		l.at(l.now+loopHop, func() { l.deliver(cnm) })
	}
	start := max(l.now, l.portFree)
	l.portFree = start + l.port.TimeFor(n)
	leaves := l.portFree
	l.at(start, func() { l.leave(f, n) })
	l.at(leaves+loopHop, func() {
		l.to.Receive(l.now, f)
		l.pool.Put(f)
		l.answer()
	})
}

// leave runs what the switch does to a packet that leaves its queue.
func (l *loop) leave(f *frame.Frame, n int64) {
	l.queued -= n
	mark := false
	switch {
	case l.needs.TCD && l.now-l.resumed < undetermined:
		wire.IPv4(f.Data()[wire.EthernetLen:]).SetECN(max(wire.UE, wire.IPv4(f.Data()[wire.EthernetLen:]).ECN()))
	case l.needs.PCN:
		mark = l.queued > 0
	case l.needs.ECNStep:
		mark = l.queued > 120_000
	case l.needs.ECN: // RED from 5 to 200 KB, up to 1 %
		l.red = l.red*6364136223846793005 + 1442695040888963407
		p := float64(l.queued-5000) / 195_000 * 0.01
		mark = l.queued > 200_000 || float64(l.red>>11)/(1<<53) < p
	}
	if mark {
		wire.IPv4(f.Data()[wire.EthernetLen:]).SetECN(wire.CE)
	}
	if l.needs.INT {
		var p wire.Packet
		if wire.ParseHeaders(f.Data(), int(f.Length), &p) != nil || p.INT() == nil {
			l.Fatal("a packet without telemetry")
		}
		p.INT().Stamp(0x123, wire.INTHop{Rate: l.port, Departed: l.now, TxBytes: l.sent, QueueBytes: l.queued})
	}
	l.sent += n
}

// answer carries what h1 has to say.
func (l *loop) answer() {
	f, wake := l.to.Dequeue(l.now, 0)
	for ; f != nil; f, wake = l.to.Dequeue(l.now, 0) {
		answer := f
		l.at(l.now+loopBack, func() { l.deliver(answer) })
	}
	if wake < l.answersAt {
		l.answersAt = wake
		l.at(wake, func() {
			l.answersAt = vtime.Never
			l.answer()
		})
	}
}

func (l *loop) deliver(f *frame.Frame) {
	l.from.Receive(l.now, f)
	l.pool.Put(f)
	l.pull()
}

// run goes on until the given time, or until the condition holds, and says whether it does.
func (l *loop) run(until vtime.Time, done func() bool) bool {
	for len(l.events) > 0 && l.events[0].at <= until {
		e := heap.Pop(&l.events).(loopEvent)
		l.now = e.at
		e.do()
		if done != nil && done() {
			return true
		}
	}
	l.now = until
	return false
}

// TestEveryControllerInTheLoop: under a port of a quarter of the line's rate every controller comes to use most of it
// without an ever longer queue, and when the port is as fast as the line again it comes back to the line's rate.
func TestEveryControllerInTheLoop(t *testing.T) {
	const (
		narrow = 10 * units.Gbps
		settle = 20 * vtime.Millisecond
		look   = 10 * vtime.Millisecond
		// Recovery takes DCQCN 30 Gb/s by 40 Mb/s in 55 us at least: 41 ms.
		timeout = 300 * vtime.Millisecond
	)
	for _, name := range cc.Names() {
		names := []string{name}
		if spec, _ := cc.Lookup(name); !spec.HasWindow {
			names = append(names, name+"+win")
		}
		for _, name := range names {
			t.Run(name, func(t *testing.T) {
				l := newLoop(t, name)
				l.port = narrow
				l.run(settle, nil)
				delivered := l.receiver.Delivered
				l.deepest = l.queued
				l.run(settle+look, nil)
				share := float64(l.receiver.Delivered-delivered) * 8 / look.Seconds() / float64(narrow)
				rate := l.sender.Rate()
				t.Logf("%4.1f %% of the port, rate %.3f Gbps, queue up to %d KB", 100*share, rate/1e9, l.deepest/1000)
				if name == "none" { // nothing holds it back
					return
				}
				if share < 0.6 || share > 1 {
					t.Errorf("%g of the port is used", share)
				}
				if l.deepest > 1_000_000 {
					t.Errorf("a queue of %d B", l.deepest)
				}
				// A window may hold the flow back where its rate does so but a little.
				limit := 1.5 * float64(narrow)
				if spec, _ := cc.Lookup(name); spec.HasWindow {
					limit = 0.9 * line
				}
				if name == "nscc" || name == "rccc" { // the window alone, or grants alone
					limit = line
				}
				if name != "none+win" && rate > limit {
					t.Errorf("a rate of %g through a port of %v", rate, narrow)
				}
				l.port = line
				if !l.run(l.now+timeout, func() bool {
					return l.sender.Rate() >= 0.9*line && l.sender.Sent()-l.sender.Acked() > 100*mtu
				}) {
					t.Errorf("at %v the rate is %g", l.now, l.sender.Rate())
				}
				t.Logf("back at %.3f Gbps after %v", l.sender.Rate()/1e9, l.now-settle-look)
			})
		}
	}
}

// TestHPCCFillsEta: of a port of 1124 B for each 1000 B of payload HPCC fills 95 %, with next to nothing in the
// queue.
func TestHPCCFillsEta(t *testing.T) {
	l := newLoop(t, "hpcc")
	l.port = 10 * units.Gbps
	l.run(5*vtime.Millisecond, nil)
	delivered := l.receiver.Delivered
	l.deepest = l.queued
	l.run(15*vtime.Millisecond, nil)
	share := float64(l.receiver.Delivered-delivered) * 8 / 0.01 / 10e9
	if want := 0.95 * 1000 / 1124; share < want-0.01 || share > want+0.01 || l.deepest > 5000 {
		t.Errorf("%g of the port, want %g; a queue of %d B", share, want, l.deepest)
	}
}

// TestPausesAreNotCongestion: a flow whose packets waited through a pause of the switch's port slows down for it, as
// their RTTs and the queue that they find say; told by ternary marks that the pause may be why, it does not.
func TestPausesAreNotCongestion(t *testing.T) {
	const pause, until = 5 * vtime.Millisecond, 5300 * us
	for name, slows := range map[string]bool{
		"dcqcn": true, "dcqcn+tcd": false, "timely": true, "timely+tcd": false, "dcqcn+win": true, "dcqcn+tcd+win": false,
	} {
		l := newLoop(t, name)
		l.port = line
		l.run(pause, nil)
		before := l.sender.Rate()
		l.portFree, l.resumed = until, until
		l.run(until+undetermined, nil)
		if after := l.sender.Rate(); after < before != slows {
			t.Errorf("%s: a rate of %g, then %g", name, before, after)
		}
		if name == "dcqcn+tcd" && (l.to.Undetermined == 0 || l.from.CNPsReceived == 0 || l.to.Marked != 0) {
			t.Errorf("%s: %+v", name, l.to.Counters)
		}
	}
}
