//go:build linux

package verbs

import (
	"encoding/binary"
	"net/netip"

	"golang.org/x/sys/unix"
)

// Definitions of verbs/c/protocol.h; TestProtocol compares them.
const (
	socketName      = "pausenet-verbs"
	protocolVersion = 5
	messageWords    = 8192
	replyWords      = 64
	maxDevices      = 8
	maxSGE          = 16
	maxInline       = 1024
	maxPrivate      = 196
	maxWork         = 16384
	maxCQE          = 1048576
	ringHeader      = 128
	ringEntry       = 64
	cmEventWords    = 15
	addressIPv6     = 32 // bit
)

const (
	opDevices = iota + 1
	opOpen
	opDestroy
	opAllocPD
	opRegMR
	opReregMR
	opTime
	opChannel
	opCreateCQ
	opNotify
	opCreateSRQ
	opModifySRQ
	opCreateQP
	opModifyQP
	opQueryQP
	opPostSend
	opPostRecv
	opCMID
	opCMBind
	opCMListen
	opCMResolve
	opCMRoute
	opCMConnect
	opCMAccept
	opCMReject
	opCMEstablish
	opCMDisconnect
	opCMMove
	opClock
	opLast = opClock
)

const (
	flagSignaled  = 1
	flagSolicited = 2
	flagFence     = 4
	flagInline    = 8
)

const (
	doneImm  = 1
	doneGRH  = 2
	doneIPv6 = 4
)

const (
	serviceReliable = iota
	serviceDatagram
)

// request holds the unread rest of a request. A read beyond its end returns zeros and marks it bad.
type request struct {
	words []byte
	bad   bool
}

func (r *request) next() uint64 {
	if len(r.words) < 8 {
		r.bad = true
		return 0
	}
	w := binary.NativeEndian.Uint64(r.words)
	r.words = r.words[8:]
	return w
}

// small reads a word as a 32-bit number.
func (r *request) small() uint32 {
	w := r.next()
	if w>>32 != 0 {
		r.bad = true
	}
	return uint32(w)
}

// address reads a word as an address.
func (r *request) address() netip.Addr {
	w := r.next()
	if w>>(addressIPv6+1) != 0 {
		r.bad = true
	}
	return addressOf(w)
}

// bytes reads the next n bytes, in whole words.
func (r *request) bytes(n int) []byte {
	if whole := (n + 7) &^ 7; n >= 0 && whole <= len(r.words) {
		b := r.words[:n]
		r.words = r.words[whole:]
		return b
	}
	r.bad = true
	return nil
}

// reply answers a request with an error number, words, and files, which the reply owns and closes.
type reply struct {
	status unix.Errno
	words  []uint64
	files  []int
}

func failed(status unix.Errno) reply    { return reply{status: status} }
func answer(words ...uint64) reply      { return reply{words: words} }
func (r *reply) encode(b []byte) []byte { return putWords(putWords(b, uint64(r.status)), r.words...) }

func putWords(b []byte, words ...uint64) []byte {
	for _, w := range words {
		b = binary.NativeEndian.AppendUint64(b, w)
	}
	return b
}
