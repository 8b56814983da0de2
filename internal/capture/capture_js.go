package capture

import (
	"errors"
	"os"

	"github.com/pausenet/pausenet/vtime"
)

// Writer is not there in a browser: the library would make the program that is loaded a fifth larger.
type Writer struct{}

// NewFile is a writer that takes no port.
func NewFile(*os.File) *Writer { return &Writer{} }

// AddPort refuses every port.
func (*Writer) AddPort(string) (int, error) {
	return 0, errors.New("there are no captures in a browser: run the scenario on a computer of your own")
}

// Write has no port to write a frame of.
func (*Writer) Write(int, vtime.Time, []byte) error { return nil }

// Close has nothing to close.
func (*Writer) Close() error { return nil }
