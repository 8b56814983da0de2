package settings

import (
	"errors"
	"strings"

	"github.com/pausenet/pausenet/internal/schema"
	"github.com/pausenet/pausenet/internal/yamlspec"
)

// Setting is one row of a Table.
type Setting struct {
	// Name is the path of the key: "pfc.xoff". Default is how documents tell it; empty: as the defaults' field has it.
	schema.Parameter
	// Word may stand in the place of a number, and Means is the number in the field then: auto, dynamic.
	Word  string
	Means int64
	// Zero is what to do instead of writing 0, where 0 means nothing: "write auto for the least that fits".
	Zero string
	// Unset says that the field's zero value stands for what is not given: it is in bounds, and views leave it out.
	Unset bool
	// Live says that the key can be changed while a fabric works.
	Live bool
	// View is the field of views for programs, if not the key's last word with its unit: "mark_red". From "/" on it is at the top.
	View string
	// Resolved is what views have in the place of the field: what it comes to.
	Resolved func() any

	value value
}

// value is what a Setting is bound to.
type value interface {
	// decode reads v into the field. What is wrong it reports, and leaves the field as it is.
	decode(v *yamlspec.Value, s *Setting)
	check(s *Setting) error // says whether the field is out of bounds
	text() string           // as scenario files write it; empty: it stands for what they leave out
	json() any
	zero() bool
	choices() []string
}

// Table is rows, in the order in which views have them. The row of a Group stands before those in it.
type Table []Setting

// Find is the row of a key, nil if there is none.
func (t Table) Find(name string) *Setting {
	for i := range t {
		if t[i].Name == name {
			return &t[i]
		}
	}
	return nil
}

// Within are the rows of a group, as a table of their own. Their names stay.
func (t Table) Within(group string) (rows Table) {
	for _, s := range t {
		if s.group() == group {
			rows = append(rows, s)
		}
	}
	return rows
}

// Live are the keys that can be changed while a fabric works.
func (t Table) Live() (names []string) {
	for i := range t {
		if t[i].Live {
			names = append(names, t[i].Name)
		}
	}
	return names
}

// Check says what is out of bounds, as joined FieldErrors.
func (t Table) Check() error {
	var errs []error
	for i := range t {
		errs = append(errs, t[i].value.check(&t[i]))
	}
	return errors.Join(errs...)
}

// Differ are the keys whose values differ from another's, a table of the same rows.
func (t Table) Differ(from Table) (rows []*Setting) {
	for i := range t {
		if t[i].Text() != from[i].Text() {
			rows = append(rows, &t[i])
		}
	}
	return rows
}

// Text is the field as scenario files write it.
func (s *Setting) Text() string {
	if n, ok := s.value.(interface{ means() int64 }); ok && s.Word != "" && n.means() == s.Means {
		return s.Word
	}
	return s.value.text()
}

// Words are the words that a Choice or a Flag takes.
func (s *Setting) Words() []string { return s.value.choices() }

// last is the last word of a key's path.
func (s *Setting) last() string { return s.Name[strings.LastIndexByte(s.Name, '.')+1:] }

// group is the path that a key is in, "" for none.
func (s *Setting) group() string { return s.Name[:max(0, strings.LastIndexByte(s.Name, '.'))] }
