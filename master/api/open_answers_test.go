package api

import (
	"context"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
)

// stays opens a stream that does not end by itself, and returns its content when the master has
// closed it.
func (c as) stays(path string) <-chan string {
	t := c.r.t
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, "GET", c.r.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set(c.header, c.token)
	ended := make(chan string, 1)
	go func() {
		resp, err := (&http.Client{}).Do(req)
		if err != nil {
			ended <- err.Error()
			return
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		ended <- fmt.Sprintf("%d %s %v", resp.StatusCode, b, err)
	}()
	return ended
}

// opens waits until the master has this number of open answers.
func (r *rig) opens(n int) {
	r.t.Helper()
	for end := time.Now().Add(time.Minute); ; {
		have := r.api.router.Open()
		if have == n {
			return
		}
		if time.Now().After(end) {
			r.t.Fatalf("%d answers are open, want %d", have, n)
		}
		<-time.After(10 * time.Millisecond)
	}
}

// TestWhoMayNotIsShownNoMore: streams of logs, of metrics, of a page and of the masters' log end when
// the session ends, the account is deactivated or the password changes; streams of other users
// continue.
func TestWhoMayNotIsShownNoMore(t *testing.T) {
	r := newRig(t)
	admin := r.user("admin")
	a := r.running(yaml(), 1)
	paths := []string{a.trialPath("/logs?follow=true"), "/api/v1/tasks/" + a.task + "/logs?follow=true", fmt.Sprintf("/api/v1/detent/live?trials=%d", a.trial),
		"/api/v1/detent/live", "/api/v1/master/logs?follow=true"}
	kept := admin.stays(paths[0])
	r.opens(1)
	for what, end := range map[string]func(me as){
		"signing out": func(me as) { me.post("/api/v1/auth/logout", "").ok() },
		"a new password": func(as) {
			r.user("determined").patch("/api/v1/users/2", `{"password":"new one","isHashed":true}`).ok()
			admin.patch("/api/v1/users/2", `{"password":"","isHashed":true}`).ok()
		},
		"deactivation": func(as) {
			admin.patch("/api/v1/users/2", `{"active":false}`).ok()
			admin.patch("/api/v1/users/2", `{"active":true}`).ok()
		},
	} {
		me := r.user("determined")
		ended := map[string]<-chan string{}
		for _, path := range paths {
			ended[path] = me.stays(path)
		}
		r.opens(1 + len(paths))
		end(me)
		for path, ch := range ended {
			select {
			case said := <-ch:
				if strings.Contains(path, "logs") && !strings.Contains(said, "session has ended") {
					t.Errorf("%s: %s ends with %s", what, path, said)
				}
			case <-time.After(time.Minute):
				t.Errorf("%s: %s is still open", what, path)
			}
		}
		r.opens(1)
	}
	select {
	case said := <-kept:
		t.Errorf("an admin's stream ended: %s", said)
	default:
	}
}

// TestWhatMovesAwayIsShownNoMore: streams of a trial end when it comes to a workspace that their reader does not see.
func TestWhatMovesAwayIsShownNoMore(t *testing.T) {
	r := newRoleRig(t)
	admin, viewer := r.user("admin"), r.newUser("viewer")
	r.give(auth.WorkspaceAdmin, "determined", 1)
	r.give(auth.Viewer, "viewer", 1)
	number := func(a answer, path string) int { return int(at(t, a.ok().tree(), path).(float64)) }
	a := r.running(yaml(), 1)
	exp, err := database.Scalar[int](t.Context(), r.db, `SELECT experiment_id FROM trials WHERE id = $1`, a.trial)
	if err != nil {
		t.Fatal(err)
	}
	kept := admin.stays(a.trialPath("/logs?follow=true"))
	r.opens(1)
	ended := map[string]<-chan string{}
	for _, path := range []string{a.trialPath("/logs?follow=true"), "/api/v1/tasks/" + a.task + "/logs?follow=true", fmt.Sprintf("/api/v1/detent/live?trials=%d", a.trial),
		fmt.Sprintf("/api/v1/experiments/metrics-stream/metric-names?ids=%d&periodSeconds=1", exp),
		fmt.Sprintf("/api/v1/experiments/%d/metrics-stream/batches?metricName=loss&metricType=METRIC_TYPE_VALIDATION&periodSeconds=1", exp)} {
		ended[path] = viewer.stays(path)
	}
	r.opens(1 + len(ended))
	beside := number(admin.post("/api/v1/workspaces", `{"name":"beside"}`), "workspace.id")
	to := number(admin.post(fmt.Sprintf("/api/v1/workspaces/%d/projects", beside), `{"name":"there"}`), "project.id")
	admin.post(fmt.Sprintf("/api/v1/experiments/%d/move", exp), fmt.Sprintf(`{"destinationProjectId":%d}`, to)).ok()
	for path, ch := range ended {
		select {
		case said := <-ch:
			if !strings.HasPrefix(said, "200") || strings.Contains(path, "logs") && !strings.Contains(said, "not found") {
				t.Errorf("%s ends with %s", path, said)
			}
		case <-time.After(time.Minute):
			t.Errorf("%s is still open", path)
		}
	}
	r.opens(1)
	select {
	case said := <-kept:
		t.Errorf("an admin's stream ended: %s", said)
	default:
	}
}

// TestDownloadsOfCodeEndWithTheSession, also if the client does not read for a while.
func TestDownloadsOfCodeEndWithTheSession(t *testing.T) {
	r := newRig(t)
	code := make([]byte, 24<<20) // more than the sockets hold
	_, _ = mathrand.NewChaCha8([32]byte{}).Read(code)
	exp := r.user("determined").create(yaml(), `"modelDefinition":[`+modelFile("data.bin", string(code))+`]`)
	for _, path := range []string{fmt.Sprintf("/api/v1/experiments/%d/model_def", exp), fmt.Sprintf("/api/v1/experiments/%d/file/download?path=data.bin", exp)} {
		me := r.user("determined")
		req, err := http.NewRequestWithContext(t.Context(), "GET", r.url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set(me.header, me.token)
		resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if n, err := io.CopyN(io.Discard, resp.Body, 1<<10); err != nil {
			t.Fatalf("%s: %d, %d bytes, %v", path, resp.StatusCode, n, err)
		}
		r.opens(1)
		me.post("/api/v1/auth/logout", "").ok()
		r.opens(0)
		if n, err := io.Copy(io.Discard, resp.Body); err == nil || n > int64(len(code)) {
			t.Errorf("%s: %d more bytes arrived after signing out, %v", path, n, err)
		}
	}
}

// TestATaskOfADeactivatedOwner: the task reports about itself to its end, but neither its own token nor
// its session allows anything else.
func TestATaskOfADeactivatedOwner(t *testing.T) {
	r := newRig(t)
	a := r.running(yaml(), 1)
	session := a.session()
	session.get("/api/v1/me").ok()
	a.ranks[0].get("/api/v1/users").ok()
	waiting := a.ranks[0].stays(a.trialPath("/logs?follow=true"))
	r.opens(1)
	r.user("admin").patch("/api/v1/users/2", `{"active":false}`).ok()
	select {
	case said := <-waiting:
		if !strings.Contains(said, "deactivated") {
			t.Errorf("the stream has %s", said)
		}
	case <-time.After(time.Minute):
		t.Error("the stream is still open")
	}
	session.get("/api/v1/me").is(401)
	for _, path := range []string{"/api/v1/users", "/api/v1/experiments", a.trialPath(""), a.trialPath("/logs"), "/api/v1/tasks"} {
		a.ranks[0].get(path).says(401, "deactivated")
	}
	a.ranks[0].post(a.trialPath("/metrics"), fmt.Sprintf(`{"group":"training","metrics":{"trialId":%d,"trialRunId":1,"stepsCompleted":1,"metrics":{"avgMetrics":{"loss":1}}}}`, a.trial)).ok()
	a.ranks[0].get("/api/v1/tasks/" + a.task + "/context_directory").ok()
	r.user("admin").patch("/api/v1/users/2", `{"active":true}`).ok()
	session.get("/api/v1/me").is(401) // what ended has ended
}
