package results

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/pausenet/pausenet/experiments/results/rundir"
)

// Overwritten returns how the results in a run's folder differ from those of the run that would replace them, one line
// for each difference. It returns nothing if they do not differ, if there are none, or if the earlier run was killed.
// own returns the manifest of the new run; it is called only if there is one to compare with.
func Overwritten(folder string, own func() (*rundir.Manifest, error)) ([]string, error) {
	manifest := filepath.Join(folder, rundir.ManifestFile)
	if !isRegular(manifest) {
		if name := firstResult(folder); name != "" {
			return []string{fmt.Sprintf("there is %s but no %s, which would say what made it", name, rundir.ManifestFile)}, nil
		}
		return nil, nil
	}
	var old rundir.Manifest
	if err := rundir.ReadJSON(manifest, &old); err != nil {
		return []string{err.Error()}, nil
	}
	if old.Status == rundir.StatusRunning && !isRegular(filepath.Join(folder, rundir.SummaryFile)) {
		return nil, nil
	}
	m, err := own()
	if err != nil || m.SameAs(&old) {
		return nil, err
	}
	return Differences(&old, m), nil
}

// isRegular reports whether a regular file exists at a path.
func isRegular(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode().IsRegular()
}

// firstResult returns the name of a results file in a folder; empty: there is none.
func firstResult(folder string) string {
	for _, name := range rundir.Files {
		if isRegular(filepath.Join(folder, name)) {
			return name
		}
	}
	return ""
}
