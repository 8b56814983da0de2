package sweep

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/pausenet/pausenet/experiments/results/rundir"
	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/internal/lists"
	"github.com/pausenet/pausenet/internal/shutdown"
)

// Check returns an error that names each point whose shard's folder is incomplete or was changed after the run. With
// partial, missing points are no error.
func (m *Merged) Check(partial bool) error {
	var errs []error
	of := map[string]Outcome{} // by name, of points with duplicates
	for _, part := range m.parts {
		r := part.Plan.runner(part.directory)
		var missing []string
		for k := range r.Points {
			if !part.Has(k) {
				continue
			}
			p, job := &r.Points[k], r.Job(k)
			if err := files.NoLink(part.directory, job.Directory); err != nil {
				errs = append(errs, err)
				continue
			}
			o, err := job.Result()
			if err != nil {
				missing = append(missing, p.Name())
				continue
			}
			controller, _, _ := strings.Cut(job.Controller, "+") // a variant's suffix follows +
			// a controller file is stored beside the run's
			if err := rundir.CheckOnly(job.Directory, controller); err != nil {
				errs = append(errs, err)
				continue
			}
			of[p.Name()] = o
		}
		if len(missing) > 0 && !partial {
			errs = append(errs, fmt.Errorf("shard %s in %s has not made %d of its points (%s): make them with\n"+
				"  %s --shard %s --out %s\nor merge the others with --partial",
				part.Shard, part.directory, len(missing), lists.Few(missing), m.Plan.Command, part.Shard, part.directory))
		}
	}
	for i := range m.Plan.Points {
		p := &m.Plan.Points[i]
		own, made := of[p.Name()]
		other, there := of[p.SameAs]
		if made && there && own.Fingerprint != other.Fingerprint {
			errs = append(errs, fmt.Errorf("%s and %s are the same run but have different fingerprints, %s and %s: "+
				"one of the machines is faulty; find out which with pausenet rerun",
				p.Name(), p.SameAs, own.Fingerprint, other.Fingerprint))
		}
	}
	return errors.Join(errs...)
}

// Runner returns a runner with the points of the whole sweep in a folder. It makes none of them.
func (m *Merged) Runner(directory string) *Runner {
	r := m.Plan.runner(directory)
	r.manifest = func(k int) (*rundir.Manifest, error) {
		for _, part := range m.parts {
			if part.Has(k) {
				own := new(rundir.Manifest)
				return own, rundir.ReadJSON(filepath.Join(part.Plan.runner(part.directory).Job(k).Directory, rundir.ManifestFile),
					own)
			}
		}
		return nil, fs.ErrNotExist
	}
	return r
}

// Merge copies the points into a folder and returns their outcomes. It does not change the shards. If ctx is
// cancelled, it skips the remaining points.
func (m *Merged) Merge(ctx context.Context, directory string) ([]Outcome, error) {
	all := m.Runner(directory)
	outcomes := make([]Outcome, len(all.Points))
	for _, part := range m.parts {
		from := part.Plan.runner(part.directory)
		times, err := readTimes(part.directory)
		if err != nil {
			return nil, err
		}
		for k := range from.Points {
			if !part.Has(k) {
				continue
			}
			if ctx.Err() != nil {
				outcomes[k].State = Interrupted
				continue
			}
			job := from.Job(k)
			o, err := job.Result()
			if err != nil {
				outcomes[k] = Outcome{State: Failed, Err: fmt.Errorf("shard %s has not made it", part.Shard)}
				continue
			}
			if err := CopyRun(job.Directory, directory, filepath.Join(from.Points[k].Folder, job.Controller)); err != nil {
				return nil, err
			}
			o.State = Done
			if t, known := times[from.Points[k].Name()]; known {
				o.Wall, o.MadeBy = t.wall, t.by
			}
			outcomes[k] = o
		}
	}
	return outcomes, nil
}

// CopyRun copies a run's folder to a path below another folder, with the manifest last, so that an incomplete copy
// cannot be mistaken for a run.
func CopyRun(from, within, below string) error {
	to, err := files.OpenFolder(within, filepath.Join(within, below))
	if err != nil {
		return err
	}
	defer to.Close()
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	if err := to.Remove(append([]string{rundir.ManifestFile}, rundir.Files...)...); err != nil {
		return err
	}
	copied := false
	for _, e := range entries {
		if !e.Type().IsRegular() || !rundir.IsFile(e.Name()) {
			continue
		}
		if e.Name() == rundir.ManifestFile {
			copied = true
			continue
		}
		if err := copyFile(filepath.Join(from, e.Name()), to, e.Name()); err != nil {
			return err
		}
	}
	if !copied {
		return &rundir.FileError{Path: from, Err: errors.New("no " + rundir.ManifestFile)}
	}
	return copyFile(filepath.Join(from, rundir.ManifestFile), to, rundir.ManifestFile)
}

// resultFile limits any file of a run.
var resultFile = files.Kind{Name: "a file of results", Most: 1 << 40, Plain: true}

func copyFile(path string, to *files.Folder, name string) error {
	in, err := files.Open(path, resultFile)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := to.Create(name)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	// once both are on the disk, other files that a crash damages are detected
	if name == rundir.SumsFile || name == rundir.ManifestFile {
		err = errors.Join(err, out.Sync())
	}
	shutdown.Alive()
	if err = errors.Join(err, out.Close()); err != nil {
		return fmt.Errorf("cannot copy %s: %w", path, err)
	}
	return nil
}
