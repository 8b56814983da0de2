package headroom

import (
	"math"

	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// sonicXOFF returns the headroom of a lossless priority by SONiC's formula (cfgmgr/buffer_headroom_mellanox.lua of
// sonic-swss, commit e6b0c5b5, without a shared headroom pool), in whole KiB. PFC.Response, as bytes at line rate,
// stands for the ASIC's MAC and PHY delay, the peer's response time and the bytes on tiles. Without cells it returns
// 0.
//
// It differs from Cable.InFlight as SONiC does: factors are whole numbers; small packets count with a fraction above 0
// even if there are none; MTUs exclude headers and gaps; XOFF is assumed at the end of a frame, so that no frame is
// past it; PFC frames take no time.
func sonicXOFF(c *switchagent.Cable, p *switchagent.PFC, losslessMTU, portMTU int) units.Bytes {
	const least, unit, compensation = 64, 1024, 2 * 1024
	cell, lossless := float64(p.CellSize), float64(losslessMTU)
	if cell == 0 {
		return 0
	}
	worst := 2 * cell / (1 + cell)
	if cell > 2*least {
		worst = cell / least
	}
	worst = math.Ceil(worst)
	percent := 100 * p.SmallPackets
	byBytes := 100 * least / ((percent*least + (100-percent)*lossless) / 100)
	occupancy := (100 - byBytes + byBytes*worst) / 100
	bytes := func(t vtime.Time) float64 { return float64(c.PeerRate) * float64(t) / float64(8*vtime.Second) }
	inFlight := float64(portMTU) + bytes(c.Delay+c.PeerDelay) + bytes(p.Response)
	round := func(x float64) float64 { return math.Ceil(x/unit) * unit }
	xoff := round(lossless + inFlight*occupancy)
	if percent != 100 && xoff+compensation < round(lossless+inFlight*worst) {
		xoff += compensation
	}
	return units.Bytes(xoff)
}
