package collective

import (
	"github.com/pausenet/pausenet/experiments/traffic/steps"
	"github.com/pausenet/pausenet/vtime"
)

// Step represents a step of a job: a compute, a collective, or a barrier of all ranks.
type Step struct {
	Collective *Spec // nil: none
	// Ranks lists the participants of a collective, in its order; nil: all. The other ranks continue.
	Ranks []int32
	// Overlap lets ranks continue while the collective runs. Collectives of a job run one after the other, and the
	// iteration waits for all.
	Overlap bool
	Barrier bool
	// Compute describes the compute of each rank; nil: none.
	Compute *Compute
}

// Compute represents a compute step of all ranks.
type Compute struct {
	Time vtime.Time
	// Jitter limits the random extra time, drawn by rank and iteration.
	Jitter vtime.Time
	// Slow holds the positions of ranks at which it takes Factor times as long.
	Slow   map[int]bool
	Factor float64
}

// Job represents a number of iterations of steps, which each rank executes in order.
type Job struct {
	Iterations int
	Start      vtime.Time
	Steps      []Step
}

// computeUnit identifies the unit on which a job's ranks compute, one compute at a time.
const computeUnit = 1

// Messages returns the number of messages of a job's iterations.
func (j *Job) Messages(ranks int) int {
	n := 0
	for i := range j.Steps {
		if s := j.Steps[i].spec(); s != nil {
			if own := j.Steps[i].Ranks; own != nil {
				n += s.Messages(len(own))
			} else {
				n += s.Messages(ranks)
			}
		}
	}
	return n * j.Iterations
}

// spec returns the collective of a step, or that of a barrier; nil: none.
func (s *Step) spec() *Spec {
	if s.Barrier {
		return &Spec{Kind: barrier, Algorithm: dissemination, Size: barrierBytes}
	}
	return s.Collective
}

// barrierBytes sets the size of a barrier's messages.
const barrierBytes = 8

// Expand adds the job's operations for ranks 0 to ranks-1. random returns the n-th random number of [0, 1).
func (j *Job) Expand(g *steps.Graph, ranks int, random func(n uint64) float64) {
	all := make([]int32, ranks)
	compute := make([][]steps.Wait, ranks) // by rank: what its next step waits for
	network := make([][]steps.Wait, ranks) // what its next collective waits for in addition
	for r := range all {
		all[r] = int32(r)
		if j.Start > 0 {
			compute[r] = []steps.Wait{{Operation: g.Add(steps.Operation{Rank: int32(r), Duration: j.Start})}}
		}
	}
	drawn := uint64(0)
	for iteration := range j.Iterations {
		for i := range j.Steps {
			s := &j.Steps[i]
			if c := s.Compute; c != nil {
				for r := range all {
					id := g.Add(steps.Operation{Rank: int32(r), Duration: c.of(r, random(drawn)), Unit: computeUnit}, compute[r]...)
					drawn++
					compute[r] = []steps.Wait{{Operation: id}}
				}
				continue
			}
			members := all
			if s.Ranks != nil {
				members = s.Ranks
			}
			c := s.spec().Expand(g, members, func(position int) []steps.Wait {
				r := members[position]
				return append(append([]steps.Wait{}, compute[r]...), network[r]...)
			})
			c.Iteration = iteration
			for position, leave := range c.Leave {
				r := members[position]
				network[r] = []steps.Wait{{Operation: leave}}
				if !s.Overlap {
					compute[r] = network[r]
				}
			}
		}
		for r := range all {
			end := g.Join(int32(r), append(append([]steps.Wait{}, compute[r]...), network[r]...)...)
			compute[r], network[r] = []steps.Wait{{Operation: end}}, nil
		}
	}
}

// of returns the time of a compute at a rank.
func (c *Compute) of(rank int, random float64) vtime.Time {
	t := c.Time + vtime.Time(random*float64(c.Jitter))
	if c.Slow[rank] {
		t = vtime.Time(float64(t) * c.Factor)
	}
	return t
}
