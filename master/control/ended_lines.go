package control

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/control/rows"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/lifecycle"
	"github.com/detent-ml/detent/master/logs"
)

// explainTimeout limits the time to store the lines of one cycle, reasonsTimeout the time in which Nomad is asked for
// reasons before that.
const (
	explainTimeout = 10 * time.Second
	reasonsTimeout = 3 * time.Second
)

// Levels of log lines of the API.
const (
	warningLevel = 4
	errorLevel   = 5
)

// explain writes lines into the logs of tasks that their runners could not write: why an
// attempt ended before its runner started (for example an image that cannot be pulled, or
// a job that Nomad rejects), that the limit of its time is near, that an attempt failed on an unhealthy device, and that log policies forbid another
// attempt of its trial. If a master
// stops before it has stored a line, the line is lost; a line that is written twice is
// stored once.
func (t *term) explain(ctx context.Context, c *rows.Changes) {
	if t.cfg.Logs == nil {
		return
	}
	var lines []logs.Batch
	for _, a := range c.Allocations {
		if b, ok := explanation(a); ok {
			lines = append(lines, b)
		}
		if b, ok := warning(a); ok {
			lines = append(lines, b)
		}
	}
	if len(lines) == 0 {
		return
	}
	t.calls.all.Go(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), explainTimeout)
		defer cancel()
		t.addReasons(ctx, lines)
		for _, b := range lines {
			if _, err := t.cfg.Logs.Append(ctx, b); err != nil {
				t.log.Warn("could not write into a task's log why its attempt ended", "allocation_id", b.Origin.AllocationID, "error", err)
				return
			}
		}
	})
}

// addReasons adds to the lines about attempts that Nomad did not place why it did not, such as "cpu is exhausted". Without
// an answer of Nomad the lines stay as they are.
func (t *term) addReasons(ctx context.Context, lines []logs.Batch) {
	ctx, cancel := context.WithTimeout(ctx, reasonsTimeout)
	defer cancel()
	for i := range lines {
		line := &lines[i].Lines[len(lines[i].Lines)-1]
		if !strings.Contains(line.Text, lifecycle.NotPlaced) {
			continue
		}
		why, err := t.whyNotPlaced(ctx, lines[i].Origin.AllocationID)
		if err != nil {
			return
		}
		if why != "" {
			line.Text += ": " + why
		}
	}
}

// warning returns the line that announces the end of an attempt at the limit of its time; false if there is none.
func warning(a rows.AllocationChange) (logs.Batch, bool) {
	dot := strings.LastIndexByte(a.ID, '.')
	if a.Warn == "" || dot < 0 {
		return logs.Batch{}, false
	}
	line := logs.Line{At: time.Now(), Level: warningLevel, Stdtype: "stderr", Source: "master", Rank: -1, Text: a.Warn}
	return logs.Batch{TaskID: a.ID[:dot], Origin: logs.Origin{AllocationID: a.ID}, Shipper: "master/limit/" + a.ID, Lines: []logs.Line{line}}, true
}

// explanation returns the lines for an ended attempt; false if it needs none.
func explanation(a rows.AllocationChange) (logs.Batch, bool) {
	dot := strings.LastIndexByte(a.ID, '.')
	switch lifecycle.Outcome(a.Outcome) {
	case lifecycle.Failed, lifecycle.Refused, lifecycle.Unplaced:
	default:
		return logs.Batch{}, false
	}
	if !a.Ended || dot < 0 {
		return logs.Batch{}, false
	}
	texts := a.Final
	switch {
	case a.Unhealthy != "":
		texts = append(texts, fmt.Sprintf("attempt %s failed (%s) with an unhealthy device: %s", a.ID[dot+1:], a.ExitReason, a.Unhealthy))
	case a.Unstarted && strings.HasPrefix(a.ExitReason, "it could not run "): // its program may have begun
		texts = append(texts, fmt.Sprintf("attempt %s %s", a.ID[dot+1:], strings.TrimPrefix(a.ExitReason, "it ")))
	case a.Unstarted && a.ExitReason != "":
		texts = append(texts, fmt.Sprintf("attempt %s did not start: %s", a.ID[dot+1:], a.ExitReason))
	}
	lines := each.Of(texts, func(text string) logs.Line {
		return logs.Line{At: time.Now(), Level: errorLevel, Stdtype: "stderr", Source: "master", Rank: -1, Text: text}
	})
	return logs.Batch{TaskID: a.ID[:dot], Origin: logs.Origin{AllocationID: a.ID}, Shipper: "master/" + a.ID, Lines: lines}, len(lines) > 0
}
