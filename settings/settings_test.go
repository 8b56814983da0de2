package settings_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/internal/keys"
	"github.com/pausenet/pausenet/internal/schema"
	"github.com/pausenet/pausenet/internal/yamlspec"
	"github.com/pausenet/pausenet/settings"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// tables returns all tables, bound to defaults.
func tables() map[string]keys.Table {
	sw, balancing, host := switchagent.Default(), topologies.DefaultBalancing(), settings.DefaultHost()
	effect := settings.NewEffect("")
	return map[string]keys.Table{
		"switch": settings.Switch(&sw, &balancing), "host": settings.Host(&host), "fault": settings.Fault(&effect),
		"occurrence": settings.FaultTimes(new(settings.Occurrence)),
	}
}

// TestTables checks that the defaults are in bounds, that each key is declared once and after its group, and that it
// has a description.
func TestTables(t *testing.T) {
	for name, table := range tables() {
		if err := table.Check(); err != nil && name != "fault" { // whose kinds have no defaults
			t.Errorf("%s: the defaults are out of bounds: %v", name, err)
		}
		seen := map[string]bool{}
		for i := range table {
			s := &table[i]
			group, _, nested := strings.Cut(s.Name, ".")
			switch {
			case seen[s.Name]:
				t.Errorf("%s.%s is declared twice", name, s.Name)
			case nested && !seen[group]:
				t.Errorf("%s.%s stands before its group", name, s.Name)
			case s.Doc == "" && s.Kind() != schema.Group:
				t.Errorf("nobody says what %s.%s means", name, s.Name)
			}
			seen[s.Name] = true
		}
	}
}

