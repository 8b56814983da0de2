package env

import (
	"errors"

	"github.com/pausenet/pausenet/vtime"
)

// Operations on an environment.
const (
	Step  = 0 // let the step proceed with the agents' rates
	Reset = 1 // start an episode with the seed
	Leave = 2 // do nothing
)

// Vector holds several environments of one scenario. The caller sets Operations, Seeds and Rates, and calls Proceed,
// which sets the other fields.
type Vector struct {
	Operations []byte // of each environment
	Seeds      []uint64
	Rates      []float32 // of each agent, as a fraction of its line rate

	Times        []vtime.Time // of each environment
	Observations []float32    // of each agent
	States       []State      // of each agent
	Events       []byte       // of each agent
	Over         []byte       // 1 for each environment whose episode is over

	environment *Environment
	episodes    []*Episode // nil before the first reset
	errs        []error
}

// NewVector returns a number of environments. Each needs a reset first.
func NewVector(e *Environment, count int) *Vector {
	agents := count * e.Agents
	return &Vector{
		Operations: make([]byte, count), Seeds: make([]uint64, count), Rates: make([]float32, agents),
		Times: make([]vtime.Time, count), Observations: make([]float32, agents*e.count()), States: make([]State, agents),
		Events: make([]byte, agents),
		Over:   make([]byte, count), environment: e, episodes: make([]*Episode, count), errs: make([]error, count),
	}
}

// Proceed carries out the operations. Environments proceed in parallel, as far as there are processors.
func (v *Vector) Proceed() error {
	n := v.environment.Agents
	started := make(chan int)
	starting := 0
	for i, operation := range v.Operations {
		p := v.episodes[i]
		switch {
		case operation == Reset:
			starting++
			go func() {
				if p != nil {
					p.End()
				}
				v.episodes[i], v.errs[i] = v.environment.Start(v.Seeds[i])
				started <- i
			}()
		case operation == Step && (p == nil || p.Over):
			v.errs[i] = errors.New("step without a reset: reset an environment first, and after each episode")
		case operation == Step:
			p.Begin(v.Rates[i*n : (i+1)*n])
		}
	}
	for i, operation := range v.Operations {
		if operation == Step && v.errs[i] == nil {
			v.errs[i] = v.episodes[i].Wait()
		}
	}
	for range starting {
		<-started
	}
	for i, p := range v.episodes {
		if v.Operations[i] == Leave || p == nil || v.errs[i] != nil {
			continue
		}
		v.Times[i], v.Over[i] = p.Now, 0
		if p.Over {
			v.Over[i] = 1
		}
		copy(v.Observations[i*len(p.Observations):], p.Observations)
		copy(v.Events[i*n:], p.Events)
		copy(v.States[i*n:], p.States)
	}
	return errors.Join(v.errs...)
}

// Close ends all episodes.
func (v *Vector) Close() {
	for i, p := range v.episodes {
		if p != nil && v.errs[i] == nil {
			p.End()
		}
	}
}
