//go:build linux

// Package nodefiles arranges the files of programs on a node: it mounts them in the node's own mount namespace, so that
// they disappear with it. Changes are kept in memory.
package nodefiles

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Kind selects the kind of a mount.
type Kind uint8

// Kinds of mounts.
const (
	Bind    Kind = iota // an existing file or folder
	Private             // an empty folder, in memory
	Overlay             // the existing folder, with changes kept in memory
)

// Mount describes a mount at a path.
type Mount struct {
	Kind     Kind
	Source   string // path of a bind's source
	Target   string // clean absolute path
	ReadOnly bool   // only for a bind
}

// File describes a text file at a path.
type File struct{ Path, Text string }

// Layout describes a node's files.
type Layout struct {
	// Devices lists paths two folders below /dev for unusable character devices, like /dev/null: for programs that look
	// for devices of their own kind. They are left out if nothing can be mounted over /dev, as in some containers.
	Devices []string
	Image   string  // the root folder, with changes kept in memory; empty: the calling thread's root folder, unchanged
	Mounts  []Mount // a mount that contains another comes before it
	Files   []File  // they replace existing files; in an image, they are always made
	// Kept lists folders of the machine that stay visible at the same paths, read-only, even if an image or a mount
	// covers them. They do not appear below a bind, in which nothing is made.
	Kept []string
}

// Error reports why a layout cannot be made.
type Error struct {
	Mount int // index in Layout.Mounts; -1: the image
	Err   error
}

func (e *Error) Error() string { return e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }

// Make makes the layout. The calling thread must be locked, and have its own mount namespace and root folder. If there
// is an image the thread's root folder changes to it, and Make returns that folder, open.
func (l *Layout) Make() (image *os.File, err error) {
	b := &builder{Layout: l, trees: make([]int, len(l.Mounts)), kept: make([]int, len(l.Kept))}
	defer b.close()
	if err := b.openSources(); err != nil {
		return nil, err
	}
	b.openKept()
	if err := b.coverUp(); err != nil {
		return nil, err
	}
	_ = b.putDevices()
	if l.Image != "" {
		if image, err = b.enterImage(); err != nil {
			return nil, &Error{-1, err}
		}
	}
	for i := range l.Mounts {
		if err = b.mount(i); err != nil {
			err = &Error{i, err}
			break
		}
	}
	if err == nil {
		b.keep()
		err = b.putFiles()
	}
	if err != nil && image != nil {
		image.Close()
		image = nil
	}
	return image, err
}

// builder makes a layout.
type builder struct {
	*Layout
	trees []int  // per bind: descriptor of a detached copy of its source's mounts, plus 1; 0: none
	kept  []int  // the same for the kept folders
	old   bool   // this kernel can make mounts read-only only once they are attached
	cover string // a folder with a temporary memory file system on it; empty: none
	n     int    // number of folders in it
}

func (b *builder) close() {
	for _, tree := range append(b.trees, b.kept...) {
		if tree > 0 {
			unix.Close(tree - 1)
		}
	}
	if b.cover != "" && b.Image == "" { // else it is out of sight, and the image's changes are in it
		_ = unix.Unmount(b.cover, unix.MNT_DETACH)
	}
}

// openSources opens the sources of binds before anything is mounted over them.
func (b *builder) openSources() error {
	for i := range b.Mounts {
		m := &b.Mounts[i]
		if m.Kind != Bind {
			continue
		}
		tree, err := openTree(m.Source)
		if err != nil {
			return &Error{i, err}
		}
		b.trees[i] = tree + 1
		if !m.ReadOnly {
			continue
		}
		err = unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE,
			&unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
		if b.old = err == unix.ENOSYS; err != nil && !b.old { // before Linux 5.12
			return &Error{i, fmt.Errorf("make %s read-only: %w", m.Source, err)}
		}
	}
	return nil
}

// openKept opens the kept folders that exist.
func (b *builder) openKept() {
	for i, folder := range b.Kept {
		tree, err := openTree(folder)
		if err != nil {
			continue
		}
		b.kept[i] = tree + 1
		// from Linux 5.12 on
		_ = unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE,
			&unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
	}
}

// keep makes the kept folders visible again if something is mounted over them.
func (b *builder) keep() {
	for i, folder := range b.Kept {
		if _, err := os.Stat(folder); err == nil || b.kept[i] == 0 || !b.own(folder, len(b.Mounts)) {
			continue
		}
		if os.MkdirAll(folder, 0o755) == nil {
			_ = attach(b.kept[i]-1, folder)
		}
	}
}

