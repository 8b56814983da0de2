package escape

import "testing"

func TestCell(t *testing.T) {
	for text, want := range map[string]string{
		"":                      "",
		"größer → 東京 🙂":         "größer → 東京 🙂",
		"eve\nanna\t10 of 10":   `eve\u000aanna\u000910 of 10`,
		"\x1b[31mred\x9b":       `\u001b[31mred` + "\ufffd",
		"\u202eturned \u009b":   `\u202eturned \u009b`,
		"=cmd|' /C calc'!A0":    "'=cmd|' /C calc'!A0",
		"@SUM(1)":               "'@SUM(1)",
		"-2+3+cmd|' /C calc'!A": "'-2+3+cmd|' /C calc'!A",
		"-5us":                  "-5us",
		"+0.5%":                 "+0.5%",
		"\t=1":                  `\u0009=1`,
	} {
		if got := Cell(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
