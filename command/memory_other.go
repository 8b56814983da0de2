//go:build !linux

package command

// limitMemory does nothing here: GOMEMLIMIT bounds garbage, and the controllers' languages bound the rest.
func limitMemory(uint64) error { return nil }
