// Package schema declares parameters that users may set: the kind of a value, its default, its bounds and its meaning.
// The constants of congestion controls (package hostagent/cc) and the settings of switches, hosts and faults (package
// settings) use it.
package schema

import "fmt"

// Kind selects the kind of a parameter's values.
type Kind uint8

// Kinds.
const (
	Rate       Kind = iota // "40Gbps"
	Time                   // "55us"
	Size                   // "10MB"
	Number                 // "0.8", "1/256", "1%"
	Integer                // "5"
	Flag                   // "true", "false"
	Choice                 // one of Parameter.Choices
	File                   // a file's path
	Priority               // "3": 0 to 7
	Priorities             // "[3, 4]"
	Weights                // "{3: 3KB, 4: 1KB}": sizes by priority
	Group                  // a mapping of other parameters, or "off"
	Text                   // any text
	Texts                  // a list of texts
	Names                  // a list of names, or of sequences such as H2..H15
	List                   // a list of mappings
	Other                  // any other value
)

var kindNames = [...]string{
	"rate", "time", "size", "number", "integer", "flag", "choice", "file", "priority", "priorities", "sizes by priority",
	"mapping",
	"text", "list of texts", "names", "list of mappings", "",
}

// String returns the kind's name.
func (k Kind) String() string { return kindNames[k] }

// MarshalText writes the kind's name.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// Parameter describes one value that users may set.
type Parameter struct {
	Name    string   `json:"name"`
	Kind    Kind     `json:"kind"`
	Choices []string `json:"choices,omitempty"` // of a Choice
	Default string   `json:"default"`
	// Min and Max bound the value, both inclusive, spelled like one; empty: no bound.
	Min string `json:"min,omitempty"`
	Max string `json:"max,omitempty"`
	// When holds the value of the selector for which this entry applies, if one parameter's value decides the meaning
	// of others; empty: always. A parameter has one entry per value if its default depends on it.
	When string `json:"when,omitempty"`
	Doc  string `json:"doc"`
}

// Bounds returns the bounds of p as documents show them: "`64B` to `4GB`".
func (p *Parameter) Bounds() string {
	switch {
	case p.Min != "" && p.Max != "":
		return fmt.Sprintf("`%s` to `%s`", p.Min, p.Max)
	case p.Min != "":
		return fmt.Sprintf("from `%s`", p.Min)
	case p.Max != "":
		return fmt.Sprintf("up to `%s`", p.Max)
	}
	return ""
}

// FieldError reports an error about the setting at a path such as "pfc.xon". Code that read the settings from a file
// adds the position.
type FieldError struct {
	Path string
	Key  bool  // the mistake is the key's presence, whatever its value
	Err  error // continues a sentence after the path: "400KB must be below pfc.xoff 320KB"
}

// Errorf returns a FieldError with this text after the path.
func Errorf(path, format string, args ...any) error {
	return &FieldError{Path: path, Err: fmt.Errorf(format, args...)}
}

// Error returns the path and the error.
func (e *FieldError) Error() string { return e.Path + " " + e.Err.Error() }

// Unwrap returns the underlying error.
func (e *FieldError) Unwrap() error { return e.Err }
