package api

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/detent-ml/detent/master/expconf"
)

// A panic in a stream ends that stream, and the master goes on.
func TestAPanicInAStream(t *testing.T) {
	r := newRig(t)
	app := fiber.New(fiber.Config{DisableStartupMessage: true})
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	add := func(path string, answer func(c *call) error) {
		app.Get(path, func(c *fiber.Ctx) error { return answer(&call{Ctx: c}) })
	}
	add("/test/records", func(c *call) error {
		return r.api.stream(c, func(_ context.Context, out *records) error {
			if err := errors.Join(out.add(struct{}{}), out.flush()); err != nil {
				return err
			}
			panic("oh no, records")
		})
	})
	add("/test/events", func(c *call) error {
		r.api.streamTo(c, func(w *bufio.Writer) {
			_, _ = w.WriteString(":\n\n")
			panic("oh no, events")
		})
		return nil
	})
	served := make(chan error, 1)
	go func() { served <- app.Listener(lis) }()
	defer func() {
		r.client.CloseIdleConnections()
		if err := errors.Join(app.ShutdownWithTimeout(10*time.Second), <-served); err != nil {
			t.Error(err)
		}
	}()
	for path, says := range map[string]string{"/test/records": "Internal error", "/test/events": ":\n\n"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+lis.Addr().String()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := r.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if err := errors.Join(err, resp.Body.Close()); err != nil || !strings.Contains(string(body), says) {
			t.Errorf("%s: %d %q: %v", path, resp.StatusCode, body, err)
		}
	}
	for _, says := range []string{"oh no, records", "oh no, events", "stream_test.go"} {
		if !strings.Contains(r.log.String(), says) {
			t.Errorf("the log does not say %q", says)
		}
	}
	r.user("determined").get("/api/v1/me").ok()
}

// panicking is a bucket whose objects cannot even be asked for.
type panicking struct{ *memoryBucket }

func (panicking) Get(context.Context, string) (io.ReadCloser, Object, error) { panic("oh no, bucket") }

// A panic while a checkpoint is packed breaks that download off, and the master goes on.
func TestAPanicInADownload(t *testing.T) {
	bucket := &memoryBucket{objects: map[string]string{}}
	r := newRig(t, func(c *Config) {
		c.Bucket = func(context.Context, expconf.CheckpointStorage) (Bucket, error) { return panicking{bucket}, nil }
	})
	a := r.running(bucketStorage(""), 1)
	const id = "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee"
	a.ranks[0].post("/api/v1/checkpoints", fmt.Sprintf(`{"uuid":%q,"taskId":%q,"allocationId":%q,"state":"STATE_COMPLETED","metadata":{},"resources":{"model.bin":"5"},"training":{}}`,
		id, a.task, a.id)).ok()
	bucket.objects[fmt.Sprintf("%d/%s/model.bin", a.exp, id)] = "12345"
	me := r.user("determined")
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.url+"/checkpoints/"+id, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set(me.header, me.token)
	resp, err := r.client.Do(req)
	if err == nil {
		_, err = io.ReadAll(resp.Body)
		err = errors.Join(err, resp.Body.Close())
	}
	if err == nil {
		t.Errorf("a download that broke off looks whole: %d", resp.StatusCode)
	}
	if !strings.Contains(r.log.String(), "oh no, bucket") {
		t.Error("the panic is not in the log")
	}
	me.get("/api/v1/me").ok()
}
