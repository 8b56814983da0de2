package rundir

import (
	"path/filepath"
	"testing"

	"github.com/pausenet/pausenet/internal/files"
)

// TestMarkPartial checks that marking a manifest in place changes its status and nothing else.
func TestMarkPartial(t *testing.T) {
	base := t.TempDir()
	folder, err := files.OpenFolder(base, base)
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	m := &Manifest{Status: StatusRunning, Scenario: "running", Controller: "dcqcn", Seed: 7}
	if err := m.Begin(folder); err != nil {
		t.Fatal(err)
	}
	if err := m.MarkPartial(); err != nil {
		t.Fatal(err)
	}
	if err := m.file.Close(); err != nil {
		t.Fatal(err)
	}
	var got Manifest
	if err := ReadJSON(filepath.Join(base, ManifestFile), &got); err != nil {
		t.Fatal(err)
	}
	if got.Status != StatusPartial || got.Scenario != m.Scenario || got.Controller != m.Controller || got.Seed != m.Seed {
		t.Errorf("the manifest became %+v", got)
	}
}
