package testenv

import (
	"os"
	"syscall"
)

// WriteProgram writes a file that a test then runs. A child that another test forks meanwhile would have the file open
// for writing until it runs its own program, and nobody could run this one (text file busy).
func WriteProgram(path string, data []byte) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(path, data, 0o755)
}

// PlaceProgram gives the program of this test a further path: by a link, or as a copy on another file system.
func PlaceProgram(path string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if os.Link(self, path) == nil {
		return nil
	}
	program, err := os.ReadFile(self)
	if err != nil {
		return err
	}
	return WriteProgram(path, program)
}
