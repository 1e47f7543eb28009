package api

import (
	"fmt"
	"strings"
	"testing"
)

func TestUserSettings(t *testing.T) {
	r := newRig(t)
	me, admin := r.user("determined"), r.user("admin")
	const path = "/api/v1/users/setting"
	has := func(c as, want string) {
		t.Helper()
		if got := fmt.Sprint(at(t, c.get(path).ok().tree(), "settings")); got != want {
			t.Errorf("the settings are %s, want %s", got, want)
		}
	}
	r.anyone().get(path).is(401)
	has(me, "[]")
	me.post(path, `{"settings":[{"key":"theme","storagePath":"ui","value":"\"dark\""},{"key":"a","storagePath":"","value":"1"}]}`).ok()
	me.post(path, `{"settings":[{"key":"a","storage_path":"","value":"2"}]}`).ok()
	has(me, `[map[key:a storagePath: value:2] map[key:theme storagePath:ui value:"dark"]]`)
	has(admin, "[]") // they are each user's own
	me.post(path, `{"settings":[{"key":"a","value":""}]}`).ok()
	has(me, `[map[key:theme storagePath:ui value:"dark"]]`)
	me.post(path, `{"settings":[{"key":"","value":"x"}]}`).says(400, "needs a key")
	me.post(path, `{"settings":[{"key":"k","value":"`+strings.Repeat("x", 64<<10+1)+`"}]}`).says(413, "limit")
	me.post(path+"/reset", "").ok()
	has(me, "[]")
}
