package observe

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/experiments/results/rundir"
	"github.com/pausenet/pausenet/experiments/runner"
)

// busyFabric keeps enough ports busy for several workers, with a link that goes down, and samples of everything.
const busyFabric = `
name: busy
topology: {rate: 40Gbps, delay: 1us, leafspine: {spines: 4, leaves: 8, hosts_per_leaf: 8}}
duration: 300us
controllers: [dcqcn]
sample: {interval: 10us}
workloads:
  - {tag: all, permutation: {size: 200KB}}
  - {tag: burst, incast: {degree: 50, size: 100KB, interval: 20us, events: 4}}
faults:
  - {name: cut, link: "leaf0:spine0", at: 50us, for: 100us, down: true, reroute: 20us}
`

// TestProcessorsChangeNoFile checks that a run's files are equal, byte for byte, on any number of processors, except
// for wall-clock times.
func TestProcessorsChangeNoFile(t *testing.T) {
	s := parse(t, busyFabric)
	var want map[string]string
	for _, processors := range []int{1, 2, 3, 8, 64} {
		o := run(t, s, "dcqcn", runner.Options{Observers: []runner.NewObserver{Why}, Processors: processors})
		if o.Summary.PFC.Pauses == 0 {
			t.Fatal("no PAUSE: the test tests little")
		}
		got := timeless(t, o.dir)
		if want == nil {
			want = got
		}
		if len(got) < 8 || len(got) != len(want) {
			t.Errorf("%d files, %d of one processor", len(got), len(want))
		}
		for name, content := range got {
			if content != want[name] {
				t.Errorf("%d processors: %s is another", processors, name)
			}
		}
	}
}

// timeless returns a run's files without wall-clock times.
func timeless(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == rundir.SumsFile { // which tells of summary.json, and that of speed
			return err
		}
		data, err := os.ReadFile(path)
		if strings.HasSuffix(path, ".json") {
			var object map[string]any
			if err := json.Unmarshal(data, &object); err != nil {
				t.Errorf("%s: %v", path, err)
			}
			for _, key := range []string{"speed"} {
				delete(object, key)
			}
			data, _ = json.Marshal(object)
		}
		files[d.Name()] = string(bytes.TrimSpace(data))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
