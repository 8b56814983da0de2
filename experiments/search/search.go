package search

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/pausenet/pausenet/experiments/explore"
	"github.com/pausenet/pausenet/topologies"
)

// generation is the number of candidates that are made from the same knowledge. It does not depend on the number of
// runs at a time, so neither does the search.
const generation = 16

// near is the number of candidates to change while there is no case.
const near = 4

// Result holds what a search found.
type Result struct {
	Family     string `json:"family"`
	Objective  string `json:"objective"`
	Candidates int    `json:"candidates"`
	Invalid    int    `json:"invalid"` // candidates that no scenario may be
	Interested int    `json:"interesting"`
	Cases      []Case `json:"cases"`
	// Nearest holds the value of the candidate that is closest to a case, for people; "": there is none.
	Nearest string `json:"-"`

	Runs  int           `json:"-"` // made now
	Known int           `json:"-"` // runs of the journal
	Spent time.Duration `json:"-"` // processor time
}

// Case represents the worst case of one cause, shrunk.
type Case struct {
	Cause string  `json:"cause"`
	Why   string  `json:"why"`
	Value float64 `json:"value"`
	Found float64 `json:"value_before_shrinking"`
	ValueText,
	FoundText string `json:"-"`
	// SeedValues holds the values under seeds 1 to 5; a seed without a value is absent.
	SeedValues  map[uint64]float64 `json:"seed_values"`
	Holds       int                `json:"seeds_with_case"`
	Seeds       string             `json:"-"` // the range of SeedValues, for people
	Fingerprint string             `json:"fingerprint"`
	Flows       int                `json:"flows"`
	Faults      int                `json:"faults"`
	FlowsBefore int                `json:"flows_before_shrinking"`
	File        string             `json:"file"`
	Command     string             `json:"command"`

	text string
	seed uint64
}

// scored holds a candidate with its measurements.
type scored struct {
	*candidate
	value, hint float64 // value: NaN if it has none
	interesting bool
	cause       *explore.Cause
	fingerprint string
	err         string // why it cannot run
}

// search holds the state of a search.
type search struct {
	*Family
	m      *explore.Machine
	best   []*scored // of each cause, in the order in which the causes were found
	almost []*scored // the best that are no cases
	count  int
	result Result
	reason string // why the first invalid candidate is one
}

// Identity identifies the search by a version of the program.
func (f *Family) Identity(version string) string { return explore.Identity(version, f.sources, f.data) }

// Search makes a search, or continues one of which the folder has the journal. An error of an interrupted search wraps
// context.Canceled.
func (f *Family) Search(ctx context.Context, o explore.Options) (*Result, error) {
	if err := os.MkdirAll(o.Folder, 0o755); err != nil {
		return nil, err
	}
	journal, err := explore.OpenJournal(filepath.Join(o.Folder, explore.JournalName), f.Identity(o.Version))
	if err != nil {
		return nil, err
	}
	defer journal.Close()
	scratch := filepath.Join(o.Folder, "scratch")
	defer os.RemoveAll(scratch)
	m := &explore.Machine{
		File: filepath.Join(filepath.Dir(f.File), "candidate.yaml"), Journal: journal, Jobs: max(o.Jobs, 1),
		Quantities: []*explore.Quantity{f.Objective.Quantity}, Scratch: scratch, Elsewhere: o.Elsewhere,
	}
	m.Start()
	var s *search
	err = m.Trusted(ctx, func() error {
		s = &search{Family: f, m: m}
		return s.run(ctx, o)
	})
	if err != nil {
		return nil, err
	}
	s.result.Runs, s.result.Known, s.result.Spent = m.Runs(), journal.Known(), m.Spent()
	return &s.result, nil
}

// run makes the search.
func (s *search) run(ctx context.Context, o explore.Options) error {
	for s.count < s.Budget {
		if err := s.generation(ctx); err != nil {
			return err
		}
		if o.Progress != nil && (s.count == s.Budget || s.count*10/s.Budget > (s.count-generation)*10/s.Budget) {
			o.Progress(s.progress())
		}
	}
	if s.result.Invalid == s.count {
		return fmt.Errorf("no candidate can run; the first one: %s", s.reason)
	}
	return s.conclude(ctx, o)
}

func (s *search) progress() string {
	causes := "no case yet"
	if n := len(s.best); n > 0 {
		causes = fmt.Sprintf("%s of %s", topologies.Plural(s.result.Interested, "case"), topologies.Plural(n, "cause"))
	}
	return fmt.Sprintf("%d of %d candidates: %s", s.count, s.Budget, causes)
}

// generation makes some candidates, runs them and learns from them.
func (s *search) generation(ctx context.Context) error {
	all := make([]*scored, min(generation, s.Budget-s.count))
	for i := range all {
		r := explore.NewRandom(s.Seed, uint64(s.count+i))
		all[i] = &scored{candidate: s.propose(s.count+i, r)}
	}
	err := s.m.Each(ctx, len(all), func(ctx context.Context, i int) (err error) {
		all[i], err = s.score(ctx, all[i].candidate)
		return err
	})
	if err != nil {
		return err
	}
	for _, c := range all {
		s.learn(c)
	}
	s.count += len(all)
	return nil
}

// propose returns a candidate: at random, or a change of a good one.
func (s *search) propose(number int, r *explore.Random) *candidate {
	parents := s.best
	if len(parents) == 0 {
		parents = s.almost
	}
	if number < (s.Budget+2)/3 || len(parents) == 0 {
		return s.draw(r)
	}
	return s.change(parents[number%len(parents)].candidate, r)
}

