package command

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pausenet/pausenet/experiments/pages/animation"
	"github.com/pausenet/pausenet/experiments/pages/view"
	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// exportFlags holds the flags for view's output file.
type exportFlags struct {
	file    string
	picture animation.Options
}

// pictureFlags lists the flags of a picture. An animation also has animationFlags.
var pictureFlags, animationFlags = []string{"from", "width"}, []string{"to", "length", "fps"}

func (f *exportFlags) add(c *cobra.Command) {
	flags := c.Flags()
	flags.StringVar(&f.file, "export", "",
		"write a `file` instead of serving the page: .html (the page with its runs), .gif (an animation) or .png (a picture)")
	flags.Var(momentFlag{&f.picture.From}, "from",
		"virtual `time` at which the animation starts, or of the picture (default: around PAUSE)")
	flags.Var(momentFlag{&f.picture.To}, "to", "virtual `time` at which the animation ends")
	flags.DurationVar(&f.picture.Length, "length", animation.DefaultLength, "playing `time` of the animation")
	flags.IntVar(&f.picture.Width, "width", 0, "width in `pixels` (default 960 for two runs, 640 for one)")
	flags.IntVar(&f.picture.Rate, "fps", animation.DefaultRate, "`frames` per second of the animation")
	completeNothing(c, pictureFlags...)
	completeNothing(c, animationFlags...)
}

// momentFlag implements the value of a flag for a moment in virtual time; nil if not given.
type momentFlag struct{ to **vtime.Time }

// Set parses the moment.
func (m momentFlag) Set(text string) error {
	t, err := units.ParseTime(text)
	*m.to = &t
	return err
}

// String prints the moment.
func (m momentFlag) String() string {
	if m.to == nil || *m.to == nil {
		return ""
	}
	return (*m.to).String()
}

// Type names the flag's type.
func (momentFlag) Type() string { return "time" }

// check returns an error for conflicting flags before a scenario runs.
func (f *exportFlags) check(c *cobra.Command) error {
	const formats = "use .html for the page, .gif for an animation, .png for a picture"
	refuse := func(remedy string, flags ...string) error {
		for _, flag := range flags {
			if c.Flags().Changed(flag) {
				return badInput(fmt.Errorf("--%s: %s, or leave it out", flag, remedy))
			}
		}
		return nil
	}
	switch format := f.format(); {
	case format == ".gif":
	case format == ".png":
		if err := refuse("for animations: export a .gif", animationFlags...); err != nil {
			return err
		}
	case f.file == "" || format == ".html" || format == ".htm":
		return refuse("for animations and pictures: add --export FILE.gif or FILE.png",
			append(animationFlags, pictureFlags...)...)
	case format == "":
		return badInput(fmt.Errorf("--export %s has no extension (%s)", f.file, formats))
	default:
		return badInput(fmt.Errorf("--export %s: unknown format %s (%s)", f.file, format, formats))
	}
	if err := f.picture.Check(); err != nil {
		return badInput(fmt.Errorf("--export %s: %w", f.file, err))
	}
	return nil
}

func (f *exportFlags) format() string { return strings.ToLower(filepath.Ext(f.file)) }

// write writes the file, and prints a summary.
func (f *exportFlags) write(c *cobra.Command, title string, runs [][]byte) error {
	draw := animation.GIF
	switch f.format() {
	case ".gif":
	case ".png":
		draw = animation.PNG
	default:
		return f.put(c, view.Export(title, runs), "page: "+f.file)
	}
	if n := len(runs); n > animation.MostRuns {
		runs = runs[:animation.MostRuns]
		said := fmt.Sprintf("%s shows the first %d of %d runs (choose others with --cc, or name their folders)", f.file,
			len(runs), n)
		writeWarnings(stderr(), "--export", []string{said})
	}
	r, err := draw(title, runs, f.picture)
	if err != nil {
		return badInput(fmt.Errorf("--export %s: %w", f.file, err))
	}
	said := fmt.Sprintf("picture: %s (%.3g KB, at %v)", f.file, float64(len(r.Data))/1e3, r.From)
	if r.Frames > 1 {
		said = fmt.Sprintf("animation: %s (%.3g MB, %d frames, %v to %v)", f.file, float64(len(r.Data))/1e6, r.Frames, r.From,
			r.To)
	}
	return f.put(c, r.Data, said)
}

func (f *exportFlags) put(c *cobra.Command, data []byte, said string) error {
	if err := files.WriteWhole(f.file, data); err != nil {
		return writeError(err)
	}
	fmt.Fprintln(c.OutOrStdout(), said)
	return nil
}
