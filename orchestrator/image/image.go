//go:build linux

// Package image makes root folders of container images from local files: archives in the format of docker save and
// podman save, layouts of the Open Container Initiative (OCI) as skopeo copies them, and archives of a file system in
// the format of docker export. It keeps unpacked images in a cache, by the digest of their content. It does not access
// registries: use skopeo for that.
package image

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Image holds a root folder, with the image's configuration for programs. Do not change its files.
type Image struct {
	Root string
	Config
	lock *os.File // keeps the image in the cache; nil: the folder is the user's
}

// Config holds an image's configuration for programs (OCI image specification, config.md). It is zero for a root
// folder.
type Config struct {
	Env     []string // "NAME=value"
	Folder  string   // working folder of programs; empty: not set
	User    string   // user of programs; empty: root
	Command []string // default command of a container
}

// Open returns the image in a file or folder. A folder without a layout is used as the root folder itself. If a file
// has several images, add a colon and a name to its path. Errors about the file include a remedy; an error of the cache
// is a *CacheError.
func Open(path string) (*Image, error) {
	path, name, err := split(path)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		if _, err := os.Stat(filepath.Join(path, layoutFile)); errors.Is(err, fs.ErrNotExist) && name == "" {
			return &Image{Root: path}, nil
		}
	}
	in, err := open(path, info)
	if err != nil {
		return nil, err
	}
	defer in.close()
	m, err := resolve(in, path, name)
	if err != nil {
		return nil, err
	}
	root, lock, err := cached(m.id, func(folder string) error { return unpack(in, m, folder) })
	if err != nil {
		return nil, err
	}
	return &Image{Root: root, Config: m.config, lock: lock}, nil
}

// Close permits `pausenet clean` to remove the image.
func (i *Image) Close() error {
	if i.lock == nil {
		return nil
	}
	return i.lock.Close()
}

// split separates an existing path from the name of one of several images after it.
func split(path string) (file, name string, err error) {
	_, err = os.Stat(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return path, "", err
	}
	for i, c := range path {
		if c != ':' {
			continue
		}
		if _, err := os.Stat(path[:i]); err == nil {
			return path[:i], path[i+1:], nil
		}
	}
	return "", "", fmt.Errorf("%w: an image must be a local file (fetch one with \"skopeo copy docker://NAME oci:%s\")",
		err,
		path)
}

// unpack unpacks an image's layers into a folder, and checks their digests.
func unpack(in source, m *manifest, folder string) error {
	for i, name := range m.layers {
		if err := unpackLayer(in, name, m.digests[i], folder); err != nil {
			return fmt.Errorf("unpack %s: %w", name, err)
		}
	}
	return nil
}

func unpackLayer(in source, name, digest, folder string) error {
	packed, err := in.open(name)
	if err != nil {
		return err
	}
	defer packed.Close()
	layer, err := decompress(packed)
	if err != nil {
		return err
	}
	defer layer.Close()
	sum := sha256.New()
	read := io.TeeReader(layer, sum)
	if err := apply(folder, read); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, read); err != nil { // padding of the archive
		return err
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != digest {
		return fmt.Errorf("its digest is sha256:%s, expected sha256:%s: the image is damaged", got, digest)
	}
	return nil
}

// shellOf reports whether a command is only a shell, which waits for input.
func shellOf(command []string) bool {
	if len(command) != 1 {
		return false
	}
	switch filepath.Base(command[0]) {
	case "sh", "bash", "ash", "dash", "zsh":
		return true
	}
	return false
}

// Starts reports whether a container of the image would run a program by default.
func (c *Config) Starts() bool { return len(c.Command) > 0 && !shellOf(c.Command) }
