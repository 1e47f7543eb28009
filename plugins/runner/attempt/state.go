//go:build linux

package attempt

import (
	"os"
	"path/filepath"

	"github.com/detent-ml/detent/master/attempts/leftover"
	"github.com/detent-ml/detent/master/auth"
	v1 "github.com/detent-ml/detent/master/v1"
)

// A state is how an attempt ends on this node, as far as its runner knows. While the program runs, it is kept as a record of
// a runner that was killed: a master reads the record if there is no report (package leftover).
type state struct {
	AllocationID string
	TaskID       string
	Rank         int
	Shipper      string
	Token        string
	Stopped      bool   // Nomad stopped the task before its end
	Ended        *ended // nil while the program runs
	LogsDone     bool   // a master accepted the last line
	// Matches are the lines that matched log policies. Every exit report contains them.
	Matches []v1.LogMatch
}

// ended is how the attempt ended on this node.
type ended struct {
	Code   int
	Reason string // "": the program exited by itself
	Unfit  bool   // prevented by the node
	// Preempted says how the program ended after the signal that preempted it: v1.PreemptedExited or PreemptedKilled.
	Preempted string
}

// save writes the record of the exit, which a master may have to read on the node.
func (s *state) save(p *NomadTask) error {
	record, err := leftover.Seal(auth.HashToken(s.Token), leftover.Record{AllocationID: s.AllocationID, Rank: s.Rank, NomadAllocID: p.NomadAllocID, Exit: s.exit()})
	if err != nil {
		return err
	}
	return replaceFile(p.shared(leftover.RecordFile), record)
}

// exit is the exit report.
func (s *state) exit() v1.MemberExitRequest {
	end := s.Ended
	if end == nil {
		end = &ended{Code: codeKilled, Reason: leftover.KilledReason}
	}
	return v1.MemberExitRequest{ExitCode: end.Code, Reason: end.Reason, LogsDone: s.LogsDone, Stopped: s.Stopped, Unfit: end.Unfit, Preempted: end.Preempted, LogMatches: s.Matches}
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
