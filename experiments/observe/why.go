package observe

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/experiments/observe/provenance"
	"github.com/pausenet/pausenet/experiments/results/rundir"
	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/internal/table"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/vtime"
)

// whyRecord records the causes of each flow's completion time. It classifies queued frames by the tags of their flows.
type whyRecord struct {
	*provenance.Recorder
	names []string // of classes
}

// mostClasses limits the classes of frames, because each frame in a queue stores a number for every class.
const mostClasses = 16

// Classes of frames beside the tags.
const (
	classControl = "control" // ACK, NAK, CNP, CNM, PFC
	classOthers  = "others"  // flows of the tags with the fewest bytes
)

// Why returns an observer that writes the causes of each flow's completion time to why.csv and causes.csv.
func Why(u *scenario.Setup) (*runner.Observer, error) {
	if err := u.Scenario.WhyFits(); err != nil {
		return nil, err
	}
	w := newWhyRecord(u.Scenario)
	var run *runner.Observed
	return &runner.Observer{
		Tracer: w,
		Start: func(r *runner.Observed) error {
			run = r
			return nil
		},
		End:   func() { w.Finish(run.Engine.Now(), run.Engine.EachQueued) },
		Check: func() error { return w.check(run.Engine) },
		Write: func() error { return w.write(run.Folder, u.Scenario) },
	}, nil
}

func newWhyRecord(s *scenario.Scenario) *whyRecord {
	bytes := map[string]int64{}
	for i := range s.Flows {
		bytes[s.Flows[i].Tag] += int64(s.Flows[i].Size)
	}
	tags := slices.SortedFunc(maps.Keys(bytes), func(a, b string) int {
		return cmp.Or(cmp.Compare(bytes[b], bytes[a]), cmp.Compare(a, b))
	})
	names := append([]string{classControl}, tags...)
	if len(tags) > mostClasses {
		names = append(names[:mostClasses:mostClasses], classOthers)
	}
	of := map[string]int16{}
	for i, tag := range tags {
		of[tag] = int16(min(i+1, len(names)-1))
	}
	classOf := make([]int16, len(s.Flows))
	for i := range s.Flows {
		classOf[i] = of[s.Flows[i].Tag]
	}
	return &whyRecord{provenance.New(s.Topology, s.Host.DataPriority, classOf, len(names)-1), names}
}

// check returns an error if the parts of a flow's time do not add up to it.
func (w *whyRecord) check(e *engine.Engine) error {
	return w.Check(func(flow int) (vtime.Time, bool) {
		f := &e.Flows()[flow]
		switch {
		case f.Finished != vtime.Never:
			return f.Finished - f.Start, true
		case !f.Started():
			return 0, true
		}
		return e.Now() - f.Start, false
	})
}

// write writes why.csv and causes.csv.
func (w *whyRecord) write(folder *files.Folder, s *scenario.Scenario) error {
	record, plan := w.Result(), s.Topology
	name := func(port int32) string {
		if port < 0 {
			return ""
		}
		return plan.Ports[port].Name
	}
	rows := make([]rundir.CauseRow, len(record.Causes))
	for i, c := range record.Causes {
		rows[i] = rundir.CauseRow{Number: i, Kind: c.Kind.String(), Port: name(c.Port), Because: int(c.Because)}
		if c.Kind == provenance.Congestion {
			rows[i].Queue = w.queue(int(c.Port))
		}
	}
	if err := rundir.Write(folder, rundir.Causes, table.Rows(rows)); err != nil {
		return err
	}
	return rundir.Write(folder, rundir.Why, func(yield func(*rundir.WhyRow) bool) {
		for i := range record.Flows {
			f := &record.Flows[i]
			for k, x := range f.Shares {
				row := rundir.WhyRow{
					Flow: f.Flow, Stage: x.Stage.String(), Again: x.Retransmitted, What: x.What.String(),
					Way: "data", Port: name(x.Port),
					Cause:  int(x.Cause),
					Signal: x.Signal.String(), SignalPort: name(x.SignalPort), SignalCause: int(x.SignalCause),
					Picoseconds: int64(f.Times[k]),
				}
				if x.Answer {
					row.Way = rundir.WayACK
				}
				if x.What == provenance.Queued {
					row.Behind = w.names[x.Class]
				}
				if !yield(&row) {
					return
				}
			}
		}
	})
}

// queue returns the bytes of each class in a port's queue, summed over the PAUSEs that the queue caused.
func (w *whyRecord) queue(port int) string {
	var parts []string
	for class, n := range w.Blamed(port) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%s=%d", w.names[class], n))
		}
	}
	return strings.Join(parts, ";")
}
