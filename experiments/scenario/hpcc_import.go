package scenario

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/experiments/traffic/workload"
	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/internal/yamlspec"
	"github.com/pausenet/pausenet/topologies/spec"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// HPCCImport names the files of HPCC's simulator to convert to a scenario: a topology, and either flows or a size
// distribution from which its traffic_gen.py would draw them. Paths are as the user gives them.
type HPCCImport struct {
	Topology string
	Flows    string
	CDF      string
	CC       string     // one of HPCCControls; empty: dcqcn
	Load     float64    // of the hosts, with a CDF: traffic_gen.py's --load
	Time     vtime.Time // time during which flows arrive, with a CDF
}

// hpccControls lists the congestion controls of run.py that pausenet implements, by pausenet's names. ackPrio is the
// ACK_HIGH_PRIO that run.py sets: 1 lets a paused host send its ACKs.
var hpccControls = []struct {
	name    string
	ackPrio bool
}{{"dcqcn", true}, {"dcqcn+win", false}, {"hpcc", false}, {"dctcp", false}, {"timely", true}, {"timely+win", true}}

// HPCCControls returns the valid values of HPCCImport.CC.
func HPCCControls() (names []string) {
	for _, c := range hpccControls {
		names = append(names, c.name)
	}
	return names
}

// SetLoad parses a load such as 0.3, 30% or 3/10, above 0 and up to mostLoad.
func (h *HPCCImport) SetLoad(text string) error {
	report := new(yamlspec.Report)
	v := report.Parse("--load", []byte(text))
	if v.Float(&h.Load) {
		checkLoad(v, h.Load)
	}
	return report.Err()
}

// SetTime parses the time during which flows arrive.
func (h *HPCCImport) SetTime(text string) error {
	report := new(yamlspec.Report)
	v := report.Parse("--time", []byte(text))
	if v.Time(&h.Time) && (h.Time == 0 || h.Time > maxDuration) {
		v.Errorf("the time during which flows arrive must be above 0 and at most %v", maxDuration)
	}
	return report.Err()
}

// checkLoad reports a load that is out of range.
func checkLoad(v *yamlspec.Value, load float64) bool {
	switch {
	case load <= 0:
		v.Errorf("load must be above 0")
	case load > mostLoad:
		v.Errorf("load %g is above %d: write 0.8 or 80%%", load, mostLoad)
	default:
		return true
	}
	return false
}

