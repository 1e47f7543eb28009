package tasks

import (
	"context"
	"net/http"
	"strings"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/proxy"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/terminal"
	v1 "github.com/detent-ml/detent/master/v1"
)

const (
	maxTerminals       = 256 // open at once
	MaxTerminalsOfUser = 16  // of those, of one user
)

// openTerminal answers with a WebSocket, over which a page of the master shows a terminal of a shell.
// A browser sends the session's cookie from our own pages only (sameOrigin), and never has the key of
// the shell, nor a token in an address.
func (d Deps) openTerminal(ctx context.Context, c *rest.Call, k Task, req *v1.OpenTerminalRequest) error {
	if !strings.EqualFold(c.Get("Upgrade"), "websocket") {
		c.Set("Upgrade", "websocket")
		return fault.New(fault.Invalid, "this address opens a WebSocket; send the header Upgrade: websocket")
	}
	if d.Proxy == nil {
		return fault.New(fault.Unavailable, "the task proxy is disabled on this master")
	}
	size, err := terminal.ParseSize(req.Columns, req.Rows)
	if err != nil {
		return err
	}
	keys, err := ShellKeysOf(ctx, d.DB, []string{k.ID})
	if err != nil {
		return err
	}
	leave, err := d.terminals.Join(c.Who().Username)
	if err != nil {
		return err
	}
	v, opens := proxy.Caller{Who: c.Who()}, terminal.Keys{Private: keys[k.ID].PrivateKey, Host: keys[k.ID].HostPublicKey}
	err = c.Hijack(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer leave()
		d.Proxy.Terminal(w, r, v, k.ID, opens, size)
	}))
	if err != nil { // the handler was not called
		leave()
	}
	return err
}
