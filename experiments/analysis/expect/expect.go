// Package expect compares a measurement of a collective by nccl-tests with its limit and with what pausenet reaches on
// the fabric as planned, and ranks the single faults that would explain the gap.
package expect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/experiments/analysis/resimulate"
	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/experiments/traffic/collective"
	"github.com/pausenet/pausenet/internal/yamlspec"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/units"
)

// Question describes what was measured, and where.
type Question struct {
	// File and Text hold a scenario, whose flows are replaced, and Sets its changes, as for --set.
	File       string
	Text       []byte
	Sets       []string
	Controller string // empty: the scenario's first
	Log        *Log
	Collective string
	// Algorithms lists those of which the fastest counts at each size; empty: those that NCCL chooses among.
	Algorithms []string
	Ranks      string // hosts, as in a scenario; empty: all
	Placement  string // of the ranks; empty: given
	Most       int64  // the largest size that is simulated
	Suspects   bool   // rank faults, too
	// Progress, if set, is called after each run.
	Progress func(done, of int)
}

// Size compares one size. Bandwidths are in bytes per second; times in nanoseconds.
type Size struct {
	Size      int64   `json:"size_bytes"`
	Algorithm string  `json:"algorithm"`
	Limit     float64 `json:"limit_busbw"`
	Time      float64 `json:"time_ns"`
	Alg       float64 `json:"algbw"`
	Bus       float64 `json:"busbw"`
	// Extrapolated reports whether the times are extrapolated linearly from the two largest simulated sizes, because this
	// size was not simulated.
	Extrapolated bool    `json:"extrapolated"`
	MeasuredTime float64 `json:"measured_time_ns"`
	MeasuredAlg  float64 `json:"measured_algbw"`
	MeasuredBus  float64 `json:"measured_busbw"`
	Gap          float64 `json:"gap"` // how much less was measured, as a fraction of Bus
}

// Suspect represents a fault and how well it explains the measurement.
type Suspect struct {
	resimulate.Fault
	// Or holds the texts of faults of the same kind at other places that explain as much; Alike has these places, too.
	Or []string `json:"or,omitempty"`
	// Error holds the root mean square, over the simulated sizes, of the logarithm of measured over simulated time.
	Error float64 `json:"error"`
	// Bus holds the bus bandwidth under the fault at the largest simulated size.
	Bus float64 `json:"busbw"`
}

// Answer represents the comparison.
type Answer struct {
	Collective  string    `json:"collective"`
	Ranks       int       `json:"ranks"` // of the log
	Hosts       int       `json:"hosts"`
	Controller  string    `json:"controller"`
	Fingerprint string    `json:"fingerprint"` // of the run without faults
	Sizes       []Size    `json:"sizes"`
	Healthy     float64   `json:"error_without_fault"`
	Runs        int       `json:"runs"`
	Suspects    []Suspect `json:"suspects"`
	Interrupted bool      `json:"interrupted,omitempty"`
	Notes       []string  `json:"notes,omitempty"`
}

// overhead is the suspect outside of the network.
const overhead resimulate.Kind = "software"

// closeEnough is the error up to which a measurement needs no explanation.
const closeEnough = 0.05

// expectation holds what one question needs.
type expectation struct {
	q      *Question
	base   resimulate.Base
	plan   *topologies.Plan
	hosts  int // that take part
	ranks  int // of the log
	sizes  []int64
	chosen []string // algorithm by size
	answer *Answer
}

// Ask answers a question. If ctx ends while faults are tried, the answer has those that were, with ctx's error.
func Ask(ctx context.Context, q *Question) (*Answer, error) {
	x := &expectation{q: q, answer: &Answer{Collective: q.Collective, Suspects: []Suspect{}}}
	if err := x.prepare(); err != nil {
		return nil, err
	}
	used, err := x.compare(ctx)
	if err != nil {
		return nil, err
	}
	if !q.Suspects || x.answer.Healthy <= closeEnough {
		return x.answer, nil
	}
	err = x.suspect(ctx, used)
	x.answer.Interrupted = err != nil && ctx.Err() != nil
	return x.answer, err
}

