package sweep

import (
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/pausenet/pausenet/experiments/results"
	"github.com/pausenet/pausenet/experiments/results/rundir"
)

// mostCompared limits the points that are compared with existing results to list differences.
const mostCompared = 20

// Overwrites returns a rundir.OverwriteError if points would replace results of another or an unknown configuration.
// Results of another program version are replaced without an error.
func (r *Runner) Overwrites() error {
	e := new(rundir.OverwriteError)
	found := 0
	for i := range r.Points {
		job := r.Job(i)
		if _, err := job.Result(); err == nil { // the result is kept
			continue
		}
		why, err := results.Overwritten(job.Directory, func() (*rundir.Manifest, error) {
			if r.manifest != nil {
				return r.manifest(i)
			}
			return job.manifest()
		})
		if r.manifest != nil && errors.Is(err, fs.ErrNotExist) { // the point will not be merged
			continue
		}
		if err != nil {
			return err
		}
		if len(why) == 0 {
			continue
		}
		e.Add(r.Within, filepath.ToSlash(filepath.Join(r.Points[i].Folder, job.Controller)), why)
		if found++; found == mostCompared {
			break
		}
	}
	return e.OrNil()
}

// manifest returns the manifest of the job's run.
func (j *Job) manifest() (*rundir.Manifest, error) {
	s, err := j.load()
	if err != nil {
		return nil, err
	}
	return rundir.ManifestOf(s, j.Controller, s.Seed, &rundir.Program{Version: j.Version, Build: j.Build, Sets: j.Sets})
}
