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
	"path/filepath"
	"regexp"
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

// CheckSums says which files of a run's folder are not what the run left, or are not there any more: nil if all are. A run that did not end has
// left no sums.
func CheckSums(folder string) error {
	path := filepath.Join(folder, SumsFile)
	data, err := files.Read(path, jsonFile)
	if errors.Is(err, fs.ErrNotExist) {
		return &FileError{Path: folder, Err: errors.New("no " + SumsFile + ": the run did not end, or an earlier pausenet made it: run the scenario again")}
	}
	if err != nil {
		return err
	}
	var changed []error
	lines := bufio.NewScanner(bytes.NewReader(data))
	for n := 1; lines.Scan(); n++ {
		m := sumLine.FindStringSubmatch(lines.Text())
		if m == nil {
			return &FileError{Path: path, Line: n, Err: errors.New("not a line of sha256sum's")}
		}
		switch sum, err := sumOf(filepath.Join(folder, m[2])); {
		case errors.Is(err, fs.ErrNotExist):
			changed = append(changed, &FileError{Path: filepath.Join(folder, m[2]), Err: errors.New("it is not there any more")})
		case err != nil:
			return err
		case sum != m[1]:
			changed = append(changed, &FileError{Path: filepath.Join(folder, m[2]), Err: errors.New("it has been changed since the run: its SHA-256 is another")})
		}
	}
	return errors.Join(append(changed, lines.Err())...)
}
