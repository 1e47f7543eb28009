package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"

	"github.com/detent-ml/detent/master/fault"
	v1 "github.com/detent-ml/detent/master/v1"
)

// A line of a stream: a record, or the error that ended it.
type line struct {
	Result json.RawMessage `json:"result"`
	Error  *struct {
		HTTPCode int    `json:"httpCode"`
		GRPCCode int    `json:"grpcCode"`
		Message  string `json:"message"`
	} `json:"error"`
}

// lines reads a stream record by record, as they arrive. A caller may leave the loop at any
// time; the connection is closed or reused either way.
func (c *Client) lines(ctx context.Context, k call) iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		resp, err := c.send(ctx, k)
		if err != nil {
			yield(nil, err)
			return
		}
		defer resp.Body.Close()
		if k.answered != nil {
			k.answered(resp.Header)
		}
		r := bufio.NewReaderSize(resp.Body, 64<<10)
		for {
			text, err := readLine(r)
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(nil, c.lost(ctx, err))
				return
			}
			record, err := parseLine(text)
			if err != nil {
				yield(nil, err)
				return
			}
			if record != nil && !yield(record, nil) {
				return
			}
		}
	}
}

// readLine returns a line of any length, which is valid until the next call.
func readLine(r *bufio.Reader) ([]byte, error) {
	text, err := r.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		long := append([]byte(nil), text...)
		rest, rerr := r.ReadBytes('\n')
		text, err = append(long, rest...), rerr
	}
	if err == io.EOF && len(text) > 0 {
		return nil, io.ErrUnexpectedEOF
	}
	return text, err
}

func parseLine(text []byte) (json.RawMessage, error) {
	var l line
	if err := json.Unmarshal(text, &l); err != nil {
		if len(text) <= 2 { // an empty line, which some proxies add
			return nil, nil
		}
		return nil, fault.New(fault.Internal, "the stream has a line that is not JSON: %w", err)
	}
	if l.Error != nil {
		code := fault.Internal
		if l.Error.HTTPCode != 0 {
			code = codeOf(l.Error.HTTPCode)
		}
		return nil, fault.New(code, "%s", l.Error.Message)
	}
	return l.Result, nil
}

// stream reads messages of one type.
func stream[T, Req any](ctx context.Context, c *Client, e v1.Endpoint[Req, v1.None], request *Req) iter.Seq2[T, error] {
	k := callOf(e)
	k.query = queryOf(request)
	return func(yield func(T, error) bool) {
		for record, err := range c.lines(ctx, k) {
			var msg T
			if err == nil {
				err = v1.Unmarshal(record, &msg)
			}
			if !yield(msg, err) || err != nil {
				return
			}
		}
	}
}
