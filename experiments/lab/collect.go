package lab

import (
	"archive/zip"
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pausenet/pausenet/internal/lazy"
	"github.com/pausenet/pausenet/internal/yamlspec"
)

// Found represents a student's submission in a folder or an archive of submissions.
type Found struct {
	Name    string
	Folders []string  // folders with its files: the submitted one, and those of its archives
	At      time.Time // time of submission, if the platform's export has it
	Late    bool      // the platform's export marks it as late
}

// Names in exports of submissions. Moodle's are from mod/assign/locallib.php, Canvas's from lib/content_zipper.rb;
// Gradescope's export has a folder per submission and a file that says whose it is.
var (
	moodleName = lazy.Regexp(`^(.+)_(\d+)_assignsubmission_(?:file|onlinetext)_?(.*)$`)
	canvasName = lazy.Regexp(`^(.+?)(_LATE)?_(\d+)_(\d+)_(.+)$`)
	// Classroom's Drive folder has the names that students gave: with their own before it, they can be told apart.
	driveName = lazy.Regexp(`^(.+?) - ([^/]+\.(?:star|wasm|yaml|zip))$`)
)

// gradescopeFile says whose the submissions of Gradescope's export are.
const gradescopeFile = "submission_metadata.yml"

// Limits of an archive of submissions.
const (
	mostArchived    = 100_000
	mostArchiveFile = 16 << 20
	archiveEnd      = ".zip"
)

// collector collects the submissions of a class.
type collector struct {
	scratch string
	made    int
	found   []*Found
	keys    []string
	others  []string
}

// Collect returns the submissions in a folder or a zip archive, sorted by name, and the names of other files there. It
// knows a folder or an archive for each student, and the exports of Moodle, Canvas and Gradescope. It extracts archives
// into scratch.
func Collect(submissions, scratch string) (found []Found, others []string, err error) {
	c := &collector{scratch: scratch}
	info, err := os.Stat(submissions)
	if err != nil {
		return nil, nil, err
	}
	folder := submissions
	if !info.IsDir() {
		if folder, err = c.extract(submissions); err != nil {
			return nil, nil, err
		}
		folder = inner(folder)
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, nil, err
	}
	if len(entries) == 1 && entries[0].IsDir() {
		if inside := filepath.Join(folder, entries[0].Name()); isFile(filepath.Join(inside, gradescopeFile)) {
			folder = inside
			if entries, err = os.ReadDir(folder); err != nil {
				return nil, nil, err
			}
		}
	}
	owners := gradescopeOwners(filepath.Join(folder, gradescopeFile))
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), ".") || entry.Name() == "__MACOSX" || entry.Name() == gradescopeFile {
			continue
		}
		if err := c.entry(folder, entry, owners); err != nil {
			return nil, nil, err
		}
	}
	if len(c.found) > mostStudents {
		return nil, nil, fmt.Errorf("%s has %d submissions, but at most %d can be graded at once: split it", submissions,
			len(c.found), mostStudents)
	}
	c.unique()
	for _, f := range c.found {
		found = append(found, *f)
	}
	slices.SortStableFunc(found, func(a, b Found) int { return cmp.Compare(a.Name, b.Name) })
	return found, c.others, nil
}

// inner returns the only folder in a folder if it has nothing but further folders and archives, as an archive of a
// folder does.
func inner(folder string) string {
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) != 1 || !entries[0].IsDir() {
		return folder
	}
	inside := filepath.Join(folder, entries[0].Name())
	within, err := os.ReadDir(inside)
	if err != nil || len(within) == 1 && !within[0].IsDir() || slices.ContainsFunc(within, func(e fs.DirEntry) bool {
		return !e.IsDir() && e.Name() != gradescopeFile && !strings.HasSuffix(e.Name(), archiveEnd) &&
			!moodleName().MatchString(e.Name()) && !canvasName().MatchString(e.Name())
	}) {
		return folder
	}
	return inside
}

// owner is a submitter in Gradescope's export.
type owner struct {
	name, id string
	at       time.Time
}

// gradescopeOwners returns the submitters by folder; nil if the file is missing or cannot be read.
func gradescopeOwners(file string) map[string][]owner {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	root := new(yamlspec.Report).Parse(gradescopeFile, data)
	if root == nil || !root.IsMapping() {
		return nil
	}
	all := map[string][]owner{}
	root.Mapping().All(func(key, v *yamlspec.Value) {
		if !v.IsMapping() {
			return
		}
		at := time.Time{}
		if created := child(v, ":created_at"); created != nil {
			for _, layout := range []string{
				time.RFC3339Nano, "2006-01-02 15:04:05.999999999 Z",
				"2006-01-02 15:04:05.999999999 -07:00",
			} {
				if t, err := time.Parse(layout, created.Raw()); err == nil {
					at = t
				}
			}
		}
		list := child(v, ":submitters")
		if list == nil || !list.IsSequence() {
			return
		}
		for _, s := range list.Items() {
			if !s.IsMapping() {
				continue
			}
			o := owner{at: at}
			if name := child(s, ":name"); name != nil {
				o.name = name.Raw()
			}
			for _, key := range []string{":sid", ":email"} {
				if id := child(s, key); id != nil && o.id == "" {
					o.id = id.Raw()
				}
			}
			all[key.Raw()] = append(all[key.Raw()], o)
		}
	})
	return all
}

