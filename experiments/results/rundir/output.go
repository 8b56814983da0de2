package rundir

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/internal/table"
)

// Output holds the tables that a run writes while it simulates. A run that is stopped keeps the rows written so far.
type Output struct {
	Ports  *csvFile[PortRow]
	PFC    *csvFile[PFCRow]
	Rates  *csvFile[RateRow]
	Events *csvFile[EventRow]
}

// Names of files that HPCC's simulator writes, for the scripts that read them.
const (
	HPCCFlowsFile  = "fct.txt"
	HPCCPausesFile = "pfc.txt"
)

// PerfettoFile names the trace for ui.perfetto.dev.
const PerfettoFile = "trace.pftrace"

// PanicFile names the file with the stack of a congestion control that panicked.
const PanicFile = "panic.txt"

// RecordFile names the recording of all ports over time (package replay).
const RecordFile = "record.bin"

// Files lists all files that a run may write into its folder, except the manifest.
var Files = namesOfFiles()

func namesOfFiles() (names []string) {
	for _, t := range Tables {
		names = append(names, t.Name, t.ParquetName())
	}
	return append(names, SummaryFile, "capture.pcapng", PerfettoFile, "figure.svg", "figure.png", "figure.pdf",
		HPCCFlowsFile, HPCCPausesFile,
		PanicFile, RecordFile, SumsFile)
}

// IsFile reports whether a run's folder may hold a file of this name.
func IsFile(name string) bool { return name == ManifestFile || slices.Contains(Files, name) }

// Create creates a run's files, and removes those of an earlier run, which could be mistaken for them.
func Create(folder *files.Folder) (*Output, error) {
	if err := errors.Join(folder.Tidy(append([]string{ManifestFile}, Files...)...), folder.Remove(Files...)); err != nil {
		return nil, fmt.Errorf("cannot create the results: %w", err)
	}
	o := &Output{}
	var errs [4]error
	o.Ports, errs[0] = create(folder, Ports)
	o.PFC, errs[1] = create(folder, PFC)
	o.Rates, errs[2] = create(folder, Rates)
	o.Events, errs[3] = create(folder, Events)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot create the results: %w", err), o.Close())
	}
	return o, nil
}

// Close writes the remaining rows and closes the files.
func (o *Output) Close() error {
	return errors.Join(o.Ports.close(), o.PFC.close(), o.Rates.close(), o.Events.close())
}

// Discard returns an Output that writes nothing.
func Discard() *Output {
	return &Output{Ports: discard(Ports), PFC: discard(PFC), Rates: discard(Rates), Events: discard(Events)}
}

func discard[Row any](t *table.Table[Row]) *csvFile[Row] {
	w, _ := t.NewWriter(io.Discard)
	return &csvFile[Row]{Writer: w}
}

// FlowRows returns the rows of flows.csv.
func FlowRows(s *scenario.Scenario, flows measure.Flows) iter.Seq[*FlowRow] {
	return func(yield func(*FlowRow) bool) {
		var row FlowRow
		for i := range flows.Len() {
			f, spec := flows.Record(i), s.Flow(i)
			row = FlowRow{
				Number: i, Tag: spec.Tag, Size: int64(spec.Size), Start: f.Start.RoundNanoseconds(), FCT: -1, Ideal: -1,
				Slowdown:    -1,
				Source:      s.Topology.EndName(spec.Source, spec.Pair.From),
				Destination: s.Topology.EndName(spec.Destination, spec.Pair.To), Retransmitted: f.Retransmitted,
			}
			if f.Ended {
				row.FCT, row.Ideal = f.Times.FCT.RoundNanoseconds(), f.Times.Ideal.RoundNanoseconds()
				row.Slowdown = f.Times.Slowdown()
			}
			if !yield(&row) {
				return
			}
		}
	}
}

// Points holds one series of a panel: a part of panels.csv.
type Points struct {
	Time  []int64 // virtual ns
	Value []float64
}

// PanelRows returns the rows of panels.csv.
func PanelRows(panels [][]Points) iter.Seq[*PanelRow] {
	return func(yield func(*PanelRow) bool) {
		var row PanelRow
		for i := range panels {
			for k, p := range panels[i] {
				for n := range p.Time {
					if row = (PanelRow{i, k, p.Time[n], p.Value[n]}); !yield(&row) {
						return
					}
				}
			}
		}
	}
}
