package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/detent-ml/detent/jobspecs"
	"github.com/detent-ml/detent/master/discovery"
	"github.com/detent-ml/detent/master/proxy"
	"github.com/detent-ml/detent/master/tasks"
)

// A tasksOrigin is the listener for the pages of tasks, if they have their own origin.
type tasksOrigin struct {
	ln  net.Listener // nil: no listener
	url string
}

func (m *master) listenForTasks(ctx context.Context) (tasksOrigin, error) {
	o := tasksOrigin{url: m.cfg.TasksURL}
	if m.cfg.TasksListen == "" {
		return o, nil
	}
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", m.cfg.TasksListen)
	if err != nil {
		return o, fmt.Errorf("tasks_listen: cannot listen on %s: %w; choose an address that no other program uses", m.cfg.TasksListen, err)
	}
	o.ln = m.cfg.TLS.secure(m.conns.limit(ln))
	if o.url == "" {
		o.url = m.cfg.TLS.beside(m.cfg.PublicURL, ln.Addr())
	}
	return o, nil
}

// beside is the address of the same host at another port, if browsers reach it by plain HTTP.
// If they use HTTPS that this master does not serve, a proxy is in between, and only the
// operators know its address.
func beside(public string, addr net.Addr) string {
	u, err := url.Parse(public)
	_, port, perr := net.SplitHostPort(addr.String())
	if err != nil || perr != nil || u.Scheme != "http" {
		return ""
	}
	return u.Scheme + "://" + net.JoinHostPort(u.Hostname(), port)
}

// newProxy makes the proxy for tasks.
func (m *master) newProxy(o tasksOrigin, d *discovery.Discovery) (*proxy.Proxy, error) {
	locate := func(ctx context.Context, allocationID string) (string, int, error) {
		found, err := d.Members(ctx, allocationID)
		return found[0].Address, found[0].Ports[jobspecs.RunnerPort], err
	}
	return proxy.New(m.cfg.origins(o.url), m.cfg.proxyRules(), tasks.Directory{DB: m.db, Roles: m.cfg.roles()}, locate, m.log)
}

func (c *Config) proxyRules() proxy.Rules {
	return proxy.Rules{OpenPorts: c.UnauthenticatedPorts, Ingress: c.Ingress.Kind != ""}
}

// origins are those of the API and of the pages of tasks.
func (c *Config) origins(tasksURL string) proxy.Origins {
	return proxy.Origins{Master: c.PublicURL, URL: tasksURL, Domain: c.TasksDomain}
}

// serveTasks serves the pages of tasks until ctx ends.
func (m *master) serveTasks(ctx context.Context, o tasksOrigin, handler http.Handler) {
	if o.ln == nil {
		return
	}
	// Forwarded requests may take any time; only the header must arrive soon.
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}
	var end sync.WaitGroup
	end.Go(func() {
		<-ctx.Done()
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
		defer cancel()
		_ = server.Shutdown(within) // the proxy closes the remaining connections
	})
	m.log.Info("serving pages of tasks", "address", o.ln.Addr().String(), "url", o.url)
	if err := server.Serve(o.ln); !errors.Is(err, http.ErrServerClosed) {
		m.log.Error("the listener for pages of tasks ended", "error", err)
	}
	end.Wait()
}

// checkTasks validates the settings for the pages of tasks.
func (c *Config) checkTasks(k *checker) {
	if c.TasksListen != "" {
		if _, _, err := net.SplitHostPort(c.TasksListen); err != nil {
			k.fail("tasks_listen", "expected host:port, found %q", c.TasksListen)
		} else if c.TasksListen == c.Listen && !strings.HasSuffix(c.Listen, ":0") {
			k.fail("tasks_listen", "must differ from listen, or a notebook's page could call the API as the user who opens the page; choose another port")
		}
	}
	if c.TasksURL != "" {
		k.url("tasks_url", c.TasksURL)
		if strings.EqualFold(c.TasksURL, c.PublicURL) {
			k.fail("tasks_url", "must differ from public_url, or a notebook's page could call the API as the user who opens the page; choose another host or port")
		}
	}
	if d := c.TasksDomain; d != "" && (strings.ContainsAny(d, "/*@") || strings.HasPrefix(d, ".")) {
		k.fail("tasks_domain", "expected a domain such as tasks.example.com, with a port if it is not the default one, found %q", d)
	}
}
