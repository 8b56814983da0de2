package cc

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Resolver resolves settings that name files. Controllers do no IO, so the caller supplies a function that reads files.
type Resolver struct {
	// ReadFile returns the content of the file at a path; nil: no parameter may name a file.
	ReadFile func(path string) ([]byte, error)
}

// builtIn selects the program's own file as the value of a parameter.
const builtIn = "built-in"

// digest matches the digest after a file's path in printed settings. A repetition of the run must use a file with the
// same content.
var digest = regexp.MustCompile(`#sha256=([0-9a-f]{16})$`)

// cutDigest splits a path from the digest after it; the digest is empty if there is none.
func cutDigest(text string) (path, sum string) {
	if m := digest.FindStringSubmatch(text); m != nil {
		return strings.TrimSuffix(text, m[0]), m[1]
	}
	return text, ""
}

// file reads the file that text names, and returns its path with the digest of its content.
func (r Resolver) file(text string) (value, string, error) {
	path, given := cutDigest(strings.TrimSpace(text))
	switch {
	case path == builtIn:
		return value{}, builtIn, nil
	case path == "":
		return value{}, "", fmt.Errorf("is not a path: give a file's path, or %s", builtIn)
	case r.ReadFile == nil:
		return value{}, "", errors.New("cannot read files here")
	}
	content, err := r.ReadFile(path)
	if err != nil {
		return value{}, "", err
	}
	sum := sha256.Sum256(content)
	own := hex.EncodeToString(sum[:8])
	if given != "" && given != own {
		return value{}, "", fmt.Errorf("has changed: its SHA-256 now begins with %s (to accept the new content, "+
			"remove #sha256=%s)", own, given)
	}
	return value{content: append([]byte{}, content...)}, path + "#sha256=" + own, nil
}
