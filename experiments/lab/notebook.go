package lab

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
)

// cell represents a cell of a notebook in version 4.5 of Jupyter's format.
type cell struct {
	Kind     string   `json:"cell_type"`
	ID       string   `json:"id"`
	Metadata struct{} `json:"metadata"`
	Source   string   `json:"source"`
}

// codeCell is a cell with Python that has not run.
type codeCell struct {
	cell
	Count   *int       `json:"execution_count"`
	Outputs []struct{} `json:"outputs"`
}

// NotebookFile returns the name of the file for Notebook.
func (e *Exercise) NotebookFile() string { return e.Name + ".ipynb" }

// Notebook returns a notebook for Jupyter: the sections of the exercise's text, and cells that lock the predictions,
// run the scenarios that a student has, check the submission, and plot the runs of the check. The cells use the Python
// package pausenet, and read the files beside the notebook.
func (e *Exercise) Notebook() ([]byte, error) {
	text, err := e.Text()
	if err != nil {
		return nil, err
	}
	var cells []any
	markdown := func(source string) {
		cells = append(cells, cell{
			Kind: "markdown", ID: fmt.Sprintf("cell-%d", len(cells)),
			Source: strings.TrimSpace(source),
		})
	}
	code := func(format string, values ...any) {
		c := cell{Kind: "code", ID: fmt.Sprintf("cell-%d", len(cells)), Source: fmt.Sprintf(format, values...)}
		cells = append(cells, codeCell{c, nil, []struct{}{}})
	}
	var edited []string
	for _, name := range e.Started() {
		if !slices.Contains(e.Given, name) {
			edited = append(edited, fmt.Sprintf("[%s](%[1]s)", name))
		}
	}
	head, rest, _ := strings.Cut(text, "\n## ")
	markdown(head)
	markdown("You edit " + strings.Join(edited, " and ") + " beside this notebook. Its cells only read these files.")
	code("import pausenet")
	for _, section := range strings.Split(rest, "\n## ") {
		markdown("## " + section)
		if strings.HasPrefix(section, "Predict\n") && e.predicts() {
			code("from pathlib import Path\n\n# Locks the predictions in %s, once.\nif not Path(%q).exists():\n"+
				"    print(pausenet.call(\"lab\", \"predict\"))", AnswersFile, LockedFile)
		}
	}
	started := slices.DeleteFunc(e.Started(), func(name string) bool {
		return path.Ext(name) != ".yaml" || name == AnswersFile || len(e.Runs) == 0
	})
	if len(started) > 0 {
		markdown("## Run your files")
	}
	for _, file := range started {
		var with []string
		for i := range e.Runs {
			if r := &e.Runs[i]; r.Scenario == file {
				name := r.CC
				if e.controller(name) != nil {
					name = "./" + name
				}
				with = append(with, fmt.Sprintf("%q", name))
			}
		}
		cc := ""
		if len(with) > 0 {
			cc = ", cc=[" + strings.Join(with, ", ") + "]"
		}
		code("pausenet.run(%q%s)", file, cc)
	}
	markdown("## Check")
	code("checks = pausenet.check()\nprint(f\"{checks.points.sum():g} of {checks.of.sum():g} points\")\nchecks")
	var plotted []string
	for i := range e.Runs {
		if name := e.Runs[i].folder(); !slices.Contains(plotted, name) {
			plotted = append(plotted, name)
			code("pausenet.load(\"%s/%s\").plot()", resultFolder, name)
		}
	}
	return json.MarshalIndent(map[string]any{
		"cells": cells, "metadata": struct{}{}, "nbformat": 4, "nbformat_minor": 5,
	}, "", " ")
}
