package rundir

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/pausenet/pausenet/internal/files"
)

// TestLargeTable checks that a table of 2 GB can be read, as a ring of 4096 ranks writes it. The file has no blocks.
func TestLargeTable(t *testing.T) {
	path := filepath.Join(t.TempDir(), Flows.Name)
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 2<<30); err != nil {
		t.Fatal(err)
	}
	f, err := files.Open(path, CSVFile)
	if err != nil {
		t.Fatal(err)
	}
	_ = f.Close()
}
