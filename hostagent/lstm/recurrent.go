package lstm

// Recurrent implements a network like Network with another kind of cell. The thesis compares its LSTM with a GRU and a
// simple RNN (section 3.4.1); no congestion control uses these.
type Recurrent struct {
	cell cell
	// weights of the input and of the recurrence (row by row), biases of both, weights and bias of the head, as in
	// PyTorch
	parameters []float64
}

// cell computes the output of a layer of Hidden units from the products of its input and of its earlier output.
type cell interface {
	// gates returns the number of products of each kind per unit.
	gates() int
	// forward sets the output h from the products of the input (in) and of the earlier output (re, of from), biases
	// included. It leaves intermediate results in them for backward.
	forward(in, re []float64, from, h *[Hidden]float64)
	// backward turns in and re, as forward left them, into the derivatives with respect to the two products, given that
	// with respect to the output. It returns the derivative with respect to the earlier output, apart from the
	// products.
	backward(in, re []float64, from, h, dh *[Hidden]float64) (direct [Hidden]float64)
}

// parametersOf returns the number of parameters of a network with such cells.
func parametersOf(c cell) int {
	rows := c.gates() * Hidden
	return rows*(1+Hidden+2) + Hidden + 1
}

// groups returns the parameters by their meaning.
func (n *Recurrent) groups(p []float64) (input, recurrent, inputBias, recurrentBias, head []float64) {
	rows := n.cell.gates() * Hidden
	input, p = p[:rows], p[rows:]
	recurrent, p = p[:rows*Hidden], p[rows*Hidden:]
	inputBias, p = p[:rows], p[rows:]
	return input, recurrent, inputBias, p[:rows], p[rows:]
}

// pass holds a layer after each time step, for backward.
type pass struct {
	in, re [Steps][3 * Hidden]float64
	out    [Steps + 1][Hidden]float64 // the first is the output before the first step, 0
}

// run returns the network's output, and the state after each step.
func (n *Recurrent) run(k *Features, s *pass) float64 {
	input, recurrent, inputBias, recurrentBias, head := n.groups(n.parameters)
	rows := len(input)
	for t, x := range k {
		in, re, from := s.in[t][:rows], s.re[t][:rows], &s.out[t]
		for i := range in {
			in[i] = float64(input[i]*x) + inputBias[i]
			sum := 0.0
			for j, w := range recurrent[i*Hidden:][:Hidden] {
				sum += float64(w * from[j])
			}
			re[i] = sum + recurrentBias[i]
		}
		n.cell.forward(in, re, from, &s.out[t+1])
	}
	out := head[Hidden]
	for j, w := range head[:Hidden] {
		out += float64(w * s.out[Steps][j])
	}
	return out
}

// Predict returns the network's estimate of L_t, like Network.Predict.
func (n *Recurrent) Predict(k *Features) float64 {
	var s pass
	return n.run(k, &s)
}

func (n *Recurrent) load(p []float64) { n.parameters = p }

// backward works like Network's.
func (n *Recurrent) backward(p *Pair, weight float64, g []float64) float64 {
	var s pass
	miss := n.run(&p.Features, &s) - p.Label
	d := slope(miss, weight)
	if d == 0 {
		return miss
	}
	input, recurrent, inputBias, recurrentBias, head := n.groups(g)
	_, weights, _, _, headWeights := n.groups(n.parameters)
	rows := len(input)
	var dh [Hidden]float64 // derivative of the loss with respect to h after the current step
	head[Hidden] += d
	for j := range dh {
		head[j] += float64(d * s.out[Steps][j])
		dh[j] = d * headWeights[j]
	}
	for t := Steps - 1; t >= 0; t-- {
		in, re, from := s.in[t][:rows], s.re[t][:rows], &s.out[t]
		earlier := n.cell.backward(in, re, from, &s.out[t+1], &dh)
		for i := range in {
			input[i] += float64(in[i] * p.Features[t])
			inputBias[i] += in[i]
			recurrentBias[i] += re[i]
			row, w := recurrent[i*Hidden:][:Hidden], weights[i*Hidden:][:Hidden]
			for j := range row {
				row[j] += float64(re[i] * from[j])
				earlier[j] += float64(re[i] * w[j])
			}
		}
		dh = earlier
	}
	return miss
}

// gru implements PyTorch's GRU: gates r, z and the candidate n, in that order. h = (1-z)*n + z*h'.
type gru struct{}

func (gru) gates() int { return 3 }

func (gru) forward(in, re []float64, from, h *[Hidden]float64) {
	for j := range h {
		r, z := sigmoid(in[j]+re[j]), sigmoid(in[Hidden+j]+re[Hidden+j])
		n := tanh(in[2*Hidden+j] + float64(r*re[2*Hidden+j]))
		h[j] = float64((1-z)*n) + float64(z*from[j])
		in[j], in[Hidden+j], in[2*Hidden+j] = r, z, n
	}
}

func (gru) backward(in, re []float64, from, _, dh *[Hidden]float64) (direct [Hidden]float64) {
	for j := range dh {
		r, z, n, product := in[j], in[Hidden+j], in[2*Hidden+j], re[2*Hidden+j]
		dn := float64(float64(dh[j]*(1-z)) * (1 - float64(n*n)))
		dr := float64(float64(dn*product) * float64(r*(1-r)))
		dz := float64(float64(dh[j]*(from[j]-n)) * float64(z*(1-z)))
		direct[j] = dh[j] * z
		in[j], in[Hidden+j], in[2*Hidden+j] = dr, dz, dn
		re[j], re[Hidden+j], re[2*Hidden+j] = dr, dz, dn*r
	}
	return direct
}

// simple implements PyTorch's RNN, after Elman: h = tanh(W x + U h').
type simple struct{}

func (simple) gates() int { return 1 }

func (simple) forward(in, re []float64, _, h *[Hidden]float64) {
	for j := range h {
		h[j] = tanh(in[j] + re[j])
	}
}

func (simple) backward(in, re []float64, _, h, dh *[Hidden]float64) (direct [Hidden]float64) {
	for j := range dh {
		in[j] = float64(dh[j] * (1 - float64(h[j]*h[j])))
		re[j] = in[j]
	}
	return direct
}
