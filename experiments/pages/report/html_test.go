package report

import "testing"

// TestPut checks that values are escaped, that markup is not, and that a wrong number of values is found.
func TestPut(t *testing.T) {
	d := &document{}
	d.put(`<b title="{}">{}{}</b>`, `"a'+`, "<i>&\x00{}", markup("<br>"))
	if got, want := d.String(), `<b title="&#34;a&#39;&#43;">&lt;i&gt;&amp;`+"\uFFFD{}"+`<br></b>`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, values := range [][]any{{}, {1, 2}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%d values for one place: no panic", len(values))
				}
			}()
			d.put("<p>{}</p>", values...)
		}()
	}
}
