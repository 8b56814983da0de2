package expect

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/experiments/analysis/resimulate"
	"github.com/pausenet/pausenet/experiments/scenario"
)

// Effort of the search for suspects.
const (
	screened  = 1 << 20 // largest size with which each fault is tried
	finalists = 10      // faults that are tried with all sizes
	ofAKind   = 4       // of which have one kind
)

// suspect tries single faults, and ranks them: all with a small and a larger size, the best with all sizes.
func (x *expectation) suspect(ctx context.Context, used resimulate.Usage) error {
	s, err := x.base.Load(&resimulate.Fault{})
	if err != nil {
		return err
	}
	faults := slices.Concat(resimulate.Candidates(x.plan, used, resimulate.Usual(s.Host.DataPriority)), x.others(s))
	sizes := x.screening()
	total := len(faults) + finalists
	progress := func(done int) {
		if x.q.Progress != nil {
			x.q.Progress(done, total)
		}
	}
	var all []Suspect
	for i := range faults {
		tried, err := x.try(ctx, &faults[i], sizes)
		if err != nil {
			if ctx.Err() != nil {
				x.rank(all)
				return err
			}
			x.answer.Notes = append(x.answer.Notes, fmt.Sprintf("not tried: %v", err))
			continue
		}
		all = append(all, tried)
		progress(i + 1)
	}
	x.sortSuspects(all)
	all = best(all)
	for i := range all {
		err := x.refine(ctx, &all[i], sizes)
		if err == nil {
			all[i], err = x.try(ctx, &all[i].Fault, x.sizes)
		}
		if err != nil {
			x.rank(all)
			return err
		}
		progress(len(faults) + i + 1)
	}
	all = append(all, x.software())
	x.rank(all)
	return nil
}

// refine varies a fault's value for as long as it explains more.
func (x *expectation) refine(ctx context.Context, s *Suspect, sizes []int64) error {
	for _, step := range []float64{1.6, 1.25, 1.12, 1.05} {
		start := *s
		for _, factor := range []float64{step, 1 / step} {
			f, ok := start.Scaled(factor)
			if !ok {
				return nil
			}
			tried, err := x.try(ctx, &f, sizes)
			if err != nil {
				return err
			}
			if tried.Error < s.Error {
				*s = tried
			}
		}
	}
	return nil
}

// best keeps the best values of the best places of each kind.
func best(all []Suspect) (some []Suspect) {
	seen := map[string]bool{}
	kinds := map[resimulate.Kind]int{}
	for i := range all {
		kind := all[i].Kind
		if key := string(kind) + " " + all[i].Place; !seen[key] && kinds[kind] < ofAKind && len(some) < finalists {
			seen[key] = true
			kinds[kind]++
			some = append(some, all[i])
		}
	}
	return some
}

// rank puts the suspects that explain at least half of the gap into the answer, the best first. Those of one kind are
// one suspect: places that explain as much are named with it.
func (x *expectation) rank(all []Suspect) {
	x.sortSuspects(all)
	x.answer.Suspects = []Suspect{}
	at := map[resimulate.Kind]int{}
	for _, s := range all {
		if s.Error >= 0.5*x.answer.Healthy {
			continue
		}
		first, found := at[s.Kind]
		if !found {
			at[s.Kind] = len(x.answer.Suspects)
			x.answer.Suspects = append(x.answer.Suspects, s)
		} else if top := &x.answer.Suspects[first]; s.Error < top.Error+noise && s.Place != top.Place {
			top.Or = append(top.Or, s.Text)
			top.Alike = slices.Concat(top.Alike, []string{s.Place}, s.Alike)
		}
	}
}

// noise is the standard deviation of a measured time that is assumed, as a fraction.
const noise = 0.03

// sortSuspects sorts by probability, the highest first, if each place is as likely to be faulty as any other and the
// logarithms of times have a normal error: a fault that could be in many places comes before one that explains the
// measurement as well and could be in one only.
func (x *expectation) sortSuspects(all []Suspect) {
	likelihood := func(s *Suspect) float64 {
		return math.Log(float64(1+len(s.Alike))) - float64(len(x.sizes))*s.Error*s.Error/(2*noise*noise)
	}
	slices.SortStableFunc(all, func(a, b Suspect) int { return cmp.Compare(likelihood(&b), likelihood(&a)) })
}

