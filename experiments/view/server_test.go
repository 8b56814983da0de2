package view_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/experiments/view"
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

// TestServer: only who has the address gets anything, and no other page does, be it by another name of this machine or across origins.
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
		if p := h.Get("Content-Security-Policy"); !strings.Contains(p, "default-src 'none'") || !strings.Contains(p, "frame-ancestors 'none'") || strings.Contains(p, "unsafe") {
			t.Errorf("%s: the policy is %q", c.url, p)
		}
		if h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Referrer-Policy") != "no-referrer" || h.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: headers %v", c.url, h)
		}
	}
}

// TestVendored: the copies of uPlot are those of its package, uplot 1.6.32 of npm.
func TestVendored(t *testing.T) {
	for name, want := range map[string]string{
		"uPlot.esm.js":  "5dd9b3281aa64b461b42d9945f6adb2649d346502b12281a9ae0d46599a80eba",
		"uPlot.min.css": "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04",
		"uPlot.LICENSE": "8f989229699b4fe2f1a0432d0e9edc338a8a911e250e2d1b01ecd770a5f5b1bd",
	} {
		if got := fmt.Sprintf("%x", sha256.Sum256(read(t, filepath.Join("page", "vendor", name)))); got != want {
			t.Errorf("%s has the hash %s", name, got)
		}
	}
}

// TestBundle: what is served is bundled of the sources beside it.
func TestBundle(t *testing.T) {
	var names []string
	for _, pattern := range []string{"page/*.js", "page/*.css", "page/vendor/*"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatal(pattern, err)
		}
		names = append(names, found...)
	}
	slices.Sort(names)
	sum := sha256.New()
	for _, name := range names {
		sum.Write(read(t, name))
	}
	for _, name := range []string{"bundle/view.js", "bundle/view.css"} {
		if want := fmt.Sprintf("of %x */", sum.Sum(nil)); !strings.Contains(string(read(t, name)[:300]), want) {
			t.Errorf("%s is not made of the files below page: make view-page", name)
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
