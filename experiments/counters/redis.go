package counters

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Server answers the read commands of the redis protocol (RESP2) from databases like COUNTERS_DB: HGETALL, HGET, HMGET,
// HLEN, HKEYS, HVALS, HEXISTS, KEYS, SCAN, EXISTS, TYPE, DBSIZE, SELECT, PING, ECHO, COMMAND, INFO, QUIT. It refuses
// commands that write.
type Server struct {
	// Database returns the hashes of database number n. Several goroutines call it at once.
	Database func(n int) (Database, error)

	mutex    sync.Mutex
	open     map[net.Conn]bool
	closed   bool
	handlers sync.WaitGroup
}

const (
	mostClients   = 64
	mostArguments = 1024
	mostArgument  = 1 << 16 // bytes
	idleTime      = 10 * time.Minute
)

// Serve accepts connections until the listener is closed, and then closes them.
func (s *Server) Serve(l net.Listener) error {
	for {
		c, err := l.Accept()
		if err != nil {
			s.closeAll()
			if errors.Is(err, net.ErrClosed) {
				err = nil
			}
			return err
		}
		if !s.add(c) {
			_, _ = io.WriteString(c, "-ERR max number of clients reached\r\n")
			c.Close()
			continue
		}
		s.handlers.Go(func() {
			defer s.remove(c)
			s.serve(c)
		})
	}
}

func (s *Server) add(c net.Conn) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.closed || len(s.open) >= mostClients {
		return false
	}
	if s.open == nil {
		s.open = map[net.Conn]bool{}
	}
	s.open[c] = true
	return true
}

func (s *Server) remove(c net.Conn) {
	c.Close()
	s.mutex.Lock()
	defer s.mutex.Unlock()
	delete(s.open, c)
}

func (s *Server) closeAll() {
	s.mutex.Lock()
	s.closed = true
	for c := range s.open {
		c.Close()
	}
	s.mutex.Unlock()
	s.handlers.Wait()
}

// serve answers one client.
func (s *Server) serve(c net.Conn) {
	in, out := bufio.NewReader(c), bufio.NewWriter(c)
	client := &client{server: s, out: out}
	for {
		_ = c.SetDeadline(time.Now().Add(idleTime))
		words, err := readCommand(in)
		if err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) {
				client.fail("Protocol error: " + err.Error())
				_ = out.Flush()
			}
			return
		}
		if len(words) == 0 {
			continue
		}
		client.answer(words)
		if in.Buffered() == 0 || client.quit {
			if out.Flush() != nil || client.quit {
				return
			}
		}
	}
}

// readCommand reads an array of bulk strings, or an inline command.
func readCommand(in *bufio.Reader) ([]string, error) {
	line, err := readLine(in)
	if err != nil {
		return nil, err
	}
	count, ok := strings.CutPrefix(line, "*")
	if !ok {
		return strings.Fields(line), nil
	}
	n, err := strconv.Atoi(count)
	if err != nil || n > mostArguments {
		return nil, errors.New("invalid multibulk length")
	}
	var words []string
	for range n {
		if line, err = readLine(in); err != nil {
			return nil, err
		}
		size, err := strconv.Atoi(strings.TrimPrefix(line, "$"))
		if line == "" || line[0] != '$' || err != nil || size < 0 || size > mostArgument {
			return nil, errors.New("invalid bulk length")
		}
		data := make([]byte, size+2)
		if _, err := io.ReadFull(in, data); err != nil {
			return nil, err
		}
		if string(data[size:]) != "\r\n" {
			return nil, errors.New("a bulk string does not end where it should")
		}
		words = append(words, string(data[:size]))
	}
	return words, nil
}

func readLine(in *bufio.Reader) (string, error) {
	line, err := in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		return "", errors.New("too big inline request")
	}
	return strings.TrimRight(string(line), "\r\n"), err
}

// client holds the state of a connection.
type client struct {
	server   *Server
	out      *bufio.Writer
	selected int // number of the database
	quit     bool
}

func (c *client) fail(message string)   { fmt.Fprintf(c.out, "-ERR %s\r\n", message) }
func (c *client) status(text string)    { fmt.Fprintf(c.out, "+%s\r\n", text) }
func (c *client) integer(n int)         { fmt.Fprintf(c.out, ":%d\r\n", n) }
func (c *client) array(n int)           { fmt.Fprintf(c.out, "*%d\r\n", n) }
func (c *client) bulk(text string)      { fmt.Fprintf(c.out, "$%d\r\n%s\r\n", len(text), text) }
func (c *client) strings(all ...string) { c.each(len(all), func(i int) { c.bulk(all[i]) }) }

func (c *client) each(n int, write func(i int)) {
	c.array(n)
	for i := range n {
		write(i)
	}
}

// orNil writes a value, or nil if there is none.
func (c *client) orNil(text string, ok bool) {
	if !ok {
		_, _ = c.out.WriteString("$-1\r\n")
		return
	}
	c.bulk(text)
}

