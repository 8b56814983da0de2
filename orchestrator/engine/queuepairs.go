package engine

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/hostagent/qp"
	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/orchestrator/engine/paths"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/vtime"
)

// PairConfig describes a queue pair of a program.
type PairConfig struct {
	Interface int // index of the NIC
	Program   qp.Program
	// SendDepth and ReceiveDepth set the capacities of its queues in work requests: 1..qp.MaxDepth, and 0..qp.MaxDepth.
	SendDepth, ReceiveDepth int
	Receives                *qp.ReceiveQueue // a shared receive queue; nil: one of its own
	SignalAll               bool             // every work request has a completion
}

// Pair represents a queue pair of a program. While it is connected, Flows contains it as a flow to the host at its
// other end. Call its methods between two events.
type Pair struct {
	engine      *Engine
	queue       *qp.QueuePair
	port        *port
	flow        int // index in Flows; -1: it is not connected
	connections int // number of times that it has been connected
}

// pairs holds the queue pairs of programs.
type pairs struct {
	open    map[uint32]*Pair // by number
	made    uint32
	devices map[int]*qp.Device // by interface
}

// device returns the device of an interface.
func (p *pairs) device(index int, nic *hostagent.NIC) *qp.Device {
	d := p.devices[index]
	if d == nil {
		if p.devices == nil {
			p.devices = map[int]*qp.Device{}
		}
		d = qp.NewDevice(nic)
		p.devices[index] = d
	}
	return d
}

// firstPair numbers the first queue pair of a program. Numbers of flows' queue pairs are below.
const firstPair = 1 << 23

// OpenPair opens a queue pair, in qp.StateReset. It returns an error if the fabric does not support queue pairs.
func (e *Engine) OpenPair(c PairConfig) (*Pair, error) {
	switch {
	case e.divided():
		return nil, errors.New("queue pairs of programs need a fabric of one partition: a live one")
	case !e.plane.CarriesPayload():
		return nil, fmt.Errorf("queue pairs of programs need frames with payload, which the %s plane has not got",
			e.plane.Name())
	case e.hosts.Recovery == hostagent.SelectiveRepeat:
		return nil, errors.New("queue pairs of programs repair losses by go-back-N alone: bring the fabric up without " +
			"recovery: selective")
	}
	own, err := e.pairConfig(&c)
	if err != nil {
		return nil, err
	}
	q, err := e.pairs.device(c.Interface, e.nics[c.Interface]).NewPair(own)
	if err != nil {
		return nil, err
	}
	p := &Pair{engine: e, queue: q, port: e.hostPort(c.Interface), flow: -1}
	if e.pairs.open == nil {
		e.pairs.open = map[uint32]*Pair{}
	}
	e.pairs.open[own.Number] = p
	return p, nil
}

// pairConfig returns a NIC's configuration of a queue pair, with an unused number. It starts the engine.
func (e *Engine) pairConfig(c *PairConfig) (own qp.Config, err error) {
	if c.Interface < 0 || c.Interface >= len(e.nics) {
		return own, fmt.Errorf("there is no interface %d: there are %d", c.Interface, len(e.nics))
	}
	number, err := e.pairNumber()
	if err != nil {
		return own, err
	}
	e.Start()
	return qp.Config{
		Number: number, Program: c.Program, SendDepth: c.SendDepth, ReceiveDepth: c.ReceiveDepth, Receives: c.Receives,
		SignalAll: c.SignalAll,
	}, nil
}

// pairNumber returns an unused queue pair number.
func (e *Engine) pairNumber() (uint32, error) {
	// limit: the last number is for multicast groups (IBTA volume 1 section 3.5.10)
	const numbers = 1<<24 - 1 - firstPair
	if len(e.pairs.open)+len(e.datagrams) >= numbers/2 {
		return 0, errors.New("there are too many queue pairs")
	}
	for {
		number := firstPair + e.pairs.made%numbers
		e.pairs.made++
		if e.pairs.open[number] == nil && e.datagrams[number] == nil {
			return number, nil
		}
	}
}

// Number returns its number, which is unique.
func (p *Pair) Number() uint32 { return p.queue.Number }

// State returns its state.
func (p *Pair) State() qp.State { return p.queue.State() }

// Queue returns the queue pair itself, which callers may only read.
func (p *Pair) Queue() *qp.QueuePair { return p.queue }

