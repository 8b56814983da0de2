//go:build !linux

package bench

import "context"

// measureKernel measures nothing: the kernel plane needs Linux.
func (b *benchmark) measureKernel(context.Context, int) (*Kernel, error) { return nil, nil }

// measureBringUp measures nothing: the kernel plane needs Linux.
func measureBringUp(context.Context, *Result, Options) error { return nil }
