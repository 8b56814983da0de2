package engine

import (
	"testing"

	"github.com/pausenet/pausenet/ebpf"
)

// TestFingerprintOfTimestamps: where some flows carry telemetry and others timestamps, only the former's 42 bytes are of the packet. What lies
// there in another's frame depends on which frame its memory was before, and so on lanes.
func TestFingerprintOfTimestamps(t *testing.T) {
	of := func(opcode, left byte) string {
		h := fingerprint{telemetry: true}
		data := make([]byte, ebpf.TelemetryBytes)
		data[42], data[70] = opcode, left
		h.frame(0, &ebpf.Pass{}, 1000, data)
		return h.String()
	}
	if of(0xe7, 0) != of(0xe7, 1) {
		t.Error("the fingerprint of a packet with a timestamp is of what follows it")
	}
	if of(0xc7, 0) == of(0xc7, 1) {
		t.Error("the fingerprint of a packet with telemetry is not of all of it")
	}
}
