package leftover

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	v1 "github.com/detent-ml/detent/master/v1"
)

// A Record is the exit of a member of an attempt, as its runner would report it.
type Record struct {
	AllocationID string               `json:"allocation_id"`
	Rank         int                  `json:"rank"`
	NomadAllocID string               `json:"nomad_alloc_id"`
	Exit         v1.MemberExitRequest `json:"exit"`
}

// KilledReason is the reason of an exit while the program runs: if a master reads it, the runner was killed.
const KilledReason = killed + "it was killed, by Nomad after the kill timeout or by the kernel because memory ran out"

const killed = "the runner of this attempt ended without a report: "

// Killed is the reason in place of KilledReason when Nomad says how the runner ended.
func Killed(detail string) string { return killed + detail }

// sealed is the content of the file: the record, and a proof (HMAC) that its writer has the
// member's token. The program has this token too, and may report its own exit; no other
// process on the node has it, and the file does not reveal it.
type sealed struct {
	Record json.RawMessage `json:"record"`
	MAC    string          `json:"mac"`
}

// ErrForged means that a record was not written with the token of its attempt.
var ErrForged = errors.New("the record of the exit was not written with the token of this attempt")

func mac(tokenHash, record []byte) []byte {
	key := hmac.New(sha256.New, tokenHash)
	key.Write([]byte("detent exit record"))
	m := hmac.New(sha256.New, key.Sum(nil))
	m.Write(record)
	return m.Sum(nil)
}

// Seal returns the content of the file. It omits matches of log policies that would make the
// file longer than a master reads.
func Seal(tokenHash []byte, r Record) ([]byte, error) {
	record, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	content, err := json.Marshal(sealed{record, hex.EncodeToString(mac(tokenHash, record))})
	if err == nil && len(content) > MaxRecord && len(r.Exit.LogMatches) > 0 {
		r.Exit.LogMatches = nil
		return Seal(tokenHash, r)
	}
	return content, err
}

// Open parses the file of a record, and checks that the record is of this member and was
// written with its token.
func Open(tokenHash, content []byte, allocationID string, rank int, nomadAllocID string) (Record, error) {
	var s sealed
	if err := json.Unmarshal(content, &s); err != nil {
		return Record{}, fmt.Errorf("the record of the exit is damaged: %w", err)
	}
	given, err := hex.DecodeString(s.MAC)
	if err != nil || len(tokenHash) == 0 || !hmac.Equal(given, mac(tokenHash, s.Record)) {
		return Record{}, ErrForged
	}
	var r Record
	if err := json.Unmarshal(s.Record, &r); err != nil {
		return Record{}, fmt.Errorf("the record of the exit is damaged: %w", err)
	}
	if r.AllocationID != allocationID || r.Rank != rank || r.NomadAllocID != nomadAllocID {
		return Record{}, fmt.Errorf("the record is of rank %d of attempt %s in Nomad allocation %s", r.Rank, r.AllocationID, r.NomadAllocID)
	}
	return r, nil
}
