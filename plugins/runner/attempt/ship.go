//go:build linux

package attempt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/detent-ml/detent/master/attempts/leftover"
	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/plugins/runner/logs"
	"github.com/detent-ml/detent/plugins/runner/masters"
)

// shipFor is how long the allocation's last process tries: as long as the loopback master holds
// a request of the program. DET_SHIP_WAIT_TIME shortens it; what is not sent by then stays in
// the allocation's folder, where a master reads it.
func (p *NomadTask) shipFor() time.Duration {
	if n, err := strconv.Atoi(p.Env["DET_SHIP_WAIT_TIME"]); err == nil && n > 0 {
		return min(time.Duration(n)*time.Second, leftover.Hold)
	}
	return leftover.Hold
}

// killedReason is the reason of an exit that the runner could not report.
const killedReason = "the runner of this attempt ended without a report: it was killed, by Nomad after the kill timeout or by the kernel because memory ran out"

// Ship delivers what the previous process of this allocation could not: log lines and the exit
// report. It returns the exit status.
func Ship(environ []string, stderr io.Writer, signals <-chan os.Signal) int {
	own := logs.NewEcho(stderr)
	defer own.Close(time.Second)
	journal := logs.NewJournal(own)
	stop, release := newStopper(signals)
	defer release()
	p, err := ReadNomadTask(stop.ctx, environ)
	if err != nil {
		journal.Errorf("%v", err)
		return CodeMisplaced
	}
	s, err := loadState(p.statePath())
	if errors.Is(err, os.ErrNotExist) {
		return 0 // no attempt was started
	}
	if err != nil {
		journal.Errorf("%v", err)
		return CodeInternal
	}
	if s.Delivered && s.LogsDone {
		return 0
	}
	if s.Token, err = p.keptToken(); err != nil {
		journal.Errorf("%v", err)
		return CodeInternal
	}
	list, err := masters.New(p.Masters)
	if err != nil {
		journal.Errorf("%v", err)
		return CodeMisplaced
	}
	defer list.Close()
	ctx, cancel := context.WithTimeout(stop.ctx, p.shipFor())
	defer cancel()
	if err := deliver(ctx, &p, s, list, journal); err != nil {
		journal.Errorf("could not deliver all log lines and the exit report: %v", err)
		return CodeInternal
	}
	return 0
}

// deliver sends the lines, then the report, which says that the lines are complete.
func deliver(ctx context.Context, p *NomadTask, s *state, list *masters.List, journal *logs.Journal) error {
	var shipErr error
	if !s.LogsDone {
		if shipErr = deliverLogs(ctx, p, s, list, journal); shipErr == nil {
			s.LogsDone = true
		}
	}
	if s.Ended == nil {
		s.Ended = &ended{Code: codeKilled, Reason: killedReason}
	}
	var err error
	if !s.Delivered {
		err = reportExit(ctx, list, s, p.shipFor())
	}
	return errors.Join(shipErr, err, s.save(p))
}

func deliverLogs(ctx context.Context, p *NomadTask, s *state, list *masters.List, journal *logs.Journal) error {
	backlog, err := logs.OpenBacklog(p.shared("logs"), logs.Limits{})
	if err != nil {
		return err
	}
	defer backlog.Close()
	shipper := logs.NewShipper(backlog, v1.LogBatch{AllocationID: s.AllocationID, TaskID: s.TaskID, Shipper: s.Shipper},
		logSender(list, s.Token, overAfterEnd), func(err error) { journal.Errorf("%v", err) })
	next, err := shipper.Resume(ctx)
	if err != nil {
		return fmt.Errorf("cannot ask the master for the next log line: %w", err)
	}
	if s.Ended == nil {
		journal.Attach(backlog)
		journal.Errorf("%s", killedReason)
	}
	go shipper.Run(ctx, next)
	shipper.Finish()
	<-shipper.Done()
	return shipper.Err()
}
