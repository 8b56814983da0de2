package report

import "slices"

// Differences returns the settings in which runs differ, with one value for each run; empty if a run lacks the setting.
func Differences(runs []Run) []Difference {
	var all []Difference
	for _, d := range settingsOf(runs) {
		if !d.equal() {
			all = append(all, d)
		}
	}
	return all
}

// Difference holds the name of a setting, and its value in each run.
type Difference struct {
	Group  string   `json:"group"`
	Name   string   `json:"name"`
	Values []string `json:"values"`
}

func (d *Difference) equal() bool {
	return !slices.ContainsFunc(d.Values, func(v string) bool { return v != d.Values[0] })
}

// settingsOf returns all settings that any run has.
func settingsOf(runs []Run) []Difference {
	var all []Difference
	index := map[[2]string]int{}
	for i := range runs {
		for _, s := range runs[i].Settings {
			at := [2]string{s.Group, s.Name}
			k, known := index[at]
			if !known {
				k = len(all)
				index[at] = k
				all = append(all, Difference{s.Group, s.Name, make([]string, len(runs))})
			}
			all[k].Values[i] = s.Value
		}
	}
	return all
}

// settingTables returns tables of the settings that the runs share, and of those in which they differ.
func settingTables(r *Report) (same, differ []table) {
	settings := settingsOf(r.Runs)
	build := func(caption string, heads []string, want bool) []table {
		t := table{Caption: caption, Corner: "Setting", Heads: heads, Texts: true}
		for _, d := range settings {
			if d.equal() != want {
				continue
			}
			// A group's settings need not be adjacent: those that only later runs have are at the end.
			at := slices.IndexFunc(t.Bodies, func(b body) bool { return b.Heading == d.Group })
			if at < 0 {
				at = len(t.Bodies)
				t.Bodies = append(t.Bodies, body{Heading: d.Group})
			}
			out := row{Label: d.Name}
			for i := range heads {
				out.Cells = append(out.Cells, words(d.Values[i]))
			}
			t.Bodies[at].Rows = append(t.Bodies[at].Rows, out)
		}
		if len(t.Bodies) == 0 {
			return nil
		}
		return []table{t}
	}
	heads := []string{"value"}
	return build("The same in all runs", heads, true), build("Settings in which the runs differ", r.names(), false)
}
