package api

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/store"
	v1 "github.com/detent-ml/detent/master/v1"
)

// unpackedBody is the maximum size of an unpacked body.
const unpackedBody = 4 * v1.ReportBody

// unpackWindow is the maximum window size for unpacking.
const unpackWindow = 8 << 20

func (a *API) registerLogs() {
	rest.Raw(a.router, v1.ShipLogs, a.shipLogs)
	rest.Raw(a.router, v1.ShipTaskLogs, a.taskLogs)
	rest.Raw(a.router, v1.ShipOldTaskLogs, a.oldTaskLogs)
	rest.Serve(a.router, v1.SearchLogs, a.searchLogs)
	rest.RawQueryOn(a.router, v1.StreamTrialLogs, a.onTrial(), a.trialLogs)
	rest.RawQueryOn(a.router, v1.StreamTaskLogs, a.onTask(), a.logsOfTask)
	rest.RawQueryOn(a.router, v1.StreamTrialLogFields, a.onTrial(), a.trialLogFields)
	rest.RawQueryOn(a.router, v1.StreamTaskLogFields, a.onTask(), a.taskLogFields)
}

// packedBody reads a body and unpacks it according to its Content-Encoding. It unpacks twice:
// first to learn the size and to reserve memory, then to keep the result.
func (a *API) packedBody(c *rest.Call) ([]byte, error) {
	encoding := strings.ToLower(c.Get("Content-Encoding"))
	if encoding == "" || encoding == "identity" {
		return c.ReadBody(v1.ReportBody)
	}
	b, err := c.Receive(v1.ReportBody)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	size, err := a.unpackedSize(c, b, encoding)
	if err != nil {
		return nil, err
	}
	if size > v1.SmallBody {
		if err := c.HoldFor(size); err != nil {
			return nil, err
		}
	}
	plain := bytes.NewBuffer(make([]byte, 0, size))
	err = unpack(b, encoding, func(r io.Reader) error {
		_, err := io.Copy(plain, r)
		return err
	})
	return plain.Bytes(), err
}

// unpackedSize computes the size of an unpacked body. Only a few run at the same time, because
// unpacking needs memory itself.
func (a *API) unpackedSize(c *rest.Call, b *rest.Received, encoding string) (size int64, err error) {
	held, err := c.Hold(unpackWindow / rest.BodyWeight)
	if err != nil {
		return 0, err
	}
	defer held.Release()
	err = unpack(b, encoding, func(r io.Reader) error {
		size, err = io.Copy(io.Discard, io.LimitReader(r, unpackedBody+1))
		return err
	})
	if err == nil && size > unpackedBody {
		err = rest.TooLarge(int(size), unpackedBody)
	}
	return size, err
}

// unpack calls fn with the unpacked body.
func unpack(b *rest.Received, encoding string, fn func(io.Reader) error) error {
	var r io.Reader
	switch encoding {
	case "gzip":
		z, err := gzip.NewReader(b.Open())
		if err != nil {
			return fault.New(fault.Invalid, "the body is not gzip: %v", err)
		}
		r = z
	case "zstd":
		z, err := zstd.NewReader(b.Open(), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(unpackWindow))
		if err != nil {
			return fault.New(fault.Invalid, "the body is not zstd: %v", err)
		}
		defer z.Close()
		r = z
	default:
		return fault.New(fault.Invalid, "Content-Encoding: %q is not supported; use gzip or zstd", encoding)
	}
	if err := fn(r); err != nil {
		return fault.New(fault.Invalid, "cannot unpack the body: %v", err)
	}
	return nil
}

// shipLogs stores a runner's lines, each once even if they are sent several times.
func (a *API) shipLogs(ctx context.Context, c *rest.Call) error {
	body, err := a.packedBody(c)
	if err != nil {
		return err
	}
	var req v1.LogBatch
	if err := v1.Unmarshal(body, &req); err != nil {
		return fault.New(fault.Invalid, "%w", err)
	}
	c.Decoded()
	switch {
	case req.Shipper == "":
		return fault.New(fault.Invalid, "shipper: is required: each shipper numbers its own lines")
	case req.AllocationID != "" && req.AllocationID != c.Who().AllocationID:
		return fault.New(fault.Forbidden, "attempt %s may not ship logs of attempt %s", c.Who().AllocationID, req.AllocationID)
	case req.TaskID != "" && !ownTask(c, req.TaskID):
		return fault.New(fault.Forbidden, "task %s may not ship logs of task %s", c.Who().TaskID, req.TaskID)
	}
	origin, err := a.taskIO.origin(ctx, a.db, c.Who().AllocationID, c.Who().Rank)
	if err != nil {
		return err
	}
	b := store.LogBatch{TaskID: c.Who().TaskID, Origin: origin, Shipper: req.Shipper, First: req.First, Done: req.Done, Rank: c.Who().Rank,
		Lines: make([]store.LogLine, len(req.Lines))}
	for i, l := range req.Lines {
		line := store.LogLine{At: l.Timestamp, Level: l.Level.Number(), Stdtype: l.Stdtype, Source: l.Source, Rank: -1, Text: l.Log}
		if l.RankID != nil {
			line.Rank = *l.RankID
		}
		b.Lines[i] = line
	}
	next, err := a.taskIO.logs.Append(ctx, b)
	if err != nil {
		return err
	}
	return c.Send(&v1.LogBatchResponse{Next: next})
}

