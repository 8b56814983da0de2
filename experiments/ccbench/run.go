package ccbench

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/lists"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/vtime"
)

// PublicSeed holds the seed of the public scenarios.
const PublicSeed = 2026

// Names of the two halves.
const (
	Public  = "public"
	HeldOut = "held-out"
)

// Options selects controllers, scenarios and seeds.
type Options struct {
	// Controllers names built-in controllers and files. Empty: all built-in ones.
	Controllers []string
	// Seeds lists the seeds of the runs: paths, starts and marks depend on them, scenarios do not. Empty: 1.
	Seeds []uint64
	// Only names scenarios and families; empty: all.
	Only []string
	// HeldOut holds the secret phrase of the held-out scenarios; empty: only the public ones.
	HeldOut string
}

// Bench holds the runs to be made.
type Bench struct {
	Controllers []Controller
	Seeds       []uint64
	Cases       []Case
	// Commitment holds a hash of the secret phrase, by which the organiser can prove the phrase later; empty: none.
	Commitment string
	// Partial is true if Only left out scenarios.
	Partial bool
	only    []string
	digest  string
}

// Controller describes a competing controller.
type Controller struct {
	Name string `json:"name"`
	// SHA256 and File describe a controller from a file; empty for a built-in one.
	SHA256 string `json:"sha256,omitempty"`
	File   string `json:"file,omitempty"` // path below the results' folder

	path    string // of the user's file
	content []byte
}

// withoutPath returns an error's text, with the name of the controller's file in place of its path, so that it does not
// depend on where the file is.
func (c *Controller) withoutPath(err error) string {
	if c.path == "" {
		return err.Error()
	}
	path := strings.TrimSuffix(c.path, "+win")
	return strings.ReplaceAll(err.Error(), path, filepath.Base(path))
}

// Case holds one scenario of a half.
type Case struct {
	Half string
	Draft
	standards map[uint64]*once
}

// once computes a standard when it is first needed.
type once struct {
	sync.Once
	standard *standard
	err      error
}

// New generates the scenarios and looks up the controllers.
func New(o Options) (*Bench, error) {
	b := &Bench{Seeds: o.Seeds}
	if len(b.Seeds) == 0 {
		b.Seeds = []uint64{1}
	}
	b.add(Public, Generate(PublicSeed))
	if o.HeldOut != "" {
		sum := sha256.Sum256([]byte("pausenet bench cc\x00" + o.HeldOut))
		commitment := sha256.Sum256(sum[:])
		b.Commitment = hex.EncodeToString(commitment[:])
		b.add(HeldOut, Generate(binary.BigEndian.Uint64(sum[:])))
	}
	if err := b.choose(o.Only); err != nil {
		return nil, err
	}
	all := sha256.New()
	for i := range b.Cases {
		if c := &b.Cases[i]; c.Half == Public {
			fmt.Fprintf(all, "%s %v\n%s", c.Name, c.Weight, c.Text)
		}
	}
	b.digest = hex.EncodeToString(all.Sum(nil))
	return b, b.lookUp(o.Controllers)
}

func (b *Bench) add(half string, drafts []Draft) {
	for _, d := range drafts {
		c := Case{half, d, map[uint64]*once{}}
		for _, seed := range b.Seeds {
			c.standards[seed] = &once{}
		}
		b.Cases = append(b.Cases, c)
	}
}

// choose leaves out the scenarios that the names do not select.
func (b *Bench) choose(names []string) error {
	if len(names) == 0 {
		return nil
	}
	used := map[string]bool{}
	var left []Case
	for _, c := range b.Cases {
		if slices.Contains(names, c.Name) || slices.Contains(names, c.Family) {
			left = append(left, c)
			used[c.Name], used[c.Family] = true, true
		}
	}
	for _, name := range names {
		if !used[name] {
			all := lists.Map(families, func(f Family) string { return f.Name })
			return fmt.Errorf("no scenario or family %q: families are %s; their scenarios are %s-1 to %[3]s-%d", name,
				strings.Join(all, ", "), all[0], PerFamily)
		}
	}
	b.only = names
	b.Partial = len(left) < len(b.Cases)
	b.Cases = left
	return nil
}

