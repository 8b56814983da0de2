package wasm

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// untouch returns the pages of new memory to the kernel, which makes them again, as zeros, when they are touched. Go
// has cleared, and so touched, all of a large allocation if any part of it was in use before.
func untouch(memory []byte) {
	const large = 64 << 20 // less is not worth touching twice
	if len(memory) < large {
		return
	}
	size := uintptr(unix.Getpagesize())
	skip := -uintptr(unsafe.Pointer(unsafe.SliceData(memory))) % size
	pages := (uintptr(len(memory)) - skip) / size
	_ = unix.Madvise(memory[skip:][:pages*size], unix.MADV_DONTNEED) // it only saves memory
}
