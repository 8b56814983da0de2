package sweep

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/pausenet/pausenet/internal/files"
)

// FileSource describes a file from which a sweep was read, with its hash.
type FileSource struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
}

// note records a file, each path once.
func (s *Sweep) note(path string, sum [sha256.Size]byte) {
	s.read([]files.Source{{Path: path, SHA256: hex.EncodeToString(sum[:])}})
}

// read records the files from which points were resolved.
func (s *Sweep) read(sources []files.Source) {
	for i := range sources {
		at, known := slices.BinarySearchFunc(s.Sources, sources[i].Path,
			func(f FileSource, path string) int { return cmp.Compare(f.Path, path) })
		if !known {
			s.Sources = slices.Insert(s.Sources, at, FileSource{sources[i].Path, sources[i].SHA256})
		}
	}
}

// Plan describes a sweep with all points resolved, and the program that makes them. Two folders of one plan are equal.
type Plan struct {
	Version string `json:"version"` // of the program, like Build
	Build   string `json:"build"`
	Plane   string `json:"plane"`
	Command string `json:"command"` // makes the whole sweep on one machine
	*Sweep
	Points []Point `json:"points"`
}

// Plan returns the plan of the sweep's points, all of which the runner must have.
func (s *Sweep) Plan(r *Runner) *Plan {
	return &Plan{Sweep: s, Points: r.Points, Version: r.Version, Build: r.Build, Plane: r.Plane, Command: r.Command}
}

// Hash returns a hash that identifies the plan.
func (p *Plan) Hash() string {
	data, _ := json.Marshal(p) // only texts and numbers, so it cannot fail
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// runner returns a runner for the plan's points in a folder.
func (p *Plan) runner(directory string) *Runner {
	return &Runner{Points: p.Points, Common: Common{
		Quick: p.Quick, Within: directory, Plane: p.Plane, Version: p.Version, Build: p.Build, Command: p.Command,
	}}
}

// Unlike returns the first difference of another plan in terms that a user knows; empty: the plans are equal.
func (p *Plan) Unlike(other *Plan) string {
	if p.Hash() == other.Hash() {
		return ""
	}
	for _, field := range []struct{ name, own, others string }{
		{"pausenet's version", p.Version, other.Version},
		{"pausenet's build", p.Build, other.Build},
		{"the plane", p.Plane, other.Plane},
		{"the sweep", p.Name, other.Name},
		{"the command", p.Command, other.Command},
	} {
		if field.own != field.others {
			return fmt.Sprintf("%s is %q, not %q", field.name, field.others, field.own)
		}
	}
	for _, f := range other.Sources {
		if k := slices.IndexFunc(p.Sources, func(own FileSource) bool { return own.Path == f.Path }); k >= 0 &&
			p.Sources[k] != f {
			return fmt.Sprintf("%s has changed: its SHA-256 is %.12s, not %.12s", f.Path, f.SHA256, p.Sources[k].SHA256)
		}
	}
	return fmt.Sprintf("its points differ: %d instead of %d, or other configurations", len(other.Points), len(p.Points))
}