// prepare checks the log against the fabric, and selects the sizes.
func (x *expectation) prepare() error {
	q := x.q
	x.base = resimulate.Base{File: q.File, Text: q.Text, Controller: q.Controller}
	// A first reading, with any size, tells the hosts.
	x.base.Sets = x.sets([]int64{1 << 30}, []string{cmp.Or(first(q.Algorithms), defaults(q.Collective)[0])})
	s, err := x.base.Load(&resimulate.Fault{})
	if err != nil {
		return &FabricError{q.located(err)}
	}
	x.plan, x.answer.Notes = s.Topology, slices.Clone(q.Log.Notes)
	x.hosts = hostsOf(s)
	x.ranks = q.Log.Ranks
	if x.ranks == 0 {
		x.ranks = x.hosts
		x.answer.Notes = append(x.answer.Notes, fmt.Sprintf("the log lists no ranks: taken as %d, one on each host", x.hosts))
	}
	if several := q.Log.Hosts > 0 && q.Log.Hosts != x.hosts && x.ranks != x.hosts; several || x.ranks%x.hosts != 0 {
		found := fmt.Sprintf("the topology has %d hosts: name those of the measurement with --ranks", x.hosts)
		if q.Ranks != "" {
			found = fmt.Sprintf("--ranks %s names %d: name each host of the measurement", q.Ranks, x.hosts)
		}
		return fmt.Errorf("line %d: the log lists %d ranks on %d hosts, but %s", q.Log.rankLine, x.ranks, q.Log.Hosts, found)
	}
	if x.ranks > x.hosts {
		x.answer.Notes = append(x.answer.Notes,
			fmt.Sprintf("%d ranks on each host: links inside a host are taken to cost nothing",
				x.ranks/x.hosts))
	}
	if err := q.Log.check(q.Collective, x.ranks); err != nil {
		return err
	}
	for _, row := range q.Log.Rows {
		switch {
		case row.Size > q.Most:
		case x.scaled(row.Size) < int64(64*x.hosts):
			x.answer.Notes = append(x.answer.Notes,
				fmt.Sprintf("line %d: not run: %d B are less than 64 B for each host", row.Line, row.Size))
		case !slices.Contains(x.sizes, row.Size):
			x.sizes = append(x.sizes, row.Size)
		}
	}
	slices.Sort(x.sizes)
	if len(x.sizes) == 0 {
		return fmt.Errorf("no size of the log can be simulated: expected one from %d B to %v (--most)%s", 64*x.hosts,
			units.Bytes(q.Most),
			leftOut(x.answer.Notes))
	}
	x.answer.Ranks, x.answer.Hosts = x.ranks, x.hosts
	return nil
}

// leftOut lists the rows that are left out, for an error's end.
func leftOut(notes []string) string {
	return strings.Join(append([]string{""}, notes...), "\n  ")
}

// FabricError reports a mistake in the fabric's file or in an option, not in the log.
type FabricError struct{ Err error }

func (e *FabricError) Error() string { return e.Err.Error() }

// Unwrap returns the underlying error.
func (e *FabricError) Unwrap() error { return e.Err }

// located names the option in place of the setting that was made from it.
func (q *Question) located(err error) error {
	var problems yamlspec.Problems
	if !errors.As(err, &problems) || problems[0].File != yamlspec.SettingName || problems[0].Path != "workloads" {
		return err
	}
	option, value, remedy := "--ranks", q.Ranks, "name at least two hosts of the topology, such as h0..h7"
	if problems[0].Column < len(jobStart)+len(cmp.Or(q.Placement, "given"))+2 {
		option, value, remedy = "--placement", q.Placement, "leave it out if the ranks of the log are in the order of --ranks"
	}
	return fmt.Errorf("%s %s: %s (%s)", option, value, problems[0].Message, remedy)
}

