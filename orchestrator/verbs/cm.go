//go:build linux

package verbs

import (
	"encoding/binary"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/vtime"
)

// Events of the connection manager, numbered as in enum rdma_cm_event_type.
const (
	cmAddressResolved = 0
	cmRouteResolved   = 2
	cmConnectRequest  = 4
	cmConnectResponse = 5
	cmUnreachable     = 7
	cmRejected        = 8
	cmEstablished     = 9
	cmDisconnected    = 10
)

// Reasons of a rejection (IBTA volume 1 section 12.6.7.2).
const (
	rejectedNoService = 8
	rejectedConsumer  = 28
)

// firstEphemeral starts the range of ports for ends that request none.
const firstEphemeral = 0xc000

// maxPending limits the unanswered connection requests of a listener.
const maxPending = 128

// messageBytes sets the size of a frame with a message of the connection manager: a management datagram of 256 bytes
// over IPv6, without FCS.
const messageBytes = 14 + 40 + 8 + 12 + 8 + 256 + 4

// listenGrace limits how long a request waits for its port's listener, in wall-clock time. On a busy machine a program
// may start to listen later than the request arrives, by more than the fabric's round trip.
const listenGrace = 500 * time.Millisecond

// manager implements the connection manager of all hosts. Its messages do not cross the fabric. Each arrives after the
// delay of an idle path, in virtual time, so that none overtakes the acknowledgements and data that an idle fabric has
// delivered before to the program that it answers.
type manager struct {
	server *Server
	// never contended while the engine runs: except for the end of connections, all users run on its goroutine
	mutex     sync.Mutex
	engine    *engine.Engine // nil: the engine has ended
	listening map[service]*cmID
	due       map[vtime.Time][]func()          // messages by time of arrival
	early     map[service]map[*cmID]parameters // requests that wait for a listener
	ports     uint16
}

// service identifies a listener. Ports of datagrams and ports of connections are separate.
type service struct {
	datagrams bool
	at        netip.AddrPort
}

// cmState holds the progress of an id of the connection manager.
type cmState uint8

const (
	cmIdle cmState = iota
	cmBound
	cmListening
	cmRequesting // this end requested a connection
	cmRequested  // the other end requested a connection
	cmAccepted   // this end accepted; the other has not confirmed yet
	cmResponded  // the other end has accepted
	cmConnected
	cmEnded
)

// cmID represents an rdma_cm_id.
type cmID struct {
	connection *connection
	handle     uint32
	channel    *channel // event channel of its connection
	cookie     uint64   // 0: its program does not know it yet, or no longer
	state      cmState
	datagrams  bool // it resolves datagram queue pairs, and makes no connection
	only       bool // as a listener on any address, it listens only on its own address family
	parted     bool // the other end has disconnected, and this one not yet
	own, other netip.AddrPort
	peer       *cmID          // nil: none, or it has ended
	pending    map[*cmID]bool // unanswered requests of a listener
	listener   *cmID          // listener of such a request
}

func (m *manager) begin(s *Server) {
	m.server, m.listening, m.early, m.due =
		s, map[service]*cmID{}, map[service]map[*cmID]parameters{}, map[vtime.Time][]func(){}
}

// during runs a function between two events, with the mutex.
func (m *manager) during(f func()) error {
	return m.server.Do(func(e *engine.Engine) error {
		m.hold(e, f)
		return nil
	})
}

// hold runs a function with the mutex, and with the engine unless that has ended.
func (m *manager) hold(e *engine.Engine, f func()) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.engine = e
	f()
}

// send runs a function when a message that an id sends now arrives at the other end. After the engine's end no message
// arrives.
func (m *manager) send(id *cmID, arrive func()) {
	e := m.engine
	if e == nil {
		return
	}
	delay := m.server.oneWay(m.server.ends[id.own.Addr()], m.server.ends[id.other.Addr()])
	at := e.Now() + delay
	m.due[at] = append(m.due[at], arrive)
	if len(m.due[at]) == 1 {
		e.Call(at, func(vtime.Time) { m.hold(e, func() { m.arrive(at) }) })
	}
}

// arrive delivers all messages of a time, in the order in which they were sent.
func (m *manager) arrive(at vtime.Time) {
	due := m.due[at]
	delete(m.due, at)
	for _, f := range due {
		f()
	}
}

