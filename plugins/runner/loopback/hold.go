package loopback

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/detent-ml/detent/plugins/runner/masters"
)

const (
	// wholeAnswer is up to which size an answer of known length is read before
	// any of it is passed on, so that one that is cut off can be asked for again.
	wholeAnswer = 4 << 20
	// signalSlack is how much longer than asked the preemption signal may take.
	// Its client gives up ten seconds after what it asked for.
	signalSlack = 2 * time.Second
)

// A holder is the transport between the loopback server and the masters.
type holder struct {
	cfg  Config
	room atomic.Int64

	mu        sync.Mutex
	preempted map[string]bool // paths of signals that said yes once; they never say no again
}

func newHolder(cfg Config) *holder {
	return &holder{cfg: cfg, preempted: map[string]bool{}}
}

// RoundTrip sends a request until a master answers it.
func (h *holder) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Header.Get("User-Agent") == "" {
		req.Header["User-Agent"] = nil // none was sent: the transport shall not add its own
	}
	if strings.EqualFold(req.Header.Get("Connection"), "upgrade") {
		return h.cfg.Masters.Send(req, nil, masters.Policy{Hold: h.cfg.Hold, Replay: true, TakeStatus: true})
	}
	kept := &body{}
	if req.Body != nil && req.Body != http.NoBody {
		var err error
		if kept, err = keep(req.Body, h.cfg, &h.room); err != nil {
			return nil, err
		}
		req.ContentLength = kept.size
	}
	if asked, ok := signalOf(req); ok {
		return h.signal(req, asked)
	}
	resp, err := h.send(req, kept, h.policy(req))
	if err != nil {
		kept.free()
		return nil, err
	}
	resp.Body = &freeing{ReadCloser: resp.Body, kept: kept}
	return resp, nil
}

type freeing struct {
	io.ReadCloser
	kept *body
}

func (f *freeing) Close() error {
	f.kept.free()
	return f.ReadCloser.Close()
}

// policy says how far a request may be repeated.
func (h *holder) policy(req *http.Request) masters.Policy {
	p := masters.Policy{Hold: h.cfg.Hold, Replay: repeatable(req), Patience: h.cfg.Patience}
	if strings.HasPrefix(req.URL.Path, "/proxy/") {
		// What is behind it is another task; its answers are its own.
		return masters.Policy{Hold: h.cfg.Hold, Replay: p.Replay, TakeStatus: true}
	}
	if waits.MatchString(req.URL.Path) {
		p.Patience = 0
	}
	return p
}

// waits matches calls that are answered when others have come.
var waits = regexp.MustCompile(`/(all_gather|rendezvous)$`)

// reports matches the calls by which a task says something about itself. Saying
// it twice is saying it once.
var reports = regexp.MustCompile(`^/api/v1/(` + strings.Join([]string{
	`trials/\d+/(metrics|progress|early_exit|runner/metadata|profiler/.*|training_metrics|validation_metrics|searcher/completed_operation)`,
	`allocations/.+`, `detent/.+`, `checkpoints(/.*)?`, `runs/start`, `runs/\d+/metadata`, `task/logs`, `trial-source-info`, `notebooks/.+/report_idle`,
}, "|") + `)$`)

func repeatable(req *http.Request) bool {
	return req.Method != http.MethodPost || reports.MatchString(req.URL.Path)
}

// send is Send, but an answer of moderate length arrives whole or is asked for
// again.
func (h *holder) send(req *http.Request, kept *body, p masters.Policy) (*http.Response, error) {
	open := kept.open
	if kept.size == 0 {
		open = nil
	}
	deadline := time.Now().Add(p.Hold)
	for {
		resp, err := h.cfg.Masters.Send(req, open, p)
		if err != nil || resp.ContentLength <= 0 || resp.ContentLength > wholeAnswer || req.Method == http.MethodHead {
			return resp, err
		}
		content := make([]byte, resp.ContentLength)
		_, err = io.ReadFull(resp.Body, content)
		_ = resp.Body.Close()
		if err == nil {
			resp.Body = io.NopCloser(bytes.NewReader(content))
			return resp, nil
		}
		if req.Context().Err() != nil || !p.Replay || !time.Now().Before(deadline) {
			return nil, err
		}
	}
}

var signalPath = regexp.MustCompile(`^/api/v1/allocations/[^/]+/signals/preemption$`)

// signalOf tells whether a request asks for the preemption signal, and how long
// it is ready to wait.
func signalOf(req *http.Request) (time.Duration, bool) {
	if req.Method != http.MethodGet || !signalPath.MatchString(req.URL.Path) {
		return 0, false
	}
	q := req.URL.Query()
	for _, name := range []string{"timeoutSeconds", "timeout_seconds"} {
		if n, err := strconv.Atoi(q.Get(name)); err == nil && n >= 0 {
			return time.Duration(n) * time.Second, true
		}
	}
	return 0, true
}

// signal asks for the preemption signal, and answers itself when no master does
// in time: what the last answer was, "no" before there was one.
func (h *holder) signal(req *http.Request, asked time.Duration) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(req.Context(), asked+signalSlack)
	defer cancel()
	resp, err := h.send(req.Clone(ctx), &body{}, masters.Policy{Hold: asked + signalSlack, Replay: true})
	if err == nil && resp.StatusCode < 500 {
		content, readErr := io.ReadAll(io.LimitReader(resp.Body, wholeAnswer))
		_ = resp.Body.Close()
		if err = readErr; err == nil {
			h.remember(req.URL.Path, content)
			resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(content)), int64(len(content))
			return resp, nil
		}
	} else if err == nil {
		_ = resp.Body.Close()
	}
	if req.Context().Err() != nil {
		return nil, errors.Join(err, req.Context().Err())
	}
	h.mu.Lock()
	answer := []byte(`{"preempt":` + strconv.FormatBool(h.preempted[req.URL.Path]) + `}`)
	h.mu.Unlock()
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:        http.Header{"Content-Type": {"application/json"}},
		Body:          io.NopCloser(bytes.NewReader(answer)),
		ContentLength: int64(len(answer)), Request: req,
	}, nil
}

func (h *holder) remember(path string, answer []byte) {
	var said struct {
		Preempt bool `json:"preempt"`
	}
	if json.Unmarshal(answer, &said) == nil && said.Preempt {
		h.mu.Lock()
		h.preempted[path] = true
		h.mu.Unlock()
	}
}
