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

// Server serves runs to the browsers of this machine's user: on the loopback interface, on a port that the kernel chooses, below a token
// that only who is told the address has.
//
// Another page that the same browser has open reaches the port too, by a name that it has resolve to 127.0.0.1 (DNS rebinding), or across
// origins. So what names another host, or comes from another origin, is refused, token or not.
type Server struct {
	listener net.Listener
	token    string
	title    string
	runs     [][]byte
}

// Listen makes a server, whose address is known from then on; Serve serves.
func Listen(title string, runs [][]byte) (*Server, error) {
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	return &Server{listener, rand.Text(), title, runs}, nil
}

// URL is the page's address.
func (s *Server) URL() string { return fmt.Sprintf("http://%s/%s/", s.listener.Addr(), s.token) }

// Serve serves until the context is done.
func (s *Server) Serve(ctx context.Context) error {
	// What a local program may hold open by not going on is bounded; runs are sent in one go.
	server := &http.Server{Handler: http.HandlerFunc(s.handle), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 1 << 16}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// allowed says whether a request is from the page itself, or from who was told its address.
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
		http.Error(w, "this address is for the page of pausenet view alone", http.StatusForbidden)
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.Set("Allow", "GET, HEAD")
		http.Error(w, "there is nothing here but to be read", http.StatusMethodNotAllowed)
		return
	}
	token, name, below := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if !below || subtle.ConstantTimeCompare([]byte(token), []byte(s.token)) != 1 {
		http.Error(w, "nothing is here: open the address that pausenet view has printed", http.StatusNotFound)
		return
	}
	kind, data := s.file(name)
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

// file is what is below the token.
func (s *Server) file(name string) (kind string, data []byte) {
	switch name {
	case "":
		return "text/html; charset=utf-8", []byte(page(s.title, len(s.runs), ""))
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
