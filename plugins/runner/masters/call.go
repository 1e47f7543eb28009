package masters

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	v1 "github.com/detent-ml/detent/master/v1"
)

// maxMessage bounds the answer to a Call. A TaskSpec with its configuration and
// hyperparameters is the largest.
const maxMessage = 64 << 20

// TokenHeader carries an allocation's token, as the harness sends it.
const TokenHeader = "Grpc-Metadata-X-Allocation-Token"

// A Refusal is a master's answer that is not a success.
type Refusal struct {
	Status  int
	Message string
	// Ours says that the body was an error as masters write them; what stands
	// between runner and master (a proxy, another service on a reused port)
	// refuses in other words.
	Ours bool
}

// Error words the refusal.
func (r *Refusal) Error() string {
	return fmt.Sprintf("the master answered %d: %s", r.Status, r.Message)
}

// A Request is one call to a master.
type Request struct {
	Method   string
	Path     string // with its query
	Token    string // of the allocation; "" for none
	Message  any    // of the wire; nil for none
	Body     []byte // instead of Message, already encoded
	Encoding string // of Body
}

// Call sends a message and decodes the answer into out, which may be nil.
// A cut in the middle of the answer counts as none when the policy has Replay.
func (l *List) Call(ctx context.Context, r Request, out any, p Policy) error {
	if r.Message != nil {
		body, err := v1.Marshal(r.Message)
		if err != nil {
			return fmt.Errorf("encoding %T: %w", r.Message, err)
		}
		r.Body = body
	}
	deadline := time.Now().Add(p.Hold)
	for tries := 0; ; tries++ {
		answer, err := l.call(ctx, r, p)
		if err == nil {
			if out == nil {
				return nil
			}
			if err := v1.Unmarshal(answer, out); err != nil {
				return fmt.Errorf("decoding the answer to %s %s: %w", r.Method, r.Path, err)
			}
			return nil
		}
		var cut *cutError
		if !errors.As(err, &cut) || !p.Replay || !time.Now().Before(deadline) {
			return err
		}
		if err := l.pause(ctx, tries); err != nil {
			return err
		}
	}
}

// A cutError is a connection that ended in the middle of an answer.
type cutError struct{ err error }

func (e *cutError) Error() string { return "the answer was cut off: " + e.err.Error() }
func (e *cutError) Unwrap() error { return e.err }

func (l *List) call(ctx context.Context, r Request, p Policy) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, r.Method, r.Path, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "det-runner")
	if r.Token != "" {
		req.Header.Set(TokenHeader, "Bearer "+r.Token)
	}
	var body func() (io.ReadCloser, error)
	if r.Body != nil {
		req.Header.Set("Content-Type", "application/json")
		if r.Encoding != "" {
			req.Header.Set("Content-Encoding", r.Encoding)
		}
		req.ContentLength = int64(len(r.Body))
		body = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(r.Body)), nil }
	}
	resp, err := l.Send(req, body, p)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	content, err := io.ReadAll(io.LimitReader(resp.Body, maxMessage+1))
	if err != nil {
		return nil, &cutError{err}
	}
	if len(content) > maxMessage {
		return nil, fmt.Errorf("the answer to %s is over %d MiB", r.Path, maxMessage>>20)
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return nil, RefusalOf(resp.StatusCode, content)
	}
	return content, nil
}

// RefusalOf reads an error answer in either of the forms that clients of the
// interface know.
func RefusalOf(status int, body []byte) *Refusal {
	var known struct {
		Message string          `json:"message"`
		Error   json.RawMessage `json:"error"`
	}
	var inner struct {
		Message string `json:"message"`
		Error   string `json:"error"`
	}
	r := &Refusal{Status: status}
	if json.Unmarshal(body, &known) == nil {
		_ = json.Unmarshal(known.Error, &inner)
		for _, m := range []string{known.Message, inner.Message, inner.Error} {
			if m != "" {
				r.Message, r.Ours = m, true
				return r
			}
		}
	}
	r.Message = strings.TrimSpace(string(body))
	if len(r.Message) > 300 {
		r.Message = r.Message[:300] + "…"
	}
	if r.Message == "" {
		r.Message = http.StatusText(status)
	}
	return r
}