// score runs a candidate.
func (s *search) score(ctx context.Context, c *candidate) (*scored, error) {
	got := &scored{candidate: c, value: math.NaN()}
	text, o, seed := s.text(c), &s.Objective, s.seedOf(c)
	under, err := s.m.Run(ctx, explore.Task{Text: text, Controller: o.Under, Seed: seed})
	if err != nil || under.Error != "" {
		if err == nil {
			got.err = under.Error
		}
		return got, err
	}
	var against *explore.Outcome
	if o.Against != "" {
		against, err = s.m.Run(ctx, explore.Task{Text: text, Controller: o.Against, Seed: seed})
		if err != nil {
			return nil, err
		}
		got.err = against.Error
	}
	got.value, got.hint, got.fingerprint = o.value(under, against), under.Hint, under.Fingerprint
	if got.interesting = o.interesting(got.value); !got.interesting {
		return got, nil
	}
	if under.Cause == nil {
		under, err = s.m.Run(ctx, explore.Task{Text: text, Controller: o.Under, Seed: seed, Why: true})
		if err != nil {
			return nil, err
		}
	}
	got.cause = under.Cause
	return got, nil
}

// value returns the objective's value of runs, NaN if they have none.
func (o *Objective) value(under, against *explore.Outcome) float64 {
	v := under.Value(o.Quantity.Name)
	if against == nil {
		return v
	}
	w := against.Value(o.Quantity.Name)
	switch {
	case under.Failed() || against.Failed() || under.Completed != against.Completed: // no flow times to compare
		return math.NaN()
	case o.As == "difference":
		return v - w
	case w == 0:
		return math.NaN()
	}
	return v / w
}

// interesting reports whether a value makes a case. Two equal runs never do.
func (o *Objective) interesting(v float64) bool {
	neutral := 0.0
	if o.As == "ratio" {
		neutral = 1
	}
	switch {
	case math.IsNaN(v) || o.Against != "" && v == neutral:
		return false
	case o.Lowest:
		return v <= o.AtLeast
	}
	return v >= o.AtLeast
}

// keeps reports whether a shrunk case's value is still close to the one found.
func (o *Objective) keeps(v, found float64) bool {
	if !o.interesting(v) {
		return false
	}
	if slack := math.Abs(found) * (1 - o.Keep); o.Lowest {
		return v <= found+slack
	} else {
		return v >= found-slack
	}
}

// compare returns a negative number if a is the worse case: by value, by hint, and then with less in it.
func (o *Objective) compare(a, b *scored) int {
	value := func(c *scored) float64 {
		switch {
		case math.IsNaN(c.value):
			return math.Inf(1)
		case o.Lowest:
			return c.value
		}
		return -c.value
	}
	return cmp.Or(cmp.Compare(value(a), value(b)), cmp.Compare(b.hint, a.hint), cmp.Compare(a.size(), b.size()))
}

func (c *candidate) size() int { return len(c.flows) + len(c.faults) }

// learn keeps a candidate that is the best of its cause, or close to a case.
func (s *search) learn(c *scored) {
	switch {
	case c.err != "":
		if s.result.Invalid++; s.reason == "" {
			s.reason = c.err
		}
	case c.interesting:
		s.result.Interested++
		i := slices.IndexFunc(s.best, func(b *scored) bool { return b.cause.Class == c.cause.Class })
		if i < 0 {
			s.best = append(s.best, c)
		} else if s.Objective.compare(c, s.best[i]) < 0 {
			s.best[i] = c
		}
	default:
		s.almost = append(s.almost, c)
		slices.SortStableFunc(s.almost, s.Objective.compare)
		s.almost = s.almost[:min(len(s.almost), near)]
	}
}

// conclude shrinks the worst cases and writes them.
func (s *search) conclude(ctx context.Context, o explore.Options) error {
	worst := slices.Clone(s.best)
	slices.SortStableFunc(worst, s.Objective.compare)
	worst = worst[:min(len(worst), s.Cases)]
	r := &s.result
	r.Family, r.Objective, r.Candidates = s.Name, s.Objective.String(), s.count
	r.Cases = make([]Case, len(worst))
	if len(s.almost) > 0 && !math.IsNaN(s.almost[0].value) {
		r.Nearest = s.Objective.Text(s.almost[0].value)
	}
	err := s.m.Each(ctx, len(worst), func(ctx context.Context, i int) error {
		small, err := s.shrink(ctx, worst[i])
		if err != nil {
			return err
		}
		r.Cases[i], err = s.describe(ctx, worst[i], small)
		return err
	})
	if err != nil {
		return err
	}
	return r.write(s, o.Folder)
}

// String describes the objective.
func (o *Objective) String() string {
	goal := "highest"
	if o.Lowest {
		goal = "lowest"
	}
	text := fmt.Sprintf("%s %s under %s", goal, o.Quantity.Name, o.Under)
	if o.Against != "" {
		text += map[string]string{"ratio": ", as a ratio to ", "difference": ", minus that under "}[o.As] + o.Against
	}
	return text
}

// Text formats a value of the objective.
func (o *Objective) Text(v float64) string {
	if o.Against != "" && o.As == "ratio" {
		return fmt.Sprintf("%.2f times", v)
	}
	return o.Quantity.Text(v)
}
