//go:build linux

package verbs

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestProtocol compares this package's numbers with those of the library.
func TestProtocol(t *testing.T) {
	text, err := os.ReadFile("../../verbs/c/protocol.h")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int{
		"PROTOCOL_VERSION": protocolVersion, "MESSAGE_WORDS": messageWords, "REPLY_WORDS": replyWords,
		"MAX_DEVICES": maxDevices,
		"MAX_SGE":     maxSGE, "MAX_INLINE": maxInline, "MAX_PRIVATE": maxPrivate, "MAX_WORK": maxWork, "MAX_CQE": maxCQE,
		"RING_HEADER": ringHeader,
		"RING_ENTRY":  ringEntry, "CM_EVENT_WORDS": cmEventWords, "ADDRESS_IPV6": addressIPv6, "DONE_IMM": doneImm,
		"DONE_GRH": doneGRH, "DONE_IPV6": doneIPv6,
		"SERVICE_RELIABLE": serviceReliable, "SERVICE_DATAGRAM": serviceDatagram,
		"FLAG_SIGNALED": flagSignaled, "FLAG_SOLICITED": flagSolicited, "FLAG_FENCE": flagFence, "FLAG_INLINE": flagInline,
		"OP_DEVICES": opDevices, "OP_OPEN": opOpen, "OP_DESTROY": opDestroy, "OP_ALLOC_PD": opAllocPD, "OP_REG_MR": opRegMR,
		"OP_REREG_MR": opReregMR, "OP_TIME": opTime, "OP_CHANNEL": opChannel,
		"OP_CREATE_CQ": opCreateCQ, "OP_NOTIFY": opNotify, "OP_CREATE_SRQ": opCreateSRQ, "OP_MODIFY_SRQ": opModifySRQ,
		"OP_CREATE_QP": opCreateQP,
		"OP_MODIFY_QP": opModifyQP, "OP_QUERY_QP": opQueryQP, "OP_POST_SEND": opPostSend, "OP_POST_RECV": opPostRecv,
		"OP_CM_ID":   opCMID,
		"OP_CM_BIND": opCMBind, "OP_CM_LISTEN": opCMListen, "OP_CM_RESOLVE": opCMResolve, "OP_CM_ROUTE": opCMRoute,
		"OP_CM_CONNECT": opCMConnect,
		"OP_CM_ACCEPT":  opCMAccept, "OP_CM_REJECT": opCMReject, "OP_CM_ESTABLISH": opCMEstablish,
		"OP_CM_DISCONNECT": opCMDisconnect,
		"OP_CM_MOVE":       opCMMove, "OP_CLOCK": opClock,
	}
	if m := regexp.MustCompile(`SOCKET_NAME "(.*)"`).FindStringSubmatch(string(text)); m == nil || m[1] != socketName {
		t.Errorf("the socket's name is %v there", m)
	}
	code := regexp.MustCompile(`(?s)/\*.*?\*/`).ReplaceAllString(string(text), "")
	found := 0
	for _, list := range regexp.MustCompile(`(?s)enum \{(.*?)\}`).FindAllStringSubmatch(code, -1) {
		next := 0
		for _, entry := range strings.Split(list[1], ",") {
			name, value, given := strings.Cut(strings.TrimSpace(entry), "=")
			name = strings.TrimSpace(name)
			if given {
				if n, err := strconv.Atoi(strings.TrimSpace(value)); err == nil {
					next = n
				} else {
					continue // another name for one
				}
			}
			if n, known := want[name]; known {
				found++
				if n != next {
					t.Errorf("%s is %d there, %d here", name, next, n)
				}
			}
			next++
		}
	}
	if found != len(want) {
		t.Errorf("%d of %d names were found", found, len(want))
	}
}
