package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/detent-ml/detent/master/auth"
)

// A following client reads the messages of /stream.
type following struct {
	t  *testing.T
	ws *websocket.Conn
}

func (c as) follow(t *testing.T) *following {
	t.Helper()
	ws, resp, err := websocket.DefaultDialer.DialContext(t.Context(), strings.Replace(c.r.url, "http", "ws", 1)+"/stream", http.Header{c.header: {c.token}})
	if err != nil {
		t.Fatalf("%v: %+v", err, resp)
	}
	t.Cleanup(func() { _ = ws.Close() })
	return &following{t, ws}
}

func (f *following) say(text string) {
	f.t.Helper()
	if err := f.ws.WriteMessage(websocket.TextMessage, []byte(text)); err != nil {
		f.t.Fatal(err)
	}
}

// next reads a message.
func (f *following) next() map[string]any {
	f.t.Helper()
	_ = f.ws.SetReadDeadline(time.Now().Add(20 * time.Second))
	_, text, err := f.ws.ReadMessage()
	if err != nil {
		f.t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(text, &m); err != nil {
		f.t.Fatalf("%s: %v", text, err)
	}
	return m
}

// want reads a message with these words in its JSON.
func (f *following) want(words ...string) map[string]any {
	f.t.Helper()
	m := f.next()
	text, _ := json.Marshal(m)
	for _, w := range words {
		if !strings.Contains(string(text), w) {
			f.t.Fatalf("%s: want %s in it", text, w)
		}
	}
	return m
}

// synced subscribes, and returns the messages between the beginning and the end.
func (f *following) synced(request string) (list []map[string]any) {
	f.t.Helper()
	f.say(request)
	var r struct{ Sync_id string }
	if err := json.Unmarshal([]byte(request), &r); err != nil {
		f.t.Fatal(err)
	}
	f.want(fmt.Sprintf(`"complete":false,"sync_id":%q`, r.Sync_id))
	for {
		m := f.next()
		if m["sync_id"] != nil {
			if m["sync_id"] != r.Sync_id || m["complete"] != true {
				f.t.Fatalf("the end is %v", m)
			}
			return list
		}
		list = append(list, m)
	}
}

// TestStream: a client is sent what its subscription selects, then what changes, and after a broken
// connection only what it missed.
func TestStream(t *testing.T) {
	r := newRig(t)
	me := r.user("determined")
	number := func(a answer, path string) int { return int(at(t, a.ok().tree(), path).(float64)) }
	team := number(me.post("/api/v1/workspaces", `{"name":"team"}`), "workspace.id")
	project := number(me.post(fmt.Sprintf("/api/v1/workspaces/%d/projects", team), `{"name":"p"}`), "project.id")
	model := number(me.post("/api/v1/models", fmt.Sprintf(`{"name":"m","workspaceId":%d,"labels":["a"],"metadata":{"k":1}}`, team)), "model.id")

	f := me.follow(t)
	list := f.synced(fmt.Sprintf(`{"sync_id":"one","subscribe":{"projects":{"workspace_ids":[%d]},"models":{"model_ids":[%d]}}}`, team, model))
	if len(list) != 2 || at(t, list[0], "project.name") != "p" || at(t, list[0], "project.state") != "UNSPECIFIED" || at(t, list[1], "model.labels.0") != "a" || at(t, list[1], "model.metadata.k") != 1.0 {
		t.Fatalf("at first: %v", list)
	}
	seq := at(t, list[1], "model.seq").(float64)
	me.patch(fmt.Sprintf("/api/v1/projects/%d", project), `{"description":"of digits"}`).ok()
	f.want(`"project":`, `"description":"of digits"`)
	second := number(me.post(fmt.Sprintf("/api/v1/workspaces/%d/projects", team), `{"name":"q"}`), "project.id")
	f.want(`"project":`, `"name":"q"`, fmt.Sprintf(`"id":%d`, second))
	me.post("/api/v1/models", `{"name":"not selected"}`).ok()
	me.patch("/api/v1/models/m", `{"notes":"read me"}`).ok()
	if got := at(t, f.want(`"model":`, `"notes":"read me"`), "model.seq").(float64); got <= seq {
		t.Errorf("seq was %v and is %v", seq, got)
	} else {
		seq = got
	}
	me.del(fmt.Sprintf("/api/v1/projects/%d", second)).ok()
	if m := f.next(); m["projects_deleted"] == nil { // it may be seen while it is being deleted
		if at(t, m, "project.state") != "DELETING" {
			t.Fatalf("%v", m)
		}
		f.want(fmt.Sprintf(`"projects_deleted":"%d"`, second))
	}
	me.del("/api/v1/models/m").ok()
	f.want(fmt.Sprintf(`"models_deleted":"%d"`, model))

	// Another subscription takes the place of the first. Nothing of the first arrives any more.
	if list := f.synced(`{"sync_id":"two","subscribe":{"projects":{"project_ids":[1]},"models":{}},"known":{"models":"7-9","modelversions":"1"}}`); len(list) != 2 || at(t, list[0], "project.id") != 1.0 || list[1]["models_deleted"] != "7-9" {
		t.Fatalf("the second: %v", list)
	}
	me.patch(fmt.Sprintf("/api/v1/projects/%d", project), `{"description":"again"}`).ok()
	if list := f.synced(`{"sync_id":"three","subscribe":{}}`); len(list) != 0 {
		t.Fatalf("a subscription to nothing: %v", list)
	}

	// A client that returns says what it knows.
	again := me.follow(t)
	if list := again.synced(fmt.Sprintf(`{"sync_id":"1","known":{"projects":"%d,999"},"subscribe":{"projects":{"workspace_ids":[%d],"since":%d}}}`, project, team, int(seq))); len(list) != 2 ||
		list[0]["projects_deleted"] != "999" || at(t, list[1], "project.description") != "again" {
		t.Fatalf("after a broken connection: %v", list)
	} else if list := again.synced(fmt.Sprintf(`{"sync_id":"2","known":{"projects":"%d"},"subscribe":{"projects":{"workspace_ids":[%d],"since":%d}}}`, project, team,
		int(at(t, list[1], "project.seq").(float64)))); len(list) != 0 {
		t.Fatalf("it knew all: %v", list)
	}
}

// TestStreamOfVersions: versions of a model, and their move with it to another workspace.
func TestStreamOfVersions(t *testing.T) {
	r := newRig(t)
	r.running(sharedStorage(t.TempDir()), 1).stored()
	me := r.user("determined")
	me.post("/api/v1/models", `{"name":"m"}`).ok()
	made := me.post("/api/v1/models/m/versions", `{"checkpointUuid":"`+older+`","name":"first"}`).ok().tree()
	f := me.follow(t)
	list := f.synced(fmt.Sprintf(`{"sync_id":"1","subscribe":{"modelversions":{"model_ids":[%v]}}}`, at(t, made, "modelVersion.model.id")))
	if len(list) != 1 || at(t, list[0], "modelversion.name") != "first" || at(t, list[0], "modelversion.checkpoint_uuid") != older || at(t, list[0], "modelversion.workspace_id") != "1" || at(t, list[0], "modelversion.version") != 1.0 {
		t.Fatalf("%v", list)
	}
	me.patch("/api/v1/models/m/versions/1", `{"comment":"good"}`).ok()
	f.want(`"modelversion":`, `"comment":"good"`)
	team := at(t, me.post("/api/v1/workspaces", `{"name":"team"}`).ok().tree(), "workspace.id")
	me.post("/api/v1/models/m/move", fmt.Sprintf(`{"destinationWorkspaceId":%v}`, team)).ok()
	f.want(`"modelversion":`, fmt.Sprintf(`"workspace_id":"%v"`, team))
	me.del("/api/v1/models/m/versions/1").ok()
	f.want(`"modelversions_deleted":"1"`)
}

// TestStreamKeepsToWorkspaces: a client follows only what its user may view, and its stream ends
// when the roles of the user change.
func TestStreamKeepsToWorkspaces(t *testing.T) {
	r := newRoleRig(t)
	me, admin := r.user("determined"), r.user("admin")
	theirs := int(at(t, admin.post("/api/v1/workspaces", `{"name":"theirs"}`).ok().tree(), "workspace.id").(float64))
	project := int(at(t, admin.post(fmt.Sprintf("/api/v1/workspaces/%d/projects", theirs), `{"name":"p"}`).ok().tree(), "project.id").(float64))
	admin.post("/api/v1/models", fmt.Sprintf(`{"name":"m","workspaceId":%d}`, theirs)).ok()
	r.give(auth.WorkspaceAdmin, "determined", 1)
	f := me.follow(t)
	list := f.synced(fmt.Sprintf(`{"sync_id":"1","known":{"projects":"1,%d"},"subscribe":{"projects":{"workspace_ids":[1,%d],"project_ids":[%d]},"models":{"workspace_ids":[%d],"user_ids":[1]}}}`,
		project, theirs, project, theirs))
	if len(list) != 2 || list[0]["projects_deleted"] != fmt.Sprint(project) || at(t, list[1], "project.id") != 1.0 {
		t.Fatalf("%v", list)
	}
	admin.patch(fmt.Sprintf("/api/v1/projects/%d", project), `{"description":"secret"}`).ok()
	admin.patch("/api/v1/projects/1", `{"description":"of all"}`)
	r.give(auth.Viewer, "determined", theirs)
	_ = f.ws.SetReadDeadline(time.Now().Add(20 * time.Second))
	for {
		_, text, err := f.ws.ReadMessage()
		if err != nil {
			if !websocket.IsCloseError(err, websocket.ClosePolicyViolation) || !strings.Contains(err.Error(), "roles of determined have changed") {
				t.Errorf("it ended with %v", err)
			}
			break
		}
		if strings.Contains(string(text), "secret") {
			t.Errorf("sent %s", text)
		}
	}
}

// TestStreamRefuses: each wrong message or request has its sentence.
func TestStreamRefuses(t *testing.T) {
	r := newRig(t)
	r.anyone().get("/stream").is(401)
	me := r.user("determined")
	me.get("/stream").says(400, "Upgrade: websocket")
	for text, why := range map[string]string{
		`no`: "not valid JSON",
		`{}`: "sync_id",
		`{"sync_id":"1","known":{"projects":"3-1"},"subscribe":{"projects":{}}}`: "neither an id nor a range",
		`{"sync_id":"1","subscribe":{"projects":{"workspace_ids":[-1]}}}`:        "-1 is not an id",
		`{"sync_id":"` + strings.Repeat("x", 512<<10) + `"}`:                     "1009", // too big
	} {
		f := me.follow(t)
		f.say(text)
		_ = f.ws.SetReadDeadline(time.Now().Add(20 * time.Second))
		var err error
		for err == nil {
			_, _, err = f.ws.ReadMessage()
		}
		if !strings.Contains(err.Error(), why) {
			t.Errorf("%.60s: %v; want %q", text, err, why)
		}
	}
	// A cookie opens a stream only for the master's own pages.
	dial := func(origin string) error {
		_, resp, err := websocket.DefaultDialer.DialContext(t.Context(), strings.Replace(r.url, "http", "ws", 1)+"/stream",
			http.Header{"Cookie": {"auth=" + strings.TrimPrefix(me.token, "Bearer ")}, "Origin": {origin}})
		if err != nil && resp != nil {
			return fmt.Errorf("%d", resp.StatusCode)
		}
		return err
	}
	if err := dial("http://evil.example"); err == nil || err.Error() != "403" {
		t.Errorf("a page of another site: %v", err)
	}
	if err := dial(r.url); err != nil {
		t.Errorf("our own page: %v", err)
	}
	// One user has a bounded number of streams, and others still get theirs.
	other := r.user("admin")
	var refused bool
	for range r.api.limits.followers.MostOfOne + 1 {
		ws, resp, err := websocket.DefaultDialer.DialContext(t.Context(), strings.Replace(r.url, "http", "ws", 1)+"/stream", http.Header{me.header: {me.token}})
		if err == nil {
			t.Cleanup(func() { _ = ws.Close() })
			continue
		}
		refused = resp != nil && resp.StatusCode == 429
	}
	if !refused {
		t.Error("a user may open any number of streams")
	}
	other.follow(t)
}
