//go:build linux

package nodefiles

import (
	"os"
	"path"

	"golang.org/x/sys/unix"
)

const dev = "/dev"

// putDevices makes the devices in the node's own folders. If the machine has no such folder, changes of /dev are kept
// in memory.
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
		if err := put(File{Path: d}); err != nil {
			return err
		}
		// a bind: only the machine's root may make a device
		if err := unix.Mount(dev+"/null", d, "", unix.MS_BIND, ""); err != nil {
			return err
		}
	}
	return nil
}

// layOverDev keeps changes of /dev in memory.
func (b *builder) layOverDev() error {
	if b.overlayDev() == nil {
		return nil
	}
	return b.rebuildDev() // overlayfs may not cover mounts that another user namespace has made
}

// overlayDev lays an overlay over /dev. Mounts below /dev are mounted there again.
func (b *builder) overlayDev() error {
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

// machine names the folder of a rebuilt /dev in which the machine's /dev is visible.
const machine = ".machine"

// rebuildDev replaces /dev by a folder in memory, which has the machine's folders, and links to the machine's files: an
// open of ptmx finds pts beside the file itself.
func (b *builder) rebuildDev() error {
	folder := b.cover + dev
	if err := os.Mkdir(folder, 0o755); err != nil {
		return err
	}
	if err := unix.Mount("pausenet", folder, "tmpfs", unix.MS_NOSUID|unix.MS_NOEXEC, "mode=755"); err != nil {
		return err
	}
	entries, err := os.ReadDir(dev)
	if err != nil {
		return err
	}
	folders := map[string]string{machine: dev}
	for _, e := range entries {
		if e.IsDir() {
			folders[e.Name()] = path.Join(dev, e.Name())
		} else if err := os.Symlink(path.Join(machine, e.Name()), path.Join(folder, e.Name())); err != nil {
			return err
		}
	}
	for name, from := range folders {
		to := path.Join(folder, name)
		if err := os.Mkdir(to, 0o755); err != nil {
			return err
		}
		if err := unix.Mount(from, to, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			return err
		}
	}
	return unix.Mount(folder, dev, "", unix.MS_BIND|unix.MS_REC, "")
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
