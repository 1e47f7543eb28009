package api

import (
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/detent-ml/detent/master/rest"
)

// TestChangesTakeTurns: a user's requests that change something run a few at once, before they load anything; reads and others go on.
func TestChangesTakeTurns(t *testing.T) {
	r := newRig(t)
	me, admin := r.user("determined"), r.user("admin")
	id := me.create(yaml())
	var held []*rest.Share
	for range rest.MaxChangingPerUser {
		s, err := r.api.router.Limits.Changes.Take(t.Context(), "user determined", 1)
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, s)
	}
	paths := []func() answer{
		func() answer { return me.patch(fmt.Sprintf("/api/v1/experiments/%d", id), `{"notes":"x"}`) },
		func() answer { return me.post("/api/v1/experiments", createBody(yaml())) },
		func() answer {
			return me.post("/api/v1/users/setting", `{"settings":[{"storagePath":"a","key":"k","value":"1"}]}`)
		},
		func() answer { return me.post("/api/v1/workspaces", `{"name":"Team"}`) },
	}
	var all sync.WaitGroup
	for _, call := range paths {
		all.Go(func() { call().ok() })
	}
	eventually(t, func() bool {
		return r.api.router.Limits.Changes.HeldBy("user determined") == rest.MaxChangingPerUser+len(paths)
	})
	me.get(fmt.Sprintf("/api/v1/experiments/%d", id)).ok()
	admin.patch(fmt.Sprintf("/api/v1/experiments/%d", id), `{"notes":"y"}`).ok()
	if got := r.text(`SELECT notes FROM experiments WHERE id = $1`, id); got != "y" {
		t.Errorf("a request without a turn has changed the notes to %q", got)
	}
	for _, s := range held {
		s.Release()
	}
	all.Wait()
	eventually(t, func() bool { return r.api.router.Limits.Changes.HeldBy("user determined") == 0 })
}

// TestSlowBodiesHoldNoTurn: a user whose bodies do not arrive can still change something.
func TestSlowBodiesHoldNoTurn(t *testing.T) {
	r := newRig(t)
	me := r.user("determined")
	id := me.create(yaml())
	for range rest.MaxChangingPerUser {
		conn, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := fmt.Fprintf(conn, "PATCH /api/v1/experiments/%d HTTP/1.1\r\nHost: localhost\r\n%s: %s\r\nContent-Length: 8000000\r\n\r\n{%s", id, me.header, me.token, strings.Repeat(" ", 20_000)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 10 { // the bodies arrive meanwhile
		me.patch(fmt.Sprintf("/api/v1/experiments/%d", id), fmt.Sprintf(`{"description":"%d"}`, i)).ok()
	}
	me.post(fmt.Sprintf("/api/v1/experiments/%d/kill", id), "{}").ok()
}