// lookUp resolves the controllers' names.
func (b *Bench) lookUp(given []string) error {
	if len(given) == 0 {
		given = []string{scenario.AllControllers}
	}
	s, err := scenario.Reading{Controllers: given}.Parse("bench.yaml", []byte(Generate(PublicSeed)[0].Text))
	if err != nil {
		return err
	}
	names, err := s.ControllerNames(given)
	if err != nil {
		return err
	}
	for _, name := range names {
		_, spec, err := s.Controller(name)
		if err != nil {
			return err
		}
		c := Controller{Name: name}
		if spec.File != nil {
			c.SHA256, c.content = spec.File.SHA256, spec.File.Content
			c.File = "controllers/" + spec.File.Name
			c.path = spec.File.Name
			for _, path := range given { // by which the user named it
				if filepath.Base(strings.TrimSuffix(path, "+win")) == spec.File.Name {
					c.path = path
				}
			}
		}
		b.Controllers = append(b.Controllers, c)
	}
	return nil
}

// runs lists the keys of all runs, in the order in which they are made: all of one seed before the next.
func (b *Bench) runs() []key {
	var all []key
	for _, seed := range b.Seeds {
		for i := range b.Cases {
			for k := range b.Controllers {
				all = append(all, key{b.Cases[i].Half, b.Cases[i].Name, b.Controllers[k].Name, int64(seed)})
			}
		}
	}
	return all
}

func (b *Bench) caseOf(k key) *Case {
	return lists.Find(b.Cases, func(c *Case) bool { return c.Half == k.half && c.Name == k.scenario })
}

func (b *Bench) controllerOf(k key) *Controller {
	return lists.Find(b.Controllers, func(c *Controller) bool { return c.Name == k.controller })
}

// Run makes the runs that the results lack, at most jobs at a time, and calls done after each. If ctx is cancelled, it
// returns the context's error; the results then hold the runs that have ended.
func (b *Bench) Run(ctx context.Context, results *Results, jobs int, done func() error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(jobs, 1))
	var mu sync.Mutex
	for _, k := range slices.DeleteFunc(b.runs(), results.has) {
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			row, groups, err := b.point(ctx, k)
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			results.add(row, groups)
			return done()
		})
	}
	return group.Wait()
}

// ecmp holds the settings with which controllers run that refuse packets on several paths.
var ecmp = []string{"switch.load_balancing.mode=ecmp", "host.entropy=flow"}

// read reads a case's scenario for a controller.
func (c *Case) read(controller *Controller, seed uint64, sets []string) (*scenario.Scenario, error) {
	r := scenario.Reading{Sets: sets}
	if controller != nil && controller.path != "" {
		r.Controllers = []string{controller.path}
	}
	s, err := r.Parse(c.Name+".yaml", []byte(c.Text))
	if err == nil {
		s, err = s.WithSeed(seed)
	}
	if err == nil {
		s, err = s.Unrolled()
	}
	return s, err
}

func (c *Case) standard(seed uint64) (*standard, error) {
	o := c.standards[seed]
	o.Do(func() {
		s, err := c.read(nil, seed, nil)
		if err == nil {
			o.standard, err = standardOf(s)
		}
		o.err = err
	})
	return o.standard, o.err
}

