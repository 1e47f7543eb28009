package api

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/audit"
	"github.com/detent-ml/detent/master/experiments"
	v1 "github.com/detent-ml/detent/master/v1"
)

// trailOf reads the audit trail as an admin does, the oldest entries first.
func trailOf(t *testing.T, admin as, query string) []v1.AuditEntry {
	t.Helper()
	var page v1.AuditResponse
	if err := v1.Unmarshal(admin.get("/api/v1/detent/audit?limit=1000&"+query).ok().body, &page); err != nil {
		t.Fatal(err)
	}
	slices.Reverse(page.Entries)
	return page.Entries
}

// told returns a short form of an entry: user, verb, kind, object and status.
func told(e v1.AuditEntry) string {
	status := "none"
	if e.Status != nil {
		status = fmt.Sprint(*e.Status)
	}
	return fmt.Sprintf("%s %s %s %q %s", e.Username, e.Verb, e.Kind, e.Object, status)
}

func TestAudit(t *testing.T) {
	r := newRig(t)
	r.node("n1", "node-1", 4)
	admin := r.user("admin")
	admin.post("/api/v1/users", `{"user":{"username":"ada","active":true,"admin":false},"password":"sesame","isHashed":true}`).ok()
	ada := r.user("determined")
	id := ada.create(yaml())
	path := fmt.Sprintf("/api/v1/experiments/%d", id)
	ada.post(path+"/pause", "").ok()
	ada.get(path).ok()
	ada.get(path + "/model_def").ok()
	for range 5 {
		ada.del("/api/v1/models/nothing").is(404)
	}
	ada.post("/api/v1/projects/0/experiments/kill", fmt.Sprintf(`{"experimentIds":[%d,99],"note":"of no interest"}`, id)).ok()
	ada.get("/api/v1/detent/audit").is(403)
	_, script := tokened(t, ada, `{"lifespan":"1h","description":"a secret description"}`)
	script.post(path+"/kill", "").ok()
	admin.get(path + "/model_def").ok()
	admin.get(path + "/model_def").ok()

	var lines []string
	for _, e := range trailOf(t, admin, "username=determined") {
		lines = append(lines, told(e)+fmt.Sprintf(" ×%d", e.Times))
	}
	want := []string{
		`determined login session "2" 200 ×1`,
		`determined create experiment "` + fmt.Sprint(id) + `" 200 ×1`,
		`determined change experiment "` + fmt.Sprint(id) + `" 200 ×1`,
		`determined change model "nothing" 404 ×5`,
		`determined change project "0" 200 ×1`,
		`determined administer cluster "" 403 ×1`,
		`determined create access token "`,
		`determined change experiment "` + fmt.Sprint(id) + `" 200 ×1`,
	}
	for i, w := range want {
		if i >= len(lines) || !strings.HasPrefix(lines[i], w) {
			t.Fatalf("entry %d: expected %s in\n%s", i, w, strings.Join(lines, "\n"))
		}
	}
	if len(lines) != len(want) {
		t.Errorf("%d entries:\n%s", len(lines), strings.Join(lines, "\n"))
	}
	of := trailOf(t, admin, "username=determined")
	if names := string(of[4].Names); names != fmt.Sprintf(`{"experimentIds": [%d, 99]}`, id) {
		t.Errorf("the bulk call names %s", names)
	}
	if signIn := of[0]; signIn.Object == "" || "session "+signIn.Object != of[2].Credential {
		t.Errorf("the sign-in of %s is that of session %q", of[2].Credential, signIn.Object)
	}
	if of[1].WorkspaceID != nil || of[2].WorkspaceID == nil || *of[2].WorkspaceID != 1 || !strings.HasPrefix(of[2].Credential, "session ") || !strings.HasPrefix(of[7].Credential, "access token ") {
		t.Errorf("the credentials and workspaces: %+v", of)
	}
	// The owner read the code too, which is not recorded.
	if reads := trailOf(t, admin, "kind=experiment&verb=view"); len(reads) != 1 || reads[0].Username != "admin" || reads[0].Times != 2 || reads[0].LastTime == nil {
		t.Errorf("the reads are %+v", reads)
	}
	if made := trailOf(t, admin, "kind=user"); len(made) != 1 || !strings.Contains(string(made[0].Names), `"username": "ada"`) {
		t.Errorf("the new user: %+v", made)
	}
	whole, err := json.Marshal(trailOf(t, admin, ""))
	if err != nil || strings.Contains(string(whole), "sesame") || strings.Contains(string(whole), "secret description") || strings.Contains(string(whole), "of no interest") {
		t.Errorf("the audit trail contains texts of bodies: %s %v", whole, err)
	}
	if failed := trailOf(t, admin, "failed=true&username=determined"); len(failed) != 2 {
		t.Errorf("%d calls failed: %+v", len(failed), failed)
	}
	if seen := trailOf(t, admin, "path=&verb=administer&kind=cluster"); len(seen) == 0 || seen[len(seen)-1].Username != "admin" {
		t.Errorf("readings of the trail: %+v", seen)
	}
}

