package engine

import (
	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// fillDetector writes what a switch's congestion detector goes by into the pipelines' tables.
func fillDetector(t *ebpf.SwitchState, s *switchagent.Settings) {
	if s.Detector != switchagent.DetectorTCD {
		return
	}
	t.EcnMode, t.EcnAtEnqueue = ebpf.ECNTCD, 0 // what leaves tells
	t.TrendSlack = uint32(s.TCD.TrendSlack)
	t.TcdRed = oneIf(s.TCD.RED)
}

// fillUndetermined writes T_max of a port with the profile k and this period of credits, if its switch's detector goes by it.
func fillUndetermined(t *ebpf.Port, k *ebpf.Profile, s *switchagent.Settings, period vtime.Time, rate units.Rate, delay vtime.Time, mtu int) {
	if s.Detector == switchagent.DetectorTCD {
		t.T_max = uint64(s.UndeterminedTime(units.Bytes(k.Xoff-k.Xon), period, rate, delay, mtu))
	}
}
