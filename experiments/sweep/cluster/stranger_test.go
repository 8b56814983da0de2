package cluster_test

import (
	"crypto/tls"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/pausenet/pausenet/experiments/sweep/cluster"
)

// TestStranger checks that a client without the join string gets nothing, and that a worker has only a worker's
// permissions.
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
		"plain": {short},
		"TLS":   {short, nats.Secure(any), nats.TLSHandshakeFirst()},
		"a password": {
			short, nats.Secure(any), nats.TLSHandshakeFirst(),
			nats.UserInfo("coordinator", "x"),
		},
		"a token":       {short, nats.Secure(any), nats.TLSHandshakeFirst(), nats.Token("x")},
		"another's key": {short, nats.Secure(any), nats.TLSHandshakeFirst(), nats.Nkey(public, pair.Sign)},
		"its public key": {
			short, nats.Secure(any), nats.TLSHandshakeFirst(),
			nats.Nkey(workerKey(t, s), pair.Sign),
		},
		"the coordinator's public key": {
			short, nats.Secure(any), nats.TLSHandshakeFirst(),
			nats.Nkey(s.access.Coordinator, pair.Sign),
		},
		"TLS 1.2": {short, nats.Secure(&tls.Config{
			InsecureSkipVerify: true,
			MaxVersion:         tls.VersionTLS12,
		}), nats.TLSHandshakeFirst()},
		"TLS by authority": {short, nats.Secure(&tls.Config{}), nats.TLSHandshakeFirst()},
	} {
		for _, scheme := range []string{"nats://", "tls://"} {
			if conn, err := nats.Connect(scheme+address, options...); err == nil {
				conn.Close()
				t.Errorf("%s, %s: a stranger has connected", scheme, name)
			}
		}
	}

	key, err := cluster.NewIdentity()
	if err != nil {
		t.Fatal(err)
	}

	// A worker that is led to another server with another certificate gives it nothing.
	other := newLab(t).serve(t.TempDir(), 0)
	defer func() { other.stop(); <-other.ended }()
	led := *s.access
	led.Addresses = other.access.Addresses
	if _, err := led.Connect("led", key); err == nil || !strings.Contains(err.Error(), "differs from the join string") {
		t.Errorf("a server of another certificate: %v", err)
	}
	wrong := *s.access
	seed, _ := pair.Seed()
	wrong.Seed = string(seed)
	if _, err := wrong.Connect("wrong", key); !errors.Is(err, nats.ErrAuthorization) {
		t.Errorf("another's key with the certificate: %v", err)
	}

	// A worker, and another one that is not to notice it.
	conn, err := s.access.Connect("curious", key)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	id := s.access.ID
	victim, err := cluster.NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	refused := make(chan error, 100)
	conn.SetErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { refused <- err })
	for _, c := range []struct {
		subject string
		may     bool
	}{
		{"pausenet." + id + ".news", false},
		{"pausenet." + id + ".join", false},
		{"pausenet." + id + ".join." + victim.Public(), false},
		{"pausenet." + id + ".result." + victim.Public(), false},
		{"pausenet." + id + ".result." + key.Public() + ".0", false},
		{"pausenet.fedcba9876543210.result." + key.Public(), false},
		{cluster.InboxOf(victim.Public()) + ".x", false},
		{cluster.InboxOf(s.access.Coordinator) + ".x", false},
		{"$JS.API.INFO", false},
		{"$JS.API.STREAM.CREATE.mine", false},
		{"$JS.API.DIRECT.GET.OBJ_pausenet-" + id + ".x", false},
		{"$SYS.REQ.USER.INFO", false},
		{"$SYS.REQ.SERVER.PING", false},
		{"x", false},
		{"pausenet." + id + ".join." + key.Public(), true},
		{"pausenet." + id + ".result." + key.Public(), true},
	} {
		if err := errors.Join(conn.Publish(c.subject, nil), conn.Flush()); err != nil {
			t.Fatal(err)
		}
		expectRefusal(t, refused, "publish to "+c.subject, c.may)
	}
	for _, c := range []struct {
		subject string
		may     bool
	}{
		{">", false},
		{"pausenet.>", false},
		{"pausenet." + id + ".*." + key.Public(), false},
		{"_INBOX.>", false},
		{cluster.InboxOf(victim.Public()) + ".>", false},
		{cluster.InboxOf(s.access.Coordinator) + ".>", false},
		{"$JS.>", false},
		{"$SYS.>", false},
		{cluster.InboxOf(key.Public()) + ".>", true},
		{"pausenet." + id + ".news", true},
	} {
		subscription, err := conn.SubscribeSync(c.subject)
		if err := errors.Join(err, conn.Flush()); err != nil {
			t.Fatal(err)
		}
		expectRefusal(t, refused, "subscribe to "+c.subject, c.may)
		_ = subscription.Unsubscribe()
	}
}

