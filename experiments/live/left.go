//go:build linux

package live

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pausenet/pausenet/internal/files"
)

// LeftFile represents a leftover file of an ended fabric in Folder.
type LeftFile struct{ Path, What string }

// Left returns the leftover files of ended fabrics.
func Left() (left []LeftFile) {
	add := func(path, format string, args ...any) {
		left = append(left, LeftFile{path, fmt.Sprintf(format, args...)})
	}
	entries, _ := os.ReadDir(Folder) // the folder may not exist
	for _, file := range entries {
		path := filepath.Join(Folder, file.Name())
		name, kind := strings.TrimSuffix(file.Name(), filepath.Ext(file.Name())), filepath.Ext(file.Name())
		_, unfinished := files.Unfinished(file.Name())
		info, err := file.Info()
		if err != nil {
			continue
		}
		switch {
		case unfinished:
			if time.Since(info.ModTime()) > time.Minute {
				add(path, "an unfinished record")
			}
		case kind == ".sock":
			if conn, err := net.Dial("unix", path); err == nil {
				conn.Close()
			} else if errors.Is(err, unix.ECONNREFUSED) {
				add(path, "the socket of a fabric that was killed")
			}
		case kind == ".json":
			if r := Ended(name); r != nil {
				add(path, "the record that %v", r)
			}
		case kind == ".log":
			if r := readRecord(name); r == nil || Ended(name) != nil {
				add(path, "the last output of a fabric's process before it crashed, if any")
			}
		}
	}
	return left
}

// Remove removes the file, unless it has changed.
func (l *LeftFile) Remove() error {
	if filepath.Ext(l.Path) == ".sock" {
		sweep(l.Path)
		return nil
	}
	if err := os.Remove(l.Path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