// entry adds the submission of a folder or a file.
func (c *collector) entry(folder string, entry fs.DirEntry, owners map[string][]owner) error {
	name, whole := entry.Name(), filepath.Join(folder, entry.Name())
	moodle := moodleName().FindStringSubmatch(name)
	if entry.IsDir() {
		switch {
		case owners[name] != nil:
			for _, o := range owners[name] {
				if err := c.folder(c.student(cmp.Or(o.name, o.id, name), o.id, o.at), whole); err != nil {
					return err
				}
			}
			return nil
		case moodle != nil:
			return c.folder(c.student(moodle[1], moodle[2], time.Time{}), whole)
		}
		return c.folder(c.student(name, "", time.Time{}), whole)
	}
	if !entry.Type().IsRegular() {
		c.others = append(c.others, name)
		return nil
	}
	if moodle != nil && moodle[3] != "" {
		return c.file(c.student(moodle[1], moodle[2], time.Time{}), whole, moodle[3])
	}
	if m := canvasName().FindStringSubmatch(name); m != nil {
		s := c.student(m[1], m[3], time.Time{})
		s.Late = s.Late || m[2] != ""
		return c.file(s, whole, m[5])
	}
	if m := driveName().FindStringSubmatch(name); m != nil {
		return c.file(c.student(m[1], "", time.Time{}), whole, m[2])
	}
	if student, is := strings.CutSuffix(name, archiveEnd); is {
		return c.file(c.student(student, "", time.Time{}), whole, name)
	}
	c.others = append(c.others, name)
	return nil
}

// student returns the submission of a student, who has an id on the platform, or a new one.
func (c *collector) student(name, id string, at time.Time) *Found {
	key := name + "\x00" + id
	if i := slices.Index(c.keys, key); i >= 0 {
		if at.After(c.found[i].At) {
			c.found[i].At = at
		}
		return c.found[i]
	}
	c.keys = append(c.keys, key)
	c.found = append(c.found, &Found{Name: name, At: at})
	return c.found[len(c.found)-1]
}

// unique adds the ids to names that several students have.
func (c *collector) unique() {
	count := map[string]int{}
	for _, f := range c.found {
		count[f.Name]++
	}
	for i, f := range c.found {
		if _, id, _ := strings.Cut(c.keys[i], "\x00"); count[f.Name] > 1 && id != "" {
			f.Name += " (" + id + ")"
		}
	}
}

// folder adds a folder to a submission, and those of the archives in it.
func (c *collector) folder(s *Found, folder string) error {
	s.Folders = append(s.Folders, folder)
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if entry.Type().IsRegular() && strings.EqualFold(filepath.Ext(entry.Name()), archiveEnd) {
			c.archive(s, filepath.Join(folder, entry.Name()))
		}
	}
	return nil
}

// archive adds the files of an archive to a submission. If it is damaged, its files are missing.
func (c *collector) archive(s *Found, path string) {
	folder, err := c.extract(path)
	if err != nil {
		folder, _ = c.folderFor()
	}
	s.Folders = append(s.Folders, folder)
}

// file adds a file with its original name to a submission.
func (c *collector) file(s *Found, path, name string) error {
	if strings.EqualFold(filepath.Ext(name), archiveEnd) {
		c.archive(s, path)
		return nil
	}
	data, err := os.Open(path)
	if err != nil {
		return err
	}
	defer data.Close()
	info, err := data.Stat()
	if err != nil {
		return err
	}
	folder, err := c.folderFor()
	if err != nil {
		return err
	}
	s.Folders = append(s.Folders, folder)
	return write(folder, filepath.Base(name), data, info.ModTime())
}

func (c *collector) folderFor() (string, error) {
	c.made++
	folder := filepath.Join(c.scratch, fmt.Sprint("submitted-", c.made))
	return folder, os.MkdirAll(folder, 0o700)
}

// extract extracts an archive into a new folder. It leaves out links and files that are longer than any submission.
func (c *collector) extract(archive string) (folder string, err error) {
	r, err := zip.OpenReader(archive)
	if err != nil {
		return "", fmt.Errorf("%s: expected a folder, or a zip archive: %w", archive, err)
	}
	defer r.Close()
	if len(r.File) > mostArchived {
		return "", fmt.Errorf("%s has %d files, more than the limit of %d", archive, len(r.File), mostArchived)
	}
	if folder, err = c.folderFor(); err != nil {
		return "", err
	}
	for _, f := range r.File {
		name := path.Clean(strings.ReplaceAll(f.Name, `\`, "/"))
		if !f.Mode().IsRegular() || !fs.ValidPath(name) || strings.HasSuffix(f.Name, "/") ||
			f.UncompressedSize64 > mostArchiveFile {
			continue
		}
		content, err := f.Open()
		if err != nil {
			continue
		}
		err = write(folder, name, content, f.Modified)
		_ = content.Close()
		if err != nil {
			return "", err
		}
	}
	return folder, nil
}

// write writes a file of a submission, and keeps its time.
func write(folder, name string, content io.Reader, at time.Time) error {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := root.MkdirAll(path.Dir(name), 0o700); err != nil {
		return err
	}
	into, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(into, io.LimitReader(content, mostArchiveFile))
	if failed := into.Close(); err == nil {
		err = failed
	}
	if err == nil && !at.IsZero() {
		err = root.Chtimes(name, at, at)
	}
	return err
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
