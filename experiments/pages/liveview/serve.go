//go:build linux

package liveview

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/pausenet/pausenet/experiments/live"
)

const (
	// takesWithin limits how long a page may take to receive data. A slower page is disconnected, and reconnects if it
	// still exists.
	takesWithin = 15 * time.Second
	// beatEvery sets how often a feed without events sends a message, so that the page knows that the feed is alive.
	beatEvery = 10 * time.Second
)

// ServeHTTP serves the page's API.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == "events" && r.Method == http.MethodGet:
		p.serveEvents(w, r)
	case r.URL.Path == "way" && r.Method == http.MethodGet:
		p.serveWay(w, r)
	case r.URL.Path == "do" && r.Method == http.MethodPost:
		p.serveChange(w, r)
	default:
		http.NotFound(w, r)
	}
}

// serveEvents writes events as server-sent events, until the page disconnects or the fabric ends. A page that
// reconnects sends the number of its last message.
func (p *Page) serveEvents(w http.ResponseWriter, r *http.Request) {
	if !p.feed.enter() {
		http.Error(w, fmt.Sprintf("the fabric already has %d open pages, the most allowed: close some", mostReaders),
			http.StatusServiceUnavailable)
		return
	}
	defer p.feed.leave()
	number, err := strconv.Atoi(r.Header.Get("Last-Event-ID"))
	if err != nil || number < 0 {
		number = 0
	}
	head, err := json.Marshal(&p.head)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	out := http.NewResponseController(w)
	write := func(parts ...[]byte) bool {
		_ = out.SetWriteDeadline(time.Now().Add(takesWithin))
		for _, part := range parts {
			if _, err := w.Write(part); err != nil {
				return false
			}
		}
		return out.Flush() == nil
	}
	if !write(fmt.Appendf(nil, "retry: 1000\nevent: hello\ndata: %s\n\n", head)) {
		return
	}
	beat := time.NewTicker(beatEvery)
	defer beat.Stop()
	for {
		messages, last, wake, over := p.feed.after(number)
		if len(messages) > 0 && !write(messages...) || over {
			return
		}
		number = last
		select {
		case <-wake:
		case <-beat.C:
			if !write([]byte(":\n\n")) {
				return
			}
		case <-r.Context().Done():
			// The fabric's end is the last message, and ends this too.
			if messages, _, _, over := p.feed.after(number); over {
				write(messages...)
			}
			return
		}
	}
}

// serveWay returns the ports by which an open flow's packets leave; none if the flow is not open.
func (p *Page) serveWay(w http.ResponseWriter, r *http.Request) {
	number, err := strconv.Atoi(r.URL.Query().Get("flow"))
	if err != nil {
		http.Error(w, "way?flow=NUMBER", http.StatusBadRequest)
		return
	}
	ways := []int{}
	if c, err := live.Dial(p.fabric); err == nil {
		defer c.Close()
		if reply, err := c.Ask(live.Request{Verb: "way", Flow: number}); err == nil {
			for _, name := range reply.Lines {
				ways = append(ways, slices.Index(p.head.Ports, name))
			}
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(ways) // a browser that has gone away is no mistake
}
