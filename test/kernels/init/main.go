//go:build linux

// Command init is the only program of the virtual machine that test/kernels boots: it loads the modules that the fabric
// needs, runs the tests that the image lists, prints a line about each, and powers the machine off.
package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Lines that start with this are for run.sh; the rest of the console is for people.
const mark = "pausenet-kernels:"

func main() {
	// As process 1 it must not return: the kernel would panic.
	defer func() {
		unix.Sync()
		if err := unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF); err != nil {
			fmt.Println(mark, "FAIL power off:", err)
		}
	}()
	if err := prepare(); err != nil {
		fmt.Println(mark, "FAIL prepare the machine:", err)
		return
	}
	var name unix.Utsname
	if err := unix.Uname(&name); err == nil {
		fmt.Println(mark, "kernel", unix.ByteSliceToString(name.Release[:]))
	}
	failed, err := runAll("/tests/list")
	if err != nil {
		fmt.Println(mark, "FAIL read the list of tests:", err)
		return
	}
	// Without this line run.sh takes the machine for one that crashed.
	fmt.Println(mark, "done,", failed, "failed")
}

func prepare() error {
	for _, m := range []struct{ fs, at string }{
		{"devtmpfs", "/dev"},
		{"proc", "/proc"},
		{"sysfs", "/sys"},
		{"tmpfs", "/tmp"},
		{"tmpfs", "/run"},
		{"bpf", "/sys/fs/bpf"},
		{"cgroup2", "/sys/fs/cgroup"},
	} {
		if err := os.MkdirAll(m.at, 0o755); err != nil && m.fs != "cgroup2" {
			return err
		}
		if err := unix.Mount(m.fs, m.at, m.fs, 0, ""); err != nil && err != unix.EBUSY {
			return fmt.Errorf("mount %s: %w", m.at, err)
		}
	}
	// The image numbers the modules so that each comes after those it needs.
	modules, err := filepath.Glob("/modules/*.ko")
	if err != nil {
		return err
	}
	for _, path := range modules {
		if err := load(path); err != nil {
			return fmt.Errorf("load %s: %w", filepath.Base(path), err)
		}
	}
	// Metrics are served on the loopback.
	loopback, err := netlink.LinkByName("lo")
	if err != nil {
		return fmt.Errorf("find the loopback: %w", err)
	}
	if err := netlink.LinkSetUp(loopback); err != nil {
		return fmt.Errorf("bring the loopback up: %w", err)
	}
	for key, value := range map[string]string{"PATH": "/bin:/usr/bin", "HOME": "/tmp", "TMPDIR": "/tmp", "TERM": "dumb"} {
		if err := os.Setenv(key, value); err != nil {
			return err
		}
	}
	return nil
}

func load(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := unix.FinitModule(int(f.Fd()), "", 0); err != nil && err != unix.EEXIST {
		return err
	}
	return nil
}

// runAll runs the list: a test a line, as a name, the folder to run it in, and the command, separated by tabs.
func runAll(list string) (failed int, err error) {
	f, err := os.Open(list)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		fields := strings.SplitN(lines.Text(), "\t", 3)
		if len(fields) != 3 {
			return failed, fmt.Errorf("%q is not a test", lines.Text())
		}
		if !run(fields[0], fields[1], strings.Fields(fields[2])) {
			failed++
		}
	}
	return failed, lines.Err()
}

func run(name, folder string, command []string) bool {
	start := time.Now()
	c := exec.Command(command[0], command[1:]...)
	c.Dir = folder
	output, err := c.CombinedOutput()
	result := "PASS"
	if err != nil {
		result = "FAIL"
	}
	for line := range bytes.Lines(output) {
		fmt.Printf("  | %s\n", bytes.TrimRight(line, "\r\n"))
	}
	if err != nil {
		fmt.Println("  |", err)
	}
	fmt.Printf("%s %s %s (%.1fs)\n", mark, result, name, time.Since(start).Seconds())
	return err == nil
}