// TestAuditOfSignIns: guesses at a password are one entry, also when they are many.
func TestAuditOfSignIns(t *testing.T) {
	r := newRig(t)
	admin := r.user("admin")
	for range 3 {
		r.anyone().post("/api/v1/auth/login", `{"username":"Determined","password":"wrong"}`).is(401)
	}
	r.anyone().post("/api/v1/auth/login", `{"username":"determined","password":""}`).ok()
	r.user("determined").post("/api/v1/auth/logout", "").ok()
	var lines []string
	for _, e := range trailOf(t, admin, "kind=session&username=determined") {
		lines = append(lines, fmt.Sprintf("%s ×%d %t", told(e), e.Times, e.UserID != nil))
	}
	got := strings.Join(lines, "\n")
	want := `determined login session "" 401 ×3 false
determined login session "2" 200 ×1 true
determined login session "3" 200 ×1 true
determined logout session "" 200 ×1 true`
	if got != want {
		t.Errorf("the trail has\n%s", got)
	}
}

// TestNothingWithoutAnEntry: a call that cannot be recorded does nothing.
func TestNothingWithoutAnEntry(t *testing.T) {
	r := newRig(t)
	r.node("n1", "node-1", 4)
	me := r.user("determined")
	id := me.create(yaml())
	if err := r.db.Exec(t.Context(), `ALTER TABLE audit ADD CONSTRAINT full_disk CHECK (id < 0) NOT VALID`); err != nil {
		t.Fatal(err)
	}
	before, err := experiments.Get(t.Context(), r.db, id)
	if err != nil {
		t.Fatal(err)
	}
	me.post(fmt.Sprintf("/api/v1/experiments/%d/kill", id), "").is(500)
	if e, err := experiments.Get(t.Context(), r.db, id); err != nil || e.Desired != before.Desired {
		t.Errorf("the experiment was killed without an entry: %v %v", e.Desired, err)
	}
	me.get(fmt.Sprintf("/api/v1/experiments/%d", id)).ok()
	if refused := r.anyone().post("/api/v1/auth/login", `{"username":"determined","password":""}`).is(500); refused.header.Get("Set-Cookie") != "" || strings.Contains(string(refused.body), "det.") {
		t.Errorf("a sign-in without an entry answers %v %s", refused.header, refused.body)
	}
}

