//go:build !linux

package command

// limitMemory has nothing to do: GOMEMLIMIT bounds what the garbage collector lets stand, and the languages of
// controllers bound the rest.
func limitMemory(uint64) error { return nil }
