package objects

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/fault"
)

// soon is how long the stores of these tests may be silent, and atLeast how long what
// is to end may take on a busy machine.
const (
	soon    = 300 * time.Millisecond
	atLeast = 60 * time.Second
)

// storeOf is a bucket in a store with prepared answers.
func storeOf(t *testing.T, silent time.Duration, answer http.HandlerFunc) *Bucket {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	b, err := Open(t.Context(), Store{Bucket: "b", Endpoint: server.URL, Patience: Patience{Silent: silent},
		Keys: func(context.Context) (Keys, error) { return Keys{AccessKey: "a", SecretKey: "s"}, nil }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

// pageOf is a page of a listing.
func pageOf(next string, keys ...string) string {
	var page strings.Builder
	fmt.Fprintf(&page, `<?xml version="1.0"?><ListBucketResult><IsTruncated>%t</IsTruncated>`, next != "")
	if next != "" {
		fmt.Fprintf(&page, "<NextContinuationToken>%s</NextContinuationToken>", next)
	}
	for _, key := range keys {
		fmt.Fprintf(&page, "<Contents><Key>%s</Key><Size>1</Size></Contents>", key)
	}
	return page.String() + "</ListBucketResult>"
}

// calls has a call of each kind to a store.
func calls(b *Bucket) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"List": func(ctx context.Context) error { _, err := b.List(ctx, "p/"); return err },
		"Find": func(ctx context.Context) error { _, err := b.Find(ctx, "p/", []string{"x"}); return err },
		"Get": func(ctx context.Context) error {
			body, _, err := b.Get(ctx, "p/x")
			if err == nil {
				err = errors.Join(errors.New("there is a body"), body.Close())
			}
			return err
		},
		"Remove": func(ctx context.Context) error { return b.Remove(ctx, "p/x") },
		"Put":    func(ctx context.Context) error { return b.Put(ctx, "p/x", strings.NewReader("x"), 1) },
	}
}

// A store that sends the master on does not choose what the master reads.
func TestRedirectsOfAStoreAreNotFollowed(t *testing.T) {
	var visited atomic.Int32
	inside := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		visited.Add(1)
		_, _ = io.WriteString(w, "secret")
	}))
	defer inside.Close()
	for _, code := range []int{301, 302, 303, 307, 308} {
		b := storeOf(t, atLeast, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, inside.URL+"/latest/meta-data", code)
		})
		for name, call := range calls(b) {
			if err := call(t.Context()); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), fmt.Sprintf("redirect (%d)", code)) {
				t.Errorf("%d, %s: %v", code, name, err)
			}
		}
	}
	if n := visited.Load(); n > 0 {
		t.Errorf("%d redirects were followed", n)
	}
	b := storeOf(t, atLeast, func(w http.ResponseWriter, _ *http.Request) { // AWS, of a bucket elsewhere
		w.Header().Set("X-Amz-Bucket-Region", "eu-central-1")
		w.WriteHeader(301)
		_, _ = io.WriteString(w, "<Error><Code>PermanentRedirect</Code><Message>must be addressed</Message></Error>")
	})
	if _, err := b.List(t.Context(), "p/"); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "region eu-central-1") {
		t.Errorf("a bucket of another region: %v", err)
	}
}

// A listing ends although the store always announces a further page.
func TestListingsEnd(t *testing.T) {
	var asked atomic.Int32
	for name, next := range map[string]func() string{
		"full pages":       func() string { return pageOf(fmt.Sprint("t", asked.Load()), "p/1", "p/2", "p/3", "p/4", "p/5") },
		"pages of nothing": func() string { return pageOf(fmt.Sprint("t", asked.Load())) },
	} {
		asked.Store(0)
		b := storeOf(t, atLeast, func(w http.ResponseWriter, _ *http.Request) {
			asked.Add(1)
			_, _ = io.WriteString(w, next())
		})
		b.keys, b.pages = 50, 20
		for _, what := range []string{"List", "Find"} {
			asked.Store(0)
			err := calls(b)[what](t.Context())
			if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "more than 50 objects, or more than 20 pages") || asked.Load() > 21 {
				t.Errorf("%s, %s: %d pages, %v", name, what, asked.Load(), err)
			}
		}
	}
	b := storeOf(t, atLeast, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, pageOf("again", "p/1")) })
	if list, err := b.List(t.Context(), "p/"); err != nil || len(list) > 2 {
		t.Errorf("a page that follows itself: %d objects, %v", len(list), err)
	}
}

// A search for names ends when all are found, and does not keep other names in memory.
func TestFindStopsWhenItHasAll(t *testing.T) {
	var asked atomic.Int32
	b := storeOf(t, atLeast, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		at := r.URL.Query().Get("continuation-token")
		_, _ = io.WriteString(w, pageOf(at+"n", "p/x"+at, "p/other"+at, "q/y"))
	})
	found, err := b.Find(t.Context(), "p/", []string{"x", "xnn"})
	if err != nil || len(found) != 2 || !found["x"] || !found["xnn"] || asked.Load() != 3 {
		t.Errorf("found %v on %d pages: %v", found, asked.Load(), err)
	}
	asked.Store(0)
	if found, err := b.Find(t.Context(), "p/", nil); err != nil || len(found) > 0 || asked.Load() > 0 {
		t.Errorf("nothing: %v on %d pages, %v", found, asked.Load(), err)
	}
}

