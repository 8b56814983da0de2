package lab

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/pausenet/pausenet/internal/files"
)

// teacherFile limits an archive of a teacher's material.
var teacherFile = files.Kind{Name: "a teacher's archive", Most: 64 << 20}

// hiddenFolder is the folder of an exercise's hidden checks in a teacher's material.
const hiddenFolder = "hidden"

// OpenTeacher returns a teacher's material, which has a folder for each exercise: solutions, and hidden checks in
// NAME/hidden. path is a folder, or a zip archive of one.
func OpenTeacher(path string) (fs.FS, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return files.Dir(path, exerciseFile), nil
	}
	data, err := files.Read(path, teacherFile)
	if err != nil {
		return nil, err
	}
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, fmt.Errorf("%s: expected a folder or a zip archive: %w", path, err)
	}
	for _, f := range archive.File {
		if f.UncompressedSize64 > uint64(exerciseFile.Most) {
			return nil, fmt.Errorf("%s: %s has %d bytes, more than the limit of %d", path, f.Name, f.UncompressedSize64,
				exerciseFile.Most)
		}
	}
	// Desktops put the folder itself into an archive of it.
	if entries, err := fs.ReadDir(archive, "."); err == nil && len(entries) == 1 && entries[0].IsDir() {
		top := entries[0].Name()
		if _, err := fs.Stat(archive, top+"/"+hiddenFolder); err != nil && !slices.Contains(course, top) {
			return fs.Sub(archive, top)
		}
	}
	return archive, nil
}

// WriteTeacher writes a zip archive of a teacher's material. Equal files make equal archives.
func WriteTeacher(w io.Writer, material fs.FS) error {
	archive := zip.NewWriter(w)
	err := fs.WalkDir(material, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := fs.ReadFile(material, name)
		if err != nil {
			return err
		}
		into, err := archive.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate})
		if err != nil {
			return err
		}
		_, err = into.Write(data)
		return err
	})
	return errors.Join(err, archive.Close())
}

// WithTeacher returns the exercise with the hidden checks of a teacher's material, or the exercise itself if the
// material has none for it.
func (e *Exercise) WithTeacher(material fs.FS) (*Exercise, error) {
	hidden, err := fs.Sub(material, e.Name+"/"+hiddenFolder)
	if err != nil {
		return nil, err
	}
	if _, err := fs.Stat(hidden, HiddenFile); errors.Is(err, fs.ErrNotExist) {
		return e, nil
	}
	return e.WithHidden(hidden)
}
