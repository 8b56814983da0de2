package lstm

// smoothing sets sigma of equation 2, the weight of the newest RTT.
const smoothing = 0.2

// Series turns a flow's RTT samples into features (thesis, section 3.3.1). They may have any unit of time: features are
// ratios.
type Series struct {
	Features Features // K_{t-2}, K_{t-1}, K_t; 0, as for a constant RTT, before the flow's first sample
	Smoothed float64  // S_t
	Count    int      // number of samples, at most Steps
}

// Add adds the next sample.
func (s *Series) Add(rtt float64) {
	if s.Count == 0 {
		s.Smoothed = rtt
	} else {
		s.Smoothed = float64(smoothing*rtt) + float64((1-smoothing)*s.Smoothed)
	}
	s.Count = min(s.Count+1, Steps)
	s.Features[0], s.Features[1] = s.Features[1], s.Features[2]
	s.Features[2] = (rtt - s.Smoothed) / s.Smoothed
}

// Label returns L_t, the ideal output of the network at this point if next is the next sample (equation 3).
func (s *Series) Label(next float64) float64 { return (next - s.Smoothed) / s.Smoothed }

// Prediction returns the next sample that the network's output predicts (equation 12).
func (s *Series) Prediction(out float64) float64 { return (1 + out) * s.Smoothed }
