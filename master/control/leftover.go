package control

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"time"

	"github.com/detent-ml/detent/master/attempts/leftover"
	"github.com/detent-ml/detent/master/cluster"
	"github.com/detent-ml/detent/master/control/rows"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/logs"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/sleep"
	v1 "github.com/detent-ml/detent/master/v1"
)

// A runner that is killed or cannot reach a master leaves log lines and its exit as files on the
// node. When the Nomad allocation has ended, the loop reads these files (leftovers).
const (
	maxReads    = 4           // attempts whose files are read at once
	readTimeout = time.Minute // for one attempt, in one try
	// ReadWithin is how long the end of an attempt waits until its leftovers are read.
	ReadWithin       = 10 * time.Minute
	readTries        = 3
	maxLeftoverLines = 1000     // stored in one transaction
	maxLeftoverFile  = 16 << 20 // bytes of one file; runners start the next file long before
)

// errTried means that the masters that began to read an attempt's leftovers have all ended.
var errTried = fmt.Errorf("%d tries to read them have not ended", readTries)

// LeftoverReader reads files of Nomad allocations on their nodes, through Nomad.
type LeftoverReader interface {
	LeftoverFiles(ctx context.Context, nomadAllocID, folder string) ([]cluster.LeftoverFile, error)
	ReadLeftover(ctx context.Context, nomadAllocID, file string, most int64) ([]byte, error)
}

// queueReads queues the reading of leftovers of members that have ended in Nomad and whose
// runners have not reported everything.
func (t *term) queueReads(ctx context.Context, tx *database.DB, facts []rows.MemberFact) error {
	var ids []string
	for _, f := range facts {
		if f.Over && f.Status != "lost" {
			ids = append(ids, f.AllocationID)
		}
	}
	if t.cfg.Leftovers == nil || len(ids) == 0 {
		return nil
	}
	return rows.QueueLeftoverReads(ctx, tx, ids)
}

// read reads the leftovers of all members of an attempt. After readTries failures a member
// counts as read, and the attempt ends without the exit of this member. A try counts before it begins: if
// the files end the master, the next one does not read them for ever.
func (t *term) read(ctx context.Context, w rows.Work) error {
	err := t.storeResult(ctx, w.Subject, func(ctx context.Context, tx *database.DB) error { return rows.WorkTried(ctx, tx, w.Kind, w.Subject) }, nil)
	if err != nil {
		return err
	}
	members, err := rows.LeftoverMembers(ctx, t.db, w.Subject)
	for _, m := range members {
		memberErr := errTried
		if w.Tries < readTries {
			memberErr = t.readMember(ctx, m, w.Tries+1 >= readTries)
		}
		if memberErr != nil && w.Tries+1 < readTries && !final(memberErr) {
			err = errors.Join(err, memberErr)
			continue
		}
		if memberErr != nil {
			t.log.Warn("could not read what a member of an attempt left on its node", "term", t.lead.Term, "allocation_id", m.AllocationID,
				"rank", m.Rank, "node", m.NodeName, "nomad_alloc", m.NomadAllocID, "reason", memberErr)
		}
		err = errors.Join(err, t.storeResult(ctx, w.Subject, func(ctx context.Context, tx *database.DB) error {
			return rows.MarkLeftoverRead(ctx, tx, m.AllocationID, m.Rank)
		}, nil))
	}
	sleep.Wake(t.calls.done)
	return t.storeResult(ctx, w.Subject, func(ctx context.Context, tx *database.DB) error {
		if err == nil {
			return rows.WorkDone(ctx, tx, w.Kind, w.Subject)
		}
		return rows.WorkAgain(ctx, tx, w.Kind, w.Subject, err.Error(), retryDelay(w.Tries))
	}, err)
}

// final reports whether a retry would fail in the same way.
func final(err error) bool {
	return errors.Is(err, cluster.ErrMayNotRead) || errors.Is(err, cluster.ErrNoLeftover) || errors.Is(err, cluster.ErrManyLeftovers) ||
		errors.Is(err, leftover.ErrForged)
}

