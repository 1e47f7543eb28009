package accounts_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/accounts"
	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/fault"
)

func TestSessions(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	session := func(user int) []byte {
		t.Helper()
		_, hash := auth.NewToken()
		if _, err := accounts.NewSession(ctx, w.db, w.user(user), hash, time.Hour, accounts.Place{}); err != nil {
			t.Fatal(err)
		}
		return hash
	}
	known := func(hash []byte) bool {
		t.Helper()
		_, err := accounts.SessionWho(ctx, w.db, false, hash)
		if err != nil && !fault.Is(err, fault.NotFound) {
			t.Fatal(err)
		}
		return err == nil
	}
	first, second, tasks, other := session(2), session(2), session(2), session(1)
	w.exec(`UPDATE sessions SET allocation_id = 'x.1' WHERE token_hash = $1`, tasks)
	who, err := accounts.SessionWho(ctx, w.db, false, first)
	if err != nil || who.Username != "determined" || who.Admin || who.IsTask() {
		t.Fatalf("%+v %v", who, err)
	}
	before, password := w.user(2), "new"
	if _, err := accounts.ChangeUser(ctx, w.db, false, 2, accounts.UserChange{PasswordHash: &password}, who.SessionID); err != nil {
		t.Fatal(err)
	}
	if !known(first) || known(second) || known(tasks) || !known(other) {
		t.Fatal("the wrong sessions ended")
	}
	if now, err := accounts.SessionWho(ctx, w.db, false, first); err != nil || now.SessionEpoch != who.SessionEpoch+1 {
		t.Fatalf("the session that was kept: %+v %v", now, err)
	}
	if _, err := accounts.NewSession(ctx, w.db, before, second, time.Hour, accounts.Place{}); !fault.Is(err, fault.Unauthenticated) || known(second) {
		t.Fatalf("a sign-in with the password that was replaced meanwhile: %v", err)
	}
	w.exec(`UPDATE sessions SET expires_at = now() - interval '1 second' WHERE token_hash = $1`, first)
	if known(first) {
		t.Fatal("an expired session is good")
	}
	session(2)
	if n := w.int(`SELECT count(*) FROM sessions WHERE token_hash = $1`, first); n != 0 {
		t.Fatal("an expired session stays for ever")
	}
	w.exec(`UPDATE users SET active = false WHERE id = 1`)
	if known(other) {
		t.Fatal("a deactivated user is signed in")
	}
}

// If admins demote each other at the same time, one admin remains.
func TestOneAdminStays(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	ids := []int{1}
	for i := range 5 {
		u, err := accounts.CreateUser(ctx, w.db, accounts.User{Username: fmt.Sprintf("a%d", i), Admin: true, Active: true})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, u.ID)
	}
	var wg sync.WaitGroup
	no := false
	refused := make(chan int, len(ids))
	for i, id := range ids {
		wg.Go(func() {
			ch := accounts.UserChange{Admin: &no}
			if i%2 == 0 {
				ch = accounts.UserChange{Active: &no}
			}
			if _, err := accounts.ChangeUser(ctx, w.db, false, id, ch, 0); fault.Is(err, fault.Conflict) {
				refused <- id
			} else if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := w.int(`SELECT count(*) FROM users WHERE admin AND active`); n != 1 || len(refused) != 1 {
		t.Fatalf("%d admins are left, %d changes were refused", n, len(refused))
	}
}

// TestOrdersOfUsers: each order that a list of users may have is a statement.
func TestOrdersOfUsers(t *testing.T) {
	w := newWorld(t)
	for _, desc := range []bool{false, true} {
		for name := range accounts.UserSorts {
			if _, _, err := accounts.Users(t.Context(), w.db, accounts.UserFilter{Sort: name, Desc: desc}); err != nil {
				t.Errorf("users by %s: %v", name, err)
			}
		}
	}
	if _, _, err := accounts.Users(t.Context(), w.db, accounts.UserFilter{Sort: "id; DROP TABLE users"}); !fault.Is(err, fault.Invalid) {
		t.Errorf("%v", err)
	}
}
