//go:build linux

package proxy

import (
	"context"
	"log/slog"
	"net/http/httptest"
	"testing"
)

// TestPartsAreTheirTask: a path that names a part of a trial's task becomes one of the task, encoded as it was.
func TestPartsAreTheirTask(t *testing.T) {
	dir := oneTask{map[string]Task{"7.x-1": {ID: "7.x"}, "9.y-1": {ID: "9.y-1"}}}
	p, err := New(Origins{Master: "http://127.0.0.1:1", URL: "http://127.0.0.1:2"}, Rules{}, dir,
		func(context.Context, string) (string, int, error) { return "", 0, nil }, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"/proxy/7.x-1:8080/a/7.x-1": "/proxy/7.x:8080/a/7.x-1",
		"/proxy/7.x-1:8080/a%2Fb":   "/proxy/7.x:8080/a%2Fb",
		"/proxy/7.x-1":              "/proxy/7.x",
		"/proxy/7.x-2:8080/":        "/proxy/7.x-2:8080/", // no such part
		"/proxy/9.y-1:8080/":        "/proxy/9.y-1:8080/", // a task that is called so
		"/proxy/7.x:8080/":          "/proxy/7.x:8080/",
	} {
		r := httptest.NewRequest("GET", path, nil)
		at, _, err := serviceOf(r.URL.EscapedPath())
		if err != nil {
			t.Fatal(err)
		}
		at = p.whole(r, at)
		if then, _, err := serviceOf(r.URL.EscapedPath()); r.URL.EscapedPath() != want || err != nil || then != at {
			t.Errorf("%s becomes %s, of %+v: %v", path, r.URL.EscapedPath(), at, err)
		}
	}
}
