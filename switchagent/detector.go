package switchagent

import (
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// Detector selects how a switch detects congestion at an egress port.
type Detector uint8

// Detectors.
const (
	// DetectorThreshold uses only the queue's length, according to ECN's mode.
	DetectorThreshold Detector = iota
	// DetectorTCD uses ternary congestion detection: a port that flow control switches ON and OFF is undetermined.
	DetectorTCD
)

// TCD holds the settings of ternary congestion detection (patent CN 113572655 A), which replaces ECN's mode on ECN's
// priorities.
type TCD struct {
	// QLen sets the longest queue of a port that is not congested (the patent's q_len: 5 KB to 200 KB). Auto scales it
	// with the port's rate, like ECN's KMin.
	QLen units.Bytes
	// TMax sets how long a port must have been ON before its queue indicates congestion. 0 means the patent's formula
	// with Epsilon, or CreditPeriods update periods under credits.
	TMax          vtime.Time
	Epsilon       float64
	CreditPeriods float64
	// TrendSlack sets how much longer a queue may be than TMax before and still count as falling. The patent says 0
	// (paragraph 0093). Its authors' simulator uses 0.9 packets, so that a queue kept level by its full upstream ports
	// never counts as congested.
	TrendSlack units.Bytes
	// RED makes ECN's RED decide whether to mark a packet that meets congestion, like TCD's authors under DCQCN.
	// Otherwise every such packet is marked.
	RED bool
}

// UndeterminedTime returns T_max of a port. Under PFC it is (2(XOFF-XON) + tau*C)/(2*epsilon*C) + tau with tau =
// 2*delay + 2*MTU/C, the patent's response time (paragraphs 0074 and 0075). Under credits it is the time between two
// grants (paragraph 0077): CreditPeriods periods, because messages wait behind frames. gap is the port's XOFF-XON,
// period that of its peer's messages.
func (s *Settings) UndeterminedTime(gap units.Bytes, period vtime.Time, rate units.Rate, delay vtime.Time,
	mtu int,
) vtime.Time {
	if s.TCD.TMax > 0 {
		return s.TCD.TMax
	}
	if s.FlowControl == FlowCBFC {
		return vtime.Time(s.TCD.CreditPeriods*float64(period) + 0.5)
	}
	if s.PFC.Alpha > 0 {
		gap = s.PFC.XOFFToXON
	}
	tau := 2*delay + rate.TimeFor(int64(2*mtu))
	return vtime.Time(float64(rate.TimeFor(int64(2*gap))+tau)/(2*s.TCD.Epsilon)+0.5) + tau
}
