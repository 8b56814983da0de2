//go:build !linux

package kernel

import "errors"

// FindLeftovers finds nothing: no fabric was ever built in this kernel.
func FindLeftovers() ([]Leftover, error) { return nil, nil }

// Remove ends what holds the namespace.
func (l *Leftover) Remove() error { return errors.New("this system has no network namespaces") }

// Remedy knows nothing: no fabric is brought up in this kernel.
func Remedy(error) string { return "" }
