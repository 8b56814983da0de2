//go:build linux

package live

import (
	"math"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/pausenet/pausenet/units"
)

// EndedFlows summarises finished RDMA flows. Its size does not depend on their number.
type EndedFlows struct {
	Count     int64 `json:"count"`
	SizeBytes int64 `json:"size_bytes"` // sum over all flows
	// Their slowdowns, accurate to 1 %.
	SlowdownMean float64 `json:"slowdown_mean"`
	SlowdownP50  float64 `json:"slowdown_p50"`
	SlowdownP99  float64 `json:"slowdown_p99"`
}

// endedFlows counts finished flows.
type endedFlows struct {
	count, bytes int64
	sum          float64
	slowdowns    *hdrhistogram.Histogram // in thousandths; about 25 KB
}

// mostSlowdown limits the slowdowns that the histogram distinguishes, in thousandths.
const mostSlowdown = 1e9

func newEndedFlows() *endedFlows {
	return &endedFlows{slowdowns: hdrhistogram.New(1, mostSlowdown, 2)}
}

func (n *endedFlows) add(sent units.Bytes, slowdown float64) {
	n.count++
	n.bytes += int64(sent)
	n.sum += slowdown
	_ = n.slowdowns.RecordValue(int64(math.Round(min(1e3*slowdown, mostSlowdown))))
}

func (n *endedFlows) look() EndedFlows {
	if n.count == 0 {
		return EndedFlows{}
	}
	return EndedFlows{
		Count: n.count, SizeBytes: n.bytes, SlowdownMean: n.sum / float64(n.count),
		SlowdownP50: 1e-3 * float64(n.slowdowns.ValueAtPercentile(50)),
		SlowdownP99: 1e-3 * float64(n.slowdowns.ValueAtPercentile(99)),
	}
}
