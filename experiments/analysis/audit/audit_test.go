package audit

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/experiments/scenario"
)

// TestSound checks that twenty sound configurations, drawn from a seed, have no finding.
func TestSound(t *testing.T) {
	for seed := range uint64(20) {
		f := sound(rand.New(rand.NewPCG(seed, 1)))
		r, err := Audit(f.files(t), Assumptions{})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if r.Switches != len(f.switches) || r.Hosts != len(f.hosts) || r.Links != len(f.links) || len(r.Ignored) > 0 {
			t.Errorf("seed %d: %d switches, %d hosts, %d links, ignored %v", seed, r.Switches, r.Hosts, r.Links, r.Ignored)
		}
		for _, of := range r.Findings {
			t.Errorf("seed %d: %s: %v: %s\n%s", seed, of.Rule, of.Place, of.Message, strings.Join(of.Evidence, "\n"))
		}
	}
}

// TestBroken breaks sound configurations, each by one fault at a drawn place: the fault's rule is violated, and no rule
// that has nothing to do with it.
func TestBroken(t *testing.T) {
	if len(faults) < 20 {
		t.Errorf("%d faults", len(faults))
	}
	broken := map[string]bool{}
	for _, letter := range []string{"", "e", "n", "j"} {
		testBroken(t, letter, broken)
	}
	for i := range Rules {
		if !broken[Rules[i].ID] && Rules[i].ID != "unread" { // TestUnread has it
			t.Errorf("no fault breaks rule %s", Rules[i].ID)
		}
	}
}

// testBroken breaks configurations of a system by each fault that its files can state.
func testBroken(t *testing.T, letter string, broken map[string]bool) {
	for i, fault := range faults {
		if !strings.Contains(fault.others, letter) {
			continue
		}
		seeds := uint64(3)
		if testing.Short() && letter != "" {
			seeds = 1
		}
		for seed := range seeds {
			r := rand.New(rand.NewPCG(seed, uint64(i)))
			f := sound(r)
			fault.breaks(r, f)
			f.inSystem(systems[letter])
			fault := fault
			fault.name += " " + letter
			report, err := Audit(f.files(t), Assumptions{})
			if err != nil {
				t.Fatalf("%s: %v", fault.name, err)
			}
			found := false
			for _, of := range report.Findings {
				found = found || of.Rule == fault.rule
				if of.Rule != fault.rule && !slices.Contains(fault.also, of.Rule) {
					t.Errorf("%s, seed %d: also %s: %v: %s\n%s", fault.name, seed, of.Rule, of.Place, of.Message, strings.Join(of.Evidence, "\n"))
				}
				if of.Scenario != "" {
					if _, err := scenario.Parse("x.yaml", []byte(of.Scenario), nil); err != nil {
						t.Errorf("%s: %v", fault.name, err)
					}
				}
				if of.File == "" || of.Remedy == "" || len(of.Evidence) == 0 && of.Rule != "port" || of.Line == 0 {
					t.Errorf("%s: %+v lacks a place, evidence or a remedy", fault.name, of)
				}
			}
			if !found {
				t.Errorf("%s, seed %d: not found among %d findings", fault.name, seed, len(report.Findings))
			}
			broken[fault.rule] = true
		}
	}
}

// systems lists the systems beside SONiC by the letters of fault.others.
var systems = map[string]kind{"e": eosConfig, "n": nvueConfig, "j": junosConfig}

// inSystem renders all switches as a system's.
func (f *fabric) inSystem(k kind) {
	for sw := range f.switches {
		f.system[sw] = k
	}
}

// TestSoundSystems checks that sound configurations of other systems, and of several in a fabric, have no finding.
func TestSoundSystems(t *testing.T) {
	for _, letter := range []string{"e", "n", "j", ""} {
		for seed := range uint64(7) {
			r := rand.New(rand.NewPCG(seed, 2))
			f := sound(r)
			f.inSystem(systems[letter])
			for _, sw := range sortedKeys(f.switches) {
				if letter == "" {
					f.system[sw] = pick(r, unknown, eosConfig, nvueConfig, junosConfig)
				}
			}
			report, err := Audit(f.files(t), Assumptions{})
			if err != nil {
				t.Fatalf("%s, seed %d: %v", letter, seed, err)
			}
			if report.Switches != len(f.switches) || report.Links != len(f.links) || len(report.Ignored) > 0 || len(report.Landings) == 0 {
				t.Errorf("%s, seed %d: %s", letter, seed, report.Summary())
			}
			for _, of := range report.Findings {
				t.Errorf("%s, seed %d: %s: %v: %s\n%s", letter, seed, of.Rule, of.Place, of.Message, strings.Join(of.Evidence, "\n"))
			}
		}
	}
}

// TestSmallConfig checks each number of a configuration with many faults against values worked out by hand.
func TestSmallConfig(t *testing.T) {
	r, err := Audit([]File{{"s/config_db.json", []byte(smallConfig)}}, Assumptions{})
	if err != nil {
		t.Fatal(err)
	}
	has := func(rule, part string) {
		t.Helper()
		for _, f := range r.Findings {
			if f.Rule == rule && strings.Contains(f.Message+"\n"+strings.Join(f.Evidence, "\n"), part) {
				return
			}
		}
		t.Errorf("no finding of %s has %q", rule, part)
	}
	has("headroom", "37500 B  propagation on the cable") // 2 x 300 m x 5 ns x 100 Gb/s
	has("headroom", "48286 B  needed")                   // 1140 + (37500 + 9138 + 336 + 1164) x 1140/1164, rounded up
	has("headroom-pool", "of 0 of 2 lossless priority groups")
	has("ecn-first", "111111 B  XOFF of one congested group") // 1 MB / 8 / (1 + 1/8)
	has("watchdog-time", "200 ms  POLL_INTERVAL")
	if got := r.Findings[0].Severity; got != Error {
		t.Errorf("the first finding is a %v", got)
	}
	if got := fmt.Sprint(r.Landings); got != "[{26 TC 3 -> priority group 3, queue 3 -> PFC priority 3: lossless [s:Ethernet0]}]" {
		t.Errorf("DSCP 26: %s", got)
	}
}
