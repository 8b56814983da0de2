//go:build linux

package image

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Names of files in a layer that remove files of lower layers (OCI image specification, layer.md, "Whiteouts").
const (
	whiteout       = ".wh."
	opaqueWhiteout = ".wh..wh..opq"
)

// xattrRecord prefixes the PAX records of extended attributes.
const xattrRecord = "SCHILY.xattr."

// mostLinks limits the symbolic links in the resolution of one name, like the kernel.
const mostLinks = 40

// layer unpacks the archive of a layer over the layers below it.
type layer struct {
	root    *os.Root
	written map[string]bool        // by path: the layer has this file or a file below it
	times   map[string]*tar.Header // times of directories, restored at the end, because adding files changes them
}

// apply unpacks the archive. It skips devices: a node has only the machine's /dev. It reads and changes nothing outside
// of the folder, whatever names and links the archive has.
func apply(folder string, from io.Reader) error {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close()
	l := &layer{root, map[string]bool{}, map[string]*tar.Header{}}
	archive := tar.NewReader(from)
	for {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = l.entry(h, archive)
		}
		if err != nil {
			return err
		}
	}
	for name, h := range l.times {
		if err := root.Chtimes(name, accessed(h), h.ModTime); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// entry unpacks one file.
func (l *layer) entry(h *tar.Header, content io.Reader) error {
	name, err := l.resolve(h.Name, 0)
	if err != nil {
		return err
	}
	folder, base := path.Split(name)
	switch {
	case base == opaqueWhiteout:
		return l.empty(path.Clean(folder))
	case strings.HasPrefix(base, whiteout+whiteout): // metadata of other programs, such as AUFS
		return nil
	case strings.HasPrefix(base, whiteout):
		return l.root.RemoveAll(folder + strings.TrimPrefix(base, whiteout))
	}
	if folder != "" {
		if err := l.root.MkdirAll(path.Clean(folder), 0o755); err != nil {
			return err
		}
	}
	for up := name; up != "."; up = path.Dir(up) {
		l.written[up] = true
	}
	was, err := l.root.Lstat(name)
	if err == nil && name != "." && !(was.IsDir() && h.Typeflag == tar.TypeDir) {
		if err := l.root.RemoveAll(name); err != nil {
			return err
		}
		was = nil
	}
	return l.create(name, h, content, was != nil)
}

// create makes a file with an unused name, or changes an existing directory.
func (l *layer) create(name string, h *tar.Header, content io.Reader, there bool) error {
	var f *os.File
	var err error
	switch h.Typeflag {
	case tar.TypeReg:
		if f, err = l.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600); err == nil {
			_, err = io.Copy(f, content)
		}
	case tar.TypeDir:
		if !there {
			err = l.root.Mkdir(name, 0o700)
		}
		if err == nil {
			l.times[name] = h
			f, err = l.root.Open(name)
		}
	case tar.TypeLink:
		var target string
		if target, err = l.resolve(h.Linkname, 0); err == nil {
			err = l.root.Link(target, name)
		}
		return err // its owner and mode are the target's
	case tar.TypeSymlink:
		if err = l.root.Symlink(h.Linkname, name); err == nil {
			err = l.root.Lchown(name, h.Uid, h.Gid)
		}
		return err
	default: // devices and pipes
		return nil
	}
	if f != nil {
		err = errors.Join(err, l.attributes(f, h))
		err = errors.Join(err, f.Close())
	}
	if err == nil && h.Typeflag == tar.TypeReg {
		err = l.root.Chtimes(name, accessed(h), h.ModTime)
	}
	return err
}

// attributes sets owner, mode and extended attributes. It skips extended attributes that the file system does not
// support.
func (l *layer) attributes(f *os.File, h *tar.Header) error {
	if err := errors.Join(f.Chown(h.Uid, h.Gid), f.Chmod(h.FileInfo().Mode())); err != nil {
		return err
	}
	for record, value := range h.PAXRecords {
		if key, ok := strings.CutPrefix(record, xattrRecord); ok {
			err := unix.Fsetxattr(int(f.Fd()), key, []byte(value), 0)
			if err != nil && !errors.Is(err, unix.ENOTSUP) && !errors.Is(err, unix.EPERM) {
				return fmt.Errorf("%s: set %s: %w", h.Name, key, err)
			}
		}
	}
	return nil
}

// empty removes the files of lower layers from a directory.
func (l *layer) empty(folder string) error {
	entries, err := fs.ReadDir(l.root.FS(), folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		name := path.Join(folder, e.Name())
		switch {
		case err != nil:
		case !l.written[name]:
			err = l.root.RemoveAll(name)
		case e.IsDir():
			err = l.empty(name)
		}
	}
	return err
}

// resolve returns the path of a name in the folder. It follows the symbolic links in all but the last part, like a
// program with the folder as its root: absolute links start at the folder. It returns an error for a name that itself
// leads out of the folder.
func (l *layer) resolve(name string, links int) (string, error) {
	name = path.Clean(strings.TrimLeft(name, "/"))
	if name == ".." || strings.HasPrefix(name, "../") {
		return "", fmt.Errorf("%s points outside of the image", name)
	}
	parts := strings.Split(name, "/")
	at := "."
	for k, part := range parts {
		next := path.Join(at, part)
		info, err := l.root.Lstat(next)
		if k == len(parts)-1 || err != nil || info.Mode()&fs.ModeSymlink == 0 {
			at = next
			continue
		}
		target, err := l.root.Readlink(next)
		if err != nil {
			return "", err
		}
		if links++; links > mostLinks {
			return "", fmt.Errorf("%s: too many symbolic links", name)
		}
		if !path.IsAbs(target) {
			target = path.Join("/", at, target) // ".." of the root is the root
		}
		rest := slices.Concat([]string{path.Clean(target)}, parts[k+1:])
		return l.resolve(path.Join(rest...), links)
	}
	return at, nil
}

// accessed returns the access time of a file; archives seldom have it.
func accessed(h *tar.Header) time.Time {
	if h.AccessTime.IsZero() {
		return h.ModTime
	}
	return h.AccessTime
}
