package keys

import (
	"errors"
	"strings"

	"github.com/pausenet/pausenet/internal/yamlspec"
)

// Decode reads v, a mapping of a user's file, into the table's variables, and reports mistakes. It does not change the
// variables of absent keys. It returns the mapping, which has the positions of keys and values.
func (t Table) Decode(v *yamlspec.Value) *yamlspec.Mapping {
	m := v.Mapping()
	t.Read(m)
	m.Done()
	return m
}

// Read does the same for a mapping that may have other keys, which the caller reads.
func (t Table) Read(m *yamlspec.Mapping) { t.read(m, t.path()) }

// path returns the path that all rows share: that of a group.
func (t Table) path() string {
	if group := t[0].Group(); group != "" {
		return group + "."
	}
	return ""
}

// read reads the keys below a path, and those of the groups there.
func (t Table) read(m *yamlspec.Mapping, path string) {
	for i := range t {
		k := &t[i]
		key, here := strings.CutPrefix(k.Name, path)
		if !here || strings.Contains(key, ".") {
			continue
		}
		get := m.Get
		if k.Required {
			get = m.Need
		}
		v := get(key)
		g, group := k.Value.(*Group)
		if group && g.Short != "" && !v.IsMapping() {
			k = t.Find(k.Name + "." + g.Short)
			group = false
		}
		if group && !g.fits(v) {
			continue
		}
		k.Value.decode(v, k)
		if group && k.Text() != off {
			inner := v.Mapping()
			t.read(inner, k.Name+".")
			inner.Done()
		}
	}
}

// fits reports a value that is not a mapping like the group's example, and returns false.
func (g *Group) fits(v *yamlspec.Value) bool {
	switch {
	case g.Example == "" || v == nil:
	case !v.IsMapping():
		v.Errorf("expected a mapping such as %s", g.Example)
		return false
	case v.Has("true") || v.Has("false"):
		v.Errorf("a program that goes by YAML 1.1 has read on and off as true and false: write them in quotes, as in %s",
			strings.NewReplacer("on:", `"on":`, "off:", `"off":`).Replace(g.Example))
		return false
	}
	return true
}

// Set reads the value of one key, written as in a scenario's file, into its variable. The error is the first mistake.
func (t Table) Set(name, text string) error {
	report := new(yamlspec.Report)
	t.Decode(report.Parse(name, []byte("{}")).Override(name + "=" + text))
	if problems := yamlspec.Problems(nil); errors.As(report.Err(), &problems) {
		return errors.New(problems[0].Message)
	}
	return nil
}

// Read reads the value of one key that is no group, for code that gets the keys of a mapping itself.
func (k *Key) Read(v *yamlspec.Value) { k.Value.decode(v, k) }
