package logs

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
	"github.com/detent-ml/detent/master/trial"
	v1 "github.com/detent-ml/detent/master/v1"
)

// ship stores a runner's lines, each once even if they are sent several times.
func (d Deps) ship(ctx context.Context, c *rest.Call) error {
	body, err := packedBody(c)
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
	case req.TaskID != "" && !trial.OfTask(req.TaskID, c.Who().TaskID):
		return fault.New(fault.Forbidden, "task %s may not ship logs of task %s", c.Who().TaskID, req.TaskID)
	}
	origin, err := d.origin(ctx, WriterOf(c))
	if err != nil {
		return err
	}
	b := Batch{TaskID: c.Who().TaskID, Origin: origin, Shipper: req.Shipper, First: req.First, Done: req.Done, Rank: c.Who().Rank,
		Lines: make([]Line, len(req.Lines))}
	for i, l := range req.Lines {
		line := Line{At: l.Timestamp, Level: l.Level.Number(), Stdtype: l.Stdtype, Source: l.Source, Rank: -1, Text: l.Log}
		if l.RankID != nil {
			line.Rank = *l.RankID
		}
		b.Lines[i] = line
	}
	next, err := d.Store.Append(ctx, b)
	if err != nil {
		return err
	}
	return c.Send(&v1.LogBatchResponse{Next: next})
}

// levels are the API's names by number.
var levels = v1.LogLevels()

// shipTaskLogs accepts the form of Determined's log shipper.
func (d Deps) shipTaskLogs(ctx context.Context, c *rest.Call) error {
	body, err := packedBody(c)
	if err != nil {
		return err
	}
	var req v1.TaskLogsRequest
	if err := v1.Unmarshal(body, &req); err != nil {
		return fault.New(fault.Invalid, "%w", err)
	}
	c.Decoded()
	return d.store(ctx, c, req.Logs)
}

// shipOldTaskLogs accepts the same records as a plain list.
func (d Deps) shipOldTaskLogs(ctx context.Context, c *rest.Call) error {
	body, err := packedBody(c)
	if err != nil {
		return err
	}
	var list []v1.TaskLog
	if err := v1.Unmarshal(body, &list); err != nil {
		return fault.New(fault.Invalid, "%w", err)
	}
	c.Decoded()
	return d.store(ctx, c, list)
}

// maxOrigins is the maximum number of changes of the origin in one request, because each costs
// a commit. Later lines get the last origin.
const maxOrigins = 64

func (d Deps) store(ctx context.Context, c *rest.Call, list []v1.TaskLog) error {
	if len(list) == 0 {
		return c.Send(&v1.None{})
	}
	task, err := d.mayShip(ctx, c, list)
	if err != nil {
		return err
	}
	if err := d.Policies.match(ctx, c, task, list); err != nil {
		return err
	}
	for begin, batches := 0, 1; begin < len(list); batches++ { // consecutive records of one origin are stored together
		b := Batch{TaskID: task, Origin: originOf(list[begin])}
		end := begin + 1
		for end < len(list) && originOf(list[end]) == b.Origin {
			end++
		}
		if batches >= maxOrigins && end < len(list) {
			b.Origin, end = OtherOrigin, len(list)
		}
		for _, l := range list[begin:end] {
			b.Lines = append(b.Lines, lineOf(l))
		}
		if _, err := d.Store.Append(ctx, b); err != nil {
			return err
		}
		begin = end
	}
	return c.Send(&v1.None{})
}

// mayShip checks that all records belong to one task, and that it is the caller's. It returns the task.
func (d Deps) mayShip(ctx context.Context, c *rest.Call, list []v1.TaskLog) (string, error) {
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
		if !trial.OfTask(id, c.Who().TaskID) {
			return "", fault.New(fault.Forbidden, "task %s may not ship logs of task %s", c.Who().TaskID, id)
		}
		return c.Who().TaskID, nil
	}
	l, err := d.Task(ctx, id)
	if err != nil {
		return "", err
	}
	if err := c.May(auth.Report, l.Is); err != nil {
		return "", err
	}
	bytes := 0
	for _, line := range list {
		bytes += len(line.Log)
	}
	if err := d.AdmitOutside(ctx, c, l.Is.OwnerID, bytes); err != nil {
		return "", err
	}
	return l.TaskID, d.Heard(ctx, c, l.TaskID)
}

func originOf(l v1.TaskLog) Origin {
	return Origin{AllocationID: optional.Value(l.AllocationID), AgentID: optional.Value(l.AgentID), ContainerID: optional.Value(l.ContainerID)}
}

func lineOf(l v1.TaskLog) Line {
	line := Line{At: time.Now(), Stdtype: optional.Value(l.Stdtype), Source: optional.Value(l.Source), Rank: -1, Text: l.Log}
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

// knownWriters is the maximum number of members whose origin is cached.
const knownWriters = 20_000

// origin returns the node and container from which a member's lines come. It caches them, because they
// never change after the claim.
func (d Deps) origin(ctx context.Context, of Writer) (Origin, error) {
	now := time.Now()
	if o, known, _ := d.origins.Get(of, now); known {
		return o, nil
	}
	o, err := MemberOrigin(ctx, d.DB, of.AllocationID, of.Rank)
	if err == nil {
		d.origins.Put(of, o, now)
	}
	return o, err
}

// unpackedBody is the maximum size of an unpacked body.
const unpackedBody = 4 * v1.ReportBody

// unpackWindow is the maximum window size for unpacking.
const unpackWindow = 8 << 20

// packedBody reads a body and unpacks it according to its Content-Encoding. It unpacks twice:
// first to learn the size and to reserve memory, then to keep the result.
func packedBody(c *rest.Call) ([]byte, error) {
	encoding := strings.ToLower(c.Get("Content-Encoding"))
	if encoding == "" || encoding == "identity" {
		return c.ReadBody(v1.ReportBody)
	}
	b, err := c.Receive(v1.ReportBody)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	size, err := unpackedSize(c, b, encoding)
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
func unpackedSize(c *rest.Call, b *rest.Received, encoding string) (size int64, err error) {
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
