package rest

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/fault"
)

// A rig is a router of a test, which listens at an address of this machine. Whoever has a token is a user of that name.
type rig struct {
	*Router
	t      *testing.T
	url    string
	client *http.Client
	log    *text
	served chan error
	once   sync.Once
}

func newRig(t *testing.T, change ...func(*Config)) *rig {
	t.Helper()
	r := &rig{t: t, client: &http.Client{Transport: &http.Transport{}}, log: &text{}}
	cfg := Config{Log: slog.New(slog.NewTextHandler(r.log, nil)),
		Identify: func(_ context.Context, token Credential) (auth.Who, error) {
			if token.Token == "stranger" {
				return auth.Who{}, fault.New(fault.Unauthenticated, "nobody has this token")
			}
			return auth.Who{UserID: 1, Username: token.Token, SessionID: 1}, nil
		},
		Access:        func(*Route, auth.Who) error { return nil },
		Again:         func(context.Context, []auth.Who) (func(auth.Who) (auth.Who, error), error) { return same, nil },
		AccessChanges: func() (<-chan struct{}, func()) { return nil, func() {} },
		Poller:        func(c *Call) string { return c.Owner() },
		LimitReads:    func(ctx context.Context, _ int64) context.Context { return ctx },
	}
	for _, fn := range change {
		fn(&cfg)
	}
	r.Router = New(t.Context(), cfg)
	return r
}

func same(who auth.Who) (auth.Who, error) { return who, nil }

// serve begins to listen: all routes were added.
func (r *rig) serve() {
	r.t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		r.t.Fatal(err)
	}
	r.Mount()
	r.url, r.served = "http://"+lis.Addr().String(), make(chan error, 1)
	go func() { r.served <- r.Listen(lis) }()
	r.t.Cleanup(r.close)
}

// close waits until all answers have ended.
func (r *rig) close() {
	r.once.Do(func() {
		r.client.CloseIdleConnections()
		if err := r.Shutdown(10 * time.Second); err != nil {
			r.t.Error(err)
		}
		if err := <-r.served; err != nil {
			r.t.Error(err)
		}
	})
}

// A text is a log in memory.
type text struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (x *text) Write(p []byte) (int, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.b.Write(p)
}

func (x *text) String() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.b.String()
}
