package main

import (
	"compress/gzip"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"github.com/pausenet/pausenet/internal/testenv/browser"
)

// served returns a simple server with the playground, which is built once.
var served = sync.OnceValues(func() (*httptest.Server, error) {
	var err error
	if folder, err = os.MkdirTemp("", "playground"); err != nil {
		return nil, err
	}
	if err := build(folder, gzip.BestSpeed); err != nil {
		return nil, err
	}
	return httptest.NewServer(http.FileServer(http.Dir(folder))), nil
})

// folder holds the served files; the last test removes it.
var folder string

func TestMain(m *testing.M) {
	code := browser.Main{M: m}.Run()
	if folder != "" {
		_ = os.RemoveAll(folder)
	}
	os.Exit(code)
}

// tab represents a browser's tab with the playground.
type tab struct{ *browser.Tab }

// open opens the playground in a window of its own, with something behind its address.
func open(t *testing.T, behind string) *tab {
	t.Helper()
	browser.Need(t)
	server, err := served()
	if err != nil {
		t.Fatal(err)
	}
	return &tab{browser.Open(t, server.URL+"/", behind, 1440, 900)}
}

// says waits until the line over the results begins with something.
func (b *tab) says(prefix string) {
	b.Helper()
	b.Wait(fmt.Sprintf("document.querySelector('#state')?.textContent.startsWith(%q)", prefix))
}

// write replaces the text of an editor, given by the name of its tab, by the keyboard.
func (b *tab) write(editor, text string) {
	b.Helper()
	b.Do(chromedp.Click(chromedp.ID("tab-" + editor)))
	b.Value(fmt.Sprintf("[...document.querySelectorAll('[aria-labelledby=tab-%s] div')].find((e) => "+
		"e.shadowRoot).shadowRoot.querySelector('.cm-content').focus()", editor))
	b.Do(chromedp.KeyEvent("a", chromedp.KeyModifiers(chromedp.ModifierCtrl)))
	browser.Call(b.Tab, input.InsertText, input.InsertTextParams{Text: text})
}

// number parses a number that the page has.
func number(t *testing.T, text string) float64 {
	t.Helper()
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
