package view_test

import (
	"context"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/experiments/pages/view"
)

// serve serves runs until the test ends.
func serve(t *testing.T, title string, runs ...[]byte) *view.Server {
	t.Helper()
	s, err := view.Listen(title, runs)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- s.Serve(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return s
}

// TestServer checks that only requests with the address are served, and that no other page gets anything, by another
// name of this machine or across origins.
func TestServer(t *testing.T) {
	url := serve(t, "a<b>", []byte("run 0")).URL()
	root := url[:strings.LastIndexByte(url[:len(url)-1], '/')+1]
	if !strings.HasPrefix(url, "http://127.0.0.1:") || len(url)-len(root) < 20 {
		t.Errorf("the address is %s", url)
	}
	ask := func(method, url string, set func(*http.Request)) (*http.Response, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		set(r)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer, string(text)
	}
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	plain := func(*http.Request) {}
	for _, c := range []struct {
		method, url string
		set         func(*http.Request)
		code        int
		text        string
	}{
		{"GET", url, plain, 200, "<title>a&lt;b&gt; · pausenet</title>"},
		{"HEAD", url, plain, 200, ""},
		{"GET", url + "run/0", header("Sec-Fetch-Site", "same-origin"), 200, "run 0"},
		{"GET", url + "run/0", header("Origin", strings.TrimSuffix(root, "/")), 200, "run 0"},
		{"GET", url + "view.js", plain, 200, "uPlot"},
		{"GET", url + "run/1", plain, 404, ""},
		{"GET", url + "run/-1", plain, 404, ""},
		{"GET", url + "index.html", plain, 404, ""},
		{"GET", root, plain, 404, "open the address"},
		{"GET", root + "run/0", plain, 404, ""},
		{"GET", strings.TrimSuffix(url, "/") + "x/", plain, 404, ""},
		{"GET", strings.TrimSuffix(url, "/"), plain, 404, ""},
		{"POST", url, plain, 405, ""},
		{"GET", url, func(r *http.Request) {
			r.Host = "evil.example" + strings.TrimPrefix(strings.TrimSuffix(root, "/"), "http://127.0.0.1")
		}, 403, "alone"},
		{"GET", url, func(r *http.Request) { r.Host = "localhost" }, 403, ""},
		{"GET", url, header("Origin", "https://evil.example"), 403, ""},
		{"GET", url, header("Origin", "null"), 403, ""},
		{"GET", url, header("Sec-Fetch-Site", "cross-site"), 403, ""},
		{"GET", url, header("Sec-Fetch-Site", "same-site"), 403, ""},
	} {
		answer, text := ask(c.method, c.url, c.set)
		if answer.StatusCode != c.code || !strings.Contains(text, c.text) {
			t.Errorf("%s %s: %s, %.200s", c.method, c.url, answer.Status, text)
		}
		h := answer.Header
		if p := h.Get("Content-Security-Policy"); !strings.Contains(p, "default-src 'none'") ||
			!strings.Contains(p, "frame-ancestors 'none'") || strings.Contains(p, "unsafe") {
			t.Errorf("%s: the policy is %q", c.url, p)
		}
		if h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Referrer-Policy") != "no-referrer" ||
			h.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: headers %v", c.url, h)
		}
	}
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
