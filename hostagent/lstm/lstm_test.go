package lstm

import (
	"math"
	"math/big"
	"testing"
)

func near(t testing.TB, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s is %.15g, want %.15g", what, got, want)
	}
}

// known returns the network of the known answer in testdata/vectors.py: W_ih .1, .2, .3, .4 for i, f, g, o, W_hh .01, no
// biases, W_out .05, b_out .01.
func known() *Parameters {
	p := new(Parameters)
	for i := range rows {
		p[atInputWeights+i] = []float64{.1, .2, .3, .4}[i/Hidden]
		for j := range Hidden {
			p[atRecurrentWeights+i*Hidden+j] = .01
		}
	}
	for j := range Hidden {
		p[atOutputWeights+j] = .05
	}
	p[atOutputBias] = .01
	return p
}

// Equations 4 to 8 and 12 of the thesis (vectors).
func TestKnownAnswer(t *testing.T) {
	n := New(known())
	k := Features{.1, .2, -.1}
	out := n.Predict(&k)
	near(t, "out", out, 0.012272626057, 1e-12)
	s := Series{Smoothed: 5}
	near(t, "predicted RTT", s.Prediction(out), 5.061363130, 1e-9)

	var a, b state
	n.first(k[0], &a)
	n.next(k[1], &a, &b)
	n.next(k[2], &b, &a)
	for j := range Hidden {
		near(t, "h", a.out[j], 0.002840782571, 1e-12)
		near(t, "c", a.cell[j], 0.005788085324, 1e-12)
	}
}

// TestGateOrder moves one gate's bias at a time, by hand-computed answers: with every other parameter zero, i, f and o
// are 1/2 and the candidate is 0.
func TestGateOrder(t *testing.T) {
	for gate, want := range []float64{
		0, // an input gate, even open, lets a candidate of zero in
		0, // and so with the forget gate
		// The candidate tanh(1): c is a/2 after one step, then 3a/4, then 7a/8; h = tanh(c)/2.
		16 * math.Tanh(7*math.Tanh(1)/8) / 2,
		0,
	} {
		p := new(Parameters)
		for j := range Hidden {
			p[atRecurrentBias+gate*Hidden+j] = 1
			p[atOutputWeights+j] = 1
		}
		near(t, "out", New(p).Predict(&Features{}), want, 1e-14)
	}
	// All four at once tell input, forget and output gate apart.
	p := new(Parameters)
	z := [4]float64{0.3, -0.7, 1.1, 0.9}
	for i := range rows {
		p[atInputBias+i] = z[i/Hidden]
	}
	p[atOutputWeights] = 1
	sig := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
	c := 0.0
	for range Steps {
		c = sig(z[1])*c + sig(z[0])*math.Tanh(z[2])
	}
	near(t, "out", New(p).Predict(&Features{}), sig(z[3])*math.Tanh(c), 1e-14)
}

func TestParameterCount(t *testing.T) {
	if n := len(Parameters{}); n != 1233 {
		t.Errorf("%d parameters, PyTorch's LSTM(1, 16) and Linear(16, 1) have 1233", n)
	}
	sum := 0
	for _, g := range groups {
		sum += g.count
	}
	if sum != parameterCount {
		t.Errorf("the file's groups hold %d parameters", sum)
	}
}

// Equations 2 and 3 of the thesis (vectors).
func TestSeries(t *testing.T) {
	rtts := []float64{4.2, 4.4, 5, 6, 9, 7}
	smoothed := []float64{4.2, 4.24, 4.392, 4.7136, 5.57088, 5.856704}
	k := []float64{0, .037735849, .138433515, .272912424, .615543684, .195211505}
	labels := []float64{.047619048, .179245283, .366120219, .909368635, .256533977}
	var s Series
	for i, rtt := range rtts {
		s.Add(rtt)
		near(t, "S", s.Smoothed, smoothed[i], 1e-12)
		near(t, "K", s.Features[2], k[i], 6e-10)
		for back := range min(i, 2) {
			near(t, "an earlier K", s.Features[1-back], k[i-1-back], 6e-10)
		}
		if i < len(labels) {
			near(t, "L", s.Label(rtts[i+1]), labels[i], 6e-10)
			near(t, "what L means", s.Prediction(s.Label(rtts[i+1])), rtts[i+1], 1e-12)
		}
		if want := min(i+1, 3); s.Count != want {
			t.Errorf("%d samples counted, want %d", s.Count, want)
		}
	}
	var fresh Series
	fresh.Add(4.2)
	if fresh.Features != (Features{}) {
		t.Errorf("features after one sample: %v", fresh.Features)
	}
}

