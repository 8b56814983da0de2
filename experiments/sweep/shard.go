package sweep

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/pausenet/pausenet/experiments/results/rundir"
	"github.com/pausenet/pausenet/internal/files"
)

// Shard identifies the Number-th part, from 1, of Of parts of a sweep.
type Shard struct {
	Number int `json:"number"`
	Of     int `json:"of"`
}

// ParseShard parses "2/4", or "1+1/4" for the same: schedulers that count from 0 and start no shell cannot add.
func ParseShard(text string) (Shard, error) {
	number, of, found := strings.Cut(text, "/")
	from0, plus1 := strings.CutSuffix(number, "+1")
	i, err := strconv.Atoi(from0)
	if plus1 {
		i++
	}
	n, errOf := strconv.Atoi(of)
	switch {
	case !found || err != nil || errOf != nil:
		return Shard{}, fmt.Errorf("shard %q: write i/n, such as 1/4 for the first of four", text)
	case n < 1 || n > mostPoints:
		return Shard{}, fmt.Errorf("shard %q: the number of shards must be from 1 to %d", text, mostPoints)
	case i < 1 || i > n:
		return Shard{}, fmt.Errorf("shard %q: the shard's number must be from 1 to %d; if a scheduler counts from 0, "+
			"write $INDEX+1/%d", text, n, n)
	}
	return Shard{i, n}, nil
}

func (s Shard) String() string { return fmt.Sprintf("%d/%d", s.Number, s.Of) }

// Has reports whether the k-th point, from 0, belongs to the shard. Consecutive points, which take equally long, go to
// different shards.
func (s Shard) Has(k int) bool { return k%s.Of == s.Number-1 }

// Points returns the points of the shard.
func (s Shard) Points(all []Point) []Point {
	var own []Point
	for k := range all {
		if s.Has(k) {
			own = append(own, all[k])
		}
	}
	return own
}

// ShardFile names the file that identifies a shard in its folder.
const ShardFile = "shard.json"

// shardInfo holds the content of shard.json.
type shardInfo struct {
	Shard
	Hash string `json:"plan_sha256"` // of the whole sweep's Plan
	Plan *Plan  `json:"plan"`
}

// Begin writes shard.json into the shard's folder. plan is the whole sweep's. It fails for a folder of another shard.
func (s Shard) Begin(directory string, plan *Plan) error {
	switch other, err := readShard(directory); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case other.Shard != s:
		return fmt.Errorf("%s is the folder of shard %s: choose another with --out", directory, other.Shard)
	}
	folder, err := files.OpenFolder(directory, directory)
	if err != nil {
		return err
	}
	defer folder.Close()
	return rundir.WriteJSON(folder, ShardFile, &shardInfo{Shard: s, Hash: plan.Hash(), Plan: plan})
}

func readShard(directory string) (*shardInfo, error) {
	path := filepath.Join(directory, ShardFile)
	if _, err := os.Lstat(path); err != nil {
		return nil, err
	}
	in := &shardInfo{Plan: &Plan{Sweep: new(Sweep)}}
	if err := rundir.ReadJSON(path, in); err != nil {
		return nil, err
	}
	if in.Plan == nil || in.Plan.Sweep == nil || in.Plan.Hash() != in.Hash || len(in.Plan.Points) == 0 ||
		in.Of < 1 || in.Of > mostPoints || in.Number < 1 || in.Number > in.Of {
		return nil, &rundir.FileError{Path: path, Err: errors.New("the file has changed: run the shard again")}
	}
	varying := in.Plan.Sweep.Varying()
	for i := range in.Plan.Points {
		p := &in.Plan.Points[i]
		fits := len(p.Values) == len(varying)
		for k := 0; fits && k < len(varying); k++ {
			fits = slices.Contains(varying[k].Values, p.Values[k])
		}
		if !fits {
			return nil, &rundir.FileError{Path: path, Err: fmt.Errorf(
				"point %q has other values than the sweep: make the shard again", p.Name())}
		}
		if !filepath.IsLocal(p.Folder) || !filepath.IsLocal(p.Controller) ||
			strings.ContainsAny(p.Folder+p.Controller, `/\`) {
			return nil, &rundir.FileError{Path: path, Err: fmt.Errorf(
				"point %q is not a valid folder name: make the shard again",
				p.Name())}
		}
	}
	return in, nil
}

// part represents a shard's folder.
type part struct {
	directory string
	*shardInfo
}

// Merged represents a sweep made of shards.
type Merged struct {
	Plan  *Plan
	parts []part // by number
}

// Shards reads shards' folders. It fails if they do not belong to one sweep or if a shard is missing or repeated; the
// error names the remedy.
func Shards(directories []string) (*Merged, error) {
	var m Merged
	var errs []error
	var first string // the first shard's folder
	for _, directory := range directories {
		in, err := readShard(directory)
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%s has no %s: name the folders that pausenet sweep --shard wrote", directory, ShardFile)
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if m.Plan == nil {
			first, m.Plan, m.parts = directory, in.Plan, make([]part, in.Of)
		}
		unlike := m.Plan.Unlike(in.Plan)
		switch {
		case unlike != "":
			errs = append(errs, fmt.Errorf("%s and %s belong to different sweeps: %s: make the shard again with the same "+
				"program "+
				"and files", directory, first, unlike))
		case in.Of != len(m.parts):
			errs = append(errs, fmt.Errorf("%s is shard %s, but %s is one of %d: make all shards again with one number of "+
				"shards",
				directory, in.Shard, first, len(m.parts)))
		case m.parts[in.Number-1].shardInfo != nil:
			errs = append(errs, fmt.Errorf("shard %s is listed twice, in %s and in %s: remove one", in.Shard,
				m.parts[in.Number-1].directory, directory))
		default:
			m.parts[in.Number-1] = part{directory, in}
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	var missing []string
	for i := range m.parts {
		if m.parts[i].shardInfo == nil {
			missing = append(missing, Shard{i + 1, len(m.parts)}.String())
		}
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("shard %s is missing: name its folder, or make it with\n  %s --shard %s",
			strings.Join(missing, ", "), m.Plan.Command, missing[0])
	}
	return &m, nil
}
