package files

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"unicode/utf8"

	"github.com/pausenet/pausenet/internal/lists"
)

// Sources records files during reading, so that they can be read again without the originals. It is safe for concurrent
// use.
type Sources struct {
	mutex sync.Mutex
	list  []Source
	alone bool // read only recorded files
}

// Source holds a recorded file.
type Source struct {
	Path   string `json:"path"` // as the user spelled it
	Size   int64  `json:"size_bytes"`
	SHA256 string `json:"sha256"`
	// Text or Base64 holds the content, unless it is too large: then the file is read from its path again.
	Text   string `json:"text,omitempty"`
	Base64 []byte `json:"base64,omitempty"`
}

// mostKept limits the content that is recorded, in bytes.
const mostKept = 1 << 20

// Recorded returns sources that were recorded: files are read from them alone.
func Recorded(list []Source) *Sources { return &Sources{list: list, alone: true} }

// List returns the files read so far, in order.
func (s *Sources) List() []Source {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return append([]Source(nil), s.list...)
}

// Add records a file's content.
func (s *Sources) Add(path string, content []byte) {
	sum := sha256.Sum256(content)
	file := Source{Path: path, Size: int64(len(content)), SHA256: hex.EncodeToString(sum[:])}
	switch {
	case len(content) > mostKept:
	case utf8.Valid(content):
		file.Text = string(content)
	default:
		file.Base64 = content
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.find(path) == nil {
		s.list = append(s.list, file)
	}
}

func (s *Sources) find(path string) *Source {
	return lists.Find(s.list, func(e *Source) bool { return e.Path == path })
}

// IsFile reports whether a file can be read. Only recorded files can be read from recorded sources; otherwise, IsFile
// returns the result of there.
func (s *Sources) IsFile(path string, there func(path string) bool) bool {
	if s == nil || !s.alone {
		return there(path)
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.find(path) != nil
}

// Read does the work of the function Read, and records the content; recorded sources return the recorded content.
func (s *Sources) Read(path string, kind Kind) ([]byte, error) {
	if s == nil {
		return Read(path, kind)
	}
	if !s.alone {
		content, err := Read(path, kind)
		if err == nil {
			s.Add(path, content)
		}
		return content, err
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	file := s.find(path)
	if file == nil {
		return nil, fmt.Errorf("%s: the file was not recorded", path)
	}
	return file.content(kind)
}

func (f *Source) content(kind Kind) ([]byte, error) {
	content := f.Base64
	switch {
	case f.Text != "":
		content = []byte(f.Text)
	case content == nil && f.Size > 0:
		var err error
		if content, err = Read(f.Path, kind); err != nil {
			return nil, fmt.Errorf("the file was too large to record, and must still be at its path: %w", err)
		}
	}
	if sum := sha256.Sum256(content); hex.EncodeToString(sum[:]) != f.SHA256 {
		return nil, fmt.Errorf("%s: %w", f.Path, ErrChanged)
	}
	return content, nil
}

// ErrChanged means that a file's content has changed.
var ErrChanged = errors.New("the file has changed: its SHA-256 differs")