// Scenario returns the text of a scenario that runs the files, for a file in the given folder. The files stay where
// they are. The switches are configured as the simulator's run.py does for the hosts' bandwidth, as far as pausenet
// has the settings.
func (h HPCCImport) Scenario(folder string) (string, error) {
	at := slices.Index(HPCCControls(), cmp.Or(h.CC, "dcqcn"))
	if at < 0 {
		return "", fmt.Errorf("--cc %s is not a congestion control of run.py: choose one of %s", h.CC,
			strings.Join(HPCCControls(), ", "))
	}
	control := hpccControls[at]
	relative := func(path string) (string, error) {
		from, err := filepath.Abs(folder)
		to, err2 := filepath.Abs(path)
		if err := errors.Join(err, err2); err != nil {
			return "", err
		}
		return filepath.Rel(from, to)
	}
	topology, err := relative(h.Topology)
	if err != nil {
		return "", err
	}
	name := strings.TrimSuffix(filepath.Base(h.Topology), filepath.Ext(h.Topology))
	// Read the topology as the scenario will, to report mistakes now.
	plan, err := spec.Parse("import.yaml", fmt.Appendf(nil, "name: %q\nhpcc: %q\n", name, h.Topology))
	if err != nil {
		return "", err
	}
	var item string
	duration := h.Time
	if h.Flows != "" {
		path, err := relative(h.Flows)
		if err != nil {
			return "", err
		}
		first, last, err := hpccSpan(h.Flows)
		if err != nil {
			return "", err
		}
		origin := first / vtime.Second * vtime.Second // traffic_gen.py starts at 2 s
		item = fmt.Sprintf("hpcc: {file: %q, origin: %v}", path, origin)
		duration = (last-origin)/vtime.Millisecond*vtime.Millisecond + vtime.Millisecond
	} else {
		path, err := relative(h.CDF)
		if err != nil {
			return "", err
		}
		data, err := files.Read(h.CDF, yamlspec.TableFile)
		if err != nil {
			return "", err
		}
		report := new(yamlspec.Report)
		if workload.ParseSizes(report, path, h.CDF, data) == nil {
			return "", report.Err()
		}
		if !strings.ContainsAny(path, "./") {
			path = "./" + path // a file, not a built-in distribution
		}
		item = fmt.Sprintf("tag: normal, poisson: {sizes: %q, load: %g, of: hosts}", path, h.Load)
	}
	line, delay := units.Rate(math.MaxInt64), vtime.Time(0)
	for i := range plan.Ports {
		p := &plan.Ports[i]
		line, delay = min(line, p.Rate), max(delay, p.Delay)
	}
	headroom := 3 * units.Bytes(line.BytesIn(delay))
	gigabits := int64(line / units.Gbps)
	marking := fmt.Sprintf("mode: red, at: dequeue, kmin: %dKB, kmax: %dKB, pmax: 0.2", 100*gigabits/25, 400*gigabits/25)
	constants := ""
	switch {
	case control.name == "dctcp":
		marking = fmt.Sprintf("mode: step, at: dequeue, kmax: %dKB", 30*gigabits/10)
	case strings.HasPrefix(control.name, "dcqcn"):
		constants = fmt.Sprintf("cc:\n  %s: {profile: b}\n", control.name)
	}
	// The simulator's threshold is (buffer - headrooms - reserves - used beyond the reserves) / 8, and a queue has its
	// own reserve in addition (switch-mmu.cc). The headrooms are subtracted here, too. If one port fills, the other
	// reserves make the buffer smaller by all but nine of them.
	ports := 0
	for _, id := range plan.Switch {
		ports = max(ports, len(plan.Nodes[id].Ports))
	}
	const mebibyte, reserve = 1 << 20, 4096
	buffer := max(1, 16*gigabits/50)*mebibyte - reserve*int64(ports-9)
	return fmt.Sprintf(`# Imported from HPCC's simulator. The switches are those of its run.py for hosts of %[1]v: PAUSE at an eighth of the free
# buffer, RED by the hosts' rate, and more at faster ports in proportion. Under dcqcn with profile b, its NIC, receivers tell of every
# marked packet, as its do (host.cnp_interval). Not the same: headroom is for the longest delay. The buffer is %[4]d MiB less the reserve
# of 4 KiB of each port of the largest switch, so that a port which fills alone is paused at the same level.
name: %[2]s
topology: {name: %[2]q, framing: ns3, hpcc: %[3]q}
routing: {hash: hpcc}
switch:
  buffer: %[10]dB
  pfc: {alpha: 1/8, xoff: 0, xoff_to_xon: 3KB, headroom: %[5]dB, per_rate: %[1]v}
  ecn: {%[6]s, per_rate: %[1]v}
# ACKs, and the CNPs that are a bit of them there, go in the data's priority. Whether a paused host may send any is run.py's
# ack_prio: 1 for dcqcn, timely and timely+win, 0 for the others. Import the files again for another (--cc).
host: {control_priority: 3, ack_when_paused: %[7]v}
%[11]scontrollers: [%[12]s]
workloads:
  - {%[8]s}
duration: %[9]v
drain: true
sample: {flows: none}
`, line, scenarioNameOf(name), topology, max(1, 16*gigabits/50), headroom, marking, control.ackPrio, item, duration,
		buffer, constants, control.name), nil
}

// scenarioNameOf turns any text into a valid name of a scenario.
func scenarioNameOf(text string) string {
	name := strings.Map(func(c rune) rune {
		if NamePattern.MatchString("x" + string(c)) {
			return c
		}
		return '-'
	}, text)
	if !NamePattern.MatchString(name) {
		return "hpcc" + name
	}
	return name
}

// hpccSpan returns the first and the last start in a flow file of the simulator. Other mistakes are reported when the
// scenario is read.
func hpccSpan(path string) (first, last vtime.Time, err error) {
	data, err := files.Read(path, yamlspec.TableFile)
	if err != nil {
		return 0, 0, err
	}
	report := new(yamlspec.Report)
	w := report.Words(path, data)
	defer w.Close()
	count := 0
	if !w.Int(&count, "number of flows", 1, mostNumbers) {
		return 0, 0, report.Err()
	}
	first = vtime.Never
	for range count {
		var start *yamlspec.Value
		for _, what := range []string{
			"source of a flow", "destination of a flow", "priority group", "destination port",
			"size in bytes", "start in seconds",
		} {
			if start = w.Next(what); start == nil {
				return 0, 0, report.Err()
			}
		}
		at, err := units.ParseTime(start.Raw() + "s")
		if err != nil {
			start.Errorf("%q is not a time in seconds", start.Raw())
			return 0, 0, report.Err()
		}
		first, last = min(first, at), max(last, at)
	}
	return first, last, nil
}
