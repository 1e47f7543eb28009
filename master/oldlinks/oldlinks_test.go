package oldlinks

import (
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/schema/rowtest"
)

// TestHere: each number in the path of a page becomes the one that its object has here.
func TestHere(t *testing.T) {
	w := rowtest.New(t)
	w.Exec(`INSERT INTO imports (cluster_id, prefix, shift) VALUES ('x', 'old/', 1000)`)
	w.Exec(`INSERT INTO import_numbers (import_id, kind, old, new, made) SELECT i.id, k, 12, n, true FROM imports i, (VALUES ('experiment', 1012), ('trial', 1013), ('project', 7), ('workspace', 8), ('model', 1014)) x (k, n)`)
	w.Exec(`INSERT INTO import_hosts SELECT 'det.old.example.org', id FROM imports`)
	l := New(w.DB, "https://detent.example.org/")
	for host, is := range map[string]bool{"det.old.example.org": true, "DET.old.example.org:8080": true, "detent.example.org": false, "elsewhere.example.org": false, "": false} {
		if l.Is(host) != is {
			t.Errorf("%q is the host of an old cluster: %v", host, !is)
		}
	}
	if New(w.DB, "").Is("det.old.example.org") || New(w.DB, "https://det.old.example.org").Is("det.old.example.org") {
		t.Error("a master without a name of its own redirects to itself")
	}
	o, _ := l.of("det.old.example.org")
	for path, want := range map[string]string{
		"/": "/", "/det/": "/det/", "/det/dashboard": "/det/dashboard",
		"/det/experiments/12": "/det/experiments/1012", "/det/experiments/12/trials/12/logs": "/det/experiments/1012/trials/1013/logs",
		"/det/searches/12/runs/12": "/det/searches/1012/runs/1013", "/det/trials/12": "/det/trials/1013", "/det/projects/12/experiments": "/det/projects/7/experiments",
		"/det/workspaces/12/models": "/det/workspaces/8/models", "/det/models/12": "/det/models/1014", "/det/models/net": "/det/models/old%2Fnet", "/det/models/a%20b/versions/12": "/det/models/old%2Fa%20b/versions/12",
		"/det/experiments/new": "/det/experiments/new",
	} {
		if got, err := l.here(t.Context(), o, path); err != nil || got != want {
			t.Errorf("%s leads to %s, %v; want %s", path, got, err, want)
		}
	}
	if got, err := l.here(t.Context(), o, "/det/experiments/13"); err == nil || !strings.Contains(err.Error(), "experiment 13 of the old cluster was not imported") {
		t.Errorf("an experiment that is not here leads to %s, %v", got, err)
	}
}

// TestStrangersWaitForNoRead: while the list of hosts is read again, requests use the one before, and strangers who open old links never hold all connections.
func TestStrangersWaitForNoRead(t *testing.T) {
	w := rowtest.New(t)
	w.Exec(`INSERT INTO imports (cluster_id, prefix, shift) VALUES ('x', 'old/', 1000)`)
	w.Exec(`INSERT INTO import_hosts SELECT 'det.old.example.org', id FROM imports`)
	db := w.Open(4)
	l := New(db, "https://detent.example.org")
	o, is := l.of("det.old.example.org")
	if !is {
		t.Fatal("the host is unknown")
	}
	l.wait = time.Minute
	l.until = time.Time{}
	reads := func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.reading != nil
	}
	read, ended := make(chan struct{}), errors.New("the test has ended")
	links := make(chan error, 20)
	// Both tables are locked, so whoever reads them waits.
	err := w.DB.Alone(t.Context(), func(tx *database.DB) error {
		if err := tx.Exec(t.Context(), `LOCK TABLE import_hosts, import_numbers`); err != nil {
			return err
		}
		go func() {
			l.Is("det.old.example.org") // reads
			close(read)
		}()
		for !reads() {
			runtime.Gosched()
		}
		for range 100 {
			if !l.Is("det.old.example.org") || l.Is("elsewhere.example.org") || !reads() {
				t.Error("during a read the list before does not count")
			}
		}
		for range cap(links) {
			go func() {
				_, err := l.here(database.ForStrangers(t.Context()), o, "/det/experiments/12")
				links <- err
			}()
		}
		if n, err := database.Scalar[int](t.Context(), db, `SELECT 1`); err != nil || n != 1 {
			t.Errorf("strangers hold all connections: %v", err)
		}
		return ended
	})
	if !errors.Is(err, ended) {
		t.Fatal(err)
	}
	<-read
	for range cap(links) {
		if err := <-links; !fault.Is(err, fault.NotFound) {
			t.Errorf("a link that waited: %v", err)
		}
	}
	db.Close()
	l.until = time.Time{}
	if !l.Is("det.old.example.org") {
		t.Error("a read that failed forgets the list")
	}
}
