//go:build linux

package kernel

import (
	"errors"
	"io"
)

// CloseFailed closes what a function has opened so far and returns as nil, if the function fails. Defer it.
func CloseFailed[T any, P interface {
	*T
	io.Closer
}](opened *P, err *error) {
	if *err != nil {
		*err = errors.Join(*err, (*opened).Close())
		*opened = nil
	}
}