func first(all []string) string {
	if len(all) == 0 {
		return ""
	}
	return all[0]
}

// defaults returns the algorithms among which NCCL chooses.
func defaults(kind string) []string {
	switch kind {
	case collective.AllReduce:
		return []string{collective.Ring, collective.Tree}
	case collective.AllToAll:
		return []string{collective.Direct}
	}
	return []string{collective.Ring}
}

// hostsOf returns the number of ranks of the scenario's only collective.
func hostsOf(s *scenario.Scenario) int { return len(s.Workloads[0].Hosts) }

// scaled returns the size with which the hosts, each one rank, send as much as the log's ranks send between hosts.
func (x *expectation) scaled(size int64) int64 {
	return Scaled(x.q.Collective, size, x.ranks, x.hosts)
}

// Scaled returns the size with which hosts, each one rank, send as much as more ranks send between hosts. A ring
// through n hosts of several ranks each crosses each host's edge once: it carries (N-1)/N of the size for N ranks, and
// (n-1)/n for n. In an all-to-all each rank sends to each of another host.
func Scaled(kind string, size int64, ranks, hosts int) int64 {
	n, all := float64(hosts), float64(ranks)
	switch kind {
	case collective.Broadcast:
		return size
	case collective.AllToAll:
		return int64(float64(size) * all / n)
	}
	return int64(math.Round(float64(size) * (all - 1) / all * n / (n - 1)))
}

// jobStart begins the change that replaces the workloads, up to the placement.
const jobStart = "workloads=[{tag: nccl, job: {placement: "

// sets returns the changes that replace a scenario's flows by the collectives.
func (x *expectation) sets(sizes []int64, algorithms []string) []string {
	var steps []string
	for i, size := range sizes {
		chunks := ""
		if x.plan != nil && !x.plan.SinglePort() && algorithms[i] == collective.Ring {
			chunks = fmt.Sprintf(", chunks: %d", len(x.plan.Interfaces)/len(x.plan.Hosts)) // each port has a ring of its own
		}
		steps = append(steps, fmt.Sprintf("{collective: {kind: %s, algorithm: %s, size: %dB%s}}", x.q.Collective,
			algorithms[i], size,
			chunks), "{barrier: true}")
	}
	job := "steps: [" + strings.Join(steps[:len(steps)-1], ", ") + "]"
	if x.q.Ranks != "" {
		job = fmt.Sprintf("ranks: [%s], %s", x.q.Ranks, job)
	}
	return slices.Concat(x.q.Sets, []string{
		jobStart + cmp.Or(x.q.Placement, "given") + ", " + job + "}}]",
		"flows=[]", "duration=1ms", "drain=true", "sample={flows: none}", "report=[]", "published=[]", "spans=[]",
		"look_at=[]",
	})
}

// run returns the collectives of a run under a fault, by size.
func (x *expectation) run(ctx context.Context, f *resimulate.Fault, sizes []int64, algorithms []string,
	ended func(*engine.Engine),
) (map[int64]*measure.CollectiveSummary, *measure.Summary, error) {
	base := x.base
	scaled := make([]int64, len(sizes))
	for i, size := range sizes {
		scaled[i] = x.scaled(size)
	}
	base.Sets = x.sets(scaled, algorithms)
	sum, err := base.Run(ctx, f, ended)
	if err != nil {
		return nil, nil, err
	}
	all := map[int64]*measure.CollectiveSummary{}
	for i := range sum.Collectives {
		c := &sum.Collectives[i]
		if at := slices.Index(scaled, c.Size); at >= 0 && c.Kind == x.q.Collective && c.Completed == c.Count {
			all[sizes[at]] = c
		}
	}
	return all, sum, nil
}