// point makes one run.
func (b *Bench) point(ctx context.Context, k key) (Row, []GroupRow, error) {
	row := Row{Half: k.half, Scenario: k.scenario, Controller: k.controller, Seed: k.seed}
	c, controller, seed := b.caseOf(k), b.controllerOf(k), uint64(k.seed)
	st, err := c.standard(seed)
	if err != nil {
		return row, nil, err
	}
	s, err := c.read(controller, seed, nil)
	if err != nil {
		return row, nil, err
	}
	if refused := scenario.Check(s, []string{k.controller}, seed); refused != nil {
		if s, err = c.read(controller, seed, ecmp); err != nil {
			return row, nil, err
		}
		if scenario.Check(s, []string{k.controller}, seed) != nil {
			row.Broken, row.Error = "refused", refused.Error()
			return row.judged(st, nil, nil)
		}
		row.Paths = "ecmp"
	}
	fct := make([]vtime.Time, len(s.Flows))
	var broken []string
	invariants := 0
	watching := runner.Watching{Ended: func(e *engine.Engine) {
		for i := range fct {
			if fct[i] = vtime.Never; st.of[i] < 0 {
				continue
			}
			if f := e.Message(i); f.Finished != vtime.Never {
				fct[i] = f.Finished - f.Start
			}
		}
		if e.Deadlocked() != nil {
			broken = append(broken, "deadlock")
		}
		invariants = len(e.Check())
	}}
	sum, err := runner.Watch(ctx, s, runner.Options{Controller: k.controller, Seed: seed, Processors: 1}, watching)
	var environment *runner.EnvironmentError
	switch {
	case ctx.Err() != nil:
		return row, nil, ctx.Err()
	case sum == nil || errors.As(err, &environment):
		return row, nil, fmt.Errorf("%s under %s: %w", k.scenario, k.controller, err)
	case err != nil:
		broken = append(broken, "controller")
		row.Error = controller.withoutPath(err)
	case invariants > 0: // an error in the middle of an event breaks them, too
		broken = append(broken, "invariant")
	}
	if sum.Drops.Lossless > 0 {
		broken = append(broken, "lossless drops")
	}
	var jobs []int64
	for i := range sum.Jobs {
		jobs = append(jobs, sum.Jobs[i].JCT)
	}
	if row.Broken = strings.Join(broken, "+"); row.Broken != "" {
		fct, jobs = nil, nil
	}
	row.Lossless, row.Pauses, row.PausedNS = sum.Drops.Lossless, sum.PFC.Pauses, sum.PFC.PausedNS
	row.Marks, row.Hops, row.VirtualNS, row.Fingerprint = sum.ECNMarks, sum.Speed.Hops, sum.VirtualNS, sum.Fingerprint
	return row.judged(st, fct, jobs)
}

// judged fills in the score and its parts. Without completion times no flow has ended.
func (r Row) judged(st *standard, fct []vtime.Time, jobs []int64) (Row, []GroupRow, error) {
	if fct == nil {
		fct = slices.Repeat([]vtime.Time{vtime.Never}, len(st.of))
	}
	slowdown, byGroup := st.flows(fct)
	r.Slowdown, r.Least, r.Fair = slowdown, st.least, st.fair
	r.Score = st.score(slowdown, jobs)
	var groups []GroupRow
	for i, values := range byGroup {
		slices.Sort(values)
		g := GroupRow{
			Half: r.Half, Scenario: r.Scenario, Controller: r.Controller, Seed: r.Seed, Tag: st.groups[i].tag,
			Class: st.groups[i].class(), Flows: len(values), P50: quantile(values, 0.5), P99: quantile(values, 0.99),
			Max: quantile(values, 1),
		}
		for _, v := range values {
			g.Mean += v / float64(len(values))
		}
		for flow, at := range st.of {
			if at == i && fct[flow] == vtime.Never {
				g.Unfinished++
			}
		}
		r.Flows, r.Unfinished = r.Flows+g.Flows, r.Unfinished+g.Unfinished
		groups = append(groups, g)
	}
	for i := range st.jobs {
		g := GroupRow{
			Half: r.Half, Scenario: r.Scenario, Controller: r.Controller, Seed: r.Seed, Tag: st.jobs[i].Tag, Class: "job",
			Flows: 1, LimitNS: st.jobs[i].JCT, JCTNS: -1,
		}
		r.Flows++
		if i < len(jobs) && jobs[i] > 0 {
			g.JCTNS = jobs[i]
		} else {
			g.Unfinished = 1
			r.Unfinished++
		}
		groups = append(groups, g)
	}
	return r, groups, nil
}

// Runs returns the number of runs.
func (b *Bench) Runs() int { return len(b.Cases) * len(b.Controllers) * len(b.Seeds) }

// Names returns the names of all families and scenarios.
func Names() []string {
	var all []string
	for _, f := range families {
		all = append(all, f.Name)
		for k := range PerFamily {
			all = append(all, fmt.Sprintf("%s-%d", f.Name, k+1))
		}
	}
	return all
}
