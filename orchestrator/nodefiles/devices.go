//go:build linux

package nodefiles

import (
	"os"
	"path"

	"golang.org/x/sys/unix"
)

const dev = "/dev"

// putDevices makes the devices in the node's own folders. If the machine has no such folder, changes of /dev are kept
// in memory, and mounts below /dev are mounted there again.
func (b *builder) putDevices() error {
	if len(b.Devices) == 0 || b.cover == "" {
		return nil
	}
	folders := map[string]bool{}
	for _, d := range b.Devices {
		folders[path.Dir(d)] = true
	}
	for folder := range folders {
		if _, err := os.Stat(folder); err != nil {
			if err := b.layOverDev(); err != nil {
				return err
			}
			break
		}
	}
	for folder := range folders {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
		if err := unix.Mount("pausenet", folder, "tmpfs", unix.MS_NOSUID|unix.MS_NOEXEC, "mode=755"); err != nil {
			return err
		}
	}
	for _, d := range b.Devices {
		if err := unix.Mknod(d, unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))); err != nil { // null(4)
			return err
		}
		if err := os.Chmod(d, 0o666); err != nil { // whatever the umask is
			return err
		}
	}
	return nil
}

// layOverDev keeps changes of /dev in memory.
func (b *builder) layOverDev() error {
	below, err := mountsIn(dev)
	if err != nil {
		return err
	}
	trees := make([]int, 0, len(below))
	defer func() {
		for _, t := range trees {
			unix.Close(t)
		}
	}()
	for _, target := range below {
		tree, err := openTree(target)
		if err != nil {
			return err
		}
		trees = append(trees, tree)
	}
	if err := b.overlay(dev, dev, unix.MS_NOSUID); err != nil {
		return err
	}
	for i, target := range below {
		if err := attach(trees[i], target); err != nil {
			_ = unix.Unmount(dev, unix.MNT_DETACH)
			return err
		}
	}
	return nil
}

// mountsIn returns the files and folders in a folder that are mount points.
func mountsIn(folder string) (paths []string, err error) {
	var own, s unix.Stat_t
	if err := unix.Stat(folder, &own); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		at := path.Join(folder, e.Name())
		if unix.Lstat(at, &s) == nil && s.Dev != own.Dev {
			paths = append(paths, at)
		}
	}
	return paths, nil
}