// Init allows receive requests: RESET becomes INIT.
func (p *Pair) Init() error { return p.queue.Init() }

// Ready connects it, so that it receives: INIT becomes RTR. The source of flow must be its own host.
func (p *Pair) Ready(r qp.Remote, flow FlowConfig) error {
	e := p.engine
	port, back := &e.plan.Ports[flow.sourcePort(e.plan)], &e.plan.Ports[flow.destinationPort(e.plan)]
	switch {
	case p.queue.State() != qp.StateInit:
		return qp.ErrState
	case int32(port.ID) != p.port.id:
		return fmt.Errorf("the queue pair is at %s, not at %s", e.plan.Ports[p.port.id].Name, port.Name)
	case r.QP > wire.PSNMask:
		return fmt.Errorf("queue pair %#x does not fit in 24 bits", r.QP)
	}
	hosts := cmp.Or(flow.Hosts, e.hosts)
	forward := wire.FlowParams{
		Version: r.IP, SrcMAC: port.MAC, DstMAC: e.plan.Ports[port.Peer].MAC, Src: e.plan.Address(port.ID).As4(),
		Dst:     e.plan.Address(back.ID).As4(),
		SrcPort: flow.Ports.Source, ID: flow.Ports.Destination, DestQP: r.QP, MTU: e.plan.MTU, TOS: hosts.DataTOS(),
	}
	answers := forward
	answers.TOS = wire.ControlTOS(hosts.ACKPriority())
	flow.Size, flow.Start, flow.Send, flow.Receive = 0, e.now, 0, 0
	id := e.addFlowSlot(flow)
	e.constructing = int32(id) + 1
	controller, err := flow.NewController(id)
	e.constructing = 0
	if err == nil {
		err = p.queue.Connect(e.now, r, hostagent.SenderConfig{
			Flow: id, Controller: controller, Wire: forward,
			Settings: flow.Hosts,
		}, answers)
	}
	if err != nil {
		e.freeSlot(int32(id))
		return err
	}
	f := &e.flows[id]
	p.flow = id
	p.connections++
	f.Pair, f.Sender = p.queue, p.queue.Sender()
	if f.RTT != nil {
		f.Sender.RTT = f.RTT(id)
	}
	f.NewController, f.RTT = nil, nil
	e.startedFlows = append(e.startedFlows, int32(id))
	return nil
}

// Send allows send requests: RTR becomes RTS.
func (p *Pair) Send(r qp.Requester) error { return p.queue.Start(r) }

// PostSend appends a copy of a work request to the send queue. In ERROR it is completed at once.
func (p *Pair) PostSend(w *qp.WorkRequest) error {
	err := p.queue.PostSend(p.engine.now, w)
	if err == nil {
		p.engine.mustServe(p.port)
	}
	return err
}

// PostReceive appends a copy of a receive request to its own receive queue. In ERROR it is completed at once.
func (p *Pair) PostReceive(w *qp.ReceiveRequest) error { return p.queue.PostReceive(w) }

// Fail puts it into ERROR: all that has not been completed is flushed.
func (p *Pair) Fail() { p.queue.Fail(p.engine.now) }

// Reset returns it to RESET, and completes nothing.
func (p *Pair) Reset() {
	p.disconnect()
	p.queue.Reset()
}

// Close closes it, and completes nothing. Its program is not called again.
func (p *Pair) Close() {
	p.Reset()
	delete(p.engine.pairs.open, p.Number())
}

// disconnect ends its flow.
func (p *Pair) disconnect() {
	if p.flow < 0 {
		return
	}
	e := p.engine
	e.checkPair(p)
	f := &e.flows[p.flow]
	f.Size = p.queue.Delivered()
	f.Finished, f.timerAt = e.now, vtime.Never
	e.keepControlError(f)
	f.past.delivered, f.past.retransmitted, f.past.lastRTT = f.Size, f.Sender.Retransmitted, f.Sender.LastRTT
	f.Sender, f.Pair = nil, nil
	e.finishedFlows = append(e.finishedFlows, int32(p.flow))
	p.flow = -1
}