// TestActivations compares with 100-digit arithmetic.
func TestActivations(t *testing.T) {
	// e^x by its series, after halving x until it is small.
	exact := func(x float64) *big.Float {
		z := new(big.Float).SetPrec(400).SetFloat64(x)
		z.SetMantExp(z, -20)
		sum, term := big.NewFloat(1).SetPrec(400), big.NewFloat(1).SetPrec(400)
		for i := int64(1); i < 60; i++ {
			term.Mul(term, z)
			term.Quo(term, new(big.Float).SetInt64(i))
			sum.Add(sum, term)
		}
		for range 20 {
			sum.Mul(sum, sum)
		}
		return sum
	}
	random := NewRandom(1)
	for range 3000 {
		x := random.Between(-40, 40)
		if random.Intn(2) == 0 {
			x /= 64
		}
		want := exact(x)
		diff := new(big.Float).Sub(new(big.Float).SetPrec(400).SetFloat64(exp(x)), want)
		relative, _ := diff.Quo(diff, want).Float64()
		if math.Abs(relative) > 2*0x1p-52 {
			t.Errorf("exp(%g) is %g off", x, relative)
		}
		w, _ := want.Float64()
		near(t, "sigmoid", sigmoid(x), 1/(1+1/w), 4*0x1p-52)
		near(t, "tanh", tanh(x), math.Tanh(x), 4*0x1p-52)
	}
	for _, c := range []struct{ got, want float64 }{
		{exp(0), 1},
		{exp(-1000), 0},
		{sigmoid(0), 0.5},
		{sigmoid(1e300), 1},
		{sigmoid(-1e300), 0},
		{tanh(0), 0},
		{tanh(1e300), 1},
		{tanh(-1e300), -1},
		{exp(-708), math.Exp(-708)},
	} {
		near(t, "a special value", c.got, c.want, 1e-300+1e-15*math.Abs(c.want))
	}
	if v := exp(1e300); math.IsInf(v, 0) || v < 1e307 {
		t.Errorf("exp of much is %g", v)
	}
}

// TestSameBits holds results to the bits that amd64 computed without fused multiply-add: another architecture, or
// GOAMD64=v3, must not differ in the last one.
func TestSameBits(t *testing.T) {
	trainer := NewTrainer(LSTM, NewRandom(7), 0.001)
	for i := range 50 {
		trainer.Step([]Pair{{Features{.1, -.2, .3}, .25}, {Features{0, float64(i) / 50, -.1}, -.05}})
	}
	const want = "sha256:2d3877784fb57d48"
	if got := (*Parameters)(trainer.Parameters).Checksum(); got[:len(want)] != want {
		t.Errorf("parameters %s, want %s...", got, want)
	}
}

func BenchmarkPredict(b *testing.B) {
	n := New((*Parameters)(NewTrainer(LSTM, NewRandom(1), 0).Parameters))
	k := Features{.1, .2, -.1}
	b.ReportAllocs()
	for b.Loop() {
		n.Predict(&k)
	}
}

func TestPredictAllocatesNothing(t *testing.T) {
	n := New(known())
	k := Features{.1, .2, -.1}
	if a := testing.AllocsPerRun(100, func() { n.Predict(&k) }); a != 0 {
		t.Errorf("%g allocations a prediction", a)
	}
}
