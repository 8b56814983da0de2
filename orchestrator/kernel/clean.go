//go:build linux

package kernel

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// FindLeftovers searches the namespaces of all processes and mounts for pausenet's whose owner has ended.
// It changes nothing, and needs root.
func FindLeftovers() ([]Leftover, error) {
	if os.Geteuid() != 0 {
		return nil, errors.New("only root can see other processes' namespaces: run it with sudo")
	}
	spaces, err := findSpaces()
	if err != nil {
		return nil, err
	}
	pidSpace, err := inode("/proc/self/ns/pid")
	if err != nil {
		return nil, err
	}
	protected := ancestors()
	var left []Leftover
	err = visiting(func() error {
		for _, number := range slices.Sorted(maps.Keys(spaces)) {
			s := spaces[number]
			alias, err := s.alias(number)
			if err != nil {
				continue // it has ended meanwhile, or cannot be entered
			}
			by, node, ok := parseMark(alias)
			// The pids of another pid namespace mean nothing here.
			if !ok || by.pidSpace != pidSpace || by.Runs() {
				continue
			}
			l := Leftover{
				Node: node, Owner: by.PID, Inode: number, Mounts: append([]string{}, s.mounts...),
				Programs: []Program{}, Bystanders: []Program{}, // JSON shows empty lists
			}
			for _, pid := range slices.Sorted(maps.Keys(s.holders)) {
				p := Program{Pid: pid, Command: commandOf(pid)}
				if s.holders[pid] && !protected[pid] {
					l.Programs = append(l.Programs, p)
				} else {
					l.Bystanders = append(l.Bystanders, p)
				}
			}
			left = append(left, l)
		}
		return nil
	})
	return left, err
}

// visiting calls f on a thread of its own that may change its namespace, and restores the thread's namespace before
// it ends. Otherwise an ending thread, or the parked main thread, would keep the namespace alive.
func visiting(f func() error) error {
	return onOwnThread(func() error {
		home, err := netns.Get()
		if err != nil {
			return fmt.Errorf("open this process's network namespace: %w", err)
		}
		defer home.Close()
		return errors.Join(f(), netns.Set(home))
	})
}

