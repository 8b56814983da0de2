package command

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pausenet/pausenet/ebpf/digest"
	"github.com/pausenet/pausenet/orchestrator/engine/plane"
	"github.com/pausenet/pausenet/orchestrator/kernel"
)

// versionFlag implements the value of --version. If the flag is given, cobra prints the root command's Version. The
// flag sets that text when it is parsed, because hashing the pipelines takes time.
//
// cobra's templates could compute the text too. But text/template calls methods by name, so that the linker would keep
// all exported methods, which makes the program a fifth larger.
type versionFlag struct {
	pflag.Value // the bool
	root        *cobra.Command
}

func addVersionFlag(root *cobra.Command) {
	root.Flags().BoolP("version", "v", false, "version for pausenet")
	flag := root.Flags().Lookup("version")
	flag.Value = &versionFlag{flag.Value, root}
}

// Set implements pflag.Value.
func (f *versionFlag) Set(text string) error {
	err := f.Value.Set(text)
	if f.String() == "true" {
		var b strings.Builder
		newAboutProgram().print(&b)
		f.root.Version = strings.TrimSuffix(strings.TrimPrefix(b.String(), aboutHead), "\n")
	}
	return err
}

// aboutHead starts the text about a program, as cobra's text about a version starts.
const aboutHead = "pausenet version "

// aboutProgram identifies a build of the program.
type aboutProgram struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	// Modified reports whether files differed from the commit.
	Modified  bool             `json:"modified,omitempty"`
	Planes    []string         `json:"planes"`
	Pipelines digest.Pipelines `json:"pipelines_sha256"`
	Go        string           `json:"go"`
	System    string           `json:"system"`
}

func newAboutProgram() *aboutProgram {
	p := &aboutProgram{
		Version: version(), Planes: []string{plane.Wasm}, Pipelines: digest.Of(), Go: runtime.Version(),
		System: runtime.GOOS + "/" + runtime.GOARCH,
	}
	if p.Pipelines.Kernel != "" {
		p.Planes = append(p.Planes, plane.Kernel)
	}
	if kernel.CheckWazero() == nil {
		p.Planes = append(p.Planes, plane.Wazero)
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				p.Commit = s.Value
			case "vcs.modified":
				p.Modified = s.Value == "true"
			}
		}
	}
	return p
}

func (p *aboutProgram) print(w io.Writer) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "%s%s\n", aboutHead, p.Version)
	commit := p.Commit
	switch {
	case commit == "":
		commit = "unknown: built outside of a checkout, or without git"
	case p.Modified:
		commit += ", and files with uncommitted changes"
	}
	fmt.Fprintf(t, "commit\t%s\n", commit)
	fmt.Fprintf(t, "planes\t%s\n", strings.Join(p.Planes, ", "))
	fmt.Fprintf(t, "pipelines\twasm %s\n", p.Pipelines.Wasm)
	if p.Pipelines.Kernel != "" {
		fmt.Fprintf(t, "\tkernel %s\n", p.Pipelines.Kernel)
	}
	fmt.Fprintf(t, "built\tby %s for %s\n", p.Go, p.System)
	t.Flush() // the command's end reports errors of w
}

func newVersionCommand() *cobra.Command {
	var format string
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the version, commit, planes and pipeline hashes",
		Long: `Print what a bug report needs: the version, the commit that the program was
built from, its planes, and the SHA-256 of its pipelines. Two programs with
equal hashes process frames in the same way. --version prints the same.`,
		Example: `  pausenet version
  pausenet version -o json | jq -r .pipelines_sha256.wasm`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if structured(format) {
				return writeStructured(c.OutOrStdout(), format, newAboutProgram())
			}
			newAboutProgram().print(c.OutOrStdout())
			return nil
		},
	}
	formatFlag(c, &format)
	return c
}
