package diagnose

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/pausenet/pausenet/experiments/analysis/resimulate"
	"github.com/pausenet/pausenet/experiments/counters"
)

// Options holds the options of a diagnosis. The zero value is valid.
type Options struct {
	Jobs     int                   // runs at the same time; 0: as many as processors. Results do not depend on it
	Seed     uint64                // of the runs; 0: the seed of the fabric's file
	Progress func(done, total int) // called after each run; may be nil
}

// Explanation represents a fault that may explain the dumps.
type Explanation struct {
	Kind  resimulate.Kind `json:"kind"`
	Place string          `json:"place,omitempty"`
	Value string          `json:"value,omitempty"`
	Text  string          `json:"text"`
	// Distance between the counters of the dumps and of the run under this fault; 0: equal.
	Distance float64 `json:"distance"`
	// Likelihood ranges from 0 to 1. The likelihoods of all faults that were tried add up to 1.
	Likelihood float64    `json:"likelihood"`
	Evidence   []Evidence `json:"evidence"`
}

// Diagnosis holds the explanations of the dumps, the likeliest first, with one for each kind and place.
type Diagnosis struct {
	Fabric       string        `json:"fabric"` // in words, with the source of the traffic
	Runs         int           `json:"runs"`
	Healthy      float64       `json:"healthy_distance"`
	Explanations []Explanation `json:"explanations"`
}

// penalty is added to the distance of every fault, because a healthy fabric is the simplest explanation.
const penalty = 0.06

// mostRefined limits the nearest places at which further values are tried, besides some places of each kind.
const mostRefined = 6

// Diagnose explains the dumps of a case. It first runs each kind of fault at each place with its usual value, and then
// other values at the places that came nearest. No fault runs twice.
func (c *Case) Diagnose(ctx context.Context, source Source, o Options) (*Diagnosis, error) {
	healthy := &Fault{Fault: resimulate.Fault{Kind: Healthy, Text: "no fault: the traffic alone explains the counters"}}
	var faults []*Fault
	for i := range kinds {
		for _, at := range kinds[i].places(c) {
			if f := c.fault(&kinds[i], at, c.firstValue(&kinds[i], at)); !c.ruledOut(f) {
				faults = append(faults, f)
			}
		}
	}
	s := &search{c: c, o: o, seen: map[string]bool{}}
	if err := s.calibrate(ctx, healthy); err != nil {
		return nil, err
	}
	if err := s.try(ctx, faults); err != nil {
		return nil, err
	}
	// Other values at the nearest places, then values between the best of them and its neighbours, then other seeds.
	for _, step := range []struct {
		next func(f *Fault) []*Fault
		each int // places of each kind
	}{{s.otherValues, 3}, {s.valuesBetween, 2}, {s.otherSeeds, 1}} {
		var more []*Fault
		for _, t := range s.nearest(step.each) {
			more = append(more, step.next(t.fault)...)
		}
		if err := s.try(ctx, more); err != nil {
			return nil, err
		}
	}
	return s.conclude(source), nil
}

// noiseRuns counts the runs of the healthy fabric with different seeds, which show how far chance moves each counter.
const noiseRuns = 16

// otherValues returns a fault with each of its kind's values.
func (s *search) otherValues(f *Fault) (more []*Fault) {
	if f.kind == nil {
		return nil
	}
	for _, value := range f.kind.values {
		more = append(more, s.c.fault(f.kind, f.Place, value))
	}
	return more
}

// valuesBetween returns a fault with the geometric means of its value and the usual values next to it.
func (s *search) valuesBetween(f *Fault) (more []*Fault) {
	if f.kind == nil || len(f.kind.values) == 1 {
		return nil
	}
	values := slices.Compact(slices.Sorted(slices.Values(append(slices.Clip(f.kind.values), f.value))))
	i := slices.Index(values, f.value)
	for _, k := range []int{i - 1, i + 1} {
		if i >= 0 && k >= 0 && k < len(values) {
			more = append(more, s.c.fault(f.kind, f.Place, math.Sqrt(values[i]*values[k])))
		}
	}
	return more
}

// otherSeeds returns a fault with other seeds, under which flows take other paths of equal cost.
func (s *search) otherSeeds(f *Fault) (more []*Fault) {
	for seed := uint64(noiseSeed); seed < noiseSeed+moreSeeds; seed++ {
		other := *f
		other.seed = seed
		more = append(more, &other)
	}
	return more
}

// moreSeeds counts the further seeds under which the nearest explanations run.
const moreSeeds = 3

// nearest returns the nearest trial of each of the mostRefined nearest places, and of some nearest places of each kind,
// because the first value of a kind may be far from the real one.
func (s *search) nearest(each int) (best []*trial) {
	had := map[string]bool{}
	ofKind := map[*kind]int{}
	for _, t := range s.ranked() {
		if place := t.fault.place(); !had[place] && (len(best) < mostRefined || ofKind[t.fault.kind] < each) {
			had[place] = true
			ofKind[t.fault.kind]++
			best = append(best, t)
		}
	}
	return best
}

// calibrate runs the healthy fabric with further seeds, and measures the noise of the counters.
func (s *search) calibrate(ctx context.Context, healthy *Fault) error {
	all := []*Fault{healthy}
	for i := range uint64(noiseRuns) {
		other := *healthy
		other.seed = noiseSeed + i
		all = append(all, &other)
	}
	// Find the flows' paths: compare the dumps' bytes with those of runs in which the flows take different paths.
	s.c.fit, s.c.idle = nil, nil
	results, err := s.results(ctx, all[:1+moreSeeds])
	if err != nil {
		return err
	}
	s.c.locate(results)
	if err := s.try(ctx, all); err != nil {
		return err
	}
	s.c.measureNoise(s.tried[0].fabrics[1:])
	s.rate(s.tried[0])
	return nil
}

