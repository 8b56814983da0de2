package scenario

import (
	"fmt"
	"strings"

	"github.com/pausenet/pausenet/experiments/traffic/workload"
	"github.com/pausenet/pausenet/internal/lists"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// WorkloadView holds the resolved form of a workload in a View: its rule, from which the seed generates the flows, or
// its file. Fields that do not apply to its kind are absent.
type WorkloadView struct {
	Tag      string      `json:"tag"`
	Kind     string      `json:"kind"`
	Sizes    *SizesView  `json:"sizes,omitempty"`
	Size     units.Bytes `json:"size_bytes,omitempty"`
	Load     float64     `json:"load,omitempty"`
	Of       string      `json:"of,omitempty"`
	Capacity units.Rate  `json:"capacity_bps,omitempty"` // the capacity that the load refers to
	// time between flows, events or rounds; the average if they are random
	Interval   float64  `json:"interval_ns,omitempty"`
	Arrivals   string   `json:"arrivals,omitempty"`
	Degree     int      `json:"degree,omitempty"`
	Pairs      string   `json:"pairs,omitempty"`
	From       []string `json:"from,omitempty"` // absent, like To: all hosts
	To         []string `json:"to,omitempty"`
	Start      float64  `json:"start_ns"`
	Until      float64  `json:"until_ns,omitempty"`
	Count      int      `json:"count,omitempty"` // maximum number of flows, events or rounds
	File       string   `json:"file,omitempty"`
	SHA256     string   `json:"sha256,omitempty"`    // of the file
	Origin     float64  `json:"origin_ns,omitempty"` // the file's time at which the run starts
	Unfinished bool     `json:"expect_unfinished,omitempty"`
	OwnView
	// For a workload of dependent flows: the hosts of the ranks, in the listed order or by Placement, and the steps of
	// each rank, repeated Iterations times.
	Ranks      []string   `json:"ranks,omitempty"`
	Placement  string     `json:"placement,omitempty"`
	Iterations int        `json:"iterations,omitempty"`
	Steps      []StepView `json:"steps,omitempty"`
	Operations int        `json:"operations,omitempty"`
	Calc       float64    `json:"calc_ns,omitempty"` // duration of a calc of 1 in a GOAL file
	// of a trace's collectives, like the next fields; absent: the default of each kind
	Algorithm string `json:"algorithm,omitempty"`
	Chunks    int    `json:"chunks,omitempty"`
	Group     int    `json:"group,omitempty"`
	// Flows and Bytes are the totals for the scenario's seed.
	Flows int         `json:"flows"`
	Bytes units.Bytes `json:"payload_bytes"`
}

// SizesView holds the resolved form of a size distribution in a View.
type SizesView struct {
	Name   string           `json:"name"`
	Mean   float64          `json:"mean_bytes"`
	Points []workload.Point `json:"points"`
}

// StepView holds the resolved form of a step of a workload: a collective, a barrier, or a compute.
type StepView struct {
	Collective string      `json:"collective,omitempty"`
	Algorithm  string      `json:"algorithm,omitempty"`
	Size       units.Bytes `json:"size_bytes,omitempty"`
	Chunks     int         `json:"chunks,omitempty"`
	Group      int         `json:"group,omitempty"`
	Root       string      `json:"root,omitempty"`
	Ranks      []string    `json:"ranks,omitempty"` // absent: all ranks
	Overlap    bool        `json:"overlap,omitempty"`
	Barrier    bool        `json:"barrier,omitempty"`
	Compute    float64     `json:"compute_ns,omitempty"`
	Jitter     float64     `json:"jitter_ns,omitempty"`
	Slow       []string    `json:"slow,omitempty"`
	Factor     float64     `json:"factor,omitempty"`
}

// describe returns the step in words.
func (v *StepView) describe() string {
	switch {
	case v.Barrier:
		return "barrier"
	case v.Collective != "":
		text := fmt.Sprintf("%s of %v by %s", v.Collective, v.Size, v.Algorithm)
		if v.Chunks > 1 {
			text += fmt.Sprintf(" in %d chunks", v.Chunks)
		}
		if v.Group > 0 {
			text += fmt.Sprintf(" in groups of %d", v.Group)
		}
		if len(v.Ranks) > 0 {
			text += " among " + lists.Few(v.Ranks)
		}
		if v.Overlap {
			text += ", overlapping"
		}
		return text
	}
	return fmt.Sprintf("compute %v", vtime.Time(v.Compute*float64(vtime.Nanosecond)))
}

// Describe returns the workload in one line: "poisson, websearch, load 0.8 of the core: 10000 flows, 17.1GB".
func (v *WorkloadView) Describe() string {
	parts := []string{v.Kind}
	say := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if v.Degree > 0 {
		say("%s, %d senders to one", v.Arrivals, v.Degree)
	}
	switch {
	case v.Sizes != nil:
		say("sizes from %s (mean %v)", v.Sizes.Name, units.Bytes(v.Sizes.Mean+0.5))
	case v.Size > 0:
		say("%v each", v.Size)
	}
	if v.Load > 0 {
		say("load %g of %s (%v)", v.Load, v.Of, v.Capacity)
	}
	if v.Interval > 0 {
		say("every %v", vtime.Time(v.Interval*float64(vtime.Nanosecond)))
	}
	if v.Pairs != "" {
		say("%s", v.Pairs)
	}
	for i := range v.Steps {
		say("%s", v.Steps[i].describe())
	}
	if v.Iterations > 1 {
		say("%d times", v.Iterations)
	}
	for _, set := range []struct {
		word  string
		names []string
	}{{"from", v.From}, {"to", v.To}, {"among", v.Ranks}} {
		if len(set.names) > 0 {
			say("%s %s", set.word, topologies.Abbreviate(set.names))
		}
	}
	if v.File != "" {
		say("%s", v.File)
	}
	parts = append(parts, v.describe()...)
	if v.Placement != "" && v.Placement != placements[0] {
		say("placed %s", v.Placement)
	}
	if v.Unfinished {
		say("may outlast the run")
	}
	return fmt.Sprintf("%s: %d flows, %v", strings.Join(parts, ", "), v.Flows, v.Bytes)
}
