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

	"github.com/pausenet/pausenet/experiments/rundir"
	"github.com/pausenet/pausenet/internal/files"
)

// largestPoint bounds what one point's folder unpacks to, in bytes.
const largestPoint = 16 << 30

// pack writes a run's folder, compressed.
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
	if err := archive.WriteHeader(&tar.Header{Name: name, Size: info.Size(), Mode: 0o644, Typeflag: tar.TypeReg}); err != nil {
		return err
	}
	_, err = io.Copy(archive, f)
	return err
}

// unpack makes a run's folder of an archive that pack has written. Its sender may mean harm: only files of a run come out, each once, in
// the folder itself.
func unpack(r io.Reader, directory string) error {
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
	for left := int64(largestPoint); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch {
		case h.Typeflag != tar.TypeReg || !rundir.IsFile(h.Name) || slices.Contains(seen, h.Name):
			return fmt.Errorf("its archive has %q, which is no file of a run's", h.Name)
		case h.Size > left:
			return fmt.Errorf("its archive is larger than %d bytes", int64(largestPoint))
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
