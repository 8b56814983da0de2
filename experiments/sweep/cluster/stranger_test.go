package cluster_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"

	"github.com/pausenet/pausenet/experiments/sweep/cluster"
)

// TestStranger: whoever has no join string gets nothing, and a worker's key may do no more than a worker does.
func TestStranger(t *testing.T) {
	s := newLab(t).serve(t.TempDir(), 0)
	defer func() { s.stop(); <-s.ended }()
	address := s.access.Addresses[0]
	any := &tls.Config{InsecureSkipVerify: true} // a stranger does not care who the server is
	short := nats.Timeout(5 * time.Second)
	pair, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	public, _ := pair.PublicKey()
	for name, options := range map[string][]nats.Option{
		"plain":            {short},
		"TLS":              {short, nats.Secure(any), nats.TLSHandshakeFirst()},
		"a password":       {short, nats.Secure(any), nats.TLSHandshakeFirst(), nats.UserInfo("coordinator", "x")},
		"a token":          {short, nats.Secure(any), nats.TLSHandshakeFirst(), nats.Token("x")},
		"another's key":    {short, nats.Secure(any), nats.TLSHandshakeFirst(), nats.Nkey(public, pair.Sign)},
		"its public key":   {short, nats.Secure(any), nats.TLSHandshakeFirst(), nats.Nkey(workerKey(t, s), pair.Sign)},
		"TLS 1.2":          {short, nats.Secure(&tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS12}), nats.TLSHandshakeFirst()},
		"TLS by authority": {short, nats.Secure(&tls.Config{}), nats.TLSHandshakeFirst()},
	} {
		for _, scheme := range []string{"nats://", "tls://"} {
			if conn, err := nats.Connect(scheme+address, options...); err == nil {
				conn.Close()
				t.Errorf("%s, %s: a stranger has connected", scheme, name)
			}
		}
	}

	// A worker that is led to another server with another certificate gives it nothing.
	other := newLab(t).serve(t.TempDir(), 0)
	defer func() { other.stop(); <-other.ended }()
	led := *s.access
	led.Addresses = other.access.Addresses
	if _, err := led.Connect("led"); err == nil || !strings.Contains(err.Error(), "not the one of the join string") {
		t.Errorf("a server of another certificate: %v", err)
	}
	wrong := *s.access
	seed, _ := pair.Seed()
	wrong.Seed = string(seed)
	if _, err := wrong.Connect("wrong"); !errors.Is(err, nats.ErrAuthorization) {
		t.Errorf("another's key with the certificate: %v", err)
	}

	// A worker's key.
	refused := make(chan error, 100)
	conn, err := s.access.Connect("curious")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { refused <- err })
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	id := s.access.ID
	ctx, stop := context.WithTimeout(t.Context(), most)
	defer stop()
	for what, try := range map[string]func(context.Context) error{
		"purge the queue": func(ctx context.Context) error {
			_, err := conn.RequestWithContext(ctx, "$JS.API.STREAM.PURGE.PAUSENET_"+id+"_WORK", nil)
			return err
		},
		"delete the queue": func(ctx context.Context) error { return js.DeleteStream(ctx, "PAUSENET_"+id+"_WORK") },
		"write a point": func(ctx context.Context) error {
			_, err := js.Publish(ctx, "pausenet."+id+".work.0", nil, jetstream.WithRetryAttempts(0))
			return err
		},
		"read the results": func(ctx context.Context) error { _, err := js.Stream(ctx, "PAUSENET_"+id+"_RESULTS"); return err },
		"read the state":   func(ctx context.Context) error { _, err := js.KeyValue(ctx, "pausenet-"+id+"-state"); return err },
		"write the state": func(ctx context.Context) error {
			_, err := js.Publish(ctx, "$KV.pausenet-"+id+"-state.worker.curious", []byte("{}"), jetstream.WithRetryAttempts(0))
			return err
		},
		"delete the store": func(ctx context.Context) error { return js.DeleteObjectStore(ctx, "pausenet-"+id) },
		"have another stream": func(ctx context.Context) error {
			_, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "mine"})
			return err
		},
		"list streams": func(ctx context.Context) error {
			_, err := conn.RequestWithContext(ctx, "$JS.API.STREAM.NAMES", nil)
			return err
		},
	} {
		one, stop := context.WithCancel(ctx)
		heard := make(chan error, 1)
		go func() { heard <- try(one) }()
		select {
		case err := <-heard:
			if !errors.Is(err, nats.ErrPermissionViolation) && !errors.Is(err, nats.ErrNoResponders) && err == nil {
				t.Errorf("a worker may %s", what)
			}
			select {
			case <-refused: // one for each that the client has also told
			default:
			}
		case err := <-refused:
			if !errors.Is(err, nats.ErrPermissionViolation) {
				t.Errorf("%s: %v", what, err)
			}
		case <-ctx.Done():
			t.Errorf("%s: neither refused nor answered", what)
		}
		stop()
	}
	for _, subject := range []string{">", "pausenet.>", "_COORDINATOR.>", "$JS.>", "$SYS.>"} {
		for len(refused) > 0 {
			<-refused
		}
		subscription, err := conn.SubscribeSync(subject)
		if err != nil {
			continue
		}
		select {
		case err := <-refused:
			if !errors.Is(err, nats.ErrPermissionViolation) {
				t.Errorf("%s: %v", subject, err)
			}
		case <-ctx.Done():
			t.Errorf("a worker listens to %s", subject)
		}
		_ = subscription.Unsubscribe()
	}
}

