//go:build !amd64 && !arm64

package frame

// Prefetch does nothing on this processor.
func Prefetch(*Frame) {}