// levels are the API's names by number.
var levels = v1.LogLevels()

// taskLogs accepts the form of Determined's log shipper.
func (a *API) taskLogs(ctx context.Context, c *rest.Call) error {
	body, err := a.packedBody(c)
	if err != nil {
		return err
	}
	var req v1.TaskLogsRequest
	if err := v1.Unmarshal(body, &req); err != nil {
		return fault.New(fault.Invalid, "%w", err)
	}
	c.Decoded()
	return a.storeTaskLogs(ctx, c, req.Logs)
}

// oldTaskLogs accepts the same records as a plain list.
func (a *API) oldTaskLogs(ctx context.Context, c *rest.Call) error {
	body, err := a.packedBody(c)
	if err != nil {
		return err
	}
	var list []v1.TaskLog
	if err := v1.Unmarshal(body, &list); err != nil {
		return fault.New(fault.Invalid, "%w", err)
	}
	c.Decoded()
	return a.storeTaskLogs(ctx, c, list)
}

// maxOrigins is the maximum number of changes of the origin in one request, because each costs
// a commit. Later lines get the last origin.
const maxOrigins = 64

func (a *API) storeTaskLogs(ctx context.Context, c *rest.Call, list []v1.TaskLog) error {
	if len(list) == 0 {
		return c.Send(&v1.None{})
	}
	task, err := a.mayShip(ctx, c, list)
	if err != nil {
		return err
	}
	if err := a.matchShipped(ctx, c, task, list); err != nil {
		return err
	}
	for begin, batches := 0, 1; begin < len(list); batches++ { // consecutive records of one origin are stored together
		b := store.LogBatch{TaskID: task, Origin: originOf(list[begin])}
		end := begin + 1
		for end < len(list) && originOf(list[end]) == b.Origin {
			end++
		}
		if batches >= maxOrigins && end < len(list) {
			b.Origin, end = store.OtherOrigin, len(list)
		}
		for _, l := range list[begin:end] {
			b.Lines = append(b.Lines, lineOf(l))
		}
		if _, err := a.taskIO.logs.Append(ctx, b); err != nil {
			return err
		}
		begin = end
	}
	return c.Send(&v1.None{})
}

// mayShip checks that all records belong to one task, and that it is the caller's. It returns the task.
func (a *API) mayShip(ctx context.Context, c *rest.Call, list []v1.TaskLog) (string, error) {
	id := list[0].TaskID
	for i, l := range list {
		if l.ID != nil {
			return "", fault.New(fault.Invalid, "logs[%d].id: must not be set: the master assigns the ids of lines", i)
		}
		if l.TaskID == "" || l.TaskID != id {
			return "", fault.New(fault.Invalid, "logs[%d].taskId: all lines of a request belong to one task; found %q and %q", i, id, l.TaskID)
		}
	}
	if c.Who().IsTask() {
		if !ownTask(c, id) {
			return "", fault.New(fault.Forbidden, "task %s may not ship logs of task %s", c.Who().TaskID, id)
		}
		return c.Who().TaskID, nil
	}
	t, err := a.db.TaskOrPart(ctx, id)
	if err != nil {
		return "", err
	}
	if err := c.May(auth.Report, ofTask(v1.KindTask)(t)); err != nil {
		return "", err
	}
	bytes := 0
	for _, l := range list {
		bytes += len(l.Log)
	}
	if err := a.admitOutside(ctx, c, t.OwnerID, bytes); err != nil {
		return "", err
	}
	return t.ID, a.heard(ctx, c, t.ID)
}

func originOf(l v1.TaskLog) store.LogOrigin {
	return store.LogOrigin{AllocationID: optional.Value(l.AllocationID), AgentID: optional.Value(l.AgentID), ContainerID: optional.Value(l.ContainerID)}
}

func lineOf(l v1.TaskLog) store.LogLine {
	line := store.LogLine{At: time.Now(), Stdtype: optional.Value(l.Stdtype), Source: optional.Value(l.Source), Rank: -1, Text: l.Log}
	if l.Timestamp != nil {
		line.At = *l.Timestamp
	}
	if l.Level != nil {
		line.Level = l.Level.Number()
	}
	if l.RankID != nil {
		line.Rank = *l.RankID
	}
	return line
}

// origin returns the node and container from which a member's lines come. It caches them, because they
// never change after the claim.
func (i *taskIO) origin(ctx context.Context, db *store.DB, allocation string, rank int) (store.LogOrigin, error) {
	key, now := memberKey{allocation, rank}, time.Now()
	if o, known, _ := i.origins.Get(key, now); known {
		return o, nil
	}
	o, err := db.MemberOrigin(ctx, allocation, rank)
	if err == nil {
		i.origins.Put(key, o, now)
	}
	return o, err
}