// TestNobodyFillsTheTrail: the number of entries for rejected calls of a user is limited, and no
// successful call lacks an entry.
func TestNobodyFillsTheTrail(t *testing.T) {
	r := newRig(t)
	r.node("n1", "node-1", 4)
	admin, me := r.user("admin"), r.user("determined")
	const single, calls = 10, 30
	*r.api.trail = *audit.New(t.Context(), r.db, slog.New(slog.DiscardHandler), audit.Limits{Singles: single, SinglesEvery: time.Hour})
	counted := func(where string) string {
		return r.text(`SELECT count(*) || ' entries of ' || sum(times) FROM audit WHERE ` + where)
	}
	for i := range calls {
		me.del(fmt.Sprint("/api/v1/models/unknown-", i)).is(404)
		r.anyone().post("/api/v1/auth/login", fmt.Sprintf(`{"username":"guess-%d","password":"x"}`, i))
	}
	if got := counted(`username = 'determined' AND status = 404`); got != fmt.Sprintf("%d entries of %d", single+1, calls) {
		t.Errorf("calls that name something else each time: %s", got)
	}
	if got := counted(`path LIKE '%/login' AND status >= 400`); got != fmt.Sprintf("%d entries of %d", single+1, calls) && got != fmt.Sprintf("%d entries of %d", single+2, calls) {
		t.Errorf("sign-ins with other names: %s", got)
	}
	// What follows the flood is in the trail.
	id := me.create(yaml())
	hers := admin.create(yaml())
	me.get(fmt.Sprintf("/api/v1/experiments/%d/model_def", hers)).ok()
	for _, want := range []string{fmt.Sprintf(`determined create experiment "%d" 200`, id), fmt.Sprintf(`determined view experiment "%d" 200`, hers)} {
		if !slices.ContainsFunc(trailOf(t, admin, "username=determined&kind=experiment"), func(e v1.AuditEntry) bool { return told(e) == want }) {
			t.Errorf("the trail does not have %s", want)
		}
	}
	// Changes end when they are too many, each with its own entry before.
	*r.api.trail = *audit.New(t.Context(), r.db, slog.New(slog.DiscardHandler), audit.Limits{Singles: single, SinglesEvery: time.Hour, Changes: 3, ChangesEvery: time.Hour})
	for i := range 5 {
		answer := me.post("/api/v1/models", fmt.Sprintf(`{"name":"m%d"}`, i))
		if want := map[bool]int{true: 200, false: 429}[i < 3]; answer.code != want {
			t.Errorf("change %d: %d %s", i, answer.code, answer.body)
		}
	}
	if got := r.text(`SELECT count(*) || ' models, ' || (SELECT count(*) FROM audit WHERE path LIKE '%/models' AND status = 200) || ' entries' FROM models`); got != "3 models, 3 entries" {
		t.Error(got)
	}
	if got := counted(`username = 'determined' AND status = 429`); got != "1 entries of 2" {
		t.Errorf("refused changes: %s", got)
	}
	admin.post("/api/v1/models", `{"name":"other"}`).ok()
}

// TestEveryCallHasAResult: no text and no number of a body leaves its entry without a result.
func TestEveryCallHasAResult(t *testing.T) {
	r := newRig(t)
	me, admin := r.user("determined"), r.user("admin")
	for _, body := range []string{`{"name":"a\u0000b"}`, `{"name":"m","\u0000id":"x"}`, `{"name":"n","id":1e999999}`, `{"name":"o","ids":[` + strings.TrimSuffix(strings.Repeat("1e131000,", 90), ",") + `]}`} {
		me.post("/api/v1/models", body)
	}
	if none := r.text(`SELECT count(*)::text FROM audit WHERE ended_at IS NULL`); none != "0" {
		t.Errorf("%s entries have no result", none)
	}
	if page := admin.get("/api/v1/detent/audit?limit=1000").ok(); len(page.body) > 20_000 {
		t.Errorf("some entries are an answer of %d bytes", len(page.body))
	}
}

// TestOldEntriesGo: the master deletes old entries, and keeps the others.
func TestOldEntriesGo(t *testing.T) {
	r := newRig(t)
	for _, name := range []string{"old", "new"} {
		if _, err := audit.Begin(t.Context(), r.db, audit.Entry{Username: name, Method: "POST"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.db.Exec(t.Context(), `UPDATE audit SET at = now() - interval '11 days' WHERE username = 'old'`); err != nil {
		t.Fatal(err)
	}
	if n, err := audit.Delete(t.Context(), r.db, 10); err != nil || n != 1 {
		t.Errorf("%d entries were deleted: %v", n, err)
	}
	if list, err := audit.Entries(t.Context(), r.db, audit.Filter{Username: "new"}, 10); err != nil || len(list) != 1 || list[0].EndedAt != nil {
		t.Errorf("%+v %v", list, err)
	}
}
