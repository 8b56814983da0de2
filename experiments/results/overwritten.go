package results

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/pausenet/pausenet/experiments/rundir"
)

// Overwritten says how the results in a run's folder differ from those of a run that would take their place, a line
// each; nothing if they do not, or there are none. Results of the same configuration are as good as the ones that take
// their place, and of a run that was killed there is nothing to show. own is the manifest of that run, and is asked for
// where there is one to compare it with.
func Overwritten(folder string, own func() (*rundir.Manifest, error)) ([]string, error) {
	manifest := filepath.Join(folder, rundir.ManifestFile)
	if !isRegular(manifest) {
		if name := firstResult(folder); name != "" {
			return []string{fmt.Sprintf("there is %s and no %s, which says what made it", name, rundir.ManifestFile)}, nil
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

// isRegular says whether a file is there, and is one.
func isRegular(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode().IsRegular()
}

// firstResult is the name of a file of results that a folder has; empty: it has none.
func firstResult(folder string) string {
	for _, name := range rundir.Files {
		if isRegular(filepath.Join(folder, name)) {
			return name
		}
	}
	return ""
}
