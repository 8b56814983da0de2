package command

import (
	"bytes"
	"fmt"
	"io/fs"
	"path/filepath"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/pausenet/pausenet/experiments/lab"
	"github.com/pausenet/pausenet/internal/files"
)

type teacherFlags struct{ archive string }

func newLabTeacherCommand() *cobra.Command {
	var f teacherFlags
	c := &cobra.Command{
		Use:   "teacher FOLDER|ARCHIVE",
		Short: "List a teacher's material, or make an archive of it",
		Long: `List what a teacher's material has for each exercise: files, and hidden checks
of "lab grade --teacher". The material is a folder with a folder for each
exercise, or a zip archive of one. Programs for students do not contain it.`,
		Example: `  pausenet lab teacher teacher.zip
  pausenet lab teacher my-material --archive teacher.zip`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return f.run(c, args[0]) },
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{"zip"}, cobra.ShellCompDirectiveFilterFileExt
		},
	}
	c.Flags().StringVar(&f.archive, "archive", "", "write the material as an archive into this `file`")
	return c
}

func (f *teacherFlags) run(c *cobra.Command, path string) error {
	if err := notEmpty(c, "archive"); err != nil {
		return err
	}
	material, err := lab.OpenTeacher(path)
	if err != nil {
		return badInput(err)
	}
	t := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "EXERCISE\tFILES\tHIDDEN CHECKS")
	for _, name := range lab.Names() {
		e, err := lab.Builtin(name)
		if err != nil {
			return err
		}
		n := 0
		_ = fs.WalkDir(material, name, func(_ string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() {
				n++
			}
			return nil
		})
		all, err := e.WithTeacher(material)
		if err != nil {
			return badInput(fmt.Errorf("%s: %s: %w", path, name, err))
		}
		hidden := "-"
		if all != e {
			hidden = fmt.Sprintf("%d, %v points in all", len(all.Checks), all.Total())
		}
		fmt.Fprintf(t, "%s\t%d\t%s\n", name, n, hidden)
	}
	if err := t.Flush(); err != nil || f.archive == "" {
		return err
	}
	var b bytes.Buffer
	if err := lab.WriteTeacher(&b, material); err != nil {
		return badInput(err)
	}
	into, err := files.OpenFolder(filepath.Dir(f.archive), filepath.Dir(f.archive))
	if err != nil {
		return writeError(err)
	}
	defer into.Close()
	if err := into.Write(filepath.Base(f.archive), b.Bytes()); err != nil {
		return writeError(err)
	}
	fmt.Fprintf(c.OutOrStdout(), "\n  archive: %s\n", f.archive)
	return nil
}
