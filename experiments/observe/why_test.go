package observe

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/experiments/results/rundir"
	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/internal/testenv"
)

// whyOf reads a run's why.csv, and returns for each flow the picoseconds of its rows by their description in words.
func (o *outcome) whyOf() (flows map[int]map[string]int64) {
	o.Helper()
	causes, err := rundir.ReadCauses(o.dir)
	if err != nil {
		o.Fatal(err)
	}
	because := func(n int) (chain string) {
		for ; n >= 0; n = causes[n].Because {
			chain += " < " + causes[n].Kind + " " + causes[n].Port
		}
		return chain
	}
	flows = map[int]map[string]int64{}
	err = rundir.Read(o.dir, rundir.Why, func(r *rundir.WhyRow) error {
		words := []string{r.Stage, r.What}
		if r.Again {
			words = append(words, "again")
		}
		if r.Way == rundir.WayACK {
			words = append(words, "ack")
		}
		if r.Port != "" {
			words = append(words, r.Port)
		}
		if r.Behind != "" {
			words = append(words, "behind "+r.Behind)
		}
		if r.Signal != "" {
			words = append(words, "by "+r.Signal+" "+r.SignalPort)
		}
		text := strings.Join(words, " ") + because(r.Cause) + because(r.SignalCause)
		if flows[r.Flow] == nil {
			flows[r.Flow] = map[string]int64{}
		}
		if flows[r.Flow][text] != 0 {
			return fmt.Errorf("flow %d has two rows for %s", r.Flow, text)
		}
		flows[r.Flow][text] = r.Picoseconds
		return nil
	})
	if err != nil {
		o.Fatal(err)
	}
	return flows
}

// twoSwitches: h2, behind s1, sends one PAUSE for 65535 quanta. Its traffic fills s1, and also stops the traffic from
// h1 to h3.
const twoSwitches = `
name: two
topology:
  rate: 10Gbps
  delay: 1us
  framing: ns3
  nodes: [{name: s0..s1, kind: switch}, {name: h0..h3, kind: host}]
  links: [{from: s0, to: s1}, {from: h0..h1, to: s0}, {from: h2..h3, to: s1}]
switch: {buffer: 1MB, pfc: {xoff: 4KB, xoff_to_xon: 2KB}}
controllers: [none]
flows:
  - {tag: stuck, from: h0, to: h2, size: 10000B, start: 10us}
  - {tag: victim, from: h1, to: h3, size: 1000B, start: 50us}
faults: [{name: storm, at: 5us, for: 1us, host: h2, pause: [3], interval: 1ms}]
duration: 5ms
drain: true
expect_unused: [controller]
sample: {flows: none}
`

