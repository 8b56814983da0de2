// Package blame tells whose code has panicked: a congestion control's, which users write, or the program's own.
package blame

import (
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
)

// Packages that call congestion controls: by its methods, and to have one made.
const (
	nic    = "github.com/pausenet/pausenet/hostagent."
	engine = "github.com/pausenet/pausenet/orchestrator/engine."
)

// Methods are those that a NIC calls.
var Methods = []string{"OnSent", "OnAck", "OnCNP", "OnCNM", "OnNak", "OnTimeout", "OnTimer", "Rate", "Window", "Deadline", "Retimes"}

// Stack is that of a panic, and outside says that it came out of a method of a congestion control, or of what makes one, and not out of the code
// around it. It is to be called by the deferred function that recovers from the panic.
func Stack() (stack []byte, outside bool) {
	pcs := make([]uintptr, 256)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	panicked, called := false, ""
	for more := true; more; {
		var frame runtime.Frame
		frame, more = frames.Next()
		switch name := frame.Function; {
		case name == "runtime.gopanic":
			panicked, called = true, ""
		case !panicked || strings.HasPrefix(name, "runtime."):
		case strings.HasPrefix(name, nic):
			return debug.Stack(), slices.Contains(Methods, called[strings.LastIndexByte(called, '.')+1:])
		case strings.HasPrefix(name, engine):
			return debug.Stack(), called != ""
		default:
			called = name
		}
	}
	return debug.Stack(), false
}
