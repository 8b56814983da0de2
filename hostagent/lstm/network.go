// Package lstm implements the neural network of the LSTM-PID congestion control: it predicts a flow's next round-trip
// time from the last ones (thesis, section 3.4). It infers, trains and reads its weights without IO, and computes the
// same bits on every machine.
package lstm

// The network's shape (thesis, section 3.4.1): one layer of 16 hidden units, three time steps of one feature each, and
// a linear head with one output.
const (
	Hidden = 16
	Steps  = 3
)

// rows counts the rows of the four gates' matrices: input, forget, candidate and output gate, in PyTorch's order.
const rows = 4 * Hidden

// Offsets of the parameters' groups.
const (
	atInputWeights     = 0
	atRecurrentWeights = atInputWeights + rows
	atInputBias        = atRecurrentWeights + rows*Hidden
	atRecurrentBias    = atInputBias + rows
	atOutputWeights    = atRecurrentBias + rows
	atOutputBias       = atOutputWeights + Hidden
	parameterCount     = atOutputBias + 1
)

// Parameters holds the 1233 trained numbers, in the order of PyTorch's LSTM(1, 16) and Linear(16, 1): weights of the
// input, of the recurrence (row by row), biases of both (only their sum matters; PyTorch has two), weights and bias of
// the head.
type Parameters [parameterCount]float64

// Features holds K, the last three RTT samples' relative deviations from the smoothed RTT, the oldest first (see
// Series).
type Features [Steps]float64

// Network predicts RTTs. It is read-only after New, and any number of flows may share it.
type Network struct {
	input      [rows]float64
	recurrent  [rows][Hidden]float64
	bias       [rows]float64
	output     [Hidden]float64
	outputBias float64
}

// New returns the network with these parameters.
func New(p *Parameters) *Network {
	n := new(Network)
	n.load(p[:])
	return n
}

func (n *Network) load(p []float64) {
	copy(n.input[:], p[atInputWeights:])
	for i := range n.recurrent {
		copy(n.recurrent[i][:], p[atRecurrentWeights+i*Hidden:])
		n.bias[i] = p[atInputBias+i] + p[atRecurrentBias+i]
	}
	copy(n.output[:], p[atOutputWeights:])
	n.outputBias = p[atOutputBias]
}

// state holds the state of the layer after one time step.
type state struct {
	gates [rows]float64   // i, f, candidate, o, activated
	cell  [Hidden]float64 // c
	tanh  [Hidden]float64 // tanh of c
	out   [Hidden]float64 // h
}

// Predict returns out_t, the network's estimate of L_t: the next RTT will be (1+out_t)*S_t, where S_t is the smoothed
// RTT (equation 12).
func (n *Network) Predict(k *Features) float64 {
	var s [2]state
	n.first(k[0], &s[0])
	n.next(k[1], &s[0], &s[1])
	n.next(k[2], &s[1], &s[0])
	return n.head(&s[0])
}

// first computes the first time step: h and c before it are zero.
func (n *Network) first(x float64, s *state) {
	for i := range s.gates {
		s.gates[i] = float64(n.input[i]*x) + n.bias[i]
	}
	s.activate()
	for j := range s.cell {
		s.cell[j] = s.gates[j] * s.gates[2*Hidden+j]
	}
	s.emit()
}

// next computes a later time step, from one state into another.
func (n *Network) next(x float64, from, s *state) {
	for i := range s.gates {
		w := &n.recurrent[i]
		// Four independent sums take a quarter of the time of one.
		var a, b, c, d float64
		for j := 0; j < Hidden; j += 4 {
			a += float64(w[j] * from.out[j])
			b += float64(w[j+1] * from.out[j+1])
			c += float64(w[j+2] * from.out[j+2])
			d += float64(w[j+3] * from.out[j+3])
		}
		s.gates[i] = float64(n.input[i]*x) + n.bias[i] + ((a + b) + (c + d))
	}
	s.activate()
	for j := range s.cell {
		s.cell[j] = float64(s.gates[Hidden+j]*from.cell[j]) + float64(s.gates[j]*s.gates[2*Hidden+j])
	}
	s.emit()
}

// activate applies sigmoid and tanh to the gates (equations 4 to 7).
func (s *state) activate() {
	for i := range s.gates {
		if i/Hidden == 2 {
			s.gates[i] = tanh(s.gates[i])
		} else {
			s.gates[i] = sigmoid(s.gates[i])
		}
	}
}

// emit computes h = o*tanh(c) (equation 8).
func (s *state) emit() {
	for j := range s.out {
		s.tanh[j] = tanh(s.cell[j])
		s.out[j] = s.gates[3*Hidden+j] * s.tanh[j]
	}
}

// head returns the output of the linear layer.
func (n *Network) head(s *state) float64 {
	out := n.outputBias
	for j, w := range n.output {
		out += float64(w * s.out[j])
	}
	return out
}