// openTree returns a detached copy of the mounts from a path on.
func openTree(path string) (fd int, err error) {
	fd, err = unix.OpenTree(unix.AT_FDCWD, path, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
	if err != nil {
		return -1, &os.PathError{Op: "bind", Path: path, Err: err}
	}
	return fd, nil
}

// covers lists folders on which a temporary memory file system may be mounted.
var covers = []string{"/mnt", "/media", "/srv", "/opt", "/home"}

// needsCover reports whether the layout keeps changes in memory, or replaces files.
func (b *builder) needsCover() bool {
	if b.Image != "" || len(b.Files) > 0 || len(b.Devices) > 0 {
		return true
	}
	return slices.ContainsFunc(b.Mounts, func(m Mount) bool { return m.Kind == Overlay })
}

// coverUp mounts a memory file system over a folder that contains no part of the layout.
func (b *builder) coverUp() error {
	if !b.needsCover() {
		return nil
	}
	var last error
	for _, folder := range covers {
		if info, err := os.Stat(folder); err != nil || !info.IsDir() || b.uses(folder) {
			continue
		}
		if last = unix.Mount("pausenet", folder, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=755"); last == nil {
			b.cover = folder
			return nil
		}
	}
	if last == nil {
		last = fmt.Errorf("one of %s must be a folder without mounts", strings.Join(covers, ", "))
	}
	for i := range b.Mounts {
		if b.Mounts[i].Kind == Overlay {
			return &Error{i, last}
		}
	}
	if b.Image != "" {
		return &Error{-1, last}
	}
	return nil // where nothing can be mounted, as in some containers, files are the outer ones
}

func (b *builder) uses(folder string) bool {
	for i := range b.Mounts {
		if b.Image == "" && (within(b.Mounts[i].Target, folder) || within(folder, b.Mounts[i].Target)) {
			return true
		}
	}
	return b.Image != "" && b.Image != "/" && within(b.Image, folder)
}

// within reports whether a path is a folder or in it.
func within(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, strings.TrimSuffix(folder, "/")+"/")
}

