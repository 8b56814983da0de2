package rundir

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/internal/files"
)

// SumsFile names the file with the SHA-256 of each file of a complete run, in the format of sha256sum (sha256sum -c
// SHA256SUMS).
const SumsFile = "SHA256SUMS"

// sumLine matches a line of SumsFile.
var sumLine = regexp.MustCompile(`^([0-9a-f]{64}) [ *]([^/\\]+)$`)

// AnyFile limits any file of a run.
var AnyFile = files.Kind{Name: "a file of results", Most: 1 << 40, Plain: true}

// WriteSums writes the sums of the run's files in its folder. It omits figures, which can be redrawn at any time.
func WriteSums(folder *files.Folder) error {
	var sums bytes.Buffer
	for _, name := range append([]string{ManifestFile}, Files...) {
		if name == SumsFile || strings.HasPrefix(name, "figure.") {
			continue
		}
		sum, err := sumOf(filepath.Join(folder.Path(), name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%s  %s\n", sum, name)
	}
	return folder.Write(SumsFile, sums.Bytes())
}

func sumOf(path string) (string, error) {
	f, err := files.Open(path, AnyFile)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(keeper{sum}, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// CheckSums returns an error that names each file of a run's folder that is missing or was changed after the run, and
// nil if there is none. The sums must cover the manifest, the summary and every file that the manifest names: sums that
// are empty or cut short prove nothing. A run that did not end has no sums.
func CheckSums(folder string) error {
	_, err := checkSums(folder)
	return err
}

// CheckOnly checks a folder from another party as CheckSums does. It also rejects files that the sums do not list,
// except those in but.
func CheckOnly(folder string, but ...string) error {
	listed, err := checkSums(folder)
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(folder)
	for _, e := range entries {
		if e.Name() != SumsFile && !listed[e.Name()] && !slices.Contains(but, e.Name()) {
			return &FileError{Path: filepath.Join(folder, e.Name()), Err: errors.New(SumsFile + " does not list it")}
		}
	}
	return err
}

// Changed returns a warning for each of the named files of a complete run that differs from what the run wrote, or one
// warning if the sums cannot be read. It reads no other files.
func Changed(folder string, names ...string) (warnings []string) {
	all, err := readSums(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return []string{fmt.Sprintf("%s: no %s, so later changes of its files cannot be detected", folder,
			SumsFile)}
	}
	if err != nil {
		return []string{err.Error()}
	}
	for _, name := range names {
		path := filepath.Join(folder, name)
		sum, err := sumOf(path)
		k := slices.IndexFunc(all, func(s sum256) bool { return s.file == name })
		switch {
		case errors.Is(err, fs.ErrNotExist): // its reader reports it
		case err != nil:
			warnings = append(warnings, err.Error())
		case k < 0:
			warnings = append(warnings, fmt.Sprintf("%s was added after the run: %s does not list it", path, SumsFile))
		case sum != all[k].sum:
			warnings = append(warnings, fmt.Sprintf("%s was changed after the run: its SHA-256 differs from %s", path, SumsFile))
		}
	}
	return warnings
}

// sum256 represents a line of SHA256SUMS.
type sum256 struct{ sum, file string }

// readSums reads the sums of a run's folder.
func readSums(folder string) (all []sum256, err error) {
	path := filepath.Join(folder, SumsFile)
	data, err := files.Read(path, sumsFile)
	if err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(bytes.NewReader(data))
	for n := 1; lines.Scan(); n++ {
		m := sumLine.FindStringSubmatch(lines.Text())
		switch {
		case m == nil:
			return nil, &FileError{Path: path, Line: n, Err: errors.New("not a line of sha256sum: the file is damaged")}
		case slices.ContainsFunc(all, func(s sum256) bool { return s.file == m[2] }):
			return nil, &FileError{Path: path, Line: n, Err: fmt.Errorf("%s is listed twice", m[2])}
		}
		all = append(all, sum256{m[1], m[2]})
	}
	return all, lines.Err()
}

// checkSums checks the sums as CheckSums does, and returns the names of the listed files.
func checkSums(folder string) (listed map[string]bool, err error) {
	all, err := readSums(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &FileError{Path: folder, Err: errors.New("no " + SumsFile +
			", because the run did not end or an earlier pausenet made it: run the scenario again")}
	}
	if err != nil {
		return nil, err
	}
	var wrong []error
	listed = map[string]bool{}
	for _, s := range all {
		listed[s.file] = true
		path := filepath.Join(folder, s.file)
		switch sum, err := sumOf(path); {
		case errors.Is(err, fs.ErrNotExist):
			wrong = append(wrong, &FileError{Path: path, Err: errors.New("missing, although " + SumsFile + " lists it")})
		case err != nil:
			return nil, err
		case sum != s.sum:
			wrong = append(wrong, &FileError{Path: path, Err: errors.New(
				"changed since the run: its SHA-256 differs")})
		}
	}
	if err := errors.Join(wrong...); err != nil {
		return nil, err
	}
	return listed, checkListed(folder, filepath.Join(folder, SumsFile), listed)
}

// checkListed checks that the sums cover all files of a whole run.
func checkListed(folder, path string, listed map[string]bool) error {
	needed := []string{ManifestFile, SummaryFile}
	if listed[ManifestFile] {
		var m Manifest
		if err := ReadJSON(filepath.Join(folder, ManifestFile), &m); err != nil {
			return err
		}
		needed = append(needed, slices.Sorted(maps.Keys(m.Files))...)
	}
	var missing []string
	for _, name := range needed {
		if !listed[name] && !slices.Contains(missing, name) {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return &FileError{Path: path, Err: fmt.Errorf("damaged, because it has no line for %s: run the scenario again",
			strings.Join(missing, ", "))}
	}
	return nil
}
