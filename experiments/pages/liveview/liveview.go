//go:build linux

// Package liveview serves a page that shows a live fabric in a browser: the page of package view, fed by server-sent
// events, and with buttons if it may change the fabric. It connects through the fabric's socket like other
// terminals, so it works the same in the fabric's process and in another.
//
// Its cost to the fabric does not depend on the number of pages: it takes one snapshot at a time, as top does, and
// none without pages. Pages read the results from a feed, and a slow page misses some.
//
// Off Linux the package is empty.
package liveview

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/pausenet/pausenet/experiments/live"
	"github.com/pausenet/pausenet/experiments/pages/view"
)

const (
	// lookEvery sets the minimum wall-clock time between two snapshots.
	lookEvery = 250 * time.Millisecond
	// rests sets the pause after a snapshot, as a multiple of its duration, to spare large fabrics.
	rests = 10
	// triesEvery sets the pause after the fabric has not answered.
	triesEvery = 2 * time.Second
)

// Page serves a live fabric's page.
type Page struct {
	fabric  string
	changes bool
	server  *view.Server
	events  *live.Client
	head    head
	order   []int // indexes of the page's ports in a snapshot
	feed    *feed

	mutex   sync.Mutex
	waiting []json.RawMessage // events for the next message
	missed  int64             // events beyond the limit
	verdict *live.Verdict     // set once the fabric has ended with a verdict

	changing sync.Mutex // locked while a change is in progress
}

// kinds lists the events for pages. PAUSE is part of the snapshots, since single frames would be too many.
func kinds() []string {
	return slices.DeleteFunc(slices.Clone(live.EventKinds),
		func(kind string) bool { return kind == live.EventPause || kind == live.EventResume })
}

// Open connects to the named fabric, or to the only one, and listens. changes means that the page may change the
// fabric.
func Open(name string, changes bool) (*Page, error) {
	c, err := live.Dial(name)
	if err != nil {
		return nil, err
	}
	p := &Page{fabric: c.Name(), changes: changes, events: c, feed: newFeed()}
	if err := errors.Join(p.learn(), p.listen()); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return p, nil
}

func (p *Page) listen() (err error) {
	p.server, err = view.ListenLive(p.fabric, view.Live{
		Changes: p.changes, Handler: p, Limit: live.Limit,
		State: live.State,
	})
	return err
}

// learn queries the fabric's description.
func (p *Page) learn() error {
	d, err := p.events.Ask(live.Request{Verb: "inspect"})
	if err != nil {
		return err
	}
	s, err := p.events.Ask(live.Request{Verb: "snapshot"})
	if err != nil {
		return err
	}
	p.head, p.order, err = headOf(d.Inspect, s.Snapshot, p.changes)
	return err
}

// Fabric returns the name of the page's fabric.
func (p *Page) Fabric() string { return p.fabric }

// URL returns the page's address.
func (p *Page) URL() string { return p.server.URL() }

// Serve serves until the context is done, or until pages have received the fabric's end.
func (p *Page) Serve(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var all sync.WaitGroup
	all.Go(func() {
		defer cancel()
		if p.follow(ctx); ctx.Err() == nil {
			p.conclude()
		}
	})
	all.Go(func() { p.look(ctx) })
	err := p.server.Serve(ctx)
	cancel()
	all.Wait()
	return err
}

// follow reads events until the fabric has ended, or the context is done. It retries if the fabric does not answer.
func (p *Page) follow(ctx context.Context) {
	for c := p.events; ; {
		stop := context.AfterFunc(ctx, func() { _ = c.Close() })
		err := c.Events(kinds(), p.happened)
		stop()
		_ = c.Close()
		var unanswered *live.Unanswered
		for errors.As(err, &unanswered) && ctx.Err() == nil {
			p.feed.put("silent", err.Error())
			c, err = live.Dial(p.fabric)
		}
		if err != nil || ctx.Err() != nil || unanswered == nil {
			return
		}
	}
}

// Verdict returns the fabric's verdict after Serve has returned; nil if there is none.
func (p *Page) Verdict() *live.Verdict {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.verdict
}

// mostWaiting limits the events that wait for the next message.
const mostWaiting = 400

// happened queues an event.
func (p *Page) happened(line []byte) error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	var e live.Event
	if json.Unmarshal(line, &e) == nil && e.Kind == live.EventVerdict {
		p.verdict = e.Verdict
		return nil
	}
	if len(p.waiting) == mostWaiting {
		p.waiting = slices.Delete(p.waiting, 0, 1)
		p.missed++
	}
	p.waiting = append(p.waiting, slices.Clone(line[:len(line)-1]))
	return nil
}

// conclude sends the pages the fabric's end.
func (p *Page) conclude() {
	p.tell()
	p.mutex.Lock()
	defer p.mutex.Unlock()
	e := ended{Fabric: p.fabric, Verdict: p.verdict}
	if r := live.Ended(p.fabric); r != nil {
		e.Why = r.String()
	}
	p.feed.end(e)
}

// tell sends the pages the queued events.
func (p *Page) tell() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if len(p.waiting) > 0 {
		p.feed.put("happened", happened{p.waiting, p.missed})
		p.waiting, p.missed = nil, 0
	}
}

// look takes snapshots while a page is open, until the context is done.
func (p *Page) look(ctx context.Context) {
	var c *live.Client
	defer func() {
		if c != nil {
			_ = c.Close()
		}
	}()
	var last *live.Snapshot
	for rest := lookEvery; ; {
		if !p.feed.wanted() {
			if c != nil { // the fabric would close an idle connection
				_ = c.Close()
			}
			c = nil
			select {
			case <-p.feed.called:
			case <-ctx.Done():
				return
			}
		}
		started := time.Now()
		var reply *live.Reply
		var err error
		if c == nil {
			c, err = live.Dial(p.fabric)
		}
		if err == nil {
			reply, err = c.Ask(live.Request{Verb: "snapshot"})
		}
		p.tell()
		if err != nil {
			if c != nil {
				_ = c.Close()
			}
			c, rest = nil, triesEvery
			var unanswered *live.Unanswered
			if errors.As(err, &unanswered) {
				p.feed.put("silent", err.Error())
			}
		} else {
			p.feed.put("sample", sampleOf(last, reply.Snapshot, p.order))
			last, rest = reply.Snapshot, max(lookEvery, rests*time.Since(started))
		}
		select {
		case <-time.After(rest):
		case <-ctx.Done():
			return
		}
	}
}
