package scenario

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"github.com/pausenet/pausenet/experiments/workload"
	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/internal/yamlspec"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// HPCCImport names files of HPCC's simulator that are to become a scenario: a topology, and either flows or a size
// distribution from which its traffic_gen.py would draw them. Paths are as the user gives them.
type HPCCImport struct {
	Topology string
	Flows    string
	CDF      string
	Load     float64    // of the hosts, with a CDF: traffic_gen.py's --load
	Time     vtime.Time // for which flows arrive, with a CDF
}

// SetLoad takes the load as a user writes it: 0.3, 30% or 3/10, above 0 and up to mostLoad.
func (h *HPCCImport) SetLoad(text string) error {
	report := new(yamlspec.Report)
	v := report.Parse("--load", []byte(text))
	if v.Float(&h.Load) {
		checkLoad(v, h.Load)
	}
	return report.Err()
}

// SetTime takes the time as a user writes it.
func (h *HPCCImport) SetTime(text string) error {
	report := new(yamlspec.Report)
	v := report.Parse("--time", []byte(text))
	if v.Time(&h.Time) && (h.Time == 0 || h.Time > maxDuration) {
		v.Errorf("flows arrive for more than nothing and up to %v", maxDuration)
	}
	return report.Err()
}

// checkLoad reports a load that no workload can have.
func checkLoad(v *yamlspec.Value, load float64) bool {
	switch {
	case load <= 0:
		v.Errorf("load must be positive")
	case load > mostLoad:
		v.Errorf("load %g is above %d: write 0.8 or 80%%", load, mostLoad)
	default:
		return true
	}
	return false
}

// Scenario is the text of a scenario that runs the files, for a file in the given folder. The files stay where they are. The
// switches are those that the simulator's run.py makes for the hosts' bandwidth, as far as our settings can say it.
func (h HPCCImport) Scenario(folder string) (string, error) {
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
	// Read as its scenario will, so that mistakes show now.
	plan, err := topologies.Parse("import.yaml", fmt.Appendf(nil, "name: %q\nhpcc: %q\n", name, h.Topology))
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
		origin := first / vtime.Second * vtime.Second // traffic_gen.py begins at 2 s
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
			path = "./" + path // and not a built-in distribution
		}
		item = fmt.Sprintf("tag: normal, poisson: {sizes: %q, load: %g, of: hosts}", path, h.Load)
	}
	line, delay := units.Rate(math.MaxInt64), vtime.Time(0)
	for i := range plan.Ports {
		p := &plan.Ports[i]
		line, delay = min(line, p.Rate), max(delay, p.Delay)
	}
	headroom := 3 * units.Bytes(line.BytesIn(delay))
	per25 := float64(line) / float64(25*units.Gbps)
	return fmt.Sprintf(`# Imported from HPCC's simulator. The switches are those of its run.py for hosts of %[1]v: PAUSE at an eighth of the free
# buffer, RED by the hosts' rate, and more at faster ports in proportion. Under dcqcn with profile b, its NIC, receivers tell of every
# marked packet, as its do (host.cnp_interval). Not the same: headroom is for the longest delay.
name: %[2]s
topology: {name: %[2]q, framing: ns3, hpcc: %[3]q}
routing: {hash: hpcc}
switch:
  buffer: %[4]gMiB
  pfc: {alpha: 1/8, xoff: 0, xoff_to_xon: 3KB, headroom: %[5]dB, per_rate: %[1]v}
  ecn: {mode: red, at: dequeue, kmin: %[6]gKB, kmax: %[7]gKB, pmax: 0.2, per_rate: %[1]v}
# ACKs, and the CNPs that are a bit of them there, go in the data's priority. Whether a paused host may send any is run.py's
# ack_prio: 1 for dcqcn and timely, 0 for hpcc and dctcp, which ack_when_paused: false is.
host: {control_priority: 3, ack_when_paused: true}
cc:
  dcqcn: {profile: b}
controllers: [dcqcn]
workloads:
  - {%[8]s}
duration: %[9]v
drain: true
sample: {flows: none}
`, line, scenarioNameOf(name), topology, 16*float64(line)/float64(50*units.Gbps), headroom, 100*per25, 400*per25, item, duration), nil
}

// scenarioNameOf makes a name that scenarios may have of any text.
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

// hpccSpan is the first and the last start in a flow file of the simulator. Other mistakes in it are found as the scenario is
// read.
func hpccSpan(path string) (first, last vtime.Time, err error) {
	data, err := files.Read(path, yamlspec.TableFile)
	if err != nil {
		return 0, 0, err
	}
	report := new(yamlspec.Report)
	w := report.Words(path, data)
	defer w.Close()
	count := 0
	if !w.Int(&count, "number of flows", 1, maxFlows) {
		return 0, 0, report.Err()
	}
	first = vtime.Never
	for range count {
		var start *yamlspec.Value
		for _, what := range []string{"source of a flow", "destination of a flow", "priority group", "destination port", "size in bytes", "start in seconds"} {
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
