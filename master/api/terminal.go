package api

import (
	"context"
	"net/http"
	"strings"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/launch"
	"github.com/detent-ml/detent/master/proxy"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/store"
	"github.com/detent-ml/detent/master/terminal"
	v1 "github.com/detent-ml/detent/master/v1"
)

func (a *API) registerTerminal() {
	o := a.onTaskOf(launch.Shell())
	o.Refusal = func(_ *rest.Call, _ auth.Verb, k store.Task) error { return proxy.Refusal(k.Type, k.Owner) }
	rest.RawQueryOn(a.router, v1.OpenTerminal, o, a.openTerminal)
}

// openTerminal answers with a WebSocket, over which a page of the master shows a terminal of a shell.
// A browser sends the session's cookie from our own pages only (sameOrigin), and never has the key of
// the shell, nor a token in an address.
func (a *API) openTerminal(ctx context.Context, c *rest.Call, k store.Task, req *v1.OpenTerminalRequest) error {
	if !strings.EqualFold(c.Get("Upgrade"), "websocket") {
		c.Set("Upgrade", "websocket")
		return fault.New(fault.Invalid, "this address opens a WebSocket; send the header Upgrade: websocket")
	}
	if a.cfg.Proxy == nil {
		return fault.New(fault.Unavailable, "the task proxy is disabled on this master")
	}
	size, err := terminal.ParseSize(req.Columns, req.Rows)
	if err != nil {
		return err
	}
	keys, err := a.db.ShellKeys(ctx, []string{k.ID})
	if err != nil {
		return err
	}
	leave, err := a.webSockets.terminals.Join(c.Who().Username)
	if err != nil {
		return err
	}
	v, opens := proxy.Caller{Who: c.Who()}, terminal.Keys{Private: keys[k.ID].PrivateKey, Host: keys[k.ID].HostPublicKey}
	err = c.Hijack(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer leave()
		a.cfg.Proxy.Terminal(w, r, v, k.ID, opens, size)
	}))
	if err != nil { // the handler was not called
		leave()
	}
	return err
}
