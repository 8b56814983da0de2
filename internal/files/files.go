package files

import "fmt"

// Error explains why a file or folder is not used.
type Error struct {
	Path   string
	Reason string
}

func (e *Error) Error() string { return e.Path + " " + e.Reason }

// Kind describes what kind of file to read, with limits.
type Kind struct {
	Name string // with its article, for messages: "a scenario, topology or sweep"
	Most int64  // maximum size in bytes; larger files are rejected before they are read
	// Plain rejects links, even to a readable file.
	Plain bool
}

// tooLarge returns the error of a file that exceeds the size limit of its kind, with its size if known.
func (k *Kind) tooLarge(path string, size int64) error {
	if size > k.Most {
		return &Error{path, fmt.Sprintf("has %d bytes, but %s may have at most %s", size, k.Name, amount(k.Most))}
	}
	return &Error{path, fmt.Sprintf("is longer than %s, the limit of %s", amount(k.Most), k.Name)}
}

// amount returns a number of bytes for people.
func amount(bytes int64) string {
	for _, unit := range []struct {
		name string
		size int64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if bytes >= unit.size && bytes%unit.size == 0 {
			return fmt.Sprintf("%d %s", bytes/unit.size, unit.name)
		}
	}
	return fmt.Sprintf("%d bytes", bytes)
}
