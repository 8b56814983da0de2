package view

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Server serves runs, or a live fabric, to the browsers of this machine's user: on the loopback interface, on a port
// that the kernel chooses, below a token that is part of the address.
//
// Another page open in the same browser can reach the port too, by a name that resolves to 127.0.0.1 (DNS rebinding),
// or across origins. So requests for another host, or from another origin, are refused even with the token.
type Server struct {
	listener net.Listener
	token    string
	title    string
	runs     [][]byte
	live     *Live // nil: runs
}

// Live provides the data for a page of a live fabric.
type Live struct {
	// Changes is true if the page offers to change the fabric.
	Changes bool
	// Handler serves the page's requests, by paths below the token such as "events". A POST request has also sent the
	// token in its header TokenHeader.
	Handler http.Handler
	// Limit wraps a listener and limits its connections, because the fabric's own process may serve the page. State is
	// called when a request starts or ends on a connection.
	Limit func(net.Listener) net.Listener
	State func(net.Conn, http.ConnState)
}

// TokenHeader names the header of requests that change something. No page of another origin can send it, because the
// browser would ask the server first.
const TokenHeader = "Pausenet-Token"

// Listen returns a server with an address; Serve serves requests.
func Listen(title string, runs [][]byte) (*Server, error) {
	return listen(&Server{title: title, runs: runs})
}

// ListenLive makes one of a live fabric.
func ListenLive(title string, source Live) (*Server, error) {
	s, err := listen(&Server{title: title, live: &source})
	if err == nil {
		s.listener = source.Limit(s.listener)
	}
	return s, err
}

func listen(s *Server) (_ *Server, err error) {
	s.token = rand.Text()
	s.listener, err = (&net.ListenConfig{}).Listen(context.Background(), "tcp4", "127.0.0.1:0")
	return s, err
}

// URL returns the page's address.
func (s *Server) URL() string { return fmt.Sprintf("http://%s/%s/", s.listener.Addr(), s.token) }

// farewell sets how long clients may take to read responses in progress when the server ends.
const farewell = time.Second

// Serve serves until the context is done. Requests' contexts are done then too.
func (s *Server) Serve(ctx context.Context) error {
	// What a local program may hold open by not going on is bounded; runs are sent in one go.
	server := &http.Server{
		Handler: http.HandlerFunc(s.handle), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute,
		MaxHeaderBytes: 1 << 16,
		BaseContext:    func(net.Listener) context.Context { return ctx },
	}
	if s.live != nil {
		server.ConnState = s.live.State
	}
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
		defer cancel()
		if server.Shutdown(last) != nil {
			_ = server.Close()
		}
	})
	defer func() {
		if !stop() {
			<-ended
		}
	}()
	if err := server.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// allowed reports whether a request comes from the page itself, or from somebody who knows its address.
func (s *Server) allowed(r *http.Request) bool {
	host := s.listener.Addr().String()
	origins := r.Header.Values("Origin")
	if r.Host != host || len(origins) > 1 || len(origins) == 1 && origins[0] != "http://"+host {
		return false
	}
	site := r.Header.Get("Sec-Fetch-Site") // of browsers since 2023; "none" is the user's own doing
	return site == "" || site == "none" || site == "same-origin"
}

func (s *Server) handle(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy("'self'", "'self'", "'self'")+"; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer") // the address has the token
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	if !s.allowed(r) {
		http.Error(w, "this address is for the page of pausenet alone", http.StatusForbidden)
		return
	}
	reads := r.Method == http.MethodGet || r.Method == http.MethodHead
	if !reads && (s.live == nil || r.Method != http.MethodPost) {
		h.Set("Allow", "GET, HEAD")
		http.Error(w, "there is nothing here but to be read", http.StatusMethodNotAllowed)
		return
	}
	token, name, below := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if !below || !s.isToken(token) {
		http.Error(w, "nothing is here: open the address that pausenet has printed", http.StatusNotFound)
		return
	}
	if !reads && !s.isToken(r.Header.Get(TokenHeader)) {
		http.Error(w, "what changes something has the token in the header "+TokenHeader, http.StatusForbidden)
		return
	}
	kind, data := s.file(name)
	if s.live != nil && (data == nil || !reads) {
		r.URL.Path = name
		s.live.Handler.ServeHTTP(w, r)
		return
	}
	if data == nil {
		http.NotFound(w, r)
		return
	}
	h.Set("Content-Type", kind)
	h.Set("Content-Length", strconv.Itoa(len(data)))
	if r.Method == http.MethodGet {
		_, _ = w.Write(data) // a browser that has gone away is no mistake
	}
}

func (s *Server) isToken(word string) bool {
	return subtle.ConstantTimeCompare([]byte(word), []byte(s.token)) == 1
}

// file returns the content type and the data of a path below the token; nil data if there is no such path.
func (s *Server) file(name string) (kind string, data []byte) {
	switch name {
	case "":
		return "text/html; charset=utf-8", []byte(page(s.title, strconv.Itoa(len(s.runs)), s.live.meta()))
	case "view.js":
		return "text/javascript; charset=utf-8", script
	case "view.css":
		return "text/css; charset=utf-8", style
	}
	if number, ok := strings.CutPrefix(name, "run/"); ok {
		if i, err := strconv.Atoi(number); err == nil && i >= 0 && i < len(s.runs) {
			return "application/octet-stream", s.runs[i]
		}
	}
	return "", nil
}
