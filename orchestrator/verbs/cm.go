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

// Events of the connection manager, as enum rdma_cm_event_type has them.
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

// firstEphemeral is the first of the ports that ends without one get.
const firstEphemeral = 0xc000

// maxPending is how many requests to connect a listener has that its program has not answered.
const maxPending = 128

// messageBytes is a frame with a message of the connection manager: a management datagram of 256 bytes over IPv6,
// without FCS.
const messageBytes = 14 + 40 + 8 + 12 + 8 + 256 + 4

// listenGrace is how long a request waits for its port's listener, in wall-clock time. A program that is about to
// listen may be late on a busy machine, by more than the fabric's round trip.
const listenGrace = 500 * time.Millisecond

// manager is the connection manager of all hosts. Its messages do not cross the fabric. Each arrives after the delay of
// an idle path, in virtual time, so that none overtakes the acknowledgements and data that an idle fabric has delivered
// to the program that it answers.
type manager struct {
	server *Server
	// without contention while the engine runs: all but the end of connections is on its goroutine then
	mutex     sync.Mutex
	engine    *engine.Engine // nil: it has ended
	listening map[service]*cmID
	due       map[vtime.Time][]func()          // what arrives, by the time
	early     map[service]map[*cmID]parameters // requests without a listener yet
	ports     uint16
}

// service is what a listener is found by: ports of datagrams are others than those of connections.
type service struct {
	datagrams bool
	at        netip.AddrPort
}

// cmState is how far an id of the connection manager is.
type cmState uint8

const (
	cmIdle cmState = iota
	cmBound
	cmListening
	cmRequesting // this end asked for a connection
	cmRequested  // the other did
	cmAccepted   // this end accepted, the other has not said that it knows
	cmResponded  // the other end has accepted
	cmConnected
	cmGone
)

// cmID is an rdma_cm_id.
type cmID struct {
	connection *connection
	handle     uint32
	channel    *channel // its connection's
	cookie     uint64   // 0: its program does not know it yet, or no more
	state      cmState
	datagrams  bool // it resolves queue pairs for datagrams, and connects none
	only       bool // a listener of any address is one of its family alone
	own, other netip.AddrPort
	peer       *cmID          // nil: none, or it has ended
	pending    map[*cmID]bool // a listener's requests that are not answered
	listener   *cmID          // of such a request
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

// send runs a function when a message that an id sends now arrives at the other end. There is none that arrives after
// the engine's end.
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

// oneWay returns how long a message of the connection manager takes from one interface to another when nothing else
// is under way.
func (s *Server) oneWay(from, to end) (t vtime.Time) {
	path := s.Plan.PathOf(from.host, to.host, topologies.Pair{From: from.place, To: to.place})
	if len(path) == 0 { // to the own host: by its leaf and back
		own := s.Plan.Nodes[from.host].Ports[from.place]
		path = []topologies.PortID{own, own}
	}
	for _, id := range path {
		port := &s.Plan.Ports[id]
		t += port.Delay + port.Rate.TimeFor(s.Plan.Framing.LineBytes(messageBytes))
	}
	return t
}

// parameters are those of a connection, as they are sent: QP number, responder resources, initiator depth, retries, RNR
// retries, type of service, private data.
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

// tell sends a program an event of an ID that it knows. It returns an error for the accept of a request that ended
// before the program knew it.
func (id *cmID) tell(event, status uint64, fresh *cmID, p parameters) {
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
		id.channel.tell(words...)
	}
}

func addressIn(a netip.AddrPort) uint64 {
	if !a.IsValid() {
		return 0
	}
	return address(a.Addr())
}

// do does a request about the connection manager.
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
		id.tell(cmRouteResolved, 0, nil, parameters{})
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

// proceed does a request about an id that has the other end.
func (m *manager) proceed(id *cmID, op uint64, r *request) reply {
	switch op {
	case opCMAccept:
		_, p := r.next(), r.parameters()
		if r.bad || id.state != cmRequested {
			return failed(unix.EINVAL)
		}
		id.answered()
		if id.datagrams { // each goes its own way now
			m.part(id, func(peer *cmID) { peer.tell(cmEstablished, 0, nil, p) })
			break
		}
		id.state = cmAccepted
		m.send(id, func() {
			if peer := id.peer; peer != nil && peer.state == cmRequesting {
				peer.state = cmResponded
				peer.tell(cmConnectResponse, 0, nil, p)
			}
		})
	case opCMReject:
		private := r.private()
		if r.bad || id.state != cmRequested {
			return failed(unix.EINVAL)
		}
		id.answered()
		m.part(id, func(peer *cmID) { peer.tell(cmRejected, rejectedConsumer, nil, parameters{private: private}) })
	case opCMEstablish:
		if id.state != cmResponded {
			return failed(unix.EINVAL)
		}
		id.state = cmConnected
		m.send(id, func() {
			if peer := id.peer; peer != nil && peer.state == cmAccepted {
				peer.state = cmConnected
				peer.tell(cmEstablished, 0, nil, parameters{})
			}
		})
	case opCMDisconnect:
		if id.state != cmConnected && id.state != cmAccepted && id.state != cmResponded {
			return failed(unix.EINVAL)
		}
		m.part(id, func(peer *cmID) { peer.tell(cmDisconnected, 0, nil, parameters{}) })
		m.send(id, func() { id.tell(cmDisconnected, 0, nil, parameters{}) })
	default:
		return failed(unix.EINVAL)
	}
	return reply{}
}

// create makes an id whose events go to a channel of the connection's; 0: it has none yet.
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

// bind gives an id an address and a port of this host: any, where they are 0.
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
	return answer(address(at), uint64(port), uint64(end.place))
}

// anyOf returns the address of all interfaces of a host, as listeners are found by.
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

// listensAt returns the services at which a listener is found. One of any IPv6 address is one of any IPv4 address,
// too, unless it is of its family alone.
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

// resolve finds this host's end of the way to an address.
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
		if ports := m.server.Plan.Nodes[id.connection.host.id].Ports; int(to.place) < len(ports) {
			own = m.server.Plan.Address(ports[to.place])
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
	id.tell(cmAddressResolved, 0, nil, parameters{})
	return bound
}

// requested handles a request to connect that has arrived.
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
	l.tell(cmConnectRequest, 0, id, p)
}

// refuse rejects a request to connect that no listener takes.
func (m *manager) refuse(from *cmID) {
	m.send(from, func() {
		if from.state == cmRequesting {
			from.state = cmGone
			from.tell(cmRejected, rejectedNoService, nil, parameters{})
		}
	})
}

// nobody ends the wait of a request for a listener.
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

// answered removes a request from those that its listener waits with.
func (id *cmID) answered() {
	if id.listener != nil {
		delete(id.listener.pending, id)
		id.listener = nil
	}
}

// part ends an id's connection. The other end is told.
func (m *manager) part(id *cmID, told func(peer *cmID)) {
	peer := id.peer
	id.state, id.peer = cmGone, nil
	if peer == nil {
		return
	}
	m.send(id, func() {
		if peer.peer == id {
			peer.peer = nil
			peer.answered()
			peer.state = cmGone
			told(peer)
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
			peer.tell(cmRejected, rejectedNoService, nil, parameters{})
			return
		}
		peer.tell(cmDisconnected, 0, nil, parameters{})
	})
	m.unwait(id)
	id.channel.users--
	delete(id.connection.ids, id.handle)
	id.connection.host.quota.give(holdings{objects: 1})
}