// Remove ends the programs in the namespace and removes its mounts. The namespace disappears with the last of them.
func (l *Leftover) Remove() error {
	var errs []error
	for _, p := range l.Programs {
		if err := endProgram(p.Pid, l.Inode); err != nil {
			errs = append(errs, fmt.Errorf("end process %d (%s): %w", p.Pid, p.Command, err))
		}
	}
	for _, path := range l.Mounts {
		if err := removeMount(path, l.Inode); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// space describes a network namespace that is in use.
type space struct {
	path    string       // a path that opens it
	holders map[int]bool // PIDs; true if the process is inside
	mounts  []string
}

// findSpaces returns the network namespaces of the machine that this mount and PID namespace can see.
func findSpaces() (map[uint64]*space, error) {
	spaces := map[uint64]*space{}
	at := func(number uint64, path string) *space {
		s := spaces[number]
		if s == nil {
			s = &space{path: path, holders: map[int]bool{}}
			spaces[number] = s
		}
		return s
	}
	processes, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	for _, entry := range processes {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		folder := "/proc/" + entry.Name()
		if number, ok := spaceOf(folder + "/ns/net"); ok {
			at(number, folder+"/ns/net").holders[pid] = true
		}
		// A thread may be elsewhere, and a file may be a namespace.
		for _, pattern := range []string{folder + "/task/*/ns/net", folder + "/fd/*"} {
			paths, _ := filepath.Glob(pattern) // the pattern is well formed
			for _, path := range paths {
				if number, ok := spaceOf(path); ok {
					if s := at(number, path); !s.holders[pid] {
						s.holders[pid] = false
					}
				}
			}
		}
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	for line := range bytes.Lines(mounts) {
		// 36 35 0:4 net:[4026532000] /run/netns/x rw shared:1 - nsfs nsfs rw
		fields := strings.Fields(string(line))
		if len(fields) < 5 {
			continue
		}
		if number, ok := parseSpace(fields[3]); ok {
			path := unescapeMount(fields[4])
			s := at(number, path)
			s.mounts = append(s.mounts, path)
		}
	}
	return spaces, nil
}

// spaceOf returns the inode of the network namespace that a link of /proc points to.
func spaceOf(link string) (uint64, bool) {
	target, err := os.Readlink(link)
	if err != nil {
		return 0, false
	}
	return parseSpace(target)
}

func parseSpace(name string) (uint64, bool) {
	name, found := strings.CutPrefix(name, "net:[")
	if !found {
		return 0, false
	}
	number, err := strconv.ParseUint(strings.TrimSuffix(name, "]"), 10, 64)
	return number, err == nil
}

// unescapeMount undoes mountinfo's octal escapes.
func unescapeMount(path string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(path)
}

// alias returns the alias of lo in the namespace. It leaves the thread there.
func (s *space) alias(number uint64) (string, error) {
	fd, err := unix.Open(s.path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	ns := netns.NsHandle(fd)
	defer ns.Close()
	// The path may refer to another namespace by now.
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return "", err
	}
	if stat.Ino != number {
		return "", errors.New("another namespace now")
	}
	if err := netns.Set(ns); err != nil {
		return "", err
	}
	h, err := netlink.NewHandle(unix.NETLINK_ROUTE)
	if err != nil {
		return "", err
	}
	defer h.Close()
	lo, err := h.LinkByIndex(loopbackIndex)
	if err != nil {
		return "", err
	}
	return lo.Attrs().Alias, nil
}

// ancestors returns this process and its ancestors: a user who cleans up from a shell inside keeps the shell.
func ancestors() map[int]bool {
	pids := map[int]bool{1: true}
	for pid := os.Getpid(); pid > 0 && !pids[pid]; {
		pids[pid] = true
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			break
		}
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		if len(fields) < 2 {
			break
		}
		pid, err = strconv.Atoi(fields[1])
		if err != nil {
			break
		}
	}
	return pids
}

func commandOf(pid int) string {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err == nil && len(line) > 0 {
		return strings.TrimSpace(strings.ReplaceAll(string(line), "\x00", " "))
	}
	name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	return strings.TrimSpace(string(name))
}

// endTimeout limits the time that a program has to end after SIGTERM.
const endTimeout = 2 * time.Second

// endProgram ends a process if it is still in that namespace.
func endProgram(pid int, space uint64) error {
	// Through a pidfd a signal cannot hit another process that has got the pid meanwhile.
	fd, err := unix.PidfdOpen(pid, 0)
	if err == unix.ESRCH {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if now, ok := spaceOf(fmt.Sprintf("/proc/%d/ns/net", pid)); !ok || now != space {
		return nil
	}
	for _, signal := range []unix.Signal{unix.SIGTERM, unix.SIGKILL} {
		if err := unix.PidfdSendSignal(fd, signal, nil, 0); err != nil {
			if err == unix.ESRCH {
				return nil
			}
			return err
		}
		if endedWithin(fd, endTimeout) {
			return nil
		}
	}
	return errors.New("it does not end")
}

// removeMount unmounts a namespace from a path, if it is still that namespace, and removes the empty file under it
// that `ip netns` creates.
func removeMount(path string, space uint64) error {
	number, err := inode(path)
	if errors.Is(err, os.ErrNotExist) || err == nil && number != space {
		return nil
	}
	if err != nil {
		return err
	}
	if err := unix.Unmount(path, unix.MNT_DETACH); err != nil {
		return fmt.Errorf("unmount %s: %w", path, err)
	}
	if folder := filepath.Dir(path); folder == "/run/netns" || folder == "/var/run/netns" {
		return os.Remove(path)
	}
	return nil
}