func workerKey(t *testing.T, s *served) string {
	t.Helper()
	pair, err := nkeys.FromSeed([]byte(s.access.Seed))
	if err != nil {
		t.Fatal(err)
	}
	public, err := pair.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	return public
}

// TestPrivate: nobody but the user reads what is secret, nor a folder that others may read is taken for it.
func TestPrivate(t *testing.T) {
	s := newLab(t).serve(t.TempDir(), 0)
	for deadline := time.Now().Add(most); ; time.Sleep(10 * time.Millisecond) {
		if _, err := cluster.ReadStatus(s.dir); err == nil {
			break
		} else if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	s.stop()
	if err := <-s.ended; err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(s.private)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	for _, name := range []string{"secrets.json", cluster.JoinFile} {
		info, err := os.Lstat(filepath.Join(s.private, name))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	for _, line := range s.said {
		if strings.Contains(line, s.access.Seed) || strings.Contains(line, s.access.Join()) {
			t.Error("a secret in what is said")
		}
	}
	if err := filepath.WalkDir(s.private, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && filepath.Base(path) != "secrets.json" && filepath.Base(path) != cluster.JoinFile {
			data, _ := os.ReadFile(path)
			if strings.Contains(string(data), s.access.Seed) {
				t.Errorf("%s has the worker's key", path)
			}
		}
		return err
	}); err != nil {
		t.Error(err)
	}
	if err := os.Chmod(s.private, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := cluster.PrivateFolder(s.dir); err == nil || !strings.Contains(err.Error(), "not a folder of yours alone") {
		t.Error(err)
	}
}

// TestJoin: a join string is itself again, and one that is cut or of something else is refused without being repeated.
func TestJoin(t *testing.T) {
	a := &cluster.Access{Addresses: []string{"h:1"}, Pin: strings.Repeat("a", 64), Seed: "SUX", ID: "0123456789abcdef"}
	if b, err := cluster.ParseJoin(" " + a.Join() + "\n"); err != nil || b.Join() != a.Join() {
		t.Error(err)
	}
	for _, text := range []string{"", "x", a.Join()[:40], a.Join()[:len(a.Join())-4], "pausenet-join-2" + a.Join()[15:]} {
		if _, err := cluster.ParseJoin(text); err == nil || text != "" && len(text) > 1 && strings.Contains(err.Error(), text) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