// TestWhyByHand computes by hand where the time of two flows goes. A byte takes 800 ps. A data packet has 1048 B, 838.4
// ns; a flow's first has 16 B more (RETH), 851.2 ns; an ACK and a PFC frame have 60 B, 48 ns; a cable takes 1 us.
func TestWhyByHand(t *testing.T) {
	const (
		first, data, ack, cable = 851_200, 838_400, 48_000, 1_000_000
		us                      = 1_000_000
		// h2's PAUSE arrives at s1 and stops its port for 65535 times 512 bits.
		released = 5*us + ack + cable + 65535*51_200
		// The first packet is in s1's queue to h2 by then, and more arrive. The fourth raises s1's account of s0 to
		// XOFF. Its PAUSE arrives 2886.4 ns after s0 started to send that packet; three more have left by then, at
		// 838.4, 1676.8 and 2515.2 ns. So seven wait at s1, and three at s0. With one of the seven left the account is
		// below XON: when the sixth starts to leave, RESUME goes to s0.
		resumed = released + first + 4*data + ack + cable
	)
	o := run(t, parse(t, twoSwitches), "none", observed(Why))
	flows := o.whyOf()
	behind := " < pause s0-eth1 < pause s1-eth2 < pfc_storm h2-eth1"
	atS0 := int64(50*us + first + cable) // the victim's packet
	victim := map[string]int64{
		"last serialisation h1-eth1":               first,
		"last propagation h1-eth1":                 cable,
		"last paused s0-eth1" + behind:             resumed - atS0,
		"last queue s0-eth1 behind stuck" + behind: 3 * data,
		"last serialisation s0-eth1":               first,
		"last propagation s0-eth1":                 cable,
		"last serialisation s1-eth3":               first,
		"last propagation s1-eth3":                 cable,
		"last serialisation ack h3-eth1":           ack,
		"last propagation ack h3-eth1":             cable,
		"last serialisation ack s1-eth1":           ack,
		"last propagation ack s1-eth1":             cable,
		"last serialisation ack s0-eth3":           ack,
		"last propagation ack s0-eth3":             cable,
	}
	// The last of the stuck flow's ten packets left h0 after nine, and was the last of the three that waited at s0. At
	// s1 all that was before it has gone by then.
	lastAtS0 := int64(10*us + first + 9*data + cable)
	stuck := map[string]int64{
		"sending serialisation h0-eth1":            first + 8*data,
		"last serialisation h0-eth1":               data,
		"last propagation h0-eth1":                 cable,
		"last paused s0-eth1" + behind:             resumed - lastAtS0,
		"last queue s0-eth1 behind stuck" + behind: 2 * data,
		"last serialisation s0-eth1":               data,
		"last propagation s0-eth1":                 cable,
		"last serialisation s1-eth2":               data,
		"last propagation s1-eth2":                 cable,
		"last serialisation ack h2-eth1":           ack,
		"last propagation ack h2-eth1":             cable,
		"last serialisation ack s1-eth1":           ack,
		"last propagation ack s1-eth1":             cable,
		"last serialisation ack s0-eth2":           ack,
		"last propagation ack s0-eth2":             cable,
	}
	for flow, want := range []map[string]int64{stuck, victim} {
		for _, key := range slices.Sorted(maps.Keys(want)) {
			if got := flows[flow][key]; got != want[key] {
				t.Errorf("flow %d: %s is %d ps, want %d", flow, key, got, want[key])
			}
			delete(flows[flow], key)
		}
		for key, ps := range flows[flow] {
			t.Errorf("flow %d: %s, %d ps, is not expected", flow, key, ps)
		}
	}
}

// TestWhyBehindABurstAfterAPause delays a burst by h3's PAUSE, which stops its port from 6us to 3361us; a flow joins
// the queue later. The pause is the cause if more than half of the queue would have left without it.
func TestWhyBehindABurstAfterAPause(t *testing.T) {
	const paused, congestion = " < pause s0-eth4 < pfc_storm h3-eth1", " < congestion s0-eth4"
	for _, c := range []struct {
		from, start string
		cause       string
	}{
		{"[h0, h1]", "10us", paused},           // would have left 80us after it came
		{"[h0, h1, h4]", "10us", paused},       // 120us
		{"h0", "3320us", paused},               // as it came
		{"[h0, h1, h4]", "3320us", congestion}, // of 120us, 80us would be there at the end of the pause
	} {
		o := run(t, parse(t, `
name: after
topology: {star: {hosts: 5, rate: 10Gbps, delay: 1us}}
switch: {buffer: 4MB, pfc: {xoff: 500KB}}
controllers: [none]
flows:
  - {tag: late, from: h2, to: h3, size: 1000B, start: 3370us}
  - {tag: burst, from: `+c.from+`, to: h3, size: 50KB, start: `+c.start+`}
faults: [{name: storm, at: 5us, for: 1us, host: h3, pause: [3], interval: 1ms}]
duration: 9ms
drain: true
expect_unused: [controller, pfc]
`), "none", observed(Why))
		late, key := o.whyOf()[0], "last queue s0-eth4 behind burst"+c.cause
		if late[key] < 10_000_000 { // 10us
			t.Errorf("a burst from %s at %s: %q is %d ps of %v", c.from, c.start, key, late[key], late)
		}
	}
}

// TestWhyOfTheStuck checks the causes for flows that wait for an answer when the run ends, by hand as above. The storm
// continues.
func TestWhyOfTheStuck(t *testing.T) {
	const first, data, cable, us, end = 851_200, 838_400, 1_000_000, 1_000_000, 2_000_000_000
	text := strings.NewReplacer("for: 1us", "for: 5ms", "interval: 1ms", "interval: 100us", "duration: 5ms\ndrain: true",
		"duration: 2ms").Replace(twoSwitches)
	flows := run(t, parse(t, text), "none", observed(Why)).whyOf()
	const storm = " < pause s1-eth2 < pfc_storm h2-eth1"
	for flow, want := range []map[string]int64{{
		// All ten have left by the time that the last begins to. The first waits at s1 since before that.
		"sending serialisation h0-eth1": first + 8*data,
		"last paused s1-eth2" + storm:   end - (10*us + first + 8*data),
	}, {
		"last serialisation h1-eth1":                  first,
		"last propagation h1-eth1":                    cable,
		"last paused s0-eth1 < pause s0-eth1" + storm: end - (50*us + first + cable),
	}} {
		if !maps.Equal(flows[flow], want) {
			t.Errorf("flow %d: %v, want %v", flow, flows[flow], want)
		}
	}
}