// optionEscapes escapes paths in overlayfs' options.
var optionEscapes = strings.NewReplacer(`\`, `\\`, `:`, `\:`, `,`, `\,`)

// overlay mounts a folder's content at a target, and keeps changes in memory.
func (b *builder) overlay(lower, target string, flags uintptr) error {
	b.n++
	folder := fmt.Sprintf("%s/%d", b.cover, b.n)
	for _, sub := range []string{"/upper", "/work"} {
		if err := os.MkdirAll(folder+sub, 0o755); err != nil {
			return err
		}
	}
	likeness(lower, folder+"/upper")
	options := fmt.Sprintf("lowerdir=%s,upperdir=%s/upper,workdir=%s/work", optionEscapes.Replace(lower), folder, folder)
	if err := unix.Mount("pausenet", target, "overlay", flags, options); err != nil {
		return fmt.Errorf("overlay %s with changes in memory (overlayfs): %w", lower, err)
	}
	return nil
}

// likeness sets the owner and mode of a folder to those of another.
func likeness(of, folder string) {
	var s unix.Stat_t
	if unix.Stat(of, &s) == nil {
		_ = unix.Chown(folder, int(s.Uid), int(s.Gid))
		_ = unix.Chmod(folder, s.Mode&0o7777)
	}
}

// enterImage makes the image the thread's root, with the kernel's file systems in it. Devices come only from the
// machine's /dev.
func (b *builder) enterImage() (*os.File, error) {
	root := b.cover + "/root"
	if err := os.Mkdir(root, 0o755); err != nil {
		return nil, err
	}
	if err := b.overlay(b.Image, root, unix.MS_NODEV); err != nil {
		return nil, err
	}
	var kernels []int
	defer func() {
		for _, fd := range kernels {
			unix.Close(fd)
		}
	}()
	folders := []string{"/proc", "/sys", "/dev"}
	for _, folder := range folders {
		fd, err := openTree(folder)
		if err != nil {
			return nil, err
		}
		kernels = append(kernels, fd)
	}
	image, err := os.Open(root)
	if err != nil {
		return nil, err
	}
	if err = unix.Fchdir(int(image.Fd())); err == nil {
		err = unix.Chroot(".")
	}
	for i, folder := range folders {
		if err == nil {
			err = os.MkdirAll(folder, 0o755)
		}
		if err == nil {
			err = attach(kernels[i], folder)
		}
	}
	if err != nil {
		image.Close()
		return nil, err
	}
	return image, nil
}

// attach attaches detached mounts at a path.
func attach(tree int, target string) error {
	err := unix.MoveMount(tree, "", unix.AT_FDCWD, target, unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_SYMLINKS)
	if err != nil {
		return &os.PathError{Op: "mount", Path: target, Err: err}
	}
	return nil
}

func (b *builder) mount(i int) error {
	m := &b.Mounts[i]
	switch m.Kind {
	case Overlay:
		if b.Image != "" {
			return nil // all of it is the node's own
		}
		if info, err := os.Stat(m.Target); err != nil || !info.IsDir() {
			return fmt.Errorf("%s is not a folder of this machine", m.Target)
		}
		return b.overlay(m.Target, m.Target, 0)
	case Private:
		if err := b.needFolder(i); err != nil {
			return err
		}
		if err := unix.Mount("pausenet", m.Target, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, rights(m.Target)); err != nil {
			return &os.PathError{Op: "mount memory", Path: m.Target, Err: err}
		}
		return nil
	}
	var s unix.Stat_t
	if err := unix.Fstat(b.trees[i]-1, &s); err != nil {
		return err
	}
	if s.Mode&unix.S_IFMT == unix.S_IFDIR {
		if err := b.needFolder(i); err != nil {
			return err
		}
	} else if err := b.needFile(i); err != nil {
		return err
	}
	if err := attach(b.trees[i]-1, m.Target); err != nil || !m.ReadOnly || !b.old {
		return err
	}
	if err := unix.Mount("", m.Target, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		return fmt.Errorf("make %s read-only: %w", m.Target, err)
	}
	return nil
}

// rights returns tmpfs' options for a folder with the owner and mode of the folder that it covers.
func rights(folder string) string {
	var s unix.Stat_t
	if unix.Stat(folder, &s) != nil {
		return "mode=755"
	}
	return fmt.Sprintf("mode=%o,uid=%d,gid=%d", s.Mode&0o7777, s.Uid, s.Gid)
}

// own reports whether files made at a path, before some mount, belong only to the node and do not remain on the
// machine.
func (b *builder) own(path string, before int) bool {
	if b.Image != "" {
		return !b.bound(path, before)
	}
	for i := before - 1; i >= 0; i-- {
		if m := &b.Mounts[i]; within(path, m.Target) {
			return m.Kind != Bind
		}
	}
	return false
}

func (b *builder) bound(path string, before int) bool {
	for i := before - 1; i >= 0; i-- {
		if m := &b.Mounts[i]; within(path, m.Target) && m.Kind != Overlay {
			return m.Kind == Bind
		}
	}
	return false
}

// errNoTarget returns the error that a mount point is missing, because nothing is created on the machine.
func errNoTarget(path, what string) error {
	return fmt.Errorf("no %s %s to mount at (create it, or make a folder above it private, an overlay or an image's, "+
		"where pausenet creates it)", what, path)
}

func (b *builder) needFolder(i int) error {
	target := b.Mounts[i].Target
	info, err := os.Stat(target)
	switch {
	case err == nil && info.IsDir():
		return nil
	case err == nil:
		return fmt.Errorf("%s is not a folder", target)
	case !b.own(target, i):
		return errNoTarget(target, "folder")
	}
	if err := os.MkdirAll(target, 0o755); err != nil {
		return err
	}
	if b.Mounts[i].Kind == Private && path.Base(target) == "tmp" {
		return os.Chmod(target, 0o777|os.ModeSticky)
	}
	return nil
}

func (b *builder) needFile(i int) error {
	target := b.Mounts[i].Target
	info, err := os.Stat(target)
	switch {
	case err == nil && !info.IsDir():
		return nil
	case err == nil:
		return fmt.Errorf("%s is a folder, but %s is not", target, b.Mounts[i].Source)
	case !b.own(target, i):
		return errNoTarget(target, "file")
	}
	return put(File{Path: target})
}

// put writes a file. It replaces a link.
func put(f File) error {
	if err := os.MkdirAll(filepath.Dir(f.Path), 0o755); err != nil {
		return err
	}
	_ = os.Remove(f.Path)
	return os.WriteFile(f.Path, []byte(f.Text), 0o644)
}

// putFiles writes the files that no mount covers over the existing ones.
func (b *builder) putFiles() error {
	for _, f := range b.Files {
		if b.mounted(f.Path) {
			continue
		}
		if b.own(f.Path, len(b.Mounts)) {
			if err := put(f); err != nil {
				return fmt.Errorf("write %s: %w", f.Path, err)
			}
			continue
		}
		if b.cover == "" || b.Image != "" {
			continue
		}
		file := b.cover + "/" + filepath.Base(f.Path)
		if err := put(File{file, f.Text}); err != nil {
			return fmt.Errorf("write the new %s: %w", f.Path, err)
		}
		if err := unix.Mount(file, f.Path, "", unix.MS_BIND, ""); err != nil && !errors.Is(err, unix.ENOENT) {
			return fmt.Errorf("mount a file over %s: %w", f.Path, err)
		}
	}
	return nil
}

// mounted reports whether a mount has exactly this path.
func (b *builder) mounted(path string) bool {
	return slices.ContainsFunc(b.Mounts, func(m Mount) bool { return m.Target == path })
}
