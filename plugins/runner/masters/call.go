package masters

import (
	"bytes"
	"cmp"
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

// maxMessage is the maximum size of the response to a Call. A TaskSpec with its configuration
// and hyperparameters is the largest.
const maxMessage = 64 << 20

// TokenHeader is the header with an allocation's token, as in the harness.
const TokenHeader = "Grpc-Metadata-X-Allocation-Token"

// A Refusal is a response of a master with an error status.
type Refusal struct {
	Status  int
	Message string
	// Ours reports that the body is an error in the form of a master; proxies, and other
	// services on a reused port, send other forms.
	Ours bool
}

// Error formats the refusal.
func (r *Refusal) Error() string {
	return fmt.Sprintf("the master answered %d: %s", r.Status, r.Message)
}

// A Request is one call of a master.
type Request struct {
	Method   string
	Path     string // with its query
	Token    string // of the allocation; "": none
	Message  any    // message of the API; nil: none
	Body     []byte // instead of Message, already encoded
	Encoding string // of Body
}

// Call sends a message and decodes the response into out, which may be nil. With Replay in the
// policy, a response that is cut off is requested again.
func (l *List) Call(ctx context.Context, r Request, out any, p Policy) error {
	if r.Message != nil {
		body, err := v1.Marshal(r.Message)
		if err != nil {
			return fmt.Errorf("cannot encode %T: %w", r.Message, err)
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
				return fmt.Errorf("cannot decode the answer to %s %s: %w", r.Method, r.Path, err)
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

// A cutError is a connection that ended during a response.
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

// RefusalOf parses an error response in either of the forms of Determined's API.
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
	r.Message = cmp.Or(r.Message, http.StatusText(status))
	return r
}