// oneWay returns the time of a message of the connection manager from one interface to another over an idle path.
func (s *Server) oneWay(from, to end) (t vtime.Time) {
	path := s.Plan.PathOf(from.host, to.host, topologies.Pair{From: from.position, To: to.position})
	if len(path) == 0 { // to the own host: by its leaf and back
		own := s.Plan.Nodes[from.host].Ports[from.position]
		path = []topologies.PortID{own, own}
	}
	for _, id := range path {
		port := &s.Plan.Ports[id]
		t += port.Delay + port.Rate.TimeFor(s.Plan.Framing.LineBytes(messageBytes))
	}
	return t
}

// parameters holds those of a connection, as in its messages: QP number, responder resources, initiator depth, retries,
// RNR retries, type of service, private data.
type parameters struct {
	numbers [6]uint64
	private []byte
}

func (r *request) parameters() (p parameters) {
	for i := range p.numbers {
		p.numbers[i] = uint64(r.small())
	}
	p.private = r.private()
	return p
}

func (r *request) private() []byte {
	n := r.next()
	if n > maxPrivate {
		r.bad = true
		return nil
	}
	return append([]byte(nil), r.bytes(int(n))...)
}

// notify sends a program an event of an ID that it knows. It returns an error for the accept of a request that ended
// before the program learned of it.
func (id *cmID) notify(event, status uint64, fresh *cmID, p parameters) {
	if id.cookie == 0 {
		return
	}
	about, handle := id, uint64(0)
	if fresh != nil {
		about, handle = fresh, uint64(fresh.handle)
	}
	words := []uint64{
		event, id.cookie, status, handle, addressIn(about.own), uint64(about.own.Port()),
		addressIn(about.other), uint64(about.other.Port()),
	}
	words = append(words, p.numbers[:]...)
	words = append(words, uint64(len(p.private)))
	padded := make([]byte, (len(p.private)+7)&^7)
	copy(padded, p.private)
	for ; len(padded) > 0; padded = padded[8:] {
		words = append(words, binary.NativeEndian.Uint64(padded))
	}
	if id.channel.fd >= 0 {
		id.channel.notify(words...)
		id.connection.server.Clock.Touch()
	}
}

func addressIn(a netip.AddrPort) uint64 {
	if !a.IsValid() {
		return 0
	}
	return address(a.Addr())
}

// do executes a request to the connection manager.
func (m *manager) do(c *connection, op uint64, r *request) reply {
	handle := r.small()
	if op == opCMID {
		return m.create(c, handle, r)
	}
	id := c.ids[handle]
	if r.bad || id == nil {
		return failed(unix.EINVAL)
	}
	switch op {
	case opCMBind:
		where, port, only := r.address(), r.next(), r.next()
		if r.bad || port>>16 != 0 || id.state != cmIdle {
			return failed(unix.EINVAL)
		}
		id.only = only != 0
		return m.bind(id, where, uint16(port))
	case opCMListen:
		return m.listen(id)
	case opCMResolve:
		return m.resolve(id, r)
	case opCMRoute:
		if id.state != cmBound || !id.other.IsValid() {
			return failed(unix.EINVAL)
		}
		id.notify(cmRouteResolved, 0, nil, parameters{})
		return reply{}
	case opCMConnect:
		port, p := r.next(), r.parameters()
		if r.bad || port>>16 != 0 || id.state != cmBound || !id.other.IsValid() {
			return failed(unix.EINVAL)
		}
		id.other = netip.AddrPortFrom(id.other.Addr(), uint16(port))
		id.state = cmRequesting
		m.send(id, func() { m.requested(id, p) })
		return reply{}
	case opCMMove:
		channel, cookie := r.small(), r.next()
		return m.move(c, id, channel, cookie)
	}
	return m.proceed(id, op, r)
}

