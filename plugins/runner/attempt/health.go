//go:build linux

package attempt

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/detent-ml/detent/plugins/runner/logs"
)

// serveHealth answers the service check of Consul or Nomad on the port that was
// reserved for it. Nothing else is to be had there. A port that cannot be listened
// on costs the check, not the task.
func serveHealth(ctx context.Context, p *Place, journal *logs.Journal) (stop func()) {
	port := p.Ports[healthPort]
	if n, err := strconv.Atoi(p.Env["NOMAD_PORT_"+healthPort]); err == nil {
		port = n // within a network of its own, the task's side of the mapping
	}
	if port == 0 {
		return func() {}
	}
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", net.JoinHostPort("", strconv.Itoa(port)))
	if err != nil {
		journal.Warnf("the health check of this task will fail: %v", err)
		return func() {}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintln(w, `{"status":"running"}`)
	})
	server := &http.Server{
		Handler: mux, ReadTimeout: 5 * time.Second, WriteTimeout: 5 * time.Second, IdleTimeout: 30 * time.Second,
		MaxHeaderBytes: 4 << 10, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
	}
	go func() { _ = server.Serve(ln) }()
	return func() { _ = server.Close() }
}
