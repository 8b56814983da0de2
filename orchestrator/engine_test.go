package orchestrator

import (
	"context"
	"testing"
	"time"

	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/units"
	"github.com/pausenet/pausenet/internal/vtime"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies"
)

type lineRate struct {
	cc.Base
	rate float64
}

func (l lineRate) Rate() float64 { return l.rate }

func TestScratch(t *testing.T) {
	plan, err := topologies.Builtin("star")
	if err != nil {
		t.Fatal(err)
	}
	plane, err := OpenKernelPlane(plan, FabricOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v tcx %v", plane.Fabric().Timing, plane.Fabric().TCX)
	defer plane.Close()
	sw := switchagent.Default()
	host := hostagent.Default()
	e := NewEngine(EngineConfig{Plan: plan, Plane: plane, Switches: []*switchagent.Settings{&sw}, Hosts: &host, Seed: 1})
	for i := 1; i < 5; i++ {
		e.AddFlow(FlowConfig{Source: plan.Hosts[i], Destination: plan.Hosts[0], Size: 10e6, SourcePort: 0xc000,
			NewController: func() (cc.Controller, error) { return lineRate{rate: float64(40 * units.Gbps)}, nil }})
	}
	start := time.Now()
	err = e.Run(context.Background(), 20*vtime.Millisecond, true, nil)
	wall := time.Since(start)
	t.Logf("%v %v; %+v; %.0f ns/crossing", err, wall, e.Totals, float64(wall.Nanoseconds())/float64(e.Crossings))
	for i := range e.Flows() {
		f := &e.Flows()[i]
		t.Logf("flow %d done %v rtt %v", i, f.Finished, f.Sender.LastRTT)
	}
	for _, v := range e.Check() {
		t.Error(v)
	}
	t.Log(e.Fingerprint(), plane.Waits, e.State().Ports[1].PausesReceived)
}
