package experiments

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/experiments/report"
)

// FigureFormats are the formats that figures are written in.
var FigureFormats = []string{"svg", "png", "csv"}

// CheckFigureFormats finds formats that there are not.
func CheckFigureFormats(formats []string) error {
	for _, f := range formats {
		if !slices.Contains(FigureFormats, f) {
			return fmt.Errorf("figures as %q: %s is what there is", f, strings.Join(FigureFormats, ", "))
		}
	}
	return nil
}

// writeFigures writes every plot of the page into a folder, in each format, and removes those of an earlier page.
func (p *reportPage) writeFigures(folder string, formats []string) error {
	if len(formats) == 0 {
		return nil
	}
	figures, err := report.Figures(p.page())
	if err != nil {
		return err
	}
	return writeFigures(folder, figures, formats)
}

// writeFigures writes figures into a folder, in each format, and removes those that it had.
func writeFigures(folder string, figures []report.Figure, formats []string) error {
	if err := removeFigures(folder); err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for i := range figures {
		f := &figures[i]
		for _, format := range formats {
			data, err := f.CSV, error(nil)
			if format != "csv" {
				data, err = drawn(f.SVG, format)
			}
			if err == nil {
				err = WriteWhole(filepath.Join(folder, f.Name+"."+format), data)
			}
			if err != nil {
				return fmt.Errorf("figure %s: %w", f.Name, err)
			}
		}
	}
	return nil
}

// drawn is a drawing in one of the formats of pictures.
func drawn(svg []byte, format string) ([]byte, error) {
	if format == "png" {
		return report.PNG(svg)
	}
	return svg, nil
}

// removeFigures removes the figures that a folder has, and nothing else.
func removeFigures(folder string) error {
	var errs []error
	for _, format := range FigureFormats {
		old, _ := filepath.Glob(filepath.Join(folder, "*."+format)) // the pattern is sound
		for _, path := range old {
			errs = append(errs, os.Remove(path))
		}
	}
	return errors.Join(errs...)
}

// writeRunFigures draws each run's panels in its folder: into figure.svg and figure.png, as far as these are among the
// formats. Their numbers are in the run's own files.
func (p *reportPage) writeRunFigures(formats []string) error {
	formats = slices.DeleteFunc(slices.Clone(formats), func(f string) bool { return f == "csv" })
	if len(formats) == 0 {
		return nil
	}
	for i := range p.columns {
		for _, r := range p.columns[i].runs {
			figure, err := renderFigure(r)
			if err != nil {
				return err
			}
			for _, format := range formats {
				picture, err := drawn(figure, format)
				if err == nil {
					err = WriteWhole(filepath.Join(r.Path, "figure."+format), picture)
				}
				if err != nil {
					return fmt.Errorf("%s: figure.%s: %w", r.Path, format, err)
				}
			}
		}
	}
	return nil
}
