package hostagent

import (
	"slices"
	"testing"

	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/vtime"
)

const (
	us = vtime.Microsecond
	// line sets the bits per second of the tests' ports: a byte takes 200 ps.
	line     = 40e9
	bytePS   = 200
	mtu      = 1000
	overhead = 24
)

// pair holds two NICs of hosts h0, the sender, and h1, on no wire: the test carries the frames.
type pair struct {
	testing.TB
	now      vtime.Time
	from, to *NIC
	pool     *frame.Pool
	armed    map[*Sender]vtime.Time
	done     []int
	reports  []report
	flows    int
}

// headersOnly has the NICs send no payload. It comes before the first flow.
func (p *pair) headersOnly() {
	p.pool.HeadersOnly(true)
	p.from.HeadersOnly, p.to.HeadersOnly = true, true
}

// report represents a receiver's timer.
type report struct {
	receiver *Receiver
	at       vtime.Time
}

func (p *pair) Arm(s *Sender, at vtime.Time) { p.armed[s] = at }
func (p *pair) ArmReceiver(r *Receiver, at vtime.Time) {
	p.reports = append(p.reports, report{r, at})
}
func (p *pair) Frame(n int) *frame.Frame { return p.pool.Get(n) }
func (p *pair) Brief(n int, form *wire.Form, b wire.Brief) *frame.Frame {
	return p.pool.GetBrief(n, form, b)
}
func (p *pair) Worker() int                     { return 0 }
func (p *pair) Done(now vtime.Time, s *Sender)  { p.done = append(p.done, s.Flow) }
func (p *pair) Sent(vtime.Time, *Sender)        {}
func (p *pair) Delivered(vtime.Time, *Receiver) {}
func lineBytes(n int) int64                     { return int64(max(n, 60) + overhead) }
func newPair(t testing.TB, c func(*Settings)) *pair {
	s := Default()
	if c != nil {
		c(&s)
	}
	p := &pair{TB: t, pool: frame.NewPool(1200), armed: map[*Sender]vtime.Time{}}
	p.from, p.to = NewNIC(&s, p, mtu, lineBytes, new(Scratch)), NewNIC(&s, p, mtu, lineBytes, new(Scratch))
	return p
}

// start begins a flow from h0 to h1.
func (p *pair) start(size int64, c cc.Controller) (*Sender, *Receiver) {
	p.Helper()
	id := p.flows
	p.flows++
	forward := wire.FlowParams{
		SrcMAC: wire.MAC{2, 0, 0, 0, 0, 1}, DstMAC: wire.MAC{2, 0, 0, 0, 0, 2},
		Src: wire.Addr{10, 0, 0, 1}, Dst: wire.Addr{10, 0, 0, 2}, SrcPort: wire.MinEntropyPort + uint16(id),
		DestQP: uint32(id + 1), MTU: mtu, TOS: p.from.settings.DataTOS(),
		HeadersOnly: p.from.HeadersOnly,
	}
	r, err := p.to.Expect(id, forward.Reverse(forward.DestQP, wire.ControlTOS(p.to.settings.ACKPriority())), nil)
	if err != nil {
		p.Fatal(err)
	}
	r.Begin()
	s, err := p.from.Start(p.now, SenderConfig{Flow: id, Size: size, Controller: c, Wire: forward})
	if err != nil {
		p.Fatal(err)
	}
	return s, r
}

// pull takes the next frame of a NIC, nil if there is none now.
func (p *pair) pull(n *NIC) []byte {
	f, _ := n.Dequeue(p.now, 0)
	if f == nil {
		return nil
	}
	data := slices.Clone(f.Data())
	p.pool.Put(f)
	return data
}

// next takes the next data packet of h0, moving the clock on to when there is one.
func (p *pair) next() []byte {
	p.Helper()
	f, wake := p.from.Dequeue(p.now, 0)
	if f == nil && wake != vtime.Never {
		p.now = wake
		f, _ = p.from.Dequeue(p.now, 0)
	}
	if f == nil {
		p.Fatal("h0 has nothing to send")
	}
	data := slices.Clone(f.Data())
	p.pool.Put(f)
	return data
}

func (p *pair) parse(data []byte) wire.Packet {
	p.Helper()
	var w wire.Packet
	if err := wire.Parse(data, &w); err != nil {
		p.Fatal(err)
	}
	return w
}

// answers carries all that h1 wants to send to h0 and returns it.
func (p *pair) answers() []wire.Packet {
	p.Helper()
	var list []wire.Packet
	for data := p.pull(p.to); data != nil; data = p.pull(p.to) {
		w := p.parse(data)
		list = append(list, w)
		p.from.Receive(p.now, whole(data))
	}
	return list
}

// until moves the clock on, with the receivers' timers in the order of their times, and carries what they lead to.
func (p *pair) until(end vtime.Time) (answers []wire.Packet) {
	p.Helper()
	for len(p.reports) > 0 && p.reports[0].at <= end {
		due := p.reports[0]
		p.reports = p.reports[1:]
		p.now = due.at
		if due.receiver.Armed() == due.at {
			due.receiver.OnTimer(p.now)
		}
		answers = append(answers, p.answers()...)
	}
	p.now = end
	return answers
}

// mark sets congestion experienced on a data packet, as a switch does.
func mark(data []byte) []byte {
	wire.IPv4(data[wire.EthernetLen:]).SetECN(wire.CE)
	return data
}

// recording implements a controller that records its calls.
type recording struct {
	cc.Base
	rate   float64
	window int64
	moves  bool // what Retimes says
	acks   []cc.Sample
	cnps   []cc.Sample
	cnms   []cc.Sample
	naks   []vtime.Time
	late   []vtime.Time
	sent   int64
	alarm  vtime.Time
	rang   []vtime.Time
}

func newRecording() *recording                  { return &recording{rate: line, alarm: vtime.Never} }
func (c *recording) Rate() float64              { return c.rate }
func (c *recording) Retimes() bool              { return c.moves }
func (c *recording) Window() int64              { return c.window }
func (c *recording) OnSent(_ vtime.Time, n int) { c.sent += int64(n) }
func (c *recording) OnAck(s *cc.Sample) {
	kept := *s
	kept.Hops = slices.Clone(s.Hops)
	c.acks = append(c.acks, kept)
}
func (c *recording) OnCNP(s *cc.Sample)     { c.cnps = append(c.cnps, *s) }
func (c *recording) OnCNM(s *cc.Sample)     { c.cnms = append(c.cnms, *s) }
func (c *recording) OnNak(t vtime.Time)     { c.naks = append(c.naks, t) }
func (c *recording) OnTimeout(t vtime.Time) { c.late = append(c.late, t) }
func (c *recording) Deadline() vtime.Time   { return c.alarm }
func (c *recording) OnTimer(t vtime.Time)   { c.rang, c.alarm = append(c.rang, t), vtime.Never }

// whole returns a frame with these bytes.
func whole(data []byte) *frame.Frame {
	f := frame.NewPool(len(data)).Get(len(data))
	copy(f.Data(), data)
	return f
}
