package sweep

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/internal/lists"
	"github.com/pausenet/pausenet/internal/yamlspec"
)

// overwritten reports parameters without effect because a later one sets the same values, in whatever spelling:
// "flows.burst.size" and "flows.0.size" can be the same.
func (s *Sweep) overwritten() error {
	if len(s.Parameters) < 2 {
		return nil
	}
	for _, scenario := range s.Scenarios {
		if err := s.overwrittenIn(scenario); err != nil {
			return err
		}
	}
	return nil
}

func (s *Sweep) overwrittenIn(loaded string) error {
	data, err := scenario.BuiltinSource(loaded)
	if err != nil {
		if data, err = files.Read(loaded, yamlspec.SpecFile); err != nil {
			return err
		}
	}
	root := new(yamlspec.Report).Parse(loaded, data)
	if root == nil {
		return nil // its points report the error
	}
	paths := make([][]string, len(s.Parameters))
	for i, p := range s.Parameters {
		root = scenario.ReachTopology(root, filepath.Dir(loaded), p.Path)
		paths[i] = root.Paths(p.Path)
	}
	for i, p := range s.Parameters {
		for k := i + 1; k < len(s.Parameters); k++ {
			within := func(path string) bool {
				return slices.ContainsFunc(paths[k], func(other string) bool { return strings.HasPrefix(path+".", other+".") })
			}
			if len(paths[i]) == 0 || slices.ContainsFunc(paths[i], func(path string) bool { return !within(path) }) {
				continue
			}
			err := fmt.Errorf("parameter %s has no effect: the later parameter %s sets the same value (%s); remove one", p.Path,
				s.Parameters[k].Path,
				paths[i][0])
			if p.key == nil {
				return err
			}
			return s.mistakes([]error{&positionError{p.key, err}})
		}
	}
	return nil
}

// nameDuplicates sets SameAs for each point that is the same run as an earlier one.
func nameDuplicates(points []Point) {
	first := map[string]int{}
	for i := range points {
		if k, known := first[points[i].Hash]; known {
			points[i].SameAs = points[k].Name()
		} else {
			first[points[i].Hash] = i
		}
	}
}

// Duplicates returns a line for each point that is the same run as an earlier one.
func Duplicates(points []Point) []string {
	var same []string
	for i := range points {
		if p := &points[i]; p.SameAs != "" {
			same = append(same, fmt.Sprintf("%s is the same run as %s", p.Name(), p.SameAs))
		}
	}
	return same
}

// Idle returns the paths of parameters without effect: points that differ only in the parameter's value have equal
// fingerprints.
func (s *Sweep) Idle(points []Point, outcomes []Outcome) []string {
	var idle []string
	for k, parameter := range s.Varying() {
		if parameter.Path == scenarioPath {
			continue
		}
		compared, differ, last := false, false, map[string]string{}
		for i := range points {
			p, fingerprint := &points[i], outcomes[i].Fingerprint
			if fingerprint == "" {
				continue
			}
			others := slices.Clone(p.Values)
			others[k] = ""
			key := fmt.Sprintf("%s %q %d", p.Controller, others, p.Seed)
			other, known := last[key]
			last[key] = fingerprint
			compared, differ = compared || known, differ || known && other != fingerprint
		}
		if compared && !differ {
			idle = append(idle, parameter.Path)
		}
	}
	return idle
}

// Warnings returns each warning of a sweep's points once. It names the points with the warning, unless all have it.
func Warnings(points []Point) []string {
	var texts []string
	of := map[string][]string{} // the points with this warning
	for i := range points {
		for _, text := range points[i].Warnings {
			if of[text] == nil {
				texts = append(texts, text)
			}
			of[text] = append(of[text], points[i].Name())
		}
	}
	for i, text := range texts {
		if names := of[text]; len(names) < len(points) {
			texts[i] = fmt.Sprintf("%d of %d points (%s): %s", len(names), len(points), lists.Few(names), text)
		}
	}
	return texts
}
