package oldlinks

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/rest/resttest"
	"github.com/detent-ml/detent/master/schema/rowtest"
)

// TestAnswer: pages at the old name lead to the new ones, programs get an error, and other names are not touched.
func TestAnswer(t *testing.T) {
	w := rowtest.New(t)
	w.Exec(`INSERT INTO imports (cluster_id, prefix, shift) VALUES ('x', 'old/', 1000)`)
	w.Exec(`INSERT INTO import_numbers (import_id, kind, old, new, made) SELECT id, 'experiment', 12, 1012, true FROM imports`)
	w.Exec(`INSERT INTO import_hosts SELECT 'old.localhost', id FROM imports`)
	l := New(w.DB, "https://detent.example.org")
	site := resttest.Serve(t, resttest.ByName(w.DB), func(r *rest.Router) { r.Host(l.Is, l.Answer) })
	get := func(host, path string) (status int, location, body string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, site.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = host
		resp, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, resp.Header.Get("Location"), string(text)
	}
	if status, to, body := get("old.localhost:8080", "/det/experiments/12/overview?f=a%20b&g=1"); status != 302 || to != "https://detent.example.org/det/experiments/1012/overview?f=a%20b&g=1" {
		t.Errorf("an old link: %d to %q %s", status, to, body)
	}
	if status, to, _ := get("old.localhost", "//evil.example.org/det/"); status == 302 && !strings.HasPrefix(to, "https://detent.example.org/") {
		t.Errorf("it leads to %s", to)
	}
	if status, _, body := get("old.localhost", "/det/experiments/13"); status != 404 || !strings.Contains(body, "was not imported") {
		t.Errorf("an experiment that is not here: %d %s", status, body)
	}
	if status, _, body := get("old.localhost", "/api/v1/experiments/12"); status != 400 || !strings.Contains(body, "use https://detent.example.org") {
		t.Errorf("a program: %d %s", status, body)
	}
	if status, to, _ := get("new.localhost", "/det/experiments/12"); status == 302 {
		t.Errorf("a new link leads to %s", to)
	}
}
