// Package browser opens pages in Chromium, for tests.
package browser

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/pausenet/pausenet/internal/testenv"
)

// Need skips a test where there is no browser, but fails it in CI.
func Need(t *testing.T) {
	t.Helper()
	if program() != "" {
		return
	}
	const why = "this test opens a page in a browser, and there is none: install chromium"
	if os.Getenv("CI") != "" {
		t.Fatal(why)
	}
	t.Skip(why)
}

// program returns the path of a browser; empty: there is none.
func program() string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// Tab represents a browser's tab with a page in it.
type Tab struct {
	*testing.T
	ctx context.Context

	mu     sync.Mutex
	frames []runtime.ExecutionContextID // contexts of all documents so far
	bad    []string                     // forbidden events: errors and requests to other addresses
}

// shared starts the browser of this test binary, which all its tests share. Main ends it.
var shared = sync.OnceValues(func() (context.Context, error) {
	dir, err := os.MkdirTemp("/tmp", "pausenet") // short: the browser's own sockets are in it
	if err != nil {
		return nil, err
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program()), chromedp.NoSandbox,
		chromedp.WSURLReadTimeout(testenv.Hung), chromedp.Flag("force-prefers-reduced-motion", true),
		chromedp.Env("TMPDIR="+dir),
		// A sandboxed frame stays in the page's process, where its document can be asked. The window's own popups, and
		// processes for pages to come, cost as much time as the page.
		chromedp.Flag("disable-features", "Translate,IsolateSandboxedIframes,WebUIOmniboxPopup,WebUIOmniboxAimPopup,"+
			"WebUIOmniboxFullPopup,SpareRendererForSitePerProcess"))
	allocated, end := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, cancel := chromedp.NewContext(allocated)
	stop = func() {
		cancel()
		end()
		_ = os.RemoveAll(dir)
	}
	return ctx, chromedp.Do(ctx)
})

var (
	stop   = func() {} // ends the shared browser
	within bool        // Main runs the tests
)

// Main runs the tests of a binary in TestMain, with the browser that they share.
type Main struct{ *testing.M }

// Run runs the tests, ends the browser and returns the exit code.
func (m Main) Run() int {
	within = true
	defer func() { stop() }()
	return m.M.Run()
}

// Open opens a page below an address in a window of the given size, with storage and cookies of its own, of the browser
// that all tests share. At the end of the test it fails if the console has errors, or if the page requested other
// addresses.
func Open(t *testing.T, address, page string, width, height int) *Tab {
	t.Helper()
	Need(t)
	if !within {
		t.Fatal("a test that opens a browser needs browser.Main in TestMain")
	}
	ctx, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	b := newTab(ctx, t, address, chromedp.WithNewBrowserContext())
	window, err := chromedp.Call(b.ctx, browser.GetWindowForTarget, browser.GetWindowForTargetParams{})
	if err != nil {
		t.Fatal(err)
	}
	Call(b, browser.SetWindowBounds, browser.SetWindowBoundsParams{
		WindowID: window.WindowID, Bounds: &browser.Bounds{Width: int64(width), Height: int64(height)},
	})
	b.Do(chromedp.Navigate(address + page))
	return b
}

// Another opens a page below an address in another tab of the same window.
func (b *Tab) Another(address, page string) *Tab {
	b.Helper()
	other := newTab(b.ctx, b.T, address)
	other.Do(chromedp.Navigate(address + page))
	return other
}

