//go:build linux

package attempt

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/detent-ml/detent/master/attempts/leftover"
	"github.com/detent-ml/detent/master/auth"
	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/plugins/runner/regular"
)

// A state is what the allocation's last process needs to know. Everybody who may read an
// allocation's files in Nomad can read it, so the attempt's token is stored elsewhere
// (token.go).
type state struct {
	AllocationID string `json:"allocation_id"`
	TaskID       string `json:"task_id"`
	Rank         int    `json:"rank"`
	Shipper      string `json:"shipper"`
	Token        string `json:"-"`
	Stopped      bool   `json:"stopped"`   // Nomad stopped the task before its end
	Ended        *ended `json:"ended"`     // nil while the program runs, or if its runner was killed
	Delivered    bool   `json:"delivered"` // a master accepted the exit report
	LogsDone     bool   `json:"logs_done"` // a master accepted the last line
	// Matches are the lines that matched log policies. Every exit report contains them.
	Matches []v1.LogMatch `json:"matches,omitempty"`
}

// ended is how the attempt ended on this node.
type ended struct {
	Code   int    `json:"code"`
	Reason string `json:"reason"` // "": the program exited by itself
	Unfit  bool   `json:"unfit"`  // prevented by the node
	// Preempted says how the program ended after the signal that preempted it: v1.PreemptedExited or PreemptedKilled.
	Preempted string `json:"preempted,omitempty"`
}

func (p *NomadTask) statePath() string { return p.shared("state.json") }

// save writes the state, and after the program's end also the record of its exit, which a
// master may have to read on the node.
func (s *state) save(p *NomadTask) error {
	content, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	if err := replaceFile(p.statePath(), content); err != nil || s.Ended == nil {
		return err
	}
	record, err := leftover.Seal(auth.HashToken(s.Token), leftover.Record{AllocationID: s.AllocationID, Rank: s.Rank, NomadAllocID: p.NomadAllocID, Exit: s.exit()})
	if err != nil {
		return err
	}
	return replaceFile(p.shared(leftover.RecordFile), record)
}

// exit is the exit report.
func (s *state) exit() v1.MemberExitRequest {
	return v1.MemberExitRequest{ExitCode: s.Ended.Code, Reason: s.Ended.Reason, LogsDone: s.LogsDone, Stopped: s.Stopped, Unfit: s.Ended.Unfit, Preempted: s.Ended.Preempted, LogMatches: s.Matches}
}

// replaceFile writes a file so that a reader sees either the old or the new content.
func replaceFile(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".new-")
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

func loadState(path string) (*state, error) {
	content, err := regular.Read(path)
	if err != nil {
		return nil, err
	}
	var s state
	if err := json.Unmarshal(content, &s); err != nil {
		return nil, fmt.Errorf("%s is damaged: %w", path, err)
	}
	return &s, nil
}
