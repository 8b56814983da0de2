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
)

// Library is the folder with the libraries that make verbs has built: beside this program, or where make install puts
// them; "" if there is none.
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

// Prepare has a command that is to run on a host find the library before the machine's, and before those that an image
// or the topology says. Where there is none, a program that needs it finds no device, and the reason is written to
// notes.
func Prepare(cmd *exec.Cmd, place *kernel.Place, notes io.Writer) {
	folder := Library()
	if folder == "" {
		if needs(cmd.Path) && notes != nil {
			fmt.Fprintf(notes, "pausenet: %s will find no RDMA device: the library for it is not beside this program; make verbs builds it\n", filepath.Base(cmd.Path))
		}
		return
	}
	cmd.Env = WithLibrary(cmd.Environ(), folder)
	precede(place.Environment, folder)
}

// precede has a folder come first wherever an environment that takes precedence over a command's says where libraries
// are.
func precede(environment []string, folder string) {
	for i, v := range environment {
		if strings.HasPrefix(v, searchPath+"=") {
			environment[i] = WithLibrary([]string{v}, folder)[0]
		}
	}
}

// WithLibrary is an environment in which programs find the libraries of a folder first.
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

// needs says whether a program is linked with libibverbs.
func needs(path string) bool {
	f, err := elf.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	libraries, err := f.ImportedLibraries()
	return err == nil && slices.Contains(libraries, ibverbs)
}