// A large answer does not fill the memory of the client.
func TestLongAnswersAreCutOff(t *testing.T) {
	const megabytes = 512
	endless := func(code int, head, part string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(code)
			_, _ = io.WriteString(w, head)
			piece := []byte(strings.Repeat(part, 1+1<<20/len(part)))
			for range megabytes {
				if _, err := w.Write(piece); err != nil {
					return
				}
			}
		}
	}
	for name, answer := range map[string]http.HandlerFunc{
		"a page of small elements": endless(200, "<ListBucketResult>", "<Contents/>"),
		"a page of attributes":     endless(200, "<ListBucketResult ", `a="" `),
		"a page of text":           endless(200, "<ListBucketResult><Prefix>", "text"),
		"an error":                 endless(400, "<Error><Code>X</Code><Message>", "text"),
	} {
		b := storeOf(t, atLeast, answer)
		for what, call := range calls(b) {
			if what == "Get" && name != "an error" {
				continue // an object is as large as it is
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := call(t.Context())
			runtime.ReadMemStats(&after)
			if took := (after.TotalAlloc - before.TotalAlloc) >> 20; took > 300 { // with the store's own, three tries each
				t.Errorf("%s, %s: took %d MB", name, what, took)
			}
			if err == nil && what != "Remove" && (what != "Put" || name == "an error") { // these do not read what comes after the status
				t.Errorf("%s, %s: no error", name, what)
			}
			if err != nil && len(err.Error()) > 1000 {
				t.Errorf("%s, %s: the error has %d bytes", name, what, len(err.Error()))
			}
		}
	}
}

// A call to a store that never answers times out and closes its connection.
func TestASilentStoreIsLeft(t *testing.T) {
	var held atomic.Int32
	silent := func(_ http.ResponseWriter, r *http.Request) {
		held.Add(1)
		defer held.Add(-1)
		_, _ = io.Copy(io.Discard, r.Body) // until a body is read, a server does not notice that its client has gone
		<-r.Context().Done()
	}
	b := storeOf(t, soon, silent)
	for name, call := range calls(b) {
		begin := time.Now()
		err := call(t.Context())
		if !fault.Is(err, fault.Unavailable) || !strings.Contains(err.Error(), "did not answer for s3://b/p/") || !strings.Contains(err.Error(), "within 300ms") {
			t.Errorf("%s: %v", name, err)
		}
		if took := time.Since(begin); took > atLeast {
			t.Errorf("%s took %s", name, took)
		}
	}
	patient := storeOf(t, time.Hour, silent)
	for name, call := range calls(patient) { // and whoever does not wait any longer is let go
		ctx, cancel := context.WithTimeout(t.Context(), soon)
		if err := call(ctx); err == nil {
			t.Errorf("%s: no error", name)
		}
		cancel()
	}
	end := time.Now().Add(atLeast)
	for held.Load() > 0 && time.Now().Before(end) {
		<-time.After(soon / 10)
	}
	if n := held.Load(); n > 0 {
		t.Errorf("%d connections are kept", n)
	}
}

// A slow object is read completely; an object whose transfer stalls is an error.
func TestAnObjectThatStops(t *testing.T) {
	for stops, want := range map[bool]string{false: "0123456789", true: "01234"} {
		// Much longer than a part takes, and shorter than all parts.
		const part = 600 * time.Millisecond
		b := storeOf(t, 9*part, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "10")
			tick := time.NewTicker(part)
			defer tick.Stop()
			for i := range 10 {
				if i == 5 && stops {
					<-r.Context().Done()
					return
				}
				_, _ = fmt.Fprint(w, i)
				w.(http.Flusher).Flush()
				if !stops {
					<-tick.C
				}
			}
		})
		body, o, err := b.Get(t.Context(), "p/x")
		if err != nil || o.Size != 10 {
			t.Fatalf("%+v, %v", o, err)
		}
		got, err := io.ReadAll(body)
		if string(got) != want || stops != fault.Is(err, fault.Unavailable) || stops != (err != nil) {
			t.Errorf("stops %t: %q, %v", stops, got, err)
		}
		if err := body.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestAnObjectHasASize(t *testing.T) {
	b := storeOf(t, atLeast, func(w http.ResponseWriter, _ *http.Request) {
		w.(http.Flusher).Flush()
		_, _ = io.WriteString(w, "text")
	})
	if _, _, err := b.Get(t.Context(), "p/x"); !fault.Is(err, fault.Unavailable) || !strings.Contains(err.Error(), "does not send the size") {
		t.Errorf("without a length: %v", err)
	}
}
