package api

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/accounts"
	"github.com/detent-ml/detent/master/fault"
	v1 "github.com/detent-ml/detent/master/v1"
)

// TestJobsSignIn: a job of Nomad signs in as the service account that the configuration names for it, and as
// nobody else.
func TestJobsSignIn(t *testing.T) {
	until := time.Now().Add(time.Hour)
	known := map[string]accounts.SignedJob{"nightly": {Namespace: "ci", JobID: "nightly", Until: until}, "elsewhere": {Namespace: "default", JobID: "nightly", Until: until}, "other": {Namespace: "ci", JobID: "other", Until: until},
		"person": {Namespace: "ci", JobID: "person", Until: until}, "absent": {Namespace: "ci", JobID: "absent", Until: until}, "late": {Namespace: "ci", JobID: "nightly", Until: time.Now().Add(-time.Second)}}
	r := newRig(t, func(c *Config) {
		c.JobSignIn = &accounts.JobSignIn{Jobs: []accounts.JobUser{{Namespace: "ci", Job: "nightly", User: "ci"}, {Namespace: "ci", Job: "person", User: "admin"}, {Namespace: "ci", Job: "absent", User: "gone"}},
			Verify: func(_ context.Context, jwt string) (accounts.SignedJob, error) {
				if j, ok := known[jwt]; ok {
					return j, nil
				}
				return accounts.SignedJob{}, fault.New(fault.Unauthenticated, "the workload identity is not accepted")
			}}
	})
	admin := r.user("admin")
	id := int(at(t, admin.post("/api/v1/users", `{"user":{"username":"ci","active":true,"serviceAccount":true}}`).ok().tree(), "user.id").(float64))
	login := func(identity string) answer {
		return r.anyone().post("/api/v1/detent/auth/job", fmt.Sprintf(`{"identity":%q}`, identity))
	}
	for identity, want := range map[string]struct {
		code int
		why  string
	}{
		"":          {401, "not accepted"},
		"forged":    {401, "not accepted"},
		"elsewhere": {403, "Nomad job nightly in namespace default may not sign in"},
		"other":     {403, "Nomad job other in namespace ci may not sign in"},
		"person":    {403, "service account admin, which does not exist or is not active"},
		"absent":    {403, "service account gone, which does not exist"},
		"late":      {401, "has expired"},
	} {
		login(identity).says(want.code, want.why)
	}
	var in v1.LoginResponse
	if err := v1.Unmarshal(login("nightly").ok().body, &in); err != nil || in.User.Username != "ci" {
		t.Fatalf("%+v, %v", in, err)
	}
	ci := as{r: r, header: "Authorization", token: "Bearer " + in.Token}
	if me := ci.get("/api/v1/me").ok().tree(); at(t, me, "user.username") != "ci" {
		t.Errorf("%v", me)
	}
	ci.post("/api/v1/tokens", `{}`).is(403) // nothing that outlives the job
	var ends time.Time
	if err := r.db.QueryRow(t.Context(), `SELECT expires_at FROM sessions WHERE user_id = $1`, id).Scan(&ends); err != nil || ends.Sub(until).Abs() > time.Minute {
		t.Errorf("the session ends at %v, the identity at %v: %v", ends, until, err)
	}
	list := trailOf(t, admin, "kind=session&verb=login&username=ci")
	if last := list[len(list)-1]; len(list) != 2 || last.Status == nil || *last.Status != 200 || last.Address == "" {
		t.Errorf("the trail has %+v", list)
	}
	admin.do("PATCH", fmt.Sprintf("/api/v1/users/%d", id), `{"active":false}`).ok()
	ci.get("/api/v1/me").is(401)
	login("nightly").says(403, "service account ci, which does not exist or is not active")

	plain := newRig(t)
	plain.anyone().post("/api/v1/detent/auth/job", `{"identity":"nightly"}`).says(404, "no job_sign_in")
	for range accounts.MaxSignInsPerAddress + 1 {
		if got := login(strings.Repeat("x", 10)); got.code == 429 {
			return
		}
	}
	t.Error("one address may try any number of identities")
}