// compare runs the fabric as planned, and fills in the sizes.
func (x *expectation) compare(ctx context.Context) (resimulate.Usage, error) {
	algorithms := x.q.Algorithms
	if len(algorithms) == 0 {
		algorithms = defaults(x.q.Collective)
	}
	best := map[int64]*measure.CollectiveSummary{}
	var used resimulate.Usage
	for _, algorithm := range algorithms {
		all, sum, err := x.run(ctx, &resimulate.Fault{}, x.sizes, slices.Repeat([]string{algorithm}, len(x.sizes)),
			func(e *engine.Engine) { used = resimulate.UsageOf(e, x.plan) })
		if err != nil {
			return nil, err
		}
		x.answer.Runs++
		for size, c := range all {
			if best[size] == nil || c.Time.Mean < best[size].Time.Mean {
				best[size] = c
			}
		}
		x.answer.Controller, x.answer.Fingerprint = sum.Controller, sum.Fingerprint
	}
	x.chosen = make([]string, len(x.sizes))
	for i, size := range x.sizes {
		if best[size] == nil {
			return nil, fmt.Errorf("the collective of %d B did not end on the fabric as planned: check it with pausenet "+
				"validate", size)
		}
		x.chosen[i] = best[size].Algorithm
	}
	factor := (&collective.Spec{Kind: x.q.Collective}).Factor(x.ranks)
	for _, row := range x.q.Log.Rows {
		s := Size{
			Size: row.Size, MeasuredTime: row.Time * 1e3, MeasuredAlg: float64(row.Size) / row.Time * 1e6,
		}
		s.MeasuredBus = s.MeasuredAlg * factor
		limit := 0.0
		if c := best[row.Size]; c != nil {
			s.Algorithm, s.Time, limit = c.Algorithm, c.Time.Mean, float64(c.Limit)
		} else if n := len(x.sizes); n > 1 && row.Size > x.sizes[n-1] {
			a, b := best[x.sizes[n-2]], best[x.sizes[n-1]]
			line := func(t, u float64) float64 {
				return u + (u-t)*float64(row.Size-x.sizes[n-1])/float64(x.sizes[n-1]-x.sizes[n-2])
			}
			s.Algorithm, s.Extrapolated = b.Algorithm, true
			s.Time, limit = line(a.Time.Mean, b.Time.Mean), line(float64(a.Limit), float64(b.Limit))
		}
		if s.Time > 0 {
			s.Alg = float64(row.Size) / s.Time * 1e9
			s.Bus = s.Alg * factor
			s.Limit = float64(row.Size) / limit * 1e9 * factor
			s.Gap = 1 - s.MeasuredBus/s.Bus
		}
		x.answer.Sizes = append(x.answer.Sizes, s)
	}
	x.answer.Healthy = difference(x.sizes, x.measured(), func(size int64) float64 { return best[size].Time.Mean })
	return used, nil
}

// bus returns the bus bandwidth of an operation, by its time in nanoseconds.
func (x *expectation) bus(size int64, t float64) float64 {
	return float64(size) / t * 1e9 * (&collective.Spec{Kind: x.q.Collective}).Factor(x.ranks)
}

// measured returns the measured times, in nanoseconds, by size.
func (x *expectation) measured() map[int64]float64 {
	all := map[int64]float64{}
	for _, row := range x.q.Log.Rows {
		all[row.Size] = row.Time * 1e3
	}
	return all
}

// difference returns the root mean square of the logarithms of measured over simulated times; infinity if a size has no
// simulated time.
func difference(sizes []int64, measured map[int64]float64, simulated func(int64) float64) float64 {
	sum := 0.0
	for _, size := range sizes {
		t := simulated(size)
		if t <= 0 {
			return math.Inf(1)
		}
		d := math.Log(measured[size] / t)
		sum += d * d
	}
	return math.Sqrt(sum / float64(len(sizes)))
}
