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

	"github.com/pausenet/pausenet/experiments/rundir"
	"github.com/pausenet/pausenet/internal/files"
)

// Shard is a part of a sweep: of Of parts the Number-th, from 1.
type Shard struct {
	Number int `json:"number"`
	Of     int `json:"of"`
}

// ParseShard reads "2/4". "1+1/4" is the same, for schedulers that count from 0 and start no shell that could add.
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
		return Shard{}, fmt.Errorf("shard %q: of 1 to %d shards", text, mostPoints)
	case i < 1 || i > n:
		return Shard{}, fmt.Errorf("shard %q: shards are numbered from 1 to %d; where a scheduler counts from 0, write $INDEX+1/%d", text, n, n)
	}
	return Shard{i, n}, nil
}

func (s Shard) String() string { return fmt.Sprintf("%d/%d", s.Number, s.Of) }

// Has says whether the k-th point, from 0, is of the shard. Points are dealt in turn: neighbours, which take equally
// long, go to different shards.
func (s Shard) Has(k int) bool { return k%s.Of == s.Number-1 }

// Points are those of the shard.
func (s Shard) Points(all []Point) []Point {
	var own []Point
	for k := range all {
		if s.Has(k) {
			own = append(own, all[k])
		}
	}
	return own
}

// ShardFile is in the folder of a shard, and says which it is, and of what.
const ShardFile = "shard.json"

// shardInfo is shard.json.
type shardInfo struct {
	Shard
	Hash string `json:"plan_sha256"` // of the whole sweep's Plan
	Plan *Plan  `json:"plan"`
}

// Begin writes shard.json into the shard's folder. plan is the whole sweep's. A folder of another shard is refused.
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
		return nil, &rundir.FileError{Path: path, Err: errors.New("it has been changed: make the shard again")}
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
			return nil, &rundir.FileError{Path: path, Err: fmt.Errorf("point %q is no folder's name: make the shard again",
				p.Name())}
		}
	}
	return in, nil
}

// part is a shard's folder.
type part struct {
	directory string
	*shardInfo
}

// Merged is a sweep put together from shards.
type Merged struct {
	Plan  *Plan
	parts []part // by number
}

// Shards reads shards' folders, all of one sweep and each there once; an error says which are not and what to do.
func Shards(directories []string) (*Merged, error) {
	var m Merged
	var errs []error
	var first string // the first shard's folder
	for _, directory := range directories {
		in, err := readShard(directory)
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%s: no %s in it: name the folders that pausenet sweep --shard wrote", directory, ShardFile)
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
			errs = append(errs, fmt.Errorf("%s is not of the sweep of %s: %s: make the shard again with the same program and files", directory, first, unlike))
		case in.Of != len(m.parts):
			errs = append(errs, fmt.Errorf("%s is shard %s, and %s is one of %d: make all of them again with one number",
				directory, in.Shard, first, len(m.parts)))
		case m.parts[in.Number-1].shardInfo != nil:
			errs = append(errs, fmt.Errorf("shard %s is there twice, in %s and in %s: leave one of them out", in.Shard,
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
		return nil, fmt.Errorf("no folder of shard %s: name it, or make it with\n  %s --shard %s",
			strings.Join(missing, ", "), m.Plan.Command, missing[0])
	}
	return &m, nil
}