// readMember stores the log lines that a member left, and then its exit, so that the log is
// complete when the attempt ends. It accepts the exit only if the record was signed with
// the member's token. The lines need no signature: a program may print anything. At the
// last try it stores the exit even if the lines cannot be read.
func (t *term) readMember(ctx context.Context, m rows.LeftoverMember, last bool) error {
	reader, err := t.leftoversOf(ctx, m.AllocationID)
	if err != nil {
		return err
	}
	done, linesErr := false, error(nil)
	if t.cfg.Logs != nil {
		done, linesErr = t.readLines(ctx, reader, m)
	}
	if m.Exited || errors.Is(linesErr, cluster.ErrMayNotRead) || linesErr != nil && !final(linesErr) && !last {
		return linesErr
	}
	content, err := readRecord(ctx, reader, m)
	if err != nil {
		return errors.Join(linesErr, err)
	}
	record, err := leftover.Open(m.TokenHash, content, m.AllocationID, m.Rank, m.NomadAllocID)
	if err != nil {
		return errors.Join(linesErr, err)
	}
	record.Exit.LogsDone = done
	if record.Exit.Reason == leftover.KilledReason {
		if m.NomadDetail != "" {
			record.Exit.Reason = leftover.Killed(m.NomadDetail)
		}
		linesErr = errors.Join(linesErr, t.sayKilled(ctx, m, record.Exit.Reason))
	}
	if err := t.cfg.Exit(ctx, Member{TaskID: m.TaskID, AllocationID: m.AllocationID, Rank: m.Rank}, record.Exit); err != nil {
		return errors.Join(linesErr, err)
	}
	t.log.Info("read the exit of a member from its node, because its runner could not report it", "term", t.lead.Term,
		"allocation_id", m.AllocationID, "rank", m.Rank, "node", m.NodeName, "exit_code", record.Exit.ExitCode)
	if linesErr != nil {
		t.log.Warn("could not read all log lines that a member of an attempt left on its node", "term", t.lead.Term, "allocation_id", m.AllocationID, "rank", m.Rank, "error", linesErr)
	}
	return nil
}

// sayKilled adds a line to the log that its runner could not write. A line that is written again is stored once.
func (t *term) sayKilled(ctx context.Context, m rows.LeftoverMember, why string) error {
	if t.cfg.Logs == nil {
		return nil
	}
	origin, err := logs.MemberOrigin(ctx, t.db, m.AllocationID, m.Rank)
	if err != nil {
		return err
	}
	_, err = t.cfg.Logs.Append(ctx, logs.Batch{TaskID: m.TaskID, Origin: origin, Shipper: "master/" + m.NomadAllocID + "/" + strconv.Itoa(m.Rank), Rank: m.Rank,
		Lines: []logs.Line{{At: time.Now(), Level: errorLevel, Stdtype: "stderr", Source: "master", Rank: -1, Text: why}}})
	return err
}

// readRecord reads the record of an exit, if it is a regular file.
func readRecord(ctx context.Context, reader LeftoverReader, m rows.LeftoverMember) ([]byte, error) {
	files, err := reader.LeftoverFiles(ctx, m.NomadAllocID, "")
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(files, func(f cluster.LeftoverFile) bool { return f.Name == leftover.RecordFile }) {
		return nil, fmt.Errorf("%w: %s is no regular file", cluster.ErrNoLeftover, leftover.RecordFile)
	}
	return reader.ReadLeftover(ctx, m.NomadAllocID, leftover.RecordFile, leftover.MaxRecord)
}

// A Member identifies a member of an attempt.
type Member struct {
	TaskID, AllocationID string
	Rank                 int
}

// leftoverSegment is a file of numbered log lines.
type leftoverSegment struct {
	first int64 // number of its first line
	file  cluster.LeftoverFile
}

