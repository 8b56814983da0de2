package engine

import (
	"slices"
	"testing"

	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/orchestrator/engine/paths"
	"github.com/pausenet/pausenet/orchestrator/engine/plane"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// message adds a send, a receive and the flow between them; each waits for some operations.
func (l *lab) message(from, to string, size int64, afterSend, afterReceive []Wait) (send, receive, flow int) {
	l.Helper()
	send = l.AddOperation(OperationConfig{Host: l.node(from).ID, Kind: OperationSend}, afterSend...)
	receive = l.AddOperation(OperationConfig{Host: l.node(to).ID, Kind: OperationReceive}, afterReceive...)
	return send, receive, l.flowOf(from, to, size, send, receive)
}

func (l *lab) flowOf(from, to string, size int64, send, receive int) int {
	l.Helper()
	rate := l.plan.Ports[l.node(from).Ports[0]].Rate
	return l.AddFlow(FlowConfig{
		Source: l.node(from).ID, Destination: l.node(to).ID, Size: size, Send: int32(send) + 1, Receive: int32(receive) + 1,
		Ports:         paths.Ports{Source: wire.MinEntropyPort + uint16(len(l.Flows()))},
		NewController: func(int) (cc.Controller, error) { return cc.Constant(float64(rate)), nil },
	})
}

func (l *lab) compute(host string, d vtime.Time, unit int, after ...Wait) int {
	l.Helper()
	return l.AddOperation(OperationConfig{Host: l.node(host).ID, Duration: d, Unit: unit}, after...)
}

// span wants an operation to begin and end at given times.
func (l *lab) span(what string, id int, began, ended vtime.Time) {
	l.Helper()
	if b, e := l.Operation(id); b != began || e != ended {
		l.Errorf("%s: from %v to %v, want %v to %v", what, b, e, began, ended)
	}
}

// TestOperations: what waits begins as the last of what it waits for happens, to the picosecond. A packet of 1000 bytes
// payload is a frame of 1058 bytes (Ethernet 14, IPv4 20, UDP 8, BTH 12, ICRC 4), the first of a message has 16 more of
// RETH (IBTA 9.2), and a wire takes 24 more (FCS 4, preamble 8, gap 12: IEEE 802.3 clause 4). An ACK has AETH (4) in
// place of the payload: 62 bytes; with FCS 66, on the wire 86.
func TestOperations(t *testing.T) {
	l := newLab(t, "rate: 40Gbps\ndelay: 1us\nstar: {hosts: 4}", labOptions{})
	line := func(frame int64) vtime.Time { return (40 * units.Gbps).TimeFor(frame + 24) }
	const (
		only = 14 + 20 + 8 + 12 + 16 + 1000 + 4
		ack  = 14 + 20 + 8 + 12 + 4 + 4
		us   = vtime.Microsecond
	)
	way := func(frame int64) vtime.Time { return 2 * (line(frame) + us) } // two links
	first := l.compute("h0", 5*us, 0)
	send, receive, flow := l.message("h0", "h1", 1000, []Wait{{first, UntilEnded}}, nil)
	arrived := 5*us + way(only)
	think := l.compute("h1", 3*us, 0, Wait{receive, UntilEnded})
	back, got, answer := l.message("h1", "h2", 1000, []Wait{{think, UntilEnded}}, nil)
	acked := l.compute("h0", us, 0, Wait{send, UntilEnded})
	both := l.compute("h0", 0, 0, Wait{send, UntilSent}, Wait{first, UntilStarted})
	late := l.AddOperation(OperationConfig{Host: l.node("h2").ID, Kind: OperationReceive},
		Wait{l.compute("h2", 50*us, 0), UntilEnded})
	l.flowOf("h3", "h2", 1000, l.AddOperation(OperationConfig{Host: l.node("h3").ID, Kind: OperationSend}), late)
	nothing := l.AddOperation(OperationConfig{Host: l.node("h2").ID, Kind: OperationSend}, Wait{late, UntilEnded})
	last := l.compute("h3", 100*us, 0)
	l.run(0)

	l.span("the first compute", first, 0, 5*us)
	l.span("the send", send, 5*us, arrived+way(ack))
	l.span("the receive", receive, 0, arrived)
	l.span("a join that waits for the last packet's leaving", both, 5*us, 5*us)
	l.span("what computes after the acknowledgement", acked, arrived+way(ack), arrived+way(ack)+us)
	l.span("what computes after the message", think, arrived, arrived+3*us)
	l.span("the answer", back, arrived+3*us, arrived+3*us+way(only)+way(ack))
	l.span("its receive", got, 0, arrived+3*us+way(only))
	l.span("a receive that waits for more than its message", late, 50*us, 50*us)
	l.span("a send without a flow", nothing, 50*us, 50*us)
	l.span("what is left as all else has ended", last, 0, 100*us)
	if flows := l.Flows(); flows[flow].Start != 5*us || flows[answer].Start != arrived+3*us {
		t.Errorf("the flows started at %v and %v", flows[flow].Start, flows[answer].Start)
	}
	if l.OpenOperations() != 0 || l.Now() != 100*us {
		t.Errorf("%d operations are open at %v", l.OpenOperations(), l.Now())
	}
}

// TestUnits: a unit does one operation after the other, in the order in which they could begin.
func TestUnits(t *testing.T) {
	const us = vtime.Microsecond
	l := newLab(t, "star: {hosts: 2}", labOptions{})
	gate := l.compute("h0", us, 0)
	c := l.compute("h0", 4*us, 1, Wait{gate, UntilEnded})
	a := l.compute("h0", 3*us, 1)
	b := l.compute("h0", 2*us, 1)
	other := l.compute("h0", us, 2)
	elsewhere := l.compute("h1", us, 1)
	l.run(0)
	l.span("the first", a, 0, 3*us)
	l.span("the second", b, 3*us, 5*us)
	l.span("the third", c, 5*us, 9*us)
	l.span("another unit's", other, 0, us)
	l.span("another host's", elsewhere, 0, us)
}

// TestFlowsOfOneMessage: a message of several flows has been sent, delivered and acknowledged when all have.
func TestFlowsOfOneMessage(t *testing.T) {
	l := newLab(t, "star: {hosts: 3}", labOptions{})
	send, receive, first := l.message("h0", "h1", 3000, nil, nil)
	second := l.flowOf("h0", "h1", 9000, send, receive)
	sent := l.compute("h0", 0, 0, Wait{send, UntilSent})
	l.run(0)
	flows := l.Flows()
	_, ended := l.Operation(send)
	if ended != max(flows[first].Finished, flows[second].Finished) {
		t.Errorf("the send ended at %v, its flows at %v and %v", ended, flows[first].Finished, flows[second].Finished)
	}
	_, delivered := l.Operation(receive)
	left, _ := l.Operation(sent)
	if !(0 < left && left < delivered && delivered < ended) {
		t.Errorf("sent at %v, delivered at %v, acknowledged at %v", left, delivered, ended)
	}
}

// TestOperationsThatNeverBegin: a cycle of waits, and what waits for it, is left as all else has ended. The run ends.
func TestOperationsThatNeverBegin(t *testing.T) {
	l := newLab(t, "star: {hosts: 2}", labOptions{})
	a := l.compute("h0", vtime.Microsecond, 0, Wait{1, UntilEnded})
	b := l.compute("h0", vtime.Microsecond, 0, Wait{a, UntilEnded})
	_, _, flow := l.message("h0", "h1", 1000, []Wait{{b, UntilStarted}}, nil)
	l.send("h1", "h0", 5000, 0, 0)
	if err := l.Run(vtime.Millisecond, vtime.Second, nil); err != nil {
		t.Fatal(err)
	}
	if l.OpenOperations() != 4 || l.OpenFlows() != 1 || l.Flows()[flow].Started() || l.Pending() != 0 {
		t.Errorf("%d operations and %d flows are open, %d pending", l.OpenOperations(), l.OpenFlows(), l.Pending())
	}
}

// TestOperationsOnBothPlanes: messages and computes at the same times, and one fingerprint.
func TestOperationsOnBothPlanes(t *testing.T) {
	var want []string
	for _, name := range []string{plane.Wasm, plane.Kernel} {
		t.Run(name, func(t *testing.T) {
			c := workersCase{seed: 8, controller: "dcqcn", lossless: true, plane: name}
			got := c.run(t, 1)
			if want == nil {
				want = got
			}
			if !slices.Equal(got, want) {
				t.Errorf("the planes differ: %d lines, %d by the wasm plane", len(got), len(want))
			}
		})
	}
}

// TestWrongOperation: a flow from or to another host than its operation's, and a flow beyond the most that a send may
// have, are refused.
func TestWrongOperation(t *testing.T) {
	l := newLab(t, "rate: 40Gbps\ndelay: 1us\nstar: {hosts: 4}", labOptions{})
	refused := func(what, from, to string, send, receive int) {
		t.Helper()
		defer func() {
			if recover() == nil {
				t.Errorf("%s was accepted", what)
			}
		}()
		l.flowOf(from, to, 1000, send, receive)
	}
	send, receive, _ := l.message("h0", "h1", 1000, nil, nil)
	refused("a flow from another host", "h2", "h1", send, receive)
	_, other, _ := l.message("h3", "h2", 1000, nil, nil)
	refused("a flow to another host", "h0", "h1", send, other)
	send, receive, _ = l.message("h0", "h1", 1000, nil, nil)
	for range mostFlows - 1 {
		l.flowOf("h0", "h1", 1000, send, receive)
	}
	refused("one flow more than a send may have", "h0", "h1", send, receive)
}