// expectRefusal checks whether the server has refused the actions before the connection's last flush.
func expectRefusal(t *testing.T, refused <-chan error, what string, may bool) {
	t.Helper()
	if may {
		select {
		case err := <-refused:
			t.Errorf("%s: %v", what, err)
		default:
		}
		return
	}
	select {
	case err := <-refused:
		if !errors.Is(err, nats.ErrPermissionViolation) {
			t.Errorf("%s: %v", what, err)
		}
	case <-time.After(most):
		t.Fatalf("a worker may %s", what)
	}
}

// TestReplySubjects checks that a worker that requests answers outside of its inbox gets none. The coordinator may
// publish to all subjects, and could otherwise be used by the worker.
func TestReplySubjects(t *testing.T) {
	s := newLab(t).serve(t.TempDir(), 0)
	defer func() { s.stop(); <-s.ended }()
	s.listens()
	evil, err := cluster.NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	victim, err := cluster.NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	conn, err := s.access.Connect("evil", evil)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	secrets, err := cluster.LoadSecrets(s.private)
	if err != nil {
		t.Fatal(err)
	}
	all, err := secrets.ConnectCoordinator(s.access.Addresses[0])
	if err != nil {
		t.Fatal(err)
	}
	defer all.Close()
	seen, err := all.SubscribeSync(">")
	if err := errors.Join(err, all.Flush()); err != nil {
		t.Fatal(err)
	}
	id := s.access.ID
	kinds := []string{"join", "proof", "sign", "next", "piece", "result"}
	ask := func(what, reply string) {
		t.Helper()
		question := map[string]any{
			"worker": "evil", "version": "v1", "build": "b1",
			"padding": "to the size of a piece's header",
		}
		if err := evil.Request(conn, id, what, reply, question); err != nil {
			t.Fatal(err)
		}
	}
	for _, what := range kinds {
		for _, reply := range []string{
			"pausenet." + id + ".result." + victim.Public(), "pausenet." + id + ".join." + evil.Public(),
			"pausenet." + id + ".news",
			cluster.InboxOf(victim.Public()) + ".x", cluster.InboxOf(s.access.Coordinator) + ".x", "_INBOX.x",
			cluster.InboxOf(evil.Public()),
			cluster.InboxOf(evil.Public()) + "x.y", "$JS.API.STREAM.DELETE.x", "$SYS.REQ.SERVER.PING", "x",
		} {
			ask(what, reply)
		}
		ask(what, cluster.InboxOf(evil.Public())+"."+what) // it is answered, and so everything before it is over
	}
	answered := map[string]bool{}
	for len(answered) < len(kinds) {
		m, err := seen.NextMsg(most)
		if err != nil {
			t.Fatal(err)
		}
		what, inbox := strings.CutPrefix(m.Subject, cluster.InboxOf(evil.Public())+".")
		if asked := strings.HasPrefix(m.Subject, "pausenet."+id+".") && m.Reply != ""; !inbox && !asked {
			t.Errorf("%q is published to %s", m.Data, m.Subject)
		}
		if inbox {
			answered[what] = true
		}
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

// TestPrivate checks that only the user can read the secrets, and that a folder that others may read is refused.
func TestPrivate(t *testing.T) {
	s := newLab(t).serve(t.TempDir(), 0)
	s.listens()
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
	if _, err := cluster.PrivateFolder(s.dir); err == nil ||
		!strings.Contains(err.Error(), "other users can access") {
		t.Error(err)
	}
}

// TestJoin checks that a join string can be parsed again, and that damaged or foreign ones are refused without being
// repeated.
func TestJoin(t *testing.T) {
	key, err := cluster.NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	a := &cluster.Access{
		Addresses: []string{"h:1"}, Pin: strings.Repeat("a", 64), Seed: "SUX", ID: "0123456789abcdef",
		Coordinator: key.Public(),
	}
	if b, err := cluster.ParseJoin(" " + a.Join() + "\n"); err != nil || b.Join() != a.Join() {
		t.Error(err)
	}
	for _, text := range []string{"", "x", a.Join()[:40], a.Join()[:len(a.Join())-4], "pausenet-join-1" + a.Join()[15:]} {
		if _, err := cluster.ParseJoin(text); err == nil || text != "" && len(text) > 1 &&
			strings.Contains(err.Error(), text) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
