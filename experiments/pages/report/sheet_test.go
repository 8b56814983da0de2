package report

import (
	"strings"
	"testing"
)

// TestSheet checks that texts of others are escaped, and that empty parts are left out.
func TestSheet(t *testing.T) {
	evil := `<script>alert(1)</script>`
	var b strings.Builder
	err := WriteSheet(&b, &Sheet{
		Kicker: "lab", Title: evil, Lead: evil, Facts: []Fact{{evil, evil}}, Foot: evil,
		Parts: []SheetPart{
			{Title: evil, Texts: []string{evil}, Failed: true},
			{Title: "Grades", Table: &SheetTable{
				Caption: evil, Heads: []string{evil, evil},
				Rows: []SheetRow{{Cells: []string{evil, evil}, Part: 0.25}},
			}},
			{Title: "Curves", Lines: &Lines{Charts: []LineChart{{
				Name: evil, XTitle: evil,
				Lines: []NumberLine{{Label: evil, X: []float64{1, 2}, Y: []float64{3, 4}}},
			}}}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	page := b.String()
	if strings.Contains(page, evil) || strings.Count(page, "&lt;script&gt;alert(1)") < 10 {
		t.Error("something is not escaped, or not there")
	}
	if strings.Count(page, "<table") != 1 || strings.Count(page, "<figure>") != 1 ||
		!strings.Contains(page, "width:25.0%") {
		t.Error(page)
	}
}
