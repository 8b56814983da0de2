package results

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/experiments/pages/report"
	"github.com/pausenet/pausenet/internal/files"
)

// FigureFormats lists the formats of figures.
var FigureFormats = append(slices.Clone(report.PictureFormats), "csv")

// CheckFigureFormats returns an error for unknown formats.
func CheckFigureFormats(formats []string) error {
	for _, f := range formats {
		if !slices.Contains(FigureFormats, f) {
			return fmt.Errorf("unknown figure format %q: choose from %s", f, strings.Join(FigureFormats, ", "))
		}
	}
	return nil
}

// writeFigures writes every plot of the page into a folder, in each format, and removes the figures of an earlier page.
func (p *reportPage) writeFigures(folder *files.Folder, name string, formats []string) error {
	if len(formats) == 0 {
		return nil
	}
	if slices.Contains(formats, "csv") {
		for i := range p.columns {
			if err := p.columns[i].runs[0].readAllPoints(); err != nil {
				return err
			}
		}
	}
	figures, err := report.Figures(p.page())
	if err != nil {
		return err
	}
	return WriteFigures(folder, name, figures, formats)
}

// WriteFigures writes figures into a folder, in each format, and removes earlier ones.
func WriteFigures(in *files.Folder, name string, figures []report.Figure, formats []string) error {
	folder, err := in.Sub(name)
	if err != nil {
		return err
	}
	defer folder.Close()
	if err := folder.RemoveAny(IsFigure); err != nil {
		return err
	}
	for i := range figures {
		f := &figures[i]
		for _, format := range formats {
			data, err := f.CSV, error(nil)
			if format != "csv" {
				data, err = f.Drawing.Picture(format)
			}
			if err == nil {
				err = folder.Write(f.Name+"."+format, data)
			}
			if err != nil {
				return fmt.Errorf("figure %s: %w", f.Name, err)
			}
		}
	}
	return nil
}

// IsFigure reports whether a file name has the extension of a figure, whether complete or unfinished.
func IsFigure(name string) bool {
	if of, ok := files.Unfinished(name); ok {
		name = of
	}
	return slices.Contains(FigureFormats, strings.TrimPrefix(filepath.Ext(name), "."))
}

// writeRunFigures draws each run's panels into a file figure.FORMAT in the run's folder, for each format but csv: the
// run's folder already has the numbers.
func (p *reportPage) writeRunFigures(within string, formats []string) error {
	formats = slices.DeleteFunc(slices.Clone(formats), func(f string) bool { return f == "csv" })
	if len(formats) == 0 {
		return nil
	}
	for i := range p.columns {
		for _, r := range p.columns[i].runs {
			figure, err := r.figure()
			if err != nil {
				return err
			}
			if err := writePictures(within, r.Path, figure, formats); err != nil {
				return fmt.Errorf("%s: %w", r.Path, err)
			}
		}
	}
	return nil
}

func writePictures(within, path string, figure *report.Drawing, formats []string) error {
	folder, err := files.OpenFolder(within, path)
	if err != nil {
		return err
	}
	defer folder.Close()
	for _, format := range formats {
		picture, err := figure.Picture(format)
		if err == nil {
			err = folder.Write("figure."+format, picture)
		}
		if err != nil {
			return fmt.Errorf("figure.%s: %w", format, err)
		}
	}
	return nil
}
