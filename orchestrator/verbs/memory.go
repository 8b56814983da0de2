//go:build linux

package verbs

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/pausenet/pausenet/hostagent/qp"
)

// addressSpace accesses a program's memory through the file /proc/PID/mem that the program opened. The file belongs to
// the address space that the process had at that time. If the process executes another program, or ends while another
// process holds its socket, the engine cannot reach the memory of a later program.
type addressSpace struct{ fd int }

var memoryPath = regexp.MustCompile(`/([0-9]+)(?:/task/[0-9]+)?/mem$`)

// errOther reports that the memory belongs to another process than the one that sent it.
var errOther = errors.New("another process's memory")

// isMemory returns an error unless fd is the memory of a process. With a PID it must be the process with this PID in
// this process's PID namespace, whose mappings mapping.go checks; with PID 0, any process. Reading another kind of file
// could block the engine. isMemory itself may block.
func isMemory(fd, process int) error {
	var fs unix.Statfs_t
	if err := unix.Fstatfs(fd, &fs); err != nil {
		return err
	}
	path, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
	if err != nil {
		return err
	}
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err != nil {
		return err
	}
	of := memoryPath.FindStringSubmatch(path)
	if fs.Type != unix.PROC_SUPER_MAGIC || of == nil || flags&unix.O_ACCMODE != unix.O_RDWR {
		return errors.New("not the memory of a process")
	}
	if process == 0 {
		return nil
	}
	var memory unix.Stat_t
	if err := unix.Fstat(fd, &memory); err != nil {
		return err
	}
	own := "/proc/" + strconv.Itoa(process)
	for _, proc := range []string{own + "/root/proc", "/proc"} { // the first is of the process's PID namespace
		if isOf(process, proc, of, &memory) {
			return nil
		}
	}
	return errOther
}

// isOf reports whether memory, a file below the mounted proc, belongs to the process with this PID in this process's
// PID namespace. path is memoryPath's match of the file's path. The PID in it may number another process in this PID
// namespace, so isOf compares PID namespaces and the PIDs in them. It follows no mount below proc.
func isOf(process int, proc string, path []string, memory *unix.Stat_t) bool {
	dir, err := unix.Open(proc, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(dir)
	var there unix.Stat_t
	f, err := below(dir, path[0][1:], unix.O_PATH)
	if err != nil {
		return false
	}
	err = unix.Fstat(f, &there)
	unix.Close(f)
	if err != nil || there.Dev != memory.Dev || there.Ino != memory.Ino {
		return false
	}
	here, err := unix.Open("/proc", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(here)
	want, err1 := identityOf(here, strconv.Itoa(process))
	got, err2 := identityOf(dir, path[1])
	return err1 == nil && err2 == nil && got == want
}

// identityOf returns the PID namespace of a process and its PID there. number holds its PID in the given /proc.
func identityOf(proc int, number string) (string, error) {
	f, err := below(proc, number+"/ns/pid", unix.O_PATH|unix.O_NOFOLLOW)
	if err != nil {
		return "", err
	}
	name := make([]byte, 64)
	n, err := unix.Readlinkat(f, "", name)
	unix.Close(f)
	if err != nil {
		return "", err
	}
	if f, err = below(proc, number+"/status", unix.O_RDONLY); err != nil {
		return "", err
	}
	file := os.NewFile(uintptr(f), "status")
	defer file.Close()
	status, err := io.ReadAll(file)
	if err != nil {
		return "", err
	}
	_, rest, _ := strings.Cut(string(status), "\nNSpid:")
	line, _, _ := strings.Cut(rest, "\n")
	numbers := strings.Fields(line)
	if len(numbers) == 0 {
		return "", errors.New("a status without NSpid")
	}
	return string(name[:n]) + " " + numbers[len(numbers)-1], nil
}

// below opens a path below a folder, within the folder's mount.
func below(dir int, path string, flags uint64) (int, error) {
	return unix.Openat2(dir, path, &unix.OpenHow{
		Flags: flags | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_XDEV | unix.RESOLVE_BENEATH,
	})
}

// transfer reads or writes all of b at an address. It makes a raw system call, because the engine's goroutine calls it;
// see the thread of package wallclock.
func (a *addressSpace) transfer(call, address uintptr, b []byte) error {
	for len(b) > 0 {
		n, _, errno := unix.RawSyscall6(call, uintptr(a.fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), address, 0, 0)
		switch {
		case errno == unix.EINTR:
			continue
		case errno != 0:
			return fmt.Errorf("%w: nothing is mapped at %#x", errAccess, address)
		// a process that ends closes its files, its socket here among them, after it has given its address space back
		case n == 0:
			return qp.ErrEnded
		}
		b = b[n:]
		address += n
	}
	return nil
}

func (a *addressSpace) read(address uint64, into []byte) error {
	return a.transfer(unix.SYS_PREAD64, uintptr(address), into)
}

func (a *addressSpace) write(address uint64, from []byte) error {
	return a.transfer(unix.SYS_PWRITE64, uintptr(address), from)
}

func (a *addressSpace) close() { _ = unix.Close(a.fd) }

// Rights to a region, as in enum ibv_access_flags.
const (
	accessLocalWrite   = 1 << 0
	accessRemoteWrite  = 1 << 1
	accessRemoteRead   = 1 << 2
	accessRemoteAtomic = 1 << 3
	accessKnown        = accessLocalWrite | accessRemoteWrite | accessRemoteRead | accessRemoteAtomic
)

// region represents a memory region.
type region struct {
	pd      *domain
	address uint64
	length  uint64
	base    uint64 // first address of the region as used by peers and work requests
	access  uint64
	key     uint32
}

// domain represents a protection domain.
type domain struct{ users int }

// locate returns the address in memory of n bytes at an address of the region.
func (r *region) locate(address, n uint64) (uint64, bool) {
	offset := address - r.base
	if address < r.base || offset > r.length || n > r.length-offset {
		return 0, false
	}
	return r.address + offset, true
}

// find returns the address in memory of n bytes at an address, if a key gives rights to them within a domain.
func (c *connection) find(pd *domain, key uint32, address, n, access uint64) (uint64, error) {
	r := c.regions[key]
	if r == nil || r.pd != pd {
		return 0, fmt.Errorf("%w: no region has the key %#x", errAccess, key)
	}
	if r.access&access != access {
		return 0, fmt.Errorf("%w: the region with the key %#x does not permit %#x", errAccess, key, access)
	}
	at, ok := r.locate(address, n)
	if !ok {
		return 0, fmt.Errorf("%w: %d bytes at %#x are outside the region with the key %#x", errAccess, n, address, key)
	}
	return at, nil
}
