package engine

import (
	"testing"

	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/vtime"
)

// TestFramingCountsInSwitches: waiting frames count in a switch by the framing: all bytes of the frames, or those of
// the simulators' packets, 1048 for a payload of 1000. The same applies to the blocks of credits.
func TestFramingCountsInSwitches(t *testing.T) {
	const packets = 10
	for framing, full := range map[string]uint64{"ethernet": 1058, "ns3": 1048} {
		first := full + 16 // RETH
		want := first + (packets-1)*full
		fabric := "framing: " + framing + "\nrate: 40Gbps\ndelay: 1us\nstar: {hosts: 2}"
		t.Run(framing, func(t *testing.T) {
			l := newLab(t, fabric, labOptions{sw: func(s *switchagent.Settings) {
				s.PFC.XOFF, s.PFC.XON = bytesOf(int64(want)), 2000
			}})
			in, out := l.port("s0", "h0"), l.port("s0", "h1")
			l.sendPFC(l.port("h1", "s0"), 0, 3, wire.PauseMax)
			l.send("h0", "h1", packets*1000, 2*vtime.Microsecond, 0)
			l.run(20 * vtime.Microsecond)
			queued, frames := l.Switch(0).Port(out).Queue(3)
			port, extra, sw := &l.State().Ports[in], &l.State().Extras[in], &l.State().Switches[0]
			if frames != packets || uint64(queued) != want || uint64(port.Class[3].Buffered) != want || sw.Used != want ||
				l.Switch(0).Port(out).QueuePeak != int64(want) {
				t.Errorf("%d frames queued as %d B, %d buffered, %d used; want %d as %d", frames, queued, port.Class[3].Buffered,
					sw.Used, packets, want)
			}
			if extra.PausesSent != 1 { // at XOFF to the byte
				t.Errorf("%d PAUSEs", extra.PausesSent)
			}
			l.sendPFC(l.port("h1", "s0"), l.Now(), 3, wire.Resume)
			l.run(0)
			if port.Class[3].Buffered != 0 || sw.Used != 0 || extra.ResumesSent != 1 {
				t.Errorf("%d buffered, %d used, %d RESUMEs at the end", port.Class[3].Buffered, sw.Used, extra.ResumesSent)
			}
		})
		t.Run(framing+" blocks", func(t *testing.T) {
			l := newLab(t, fabric, labOptions{sw: byCredits(func(s *switchagent.CBFC) { s.Block = 64 })})
			l.send("h0", "h1", (packets-1)*1000+907, 0, 0) // the last takes 965 or 955 B: 16 blocks or 15
			l.run(0)
			blocks := (first+63)/64 + (packets-2)*((full+63)/64) + (full-93+63)/64
			if sent := l.State().Extras[l.port("h0", "s0")].Credit[3].Sent; uint64(sent) != blocks {
				t.Errorf("%d blocks sent, want %d", sent, blocks)
			}
		})
	}
}
