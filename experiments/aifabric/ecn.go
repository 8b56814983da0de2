package aifabric

import (
	"math"
	"slices"

	"github.com/pausenet/pausenet/experiments/results/rundir"
)

// sample holds the packets that left a port between two samples, and the lengths of its queue at both.
type sample struct {
	low, high      float64 // bytes: the shorter and the longer queue of the two
	packets, marks float64
}

// marking holds the marks of a port, with its queue.
type marking struct {
	samples          []sample
	kmin, kmax, pmax float64 // bytes; probability
	// margin bounds, in bytes, how far the queue that a packet left behind may lie outside of the two samples around
	// it: frames that arrive and leave at once.
	margin float64
}

// markingOf reads a run whose first panel shows the queue of one port, and whose second shows the packets that it
// marks, each for every sample. ports.csv must list that port alone, and all flows' packets must be full.
func markingOf(r *run) (*marking, error) {
	ecn := &r.scenario.Switch.ECN
	m := &marking{kmin: float64(ecn.KMin), kmax: float64(ecn.KMax), pmax: ecn.PMax}
	var queue, sent []float64
	marks := []float64{}
	err := rundir.Read(r.directory, rundir.Panels, func(row *rundir.PanelRow) error {
		switch row.Panel {
		case 0:
			queue = append(queue, row.Value)
		case 1:
			marks = append(marks, row.Value*r.scenario.Sample.Interval.Seconds())
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = rundir.Read(r.directory, rundir.Ports, func(row *rundir.PortRow) error {
		sent = append(sent, float64(row.Sent))
		return nil
	})
	if err != nil {
		return nil, err
	}
	packets := 0.0
	for i := range r.scenario.Flows {
		packets += float64(r.scenario.Flows[i].Size) / float64(r.plan().MTU)
	}
	n := min(len(queue), len(marks), len(sent))
	if n == 0 || sent[n-1] == 0 {
		return m, nil
	}
	frame := sent[n-1] / packets
	m.margin = 3 * frame
	for i := 1; i < n; i++ {
		m.samples = append(m.samples, sample{
			low: min(queue[i-1], queue[i]), high: max(queue[i-1], queue[i]), packets: (sent[i] - sent[i-1]) / frame,
			marks: marks[i],
		})
	}
	return m, nil
}

// ofMarking returns a value of a run's marking.
func ofMarking(value func(*marking) float64) func(r, _ *run) (float64, error) {
	return func(r, _ *run) (float64, error) {
		m, err := markingOf(r)
		if err != nil {
			return 0, err
		}
		return value(m), nil
	}
}

// markedBelow counts the packets marked while the queue was below Kmin by more than the margin.
func (m *marking) markedBelow() float64 {
	sum := 0.0
	for _, s := range m.samples {
		if s.high <= m.kmin-m.margin {
			sum += s.marks
		}
	}
	return math.Round(sum)
}

// markedAbove returns the percentage of marked packets among those that left while the queue was above Kmax.
func (m *marking) markedAbove() float64 {
	above := func(s sample) bool { return s.low > m.kmax+m.margin }
	first := slices.IndexFunc(m.samples, above)
	if first < 0 {
		return math.NaN()
	}
	packets, marks := 0.0, 0.0
	for _, s := range m.samples[first:] { // to the last sample above: the queue rises and falls once
		if s.low <= m.kmax {
			break
		}
		packets += s.packets
		marks += s.marks
	}
	if math.Abs(marks-packets) <= 1 { // the first and the last may count in another sample as marked than as sent
		marks = packets
	}
	return 100 * marks / packets
}

// offRamp returns the deviation of the marks between Kmin and Kmax from RED's expectation, in standard deviations.
func (m *marking) offRamp() float64 {
	marks, expected, variance := 0.0, 0.0, 0.0
	for _, s := range m.samples {
		if s.low >= m.kmin && s.high <= m.kmax {
			p := m.pmax * ((s.low+s.high)/2 - m.kmin) / (m.kmax - m.kmin)
			marks += s.marks
			expected += float64(s.packets * p)
			variance += float64(s.packets * p * (1 - p))
		}
	}
	return math.Abs(marks-expected) / math.Sqrt(variance)
}

// offKmax returns the difference between the queue from which on all packets are marked and Kmax, in per cent of Kmax.
func (m *marking) offKmax() float64 {
	least := math.Inf(1) // the shortest queue whose packets were all marked, though it was no chance
	for _, s := range m.samples {
		if s.packets >= 5 && s.marks > s.packets-0.5 {
			least = min(least, s.high)
		}
	}
	return 100 * math.Abs(least-m.kmax) / m.kmax
}
