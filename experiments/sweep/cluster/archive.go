package cluster

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/pausenet/pausenet/experiments/results/rundir"
	"github.com/pausenet/pausenet/internal/files"
)

// largestPoint limits the unpacked size of one point's folder, in bytes.
const largestPoint = 16 << 30

// An archive of size bytes may unpack to at most smallBulk + mostRatio*size bytes, so that a worker cannot make the
// coordinator write much more than it sends. An honest archive's CSV files unpack to about 5 times its size,
// because every row has a different time.
const (
	smallBulk = 64 << 20
	mostRatio = 100
)

// pack writes a run's folder as a compressed archive.
func pack(w io.Writer, directory string) error {
	entries, err := os.ReadDir(directory)
	if err != nil {
		return err
	}
	compressed, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		return err
	}
	archive := tar.NewWriter(compressed)
	for _, e := range entries {
		if !e.Type().IsRegular() || !rundir.IsFile(e.Name()) {
			continue
		}
		if err := packFile(archive, filepath.Join(directory, e.Name()), e.Name()); err != nil {
			return err
		}
	}
	return errors.Join(archive.Close(), compressed.Close())
}

func packFile(archive *tar.Writer, path, name string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err := archive.WriteHeader(&tar.Header{
		Name: name, Size: info.Size(), Mode: 0o644,
		Typeflag: tar.TypeReg,
	}); err != nil {
		return err
	}
	_, err = io.Copy(archive, f)
	return err
}

// unpack extracts an archive of size bytes, written by pack, into a run's folder. The sender may be hostile: unpack
// extracts only files that a run has, each once, into the folder itself, and no more bytes than an honest archive of
// this size could hold.
func unpack(r io.Reader, size int64, directory string) error {
	folder, err := files.OpenFolder(directory, directory)
	if err != nil {
		return err
	}
	defer folder.Close()
	compressed, err := gzip.NewReader(r)
	if err != nil {
		return err
	}
	archive := tar.NewReader(compressed)
	var seen []string
	most := int64(largestPoint)
	if size < (most-smallBulk)/mostRatio {
		most = smallBulk + mostRatio*size
	}
	for left := most; ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch {
		case h.Typeflag != tar.TypeReg || !rundir.IsFile(h.Name) || slices.Contains(seen, h.Name):
			return fmt.Errorf("its archive contains %q, which is not a regular file of a run or occurs twice", h.Name)
		case h.Size > left:
			return fmt.Errorf("its archive of %d bytes unpacks to more than %d bytes", size, most)
		}
		left -= h.Size
		seen = append(seen, h.Name)
		f, err := folder.Create(h.Name)
		if err != nil {
			return err
		}
		_, err = io.Copy(f, archive)
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
}