// proceed executes a request about an id that has the other end.
func (m *manager) proceed(id *cmID, op uint64, r *request) reply {
	switch op {
	case opCMAccept:
		_, p := r.next(), r.parameters()
		if r.bad || id.state != cmRequested {
			return failed(unix.EINVAL)
		}
		id.answered()
		if id.datagrams { // each goes its own way now
			m.part(id, func(peer *cmID) { peer.notify(cmEstablished, 0, nil, p) })
			break
		}
		id.state = cmAccepted
		m.send(id, func() {
			if peer := id.peer; peer != nil && peer.state == cmRequesting {
				peer.state = cmResponded
				peer.notify(cmConnectResponse, 0, nil, p)
			}
		})
	case opCMReject:
		private := r.private()
		if r.bad || id.state != cmRequested {
			return failed(unix.EINVAL)
		}
		id.answered()
		m.part(id, func(peer *cmID) { peer.notify(cmRejected, rejectedConsumer, nil, parameters{private: private}) })
	case opCMEstablish:
		if id.state != cmResponded {
			return failed(unix.EINVAL)
		}
		id.state = cmConnected
		m.send(id, func() {
			if peer := id.peer; peer != nil && peer.state == cmAccepted {
				peer.state = cmConnected
				peer.notify(cmEstablished, 0, nil, parameters{})
			}
		})
	case opCMDisconnect:
		if id.parted { // by the other end: this one may still say so, as on Linux, and its event is on the way
			id.parted = false
			return reply{}
		}
		if id.state != cmConnected && id.state != cmAccepted && id.state != cmResponded {
			return failed(unix.EINVAL)
		}
		m.part(id, func(peer *cmID) {
			peer.parted = true
			peer.notify(cmDisconnected, 0, nil, parameters{})
		})
		m.send(id, func() { id.notify(cmDisconnected, 0, nil, parameters{}) })
	default:
		return failed(unix.EINVAL)
	}
	return reply{}
}

// create makes an id whose events go to a channel of the connection's; 0: no channel yet.
func (m *manager) create(c *connection, handle uint32, r *request) reply {
	cookie, service := r.next(), r.next()
	ch, ok := c.channels[handle]
	if r.bad || !ok || service > serviceDatagram {
		return failed(unix.EINVAL)
	}
	id := m.add(c, ch, cookie)
	if id == nil {
		return failed(unix.ENOMEM)
	}
	id.datagrams = service == serviceDatagram
	return answer(uint64(id.handle))
}

func (m *manager) add(c *connection, ch *channel, cookie uint64) *cmID {
	if !c.host.quota.take(holdings{objects: 1}) {
		return nil
	}
	ch.users++
	id := &cmID{connection: c, handle: c.nextHandle(), channel: ch, cookie: cookie}
	c.ids[id.handle] = id
	return id
}

// bind assigns an address and a port of this host to an id. Zero values mean any address or any port.
func (m *manager) bind(id *cmID, at netip.Addr, port uint16) reply {
	host := id.connection.host.id
	end, known := m.server.ends[at]
	if !at.IsUnspecified() && (!known || end.host != host) {
		return failed(unix.EADDRNOTAVAIL)
	}
	if port == 0 {
		m.ports++
		port = firstEphemeral + m.ports%(1<<16-firstEphemeral)
	}
	id.own = netip.AddrPortFrom(at, port)
	id.state = cmBound
	return answer(address(at), uint64(port), uint64(end.position))
}

// anyOf returns the address that stands for all interfaces of a host in listening.
func (m *manager) anyOf(id *cmID) netip.Addr {
	ports := m.server.Plan.Nodes[id.connection.host.id].Ports
	return m.server.Plan.Address(ports[0])
}

func (m *manager) listen(id *cmID) reply {
	if id.state != cmBound {
		return failed(unix.EINVAL)
	}
	for _, at := range m.listensAt(id) {
		if m.listening[at] != nil {
			return failed(unix.EADDRINUSE)
		}
	}
	for _, at := range m.listensAt(id) {
		m.listening[at] = id
	}
	id.state, id.pending = cmListening, map[*cmID]bool{}
	for _, at := range m.listensAt(id) {
		waiting := m.early[at]
		delete(m.early, at)
		for from, p := range waiting {
			m.requested(from, p)
		}
	}
	return reply{}
}

// listensAt returns the services of a listener. A listener on any IPv6 address also listens on any IPv4 address, unless
// it is limited to its own family.
func (m *manager) listensAt(id *cmID) (all []service) {
	any, port := id.own.Addr(), id.own.Port()
	if !any.IsUnspecified() {
		return []service{{id.datagrams, id.own}}
	}
	for _, p := range m.server.Plan.Nodes[id.connection.host.id].Ports {
		at := m.server.Plan.Address(p)
		if any.Is4() || !id.only {
			all = append(all, service{id.datagrams, netip.AddrPortFrom(at, port)})
		}
		if any.Is6() || !id.only {
			all = append(all, service{id.datagrams, netip.AddrPortFrom(over6(at), port)})
		}
	}
	return all
}

