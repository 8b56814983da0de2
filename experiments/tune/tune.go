package tune

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pausenet/pausenet/experiments/explore"
)

// generation is the number of candidates made from the same knowledge, whatever the number of runs at a time.
const generation = 8

// elite is the number of candidates to change.
const elite = 4

// mostRounds limits how often the neighbours of the best are tried.
const mostRounds = 6

// candidate holds values of the parameters and what they came to in training.
type candidate struct {
	values []string // "": the file's own
	score  float64  // mean logarithm of the objective over the file's own; lower is better
	worth  float64  // mean of the objective
	trade  float64  // mean of the quantity that is weighed against it
	broken float64  // by how much limits are exceeded; 0: they hold
	err    string
}

// tuning holds the state of a tuning.
type tuning struct {
	*Tuning
	m        *explore.Machine
	own      []*explore.Outcome // of the file's own values, by training seed
	baseline *candidate
	all      []*candidate // in the order in which they were tried
	result   Result
}

// Identity identifies the tuning by a version of the program.
func (t *Tuning) Identity(version string) string {
	return explore.Identity(version, t.sources, append(slices.Clone(t.more), t.data)...)
}

// Tune makes a tuning, or continues one of which the folder has the journal. An error of an interrupted one wraps
// context.Canceled.
func (t *Tuning) Tune(ctx context.Context, o explore.Options) (*Result, error) {
	if err := os.MkdirAll(o.Folder, 0o755); err != nil {
		return nil, err
	}
	journal, err := explore.OpenJournal(filepath.Join(o.Folder, explore.JournalName), t.Identity(o.Version))
	if err != nil {
		return nil, err
	}
	defer journal.Close()
	m := &explore.Machine{
		File: filepath.Join(filepath.Dir(t.File), "candidate.yaml"), Journal: journal, Jobs: max(o.Jobs, 1),
		Quantities: t.quantities(), Elsewhere: o.Elsewhere,
	}
	m.Start()
	var s *tuning
	err = m.Trusted(ctx, func() error {
		s = &tuning{Tuning: t, m: m}
		return s.run(ctx, o)
	})
	if err != nil {
		return nil, err
	}
	s.result.Runs, s.result.Known, s.result.Spent = m.Runs(), journal.Known(), m.Spent()
	return &s.result, nil
}

// run makes the tuning.
func (s *tuning) run(ctx context.Context, o explore.Options) error {
	progress := func(format string, args ...any) {
		if o.Progress != nil {
			o.Progress(fmt.Sprintf(format, args...))
		}
	}
	if err := s.measureOwn(ctx); err != nil {
		return err
	}
	for len(s.all) <= s.Budget {
		if err := s.generation(ctx); err != nil {
			return err
		}
		progress("%d of %d candidates: %s", len(s.all)-1, s.Budget, s.describe(s.best()))
	}
	best, near, err := s.polish(ctx)
	if err != nil {
		return err
	}
	progress("neighbours tried: %s", s.describe(best))
	return s.conclude(ctx, best, near, o.Folder)
}

// quantities returns what to measure of each run.
func (t *Tuning) quantities() []*explore.Quantity {
	all := []*explore.Quantity{t.Metric}
	for i := range t.Limits {
		all = append(all, t.Limits[i].Quantity)
	}
	if t.TradeOff != nil {
		all = append(all, t.TradeOff)
	}
	return all
}

// measureOwn runs the file's own values.
func (s *tuning) measureOwn(ctx context.Context) (err error) {
	s.baseline = &candidate{values: make([]string, len(s.vary))}
	if s.own, err = s.runs(ctx, s.baseline.values); err != nil {
		return err
	}
	for i, o := range s.own {
		if v := o.Value(s.Metric.Name); o.Error != "" || !(v > 0) {
			return fmt.Errorf("seed %d, with the file's own values: %s", s.Train[i], cmp.Or(o.Error,
				fmt.Sprintf("the run has no %s above 0 to improve", s.Metric.Name)))
		}
	}
	s.judge(s.baseline, s.own)
	s.all = append(s.all, s.baseline)
	return nil
}

