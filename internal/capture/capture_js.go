package capture

import (
	"errors"
	"os"

	"github.com/pausenet/pausenet/vtime"
)

// Writer does nothing in a browser: the library would make the loaded program a fifth larger.
type Writer struct{}

// NewFile returns a writer without ports.
func NewFile(*os.File) *Writer { return &Writer{} }

// AddPort rejects every port.
func (*Writer) AddPort(string) (int, error) {
	return 0, errors.New("there are no captures in a browser: run the scenario on a computer of your own")
}

// Write does nothing: there is no port.
func (*Writer) Write(int, vtime.Time, []byte) error { return nil }

// Close does nothing.
func (*Writer) Close() error { return nil }
