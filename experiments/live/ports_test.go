//go:build linux

package live

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// TestHostsOfSeveralPorts checks that a host has an interface, an address and a name for each port. Programs reach each
// address of another host by its plane. RDMA flows use the interfaces that they name, or else take turns.
func TestHostsOfSeveralPorts(t *testing.T) {
	t.Parallel()
	f := bringUp(t, "", "topology={planes: {planes: 2, spines: 1, leaves: 2, hosts_per_leaf: 1}}")
	defer down(t, f)
	addresses := on(t, f, "h0", "ip", "-br", "addr")
	for _, want := range []string{"h0-eth1", "10.0.0.1/8", "h0-eth2", "10.0.0.3/8"} {
		if !strings.Contains(addresses, want) {
			t.Errorf("h0 has no %s:\n%s", want, addresses)
		}
	}
	for _, args := range [][]string{{"h1"}, {"h1.2"}, {"-I", "h0-eth2", "h1.2"}, {"10.0.0.4"}} {
		if out := on(t, f, "h0", append([]string{"ping", "-c", "1", "-W", "60"}, args...)...); !strings.Contains(out,
			" 0% packet loss") {
			t.Errorf("ping %v:\n%s", args, out)
		}
	}
	ended := make(chan FlowResult, 3)
	requests := []FlowRequest{
		{From: "h0.2", To: "h1", Size: 100 * units.KB},
		{From: "h0", To: "h1", Size: 100 * units.KB},
		{From: "h0", To: "h1", Size: 100 * units.KB},
	}
	if err := f.StartFlows(requests, func(r FlowResult) { ended <- r }); err != nil {
		t.Fatal(err)
	}
	for range requests {
		select {
		case r := <-ended:
			if r.FCT < 4*vtime.Microsecond {
				t.Errorf("%+v", r)
			}
		case <-time.After(timeout):
			t.Fatal("a flow has not ended")
		}
	}
	if err := f.StartFlows([]FlowRequest{{From: "h0.1", To: "h1.2", Size: units.KB}}, nil); err == nil ||
		!strings.Contains(err.Error(), "no switches connect h0.1 and h1.2") {
		t.Errorf("%v", err)
	}
	if err := inject(f, "host h1.2 receive=1Gbps"); err != nil {
		t.Error(err)
	}
	if err := inject(f, "host h1 normal"); err != nil {
		t.Error(err)
	}
	d, err := f.Describe()
	if err != nil || !slices.ContainsFunc(d.Nodes, func(n NodeDescription) bool {
		return n.Name == "h0" && slices.Equal(n.Addresses, []string{"10.0.0.1", "10.0.0.3"}) && n.Programs.Sent.Frames >= 4
	}) {
		t.Errorf("%v: %+v", err, d)
	}
}

// TestQPs checks that a flow with several QPs is as many flows of the engine, and ends once, with the last of them.
func TestQPs(t *testing.T) {
	t.Parallel()
	f := bringUp(t, "")
	defer down(t, f)
	ended := make(chan FlowResult, 4)
	must(t, f.StartFlows([]FlowRequest{{From: "h0", To: "h5", Size: 30_500, QPs: 4}}, func(r FlowResult) { ended <- r }))
	r := <-ended
	if r.Size != 30_500 || r.Slowdown() < 1 || len(ended) > 0 {
		t.Errorf("%+v, slowdown %v, and %d more", r, r.Slowdown(), len(ended))
	}
	must(t, f.Do(func(e *engine.Engine) error {
		if n, bytes := e.AddedFlows(), e.NIC(5).BytesDelivered; n != 4 || bytes != 30_500 {
			t.Errorf("%d flows brought %d bytes", n, bytes)
		}
		return nil
	}))
}
