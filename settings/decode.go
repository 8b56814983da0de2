package settings

import (
	"errors"
	"strings"

	"github.com/pausenet/pausenet/internal/schema"
	"github.com/pausenet/pausenet/internal/yamlspec"
)

// Decode reads v, a mapping of a scenario's file, into what the table is bound to. Keys that are not there stay as they are; what is
// wrong is reported where it stands.
func (t Table) Decode(v *yamlspec.Value) { t.decode(v.Mapping(), t.path()) }

// path is the path that all rows have in common: that of a group's rows.
func (t Table) path() string {
	if group := t[0].group(); group != "" {
		return group + "."
	}
	return ""
}

// decode reads the keys below a path, and those of the groups there.
func (t Table) decode(m *yamlspec.Mapping, path string) {
	for i := range t {
		s := &t[i]
		key, here := strings.CutPrefix(s.Name, path)
		if !here || strings.Contains(key, ".") {
			continue
		}
		v := m.Get(key)
		s.value.decode(v, s)
		if s.Kind == schema.Group && s.Text() != off {
			t.decode(v.Mapping(), s.Name+".")
		}
	}
	m.Done()
}

// Set reads one key's value, as a scenario's file writes it, into what the table is bound to. The error is the first mistake in it.
func (t Table) Set(name, text string) error {
	report := new(yamlspec.Report)
	t.Decode(report.Parse(name, []byte("{}")).Override(name + "=" + text))
	if problems := yamlspec.Problems(nil); errors.As(report.Err(), &problems) {
		return errors.New(problems[0].Message)
	}
	return nil
}

// Read is Decode of one key that is not a group, for code that asks for the keys of a mapping itself.
func (s *Setting) Read(v *yamlspec.Value) { s.value.decode(v, s) }
