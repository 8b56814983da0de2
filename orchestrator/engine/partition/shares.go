package partition

import (
	"cmp"
	"slices"

	"github.com/pausenet/pausenet/vtime"
)

// Shares assigns the partitions of each phase to workers, by how many events they had recently.
type Shares struct {
	workers int
	phases  [][]int32
	load    []int32 // by partition: average events each time it was driven, times loadUnit
	shares  []share // by phase
}

const loadUnit = 8

// checkEvery sets the number of times that a phase is driven between two checks of its balance.
const checkEvery = 64

// share assigns a phase's partitions to workers.
type share struct {
	of  [][]int32 // partitions by worker, those with most events first
	age int       // times that the phase was driven since the last check
}

// NewShares returns an assignment of the partitions of phases to workers.
func NewShares(workers int, phases [][]int32) *Shares {
	s := &Shares{workers: workers, phases: phases, shares: make([]share, len(phases))}
	for _, p := range phases {
		for _, i := range p {
			for len(s.load) <= int(i) {
				s.load = append(s.load, 0)
			}
		}
	}
	for i := range phases {
		s.deal(i)
	}
	return s
}

// Count records that a partition was driven, with this many events. Several workers may call it at once for different
// partitions.
func (s *Shares) Count(partition int32, events int64) {
	s.load[partition] += (int32(events)*loadUnit - s.load[partition]) / 4
}

// Load returns the expected number of events in a phase up to a time, the maximum in one partition, and the number of
// partitions with events. due holds the time of each partition's next event.
func (s *Shares) Load(phase int, due []vtime.Time, end vtime.Time) (events, largest, partitions int) {
	sum, most := int32(0), int32(0)
	for _, i := range s.phases[phase] {
		if due[i] < end {
			sum += s.load[i]
			most = max(most, s.load[i])
			partitions++
		}
	}
	return int(sum / loadUnit), int(most / loadUnit), partitions
}

// Next returns the partitions of each worker in a phase that is about to be driven.
func (s *Shares) Next(phase int) [][]int32 {
	x := &s.shares[phase]
	if x.age++; x.age == checkEvery {
		if x.age = 0; s.unfair(x) {
			s.deal(phase)
		}
	}
	return x.of
}

// deal assigns each partition of a phase, those with most events first, to the worker with the least load.
func (s *Shares) deal(phase int) {
	x := &s.shares[phase]
	if x.of == nil {
		x.of = make([][]int32, s.workers)
	}
	order := slices.Clone(s.phases[phase])
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(s.load[b], s.load[a]) })
	load := make([]int32, s.workers)
	for i := range x.of {
		x.of[i] = x.of[i][:0]
	}
	for _, p := range order {
		least := 0
		for i := range load {
			if load[i] < load[least] {
				least = i
			}
		}
		load[least] += s.load[p] + 1
		x.of[least] = append(x.of[least], p)
	}
}

// unfair reports whether a worker has a much larger share than others.
func (s *Shares) unfair(x *share) bool {
	sum, most := int32(0), int32(0)
	for _, part := range x.of {
		n := int32(0)
		for _, p := range part {
			n += s.load[p]
		}
		sum += n
		most = max(most, n)
	}
	return most > sum/int32(len(x.of))*9/8
}