// newTab opens an empty tab, whose pages may request only what is below an address.
func newTab(ctx context.Context, t *testing.T, address string, options ...chromedp.ContextOption) *Tab {
	t.Helper()
	ctx, expire := context.WithTimeout(ctx, 2*testenv.Hung)
	t.Cleanup(expire)
	ctx, cancel := chromedp.NewContext(ctx, options...)
	t.Cleanup(cancel)
	b := &Tab{T: t, ctx: ctx}
	note := func(format string, args ...any) { b.bad = append(b.bad, fmt.Sprintf(format, args...)) }
	err := chromedp.Listen(ctx, func(event any) {
		b.mu.Lock()
		defer b.mu.Unlock()
		switch e := event.(type) {
		case *runtime.EventExecutionContextCreated:
			b.frames = append(b.frames, e.Context.ID)
		case *runtime.EventExceptionThrown:
			note("exception: %s", e.ExceptionDetails.Text+" "+description(e.ExceptionDetails.Exception))
		case *runtime.EventConsoleAPICalled:
			if slices.Contains([]string{"error", "warning", "assert"}, string(e.Type)) {
				note("console: %s %s", e.Type, description(e.Args...))
			}
		case *log.EventEntryAdded:
			if slices.Contains([]string{"error", "warning"}, string(e.Entry.Level)) {
				note("log: %s %s", e.Entry.Text, e.Entry.URL)
			}
		case *network.EventRequestWillBeSent:
			if !strings.HasPrefix(e.Request.URL, address) && !strings.HasPrefix(e.Request.URL, "data:") &&
				!strings.HasPrefix(e.Request.URL, "blob:") {
				note("asked for %s", e.Request.URL)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, what := range b.bad {
			t.Error(what)
		}
	})
	Call(b, network.Enable, network.EnableParams{})
	Call(b, log.Enable, cdp.Empty{})
	return b
}

// description returns a value of the page in the form for messages.
func description(values ...*runtime.RemoteObject) string {
	var all []string
	for _, v := range values {
		if v != nil {
			all = append(all, string(v.Value)+v.Description)
		}
	}
	return strings.Join(all, " ")
}

// Call sends the browser a command.
func Call[P, R any](b *Tab, command cdp.Command[P, R], params P) {
	b.Helper()
	if _, err := chromedp.Call(b.ctx, command, params); err != nil {
		b.Fatal(err)
	}
}

// Do runs actions of a user.
func (b *Tab) Do(actions ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	if err := chromedp.Do(b.ctx, actions...); err != nil {
		b.Fatal(err)
	}
}

// Value returns the value of a JavaScript expression as text.
func (b *Tab) Value(expression string) string {
	b.Helper()
	text, err := chromedp.Run(b.ctx, chromedp.Evaluate[string]("String("+expression+")"))
	if err != nil {
		b.Fatal(err)
	}
	return text
}

// Reload loads the page again, from the browser's cache where it has it, and waits until the new page is there.
func (b *Tab) Reload() {
	b.Helper()
	// A reload within an evaluation can end it with an error.
	b.Value("(window.before = true, setTimeout(() => location.reload()))")
	for begin := time.Now(); time.Since(begin) < testenv.Hung; time.Sleep(50 * time.Millisecond) {
		// Questions on the way from one document to the next fail.
		const again = "window.before === undefined && document.readyState === 'complete'"
		if done, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](again)); err == nil && done {
			return
		}
	}
	b.Fatal("the page does not load again")
}

// Wait waits until an expression is true. It polls from outside, because a page's content security policy may forbid
// evaluation within the page.
func (b *Tab) Wait(expression string) {
	b.Helper()
	for begin := time.Now(); b.Value(expression) != "true"; time.Sleep(50 * time.Millisecond) {
		if time.Since(begin) > testenv.Hung {
			b.Fatalf("%s is not so; the page says %.2000q", expression, b.Value("document.body.innerText"))
		}
	}
}

// Picture returns the content of the window as PNG.
func (b *Tab) Picture() []byte {
	b.Helper()
	data, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		b.Fatal(err)
	}
	return data
}

// Text returns the text of an element.
func (b *Tab) Text(selector string) string {
	b.Helper()
	return b.Value(fmt.Sprintf("document.querySelector(%q)?.textContent", selector))
}

// InFrame waits until an expression is true in a frame of the page.
func (b *Tab) InFrame(expression string) {
	b.Helper()
	for begin := time.Now(); time.Since(begin) < testenv.Hung; time.Sleep(50 * time.Millisecond) {
		b.mu.Lock()
		frames := slices.Clone(b.frames)
		b.mu.Unlock()
		for _, frame := range frames {
			// A frame's context ends with its document.
			r, err := chromedp.Call(b.ctx, runtime.Evaluate, runtime.EvaluateParams{Expression: expression, ContextID: frame})
			if err == nil && r.Result != nil && string(r.Result.Value) == "true" {
				return
			}
		}
	}
	b.Fatalf("%s is not so in a frame", expression)
}
