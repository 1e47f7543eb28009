//go:build linux

package gateway

import (
	"cmp"
	"context"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/detent-ml/detent/master/sleep"
	v1 "github.com/detent-ml/detent/master/v1"
)

const (
	// A starting program is asked often at first, because users wait for it.
	readyPause   = 50 * time.Millisecond
	readySlowest = time.Second
	// readyWithin is how long a program may take to answer.
	readyWithin = 30 * time.Second
	// maxAnswer is the maximum number of bytes that are read of an answer.
	maxAnswer = 4 << 20
)

// Ready returns when the program is ready: for an HTTP task, when it answers anything but a
// server error; for a shell, when its socket is open.
func Ready(ctx context.Context, spec v1.Gateway, dial Dialer) error {
	for pause := readyPause; ; pause = min(pause*3/2, readySlowest) {
		if answers(ctx, spec, dial) {
			return nil
		}
		if err := sleep.For(ctx, pause); err != nil {
			return err
		}
	}
}

func answers(ctx context.Context, spec v1.Gateway, dial Dialer) bool {
	if spec.Kind == v1.GatewayOfSSH {
		conn, err := dial(ctx)
		if err != nil {
			return false
		}
		_ = conn.Close()
		return true
	}
	path := spec.ReadyPath
	path = cmp.Or(path, spec.BasePath)
	status, _, err := get(ctx, dial, path)
	return err == nil && status < 500
}

// get sends a request to the program itself, not through the gateway.
func get(ctx context.Context, dial Dialer, path string) (status int, body []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	client := &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) }},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost"+path, nil)
	if err != nil {
		return 0, nil, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	return resp.StatusCode, body, err
}
