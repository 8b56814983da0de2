package report

import (
	"reflect"
	"strings"
	"testing"
)

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

// poison holds HTML that must be text on a page: in an element, and in an attribute's value.
const poison = `<evil a="b">'`

// poisoned appends poison to every string of a value, also in the keys of maps, and returns their number.
func poisoned(v reflect.Value) (n int) {
	switch v.Kind() {
	case reflect.String:
		if v.Type() == reflect.TypeFor[string]() { // units and verdicts are words of the program
			v.SetString(v.String() + poison)
			n++
		}
	case reflect.Pointer:
		if !v.IsNil() {
			n += poisoned(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				n += poisoned(v.Field(i))
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			n += poisoned(v.Index(i))
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			newKey, value := reflect.New(key.Type()).Elem(), reflect.New(v.Type().Elem()).Elem()
			newKey.Set(key)
			value.Set(v.MapIndex(key))
			n += poisoned(newKey) + poisoned(value)
			v.SetMapIndex(key, reflect.Value{})
			v.SetMapIndex(newKey, value)
		}
	}
	return n
}

// TestEscaping checks that no text of a report, a comparison or a sweep becomes HTML.
func TestEscaping(t *testing.T) {
	comparison := synthetic()
	comparison.Compares, comparison.Findings = true, []string{"a finding"}
	comparison.Problems, comparison.Earlier, comparison.EarlierCommand = []string{"a problem"}, "earlier", "compare"
	swept := syntheticSweep()
	swept.Problems, swept.Equal = []string{"a problem"}, []string{"a point"}
	for name, page := range map[string]func() (page string, texts int){
		"report": func() (string, int) {
			r := synthetic()
			n := poisoned(reflect.ValueOf(r))
			return render(t, r), n
		},
		"comparison": func() (string, int) {
			n := poisoned(reflect.ValueOf(comparison))
			return render(t, comparison), n
		},
		"sweep": func() (string, int) {
			n := poisoned(reflect.ValueOf(swept))
			return renderSweep(t, swept), n
		},
	} {
		t.Run(name, func(t *testing.T) {
			html, texts := page()
			if at := strings.Index(html, "<evil"); at >= 0 {
				t.Errorf("a text became an element: %.200s", html[max(at-100, 0):])
			}
			if at := strings.Index(html, `a="b"`); at >= 0 {
				t.Errorf("a text could end an attribute: %.200s", html[max(at-100, 0):])
			}
			if n := strings.Count(html, "&lt;evil a=&#34;b&#34;&gt;&#39;"); n < texts/4 {
				t.Errorf("the page shows %d of %d texts", n, texts)
			}
		})
	}
}