// runs runs values under all training seeds.
func (s *tuning) runs(ctx context.Context, values []string) ([]*explore.Outcome, error) {
	text := s.template.Text(s.settings(values), nil, nil)
	outcomes := make([]*explore.Outcome, len(s.Train))
	err := s.m.Each(ctx, len(s.Train), func(ctx context.Context, i int) (err error) {
		outcomes[i], err = s.m.Run(ctx, explore.Task{Text: text, Controller: s.Under, Seed: s.Train[i]})
		return err
	})
	return outcomes, err
}

// judge compares the runs of a candidate with those of the file's own values, in pairs of equal seeds.
func (s *tuning) judge(c *candidate, outcomes []*explore.Outcome) {
	n := float64(len(outcomes))
	for i, o := range outcomes {
		if o.Error != "" {
			c.err = o.Error
			return
		}
		v := o.Value(s.Metric.Name)
		if o.Completed < s.own[i].Completed || !(v > 0) { // faster by leaving flows out
			c.broken += 1e6
			continue
		}
		c.broken += s.exceeded(o)
		c.score += s.gain(v, s.own[i].Value(s.Metric.Name)) / n
		c.worth += v / n
		if s.TradeOff != nil {
			c.trade += o.Value(s.TradeOff.Name) / n
		}
	}
}

// gain returns the logarithm of v over own, negated where high values are better: negative is an improvement.
func (t *Tuning) gain(v, own float64) float64 {
	if t.Lowest {
		return math.Log(v / own)
	}
	return math.Log(own / v)
}

// exceeded returns by how much a run exceeds the limits, as fractions of these; 0: they hold.
func (t *Tuning) exceeded(o *explore.Outcome) (sum float64) {
	if o.Failed() {
		sum = 1e3
	}
	for i := range t.Limits {
		l := &t.Limits[i]
		over := o.Value(l.Quantity.Name) - l.Value
		if !l.AtMost {
			over = -over
		}
		if over > 0 {
			sum += over / max(math.Abs(l.Value), 1)
		} else if math.IsNaN(over) {
			sum++
		}
	}
	return sum
}

// compare returns a negative number if a is better. Equal candidates keep their order.
func compare(a, b *candidate) int {
	return cmp.Or(cmp.Compare(truth(a.err != ""), truth(b.err != "")), cmp.Compare(a.broken, b.broken),
		cmp.Compare(a.score, b.score))
}

func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}

// best returns the best candidate so far.
func (s *tuning) best() *candidate { return slices.MinFunc(s.all, compare) }

// generation makes some candidates and runs them.
func (s *tuning) generation(ctx context.Context) error {
	ranked := slices.Clone(s.all)
	slices.SortStableFunc(ranked, compare)
	first := len(s.all) - 1
	fresh := make([][]string, min(generation, s.Budget-first))
	for i := range fresh {
		number := first + i
		r := explore.NewRandom(s.Seed, uint64(number))
		if number < (s.Budget+2)/3 {
			fresh[i] = s.draw(r)
		} else {
			fresh[i] = s.change(ranked[number%min(len(ranked), elite)].values, r)
		}
	}
	return s.try(ctx, fresh)
}

// change returns values that differ from others in one to three places.
func (t *Tuning) change(values []string, r *explore.Random) []string {
	values = slices.Clone(values)
	for range 1 + r.Intn(3) {
		i := r.Intn(len(values))
		if values[i] == "" {
			values[i] = t.vary[i].values.Draw(r)
		} else {
			values[i] = t.vary[i].values.Change(values[i], r)
		}
	}
	return values
}

// try runs candidates and appends them.
func (s *tuning) try(ctx context.Context, values [][]string) error {
	made := make([]*candidate, len(values))
	err := s.m.Each(ctx, len(values), func(ctx context.Context, i int) error {
		made[i] = &candidate{values: values[i]}
		outcomes, err := s.runs(ctx, values[i])
		if err == nil {
			s.judge(made[i], outcomes)
		}
		return err
	})
	for _, c := range made {
		s.result.Invalid += truth(c != nil && c.err != "")
	}
	s.all = append(s.all, made...)
	return err
}

