// Package view shows runs in a browser. Its page replays them, from a server in this process for this machine only
// (Serve), or as one file that needs no server (Export). Package replay provides the data. The same page shows live
// fabrics (ListenLive), with data from package liveview.
//
// The page consists of page/index.html, page/view.css and ES modules. "make pages" bundles them by esbuild, with uPlot,
// into bundle/view.js and bundle/view.css.
package view

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html"
	"strconv"
	"strings"
)

//go:embed page/index.html
var index string

//go:embed bundle/view.js
var script []byte

//go:embed bundle/view.css
var style []byte

// Markers in index.html that are replaced.
const (
	titleMarker  = "<!--title-->"
	policyMarker = "<!--policy-->"
	styleMarker  = `<link rel="stylesheet" href="view.css">`
	scriptMarker = `<script type="module" src="view.js"></script>`
)

// policy returns the content security policy: what the page may load and run, from the given sources.
func policy(scripts, styles, data string) string {
	return fmt.Sprintf("default-src 'none'; script-src %s; style-src %s; connect-src %s; img-src data:; "+
		"base-uri 'none'; form-action 'none'", scripts, styles, data)
}

// Export returns the page with its runs in it: one file that a browser opens without a server.
func Export(title string, runs [][]byte) []byte { return single(title, strconv.Itoa(len(runs)), runs) }

// Embed returns the page for a frame of another page of the same origin. It posts "ready" to that page, which answers
// with {runs, play}: a list of byte arrays, and whether the page is to play them at once.
func Embed() []byte { return single("run", "posted", nil) }

// single puts the page into one file, with runs in it. number tells the page how many there are.
func single(title, number string, runs [][]byte) []byte {
	hash := func(text []byte) string {
		sum := sha256.Sum256(text)
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	meta := `<meta http-equiv="Content-Security-Policy" content="` +
		html.EscapeString(policy(hash(script), hash(style), "'none'")) + `">`
	before, behind, _ := strings.Cut(page(title, number, meta), scriptMarker)
	var b bytes.Buffer
	b.WriteString(strings.Replace(before, styleMarker, "<style>"+string(style)+"</style>", 1))
	for _, run := range runs {
		b.WriteString(`<script type="application/x-pausenet-replay">`)
		b.WriteString(base64.StdEncoding.EncodeToString(run))
		b.WriteString("</script>\n")
	}
	b.WriteString(`<script type="module">`)
	b.Write(script)
	b.WriteString("</script>")
	b.WriteString(behind)
	return b.Bytes()
}

// page returns index.html for that many runs.
func page(title, runs, policy string) string {
	return strings.NewReplacer(
		titleMarker, "<title>"+html.EscapeString(title)+" · pausenet</title>",
		policyMarker, fmt.Sprintf(`<meta name="runs" content="%s">%s`, runs, policy),
	).Replace(index)
}

// meta returns the tag that tells the page that it shows a live fabric, and whether it may change it.
func (l *Live) meta() string {
	switch {
	case l == nil:
		return ""
	case l.Changes:
		return `<meta name="live" content="rw">`
	}
	return `<meta name="live" content="ro">`
}
