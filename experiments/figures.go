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
var FigureFormats = []string{"svg", "csv"}

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
	if err := removeFigures(folder); err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for _, f := range figures {
		for _, format := range formats {
			data := f.SVG
			if format == "csv" {
				data = f.CSV
			}
			if err := WriteWhole(filepath.Join(folder, f.Name+"."+format), data); err != nil {
				return err
			}
		}
	}
	return nil
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

// writeRunFigures draws each run's panels into figure.svg in its folder.
func (p *reportPage) writeRunFigures() error {
	for i := range p.columns {
		for _, r := range p.columns[i].runs {
			figure, err := renderFigure(r)
			if err != nil {
				return err
			}
			if err := WriteWhole(filepath.Join(r.Path, "figure.svg"), figure); err != nil {
				return err
			}
		}
	}
	return nil
}
