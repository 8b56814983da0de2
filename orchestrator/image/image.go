//go:build linux

// Package image makes root folders of container images that are at hand as files: archives as docker save and podman
// save write them, layouts of the Open Container Initiative (OCI) as skopeo copies them, and archives of a file system
// as docker export writes them. What it unpacks lies in a cache, by the digest of its content. Registries are skopeo's
// business.
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

// Image is a root folder, with what its image says of programs. Its files are not to be changed.
type Image struct {
	Root string
	Config
	lock *os.File // has it stay in the cache; nil: it is the user's
}

// Config is what an image says of programs (OCI image specification, config.md). A root folder says nothing.
type Config struct {
	Env     []string // "NAME=value"
	Folder  string   // where they begin; empty: nothing is said of it
	User    string   // whose they are; empty: root's
	Command []string // what a container of it runs
}

// Open gives the image in a file or folder; a root folder is one as it is. Of several images in a file one is named
// behind a colon. What is wrong with the file is an error that says what to do; one of the cache is a *CacheError.
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

// Close lets clean remove the image.
func (i *Image) Close() error {
	if i.lock == nil {
		return nil
	}
	return i.lock.Close()
}

// split parts a path that there is from the name of one of several images behind it.
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

// unpack puts an image's layers into a folder, and compares their digests.
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
	if _, err := io.Copy(io.Discard, read); err != nil { // what pads the archive
		return err
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != digest {
		return fmt.Errorf("its digest is sha256:%s, expected sha256:%s: the image is damaged", got, digest)
	}
	return nil
}

// shellOf reports whether a command is nothing but a shell, that waits for what is typed.
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
