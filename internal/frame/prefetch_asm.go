//go:build amd64 || arm64

package frame

// Prefetch makes the processor load the first two cache lines of a frame without waiting: its metadata, and the
// header up to the BTH if it is adjacent.
func Prefetch(f *Frame) { prefetch(f) }

//go:noescape
func prefetch(f *Frame)
