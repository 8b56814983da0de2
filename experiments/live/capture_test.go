//go:build linux

package live

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/pausenet/pausenet/internal/capture"
	"github.com/pausenet/pausenet/vtime"
)

// TestStoppedCaptureKeepsFrames checks that a capture writes the frames that still wait when it is stopped.
func TestStoppedCaptureKeepsFrames(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	file := capture.NewWriter(&out)
	port, err := file.AddPort("h0-eth1")
	must(t, err)
	const frames = 100
	c := &Capture{frames: make(chan seen, frames)}
	for i := range frames {
		c.keep(vtime.Time(i), port, fmt.Appendf(nil, "frame %03d", i))
	}
	stop := make(chan struct{})
	close(stop)
	must(t, c.write(file, stop))
	for i := range frames {
		if frame := fmt.Appendf(nil, "frame %03d", i); !bytes.Contains(out.Bytes(), frame) {
			t.Fatalf("%s is missing", frame)
		}
	}
}
