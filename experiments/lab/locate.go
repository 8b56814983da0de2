package lab

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/pausenet/pausenet/internal/lazy"
)

// Limits of the search for submitted files.
const (
	mostEntries = 2000
	mostDepth   = 4 // folders in folders
)

// candidate is a file that may be a submitted one.
type candidate struct {
	path  string // from its folder
	whole string
	place int // folder, then depth
	other bool
	copy  int // number of a copy, as in control (2).star
}

// copies matches what browsers and systems add to the names of copies.
var copies = lazy.Regexp(`(?i)^(.*?)(?: ?\((\d+)\)|-(\d+)| - copy| copy)$`)

// matches reports whether a file's name stands for another: equal but for case, or that of a copy.
func matches(name, of string) (copy int, ok bool) {
	if strings.EqualFold(name, of) {
		return 0, true
	}
	end := filepath.Ext(name)
	m := copies().FindStringSubmatch(strings.TrimSuffix(name, end))
	if m == nil || !strings.EqualFold(m[1]+end, of) {
		return 0, false
	}
	copy, _ = strconv.Atoi(cmp.Or(m[2], m[3], "1"))
	return copy, true
}

// locate finds the files that an exercise names in folders: by their names, or else by similar names and in subfolders.
// It opens none. The notes say what was taken for what.
func (e *Exercise) locate(folders []string) (found map[string]string, notes []string) {
	wanted := slices.Concat(e.plainSubmitted(), e.Pictures, e.Outputs)
	if e.predicts() {
		wanted = append(slices.Clip(wanted), LockedFile)
	}
	for _, names := range e.Controllers {
		wanted = append(slices.Clip(wanted), names...)
	}
	candidates := map[string][]candidate{}
	for i, folder := range folders {
		entries := 0
		_ = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
			entries++
			inside, failed := filepath.Rel(folder, path)
			depth := strings.Count(inside, string(filepath.Separator))
			switch {
			case err != nil || failed != nil || entries > mostEntries:
				return fs.SkipAll
			case path != folder && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "__MACOSX" ||
				inside == resultFolder):
				if entry.IsDir() {
					return fs.SkipDir
				}
				return nil
			case entry.IsDir() && depth >= mostDepth:
				return fs.SkipDir
			case entry.IsDir():
				return nil
			}
			for _, name := range wanted {
				if n, ok := matches(entry.Name(), name); ok {
					candidates[name] = append(candidates[name], candidate{
						inside, path, i*(mostDepth+1) + depth, entry.Name() != name, n,
					})
				}
			}
			return nil
		})
	}
	found = map[string]string{}
	for _, name := range wanted {
		all := candidates[name]
		if len(all) == 0 {
			continue
		}
		slices.SortStableFunc(all, func(a, b candidate) int {
			exact := func(c candidate) int {
				if c.other {
					return 1
				}
				return 0
			}
			return cmp.Or(cmp.Compare(a.place, b.place), cmp.Compare(exact(a), exact(b)), cmp.Compare(b.copy, a.copy),
				cmp.Compare(a.path, b.path))
		})
		found[name] = all[0].whole
		if all[0].path != name {
			notes = append(notes, fmt.Sprintf("%s is taken as %s", all[0].path, name))
		}
		for _, c := range all[1:] {
			notes = append(notes, fmt.Sprintf("%s is not graded, as %s is", c.path, all[0].path))
		}
	}
	return found, notes
}

// path returns the path of a submitted file.
func (s *Submission) path(file string) string {
	return cmp.Or(s.paths[file], filepath.Join(s.folder, file))
}

// exists reports whether a submitted file exists.
func (s *Submission) exists(file string) bool {
	_, err := os.Lstat(s.path(file))
	return err == nil || !os.IsNotExist(err)
}
