//go:build amd64 || arm64

package frame

// Prefetch has the processor load the first two cache lines of a frame, without waiting for them: what is known of it,
// and the header up to the BTH where it lies beside.
func Prefetch(f *Frame) { prefetch(f) }

//go:noescape
func prefetch(f *Frame)
