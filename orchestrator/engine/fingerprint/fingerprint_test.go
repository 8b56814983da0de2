package fingerprint

import (
	"testing"

	"github.com/pausenet/pausenet/ebpf"
	"github.com/pausenet/pausenet/internal/wire"
)

// TestFingerprintOfTimestamps: where some flows carry telemetry and others timestamps, only the former's 42 bytes are
// of the packet. What lies there in another's frame depends on which frame its memory was before, and so on workers.
func TestFingerprintOfTimestamps(t *testing.T) {
	of := func(opcode, left byte) string {
		h := Hash{Deep: true}
		data := make([]byte, ebpf.TelemetryBytes)
		data[42], data[70] = opcode, left
		h.Frame(0, &ebpf.Pass{}, 1000, data)
		return h.String()
	}
	if of(0xe7, 0) != of(0xe7, 1) {
		t.Error("the fingerprint of a packet with a timestamp is of what follows it")
	}
	if of(0xc7, 0) == of(0xc7, 1) {
		t.Error("the fingerprint of a packet with telemetry is not of all of it")
	}
}

// TestFingerprintOverIPv6: each byte of the headers up to the BTH's end counts, with the type of the frame, and those
// of telemetry where there is some.
func TestFingerprintOverIPv6(t *testing.T) {
	frame := make([]byte, wire.LongHeaderBytes)
	h, err := wire.NewFlowHeader(wire.FlowParams{Version: wire.V6, HeadersOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	of := func(data []byte) string {
		h := Hash{Deep: true}
		h.Frame(0, &ebpf.Pass{}, 1000, data)
		return h.String()
	}
	for op, end := range map[wire.Opcode]int{wire.OpWriteMiddle: 74, wire.OpWriteMiddle.WithINT(): 74 + 42} {
		clear(frame)
		wire.PutData(frame, h, op, 1, 1000, false, false)
		was := of(frame)
		for i := 12; i < ebpf.TelemetryBytes6; i++ {
			frame[i] ^= 0x04 // no bit of those that tell telemetry
			if got := of(frame) == was; got != (i >= end) && i != 13 {
				t.Errorf("%v: byte %d: the fingerprint is the same: %v", op, i, got)
			}
			frame[i] ^= 0x04
		}
	}
}