// readLines stores the lines that the log does not have yet, by their numbers. done is true
// if the log is complete then.
func (t *term) readLines(ctx context.Context, reader LeftoverReader, m rows.LeftoverMember) (done bool, err error) {
	files, err := reader.LeftoverFiles(ctx, m.NomadAllocID, leftover.LogFolder)
	if err != nil {
		return false, err
	}
	origin, err := logs.MemberOrigin(ctx, t.db, m.AllocationID, m.Rank)
	if err != nil {
		return false, err
	}
	head := logs.Batch{TaskID: m.TaskID, Origin: origin, Shipper: m.NomadAllocID + "/" + strconv.Itoa(m.Rank), Rank: m.Rank}
	next, err := t.cfg.Logs.Append(ctx, head) // without lines, Append only returns the next number
	if err != nil {
		return false, err
	}
	segments, cut := newest(segmentsOf(files), next)
	if cut > next {
		missing := head
		missing.First = cut - 1
		missing.Lines = []logs.Line{{At: time.Now(), Level: v1.LogLevelWarning.Number(), Stdtype: "stderr", Source: "master", Rank: -1,
			Text: fmt.Sprintf("%d lines of output are missing here: their runner could not send them, and the master read only the last %d MiB from the node", cut-next, leftover.MaxLogs>>20)}}
		if next, err = t.cfg.Logs.Append(ctx, missing); err != nil {
			return false, err
		}
	}
	for _, s := range segments {
		content, err := reader.ReadLeftover(ctx, m.NomadAllocID, path.Join(leftover.LogFolder, s.file.Name), maxLeftoverFile)
		if err != nil {
			return false, err
		}
		if next, err = t.storeLines(ctx, head, content, next); err != nil {
			return false, err
		}
	}
	head.First, head.Done = next, true
	_, err = t.cfg.Logs.Append(ctx, head)
	return err == nil, err
}

// segmentsOf returns the files whose name is the number of their first line, in order.
func segmentsOf(files []cluster.LeftoverFile) (list []leftoverSegment) {
	for _, f := range files {
		if first, ok := leftover.FirstLine(f.Name); ok && f.Size > 0 {
			list = append(list, leftoverSegment{first, f})
		}
	}
	slices.SortFunc(list, func(a, b leftoverSegment) int { return int(min(max(a.first-b.first, -1), 1)) })
	return list
}

// newest omits the files whose lines are all before the line `next`, and the oldest files if
// all together exceed leftover.MaxLogs. In the second case, cut is the number of the first
// line that remains.
func newest(list []leftoverSegment, next int64) (read []leftoverSegment, cut int64) {
	for len(list) > 1 && list[1].first <= next {
		list = list[1:]
	}
	var size int64
	for i := len(list) - 1; i >= 0; i-- {
		if size += min(list[i].file.Size, maxLeftoverFile); size > leftover.MaxLogs {
			return list[i+1:], list[i+1].first
		}
	}
	return list, 0
}

// storeLines stores the lines of a file from the number `next` on, and returns the number
// after the last one. It stops at a line that cannot be parsed: the runner was killed while
// it wrote this line.
func (t *term) storeLines(ctx context.Context, head logs.Batch, content []byte, next int64) (int64, error) {
	b := head
	flush := func() (err error) {
		if len(b.Lines) > 0 {
			next, err = t.cfg.Logs.Append(ctx, b)
			b.Lines = nil
		}
		return err
	}
	for {
		end := bytes.IndexByte(content, '\n')
		if end < 0 {
			return next, flush()
		}
		l, err := leftover.ParseLine(content[:end])
		if content = content[end+1:]; err != nil {
			return next, flush()
		}
		follows := b.First + int64(len(b.Lines))
		switch {
		case l.Number < next || len(b.Lines) > 0 && l.Number < follows:
			continue
		case len(b.Lines) >= maxLeftoverLines || len(b.Lines) > 0 && l.Number != follows:
			if err := flush(); err != nil {
				return next, err
			}
		}
		if len(b.Lines) == 0 {
			b.First = l.Number
		}
		b.Lines = append(b.Lines, lineOf(l.Wire()))
	}
}

func lineOf(l v1.LogLine) logs.Line {
	return logs.Line{At: l.Timestamp, Level: l.Level.Number(), Stdtype: l.Stdtype, Source: l.Source, Rank: optional.Or(l.RankID, -1), Text: l.Log}
}