// TestFaults checks that every kind of fault has a row with a description, that every row belongs to a kind, and that
// written values can be read back.
func TestFaults(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	of := map[string]bool{}
	for i := range settings.Faults {
		kind := settings.Faults[i].Kind
		for range 20 {
			e := settings.NewEffect(kind)
			rows := e.Shown()
			for k := range rows {
				s := &rows[k]
				of[s.Name] = true
				if s.Kind() == schema.Group {
					continue
				}
				text := draw(r, s)
				if err := settings.Fault(&e).Set(s.Name, text); err != nil {
					t.Fatalf("%s of %s: %v", s.Name, kind, err)
				}
				if again := rows.Find(s.Name).Text(); again != text && s.Kind() != schema.Number {
					t.Fatalf("%s is %s, was set to %s", s.Name, again, text)
				}
			}
			if e.String() == "" {
				t.Errorf("%s does not say what it does", kind)
			}
			if _, err := rows.MarshalJSON(); err != nil {
				t.Error(err)
			}
		}
	}
	for _, s := range settings.Fault(new(settings.Effect)) {
		if !of[s.Name] {
			t.Errorf("%s is of no kind of fault", s.Name)
		}
	}
	slow := hostagent.NewSlowReceiver()
	slow.Rate = units.Gbps
	if slow.Complete(); slow != (hostagent.SlowReceiver{
		Rate: units.Gbps, Buffer: 512 * units.KB, XOFF: 256 * units.KB,
		XON: 128 * units.KB,
	}) || settings.CheckReceiver(&slow) != nil {
		t.Errorf("%+v: %v", slow, settings.CheckReceiver(&slow))
	}
	for want, bad := range map[string]hostagent.SlowReceiver{
		"receiver.rate 0bps is outside 1Mbps..10Tbps":    {Buffer: 3, XOFF: 2, XON: 1},
		"receiver.buffer 2GB is outside 1B..1GB":         {Rate: units.Gbps, Buffer: 2 * units.GB, XOFF: 2, XON: 1},
		"receiver.xoff 4B is above receiver.buffer 3B":   {Rate: units.Gbps, Buffer: 3, XOFF: 4, XON: 1},
		"receiver.xon 2B must be below receiver.xoff 2B": {Rate: units.Gbps, Buffer: 3, XOFF: 2, XON: 2},
	} {
		if err := settings.CheckReceiver(&bad); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// draw returns a value of a row within its bounds, as text.
func draw(r *rand.Rand, s *keys.Key) string {
	between := func(least, most int64) int64 { return least + r.Int64N(most-least+1) }
	if s.Word != "" && r.IntN(4) == 0 {
		return s.Word
	}
	switch s.Kind() {
	case schema.Choice, schema.Flag:
		choices := s.Words()
		return choices[r.IntN(len(choices))]
	case schema.Priority:
		return fmt.Sprint(r.IntN(8))
	case schema.Priorities:
		return strings.ReplaceAll(fmt.Sprint(keys.PriorityList(uint8(r.Uint32()))), " ", ", ")
	case schema.Weights:
		return fmt.Sprintf("{%d: %dB}", r.IntN(8), between(1, 100_000))
	case schema.Size:
		return units.Bytes(between(64, 900_000_000)).String()
	case schema.Time:
		return vtime.Time(between(int64(vtime.Microsecond), int64(900*vtime.Millisecond))).String()
	case schema.Rate:
		return units.Rate(between(1, int64(10*units.Tbps))).String()
	case schema.Integer:
		return fmt.Sprint(between(1, 60_000))
	case schema.Number:
		return fmt.Sprint(0.001 + 0.99*r.Float64())
	}
	return ""
}

// TestWrittenAndRead checks that settings made one by one equal those of a file with all of them, to the last bit.
func TestWrittenAndRead(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		sw, balancing, host := switchagent.Default(), topologies.DefaultBalancing(), settings.DefaultHost()
		switches := settings.Switch(&sw, &balancing)
		for _, table := range []keys.Table{switches, settings.Host(&host)} {
			for i := range table {
				if s := &table[i]; s.Kind() != schema.Group {
					if err := table.Set(s.Name, draw(r, s)); err != nil {
						t.Fatal(err)
					}
				}
			}
			if err := table.Check(); err != nil {
				t.Fatal(err)
			}
		}
		report := new(yamlspec.Report)
		againSwitch, againBalancing, againHost := switchagent.Default(), topologies.DefaultBalancing(), hostagent.Default()
		again := settings.Switch(&againSwitch, &againBalancing)
		again.Decode(report.Parse("switch", []byte(switches.Flow())))
		settings.Host(&againHost).Decode(report.Parse("host", []byte(settings.Host(&host).Flow())))
		if err := report.Err(); err != nil {
			t.Fatal(err)
		}
		if againSwitch != sw || againBalancing != balancing || againHost != host {
			t.Fatalf("%s\n%s\nis %+v %+v\n%+v", switches.Flow(), settings.Host(&host).Flow(), againSwitch, againBalancing,
				againHost)
		}
		if rows := switches.Differ(again); len(rows) > 0 {
			t.Fatalf("%s differs from itself", rows[0].Name)
		}
	}
}

// TestOutside checks that values out of bounds are refused by path, both when read and when made in Go.
func TestOutside(t *testing.T) {
	for _, c := range []struct {
		edit func(s *switchagent.Settings)
		want string
	}{
		{func(s *switchagent.Settings) { s.Buffer = 0 }, "buffer 0B is outside 1B..1TB"},
		{func(s *switchagent.Settings) { s.LossyLimit = -1 }, "lossy_limit -1B is outside 0..1TB"},
		{func(s *switchagent.Settings) { s.PFC.Alpha = 65 }, "pfc.alpha 65 is outside 0..64"},
		{func(s *switchagent.Settings) { s.PFC.Alpha = -1 }, "pfc.alpha -1 is outside 0..64"},
		{func(s *switchagent.Settings) { s.PFC.Quanta = 0 }, "pfc.quanta 0 is outside 1..65535"},
		{
			func(s *switchagent.Settings) { s.PFC.Watchdog.Detect = 11 * vtime.Second },
			"pfc.watchdog.detect 11s is outside 1ps..10s",
		},
		{func(s *switchagent.Settings) { s.PFC.Watchdog.Detect = -1 }, "pfc.watchdog.detect -1ps is outside 1ps..10s"},
		{func(s *switchagent.Settings) { s.ECN.PMax = 1.01 }, "ecn.pmax 1.01 is outside 0..1"},
		{func(s *switchagent.Settings) { s.ECN.Mode = 9 }, "ecn.mode 9 is not one of off, red, step, pcn"},
		{func(s *switchagent.Settings) { s.CBFC.Period = vtime.Nanosecond }, "cbfc.period 1ns is outside 1us..1s"},
		{func(s *switchagent.Settings) { s.CBFC.Buffer = 0 }, "cbfc.buffer 0B is outside 64B..4GB"},
		{func(s *switchagent.Settings) { s.CBFC.Block = 32 }, "cbfc.block 32B is outside 64B..4GB"},
		{func(s *switchagent.Settings) { s.TCD.Epsilon = 0 }, "tcd.epsilon 0 is outside 0.001..1"}, // NAME+tcd would go by it
		{func(s *switchagent.Settings) { s.TCD.QLen = -2 }, "tcd.q_len -2B is outside 0..4GB"},
		{func(s *switchagent.Settings) { s.TCD.TMax = -1 }, "tcd.t_max -1ps is outside 0..1s"},
		{func(s *switchagent.Settings) { s.CNM.Window = -1 }, "cnm.window -1ps is negative"},
	} {
		s := switchagent.Default()
		c.edit(&s)
		balancing := topologies.DefaultBalancing()
		if err := settings.Switch(&s, &balancing).Check(); err == nil || err.Error() != c.want {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
	for set, want := range map[string]string{
		"buffer=100TB": "buffer 100TB is outside 1B..1TB", "lossy_limit=100TB": "lossy_limit 100TB is above 1TB",
		"pfc.xoff=100TB": "pfc.xoff 100TB is above 1TB",
		"pfc.xon=2TB":    "pfc.xon 2TB is above", "pfc.xoff_to_xon=2TB": "pfc.xoff_to_xon 2TB is above",
		"pfc.headroom=2TB": "pfc.headroom 2TB is above",
		"ecn.kmin=2TB":     "ecn.kmin 2TB is above", "ecn.kmax=2TB": "ecn.kmax 2TB is above",
		"cnm.ecn_threshold=2TB": "cnm.ecn_threshold 2TB is above",
		"cnm.threshold=2TB":     "cnm.threshold 2TB is above", "cbfc.block=8GB": "cbfc.block 8GB is outside 64B..4GB",
		"pfc.alpha=65": "pfc.alpha 65 is outside", "pfc.quanta=65536": "too large", "pfc.per_rate=0bps": "remove it",
		"tcd.t_max=0s": "write auto", "cnm.threshold=0B": "write dynamic", "buffer=some": "or auto",
		"pfc.watchdog={detect: 0s}": "watchdog: off",
		"pfc.watchdog=on":           "expected a mapping", "ecn.mode=blue": "not one of",
		"pfc.xof=1KB":             `did you mean "xoff"?`,
		"scheduler.dwrr={9: 1KB}": "not a priority",
	} {
		name, text, _ := strings.Cut(set, "=")
		s := switchagent.Default()
		if err := settings.Switch(&s, new(topologies.Balancing)).Set(name, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", set, err, want)
		}
		if s != switchagent.Default() && name != "pfc.watchdog" {
			t.Errorf("%s has changed something", set)
		}
	}
}

// TestLive checks that thresholds and marks can change while a fabric works, and that settings from which queues and
// buffers are built cannot.
func TestLive(t *testing.T) {
	live := tables()["switch"].Live()
	for _, name := range []string{
		"pfc.xoff", "pfc.per_rate", "pfc.watchdog", "ecn.priorities", "ecn.per_rate", "cnm.mark",
		"lossy_limit",
	} {
		if !slices.Contains(live, name) {
			t.Errorf("%s is not live", name)
		}
	}
	for _, name := range []string{
		"buffer", "pfc.priorities", "flow_control", "cbfc.buffer", "detector", "tcd.q_len",
		"scheduler.dwrr",
	} {
		if slices.Contains(live, name) {
			t.Errorf("%s is live", name)
		}
	}
}
