package lstm

import "math"

// Pair holds one training example: the features at a sample and the label from the next sample.
type Pair struct {
	Features Features
	Label    float64
}

// Adam's constants are PyTorch's defaults; the thesis names no optimiser, only the learning rate.
const (
	adamMean    = 0.9
	adamSquare  = 0.999
	adamEpsilon = 1e-8
)

// Cell selects a kind of recurrent cell.
type Cell int

// Cells. The congestion control has an LSTM; the thesis compares it with the others (section 3.4.1).
const (
	LSTM Cell = iota
	GRU
	SimpleRNN
)

func (c Cell) String() string { return [...]string{"LSTM", "GRU", "simple RNN"}[c] }

// Model represents a network that predicts.
type Model interface {
	// Predict returns the network's estimate of L_t: the next RTT will be (1+L_t)*S_t (equation 12).
	Predict(k *Features) float64

	load(p []float64)
	// backward adds weight times the gradient of |out - label| to g by back-propagation through time, and returns out -
	// label.
	backward(p *Pair, weight float64, g []float64) float64
}

// Trainer learns parameters from pairs.
type Trainer struct {
	Parameters []float64 // for an LSTM, in the order of the type Parameters
	// Rate sets the learning rate (thesis, section 3.4.2: 0.001).
	Rate float64

	model      Model
	gradient   []float64
	mean       []float64 // mean of the gradients, Adam's first moment
	square     []float64 // mean of their squares, Adam's second
	meanBias   float64   // adamMean to the power of the number of steps
	squareBias float64
}

// NewTrainer returns a trainer with initial parameters as in PyTorch: uniform within 1/sqrt(Hidden) of zero.
func NewTrainer(cell Cell, random *Random, rate float64) *Trainer {
	t := &Trainer{Rate: rate, meanBias: 1, squareBias: 1}
	n := parameterCount
	switch cell {
	case GRU:
		t.model, n = &Recurrent{cell: gru{}}, parametersOf(gru{})
	case SimpleRNN:
		t.model, n = &Recurrent{cell: simple{}}, parametersOf(simple{})
	default:
		t.model = new(Network)
	}
	t.Parameters, t.gradient, t.mean, t.square = make([]float64, n), make([]float64, n), make([]float64,
		n), make([]float64, n)
	bound := 1 / math.Sqrt(Hidden)
	for i := range t.Parameters {
		t.Parameters[i] = random.Between(-bound, bound)
	}
	t.model.load(t.Parameters)
	return t
}

// Model returns the network in its present state. It belongs to the trainer: the next Step changes it.
func (t *Trainer) Model() Model { return t.model }

// Step makes one step of Adam down the gradient of the pairs' mean absolute error (equation 11), and returns that error
// before the step.
func (t *Trainer) Step(pairs []Pair) float64 {
	loss := t.differentiate(pairs)
	t.meanBias *= adamMean
	t.squareBias *= adamSquare
	for i := range t.Parameters {
		g := t.gradient[i]
		t.mean[i] = float64(adamMean*t.mean[i]) + float64((1-adamMean)*g)
		t.square[i] = float64(adamSquare*t.square[i]) + float64((1-adamSquare)*float64(g*g))
		mean := t.mean[i] / (1 - t.meanBias)
		square := t.square[i] / (1 - t.squareBias)
		t.Parameters[i] -= float64(t.Rate*mean) / (math.Sqrt(square) + adamEpsilon)
	}
	t.model.load(t.Parameters)
	return loss
}

// differentiate sets the gradient of the pairs' mean absolute error, and returns that error.
func (t *Trainer) differentiate(pairs []Pair) float64 {
	clear(t.gradient)
	var loss float64
	for i := range pairs {
		miss := t.model.backward(&pairs[i], 1/float64(len(pairs)), t.gradient)
		loss += math.Abs(miss) / float64(len(pairs))
	}
	return loss
}

// slope returns the derivative of weight*|miss| with respect to miss.
func slope(miss, weight float64) float64 {
	switch {
	case miss > 0:
		return weight
	case miss < 0:
		return -weight
	}
	return 0 // the kink of |x|: PyTorch takes 0 for its slope
}

func (n *Network) backward(p *Pair, weight float64, g []float64) float64 {
	var s [Steps]state
	n.first(p.Features[0], &s[0])
	for t := 1; t < Steps; t++ {
		n.next(p.Features[t], &s[t-1], &s[t])
	}
	miss := n.head(&s[Steps-1]) - p.Label
	d := slope(miss, weight) // of the loss by the output
	if d == 0 {
		return miss
	}
	var dh, dc [Hidden]float64 // derivatives of the loss with respect to h and c after the current step
	g[atOutputBias] += d
	for j := range dh {
		g[atOutputWeights+j] += float64(d * s[Steps-1].out[j])
		dh[j] = d * n.output[j]
	}
	for t := Steps - 1; t >= 0; t-- {
		from := new(state)
		if t > 0 {
			from = &s[t-1]
		}
		dh = n.backwardStep(p.Features[t], from, &s[t], &dh, &dc, g)
	}
	return miss
}

// backwardStep goes back over the step that led from one state to another. It adds to g, turns dc into the derivative
// with respect to the earlier c, and returns the derivative with respect to the earlier h.
func (n *Network) backwardStep(x float64, from, s *state, dh, dc *[Hidden]float64,
	g []float64,
) (earlier [Hidden]float64) {
	var dz [rows]float64 // derivatives with respect to the gates before their activation
	for j := range dh {
		i, f, candidate, o := s.gates[j], s.gates[Hidden+j], s.gates[2*Hidden+j], s.gates[3*Hidden+j]
		c := dc[j] + float64(float64(dh[j]*o)*(1-float64(s.tanh[j]*s.tanh[j])))
		dz[j] = float64(c*candidate) * float64(i*(1-i))
		dz[Hidden+j] = float64(c*from.cell[j]) * float64(f*(1-f))
		dz[2*Hidden+j] = float64(c*i) * (1 - float64(candidate*candidate))
		dz[3*Hidden+j] = float64(dh[j]*s.tanh[j]) * float64(o*(1-o))
		dc[j] = c * f
	}
	for r := range dz {
		g[atInputWeights+r] += float64(dz[r] * x)
		g[atInputBias+r] += dz[r]
		g[atRecurrentBias+r] += dz[r]
		row := g[atRecurrentWeights+r*Hidden:][:Hidden]
		for j := range row {
			row[j] += float64(dz[r] * from.out[j])
			earlier[j] += float64(dz[r] * n.recurrent[r][j])
		}
	}
	return earlier
}
