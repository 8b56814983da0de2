package lstm

import (
	"math"
	"slices"
	"testing"
)

// TestGradient compares back-propagation with finite differences of the loss, which know nothing of it.
func TestGradient(t *testing.T) {
	for _, cell := range []Cell{LSTM, GRU, SimpleRNN} {
		random := NewRandom(3)
		trainer := NewTrainer(cell, random, 0.001)
		var pairs []Pair
		for range 7 {
			pairs = append(pairs, Pair{
				Features{random.Between(-.5, 1), random.Between(-.5, 1), random.Between(-.5, 1)}, random.Between(-1, 1),
			})
		}
		loss := func(p []float64) float64 {
			trainer.model.load(p)
			sum := 0.0
			for i := range pairs {
				sum += math.Abs(trainer.model.Predict(&pairs[i].Features) - pairs[i].Label)
			}
			return sum / float64(len(pairs))
		}
		got := trainer.differentiate(pairs)
		near(t, "loss", got, loss(trainer.Parameters), 1e-14)
		const h = 1e-6
		var largest float64
		for i := range trainer.Parameters {
			p := slices.Clone(trainer.Parameters)
			p[i] += h
			above := loss(p)
			p[i] -= 2 * h
			slope := (above - loss(p)) / (2 * h)
			if math.Abs(slope-trainer.gradient[i]) > 1e-8 {
				t.Errorf("%v, parameter %d: gradient %.12g, finite difference %.12g", cell, i, trainer.gradient[i], slope)
			}
			largest = max(largest, math.Abs(slope))
		}
		if largest < 0.01 {
			t.Errorf("%v: no slope above %g: this tests nothing", cell, largest)
		}
	}
}

// TestCells compares the predictions of the other cells with PyTorch's equations, written down independently.
func TestCells(t *testing.T) {
	sigma := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
	for _, c := range []struct {
		cell       Cell
		parameters int
		step       func(in, re func(gate, unit int) float64, unit int, before float64) float64
	}{
		{GRU, 929, func(in, re func(gate, unit int) float64, j int, before float64) float64 {
			r, z := sigma(in(0, j)+re(0, j)), sigma(in(1, j)+re(1, j))
			return (1-z)*math.Tanh(in(2, j)+r*re(2, j)) + z*before
		}},
		{SimpleRNN, 321, func(in, re func(gate, unit int) float64, j int, _ float64) float64 {
			return math.Tanh(in(0, j) + re(0, j))
		}},
	} {
		trainer := NewTrainer(c.cell, NewRandom(4), 0.001)
		p := trainer.Parameters
		if len(p) != c.parameters {
			t.Errorf("%v has %d parameters, PyTorch's with 16 units and a linear head %d", c.cell, len(p), c.parameters)
		}
		rows := (len(p) - 17) / 19 // of an input, 16 units and two biases each
		k := Features{.3, -.2, .7}
		var h [Hidden]float64
		for _, x := range k {
			before := h
			in := func(gate, unit int) float64 {
				row := gate*Hidden + unit
				return p[row]*x + p[rows*17+row]
			}
			re := func(gate, unit int) float64 {
				row := gate*Hidden + unit
				sum := p[rows*18+row]
				for j := range before {
					sum += p[rows+row*Hidden+j] * before[j]
				}
				return sum
			}
			for j := range h {
				h[j] = c.step(in, re, j, before[j])
			}
		}
		want := p[len(p)-1]
		for j := range h {
			want += p[rows*19+j] * h[j]
		}
		near(t, c.cell.String(), trainer.Model().Predict(&k), want, 1e-13)
	}
}

// TestAdam follows PyTorch's algorithm for one parameter, the head's bias, whose gradient is known: with a label far
// above or below, it is -1 or 1.
func TestAdam(t *testing.T) {
	trainer := NewTrainer(LSTM, NewRandom(5), 0.01)
	value := trainer.Parameters[atOutputBias]
	var m, v float64
	for step := 1; step <= 5; step++ {
		label, g := 100.0, -1.0
		if step == 3 {
			label, g = -100, 1
		}
		trainer.Step([]Pair{{Features{}, label}})
		m = .9*m + .1*g
		v = .999*v + .001*g*g
		value -= .01 * (m / (1 - math.Pow(.9, float64(step)))) / (math.Sqrt(v/(1-math.Pow(.999, float64(step)))) + 1e-8)
		near(t, "bias", trainer.Parameters[atOutputBias], value, 1e-12)
	}
}

// TestLearning has each network learn what it can express: the mean of the last two features, less a tenth.
func TestLearning(t *testing.T) {
	for _, cell := range []Cell{LSTM, GRU, SimpleRNN} {
		random := NewRandom(11)
		trainer := NewTrainer(cell, random, 0.01)
		mean := func(n int) float64 {
			batch := make([]Pair, 32)
			sum := 0.0
			for range n {
				for i := range batch {
					k := Features{random.Between(-.5, .5), random.Between(-.5, .5), random.Between(-.5, .5)}
					batch[i] = Pair{k, (k[1]+k[2])/2 - .1}
				}
				sum += trainer.Step(batch)
			}
			return sum / float64(n)
		}
		first := mean(1)
		mean(1000)
		if last := mean(20); last > 0.02 || last > first/5 {
			t.Errorf("%v: loss %g at first, %g at last", cell, first, last)
		}
	}
}

func TestInitialParameters(t *testing.T) {
	p := NewTrainer(LSTM, NewRandom(1), 0.001).Parameters
	lowest, highest, sum := 0.0, 0.0, 0.0
	for _, v := range p {
		lowest, highest, sum = min(lowest, v), max(highest, v), sum+v
	}
	// 1/sqrt(16) for the layer and, with 16 inputs, for the head too.
	if lowest < -0.25 || highest > 0.25 || lowest > -0.24 || highest < 0.24 || math.Abs(sum/parameterCount) > 0.02 {
		t.Errorf("from %g to %g, mean %g", lowest, highest, sum/parameterCount)
	}
	if !slices.Equal(p, NewTrainer(LSTM, NewRandom(1), 0.001).Parameters) ||
		slices.Equal(p, NewTrainer(LSTM, NewRandom(2), 0.001).Parameters) {
		t.Error("the seed does not decide the parameters")
	}
}

func TestRandom(t *testing.T) {
	// The first outputs of SplitMix64 for seed 1234567, from its reference implementation.
	r := NewRandom(1234567)
	for _, want := range []uint64{6457827717110365317, 3203168211198807973, 9817491932198370423} {
		if got := r.Uint64(); got != want {
			t.Errorf("%d, want %d", got, want)
		}
	}
	seen := make([]int, 5)
	for range 5000 {
		seen[r.Intn(5)]++
	}
	for _, n := range seen {
		if n < 850 || n > 1150 {
			t.Errorf("Intn: %v", seen)
		}
	}
	indices := []int{0, 1, 2, 3, 4, 5, 6, 7}
	r.Shuffle(indices)
	sum, moved := 0, 0
	for i, v := range indices {
		sum += 1 << v
		if v != i {
			moved++
		}
	}
	if sum != 255 || moved < 4 {
		t.Errorf("shuffled: %v", indices)
	}
}
