package queue

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/detent-ml/detent/cli/internal/exit"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/sched/record"
	v1 "github.com/detent-ml/detent/master/v1"
)

// maxFrames bounds the memory of a replay: a frame needs about a kilobyte.
const maxFrames = 4_000_000

// download reads the frames of a time from the master, and writes them into a file, if there is one.
func download(ctx context.Context, c *client.Client, from, to time.Time, into io.Writer) (frames []*record.Frame, err error) {
	request := v1.GetQueueRecordingRequest{Since: &from, Until: &to}
	for {
		page, err := client.Send(ctx, c, v1.GetQueueRecording, request)
		if err != nil {
			return nil, err
		}
		for _, text := range page.Frames {
			f, err := parse(text)
			if err != nil {
				return nil, err
			}
			if into != nil {
				if _, err := fmt.Fprintf(into, "%s\n", text); err != nil {
					return nil, err
				}
			}
			frames = append(frames, f)
		}
		if page.Next == nil {
			return frames, nil
		}
		if len(frames) > maxFrames {
			return nil, fault.New(fault.TooLarge, "the recording from %s to %s has more than %d frames; replay a part of this time", from.Format(time.RFC3339), to.Format(time.RFC3339), maxFrames)
		}
		request.After = *page.Next
	}
}

func parse(text []byte) (*record.Frame, error) {
	f := &record.Frame{}
	if err := json.Unmarshal(text, f); err != nil {
		return nil, fault.New(fault.Invalid, "this is no frame of a recording of the queue: %w", err)
	}
	return f, nil
}

// readFile reads the frames of a file that --save has written.
func readFile(path string) (frames []*record.Frame, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, &exit.UsageError{Message: fmt.Sprintf("--recording: %v", err)}
	}
	defer file.Close()
	in := bufio.NewReaderSize(file, 1<<20)
	for number := 1; ; number++ {
		line, err := in.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			f, err := parse(line)
			if err != nil {
				return nil, fmt.Errorf("%s:%d: %w", path, number, err)
			}
			frames = append(frames, f)
		}
		if errors.Is(err, io.EOF) {
			return frames, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// moment reads a time, or a duration before now, such as 24h or 30d.
func moment(flag, text string, now time.Time) (time.Time, error) {
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.ParseFloat(days, 64); err == nil && n >= 0 && n < 100_000 {
			return now.Add(-time.Duration(n * float64(24*time.Hour))), nil
		}
	}
	if at, err := v1.ParseTime(text); err == nil {
		return at, nil
	}
	for _, layout := range []string{"2006-01-02 15:04", "2006-01-02T15:04", "2006-01-02"} {
		if at, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return at, nil
		}
	}
	return now, &exit.UsageError{Message: fmt.Sprintf("%s: expected a time such as 2026-11-01 or 2026-11-01T08:00:00Z, or a duration before now such as 24h or 30d; found %q", flag, text)}
}
