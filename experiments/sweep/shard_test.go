package sweep

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReadShard checks that a plan whose points and parameters do not fit is refused, even if its hash is correct.
func TestReadShard(t *testing.T) {
	for name, c := range map[string]struct {
		change func(s *shardInfo)
		want   string // empty: it is read
	}{
		"as written":              {func(*shardInfo) {}, ""},
		"more shards than points": {func(s *shardInfo) { s.Of = mostPoints + 1 }, "the file has changed"},
		"no points":               {func(s *shardInfo) { s.Plan.Points = nil }, "the file has changed"},
		"a point without values":  {func(s *shardInfo) { s.Plan.Points[1].Values = nil }, "other values than the sweep"},
		"a value of no parameter": {func(s *shardInfo) { s.Plan.Points[1].Values[0] = "7" }, "other values than the sweep"},
		"one more parameter": {func(s *shardInfo) {
			s.Plan.Sweep.Parameters = append(s.Plan.Sweep.Parameters, s.Plan.Sweep.Parameters[0])
		}, "other values than the sweep"},
		"a parameter of one value": {
			func(s *shardInfo) { s.Plan.Sweep.Parameters[0].Values = []string{"1"} },
			"other values than the sweep",
		},
		"a folder elsewhere": {func(s *shardInfo) { s.Plan.Points[0].Folder = "../x" }, "is not a valid folder name"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &shardInfo{Shard: Shard{Number: 1, Of: 2}, Plan: &Plan{
				Sweep: &Sweep{Scenarios: []string{"a"}, Parameters: []Parameter{{Path: "x", Values: []string{"1", "2"}}}},
				Points: []Point{
					{Folder: "x=1", Controller: "none", Values: []string{"1"}},
					{Folder: "x=2", Controller: "none", Values: []string{"2"}},
				},
			}}
			c.change(s)
			s.Hash = s.Plan.Hash()
			data, err := json.Marshal(s)
			if err != nil {
				t.Fatal(err)
			}
			folder := t.TempDir()
			if err := os.WriteFile(filepath.Join(folder, ShardFile),
				[]byte(strings.Replace(string(data), "{", `{"schema": 1, `, 1)), 0o600); err != nil {
				t.Fatal(err)
			}
			switch _, err := readShard(folder); {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}
