package servertest

import (
	"context"

	"github.com/detent-ml/detent/master/accounts"
	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/proxy"
	"github.com/detent-ml/detent/master/store"
)

// directory adapts the store to the proxy's interface.
type directory struct{ *store.DB }

func (d directory) Task(ctx context.Context, id, lately string) (proxy.Task, error) {
	v, err := d.ProxyTask(store.ForPages(ctx, lately), id)
	return proxy.Task(v), err
}

func (d directory) Tasks(ctx context.Context, ids []string) (map[string]proxy.Task, error) {
	list, err := d.ProxyTasks(ctx, ids)
	out := make(map[string]proxy.Task, len(list))
	for _, v := range list {
		out[v.ID] = proxy.Task(v)
	}
	return out, err
}

func (d directory) Sessions(ctx context.Context, ids []int64) (map[int64]auth.Who, error) {
	return accounts.ValidSessions(ctx, d.DB.DB, d.Roles, ids)
}

func (d directory) CookieWho(ctx context.Context, hash []byte, task, lately string) (auth.Who, error) {
	return d.DB.CookieWho(store.ForPages(ctx, lately), hash, task)
}