// screening returns the smallest size, the largest that is quick, and one between.
func (x *expectation) screening() []int64 {
	n := 1
	for n < len(x.sizes) && x.sizes[n] <= screened {
		n++
	}
	few := []int64{x.sizes[0], x.sizes[n/2], x.sizes[n-1]}
	return slices.Compact(few)
}

// try runs a fault.
func (x *expectation) try(ctx context.Context, f *resimulate.Fault, sizes []int64) (Suspect, error) {
	algorithms := make([]string, len(sizes))
	for i, size := range sizes {
		algorithms[i] = x.chosen[slices.Index(x.sizes, size)]
	}
	if ctx.Err() != nil { // a short run ends before it looks
		return Suspect{}, ctx.Err()
	}
	all, _, err := x.run(ctx, f, sizes, algorithms, nil)
	if err != nil {
		return Suspect{}, err
	}
	x.answer.Runs++
	s := Suspect{Fault: *f}
	s.Error = difference(sizes, x.measured(), func(size int64) float64 {
		if all[size] == nil {
			return 0
		}
		return all[size].Time.Mean
	})
	if last := all[sizes[len(sizes)-1]]; last != nil {
		s.Bus = x.bus(sizes[len(sizes)-1], last.Time.Mean)
	}
	return s, nil
}

// others returns faults that are no link's or NIC's: of the configuration, and of the ranks.
func (x *expectation) others(s *scenario.Scenario) (faults []resimulate.Fault) {
	if lossless := s.Switch.Lossless(); lossless>>s.Host.DataPriority&1 != 0 && lossless != 0xff {
		lossy := 0
		for lossless>>lossy&1 != 0 {
			lossy++
		}
		faults = append(faults, resimulate.Fault{
			Kind: resimulate.Priority, Value: fmt.Sprint(lossy),
			Text: fmt.Sprintf("data is sent in priority %d (DSCP %d to %d), which is not lossless", lossy, 8*lossy, 8*lossy+7),
			Sets: []string{fmt.Sprintf("workloads.0.priority=%d", lossy)},
		})
	}
	if s.Topology.Moving() {
		faults = append(faults, resimulate.Fault{
			Kind: resimulate.Balancing, Value: "ecmp", Text: "packets of a flow keep to one path: spraying is off",
			Sets: []string{"switch.load_balancing.mode=ecmp", "host.entropy=flow"},
		})
	}
	for _, order := range []string{"across-racks", "random"} {
		if order == x.q.Placement {
			continue
		}
		faults = append(faults, resimulate.Fault{
			Kind: resimulate.Order, Value: order, Text: "the ranks are placed " + strings.ReplaceAll(order, "-", " ") +
				", so that more of their messages cross the fabric",
			Sets: []string{"workloads.0.job.placement=" + order},
		})
	}
	return faults
}

// software returns the suspect outside of the network: a constant time per operation, such as that of kernel launches,
// which is what remains at the smallest size.
func (x *expectation) software() Suspect {
	measured := x.measured()
	simulated := map[int64]float64{}
	for _, s := range x.answer.Sizes {
		simulated[s.Size] = s.Time
	}
	more := math.Inf(1)
	for _, size := range x.sizes {
		more = min(more, measured[size]-simulated[size])
	}
	more = max(more, 0)
	return Suspect{
		Fault: resimulate.Fault{
			Kind: overhead, Value: fmt.Sprintf("%.3g us", more/1e3),
			Text: fmt.Sprintf("each operation takes %.3g us longer, whatever its size: software, not the network", more/1e3),
		},
		Error: difference(x.sizes, measured, func(size int64) float64 { return simulated[size] + more }),
		Bus:   x.bus(x.sizes[len(x.sizes)-1], simulated[x.sizes[len(x.sizes)-1]]+more),
	}
}

// GB formats a bandwidth in GB/s with two decimals, as nccl-tests do.
func GB(bytesPerSecond float64) string { return fmt.Sprintf("%.2f", bytesPerSecond/1e9) }
