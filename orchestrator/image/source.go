//go:build linux

package image

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/sys/unix"

	"github.com/pausenet/pausenet/internal/files"
)

// source reads the files of an archive, or of a folder.
type source interface {
	// open opens a file of the source; the error is fs.ErrNotExist if there is none.
	open(name string) (io.ReadCloser, error)
	close() error
}

func open(path string, info fs.FileInfo) (source, error) {
	if info.IsDir() {
		root, err := os.OpenRoot(path)
		if err != nil {
			return nil, err
		}
		return folder{root}, nil
	}
	if !info.Mode().IsRegular() {
		return nil, errNone(path)
	}
	return openTar(path)
}

// errNone returns the error that a path is not an image.
func errNone(path string) error {
	return fmt.Errorf("%s is not an image: expected a root folder, an archive written by docker save, podman save or "+
		"docker export (plain, .gz or .zst), or a folder written by skopeo copy docker://NAME oci:FOLDER", path)
}

// folder reads a folder. No name leads out of it.
type folder struct{ root *os.Root }

func (f folder) open(name string) (io.ReadCloser, error) {
	file, err := f.root.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0) // a pipe's would wait for who writes
	if errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err == nil {
		var info fs.FileInfo
		if info, err = file.Stat(); err == nil && info.Mode().IsRegular() {
			return file, nil
		}
		file.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.root.Name(), err)
	}
	return nil, fmt.Errorf("%s is not a file", filepath.Join(f.root.Name(), name))
}

func (f folder) close() error { return f.root.Close() }

// tarFile reads an archive that is uncompressed, or has been decompressed.
type tarFile struct {
	path    string
	file    *os.File
	entries map[string]entry
}

type entry struct {
	at, size int64
	link     string // target of a link; empty: a file
}

// whole names the archive itself among its files.
const whole = "the archive"

// archiveFile describes an image in an archive to package files.
var archiveFile = files.Kind{Name: "an image", Most: 1 << 40}

func openTar(name string) (t *tarFile, err error) {
	file, err := files.Open(name, archiveFile)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			file.Close()
		}
	}()
	plain, err := decompress(file)
	if err != nil {
		return nil, fmt.Errorf("%w (%w)", errNone(name), err)
	}
	defer plain.Close()
	if plain.packed {
		unpacked, err := scratch()
		if err != nil {
			return nil, err
		}
		if _, err := io.Copy(unpacked, plain); err != nil {
			unpacked.Close()
			if err = fmt.Errorf("decompress %s: %w", name, err); full(err) {
				err = &CacheError{err}
			}
			return nil, err
		}
		file.Close()
		file = unpacked
	}
	t = &tarFile{path: name, file: file, entries: map[string]entry{}}
	if err := t.scan(); err != nil {
		return nil, err
	}
	return t, nil
}

// scan records the positions of the archive's files.
func (t *tarFile) scan() error {
	if _, err := t.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	r := tar.NewReader(t.file) // which reads no further than the header that it returns
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) && len(t.entries) > 0 {
			return nil
		}
		if err != nil {
			if len(t.entries) == 0 {
				return errNone(t.path)
			}
			return fmt.Errorf("%s: %w: the archive is damaged", t.path, err)
		}
		name := path.Clean(strings.TrimLeft(h.Name, "/"))
		e := entry{size: h.Size}
		switch h.Typeflag {
		case tar.TypeReg:
			if e.at, err = t.file.Seek(0, io.SeekCurrent); err != nil {
				return err
			}
		case tar.TypeSymlink: // a layer of docker save that is another image's, too
			e.link = path.Join(path.Dir(name), h.Linkname)
		case tar.TypeLink:
			e.link = path.Clean(strings.TrimLeft(h.Linkname, "/"))
		default:
			e.at = -1
		}
		t.entries[name] = e
	}
}

func (t *tarFile) open(name string) (io.ReadCloser, error) {
	if name == whole {
		info, err := t.file.Stat()
		if err != nil {
			return nil, err
		}
		return io.NopCloser(io.NewSectionReader(t.file, 0, info.Size())), nil
	}
	const mostLinks = 4
	e, found := t.entries[path.Clean(name)]
	for n := 0; n < mostLinks && found && e.link != ""; n++ {
		e, found = t.entries[e.link]
	}
	if !found || e.at <= 0 || e.link != "" {
		return nil, &fs.PathError{Op: "open", Path: t.path + ":" + name, Err: fs.ErrNotExist}
	}
	return io.NopCloser(io.NewSectionReader(t.file, e.at, e.size)), nil
}

func (t *tarFile) close() error { return t.file.Close() }

// digest returns the archive's digest.
func (t *tarFile) digest() (string, error) {
	all, err := t.open(whole)
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, all); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// plain reads data that is uncompressed, or has been decompressed.
type plain struct {
	io.Reader
	packed bool
	close  func()
}

func (p *plain) Close() error {
	if p.close != nil {
		p.close()
	}
	return nil
}

// mostWindow limits the memory for a zstd stream's window, to the default of the zstd program (zstd(1), --memory).
const mostWindow = 128 << 20

// decompress decompresses gzip and zstd, which it recognises by their first bytes, and passes other data through.
func decompress(r io.Reader) (*plain, error) {
	buffered := bufio.NewReader(r)
	begin, err := buffered.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	switch {
	case bytes.HasPrefix(begin, []byte{0x1f, 0x8b}): // RFC 1952, section 2.3.1
		z, err := gzip.NewReader(buffered)
		if err != nil {
			return nil, err
		}
		return &plain{Reader: z, packed: true}, nil
	case bytes.HasPrefix(begin, []byte{0x28, 0xb5, 0x2f, 0xfd}): // RFC 8878, section 3.1.1
		z, err := zstd.NewReader(buffered, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(mostWindow))
		if err != nil {
			return nil, err
		}
		return &plain{Reader: z, packed: true, close: z.Close}, nil
	}
	return &plain{Reader: buffered}, nil
}
