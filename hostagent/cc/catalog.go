package cc

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Catalog resolves names of congestion controls: those of the registry, and additional ones. The zero value has only
// the registry's. A Catalog is a value: With returns another. So runs with different catalogs do not affect each other.
type Catalog struct{ more []*Spec }

// With returns the catalog with an additional controller, made by Define. It returns an error if another controller
// has the name; an equal file of the same name counts as the same.
func (c Catalog) With(spec *Spec) (Catalog, error) {
	folded := foldName(spec.Name)
	if find(registry, folded) != nil {
		return c, fmt.Errorf("%q is a built-in congestion controller (choose another name)", spec.Name)
	}
	if other := find(c.more, folded); other != nil {
		if spec.File != nil && other.File != nil && spec.File.SHA256 == other.File.SHA256 {
			return c, nil
		}
		return c, fmt.Errorf("two congestion controllers are named %s, but results are stored by name (rename one)",
			spec.Name)
	}
	return Catalog{append(slices.Clip(c.more), spec)}, nil
}

// Register adds a congestion control of another module, made by Define, to the registry. The whole program can then use
// it like a built-in one. Call it from an init function, before any name is looked up; it is not safe for concurrent
// use. It panics if the name is taken or invalid, or if the Spec is incomplete: each of these is a bug in the program.
func Register(spec *Spec) {
	if err := spec.check(); err != nil {
		panic(fmt.Sprintf("cc.Register: %v", err))
	}
	i, taken := slices.BinarySearchFunc(registry, spec.Name,
		func(s *Spec, name string) int { return strings.Compare(s.Name, name) })
	if taken || find(registry, foldName(spec.Name)) != nil {
		panic(fmt.Sprintf("cc.Register: duplicate congestion controller %s (choose another name)", spec.Name))
	}
	registry = slices.Insert(registry, i, spec)
	if !spec.HasWindow {
		windowedSpecs = append(windowedSpecs, withWindow(spec))
	}
}

// specName matches the valid names of congestion controls. A name also names a folder of results, and occurs in lists
// and paths.
var specName = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)

// check returns an error if a Spec lacks something that registration requires.
func (spec *Spec) check() error {
	switch {
	case spec.New == nil:
		return fmt.Errorf("%q has no New (make it with cc.Define)", spec.Name)
	case !specName.MatchString(spec.Name) || spec.Name == "all":
		return fmt.Errorf("invalid congestion controller name %q: expected lower-case letters, digits and -, starting with "+
			"a letter, and not \"all\"", spec.Name)
	case spec.Summary == "" || spec.Source == "":
		return fmt.Errorf("%s lacks a Summary or a Source, which list --cc shows", spec.Name)
	case spec.Departure == "":
		return fmt.Errorf("%s does not say how a change of the rate affects a departure that is already "+
			"scheduled: set Departure", spec.Name)
	}
	if n := spec.Needs; n.Grants {
		switch {
		case n.INT || n.Timestamps:
			return fmt.Errorf("%s needs grants, and telemetry or timestamps, but a data packet can carry only one of the three",
				spec.Name)
		case !spec.HasWindow:
			return fmt.Errorf("%s needs grants, which limit the bytes in flight: set HasWindow", spec.Name)
		}
	}
	seen := map[string]bool{}
	for i := range spec.Parameters {
		p := &spec.Parameters[i]
		if p.Doc == "" || p.Default == "" || foldName(p.Name) != p.Name || p.Name == "" ||
			(p.Kind == ChoiceKind) != (p.Choices != nil) {
			return fmt.Errorf("%s: parameter %q lacks a Doc, a Default, Choices, or a name of lower-case letters and _",
				spec.Name, p.Name)
		}
		if seen[p.Name+"\n"+p.When] || seen[p.Name+"\n"] {
			return fmt.Errorf("%s: duplicate parameter %s", spec.Name, p.Name)
		}
		seen[p.Name+"\n"+p.When] = true
	}
	return nil
}

// Put returns the catalog with a controller. It replaces one of the same name, such as an earlier version of a file's,
// unless that one is built in.
func (c Catalog) Put(spec *Spec) (Catalog, error) {
	others := slices.DeleteFunc(slices.Clone(c.more), func(s *Spec) bool { return SameName(s.Name, spec.Name) })
	return Catalog{others}.With(spec)
}

// Names returns the names of all controllers: the registry's in ascending order, then the others.
func (c Catalog) Names() []string {
	names := make([]string, 0, len(registry)+len(c.more))
	for _, s := range registry {
		names = append(names, s.Name)
	}
	for _, s := range c.more {
		names = append(names, s.Name)
	}
	return names
}

// Lookup finds a congestion control by name, in lower or upper case. NAME+win is the control NAME limited to a window
// of BDP*R/C, if it has no window itself; NAME may end with +tcd.
func (c Catalog) Lookup(name string) (*Spec, error) {
	folded := foldName(name)
	if s := c.find(folded); s != nil {
		return s, nil
	}
	names := c.Names()
	if plain, ok := strings.CutSuffix(folded, windowSuffix); ok {
		if s := find(windowedSpecs, folded); s != nil {
			return s, nil
		}
		if s := c.find(plain); s != nil {
			if !s.HasWindow {
				return withWindow(s), nil
			}
			return nil, fmt.Errorf("congestion controller %q: %s has its own window (%s may follow %s)",
				name, s.Name, windowSuffix, windowless())
		}
		for _, s := range windowedSpecs {
			names = append(names, s.Name)
		}
	}
	if plain, ok := strings.CutSuffix(folded, tcdSuffix); ok {
		switch {
		case find(windowedSpecs, plain) != nil:
			return nil, fmt.Errorf("congestion controller %q: %s must come before %s", name, tcdSuffix, windowSuffix)
		case c.find(plain) != nil:
			return nil, fmt.Errorf("congestion controller %q: %s may only follow %s", name, tcdSuffix, ternaryNames())
		}
	}
	return nil, fmt.Errorf("unknown congestion controller %q (expected %s)%s",
		name, strings.Join(c.Names(), ", "), didYouMean(folded, names))
}

// find returns the congestion control with a folded name; nil if there is none.
func (c Catalog) find(folded string) *Spec {
	if s := find(registry, folded); s != nil {
		return s
	}
	return find(c.more, folded)
}

// find returns the congestion control with a folded name; nil if there is none.
func find(specs []*Spec, folded string) *Spec {
	for _, s := range specs {
		if foldName(s.Name) == folded {
			return s
		}
	}
	return nil
}
