//go:build linux

package verbs

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// errFile reports memory that is backed by a file whose file system may keep the engine waiting.
var errFile = errors.New("memory of a file that is not in memory itself")

// inMemory and onDisk list file systems. A mapping of a file in inMemory stays in memory. A file in onDisk may be
// mapped privately: a program's own file has the initial values of its variables, which are in the page cache or on a
// local disk. Other file systems, such as FUSE and network file systems, may delay a reader as long as their servers
// like.
var (
	inMemory = []string{"tmpfs", "hugetlbfs", "ramfs", "devtmpfs"}
	onDisk   = []string{
		"ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "bcachefs", "zfs", "overlay", "squashfs", "erofs",
		"vfat", "exfat", "iso9660",
	}
)

// internal lists the devices of the kernel's own tmpfs and hugetlbfs, which are in no mount table: the memory of
// memfd_create, System V and anonymous shared memory.
var internal = sync.OnceValue(func() (devices []string) {
	for _, flags := range []int{0, unix.MFD_HUGETLB | unix.MFD_HUGE_2MB, unix.MFD_HUGETLB | unix.MFD_HUGE_1GB} {
		fd, err := unix.MemfdCreate("device", unix.MFD_CLOEXEC|flags)
		if err != nil {
			continue
		}
		var s unix.Stat_t
		if unix.Fstat(fd, &s) == nil {
			devices = append(devices, fmt.Sprintf("%02x:%02x", unix.Major(s.Dev), unix.Minor(s.Dev)))
		}
		_ = unix.Close(fd)
	}
	return devices
})

// checkMapping returns errFile if a part of a process's memory is backed by a file that may keep a reader waiting. It
// waits for no file itself.
func checkMapping(process int, address, length uint64) error {
	folder := "/proc/" + strconv.Itoa(process)
	maps, err := os.ReadFile(folder + "/maps")
	if err != nil {
		return fmt.Errorf("read the memory map: %w", err)
	}
	var mounts []byte
	for line := range bytes.Lines(maps) {
		fields := strings.Fields(string(line)) // addresses, rights, offset, device, inode, path
		if len(fields) < 5 {
			return fmt.Errorf("read the memory map: unexpected line %q", line)
		}
		first, last, _ := strings.Cut(fields[0], "-")
		from, err1 := strconv.ParseUint(first, 16, 64)
		to, err2 := strconv.ParseUint(last, 16, 64)
		if err := errors.Join(err1, err2); err != nil {
			return fmt.Errorf("read the memory map: %w", err)
		}
		rights, device, inode := fields[1], fields[3], fields[4]
		if to <= address || from >= address+length || inode == "0" || slices.Contains(internal(), device) {
			continue
		}
		if mounts == nil {
			if mounts, err = os.ReadFile(folder + "/mountinfo"); err != nil {
				return fmt.Errorf("read the mounts: %w", err)
			}
		}
		kind := fileSystem(mounts, device)
		if !slices.Contains(inMemory, kind) && (!strings.HasSuffix(rights, "p") || !slices.Contains(onDisk, kind)) {
			return fmt.Errorf("%w: %s", errFile, kind)
		}
	}
	return nil
}

// fileSystem returns the type of the file system on a device, given in hexadecimal as in /proc/PID/maps;
// /proc/PID/mountinfo (mounts) has it in decimal. It returns "" if the device is not mounted.
func fileSystem(mounts []byte, device string) string {
	var major, minor uint32
	if _, err := fmt.Sscanf(device, "%x:%x", &major, &minor); err != nil {
		return ""
	}
	device = fmt.Sprintf("%d:%d", major, minor)
	for line := range strings.Lines(string(mounts)) {
		fields := strings.Fields(line)
		if i := slices.Index(fields, "-"); len(fields) > 2 && fields[2] == device && i >= 0 && i+1 < len(fields) {
			return fields[i+1]
		}
	}
	return ""
}

// probe checks memory that a program registers, on the goroutine of its connection. So a slow file system delays only
// that program.
func (c *connection) probe(r request) unix.Errno {
	r.next()
	address, length := r.next(), r.next()
	if r.bad || length == 0 || address+length < address {
		return 0 // registering fails, or needs no memory
	}
	if c.process != 0 {
		if err := checkMapping(c.process, address, length); err != nil {
			if errors.Is(err, errFile) {
				return unix.EMEDIUMTYPE
			}
			return unix.EFAULT
		}
	}
	var b [1]byte
	for _, at := range [...]uint64{address, address + length - 1} {
		if n, err := unix.Pread(c.memory.fd, b[:], int64(at)); n != 1 || err != nil {
			return unix.EFAULT
		}
	}
	return 0
}
