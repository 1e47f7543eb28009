package proxy

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"

	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/proxy/headers"
	"github.com/detent-ml/detent/master/tunnel"
	v1 "github.com/detent-ml/detent/master/v1"
)

// A target is the destination of a request, in the request's context.
type target struct {
	task    taskService
	address string
	inPlace bool // on the API's origin
}

type targetKey struct{}

// Errors of a gateway's answer that does not come from the program.
var (
	errStarting   = errors.New("the program has not answered yet")
	errNotGateway = errors.New("the program at the task's address is not its gateway")
)

// forward forwards a request to a task's gateway, at the API's origin (inPlace) or the tasks'.
func (p *Proxy) forward(inPlace bool) func(http.ResponseWriter, *http.Request, taskService) {
	return func(w http.ResponseWriter, r *http.Request, t taskService) {
		address, err := p.address(r.Context(), t.Task)
		if err != nil {
			p.unanswered(w, r, t, err)
			return
		}
		r = r.WithContext(context.WithValue(r.Context(), targetKey{}, target{t, address, inPlace}))
		if asked := tunnel.Asked(r.Header); asked != "" {
			p.upgrade(w, r, asked)
			return
		}
		p.reverse.ServeHTTP(headers.FinalAnswers{ResponseWriter: w}, r)
	}
}

func (p *Proxy) newReverse() *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Transport:     p.newTransport(),
		FlushInterval: -1, // send the program's output at once
		BufferPool:    &tunnel.Buffers{},
		ErrorLog:      slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
		Rewrite: func(pr *httputil.ProxyRequest) {
			to := pr.In.Context().Value(targetKey{}).(target)
			p.aim(pr.Out.URL, pr.In.URL, to)
			pr.Out.Host = pr.In.Host
			p.dress(pr.Out.Header, pr.In, to)
		},
		ModifyResponse: func(resp *http.Response) error {
			return p.admit(resp, resp.Request.Context().Value(targetKey{}).(target))
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			p.unanswered(w, r, r.Context().Value(targetKey{}).(target).task, err)
		},
	}
}

// dress removes our own headers from a request, and adds those that the gateway and the program
// need.
func (p *Proxy) dress(h http.Header, in *http.Request, to target) {
	headers.Strip(h)
	host, _, err := net.SplitHostPort(in.RemoteAddr)
	if err == nil {
		h.Set("X-Forwarded-For", host)
		h.Set("X-Real-Ip", host)
	}
	h.Set("X-Forwarded-Host", in.Host)
	h.Set("X-Forwarded-Proto", "http")
	if to.inPlace && strings.HasPrefix(p.origins.Master, "https://") || !to.inPlace && p.origins.secure(to.task.ID) {
		h.Set("X-Forwarded-Proto", "https")
	}
	h.Set("X-Forwarded-Prefix", strings.TrimSuffix(to.task.at.base(), "/"))
	h.Set(v1.GatewayHeader, to.task.Secret)
	if to.inPlace && to.task.Type == "NOTEBOOK" && to.task.at.port == 0 {
		asTornado(h)
	}
}

// admit checks a task's answer, and limits its headers to the task (confine).
func (p *Proxy) admit(resp *http.Response, to target) error {
	switch resp.Header.Get(v1.GatewayHeader) {
	case v1.GatewayOpen:
	case v1.GatewayStarting:
		return errStarting
	default:
		return errNotGateway
	}
	headers.Confine(resp.Header, to.task.at.base())
	policy := headers.Frames(p.origins.Master)
	if to.inPlace { // the answer is for programs; a browser must not run it as a page of the API's origin
		policy = "sandbox"
		resp.Header.Set("X-Content-Type-Options", "nosniff")
	}
	resp.Header.Add("Content-Security-Policy", policy)
	return nil
}

// unanswered answers with the reason why the task did not answer, unless the caller has
// disconnected or lost the right to open the task.
func (p *Proxy) unanswered(w http.ResponseWriter, r *http.Request, t taskService, err error) {
	if cause := context.Cause(r.Context()); cause != nil {
		if errors.Is(cause, context.Canceled) {
			cause = errStopping
		}
		p.fail(w, r, cause)
		return
	}
	show(w, r, p.pageUnanswered(t, err))
}

func (p *Proxy) pageUnanswered(t taskService, err error) page {
	if !errors.Is(err, errStarting) {
		p.forgetAddress(t.Task)
		if t.Ready {
			p.log.Warn("a task does not answer", "task_id", t.ID, "allocation_id", t.AllocationID, "error", err)
			return pageSilent(t.Task)
		}
	}
	return pageStarting(t)
}

// upgrade forwards a request for another protocol, usually a WebSocket, and then the bytes.
func (p *Proxy) upgrade(w http.ResponseWriter, r *http.Request, asked string) {
	to := r.Context().Value(targetKey{}).(target)
	if r.ContentLength != 0 || len(r.TransferEncoding) > 0 {
		show(w, r, pageBadPath(errors.New("a request with Upgrade must not have a body")))
		return
	}
	out := &http.Request{Method: r.Method, URL: &url.URL{}, Host: r.Host, Header: r.Header.Clone()}
	p.aim(out.URL, r.URL, to)
	p.dress(out.Header, r, to)
	hopByHop(out.Header)
	out.Header.Set("Connection", "Upgrade")
	out.Header.Set("Upgrade", asked)
	conn, resp, err := p.ask(r.Context(), to, out)
	if err == nil && resp != nil {
		err = p.admit(resp, to)
	}
	if err != nil {
		if conn != nil {
			_ = conn.Close()
		} else if resp != nil {
			_ = resp.Body.Close()
		}
		p.unanswered(w, r, to.task, err)
		return
	}
	if conn == nil {
		relay(w, resp)
		return
	}
	protocol := resp.Header.Get("Upgrade")
	hopByHop(resp.Header)
	resp.Header.Set("Connection", "Upgrade")
	resp.Header.Set("Upgrade", protocol)
	client, err := tunnel.Accept(w, resp.Header)
	if err != nil {
		_ = conn.Close()
		p.log.Debug("a client disconnected before its tunnel was open", "error", err)
		return
	}
	tunnel.JoinUntil(r.Context(), client, conn)
}

// ask sends a request for another protocol to a gateway, over its own connection.
func (p *Proxy) ask(ctx context.Context, to target, req *http.Request) (net.Conn, *http.Response, error) {
	conn, err := p.dial(ctx, to)
	if err != nil {
		return nil, nil, err
	}
	within, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	return tunnel.Dial(within, conn, req)
}

// relay forwards an answer that does not switch to the requested protocol.
func relay(w http.ResponseWriter, resp *http.Response) {
	defer resp.Body.Close()
	hopByHop(resp.Header)
	h := w.Header()
	maps.Copy(h, resp.Header)
	w.WriteHeader(resp.StatusCode)
	_, _ = io.Copy(w, resp.Body) // fails if the caller has disconnected
}

// hopByHop removes the headers that are for the next hop only.
func hopByHop(h http.Header) {
	for _, line := range h.Values("Connection") {
		for _, field := range splitList(line) {
			h.Del(field)
		}
	}
	for _, field := range []string{"Connection", "Proxy-Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization",
		"Te", "Trailer", "Transfer-Encoding", "Upgrade"} {
		h.Del(field)
	}
}

// splitList splits a header with a list.
func splitList(line string) []string {
	return each.Of(strings.Split(line, ","), strings.TrimSpace)
}
