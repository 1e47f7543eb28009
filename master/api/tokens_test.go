package api

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// tokened creates an access token as a user, and returns its id and a caller with the token.
func tokened(t *testing.T, who as, body string) (int, as) {
	t.Helper()
	made := who.post("/api/v1/tokens", body).ok().tree()
	return int(at(t, made, "tokenId").(float64)), as{r: who.r, header: "Authorization", token: "Bearer " + at(t, made, "token").(string)}
}

func TestAccessTokens(t *testing.T) {
	r := newRig(t)
	admin, ids := r.user("admin"), map[string]int{}
	for _, name := range []string{"ada", "bob"} {
		made := admin.post("/api/v1/users", fmt.Sprintf(`{"user":{"username":%q,"active":true},"password":"","isHashed":true}`, name)).ok().tree()
		ids[name] = int(at(t, made, "user.id").(float64))
	}
	ada, bob := r.user("ada"), r.user("bob")
	id, script := tokened(t, ada, `{"lifespan":"48h","description":"nightly"}`)
	if at(t, script.get("/api/v1/me").ok().tree(), "user.username") != "ada" {
		t.Fatal("the token is somebody else's")
	}
	list := ada.get("/api/v1/tokens").ok().tree()
	if n := len(at(t, list, "tokenInfo").([]any)); n != 1 || at(t, list, "tokenInfo.0.description") != "nightly" ||
		at(t, list, "tokenInfo.0.tokenType") != "TOKEN_TYPE_ACCESS_TOKEN" || at(t, list, "tokenInfo.0.lastUsedAt") == nil {
		t.Errorf("the list has %v", list)
	}
	expiry, err := time.Parse(time.RFC3339Nano, at(t, list, "tokenInfo.0.expiry").(string))
	if left := time.Until(expiry); err != nil || left < 47*time.Hour || left > 48*time.Hour {
		t.Errorf("the token expires in %s: %v", left, err)
	}
	if strings.Contains(string(ada.get("/api/v1/tokens").body), strings.TrimPrefix(script.token, "Bearer ")) {
		t.Error("the list contains the token")
	}

	t.Run("others", func(t *testing.T) {
		if n := at(t, bob.get("/api/v1/tokens?username=ada&showInactive=true").ok().tree(), "pagination.total"); n != 0.0 {
			t.Errorf("bob sees %v of ada's tokens", n)
		}
		if n := at(t, admin.get("/api/v1/tokens?username=ADA").ok().tree(), "pagination.total"); n != 1.0 {
			t.Errorf("the admin sees %v of ada's tokens", n)
		}
		path := fmt.Sprintf("/api/v1/tokens/%d", id)
		bob.patch(path, `{"setRevoked":true}`).says(404, "not found")
		bob.post("/api/v1/tokens", fmt.Sprintf(`{"userId":%d}`, ids["ada"])).says(403, "only an admin")
		_, service := tokened(t, admin, fmt.Sprintf(`{"userId":%d,"lifespan":"1h"}`, ids["bob"]))
		if at(t, service.get("/api/v1/me").ok().tree(), "user.username") != "bob" {
			t.Error("a token that an admin made for bob is not bob's")
		}
		admin.post("/api/v1/tokens", `{"userId":99999}`).says(404)
	})
	t.Run("what a token may not", func(t *testing.T) {
		script.post("/api/v1/tokens", `{}`).says(403, "cannot create another")
		script.post("/api/v1/auth/logout", "").ok()
		script.get("/api/v1/me").ok() // other programs may use it too
		_, reader := tokened(t, ada, `{"readOnly":true}`)
		reader.get("/api/v1/experiments").ok()
		reader.post("/api/v1/experiments-search", `{}`).ok()
		for path, body := range map[string]string{"/api/v1/experiments": `{}`, "/api/v1/users/setting": `{}`, "/api/v1/workspaces": `{"name":"w"}`, "/api/v1/tokens": `{}`} {
			reader.post(path, body).says(403)
		}
		reader.patch(fmt.Sprintf("/api/v1/tokens/%d", id), `{"setRevoked":true}`).says(403)
	})
	t.Run("an old session", func(t *testing.T) {
		old := r.user("bob")
		if err := r.db.Exec(t.Context(), `UPDATE sessions SET created_at = now() - interval '16 minutes' WHERE user_id = $1 AND NOT is_token`, ids["bob"]); err != nil {
			t.Fatal(err)
		}
		old.post("/api/v1/tokens", `{}`).says(403, "sign in again")
		bob = r.user("bob")
		_, young := tokened(t, bob, `{}`)
		young.patch(fmt.Sprintf("/api/v1/users/%d", ids["bob"]), `{"password":"a token's own","isHashed":false}`).says(403, "sign in again")
	})
	t.Run("bad requests", func(t *testing.T) {
		for _, lifespan := range []string{"x", "0h", "-2h", "1", "9999999999999h"} {
			ada.post("/api/v1/tokens", fmt.Sprintf(`{"lifespan":%q}`, lifespan)).says(400, "lifespan")
		}
		ada.post("/api/v1/tokens", fmt.Sprintf(`{"description":%q}`, strings.Repeat("x", 201))).says(400, "description")
		ada.get("/api/v1/tokens?tokenIds=x").says(400, "tokenIds")
		ada.get("/api/v1/tokens?sortBy=x").says(400, "sortBy")
	})
	t.Run("its end", func(t *testing.T) {
		ada.patch(fmt.Sprintf("/api/v1/users/%d", ids["ada"]), `{"password":"longer than before","isHashed":false}`).ok()
		script.get("/api/v1/me").ok() // a new password does not stop programs
		path := fmt.Sprintf("/api/v1/tokens/%d", id)
		if got := ada.patch(path, `{"description":"weekly"}`).ok().tree(); at(t, got, "tokenInfo.description") != "weekly" || at(t, got, "tokenInfo.revoked") != false {
			t.Errorf("after a change: %v", got)
		}
		ada.patch(path, `{"setRevoked":true}`).ok()
		script.get("/api/v1/me").says(401)
		ada.patch(path, `{"setRevoked":false,"description":"again"}`).ok()
		script.get("/api/v1/me").says(401) // revoked for good
		if n := at(t, ada.get(fmt.Sprintf("/api/v1/tokens?tokenIds=%d", id)).ok().tree(), "tokenInfo.0.revoked"); n != true {
			t.Error("the token is not shown as revoked")
		}
		next, another := tokened(t, ada, `{"lifespan":"1h"}`)
		if err := r.db.Exec(t.Context(), `UPDATE sessions SET expires_at = now() - interval '1 second' WHERE id = $1`, next); err != nil {
			t.Fatal(err)
		}
		another.get("/api/v1/me").says(401)
		_, last := tokened(t, ada, `{}`)
		admin.patch(fmt.Sprintf("/api/v1/users/%d", ids["ada"]), `{"active":false}`).ok()
		last.get("/api/v1/me").says(401)
	})
	t.Run("how many", func(t *testing.T) {
		if err := r.db.Exec(t.Context(), `INSERT INTO sessions (user_id, token_hash, expires_at, is_token)
			SELECT $1, sha256(n::text::bytea), now() + interval '1 hour', true FROM generate_series(1, 100) n`, ids["bob"]); err != nil {
			t.Fatal(err)
		}
		bob.post("/api/v1/tokens", `{}`).says(409, "revoke one")
	})
}