// commands holds for each command the number of its words, at least and at most (0: any number), and its answer.
var commands map[string]struct {
	least, most int
	answer      func(c *client, d Database, words []string)
}

func init() {
	type row = struct {
		least, most int
		answer      func(c *client, d Database, words []string)
	}
	commands = map[string]row{
		"PING": {1, 2, func(c *client, _ Database, words []string) {
			if len(words) > 1 {
				c.bulk(words[1])
				return
			}
			c.status("PONG")
		}},
		"ECHO":    {2, 2, func(c *client, _ Database, words []string) { c.bulk(words[1]) }},
		"SELECT":  {2, 2, (*client).selectDatabase},
		"COMMAND": {1, 0, func(c *client, _ Database, _ []string) { c.array(0) }},
		"INFO":    {1, 0, func(c *client, _ Database, _ []string) { c.bulk("# Server\r\nredis_mode:standalone\r\n") }},
		"QUIT": {1, 1, func(c *client, _ Database, _ []string) {
			c.quit = true
			c.status("OK")
		}},
		"DBSIZE": {1, 1, func(c *client, d Database, _ []string) { c.integer(len(d)) }},
		"KEYS": {2, 2, func(c *client, d Database, words []string) {
			c.strings(slices.DeleteFunc(sorted(d), func(key string) bool { return !matches(words[1], key) })...)
		}},
		"SCAN": {2, 0, (*client).scan},
		"EXISTS": {2, 0, func(c *client, d Database, words []string) {
			n := 0
			for _, key := range words[1:] {
				if d[key] != nil {
					n++
				}
			}
			c.integer(n)
		}},
		"TYPE": {2, 2, func(c *client, d Database, words []string) {
			if d[words[1]] == nil {
				c.status("none")
				return
			}
			c.status("hash")
		}},
		"HGETALL": {2, 2, func(c *client, d Database, words []string) {
			var all []string
			for _, field := range sorted(d[words[1]]) {
				all = append(all, field, d[words[1]][field])
			}
			c.strings(all...)
		}},
		"HKEYS": {2, 2, func(c *client, d Database, words []string) { c.strings(sorted(d[words[1]])...) }},
		"HVALS": {2, 2, func(c *client, d Database, words []string) {
			fields := sorted(d[words[1]])
			c.each(len(fields), func(i int) { c.bulk(d[words[1]][fields[i]]) })
		}},
		"HGET": {3, 3, func(c *client, d Database, words []string) {
			value, ok := d[words[1]][words[2]]
			c.orNil(value, ok)
		}},
		"HMGET": {3, 0, func(c *client, d Database, words []string) {
			c.each(len(words)-2, func(i int) {
				value, ok := d[words[1]][words[2+i]]
				c.orNil(value, ok)
			})
		}},
		"HEXISTS": {3, 3, func(c *client, d Database, words []string) {
			n := 0
			if _, ok := d[words[1]][words[2]]; ok {
				n = 1
			}
			c.integer(n)
		}},
		"HLEN": {2, 2, func(c *client, d Database, words []string) { c.integer(len(d[words[1]])) }},
	}
}

// answer answers one command.
func (c *client) answer(words []string) {
	name := strings.ToUpper(words[0])
	command, known := commands[name]
	switch {
	case !known:
		c.fail(fmt.Sprintf("unknown command '%.64s': this server only reads counters", printable(words[0])))
		return
	case len(words) < command.least || command.most > 0 && len(words) > command.most:
		c.fail(fmt.Sprintf("wrong number of arguments for '%s' command", strings.ToLower(name)))
		return
	}
	d, err := c.server.Database(c.selected)
	if err != nil {
		c.fail(printable(err.Error()))
		return
	}
	command.answer(c, d, words)
}

// printable returns a text without line breaks, which would end an error.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, text)
}

// selectDatabase implements SELECT. Redis has databases 0 to 15 by default.
func (c *client) selectDatabase(_ Database, words []string) {
	n, err := strconv.Atoi(words[1])
	if err != nil || n < 0 || n > 15 {
		c.fail("DB index is out of range")
		return
	}
	c.selected = n
	c.status("OK")
}

// scan implements SCAN. One reply has all keys.
func (c *client) scan(d Database, words []string) {
	pattern := "*"
	kind := "hash"
	for i := 2; i+1 < len(words); i += 2 {
		switch strings.ToUpper(words[i]) {
		case "MATCH":
			pattern = words[i+1]
		case "TYPE":
			kind = strings.ToLower(words[i+1])
		case "COUNT":
		default:
			c.fail("syntax error")
			return
		}
	}
	keys := slices.DeleteFunc(sorted(d), func(key string) bool { return kind != "hash" || !matches(pattern, key) })
	c.array(2)
	c.bulk("0")
	c.strings(keys...)
}

// matches reports whether a key matches a pattern of redis: *, ?, [set], and \ before any of them.
func matches(pattern, key string) bool {
	ok, err := path.Match(pattern, strings.ReplaceAll(key, "/", "_"))
	return err == nil && ok
}
