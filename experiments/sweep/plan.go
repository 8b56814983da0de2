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

// FileSource is a file that a sweep was read from, as it was.
type FileSource struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
}

// note takes note of a file, each path once.
func (s *Sweep) note(path string, sum [sha256.Size]byte) {
	s.read([]files.Source{{Path: path, SHA256: hex.EncodeToString(sum[:])}})
}

// read takes note of what points were resolved from.
func (s *Sweep) read(sources []files.Source) {
	for i := range sources {
		at, known := slices.BinarySearchFunc(s.Sources, sources[i].Path,
			func(f FileSource, path string) int { return cmp.Compare(f.Path, path) })
		if !known {
			s.Sources = slices.Insert(s.Sources, at, FileSource{sources[i].Path, sources[i].SHA256})
		}
	}
}

// Plan is a sweep with all of its points resolved, and the program that makes them: two folders of one plan are equal.
type Plan struct {
	Version string `json:"version"` // the program's, as Build
	Build   string `json:"build"`
	Plane   string `json:"plane"`
	Command string `json:"command"` // that makes the whole sweep on one machine
	*Sweep
	Points []Point `json:"points"`
}

// Plan is that of the sweep's points, which are all that the runner has.
func (s *Sweep) Plan(r *Runner) *Plan {
	return &Plan{Sweep: s, Points: r.Points, Version: r.Version, Build: r.Build, Plane: r.Plane, Command: r.Command}
}

// Hash tells plans apart.
func (p *Plan) Hash() string {
	data, _ := json.Marshal(p) // of texts and numbers
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// runner makes the plan's points in a folder.
func (p *Plan) runner(directory string) *Runner {
	return &Runner{Points: p.Points, Common: Common{
		Quick: p.Quick, Within: directory, Plane: p.Plane, Version: p.Version, Build: p.Build, Command: p.Command,
	}}
}

// Unlike says how another plan differs from this one, the first difference in what a user knows; empty: they are equal.
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
			return fmt.Sprintf("%s is not the same file: its SHA-256 is %.12s, not %.12s", f.Path, f.SHA256, p.Sources[k].SHA256)
		}
	}
	return fmt.Sprintf("its points are others: %d, not %d, or of other configurations", len(other.Points), len(p.Points))
}
