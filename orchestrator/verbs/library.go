//go:build linux

package verbs

import (
	"debug/elf"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/orchestrator/kernel"
)

const (
	searchPath = "LD_LIBRARY_PATH" // ld.so(8)
	ibverbs    = "libibverbs.so.1"

	clockLibrary = "libpausenet-clock.so" // see verbs/c/clock.c
)

// Library returns the folder of the libraries that "make verbs" builds: beside this program, or where "make install"
// puts them; "" if there is none.
func Library() string {
	own, err := os.Executable()
	if err != nil {
		return ""
	}
	if real, err := filepath.EvalSymlinks(own); err == nil {
		own = real
	}
	for _, folder := range []string{"verbs", "../lib/pausenet/verbs"} {
		folder = filepath.Join(filepath.Dir(own), folder)
		if _, err := os.Stat(filepath.Join(folder, ibverbs)); err == nil {
			return folder
		}
	}
	return ""
}

// Prepare makes a command find pausenet's library before those of the machine, an image and the topology. If the
// library is missing, a program that needs it finds no device, and Prepare writes the reason to notes.
func Prepare(cmd *exec.Cmd, location *kernel.Location, notes io.Writer) {
	folder := Library()
	if folder == "" {
		if needs(cmd.Path) && notes != nil {
			fmt.Fprintf(notes, "pausenet: %s will find no RDMA device: the verbs library is not next to this program "+
				"(build it with \"make verbs\")\n", filepath.Base(cmd.Path))
		}
		return
	}
	cmd.Env = WithLibrary(cmd.Environ(), folder)
	precede(location.Environment, folder)
}

// Preload returns the setting of a program's environment that puts its clocks in lock step with the fabric.
func Preload() string { return "LD_PRELOAD=" + filepath.Join(Library(), clockLibrary) }

// HasClock reports whether the clock library, which Preload names, has been built.
func HasClock() bool {
	_, err := os.Stat(filepath.Join(Library(), clockLibrary))
	return Library() != "" && err == nil
}

// precede puts a folder first in each LD_LIBRARY_PATH of an environment that overrides the command's. It adds no
// variable.
func precede(environment []string, folder string) {
	for i, v := range environment {
		if strings.HasPrefix(v, searchPath+"=") {
			environment[i] = WithLibrary([]string{v}, folder)[0]
		}
	}
}

// WithLibrary returns an environment in which programs find the libraries of a folder first.
func WithLibrary(environment []string, folder string) []string {
	const name = searchPath + "="
	i := slices.IndexFunc(environment, func(v string) bool { return strings.HasPrefix(v, name) })
	if i < 0 {
		return append(slices.Clip(environment), name+folder)
	}
	folders := slices.DeleteFunc(strings.Split(strings.TrimPrefix(environment[i], name), ":"),
		func(f string) bool { return f == "" || f == folder })
	environment = slices.Clone(environment)
	environment[i] = name + strings.Join(append([]string{folder}, folders...), ":")
	return environment
}

// needs reports whether a program is linked with libibverbs.
func needs(path string) bool {
	f, err := elf.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	libraries, err := f.ImportedLibraries()
	return err == nil && slices.Contains(libraries, ibverbs)
}