// TestWhyOfASlowReceiver checks that a flow that only passes a slow receiver's switch waits because of it, for as long
// as PAUSE stops the link according to pfc.csv.
func TestWhyOfASlowReceiver(t *testing.T) {
	text := strings.Replace(twoSwitches, "{name: storm, at: 5us, for: 1us, host: h2, pause: [3], interval: 1ms}",
		"{name: slow, at: 5us, host: h2, receiver: {rate: 100Mbps, buffer: 100KB, xoff: 2KB, xon: 1KB}}", 1)
	o := run(t, parse(t, text), "none", observed(Why))
	o.addsUp()
	const first, ack, cable, us = 851_200, 48_000, 1_000_000, 1_000_000
	var resumed int64 // time at which s0 may continue towards s1, after the victim's packet has arrived at s0
	for _, row := range o.table("pfc.csv").Rows {
		at := 1000*int64(testenv.Number(o, row, "time_ns")) + ack + cable
		if row["port"] == "s1-eth1" && row["event"] == "resume" && resumed == 0 && at > 50*us+first+cable {
			resumed = at
		}
	}
	flows := o.whyOf()
	const root = " < pause s0-eth1 < pause s1-eth2 < slow_receiver h2-eth1"
	want := resumed - (50*us + first + cable)
	// pfc.csv has whole ns
	if got := flows[1]["last paused s0-eth1"+root]; resumed == 0 || got < want-500 || got > want+500 {
		t.Errorf("the victim was stopped for %d ps because of the slow receiver, and by pfc.csv for %d: %v", got, want,
			flows[1])
	}
	var buffered int64
	for part, ps := range flows[0] {
		if strings.Contains(part, "congestion s1") {
			t.Errorf("the stuck flow: %s, %d ps", part, ps)
		}
		if strings.HasPrefix(part, "last receiver h2-eth1") {
			buffered += ps
		}
	}
	if buffered == 0 {
		t.Errorf("none of the stuck flow's time went in the slow receiver's buffer: %v", flows[0])
	}
}

// TestWhyAddsUp checks that the times of each flow in why.csv add up to its completion time, and that recording changes
// nothing in the run.
func TestWhyAddsUp(t *testing.T) {
	for _, name := range []string{
		"incast", "line-rate", "deadlock", "pfc-storm", "link-failure", "tcd-single",
		"dcon-burst",
	} {
		s := mustLoad(t, name)
		if name == "dcon-burst" {
			s.Controllers = []string{"swift", "dcon"}
		}
		for _, controller := range s.Controllers {
			t.Run(name+"/"+controller, func(t *testing.T) {
				t.Parallel()
				plain := run(t, s, controller, runner.Options{})
				o := run(t, s, controller, runner.Options{Observers: []runner.NewObserver{Why}, Processors: 2})
				if o.Summary.Fingerprint != plain.Summary.Fingerprint {
					t.Errorf("fingerprint %s with the record, %s without", o.Summary.Fingerprint, plain.Summary.Fingerprint)
				}
				o.addsUp()
			})
		}
	}
}

func (o *outcome) addsUp() {
	o.Helper()
	flows := o.whyOf()
	for flow, row := range o.table("flows.csv").Rows {
		var sum int64
		for _, ps := range flows[flow] {
			sum += ps
		}
		want := row["fct_ns"]
		if want == "" {
			continue
		}
		if got := fmt.Sprint((sum + 500) / 1000); got != want {
			o.Errorf("flow %d: its parts are %s ns, its completion time is %s ns", flow, got, want)
		}
	}
}

