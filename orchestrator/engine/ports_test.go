package engine

import (
	"fmt"
	"testing"

	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/orchestrator/engine/paths"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/vtime"
)

// twoRails describes hosts with a port at each of two switches, of 100 and 25 Gb/s.
const twoRails = `delay: 2us
nodes: [{name: s0..s1, kind: switch}, {name: h0..h3, kind: host}]
links: [{from: h0..h3, to: s0, rate: 100Gbps}, {from: h0..h3, to: s1, rate: 25Gbps}]`

// sendBy adds a flow by a pair of interfaces, paced at its port's line rate.
func (l *lab) sendBy(from, to string, pair topologies.Pair, size int64) int {
	l.Helper()
	rate := float64(l.plan.Ports[l.node(from).Ports[pair.From]].Rate)
	return l.AddFlow(FlowConfig{
		Source: l.node(from).ID, Destination: l.node(to).ID, Size: size,
		Ports:         paths.Ports{Pair: pair, Source: wire.MinEntropyPort + uint16(len(l.Flows()))},
		NewController: func(int) (cc.Controller, error) { return cc.Constant(rate), nil },
	})
}

// TestFlowOverEachInterface: a flow alone on a rail takes the time of its frames over that rail's two links, to the
// picosecond, and what one rail carries is no matter to the other.
func TestFlowOverEachInterface(t *testing.T) {
	const size = 50_000
	l := newLab(t, twoRails, labOptions{})
	psPerByte := []int64{80, 320} // of the rails
	for rail := range psPerByte {
		l.sendBy("h0", "h1", topologies.Pair{From: uint8(rail), To: uint8(rail)}, size)
	}
	l.run(0)
	for rail, ps := range psPerByte {
		var at, first, second int64 // when the first and the second link have sent the frame
		for _, n := range framesOf("ethernet", size) {
			first += n * ps
			second = max(second, first+2_000_000) + n*ps
		}
		at = second + 2_000_000 + 2*(lineBytes("ethernet", ackBytes)*ps+2_000_000)
		if got := l.fct(rail); got != vtime.Time(at) {
			t.Errorf("rail %d: took %v, by hand %v", rail, got, vtime.Time(at))
		}
		path := paths.Forward(l.plan, l.node("h0").ID, l.node("h1").ID, l.Flows()[rail].Ports)
		if sw := l.plan.PeerNode(path[0]).Name; len(path) != 2 || sw != fmt.Sprintf("s%d", rail) {
			t.Errorf("rail %d: %d links, by %s", rail, len(path), sw)
		}
	}
}

// TestTwoRailsCarryTwiceTheBytes: in a time two rails alike bring to a host twice what one brings, and two flows by one
// rail no more than one.
func TestTwoRailsCarryTwiceTheBytes(t *testing.T) {
	for _, topology := range []string{
		"nodes: [{name: s0..s1, kind: switch}, {name: h0..h1, kind: host}]\nlinks: [{from: h0..h1, to: s0..s1}]",
		"star: {hosts: 2, ports_per_host: 2}", // links in parallel
		"nodes: [{name: s0, kind: switch}, {name: h0..h1, kind: host}]\nlinks: [{from: s0, to: h0..h1, count: 2, rate: 400Gbps, breakout: 4}]",
	} {
		twiceTheBytes(t, "delay: 1us\nrate: 100Gbps\n"+topology)
	}
}

func twiceTheBytes(t *testing.T, topology string) {
	delivered := func(pairs ...topologies.Pair) (sum int64) {
		l := newLab(t, topology, labOptions{})
		for _, pair := range pairs {
			l.sendBy("h0", "h1", pair, 0)
		}
		l.run(200 * vtime.Microsecond)
		for i := range pairs {
			sum += l.Flows()[i].Delivered()
		}
		return sum
	}
	first, second := topologies.Pair{}, topologies.Pair{From: 1, To: 1}
	one, both, shared := delivered(first), delivered(first, second), delivered(second, second)
	if one == 0 || both != 2*one || shared != one {
		t.Errorf("%s: %d bytes by one rail, %d by both, %d by two flows on one", topology, one, both, shared)
	}
}

// TestPlanesAreApart: switches of one plane have no way to interfaces of another, and a flow there would break the
// invariant that nothing is lost.
func TestPlanesAreApart(t *testing.T) {
	l := newLab(t, twoRails, labOptions{})
	if to := l.plan.Interface(l.node("h1").ID, 1); len(l.NextHops(0, to)) != 0 || len(l.NextHops(1, to)) != 1 {
		t.Errorf("next hops %v and %v", l.NextHops(0, to), l.NextHops(1, to))
	}
	l.sendBy("h0", "h1", topologies.Pair{From: 0, To: 1}, 1000)
	l.drive(vtime.Millisecond)
	broken := l.Check()
	if len(broken) == 0 || broken[0].Invariant != "pipelines lose nothing" {
		t.Errorf("%v", broken)
	}
}
