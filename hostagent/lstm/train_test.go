package lstm

import (
	"math"
	"testing"
)

// TestGradient compares back-propagation with finite differences of the loss, which know nothing of it.
func TestGradient(t *testing.T) {
	random := NewRandom(3)
	trainer := NewTrainer(random, 0.001)
	var pairs []Pair
	for range 7 {
		pairs = append(pairs, Pair{
			Features{random.Between(-.5, 1), random.Between(-.5, 1), random.Between(-.5, 1)}, random.Between(-1, 1),
		})
	}
	loss := func(p *Parameters) float64 {
		n := New(p)
		sum := 0.0
		for i := range pairs {
			sum += math.Abs(n.Predict(&pairs[i].Features) - pairs[i].Label)
		}
		return sum / float64(len(pairs))
	}
	got := trainer.differentiate(pairs)
	near(t, "loss", got, loss(&trainer.Parameters), 1e-14)
	const h = 1e-6
	var largest float64
	for i := range trainer.Parameters {
		p := trainer.Parameters
		p[i] += h
		above := loss(&p)
		p[i] -= 2 * h
		slope := (above - loss(&p)) / (2 * h)
		if math.Abs(slope-trainer.gradient[i]) > 1e-8 {
			t.Errorf("parameter %d: gradient %.12g, finite difference %.12g", i, trainer.gradient[i], slope)
		}
		largest = max(largest, math.Abs(slope))
	}
	if largest < 0.01 {
		t.Errorf("no slope above %g: this tests nothing", largest)
	}
}

// TestAdam follows PyTorch's algorithm for one parameter, the head's bias, whose gradient is known: with a label far
// above or below, it is -1 or 1.
func TestAdam(t *testing.T) {
	trainer := NewTrainer(NewRandom(5), 0.01)
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

// TestLearning has the network learn what it can express: the mean of the last two features, less a tenth.
func TestLearning(t *testing.T) {
	random := NewRandom(11)
	trainer := NewTrainer(random, 0.01)
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
		t.Errorf("loss %g at first, %g at last", first, last)
	}
}

func TestInitialParameters(t *testing.T) {
	p := NewTrainer(NewRandom(1), 0.001).Parameters
	lowest, highest, sum := 0.0, 0.0, 0.0
	for _, v := range p {
		lowest, highest, sum = min(lowest, v), max(highest, v), sum+v
	}
	// 1/sqrt(16) for the layer and, with 16 inputs, for the head too.
	if lowest < -0.25 || highest > 0.25 || lowest > -0.24 || highest < 0.24 || math.Abs(sum/parameterCount) > 0.02 {
		t.Errorf("from %g to %g, mean %g", lowest, highest, sum/parameterCount)
	}
	if p != NewTrainer(NewRandom(1), 0.001).Parameters || p == NewTrainer(NewRandom(2), 0.001).Parameters {
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
