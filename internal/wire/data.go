package wire

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// MaxPayload limits the payload of a flow's packet, in bytes: with all headers, it fits into jumbo frames of 9216 B.
const MaxPayload = 9056

// MaxPathMTU limits the path MTU of programs' queue pairs, as in InfiniBand and RoCE.
const MaxPathMTU = 4096

// maxExtensions limits the bytes of headers between a BTH and its payload.
const maxExtensions = INTLen + RETHLen

// MaxFrame limits the length of the frames that PutData writes.
const MaxFrame = roceHeaderLen6 + maxExtensions + MaxPayload + ICRCLen

// pattern holds the content of every payload, from its start: 00 01 .. ff 00 ..
var pattern = func() (p [MaxPayload]byte) {
	for i := range p {
		p[i] = byte(i)
	}
	return p
}()

// DataLen returns the length of the frame that PutData writes.
func (v Version) DataLen(op Opcode, payload int) int {
	return max(v.dataLen(op, payload), MinFrame)
}

func (v Version) dataLen(op Opcode, payload int) int {
	return roceHeaderLen + v.Extra() + op.extensions() + payload + padCount(payload) + ICRCLen
}

// PutData writes a data packet into buf and returns the frame's length; buf must have room for DataLen of the flow's
// version. op is a data opcode without immediate data. It may have telemetry, which starts empty for switches to fill,
// the timestamp of SetTimestamp, or the demand of SetDemand. payload is at most MaxPayload. Other values panic.
//
// The payload is a constant pattern. With fill PutData writes it, which takes a few nanoseconds for a full packet; use
// fill unless you are sure. Without fill buf must hold the pattern already: its last use must have been a PutData with
// an opcode of the same header length and the same payload. Otherwise the RETH or ICRC of that frame is in the payload
// of this one, and the ICRC, which for a full packet comes from a table, is wrong. For a flow with HeadersOnly it
// writes neither RETH, payload nor ICRC.
func PutData(buf []byte, h *FlowHeader, op Opcode, psn uint32, payload int, ackRequest, fill bool) (n int) {
	if !op.IsData() || op.HasImm() || payload < 0 || payload > MaxPayload {
		panic(fmt.Sprintf("wire: PutData of %v with %d B", op, payload))
	}
	padding := padCount(payload)
	ackPSN := psn & PSNMask
	if ackRequest {
		ackPSN |= bthAckReq << 24
	}
	n = h.length + op.extensions() + payload + padding + ICRCLen
	crc := h.put(buf, n, op, bthMigReq|byte(padding)<<bthPadShift, 0, ackPSN)

	at := h.length
	if op.HasINT() {
		clear(buf[at : at+INTLen])
		at += INTLen
		if h.icrc != nil {
			crc = intCRC.after(crc)
		}
	}
	if op.HasTimestamp() {
		timestamp := buf[at : at+TimestampLen]
		binary.BigEndian.PutUint64(timestamp, h.timestamp)
		at += TimestampLen
		if h.icrc != nil {
			crc = crcShort(crc, timestamp)
		}
	}
	if op.HasDemand() {
		demand := buf[at : at+DemandLen]
		binary.BigEndian.PutUint64(demand, h.demand)
		at += DemandLen
		if h.icrc != nil {
			crc = crcShort(crc, demand)
		}
	}
	if h.icrc == nil {
		return max(n, MinFrame)
	}
	if op.HasRETH() {
		reth := buf[at : at+RETHLen]
		binary.BigEndian.PutUint64(reth[rethVA:], h.va)
		binary.BigEndian.PutUint32(reth[rethRKey:], h.rkey)
		binary.BigEndian.PutUint32(reth[rethDMALen:], h.dmaLen)
		at += RETHLen
		crc = crcShort(crc, reth)
	}
	body := buf[at : at+payload+padding]
	if fill {
		copy(body[:payload], pattern[:])
	}
	clear(body[payload:])
	if c := h.icrc; payload == c.mtu && c.full != nil {
		crc = c.full.after(crc)
	} else {
		crc = crc32.Update(crc, crc32.IEEETable, body)
	}
	return pad(buf, putICRC(buf, at+len(body), crc))
}
