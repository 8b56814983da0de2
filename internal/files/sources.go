package files

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"unicode/utf8"
)

// Sources are the files that something was read from, so that it can be read again where they are not. Several
// goroutines may use them.
type Sources struct {
	mutex sync.Mutex
	list  []Source
	alone bool // nothing else is read
}

// Source is a file as it was read.
type Source struct {
	Path   string `json:"path"` // as it was asked for
	Size   int64  `json:"size_bytes"`
	SHA256 string `json:"sha256"`
	// Text or Base64 is its content, unless that is too large to be kept: then it is read again from its path.
	Text   string `json:"text,omitempty"`
	Base64 []byte `json:"base64,omitempty"`
}

// mostKept is the size up to which a file's content is kept.
const mostKept = 1 << 20

// Recorded are sources that were recorded: files are read from them alone.
func Recorded(list []Source) *Sources { return &Sources{list: list, alone: true} }

// List is what was read so far, in the order in which it was.
func (s *Sources) List() []Source {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return append([]Source(nil), s.list...)
}

// Add takes note of a file's content.
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
	for i := range s.list {
		if s.list[i].Path == path {
			return &s.list[i]
		}
	}
	return nil
}

// IsFile says that a file can be read. Of no sources, which is what nil is, whatever is there can.
func (s *Sources) IsFile(path string, there func(path string) bool) bool {
	if s == nil || !s.alone {
		return there(path)
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.find(path) != nil
}

// Read is Read of a file, of which note is taken; of sources that were recorded, what they have.
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
		return nil, fmt.Errorf("%s: it was not read when this was recorded", path)
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
			return nil, fmt.Errorf("it was too large to be kept, and has to be where it was: %w", err)
		}
	}
	if sum := sha256.Sum256(content); hex.EncodeToString(sum[:]) != f.SHA256 {
		return nil, fmt.Errorf("%s: %w", f.Path, ErrChanged)
	}
	return content, nil
}

// ErrChanged says that a file is not what it was.
var ErrChanged = errors.New("it is not what it was: its SHA-256 is another")
