package headroom

import (
	"testing"

	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// TestSONiC compares with the xoff returned by cfgmgr/buffer_headroom_mellanox.lua of sonic-swss (commit
// e6b0c5b5d2ab52354c4ec941f7c9005aeec3f779). It ran under Lua 5.1 with tables in place of its databases: an ASIC_TABLE
// of MELLANOX-SPECTRUM-3, no shared headroom pool, four lanes. Hardware holds the bytes in its tables for the MAC and
// PHY (there in KiB) and for the pause quanta of the speed.
func TestSONiC(t *testing.T) {
	const lightspeed = 198 // m/us, as there
	for _, c := range []struct {
		gigabits, metres    int64
		portMTU, mtu        int
		percent             float64
		cell                units.Bytes
		macPHY, pauseQuanta float64
		want                units.Bytes
	}{
		{10, 5, 9100, 1024, 100, 144, 0.8, 67, 44_032},
		{40, 40, 9100, 1024, 100, 96, 0.8, 118, 40_960},
		{100, 300, 9100, 1024, 100, 144, 0.8, 394, 220_160},
		{100, 300, 9100, 1024, 100, 192, 0.8, 394, 220_160},
		{100, 300, 9100, 1024, 50, 144, 0.8, 394, 94_208},
		{100, 300, 1500, 4096, 0, 144, 0.8, 394, 73_728},
		{100, 5, 9216, 9216, 90, 254, 0, 394, 53_248},
		{400, 40, 9100, 1024, 100, 144, 0.8, 905, 265_216},
		{400, 2000, 9100, 4096, 20, 384, 1.5, 905, 1_189_888},
		{25, 40, 9100, 1024, 100, 96, 0.8, 80, 33_792},
	} {
		rate := units.Rate(c.gigabits) * units.Gbps
		delay := vtime.Time(c.metres) * vtime.Microsecond / lightspeed
		cable := &switchagent.Cable{Rate: rate, PeerRate: rate, Delay: delay, PeerDelay: delay}
		hardware := 1024*c.macPHY + 64*c.pauseQuanta
		pfc := &switchagent.PFC{
			Priorities: 1, CellSize: c.cell, SmallPackets: c.percent / 100,
			Response: vtime.Time(hardware * 8 * float64(vtime.Second) / float64(rate)),
		}
		if got := sonicXOFF(cable, pfc, c.mtu, c.portMTU); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
	if got := sonicXOFF(&switchagent.Cable{}, &switchagent.PFC{Priorities: 1}, 1000, 1500); got != 0 {
		t.Errorf("without cells: %v", got)
	}
}
