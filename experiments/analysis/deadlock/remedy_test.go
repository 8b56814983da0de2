package deadlock

import (
	"context"
	"slices"
	"testing"

	"github.com/pausenet/pausenet/experiments/analysis/deadlock/certificate"
	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/topologies/spec"
)

// TestRemedies computes remedies for fabrics that deadlock, and tries them: with a priority for each layer the class is
// proved, by a certificate too, and the run that deadlocked does not, nor without the flows that go up again.
func TestRemedies(t *testing.T) {
	leafspine, err := spec.Builtin("leafspine")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name                           string
		plan                           *topologies.Plan
		failures                       int
		layers, bumps, severed, joined int
	}{
		// Each of the 6 pairs of leaves has two sets of failures after which it has no common spine, in both directions.
		// In 2 of 37 cases a leaf has no link left, and 6 of 12 pairs are joined.
		{"leafspine", leafspine, 2, 2, 2, 24, 37*12 - 4*6},
		// All turns of a ring are along a tier. Half of the 4 * 3 pairs are two links apart.
		{"ring of four", parse(t, ring(4)), 0, 2, 2, 4, 12},
		// Two links: 10 of 20 pairs, one turn each.
		{"ring of five", parse(t, ring(5)), 0, 2, 2, 10, 20},
	} {
		p := prove(t, c.plan, c.failures)
		ctx := context.Background()
		r, err := p.Remedy(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if r.LayerCount != c.layers || r.Bumps != c.bumps || r.Severed != c.severed || r.Joined != c.joined {
			t.Errorf("%s: %d layers, %d bumps, %d of %d severed: want %d, %d, %d of %d", c.name, r.LayerCount, r.Bumps, r.Severed,
				r.Joined, c.layers, c.bumps, c.severed, c.joined)
		}
		priorities := LayerPriorities(p.Classes[r.Class].Priorities, 6)
		split, err := Prove(ctx, c.plan, p.Split(r, priorities), c.failures, Options{})
		if err != nil || !split.Holds() {
			t.Errorf("%s: the layers have cycles: %v", c.name, err)
		} else if _, err := certificate.Check(split.Certificate(), c.plan); err != nil {
			t.Errorf("%s: the layers: %v", c.name, err)
		}
		cycle := &p.Cycles[0]
		d, err := p.Demonstrate(ctx, cycle, Settings{})
		if err != nil || !d.Deadlocked {
			t.Fatalf("%s: no run deadlocked: %v", c.name, err)
		}
		if tried, err := p.TryLayers(ctx, cycle, d, Settings{}, r, priorities); err != nil || tried.Deadlocked || tried.Runs == 0 {
			t.Errorf("%s: with layers: %+v, %v", c.name, tried, err)
		}
		if tried, err := p.TryUpDown(ctx, cycle, d, Settings{}); err != nil || tried.Deadlocked {
			t.Errorf("%s: without ways up again: %+v, %v", c.name, tried, err)
		}
	}
}

// TestStorm compares the reach of a storm with a run: NICs that are paused in pfc-storm's own storm, by h7, are among
// those that the flows let it stop. h2's flow could share a spine with that to h7, but its via names the other.
func TestStorm(t *testing.T) {
	s, err := scenario.Reading{}.Load("pfc-storm")
	if err != nil {
		t.Fatal(err)
	}
	own, _, _, err := s.Under("none")
	if err != nil {
		t.Fatal(err)
	}
	classes, err := OwnTraffic(own)
	if err != nil {
		t.Fatal(err)
	}
	p, err := Prove(context.Background(), s.Topology, classes, 0, Options{})
	if err != nil {
		t.Fatal(err)
	}
	stormy := s.Topology.Interface(s.Topology.NodeByName("h7").ID, 0)
	var got []int
	for _, r := range p.Storm() {
		if slices.Contains(r.NICs, stormy) {
			got = r.Stopped
			if len(r.Victims) == 0 {
				t.Error("no victims")
			}
		}
	}
	var want []int
	_, err = runner.Watch(context.Background(), s, runner.Options{Controller: "none", Seed: 1}, runner.Watching{
		Ended: func(e *engine.Engine) {
			for i, id := range s.Topology.Interfaces {
				if e.State().Extras[id].PausesReceived > 0 {
					want = append(want, i)
				}
			}
		},
	})
	if err != nil || !slices.Equal(want, []int{0, 1, 3}) || !slices.Equal(got, []int{0, 1, 2, 3}) {
		t.Errorf("interfaces %v can be stopped, %v were: %v", got, want, err)
	}
}

// TestStormOfAnyTraffic stops all NICs of the same plane, and none of another.
func TestStormOfAnyTraffic(t *testing.T) {
	plan, err := spec.Builtin("planes")
	if err != nil {
		t.Fatal(err)
	}
	all := prove(t, plan, 0).Storm()
	if len(all) != 1 || len(all[0].NICs) != 16 || len(all[0].Stopped) != 7 {
		t.Errorf("%+v", all)
	}
}

// TestHarmless finds the cycles of scenario deadlock harmless once its flows are so small that those across one buffer
// cannot fill it up to XOFF, 40 KB: 16 flows straight through a buffer and 16 that bounce, with frames of 1058 B.
func TestHarmless(t *testing.T) {
	for _, c := range []struct {
		size string
		want bool
	}{{"400KB", false}, {"3KB", false}, {"1KB", true}} {
		sets := []string{}
		for i := range 4 {
			sets = append(sets, "flows."+string('0'+rune(i))+".size="+c.size)
		}
		s, err := scenario.Reading{Sets: sets}.Load("deadlock")
		if err != nil {
			t.Fatal(err)
		}
		own, _, _, err := s.Under("none")
		if err != nil {
			t.Fatal(err)
		}
		classes, err := OwnTraffic(own)
		if err != nil {
			t.Fatal(err)
		}
		p, err := Prove(context.Background(), s.Topology, classes, 2, Options{})
		if err != nil || len(p.Cycles) == 0 {
			t.Fatalf("%d cycles, %v", len(p.Cycles), err)
		}
		for i := range p.Cycles {
			if reason, got := p.Harmless(&p.Cycles[i]); got != c.want {
				t.Errorf("%s: harmless %v (%s), want %v", c.size, got, reason, c.want)
			}
		}
	}
}

// Split returns a class as one for each layer, with the priorities from which they are taken in order.
func (p *Proof) Split(r *Remedies, priorities []uint8) (classes []Class) {
	for l := range r.LayerCount {
		classes = append(classes, Class{
			Priorities: []uint8{priorities[l]}, Pairs: ofLayer(p.Classes[r.Class].Pairs, r.Layers, uint8(l)),
		})
	}
	return classes
}