// resolve finds this host's end of the path to an address.
func (m *manager) resolve(id *cmID, r *request) reply {
	other := r.address()
	if r.bad || id.state > cmBound {
		return failed(unix.EINVAL)
	}
	to, known := m.server.ends[other]
	if !known {
		return failed(unix.ENETUNREACH)
	}
	own := id.own.Addr()
	if id.state == cmIdle || own.IsUnspecified() {
		own = m.anyOf(id)
		// of the same plane, where planes are apart
		if ports := m.server.Plan.Nodes[id.connection.host.id].Ports; int(to.position) < len(ports) {
			own = m.server.Plan.Address(ports[to.position])
		}
		if other.Is6() {
			own = over6(own)
		}
	}
	if own.Is6() != other.Is6() {
		return failed(unix.EINVAL)
	}
	bound := m.bind(id, own, id.own.Port())
	if bound.status != 0 {
		return bound
	}
	id.other = netip.AddrPortFrom(other, 0)
	id.notify(cmAddressResolved, 0, nil, parameters{})
	return bound
}

// requested handles the arrival of a connection request.
func (m *manager) requested(from *cmID, p parameters) {
	if from.state != cmRequesting {
		return
	}
	at := service{from.datagrams, from.other}
	l := m.listening[at]
	if l == nil {
		if m.early[at] == nil {
			m.early[at] = map[*cmID]parameters{}
		}
		m.early[at][from] = p
		time.AfterFunc(listenGrace, func() { _ = m.during(func() { m.nobody(from) }) })
		return
	}
	var id *cmID
	if len(l.pending) < maxPending {
		id = m.add(l.connection, l.channel, 0)
	}
	if id == nil {
		m.refuse(from)
		return
	}
	l.pending[id] = true
	id.state, id.listener, id.datagrams = cmRequested, l, from.datagrams
	id.own, id.other = from.other, from.own
	id.peer, from.peer = from, id
	// Resources and depth are each other's, seen from the other end.
	p.numbers[1], p.numbers[2] = p.numbers[2], p.numbers[1]
	l.notify(cmConnectRequest, 0, id, p)
}

// refuse rejects a connection request that no listener accepts.
func (m *manager) refuse(from *cmID) {
	m.send(from, func() {
		if from.state == cmRequesting {
			from.state = cmEnded
			from.notify(cmRejected, rejectedNoService, nil, parameters{})
		}
	})
}

// nobody ends a request's wait for a listener.
func (m *manager) nobody(from *cmID) {
	if m.unwait(from) {
		m.refuse(from)
	}
}

// unwait removes an ID's request from its listener's queue, and reports whether it was there.
func (m *manager) unwait(from *cmID) bool {
	at := service{from.datagrams, from.other}
	_, waits := m.early[at][from]
	delete(m.early[at], from)
	if len(m.early[at]) == 0 {
		delete(m.early, at)
	}
	return waits
}

// answered removes an answered request from its listener's pending requests.
func (id *cmID) answered() {
	if id.listener != nil {
		delete(id.listener.pending, id)
		id.listener = nil
	}
}

// part ends an id's connection, and notifies the other end.
func (m *manager) part(id *cmID, notify func(peer *cmID)) {
	peer := id.peer
	id.state, id.peer = cmEnded, nil
	if peer == nil {
		return
	}
	m.send(id, func() {
		if peer.peer == id {
			peer.peer = nil
			peer.answered()
			peer.state = cmEnded
			notify(peer)
		}
	})
}

// move moves an ID's events to another channel.
func (m *manager) move(c *connection, id *cmID, handle uint32, cookie uint64) reply {
	ch, ok := c.channels[handle]
	if !ok {
		return failed(unix.EINVAL)
	}
	id.channel.users--
	ch.users++
	id.channel, id.cookie = ch, cookie
	return reply{}
}

// forget ends an id, and a listener's requests that its program does not know.
func (m *manager) forget(id *cmID) {
	if id.state == cmListening {
		for _, at := range m.listensAt(id) {
			delete(m.listening, at)
		}
		for request := range id.pending {
			if request.cookie == 0 {
				m.forget(request)
			}
		}
	}
	id.cookie = 0
	id.answered()
	requesting := id.state == cmRequesting || id.state == cmRequested
	m.part(id, func(peer *cmID) {
		if requesting {
			peer.notify(cmRejected, rejectedNoService, nil, parameters{})
			return
		}
		peer.notify(cmDisconnected, 0, nil, parameters{})
	})
	m.unwait(id)
	id.channel.users--
	delete(id.connection.ids, id.handle)
	id.connection.host.quota.give(holdings{objects: 1})
}

// nextHandle returns an unused handle for an id or a channel of the connection manager.
func (c *connection) nextHandle() uint32 {
	for c.idCount++; c.idCount == 0 || c.ids[c.idCount] != nil || c.channels[c.idCount] != nil; c.idCount++ {
	}
	return c.idCount
}