// neighbour is the best candidate with one parameter changed.
type neighbour struct {
	parameter int
	own       bool // changed to the file's own value
	*candidate
}

// polish moves to a better neighbour of the best candidate while there is one, and gives parameters without effect the
// file's own values. It returns the best, and its neighbours.
func (s *tuning) polish(ctx context.Context) (best *candidate, near []neighbour, err error) {
	best = s.best()
	last := best
	for range mostRounds {
		near = nil
		var values [][]string
		for i := range s.vary {
			changed := func(v string, own bool) {
				c := slices.Clone(best.values)
				c[i] = v
				values, near = append(values, c), append(near, neighbour{parameter: i, own: own})
			}
			if best.values[i] == "" {
				continue
			}
			for _, v := range s.vary[i].values.Neighbours(best.values[i]) {
				changed(v, false)
			}
			changed("", true)
		}
		first := len(s.all)
		if err := s.try(ctx, values); err != nil {
			return nil, nil, err
		}
		for i := range near {
			near[i].candidate = s.all[first+i]
		}
		next := best
		for i := range near {
			better := compare(near[i].candidate, next)
			if better < 0 || better == 0 && near[i].own && next == best {
				next = near[i].candidate
			}
		}
		if next == best {
			return best, near, nil
		}
		last, best = best, next
	}
	return last, near, nil // whose neighbours these are
}

// describe tells how good a candidate is.
func (s *tuning) describe(c *candidate) string {
	text := fmt.Sprintf("%.3g times the file's own %s", s.ratio(c.score), s.Metric.Name)
	if c.broken > 0 {
		text += ", with a limit exceeded"
	}
	return text
}

// ratio turns a mean logarithm into a ratio of the quantity.
func (t *Tuning) ratio(score float64) float64 {
	if t.Lowest {
		return math.Exp(score)
	}
	return math.Exp(-score)
}

// commandSettings returns the settings as flags of the command line.
func commandSettings(all []explore.Setting) string {
	var b strings.Builder
	for _, s := range all {
		b.WriteString(" --set " + s.Path + "=" + s.Value)
	}
	return b.String()
}

// Result holds what a tuning found.
type Result struct {
	Tuning     string      `json:"tuning"`
	Objective  string      `json:"objective"`
	Candidates int         `json:"candidates"`
	Invalid    int         `json:"invalid"` // candidates that cannot run
	Parameters []Parameter `json:"parameters"`
	// Ratio holds the geometric mean of the objective over that of the file's own values, in training.
	Ratio    float64  `json:"training_ratio"`
	Feasible bool     `json:"feasible_in_training"`
	HoldOut  HoldOut  `json:"holdout"`
	TradeOff []Point  `json:"trade_off,omitempty"`
	Command  string   `json:"command"`
	Files    []string `json:"files"`

	Runs  int           `json:"-"`
	Known int           `json:"-"`
	Spent time.Duration `json:"-"`
}

// Parameter holds a tuned parameter and how much it matters.
type Parameter struct {
	Path  string `json:"path"`
	Own   string `json:"own"` // in the file; "": the default
	Tuned string `json:"tuned"`
	// Steps holds neighbours of the tuned value, with the objective's change in percent; the file's own value is last.
	Steps []Step `json:"steps"`
}

// Step represents a value beside the tuned one.
type Step struct {
	Value   string  `json:"value"`
	Percent float64 `json:"change_percent"` // of the objective, against the tuned value
	Broken  bool    `json:"breaks_limit"`   // or cannot run
}

// Point represents a candidate that no other one beats in both quantities.
type Point struct {
	Objective float64           `json:"objective"`
	Against   float64           `json:"against"`
	Settings  []explore.Setting `json:"settings"`
}