// noiseSeed holds the first of the further seeds, which calibrate and otherSeeds use.
const noiseSeed = 101

// search holds the runs of a diagnosis.
type search struct {
	c     *Case
	o     Options
	seen  map[string]bool // keys of faults that have run
	tried []*trial        // the healthy fabric first
	runs  int
}

// trial holds the runs under a fault, with different seeds.
type trial struct {
	fault    *Fault
	fabrics  []*counters.Fabric
	rated    int // number of fabrics that distance accounts for
	distance float64
}

// rate sets the distance of a trial.
func (s *search) rate(t *trial) {
	if _, t.distance = s.c.compare(t.fabrics...); t.fault.kind != nil {
		t.distance += penalty
	}
	t.distance, t.rated = math.Sqrt(t.distance*t.distance+s.c.surprise(t.fault)), len(t.fabrics)
}

// try runs faults that have not run. Those that differ only in their seeds share a trial.
func (s *search) try(ctx context.Context, faults []*Fault) error {
	faults = slices.DeleteFunc(faults, func(f *Fault) bool {
		seen := s.seen[f.key()]
		s.seen[f.key()] = true
		return seen
	})
	results, err := s.results(ctx, faults)
	if err != nil {
		return err
	}
	for i, f := range faults {
		at := slices.IndexFunc(s.tried,
			func(t *trial) bool { return t.fault.place() == f.place() && t.fault.Value == f.Value })
		if at < 0 {
			at = len(s.tried)
			s.tried = append(s.tried, &trial{fault: f})
		}
		s.tried[at].fabrics = append(s.tried[at].fabrics, results[i].fabric)
	}
	for _, t := range s.tried {
		if t.rated < len(t.fabrics) {
			s.rate(t)
		}
	}
	return nil
}

// results runs the fabric once under each fault, several at a time.
func (s *search) results(ctx context.Context, faults []*Fault) ([]*result, error) {
	results, errs := make([]*result, len(faults)), make([]error, len(faults))
	done := 0
	var mutex sync.Mutex
	s.parallel(len(faults), func(i int) {
		r, err := s.c.run(ctx, faults[i], cmp.Or(faults[i].seed, s.o.Seed))
		if errs[i] = err; err != nil {
			return
		}
		results[i] = r
		mutex.Lock()
		defer mutex.Unlock()
		if done++; s.o.Progress != nil {
			s.o.Progress(s.runs+done, s.runs+len(faults))
		}
	})
	if err := errors.Join(ctx.Err(), errors.Join(errs...)); err != nil {
		return nil, err
	}
	s.runs += len(faults)
	return results, nil
}

// parallel calls f with 0 to n-1, several at a time.
func (s *search) parallel(n int, f func(i int)) {
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(n, cmp.Or(s.o.Jobs, runtime.GOMAXPROCS(0))) {
		workers.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				f(int(i))
			}
		})
	}
	workers.Wait()
}

// ranked returns all trials, the nearest first.
func (s *search) ranked() []*trial {
	all := slices.Clone(s.tried)
	slices.SortStableFunc(all, func(a, b *trial) int { return cmp.Compare(a.distance, b.distance) })
	return all
}

// conclude returns the explanations: for each kind and place the value that came nearest.
func (s *search) conclude(source Source) *Diagnosis {
	all := s.ranked()
	d := &Diagnosis{Fabric: s.c.describe(source), Runs: s.runs, Healthy: s.tried[0].distance}
	healthy := s.tried[0].fabrics
	had := map[string]bool{}
	sum := 0.0
	for _, t := range all {
		f := t.fault
		if place := f.place(); had[place] {
			continue
		} else {
			had[place] = true
		}
		e := Explanation{Kind: f.Kind, Place: f.Place, Value: f.Value, Text: f.Text, Distance: t.distance}
		e.Likelihood = likelihood(t.distance, all[0].distance)
		sum += e.Likelihood
		if len(d.Explanations) < 3 {
			e.Evidence = s.c.evidence(healthy, t.fabrics, f.Place)
		}
		d.Explanations = append(d.Explanations, e)
	}
	for i := range d.Explanations {
		d.Explanations[i].Likelihood /= sum
	}
	return d
}

// far sets the distance above which an explanation is doubtful.
const far = 0.25

// Write prints the likeliest explanations with their evidence.
func (d *Diagnosis) Write(w io.Writer, limit int) error {
	var err error
	printf := func(format string, args ...any) {
		if _, e := fmt.Fprintf(w, format, args...); err == nil {
			err = e
		}
	}
	printf("%s\n%d runs; distance of the healthy fabric: %.3f\n", d.Fabric, d.Runs, d.Healthy)
	if len(d.Explanations) > 0 && d.Explanations[0].Distance > far {
		printf("No single fault explains the counters well. Several faults at once, other traffic, " +
			"or other settings than the file's may be the cause.\n")
	}
	for i := range d.Explanations[:min(limit, len(d.Explanations))] {
		e := &d.Explanations[i]
		printf("\n%d. %s\n   likelihood %.0f %%, distance %.3f\n", i+1, e.Text, 100*e.Likelihood, e.Distance)
		for k := range e.Evidence {
			printf("   %s\n", &e.Evidence[k])
		}
	}
	return err
}