// TestWhyOfTheBurst compares with pfc.csv the description of f0 in figure 2 of DCON's paper.
func TestWhyOfTheBurst(t *testing.T) {
	o := run(t, mustLoad(t, "dcon-burst"), "dcqcn", observed(Why))
	f0 := o.whyOf()[0]
	// H0 by L0, L0 by S1, S1 by L2, because of the queue to R1: P2.
	const key = "sending paused H0-eth1 < pause H0-eth1 < pause L0-eth3 < pause S1-eth3 < congestion L2-eth2"
	paused := f0[key]
	var sum, pauses int64
	for k, ps := range f0 {
		sum += ps
		if strings.Contains(k, "paused") && k != key {
			t.Errorf("f0: %s, %d ps: only the burst is to pause it", k, ps)
		}
	}
	if want := int64(o.Scenario.Duration); sum != want {
		t.Errorf("f0's parts are %d ps, want the run's %d: it does not end", sum, want)
	}
	// By pfc.csv, L0 paused H0 for so long. In each such time f0 waited for its pace besides, a packet's at most: at 2
	// Gb/s or more, 5 us.
	var total, since int64
	for _, row := range o.table("pfc.csv").Rows {
		if row["node"] != "L0" || row["peer"] != "H0" {
			continue
		}
		at := int64(testenv.Number(o, row, "time_ns"))
		switch {
		case row["event"] == "resume":
			total += at - since
			since = 0
		case since == 0:
			since = at
			pauses++
		}
	}
	if pauses == 0 || paused > 1000*total || paused < 1000*total-pauses*5_000_000 {
		t.Errorf("f0 was paused for %d ps, and by pfc.csv H0 for %d ns in %d times", paused, total, pauses)
	}
}

// TestWhyTwice checks that a folder's record of an earlier run is removed.
func TestWhyTwice(t *testing.T) {
	s := mustLoad(t, "line-rate")
	o := run(t, s, s.Controllers[0], observed(Why))
	if _, err := runner.Run(t.Context(), s, runner.Options{
		Controller: s.Controllers[0], Seed: s.Seed,
		Directory: o.dir,
	}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{rundir.Why.Name, rundir.Causes.Name} {
		if _, err := os.Stat(filepath.Join(o.dir, name)); !os.IsNotExist(err) {
			t.Errorf("%s is still there: %v", name, err)
		}
	}
}

// TestWhyAgreesWithSpread checks that the chains of pauses agree with the spread and the victims in summary.json, and
// with pfc.csv.
func TestWhyAgreesWithSpread(t *testing.T) {
	for _, c := range []struct{ scenario, controller string }{
		{"dcon-burst", "dcqcn"},
		{"pfc-storm", "none"},
		{"link-failure", "none"},
		{"deadlock", "none"},
	} {
		t.Run(c.scenario, func(t *testing.T) {
			t.Parallel()
			o := run(t, mustLoad(t, c.scenario), c.controller, observed(Why))
			peers, paused := map[string]string{}, map[string]bool{}
			for _, row := range o.table("links.csv").Rows {
				peers[row["port"]] = row["node"] + " " + row["peer"]
			}
			for _, row := range o.table("pfc.csv").Rows {
				if row["event"] == "pause" {
					paused[row["peer"]+" "+row["node"]] = true
				}
			}
			causes, err := rundir.ReadCauses(o.dir)
			if err != nil {
				t.Fatal(err)
			}
			chains := map[string]bool{} // of nodes, the root's neighbour first
			for i := range causes {
				if causes[i].Kind != "pause" {
					continue
				}
				if !paused[peers[causes[i].Port]] {
					t.Errorf("%s is said to have been paused, and pfc.csv has no PAUSE for it", causes[i].Port)
				}
				var nodes []string
				by := ""
				for n := i; causes[n].Kind == "pause"; n = causes[n].Because {
					node, peer, _ := strings.Cut(peers[causes[n].Port], " ")
					nodes, by = append([]string{node}, nodes...), peer
				}
				chains[strings.Join(append([]string{by}, nodes...), " ")] = true
			}
			// A NIC is no part of a storm's spread but its root, of which why knows.
			if want := strings.Join(o.Summary.PFC.Spread.Chain, " "); !chains[want] {
				t.Errorf("no chain of pauses is the spread's longest, %s, in %v", want, slices.Sorted(maps.Keys(chains)))
			}
			flows := o.whyOf()
			for _, v := range o.Summary.Victims.Worst {
				var owed int64
				for part, ps := range flows[v.Flow] {
					if strings.Contains(part, " < pause ") {
						owed += ps
					}
				}
				if owed == 0 {
					t.Errorf("flow %d is a victim of PAUSE, and none of its time is owed to any", v.Flow)
				}
			}
		})
	}
}