// peer returns the queue pair at the other end; nil unless both are connected to each other for the first time, and use
// the same first PSN. Programs may set wrong values.
func (p *Pair) peer() *Pair {
	q := p.queue
	o := p.engine.pairs.open[q.Remote.QP]
	if o == nil || p.flow < 0 || o.flow < 0 || p.connections != 1 || o.connections != 1 || o.queue.Remote.QP != q.Number ||
		q.Requester.PSN != o.queue.Remote.PSN ||
		p.engine.flows[p.flow].Destination != p.engine.flows[o.flow].Source ||
		p.engine.flows[o.flow].Destination != p.engine.flows[p.flow].Source {
		return nil
	}
	return o
}

// checkPair checks that a queue pair's data arrived exactly once, and that no packet arrived twice without a reason.
func (e *Engine) checkPair(p *Pair) {
	o := p.peer()
	if o == nil {
		return
	}
	a, b := &p.queue.Counts, &o.queue.Counts
	location := fmt.Sprintf("queue pair %#x, flow %d", p.Number(), e.flows[p.flow].Number)
	if b.BytesReceived < a.BytesAcked || b.BytesReceived > a.BytesSent {
		e.fail("flows arrive in order, exactly once", location, "%d bytes sent, %d delivered, %d acknowledged", a.BytesSent,
			b.BytesReceived, a.BytesAcked)
	}
	excuses := e.trimmedFrames()
	for _, n := range e.nics {
		excuses += n.Timeouts + n.RNRs
	}
	if e.Dropped+excuses == 0 && !e.rerouted && !e.plan.Moving() &&
		a.Retries+b.Retries+b.Duplicates+b.OutOfOrder != 0 {
		e.fail("flows arrive in order, exactly once", location, "%d packets came twice, %d out of order", b.Duplicates,
			b.OutOfOrder)
	}
}

// Datagrams represents a queue pair of a program that sends datagrams. They leave their host like programs' frames, and
// only queue pairs receive them. Call its methods between two events.
type Datagrams struct {
	*qp.Datagrams
	engine *Engine
	port   *port
}

// OpenDatagrams opens a queue pair for datagrams, in qp.StateReset.
func (e *Engine) OpenDatagrams(c PairConfig) (*Datagrams, error) {
	if !e.features.Live || !e.plane.CarriesPayload() {
		return nil, errors.New("datagrams of programs need a live fabric")
	}
	own, err := e.pairConfig(&c)
	if err != nil {
		return nil, err
	}
	p := e.hostPort(c.Interface)
	q, err := qp.NewDatagrams(own, e.mtuOf(p.id))
	if err != nil {
		return nil, err
	}
	d := &Datagrams{q, e, p}
	if e.datagrams == nil {
		e.datagrams = map[uint32]*Datagrams{}
	}
	e.datagrams[own.Number] = d
	return d, nil
}

// Number returns its number, which is unique.
func (d *Datagrams) Number() uint32 { return d.Datagrams.Number }

// PostSend sends a datagram in a priority, over a version of the Internet Protocol, to a queue pair of the host with
// port to. If its own host's queue is full, the datagram is lost.
func (d *Datagrams) PostSend(w *qp.WorkRequest, to topologies.PortID, ip wire.Version, number, qkey uint32,
	priority uint8,
) error {
	e := d.engine
	own, far := &e.plan.Ports[d.port.id], &e.plan.Ports[to]
	var f *frame.Frame
	err := d.Datagrams.PostSend(w, &qp.Destination{
		FlowParams: wire.FlowParams{
			Version: ip, SrcMAC: own.MAC, DstMAC: e.plan.Ports[own.Peer].MAC, Src: e.plan.Address(own.ID).As4(),
			Dst:     e.plan.Address(far.ID).As4(),
			SrcPort: paths.FirstPorts(uint64(d.Number())<<32 | uint64(number)).Source, DestQP: number,
			TOS: wire.ControlTOS(priority),
		},
		QKey: qkey,
	}, func(n int) []byte {
		f = e.pool.Get(n)
		return f.Data()
	})
	if f == nil {
		return err
	}
	f.Priority = priority
	f.MakeDatagram()
	o := d.port.hostStack
	if o.queues[f.Priority].Packets >= hostStackQueueLimit {
		o.HostDrops++
		e.pool.Put(f)
		return nil
	}
	o.push(f)
	e.mustServe(d.port)
	return nil
}

// Close closes it, and completes nothing. Its program is not called again.
func (d *Datagrams) Close() {
	d.Reset()
	delete(d.engine.datagrams, d.Number())
}
