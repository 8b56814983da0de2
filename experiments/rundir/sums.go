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

// SumsFile has the SHA-256 of each file of a run that has ended, as sha256sum writes and checks them (sha256sum -c SHA256SUMS).
const SumsFile = "SHA256SUMS"

// sumLine is a line of it.
var sumLine = regexp.MustCompile(`^([0-9a-f]{64}) [ *]([^/\\]+)$`)

// sumFile is any file of a run's.
var sumFile = files.Kind{Name: "a file of results", Most: 1 << 40, Plain: true}

// WriteSums writes it, of what the run has left in its folder. Figures are not a run's: they can be made again at any time.
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
	f, err := files.Open(path, sumFile)
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

// CheckSums returns an error that names each file of a run's folder that is missing or differs from what the run wrote, and nil if there is none.
// The sums must cover the manifest, the summary and every file that the manifest names: sums that are empty or cut short prove nothing. A run
// that did not end has no sums.
func CheckSums(folder string) error {
	_, err := checkSums(folder)
	return err
}

// CheckOnly is CheckSums for a folder that somebody else sent: it also refuses files that the sums do not list, but for those named.
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

// checkSums does what CheckSums says, and returns the names of the files that the sums list.
func checkSums(folder string) (listed map[string]bool, err error) {
	path := filepath.Join(folder, SumsFile)
	data, err := files.Read(path, sumsFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &FileError{Path: folder, Err: errors.New("no " + SumsFile + ": the run did not end, or an earlier pausenet made it: run the scenario again")}
	}
	if err != nil {
		return nil, err
	}
	var wrong []error
	listed = map[string]bool{}
	lines := bufio.NewScanner(bytes.NewReader(data))
	for n := 1; lines.Scan(); n++ {
		m := sumLine.FindStringSubmatch(lines.Text())
		if m == nil {
			return nil, &FileError{Path: path, Line: n, Err: errors.New("not a line of sha256sum's")}
		}
		if listed[m[2]] {
			return nil, &FileError{Path: path, Line: n, Err: fmt.Errorf("%s is listed twice", m[2])}
		}
		listed[m[2]] = true
		switch sum, err := sumOf(filepath.Join(folder, m[2])); {
		case errors.Is(err, fs.ErrNotExist):
			wrong = append(wrong, &FileError{Path: filepath.Join(folder, m[2]), Err: errors.New("it is missing: " + SumsFile + " lists it")})
		case err != nil:
			return nil, err
		case sum != m[1]:
			wrong = append(wrong, &FileError{Path: filepath.Join(folder, m[2]), Err: errors.New("it has been changed since the run: its SHA-256 differs")})
		}
	}
	if err := errors.Join(append(wrong, lines.Err())...); err != nil {
		return nil, err
	}
	return listed, checkListed(folder, path, listed)
}

// checkListed checks that sums cover what a whole run has.
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
		return &FileError{Path: path, Err: fmt.Errorf("it is damaged: it has no line for %s: run the scenario again", strings.Join(missing, ", "))}
	}
	return nil
}
