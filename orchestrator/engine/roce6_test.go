package engine

import (
	"strings"
	"testing"

	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/orchestrator/engine/fill"
	"github.com/pausenet/pausenet/orchestrator/engine/plane"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

func overIPv6(h *hostagent.Settings) { h.IP = wire.V6 }

// A packet of 1000 bytes in 1094 and its ACK in 82, with 24 bytes of line time each, there and back over two links.
// (Ethernet 14, IPv6 40, UDP 8, BTH 12, RETH 16 or AETH 4, ICRC 4.)
func TestFlowOverIPv6TakesItsBytes(t *testing.T) {
	l := newLab(t, "rate: 40Gbps\ndelay: 1us\nstar: {hosts: 2}", labOptions{host: overIPv6})
	flow := l.send("h0", "h1", 1000, 0, 0)
	l.run(0)
	want := 4*vtime.Microsecond + 2*(40*units.Gbps).TimeFor(1094+24) + 2*(40*units.Gbps).TimeFor(82+24)
	if got := l.fct(flow); got != want {
		t.Errorf("the flow took %v, want %v", got, want)
	}
}

// An incast over IPv6 does what it does over IPv4: ECN, CNPs, PAUSE, and with trimming or selective repeat their
// repair. Nothing is lost, and all arrives once.
func TestIncastOverIPv6(t *testing.T) {
	const fabric = "rate: 40Gbps\ndelay: 1us\nleafspine: {spines: 2, leaves: 2, hosts_per_leaf: 4}"
	for name, set := range map[string]func(*switchagent.Settings, *hostagent.Settings){
		"lossless": func(*switchagent.Settings, *hostagent.Settings) {},
		"trimming": func(s *switchagent.Settings, h *hostagent.Settings) {
			s.PFC.Priorities, s.Trim, s.LossyLimit = 0, true, 20*units.KB
			h.Recovery, h.RetransmitTimeout = hostagent.SelectiveRepeat, vtime.Millisecond
			h.Selective.Cap = 0
		},
		"go back n": func(s *switchagent.Settings, h *hostagent.Settings) {
			s.PFC.Priorities, s.LossyLimit, h.RetransmitTimeout = 0, 300*units.KB, vtime.Millisecond
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, fabric, labOptions{both: func(s *switchagent.Settings, h *hostagent.Settings) {
				s.ECN.Mode = switchagent.ECNRED
				h.IP = wire.V6
				set(s, h)
			}})
			for _, from := range []string{"h0", "h1", "h4", "h5", "h6"} {
				l.send(from, "h3", 300_000, 0, 0)
			}
			l.run(0)
			var cnps, marked, trimmed int64
			for i := range l.plan.Interfaces {
				n := l.NIC(i)
				cnps, marked, trimmed = cnps+n.CNPsReceived, marked+n.Marked, trimmed+n.Trimmed
				if n.Stray != 0 || n.Corrupted != 0 {
					t.Errorf("host %d: %d strays, %d wrong ICRCs", i, n.Stray, n.Corrupted)
				}
			}
			if l.OpenFlows() != 0 || cnps == 0 || marked == 0 || (trimmed > 0) != (name == "trimming") {
				t.Errorf("%d flows are open; %d CNPs, %d marked, %d trimmed", l.OpenFlows(), cnps, marked, trimmed)
			}
			if in := l.State().Ports[l.port("h3", "leaf0")]; in.RxFrames == 0 {
				t.Error("nothing arrived")
			}
		})
	}
}

// TestPlanIsForHosts: a plan with other lengths of frames, or other paths, than the hosts' packets have is refused.
func TestPlanIsForHosts(t *testing.T) {
	plan := parsePlan(t, "star: {hosts: 2}")
	opened := openPlane(t, plane.Wasm, plan, plane.Features{})
	defer opened.Close()
	for _, set := range []func(*hostagent.Settings){
		func(h *hostagent.Settings) { h.IP = wire.V6 },
		func(h *hostagent.Settings) { h.Entropy = hostagent.EntropyREPS },
	} {
		sw, host := switchagent.Default(), hostagent.Default()
		set(&host)
		c := Config{Plan: plan, Plane: opened, Switches: []*switchagent.Settings{&sw}, Hosts: &host}
		if _, err := New(c); err == nil || !strings.Contains(err.Error(), "WithHosts") {
			t.Errorf("hosts over %v with entropy %v: got %v, want an error", host.IP, host.Entropy, err)
		}
	}
	for v, want := range map[wire.Version]int{wire.V4: 1074 + 42, wire.V6: 1094 + 42} {
		if got := fill.LongestFrame(plan.WithHosts(v, false)); got != want {
			t.Errorf("the longest frame over %v has %d bytes, want %d", v, got, want)
		}
	}
}
